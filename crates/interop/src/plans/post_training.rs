//! Post-training methods and models beside the trained one, in fine-tuning programs: LLaMA-Factory's stages, axolotl's
//! `rl`, ms-swift's `rlhf_type`, TRL's commands. [`super::programs`] knows the programs.

use shardscope_engine::plan::{BesideModel, Logits, Padding, PostMethod};
use shardscope_engine::scenario::{Field, Value};

use super::asked::PlanQuery;
use super::deviation::Deviation;
use super::draft::PlanDraft;
use super::loss;
use super::rollouts;
use super::settings::{Setting, ToolSettings};
use super::table::{self, Codec, OFF, ToolKey, codec, nothing, only, words};
use super::writer::{Line, PlanWriter};

/// LLaMA-Factory's setting for the training stage; stages told by commands and script names are put there too.
pub(super) const STAGE: &str = "stage";

/// Settings for the method: LLaMA-Factory's, axolotl's, ms-swift's.
const METHODS: [&str; 3] = [STAGE, "rl", "rlhf_type"];

/// Methods by these programs' words (`hparams/finetuning_args.py` of hiyouga/LLaMA-Factory 0.9,
/// `utils/schemas/enums.py` of axolotl 0.12, `arguments/rlhf_args.py` of ms-swift 4): a loss without a reference costs
/// what ORPO's does.
const WORDS: [(&str, PostMethod); 14] = [
    ("dpo", PostMethod::Dpo),
    ("ipo", PostMethod::Dpo),
    ("orpo", PostMethod::Orpo),
    ("simpo", PostMethod::Orpo),
    ("cpo", PostMethod::Orpo),
    ("kto", PostMethod::Kto),
    ("rm", PostMethod::Reward),
    ("reward", PostMethod::Reward),
    ("gkd", PostMethod::Distill),
    ("distillation", PostMethod::Distill),
    ("grpo", PostMethod::Grpo),
    ("gdpo", PostMethod::Grpo),
    ("rloo", PostMethod::Grpo),
    ("ppo", PostMethod::Ppo),
];

/// Programs whose generation of answers a plan can express.
const WRITERS: [&str; 4] = ["TRL", "ms-swift", "Megatron-SWIFT", AXOLOTL];
const AXOLOTL: &str = "axolotl";

/// Words for plain training, and ms-swift's word that refers to `rlhf_type`.
const PLAIN: [&str; 2] = ["sft", "pt"];
const BY_TYPE: &str = "rlhf";

/// Fixes for text that the model generates between steps, and for models beside the trained one.
const GIVEN: &str = "a plan trains on given answers here: choose dpo, orpo, simpo, cpo, kto, rm, or gkd with lmbda 0";
const ONE_MODEL: &str =
    "a plan runs no other model beside the one that it trains, but what a method compares with or learns from";

/// Settings of text generated between steps, or of its judge.
const WRITTEN: &[ToolKey] = &[
    only("perform_rl_step", OFF, GIVEN),
    only("num_generations", OFF, GIVEN),
    only("reward_model*", OFF, GIVEN),
    only("reward_func*", OFF, GIVEN),
    only("process_reward_model", OFF, GIVEN),
    only("use_vllm", OFF, GIVEN),
    only("trl.*", OFF, GIVEN),
    nothing("vllm_*", "it is of text that is written between steps"),
];

/// Megatron-LM's arguments of this kind, which its log lists whatever is trained.
const OF_SCRIPTS: &[ToolKey] = &[only("grpo_*", &[], GIVEN), only("rl_use*", OFF, GIVEN), only("langrl_*", &[], GIVEN)];

/// Settings that training without a method may not have.
const ALONE: &[ToolKey] = &[
    only("beta", &[], ONE_MODEL),
    only("max_completion_length", OFF, GIVEN),
    only("max_prompt_length", OFF, GIVEN),
    only("reward*", OFF, GIVEN),
    only("ref_model*", OFF, ONE_MODEL),
    only("mcore_ref_model", OFF, ONE_MODEL),
    only("reference_free", OFF, ONE_MODEL),
    only("precompute_ref_log_probs", OFF, ONE_MODEL),
    // LLaMA-Factory's loss against a reference (`create_ref_model` in `train/sft/trainer.py`).
    only("use_asft_loss", OFF, ONE_MODEL),
    nothing("asft_alpha", LOSS),
    only("teacher*", OFF, ONE_MODEL),
    only(
        "task_type",
        &["causal_lm"],
        "a plan trains a language model to predict its next token, unless its method is rm",
    ),
    only("num_labels", OFF, "a plan trains a language model to predict its next token, unless its method is rm"),
    codec(&loss::TRL),
    words(LOGITS, Field::Logits, LOGITS_KEPT),
];

const LOSS: &str = "the numbers of a loss change neither size nor time";
const LENGTHS: &str = "every sequence is taken to be as long as the longest";

/// Settings that change nothing, given a method.
const BESIDE: &[ToolKey] = &[
    nothing("beta", LOSS),
    nothing("rl_beta", LOSS),
    nothing("pref_*", LOSS),
    nothing("dpo_*", LOSS),
    nothing("kto_*", LOSS),
    nothing("orpo_*", LOSS),
    nothing("simpo_*", LOSS),
    nothing("cpo_*", LOSS),
    nothing("rpo_alpha", LOSS),
    nothing("desirable_weight", LOSS),
    nothing("undesirable_weight", LOSS),
    nothing("loss_type", LOSS),
    nothing("center_rewards_coefficient", LOSS),
    nothing("max_prompt_length", LENGTHS),
    nothing("max_completion_length", LENGTHS),
    nothing("max_new_tokens", "it is of text that is written between steps"),
    only("sync_ref_model", OFF, "switch it off: a reference stays as it is"),
    only("ref_model_quantization_bit", OFF, "leave it out: a copy has the format of the weights"),
    only("ref_model_adapters", OFF, "leave it out: a reference has no adapters"),
    nothing("num_labels", "a score is one number"),
    nothing("task_type", "the method says it"),
];

/// Reads the method, and its settings.
pub fn read(program: &str, settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let method = read_method(program, settings, draft);
    if !method.as_ref().is_some_and(|(method, _)| method.writes()) {
        table::read(WRITTEN, settings, draft);
        // A log lists all of Megatron-LM's arguments, a script only those that someone set.
        if !draft.logged {
            table::read(OF_SCRIPTS, settings, draft);
        }
    }
    // TRL's file leaves the method to the command that takes the file.
    let given = || {
        let method = draft.value(Field::Method).and_then(Value::get).filter(|method| *method != PostMethod::Sft);
        method.map(|method| (method, METHOD.to_owned()))
    };
    let Some((method, place)) = method.or_else(given) else { return table::read(ALONE, settings, draft) };
    let method = without_reference(method, settings);
    draft.take(Field::Method, method, &place);
    if method.writes() && program == AXOLOTL {
        rollouts::of_axolotl(settings, draft);
    }
    read_logits(program, method, settings, draft);
    if method.writes() {
        rollouts::read_beside_trainer(program, (method, &place), settings, draft);
    }
    for own in settings.take_all("mcore_ref_model").into_iter().chain(settings.take_all("ref_model")) {
        draft.take(Field::Reference, BesideModel::Resident, &own.place);
    }
    let teachers = TEACHERS.iter().flat_map(|name| settings.take_all(name));
    for teacher in teachers.collect::<Vec<_>>() {
        draft.ask(Field::Teacher, &teacher.place, format!("'{}' is a model whose shape is in no file", teacher.text));
    }
    read_switch(settings, AHEAD, Field::Reference, BesideModel::Precomputed, draft);
    read_switch(settings, "offload_teacher_model", Field::Teacher, BesideModel::Host, draft);
    let fills = [&PACKINGS[..], &["pad_to_sequence_len"]].concat();
    let fills = fills.into_iter().any(|name| switches_on(settings, name));
    if method.sequences() > 1 {
        for name in PACKINGS {
            read_switch(settings, name, Field::Padding, Padding::Packed, draft);
        }
    }
    if !fills && !method.writes() {
        let why = format!("{program} fills the answers of a batch up to the longest");
        draft.assume(Field::Padding, Padding::Longest, why);
    }
    table::read(BESIDE, settings, draft);
}

/// Which tokens have logits: by the switch of ms-swift and of older TRL and axolotl, or by the program's default.
/// ms-swift computes those of answers alone (`get_use_logits_to_keep` of `swift/trainers/mixin.py`), except for ORPO,
/// `SimPO` and CPO, where it uses TRL's trainer, and for sequences that several ranks share. TRL and axolotl do so for
/// generated answers (`_get_per_token_logps_and_entropies` of `trl/trainer/grpo_trainer.py`).
fn read_logits(program: &str, method: PostMethod, settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let said = [LOGITS, "dpo_use_logits_to_keep"].into_iter().find_map(|name| settings.take(name));
    let shared = ["sequence_parallel_size", "context_parallel_size"]
        .iter()
        .any(|name| settings.count(name).is_some_and(|ranks| ranks > 1));
    let packed = method.sequences() > 1 && PACKINGS.iter().any(|name| switches_on(settings, name));
    let alone = match program {
        "ms-swift" => ![PostMethod::Orpo, PostMethod::Reward].contains(&method),
        "TRL" | AXOLOTL => method.writes(),
        _ => false,
    };
    match said {
        Some(said) if !is_on(&said) => draft.take(Field::Logits, Logits::All, &said.place),
        Some(said) if shared || packed => {
            draft.report.ignore(&said.place, "how much of a packed or shared sequence answers are is not known");
        }
        Some(said) => draft.take(Field::Logits, Logits::Completions, &said.place),
        None if alone && !shared && !packed => {
            draft.assume(Field::Logits, Logits::Completions, format!("{program} computes those of answers alone"));
        }
        None => {}
    }
}

/// Switch for these logits in ms-swift, and in TRL before 0.29.
pub(super) const LOGITS: &str = "use_logits_to_keep";
const LOGITS_KEPT: &[(&str, Value)] =
    &[("true", Value::Word(Logits::Completions.to_word())), ("false", Value::Word(Logits::All.to_word()))];

/// Keys for the teacher in ms-swift, and in TRL's `trl/experimental/gkd/gkd_config.py`.
const TEACHERS: [&str; 2] = ["teacher_model", "teacher_model_name_or_path"];

/// Switches that pack several answers into a sequence.
const PACKINGS: [&str; 2] = ["padding_free", "packing"];

/// Fields of a method that a launcher's file leaves to the script, and what sets them there.
pub(super) const FIELDS: [Field; 6] =
    [Field::Method, Field::Reference, Field::Teacher, Field::TopK, Field::Padding, Field::Logits];
pub(super) const SCRIPT: &str = "the script's trainer, for which `export --to hf-trainer` writes TRL's keys";

/// The flag for a method that no file gives.
const METHOD: &str = "--method";

/// Methods of TRL's command beside SFT (`trl/cli` of huggingface/trl), and what selects them.
const TRL_METHODS: [PostMethod; 3] = [PostMethod::Dpo, PostMethod::Kto, PostMethod::Reward];
const COMMAND: &str =
    "the word of TRL's command, `trl dpo`, `trl kto` or `trl reward`, that takes this file by --config";

/// TRL's keys for a method, for exports; [`read`] reads them with those of other programs.
pub(super) const TRL: Codec = Codec::new(
    &[Field::Method, Field::Reference, Field::Padding],
    |_, _| {},
    |writer| {
        let plan = writer.plan();
        writer.leave(&[Field::Method], COMMAND);
        writer.leave(
            &[Field::Logits],
            "TRL's own: its trainers of 1.16 compute those of answers alone, some tokens at a time",
        );
        leave_padding(writer);
        // TRL's keys belong to its configurations, whose default is 1,024 tokens.
        let is_trls = plan.tuning.freezes() || plan.post_training.method != PostMethod::Sft;
        let length = if is_trls { writer.line("max_length", Field::Sequence) } else { None };
        let ahead = TRL_METHODS.contains(&plan.post_training.method) && plan.reference() == BesideModel::Precomputed;
        ahead.then(|| Line::new(AHEAD, true)).into_iter().chain(length).collect()
    },
)
.losing(&[
    Deviation::instead(
        Field::Method,
        |asked, _| {
            let method = asked.plan().post_training.method;
            method != PostMethod::Sft && !TRL_METHODS.contains(&method)
        },
        "TRL has no command for it that takes this file; its other trainers are started by scripts",
    )
    .alone(),
    Deviation::instead(Field::Reference, |asked, _| compares_otherwise(asked, true), COMPARES),
    // `padding_free` has been broken there since a refactor (`trl/trainer/dpo_trainer.py`).
    Deviation::instead(Field::Padding, |asked, _| fills_otherwise(asked, false), FILLS),
]);

/// Leaves the padding of plain training to the trainer, since an import does not read it.
pub(super) fn leave_padding(writer: &mut PlanWriter<'_>) {
    if writer.plan().post_training.method == PostMethod::Sft {
        writer.leave(&[Field::Padding], "the trainer's own, which fills the sequences of a batch up to the longest");
    }
}

/// The reference and the padding of programs on the Trainer.
pub(super) const COMPARES: &str = "it compares with a copy of the model, or beside adapters with its frozen weights";
pub(super) const FILLS: &str = "it fills the answers of a batch up to the longest";

/// True if a plan's reference differs from theirs, which may be computed `ahead` of training.
pub(super) fn compares_otherwise(asked: &PlanQuery<'_>, ahead: bool) -> bool {
    let plan = asked.plan();
    match plan.reference() {
        BesideModel::Host | BesideModel::Other(_) => true,
        BesideModel::Resident => plan.tuning.freezes(),
        BesideModel::None => plan.post_training.method.of_reference() > 0,
        BesideModel::AdaptersOff => false,
        BesideModel::Precomputed => !ahead,
    }
}

/// True if a plan's padding differs from theirs, which may be `packed`.
pub(super) fn fills_otherwise(asked: &PlanQuery<'_>, packed: bool) -> bool {
    match asked.plan().post_training.padding {
        None | Some(Padding::Longest) => false,
        Some(Padding::Packed) => !packed,
        Some(Padding::Fixed) => true,
    }
}

/// Switch that computes the reference ahead of training.
const AHEAD: &str = "precompute_ref_log_probs";

/// Sets a field to a value if a switch is on.
fn read_switch(settings: &mut ToolSettings, name: &str, field: Field, value: impl Into<Value>, draft: &mut PlanDraft) {
    let Some(switch) = settings.take(name) else { return };
    if is_on(&switch) {
        draft.take(field, value, &switch.place);
    } else {
        draft.report.ignore(&switch.place, "it is off");
    }
}

/// True if a switch is on; it stays in the settings.
fn switches_on(settings: &ToolSettings, name: &str) -> bool {
    settings.text(name).is_some_and(|text| table::switched(text) == "true")
}

fn is_on(switch: &Setting) -> bool {
    table::switched(&switch.text) == "true"
}

/// The method in the settings, and its place.
fn read_method(program: &str, settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<(PostMethod, String)> {
    let mut found = None;
    for setting in METHODS.iter().filter_map(|name| settings.take(name)).collect::<Vec<Setting>>() {
        let text = setting.text.to_ascii_lowercase();
        match WORDS.iter().find(|(word, _)| *word == text) {
            Some((_, method)) if *method == PostMethod::Distill && writes(settings) => {
                draft.cannot(&setting, "trains on text that the model writes between steps", GIVEN);
            }
            Some((_, method)) if method.writes() && !WRITERS.contains(&program) => {
                draft.cannot(&setting, "trains on text that the model writes between steps", GIVEN);
            }
            Some((_, method)) => found = Some((*method, setting.place)),
            // ms-swift's default of `rlhf_type` is DPO.
            None if text == BY_TYPE => found = Some((PostMethod::Dpo, setting.place)),
            None if PLAIN.contains(&text.as_str()) || OFF.contains(&text.as_str()) => {
                draft.report.ignore(&setting.place, format!("'{}' changes nothing", setting.text));
            }
            None => {
                draft.cannot(&setting, "changes size, time or memory as no plan can say", GIVEN);
                return None;
            }
        }
    }
    found
}

/// True if a distillation generates some of its answers: half of them by default (`gkd_config.py` of TRL, `lmbda`).
fn writes(settings: &mut ToolSettings) -> bool {
    settings.take("lmbda").is_none_or(|share| share.text.parse::<f64>().ok() != Some(0.0))
}

/// The method, with ORPO for a DPO loss without a reference.
fn without_reference(method: PostMethod, settings: &mut ToolSettings) -> PostMethod {
    let loss = settings.text("pref_loss").is_some_and(|loss| ["orpo", "simpo"].contains(&loss));
    if method == PostMethod::Dpo && (loss || settings.take("reference_free").as_ref().is_some_and(is_on)) {
        PostMethod::Orpo
    } else {
        method
    }
}
