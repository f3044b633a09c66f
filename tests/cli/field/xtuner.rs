//! `XTuner`'s configurations, files of Python of which the values are read.

use super::super::run::assert_contains;
use super::{imported, refused};

/// As its zoo writes one, with adapters or without.
fn config(model: &str, ranks: u32) -> String {
    format!(
        "from torch.optim import AdamW\nfrom xtuner.model import SupervisedFinetune\n\n\
         pretrained_model_name_or_path = 'meta-llama/Llama-2-7b-hf'\nuse_varlen_attn = False\nmax_length = 2 * 4096  # tokens\n\
         sequence_parallel_size = {ranks}\nbatch_size = 1  # per_device\naccumulative_counts = 2\n\
         accumulative_counts *= sequence_parallel_size\noptim_type = AdamW\nmax_epochs = 3\n\
         tokenizer = dict(type=AutoTokenizer.from_pretrained, padding_side='right')\n\
         model = dict(\n    type=SupervisedFinetune,\n    use_varlen_attn=use_varlen_attn,\n    llm=dict(\n        \
         type=AutoModelForCausalLM.from_pretrained,\n        \
         pretrained_model_name_or_path=pretrained_model_name_or_path,\n        trust_remote_code=True,\n{model}),\n)\n\
         sampler = SequenceParallelSampler if sequence_parallel_size > 1 else DefaultSampler\n\
         train_dataloader = dict(batch_size=batch_size, sampler=dict(type=sampler, shuffle=True))\n\
         optim_wrapper = dict(\n    type=AmpOptimWrapper,\n    optimizer=dict(type=optim_type, lr=2e-4),\n    \
         accumulative_counts=accumulative_counts,\n    loss_scale='dynamic',\n    dtype='float16',\n)\n\
         custom_hooks = [dict(type=DatasetInfoHook, tokenizer=tokenizer)]\nif use_varlen_attn:\n    \
         custom_hooks += [dict(type=VarlenAttnArgsToMessageHubHook)]\n"
    )
}

const QLORA: &str = "        torch_dtype=torch.float16,\n        quantization_config=dict(\n            \
                     type=BitsAndBytesConfig,\n            load_in_4bit=True,\n            load_in_8bit=False,\n            \
                     llm_int8_threshold=6.0,\n            bnb_4bit_compute_dtype=torch.float16,\n            \
                     bnb_4bit_use_double_quant=True,\n            bnb_4bit_quant_type='nf4',\n        ),\n    ),\n    lora=dict(type=LoraConfig, r=64, lora_alpha=16, \
                     lora_dropout=0.1, bias='none', task_type='CAUSAL_LM'";

const ON_A100: &str = "--model llama-2-7b --hardware a100-80gb-dgx --strict";

/// `prepare_model_for_kbit_training` and all linear matrices of `SupervisedFinetune`; every layer is computed again by default.
#[test]
fn adapters_beside_four_bits() {
    let run = imported(&[("qlora.py", &config(QLORA, 1))], &format!("{ON_A100} --devices 1"));
    assert_contains(
        &run.stdout,
        &[
            "train = \"lora\"",
            "lora_rank = 64",
            "lora_targets = \"all\"",
            "lora_dropout = 0.1",
            "frozen_format = \"nf4\"",
            "sequence = 8192",
            "micro_batch = 1",
            "accumulate = 2",
            "recompute = \"full\"",
            "precision = \"fp16\"",
        ],
    );
}

/// Four ranks exchange heads, accumulation is four times as much, and `DeepSpeed`'s own file of stage 3 computes in bf16.
#[test]
fn a_script_starts_it_with_ranks_that_exchange_heads() {
    let script = "NPROC_PER_NODE=8 xtuner train full.py --deepspeed deepspeed_zero3 --work-dir out \\\n  \
                  --cfg-options train_dataloader.batch_size=2\n";
    let files = [("run.sh", script), ("full.py", &config("", 4))];
    let run = imported(&files, ON_A100);
    assert_contains(
        &run.stdout,
        &[
            "strategy = \"zero3\"",
            "context = 4",
            "context_kind = \"ulysses\"",
            "micro_batch = 2",
            "accumulate = 8",
            "precision = \"bf16\"",
            "stack = \"hf-deepspeed-2024\"",
            "devices = 8",
        ],
    );
    assert_contains(&refused(&[("run.sh", script)], ON_A100), &["full.py"]);
}

/// Another training, sharding by classes, what a block decides, and files of `v1`, which compute what they say.
#[test]
fn what_no_value_says_is_refused_by_name() {
    let of = |text: &str| refused(&[("c.py", text)], &format!("{ON_A100} --devices 8"));
    let full = config("", 1);
    assert_contains(&of(&full.replace("type=SupervisedFinetune", "type=DPO")), &["model.type", "'DPO'"]);
    assert_contains(&of(&format!("{full}strategy = dict(type=FSDPStrategy)\n")), &["strategy"]);
    assert_contains(&of(&full.replace("max_length = 2 * 4096", "max_length = int(4096 - 4)")), &["max_length"]);
    assert_contains(&of(&config("), visual_encoder=dict(type=CLIP", 1)), &["model.visual_encoder.type"]);
    assert_contains(
        &of("from xtuner.v1.train import TrainerConfig\ntrainer = TrainerConfig(sp_size=4)\n"),
        &["XTuner v1"],
    );
}
