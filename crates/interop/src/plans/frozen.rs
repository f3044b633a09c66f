//! Frozen parts of a model; LLaMA-Factory and axolotl name the others. [`super::adapters`] reads adapters.

use shardscope_engine::plan::{FrozenEnds, TrainMethod};
use shardscope_engine::scenario::Field;

use super::adapters::{ALONE, LLAMA_FACTORY};
use super::draft::PlanDraft;
use super::free_layers::{FreeLayers, LayerNumbers};
use super::settings::{Setting, ToolSettings};

/// Fields that a launcher's file leaves to the script, and what sets them there.
pub const FIELDS: [Field; 2] = [Field::FrozenLayers, Field::FrozenEnds];
pub const SCRIPT: &str = "the script's requires_grad_(False)";

/// Reads the frozen parts, if a tool freezes any.
pub fn read(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    if settings.text(LLAMA_FACTORY) == Some("freeze") {
        read_factory(settings, draft);
    }
    if let Some(unfrozen) = settings.take("unfrozen_parameters") {
        read_patterns(&unfrozen, draft);
    }
}

/// LLaMA-Factory's `freeze` trains only the last layers and the extra modules named (`_setup_freeze_tuning` of its
/// `model/adapter.py`).
fn read_factory(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let Some(method) = settings.take(LLAMA_FACTORY) else { return };
    draft.take(Field::Train, TrainMethod::Full, &method.place);
    let trained = settings.take("freeze_trainable_layers");
    if let Ok(last @ 1..) = trained.as_ref().map_or(Ok(2), |trained| trained.text.parse::<u32>()) {
        let place =
            trained.map_or_else(|| format!("{}, of whose layers two are trained", method.place), |own| own.place);
        draft.free_layers = Some((FreeLayers::Last(last), place));
    } else if let Some(trained) = &trained {
        let fix = "train the last layers: a plan freezes the first ones";
        draft.cannot(trained, "is no number of last layers", fix);
    }
    if let Some(modules) = settings.take("freeze_trainable_modules").filter(|modules| names(modules) != ["all"]) {
        draft.cannot(&modules, "is a part of a layer", "give all: a plan freezes whole layers");
    }
    let extra = settings.take("freeze_extra_modules");
    let beside = extra.as_ref().map(names).unwrap_or_default();
    let known = ["embed_tokens", "lm_head", "norm"];
    if let Some(other) = extra.as_ref().filter(|_| beside.iter().any(|name| !known.contains(&name.as_str()))) {
        return draft.cannot(other, "names a module that no plan trains alone", "give embed_tokens, lm_head or norm");
    }
    let has = |name: &str| beside.iter().any(|module| module == name);
    take_ends(has("embed_tokens"), has("lm_head"), &extra.map_or(method.place, |extra| extra.place), draft);
}

/// axolotl trains only parameters whose names begin with one of its patterns (`freeze_layers_except` of its
/// `utils/freeze.py`).
fn read_patterns(unfrozen: &Setting, draft: &mut PlanDraft) {
    let (mut embedding, mut head, mut all, mut numbers) = (false, false, false, Vec::new());
    let patterns = names(unfrozen);
    // An empty list freezes nothing.
    if patterns.is_empty() {
        return draft.report.ignore(&unfrozen.place, "everything is trained");
    }
    for pattern in patterns {
        // A period is literal, even before `*`; a pattern that does not end in one also matches longer numbers.
        let (whole, closed) = (pattern.trim_start_matches('^').replace("\\.", "."), pattern.ends_with('.'));
        let name = whole.split('$').next().unwrap_or_default().trim_end_matches(".*").trim_end_matches('.');
        let layers = name.strip_prefix("model.layers.").or_else(|| name.strip_prefix("layers."));
        match (name.trim_end_matches(".weight"), layers) {
            // The whole language model, beside a frozen vision model.
            ("model.language_model" | "language_model.model" | "language_model" | "model", _) => {
                (embedding, all) = (true, true);
            }
            ("lm_head", _) => head = true,
            ("model.embed_tokens" | "embed_tokens", _) => embedding = true,
            ("model.norm" | "norm", _) => {}
            (_, Some(number)) => match LayerNumbers::read(number, !closed) {
                Some(found) => numbers.extend(found),
                None => draft.cannot(unfrozen, "names parts of layers", "train whole ones: model.layers.3[0-9]"),
            },
            _ => draft.cannot(unfrozen, "names what no plan trains alone", ALONE),
        }
    }
    draft.take(Field::Train, TrainMethod::Full, &unfrozen.place);
    let free = if all { FreeLayers::Last(u32::MAX) } else { FreeLayers::Numbered(numbers) };
    draft.free_layers = Some((free, unfrozen.place.clone()));
    take_ends(embedding, head, &unfrozen.place, draft);
}

fn take_ends(embedding: bool, head: bool, place: &str, draft: &mut PlanDraft) {
    let ends = match (embedding, head) {
        (true, true) => FrozenEnds::None,
        (true, false) => FrozenEnds::Head,
        (false, true) => FrozenEnds::Embedding,
        (false, false) => FrozenEnds::Both,
    };
    draft.take(Field::FrozenEnds, ends, place);
}

/// Names in a list, written as `["lm_head"]` or as `lm_head,norm`.
fn names(setting: &Setting) -> Vec<String> {
    serde_json::from_str(&setting.text).unwrap_or_else(|_| {
        let names = setting.text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    })
}
