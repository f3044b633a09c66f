//! Why what a configuration says beside the shape does not matter.

use serde_json::{Map, Value};

use super::super::report::ImportReport;
use super::INSIDE;
use super::keys::Keys;

/// Parts of keys' names, and what such keys are; the first that fits says it.
const REASONS: [(&str, &str); 36] = [
    ("torch_dtype", "the format of the published weights; --precision says how it is trained"),
    ("dtype", "the format of the published weights; --precision says how it is trained"),
    ("quantization_config", "how published weights are stored; it changes no count"),
    ("nextn_predict", "layers that predict further tokens; --mtp-layers says how many are trained"),
    ("mtp_", "layers that predict further tokens; --mtp-layers says how many are trained"),
    ("vision_config", "the part that reads pictures is not imported"),
    ("audio_config", "the part that reads sound is not imported"),
    ("token", "a token's number or place, or how tokens are generated"),
    ("architectures", "the class; model_type says it"),
    ("auto_map", "code of the model's own; model_type says the class"),
    ("transformers_version", "who wrote the file"),
    ("rope", "how positions are computed"),
    ("rotary", "how positions are computed"),
    ("alibi", "how positions are computed"),
    ("original_max_position", "how positions are computed"),
    ("drop", "dropout has no parameters; the stack says whether it is trained with it"),
    ("pdrop", "dropout has no parameters"),
    ("init", "how weights begin"),
    ("time_step", "how weights begin, or what bounds the steps"),
    ("_eps", "a constant of the norms"),
    ("epsilon", "a constant of the norms"),
    ("_act", "the activation function has no parameters"),
    ("activation_function", "the activation function has no parameters"),
    ("cache", "how text is generated"),
    ("summary_", "a head that is not of the language model"),
    ("task_specific", "how text is generated"),
    ("softcapping", "a function without parameters"),
    ("multiplier", "a factor without parameters"),
    ("scal", "a factor without parameters"),
    ("aux_loss", "a part of the loss"),
    ("router_", "how tokens are routed, or a part of the loss"),
    ("topk", "how tokens are routed"),
    ("n_group", "how tokens are routed"),
    ("scoring", "how tokens are routed"),
    ("parallel", "the order of the halves, or how it was trained"),
    ("pretraining_tp", "how it was trained"),
];

/// Notes all keys that no shape was read from.
pub(super) fn note(keys: &mut Keys<'_>) {
    let unread: Vec<String> = keys.unread().map(|(key, _)| key.clone()).collect();
    for key in unread {
        let place = keys.place(&key);
        keys.report.ignore(&place, why(&key));
    }
}

/// Notes what stands around the decoder's own configuration.
pub(super) fn note_around(outer: &Map<String, Value>, report: &mut ImportReport) {
    for key in outer.keys().filter(|key| !INSIDE.iter().any(|(inside, _)| inside == key)) {
        let known = REASONS.iter().any(|(part, _)| key.contains(part));
        report.ignore(key, if known { why(key) } else { "the decoder stands apart" });
    }
}

fn why(key: &str) -> &'static str {
    reason(key).unwrap_or("no shape is read from it")
}

/// Why a key does not matter, where that is known.
pub(super) fn reason(key: &str) -> Option<&'static str> {
    REASONS.iter().find(|(part, _)| key.contains(part)).map(|(_, why)| *why)
}
