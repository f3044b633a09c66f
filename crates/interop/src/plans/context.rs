//! Kinds of context parallelism, in the words of several tools; Megatron-LM's are beside its ranks.

use shardscope_engine::plan::ContextKind;
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::settings::ToolSettings;

/// How PyTorch's context ranks exchange keys and values (`set_rotate_method`).
pub(crate) const ROTATED: &[(&str, Value)] = &[
    ("allgather", Value::Word(ContextKind::AllGather.to_word())),
    ("alltoall", Value::Word(ContextKind::Zigzag.to_word())),
];

/// axolotl's functions of ring attention (`RingAttnFunc` of src/axolotl/utils/schemas/enums.py).
pub(crate) const RING_FUNCTIONS: &[(&str, Value)] = &[
    ("varlen_llama3", Value::Word(ContextKind::AllGather.to_word())),
    ("batch_ring", Value::Word(ContextKind::Ring.to_word())),
    ("batch_zigzag", Value::Word(ContextKind::Zigzag.to_word())),
    ("batch_stripe", Value::Word(ContextKind::Zigzag.to_word())),
];

/// Reads the number of context ranks from a key that implies the exchange of heads.
pub(crate) fn read_heads(name: &str, settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(setting) = settings.take(name) else { return };
    draft.read(Field::Context, &setting.text, &setting.place);
    if draft.ranks(Field::Context) > 1 {
        draft.take(Field::ContextKind, ContextKind::Ulysses, &setting.place);
    }
}
