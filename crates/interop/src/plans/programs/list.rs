//! A table of programs that run a tool: their names for its settings, their defaults, and the source of each in their code.
//!
//! Does not interpret settings.

use shardscope_engine::plan::{LoraTarget, LoraTargets, Optimizer, Precision, Recompute, TrainMethod};
use shardscope_engine::scenario::{Field, Value};

use super::super::harmless;
use super::super::target::PlanTarget;

/// A program that runs a tool, recognised by its command or by a key that only it has.
#[derive(Debug)]
pub(in super::super) struct KnownProgram {
    /// The name in reports.
    pub name: &'static str,
    /// The tool whose arguments the program takes.
    pub tool: PlanTarget,
    /// Commands that start the program, word by word.
    pub commands: &'static [&'static [&'static str]],
    /// Keys that only this program has.
    pub keys: &'static [&'static str],
    /// The program's names for the tool's settings.
    pub names: &'static [(&'static str, &'static str)],
    /// True if the arguments name the model, whose shape is elsewhere.
    pub names_model: bool,
    /// Other tools whose settings without effect the program takes too.
    pub harmless: &'static [&'static str],
    /// The program's defaults for the tool's settings.
    pub settings: &'static [(&'static str, &'static str)],
    /// The program's defaults for a plan's fields.
    pub defaults: &'static [(Field, Value)],
    /// Default rank of adapters, and matrices that have them.
    pub adapters: (u32, LoraTargets),
    /// Default dropout of adapters.
    pub dropout: f64,
    /// True if scales of 4-bit weights are quantised too by default, which bitsandbytes does not do.
    pub quantises_scales: bool,
    /// The stack for the program's runs, and whose they are; `None` for the tool's.
    pub stack: Option<(&'static str, &'static str)>,
    /// True if products have the format in which weights are loaded.
    pub computes_as_stored: bool,
    /// When full training keeps no fp32 copy of weights loaded in 16 bits.
    pub keeps_loaded: MasterWeightRule,
    /// The fewest sequences in a step, up to which the program accumulates.
    pub fewest_sequences: Option<u32>,
}

/// When weights loaded in 16 bits have no fp32 copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum MasterWeightRule {
    /// Never: the program loads weights in fp32.
    Nowhere,
    /// Without FSDP and DeepSpeed, which make that copy.
    Unsharded,
    /// Under FSDP2 too, which shards weights as they are loaded.
    UnderFsdp2,
}

pub(super) const QUERIES_AND_VALUES: LoraTargets = LoraTargets::NONE.with(LoraTarget::Query).with(LoraTarget::Value);

/// The Trainer, with PEFT's default matrices for Llama, and TRL's default rank.
pub(in super::super) const TRAINER: KnownProgram = KnownProgram {
    // src/transformers/training_args.py of huggingface/transformers 5.24.
    name: "the Trainer",
    tool: PlanTarget::TRAINER,
    commands: &[],
    keys: &[],
    names: &[],
    names_model: true,
    harmless: &[],
    settings: &[],
    defaults: &[
        (Field::MicroBatch, Value::Count(8)),
        (Field::Accumulate, Value::Count(1)),
        (Field::Recompute, Value::Recompute(Recompute::None)),
    ],
    adapters: (16, QUERIES_AND_VALUES),
    dropout: 0.0,
    quantises_scales: false,
    stack: None,
    computes_as_stored: false,
    keeps_loaded: MasterWeightRule::Nowhere,
    fewest_sequences: None,
};

/// Any other program that runs the Trainer.
pub(in super::super) const OTHER: KnownProgram = KnownProgram { name: "TRL", defaults: &[], ..TRAINER };

/// torchtune's recipes: `recipes/full_finetune_distributed.py` of pytorch/torchtune 0.7.
pub(in super::super) const TORCHTUNE: KnownProgram = KnownProgram {
    name: "torchtune",
    tool: PlanTarget::TORCHTUNE,
    defaults: &[(Field::Accumulate, Value::Count(1)), (Field::Recompute, Value::Recompute(Recompute::None))],
    adapters: (8, LoraTargets::NONE),
    ..TRAINER
};

/// Megatron-LM's own scripts: megatron/training/arguments.py of core 0.16.
pub(in super::super) const MEGATRON: KnownProgram =
    KnownProgram { name: "Megatron-LM", tool: PlanTarget::MEGATRON, names_model: false, defaults: &[], ..TRAINER };

pub(super) const PROGRAMS: &[KnownProgram] = &[
    // src/llamafactory/train/mca of hiyouga/LLaMA-Factory 0.9: arguments of the Trainer and of Megatron-LM in one file.
    KnownProgram {
        name: "LLaMA-Factory on Megatron",
        tool: PlanTarget::MEGATRON,
        keys: &[],
        names: &[
            ("cutoff_len", "seq_length"),
            ("per_device_train_batch_size", "micro_batch_size"),
            ("max_grad_norm", "clip_grad"),
        ],
        names_model: true,
        harmless: &[harmless::TRAINER],
        adapters: (8, LoraTargets::ALL),
        stack: Some(("megatron-core-2026", "Megatron Core, which LLaMA-Factory starts")),
        defaults: &[(Field::MicroBatch, Value::Count(8)), (Field::Sequence, Value::Count(2048))],
        quantises_scales: true,
        ..MEGATRON
    },
    // src/llamafactory/hparams and model/model_utils/checkpointing.py of hiyouga/LLaMA-Factory 0.9.
    KnownProgram {
        name: "LLaMA-Factory",
        commands: &[&["llamafactory-cli", "train"]],
        keys: &["finetuning_type"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Lora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Sequence, Value::Count(2048)),
        ],
        adapters: (8, LoraTargets::ALL),
        quantises_scales: true,
        ..OTHER
    },
    // src/llamafactory/v1/config/training_args.py and core/model_engine.py of hiyouga/LLaMA-Factory at ff6d4d12, which loads weights
    // in the format of their file and shards them as they are.
    KnownProgram {
        name: "LLaMA-Factory v1",
        settings: &[("bf16", "true"), ("gradient_checkpointing", "true")],
        defaults: &[(Field::MicroBatch, Value::Count(1)), (Field::Sequence, Value::Count(2048))],
        adapters: (8, LoraTargets::ALL),
        keeps_loaded: MasterWeightRule::UnderFsdp2,
        quantises_scales: true,
        ..OTHER
    },
    // primus/configs/modules/megatron/pre_trainer.yaml and trainer_base.yaml of AMD-AGI/Primus at fd1eeabb, and language_model.yaml of
    // its models.
    KnownProgram {
        name: "Primus",
        tool: PlanTarget::MEGATRON,
        names_model: true,
        settings: &[
            ("bf16", "true"),
            ("use_distributed_optimizer", "true"),
            ("sequence_parallel", "true"),
            ("micro_batch_size", "2"),
            ("global_batch_size", "16"),
            ("seq_length", "1024"),
        ],
        harmless: &[harmless::PRIMUS],
        stack: Some(("primus-megatron-2025", "Megatron Core, which Primus starts")),
        ..MEGATRON
    },
    // swift/megatron/arguments/megatron_args.py of modelscope/ms-swift 4, whose precision is that of the model.
    KnownProgram {
        name: "Megatron-SWIFT",
        tool: PlanTarget::MEGATRON,
        commands: &[&["megatron", "sft"], &["megatron", "pt"], &["megatron", "rlhf"]],
        names: &[("max_length", "seq_length")],
        names_model: true,
        harmless: &[harmless::TRAINER],
        settings: &[
            ("use_distributed_optimizer", "true"),
            ("bf16", "true"),
            ("accumulate_allreduce_grads_in_fp32", "true"),
            ("micro_batch_size", "1"),
            ("global_batch_size", "16"),
            ("recompute_granularity", "selective"),
            ("expert_tensor_parallel_size", "1"),
        ],
        adapters: (8, LoraTargets::ALL),
        dropout: 0.05,
        stack: Some(("megatron-core-2026", "Megatron Core, which Megatron-SWIFT starts")),
        quantises_scales: true,
        ..MEGATRON
    },
    // docs/source_en/Instruction/Command-line-parameters.md and swift/trainers/arguments.py of modelscope/ms-swift 3.
    KnownProgram {
        name: "ms-swift",
        commands: &[&["swift", "sft"], &["swift", "pt"], &["swift", "rlhf"]],
        keys: &["train_type", "tuner_type", "sft_type"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Lora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Precision, Value::Word(Precision::Bf16.to_word())),
            (Field::MicroBatch, Value::Count(1)),
        ],
        adapters: (8, LoraTargets::ALL),
        dropout: 0.05,
        computes_as_stored: true,
        keeps_loaded: MasterWeightRule::Unsharded,
        fewest_sequences: Some(16),
        quantises_scales: true,
        ..OTHER
    },
    // qlora.py of artidoro/qlora.
    KnownProgram {
        name: "qlora.py",
        keys: &["source_max_len", "target_max_len"],
        defaults: &[
            (Field::Train, Value::Word(TrainMethod::Qlora.to_word())),
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::MicroBatch, Value::Count(1)),
            (Field::Accumulate, Value::Count(16)),
            (Field::Optimizer, Value::Word(Optimizer::Adam.to_word())),
            (Field::PagedOptimizer, Value::Switch(true)),
        ],
        adapters: (64, LoraTargets::ALL),
        quantises_scales: true,
        ..OTHER
    },
    // llava/train/train.py of haotian-liu/LLaVA.
    KnownProgram {
        name: "LLaVA",
        keys: &["lora_enable"],
        defaults: &[(Field::Sequence, Value::Count(512))],
        adapters: (64, LoraTargets::ALL),
        dropout: 0.05,
        quantises_scales: true,
        ..OTHER
    },
    // examples/sft of huggingface/peft.
    KnownProgram {
        name: "PEFT's example",
        keys: &["use_peft_lora"],
        adapters: (64, LoraTargets::ALL),
        dropout: 0.1,
        ..OTHER
    },
    // src/axolotl/loaders/model.py of axolotl-ai-cloud/axolotl 0.12, which loads weights in `torch_dtype`, and
    // src/axolotl/monkeypatch/accelerate/fsdp2.py, which shards them as they are.
    KnownProgram {
        name: "axolotl",
        commands: &[&["axolotl", "train"]],
        keys: &["base_model"],
        names: &[
            ("base_model", "model_name_or_path"),
            ("micro_batch_size", "per_device_train_batch_size"),
            ("sequence_len", "max_length"),
            ("num_epochs", "num_train_epochs"),
            ("optimizer", "optim"),
            ("flash_attention", "use_flash_attn"),
        ],
        keeps_loaded: MasterWeightRule::UnderFsdp2,
        quantises_scales: true,
        ..OTHER
    },
    // `SupervisedFinetune` of xtuner/model/sft.py of InternLM/xtuner at b934f462, which adapts every linear matrix.
    KnownProgram {
        name: "XTuner",
        commands: &[&["xtuner", "train"]],
        defaults: &[(Field::Recompute, Value::Recompute(Recompute::Full))],
        adapters: (8, LoraTargets::ALL),
        keeps_loaded: MasterWeightRule::Unsharded,
        ..OTHER
    },
    // training/step1_supervised_finetuning/main.py of DeepSpeed-Chat in deepspeedai/DeepSpeedExamples.
    KnownProgram {
        name: "DeepSpeed-Chat",
        keys: &["zero_stage"],
        defaults: &[
            (Field::Precision, Value::Word(Precision::Fp16.to_word())),
            (Field::MicroBatch, Value::Count(16)),
            (Field::Sequence, Value::Count(512)),
        ],
        computes_as_stored: true,
        ..OTHER
    },
    // trl/trainer/sft_config.py of huggingface/trl since 0.20.
    KnownProgram {
        commands: &[
            &["trl", "sft"],
            &["trl", "dpo"],
            &["trl", "kto"],
            &["trl", "reward"],
            &["trl", "grpo"],
            &["trl", "rloo"],
        ],
        keys: &["use_peft", "accelerate_config", "packing_strategy", "assistant_only_loss", "completion_only_loss"],
        defaults: &[
            (Field::Recompute, Value::Recompute(Recompute::Full)),
            (Field::Precision, Value::Word(Precision::Bf16.to_word())),
            (Field::Sequence, Value::Count(1024)),
        ],
        dropout: 0.05, // trl/trainer/model_config.py
        ..OTHER
    },
];

/// Commands whose second word is the stage.
pub(super) const OTHER_STAGES: &[(&str, &[&str])] = &[
    ("trl", &["dpo", "kto", "grpo", "rloo", "reward"]),
    ("swift", &["rlhf", "dpo", "orpo", "simpo"]),
    ("megatron", &["rlhf"]),
];

/// Words in a script's name that tell the stage (`trl/scripts/dpo.py`, `train_rl.py`).
pub(super) const OTHER_STAGE_WORDS: &[&str] =
    &["dpo", "kto", "grpo", "ppo", "rloo", "orpo", "simpo", "gkd", "rl", "rlhf", "reward", "distill", "distillation"];

/// Words in the name of a script or module that does not train.
pub(super) const UNTRAINED_WORDS: &[&str] = &[
    "generate",
    "generation",
    "inference",
    "infer",
    "eval",
    "evaluate",
    "evaluation",
    "export",
    "convert",
    "preprocess",
    "server",
    "serve",
    "benchmark",
];

/// Words that make such a program train after all.
pub(super) const TRAINED_WORDS: &[&str] = &["train", "training", "pretrain", "finetune", "tune", "sft"];
