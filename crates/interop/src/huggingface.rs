//! Hugging Face `config.json`: the shape of the decoder that transformers' class of `model_type` builds.
//!
//! Checked against transformers 5.23.0. Reads no weights, and computes no costs.

mod delta_net;
mod experts;
mod family;
mod ignored;
mod keys;
mod mamba;
mod refusals;
mod shape;
mod window;

use serde::Serialize;
use serde_json::{Map, Value};

use shardscope_engine::model::Model;

use super::report::{ImportReport, Imported};
pub use family::Families;
use family::Family;
use keys::Keys;
use shardscope_engine::problem::Problem;

/// Options of an import, beside the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImportOptions<'a> {
    /// The file's name in the result.
    pub file: &'a str,
    /// The model's name; by default the configuration's, or else the file's.
    pub name: Option<&'a str>,
    /// Known `model_type` whose rules are applied to an unknown one.
    pub like: Option<&'a str>,
}

/// A model with its exact parameter counts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CountedModel {
    /// Trained parameters.
    pub parameters: u64,
    /// Parameters active per token.
    pub active_parameters: u64,
    /// The model's shape, as in a preset.
    pub model: Model,
}

impl CountedModel {
    /// The file of a preset, without the id: the file's name gives it.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut table = toml::Table::try_from(&self.model)?;
        table.remove("id");
        toml::to_string(&table)
    }
}

/// Reads a model from a configuration, with the source of each value.
pub fn model(text: &str, families: &Families, options: ImportOptions<'_>) -> Result<Imported<CountedModel>, Problem> {
    let outer = parsed(text)?;
    refusals::whole(&outer)?;
    let mut report = ImportReport::default();
    let (object, inside) = inner(&outer)?;
    refusals::whole(object)?;
    let family = family(object, families, options.like, inside)?;
    let mut keys = Keys::new(object, &outer, inside, &mut report);
    let model = shape::model(&mut keys, family, options)?;
    refusals::unread(&keys, family)?;
    if options.like.is_some() {
        refusals::of_another(&keys, family, families)?;
    }
    refusals::activation(&keys, family)?;
    shape::note_head(&mut keys);
    ignored::note(&mut keys, families);
    if !inside.is_empty() {
        ignored::note_around(&outer, families, &mut report);
    }
    if let Some(Problem { field, what: must, .. }) = model.problems().into_iter().next() {
        return Err(Problem::new(field, format!("the file's values make a model whose {must}"), "correct them"));
    }
    // Counted only now: sizes that fail the checks would overflow.
    let made = CountedModel { parameters: model.parameters(), active_parameters: model.active_parameters(), model };
    Ok(Imported { made, report })
}

/// True if a text is a `config.json`, of any class.
pub(crate) fn is_config(text: &str) -> bool {
    parsed(text).is_ok_and(|object| {
        object.contains_key("model_type") || INSIDE.iter().any(|(key, _)| object.contains_key(*key))
    })
}

/// The object of a file. Python's JSON may hold infinities and NaN; no key that is read here does.
fn parsed(text: &str) -> Result<Map<String, Value>, Problem> {
    let text = without_infinities(text.trim_start_matches('\u{feff}'));
    let wrong = |what: String| Problem::new("", what, "name the config.json of a model");
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong("it is JSON, though not an object".to_owned())),
        Err(error) => Err(wrong(format!("it is not JSON ({error})"))),
    }
}

/// Replaces `Infinity` and `NaN` outside strings by `null`.
fn without_infinities(text: &str) -> String {
    let parts = text.split('"');
    let (mut inside, mut escaped) = (false, false);
    let mut found = String::with_capacity(text.len());
    for (index, part) in parts.enumerate() {
        if index > 0 {
            found.push('"');
            // A quotation mark after an odd number of backslashes does not end a string.
            inside = if inside { escaped } else { true };
        }
        let backslashes = part.len() - part.trim_end_matches('\\').len();
        escaped = inside && !backslashes.is_multiple_of(2);
        if inside {
            found.push_str(part);
        } else {
            found.push_str(&part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null"));
        }
    }
    found
}

/// Keys under which vision-language models keep the decoder's configuration, and their prefix in messages.
const INSIDE: [(&str, &str); 3] =
    [("text_config", "text_config."), ("llm_config", "llm_config."), ("language_config", "language_config.")];

/// Finds the decoder's configuration.
fn inner(outer: &Map<String, Value>) -> Result<(&Map<String, Value>, &'static str), Problem> {
    let found =
        INSIDE.into_iter().find_map(|(key, inside)| Some((key, inside, outer.get(key).filter(|it| !it.is_null())?)));
    match found {
        None => Ok((outer, "")),
        Some((_, inside, Value::Object(inner))) => Ok((inner, inside)),
        Some((key, ..)) => Err(Problem::new(key, "it is not an object", "write the decoder's keys into it")),
    }
}

fn family<'a>(
    object: &Map<String, Value>,
    families: &'a Families,
    like: Option<&str>,
    inside: &str,
) -> Result<&'a Family, Problem> {
    let known = || format!("known: {}", families.names().collect::<Vec<_>>().join(", "));
    if let Some(like) = like {
        let what = || Problem::new("--like", format!("'{like}' is no known model_type"), known());
        return families.find(like).ok_or_else(what);
    }
    let place = format!("{inside}model_type");
    match object.get("model_type").and_then(Value::as_str) {
        None => Err(Problem::new(place, "is missing", format!("say with --like which it is; {}", known()))),
        Some(name) => families.find(name).ok_or_else(|| {
            let like = families.nearest(name).map_or_else(
                || "where its layers are those of one of them, --like says so".to_owned(),
                |near| format!("where its layers are those of {near}, --like {near} reads it as that"),
            );
            let fix = format!("{}; {like}", known());
            Problem::new(place, format!("unknown model_type '{name}'"), fix)
        }),
    }
}

#[cfg(test)]
mod tests;
