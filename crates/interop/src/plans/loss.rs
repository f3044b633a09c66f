//! Tools' settings for computing the loss. Not for how each stack computes it.

use shardscope_engine::plan::{LossFormat, LossKind, PostMethod};
use shardscope_engine::scenario::{Field, Value};

use super::asked::PlanQuery;
use super::deviation::Deviation;
use super::draft::PlanDraft;
use super::settings::ToolSettings;
use super::table::{Codec, OFF, ToolKey, only, words};
use super::writer::Line;

/// Fields that a launcher's file leaves to the script, and what sets them there.
pub(super) const FIELDS: [Field; 3] = [Field::Loss, Field::LossChunk, Field::LossFormat];
pub(super) const SCRIPT: &str = "the script's own, for which `export --to hf-trainer` writes TRL's `loss_type`";

/// Tokens in a chunk of TRL's (`_CHUNKED_LM_HEAD_CHUNK_SIZE` of `trl/trainer/sft_trainer.py`).
const TRL_CHUNK: u32 = 256;

/// Tokens in a block of Apple's cut cross-entropy, whose logits stay in the device's caches. As a chunk: the smallest
/// that its kernels take (apple/ml-cross-entropy, `cut_cross_entropy/tl_autotune.py`).
const CUT_CHUNK: u32 = 128;

/// TRL's loss by its name (`trl/trainer/sft_config.py`); in chunks, its products are in fp32.
pub(super) const TRL: Codec = Codec::new(
    &FIELDS,
    |settings, draft| {
        let Some(setting) = settings.take(LOSS_TYPE) else { return };
        match setting.text.to_ascii_lowercase().as_str() {
            CHUNKED => {
                draft.take(Field::Loss, LossKind::Chunked, &setting.place);
                draft.take(Field::LossChunk, TRL_CHUNK, &setting.place);
                draft.take(Field::LossFormat, LossFormat::Fp32, &setting.place);
            }
            WHOLE => draft.take(Field::Loss, LossKind::Whole, &setting.place),
            "cross_entropy" | "causal_lm" | "dft" => {
                draft.report.ignore(&setting.place, "it is the usual loss, of whole logits");
            }
            _ => draft.cannot(&setting, "is a loss that no plan has", "give the run with the usual loss"),
        }
    },
    |writer| {
        let word = match writer.plan().loss {
            _ if is_of_answers(writer.asked) => None,
            LossKind::Chunked => Some(CHUNKED),
            LossKind::Whole => Some(WHOLE),
            _ => None,
        };
        word.map(|word| Line::new(LOSS_TYPE, word)).into_iter().collect()
    },
)
.losing(&[
    Deviation::instead(
        Field::Loss,
        |asked, _| !matches!(asked.plan().loss, LossKind::Stack | LossKind::Whole | LossKind::Chunked),
        "TRL computes it of whole logits, or in chunks",
    )
    .alone(),
    Deviation::instead(
        Field::LossChunk,
        |asked, _| {
            asked.plan().loss == LossKind::Chunked && asked.plan().loss_chunk.is_some_and(|own| own != TRL_CHUNK)
        },
        "TRL's chunks have 256 tokens",
    ),
    Deviation::instead(
        Field::LossFormat,
        |asked, _| match asked.plan().loss {
            LossKind::Chunked => asked.plan().loss_format != Some(LossFormat::Fp32),
            _ => asked.plan().loss_format.is_some(),
        },
        "TRL multiplies in fp32 in chunks, and else in 16 bits before a loss in fp32",
    ),
    Deviation::instead(
        Field::Loss,
        |asked, _| is_of_answers(asked) && asked.plan().loss != LossKind::Stack,
        OF_ANSWERS,
    ),
    Deviation::instead(
        Field::LossChunk,
        |asked, _| is_of_answers(asked) && asked.plan().loss_chunk.is_some(),
        OF_ANSWERS,
    ),
    Deviation::instead(
        Field::LossFormat,
        |asked, _| is_of_answers(asked) && asked.plan().loss_format.is_some(),
        OF_ANSWERS,
    ),
]);

/// True for methods other than SFT, whose `loss_type` is another one (`trl/trainer/dpo_config.py`).
fn is_of_answers(asked: &PlanQuery<'_>) -> bool {
    asked.plan().post_training.method != PostMethod::Sft
}

const OF_ANSWERS: &str = "TRL has it for SFT alone";

const LOSS_TYPE: &str = "loss_type";
const CHUNKED: &str = "chunked_nll";
const WHOLE: &str = "nll";

/// Switches that compute the loss in one kernel: Liger's under axolotl's names
/// (src/axolotl/integrations/liger/args.py), and flash-attn's.
pub(super) const KERNELS: &[ToolKey] = &[
    words("liger_fused_linear_cross_entropy", Field::Loss, &[("true", IN_CHUNKS), ("false", OF_STACK)]),
    words("liger_cross_entropy", Field::Loss, &[("true", IN_ONE_KERNEL), ("false", OF_STACK)]),
    words("flash_attn_cross_entropy", Field::Loss, &[("true", IN_ONE_KERNEL), ("false", OF_STACK)]),
    only("chunked_cross_entropy*", OFF, "give the run without it: its logits are whole, which a plan's chunks are not"),
];

/// Values of the loss for such switches.
pub(super) const IN_CHUNKS: Value = Value::Word(LossKind::Chunked.to_word());
const IN_ONE_KERNEL: Value = Value::Word(LossKind::Fused.to_word());
pub(super) const OF_STACK: Value = Value::Word(LossKind::Stack.to_word());
pub(super) const OF_WHOLE_LOGITS: Value = Value::Word(LossKind::Whole.to_word());

/// Sets Apple's cut cross-entropy.
pub(super) fn cut(draft: &mut PlanDraft, place: &str) {
    draft.take(Field::Loss, LossKind::Chunked, place);
    draft.take(Field::LossChunk, CUT_CHUNK, place);
}

/// axolotl's switch for the plugin with cut cross-entropy; without it, the plugin's presence decides.
pub(super) fn read_cut(settings: &mut ToolSettings, draft: &mut PlanDraft) -> Option<bool> {
    let setting = settings.take("cut_cross_entropy")?;
    let is_on = !OFF.contains(&setting.text.as_str());
    if is_on {
        cut(draft, &setting.place);
    } else {
        draft.report.ignore(&setting.place, "the loss is the stack's");
    }
    Some(is_on)
}

/// Megatron-LM's loss in one kernel of Transformer Engine. With the word `native`, the switch has a compiler fuse the
/// stack's operators instead (`megatron/core/fusions/fused_cross_entropy.py`).
pub(super) const MEGATRON: Codec = Codec::new(
    &[Field::Loss],
    |settings, draft| {
        let [fusion, kernel] = [FUSION, KERNEL].map(|name| settings.take(name));
        let is_on = fusion.as_ref().is_some_and(|fusion| !OFF.contains(&fusion.text.as_str()));
        for setting in fusion.iter().chain(&kernel) {
            if is_on && setting.text == ENGINE {
                draft.take(Field::Loss, LossKind::Fused, &setting.place);
            } else {
                draft.report.ignore(&setting.place, "without Transformer Engine's kernel the loss is the stack's");
            }
        }
    },
    |writer| {
        let fused = writer.plan().loss == LossKind::Fused;
        if fused { vec![Line::new(FUSION, true), Line::new(KERNEL, ENGINE)] } else { Vec::new() }
    },
)
.losing(&[Deviation::instead(
    Field::Loss,
    |asked, _| matches!(asked.plan().loss, LossKind::Whole | LossKind::Chunked),
    "Megatron-LM divides whole logits over tensor ranks",
)
.alone()]);

const FUSION: &str = "cross_entropy_loss_fusion";
const KERNEL: &str = "cross_entropy_fusion_impl";
const ENGINE: &str = "te";
