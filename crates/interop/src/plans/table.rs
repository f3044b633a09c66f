//! Types for tables that map a tool's keys to fields of a plan, one line per key for both directions.
//!
//! The lines are in each tool's module.

use serde_json::Value as Json;

use shardscope_engine::plan::{Compile, Offload, Optimizer, Plan, Recompute};
use shardscope_engine::scenario::{Field, Value};

use super::deviation::Deviation;
use super::draft::PlanDraft;
use super::harmless::Harmless;
use super::settings::{Setting, ToolSettings};
use super::writer::{Line, PlanWriter, in_json};

/// A key of a tool; a final `*` stands for any end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolKey {
    /// The key's name, with enclosing objects before dots.
    pub name: &'static str,
    /// What the key means for a plan.
    pub means: KeyMeaning,
}

/// The meaning of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeyMeaning {
    /// A field's number.
    Number(Field),
    /// A field in the tool's words, each with the field's value. If several have one value, the first is written.
    Words(Field, &'static [(&'static str, Value)]),
    /// The optimizer, in the tool's words, and true if its state is paged. If several are equal, the first is written.
    Optimizers(&'static [(&'static str, Optimizer, bool)]),
    /// Harmless at these values; any other value is refused, with this fix.
    Only(&'static [&'static str], &'static str),
    /// Refused at these values, with this fix; harmless at any other.
    Except(&'static [&'static str], &'static str),
    /// The norm to which gradients are clipped; 0 for no clipping.
    Clipping,
    /// Compilation: the words for off, and the word for on if the key is written.
    Compiled(&'static [&'static str], Option<&'static str>),
    /// No effect on size, time or memory, and why.
    Nothing(&'static str),
    /// Several keys that are read and written together.
    Codec(&'static Codec),
    /// Fields left to whoever starts the tool, and who that is.
    Left(&'static [Field], &'static str),
    /// All remaining fields.
    Rest,
}

/// Keys that state fields together: how to read and write them, and what is lost.
#[derive(Debug)]
pub(crate) struct Codec {
    /// Keys that mean the same in any tool's file.
    pub names: &'static [&'static str],
    /// Fields that the keys state as planned, except for what is lost.
    pub fields: &'static [Field],
    /// Reads the keys.
    pub read: fn(&mut ToolSettings, &mut PlanDraft),
    /// Writes the keys' lines.
    pub write: fn(&mut PlanWriter<'_>) -> Vec<Line>,
    /// Where the tool deviates from these fields.
    pub lost: &'static [Deviation],
}

impl Codec {
    /// Keys that state fields, with their reader and writer.
    pub const fn new(
        fields: &'static [Field],
        read: fn(&mut ToolSettings, &mut PlanDraft),
        write: fn(&mut PlanWriter<'_>) -> Vec<Line>,
    ) -> Self {
        Self { names: &[], fields, read, write, lost: &[] }
    }

    /// Adds keys that mean the same in any tool's file: where unknown, they are refused.
    pub const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    /// Adds deviations.
    pub const fn losing(self, lost: &'static [Deviation]) -> Self {
        Self { lost, ..self }
    }
}

/// How a key's line states the value of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldCoverage {
    /// The line does not state it.
    Nothing,
    /// The line states it as planned.
    AsPlanned,
    /// The tool does something else: a description.
    Otherwise(&'static str),
}

impl KeyMeaning {
    /// True if the key states fields, all of them among these.
    pub fn is_of(self, fields: &[Field]) -> bool {
        match self {
            Self::Number(field) | Self::Words(field, _) => fields.contains(&field),
            Self::Codec(codec) => !codec.fields.is_empty() && codec.fields.iter().all(|field| fields.contains(field)),
            _ => false,
        }
    }

    /// How a line states a field's value in a plan.
    pub fn says(self, field: Field, value: &Value, plan: &Plan) -> FieldCoverage {
        let optimizer = |(_, own, _): &(&str, Optimizer, bool)| *own == plan.optimizer;
        let is_said = match self {
            Self::Number(own) => own == field,
            Self::Words(own, words) => own == field && words.iter().any(|(_, own)| own == value),
            Self::Optimizers(words) if field == Field::PagedOptimizer => {
                words.iter().any(|word| optimizer(word) && word.2)
            }
            Self::Optimizers(words) => field == Field::Optimizer && words.iter().any(optimizer),
            Self::Clipping => field == Field::ClipNorm,
            Self::Compiled(_, Some(_)) if field == Field::Compile && plan.compile == Compile::Layer => {
                return FieldCoverage::Otherwise("the model is compiled as a whole");
            }
            Self::Compiled(_, Some(_)) => field == Field::Compile,
            Self::Codec(codec) => codec.fields.contains(&field),
            Self::Left(fields, _) => fields.contains(&field),
            Self::Rest => true,
            Self::Only(..) | Self::Except(..) | Self::Compiled(_, None) | Self::Nothing(_) => false,
        };
        if is_said { FieldCoverage::AsPlanned } else { FieldCoverage::Nothing }
    }

    /// The value that a key has in a tool's file; `None` if the key is absent.
    fn written(self, writer: &PlanWriter<'_>) -> Option<Json> {
        let plan = writer.plan();
        match self {
            Self::Number(field) => writer.value(field).map(in_json),
            Self::Words(field, words) => {
                let value = writer.value(field)?;
                words.iter().find(|(_, own)| own == value).map(|(theirs, _)| word(theirs))
            }
            Self::Optimizers(words) => {
                let paged = writer.value(Field::PagedOptimizer).is_some();
                let own = || words.iter().filter(|(_, one, _)| *one == plan.optimizer);
                own().find(|(.., pages)| *pages == paged).or_else(|| own().next()).map(|(theirs, ..)| word(theirs))
            }
            Self::Clipping => (writer.value(Field::ClipNorm) == Some(&Value::Switch(false))).then(|| 0.0.into()),
            Self::Compiled(_, Some(on)) => (plan.compile != Compile::Off).then(|| word(on)),
            _ => None,
        }
    }
}

/// Writes the lines of a table for a plan.
pub fn write(table: &[ToolKey], writer: &mut PlanWriter<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for key in table {
        match key.means {
            KeyMeaning::Codec(codec) => {
                lines.extend((codec.write)(writer));
                writer.say_all(codec.fields);
            }
            KeyMeaning::Left(fields, to) => writer.leave(fields, to),
            KeyMeaning::Rest => writer.say_all(&Field::all().collect::<Vec<_>>()),
            means => {
                let Some(value) = means.written(writer) else { continue };
                lines.push(Line::new(key.name, value));
                let says = |(field, value): &&(Field, Value)| {
                    means.says(*field, value, writer.plan()) != FieldCoverage::Nothing
                };
                let said: Vec<Field> = writer.asked.values().filter(says).map(|(field, _)| *field).collect();
                writer.say_all(&said);
            }
        }
    }
    lines
}

/// A tool's word; a boolean if it is one.
fn word(theirs: &str) -> Json {
    theirs.parse::<bool>().map_or_else(|_| Json::from(theirs), Json::from)
}

/// A key for a field's number.
pub const fn number(name: &'static str, field: Field) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Number(field) }
}

/// A key for a field in the tool's words.
pub const fn words(name: &'static str, field: Field, words: &'static [(&'static str, Value)]) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Words(field, words) }
}

/// A key for the optimizer and its paged state, in the tool's words.
pub const fn optimizers(name: &'static str, words: &'static [(&'static str, Optimizer, bool)]) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Optimizers(words) }
}

/// A key that is refused unless it has one of these values.
pub const fn only(name: &'static str, values: &'static [&'static str], fix: &'static str) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Only(values, fix) }
}

/// A key that is refused if it has one of these values.
pub const fn except(name: &'static str, values: &'static [&'static str], fix: &'static str) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Except(values, fix) }
}

/// A key for the norm to which gradients are clipped.
pub const fn clips(name: &'static str) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Clipping }
}

/// A key for compilation that is only read.
pub const fn compiled(name: &'static str, off: &'static [&'static str]) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Compiled(off, None) }
}

/// A key for compilation that is written too.
pub const fn compiles(name: &'static str, off: &'static [&'static str], on: &'static str) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Compiled(off, Some(on)) }
}

/// Keys that state fields together.
pub const fn codec(codec: &'static Codec) -> ToolKey {
    ToolKey { name: "", means: KeyMeaning::Codec(codec) }
}

/// Fields left to whoever starts the tool.
pub const fn left_to(who: &'static str, fields: &'static [Field]) -> ToolKey {
    ToolKey { name: "", means: KeyMeaning::Left(fields, who) }
}

/// A key without effect.
pub const fn nothing(name: &'static str, why: &'static str) -> ToolKey {
    ToolKey { name, means: KeyMeaning::Nothing(why) }
}

/// Words that several tools use for a switch of the plan.
pub const SWITCH: &[(&str, Value)] = &[("true", Value::Switch(true)), ("false", Value::Switch(false))];

/// A switch for recomputation.
pub(crate) const CHECKPOINTING: &[(&str, Value)] =
    &[("true", Value::Recompute(Recompute::Full)), ("false", Value::Recompute(Recompute::None))];

/// A switch for offloading the whole state.
pub(crate) const OFFLOADED: &[(&str, Value)] =
    &[("true", Value::Word(Offload::State.to_word())), ("false", Value::Word(Offload::None.to_word()))];

/// A switch for offloading the optimizer's state alone.
pub(crate) const OPTIMIZER_OFFLOADED: &[(&str, Value)] =
    &[("true", Value::Word(Offload::Optimizer.to_word())), ("false", Value::Word(Offload::None.to_word()))];

/// Values that most tools take for off.
pub(crate) const OFF: &[&str] = &["false", "False", "0", "", "none", "None", "no", "[]"];

/// The value that several tools fill in when they start.
pub(crate) const FILLED_IN: &str = "auto";

/// Reads the settings that a table has.
pub fn read(table: &[ToolKey], settings: &mut ToolSettings, draft: &mut PlanDraft) {
    for key in table {
        match key.means {
            KeyMeaning::Codec(codec) => (codec.read)(settings, draft),
            KeyMeaning::Left(..) | KeyMeaning::Rest => {}
            means => settings.take_all(key.name).iter().for_each(|setting| read_one(means, setting, draft)),
        }
    }
}

fn read_one(means: KeyMeaning, setting: &Setting, draft: &mut PlanDraft) {
    let (text, place) = (setting.text.as_str(), setting.place.as_str());
    // A script's variable that the script does not set.
    let unset = text.contains('$');
    match means {
        KeyMeaning::Words(field, _) if unset => draft.read(field, text, place),
        KeyMeaning::Optimizers(_) if unset => draft.read(Field::Optimizer, text, place),
        KeyMeaning::Only(..) | KeyMeaning::Except(..) if unset => {
            draft.cannot(setting, "is set outside the file", "set it in the file");
        }
        KeyMeaning::Number(field) | KeyMeaning::Words(field, _) if text == FILLED_IN => filled_in(field, place, draft),
        KeyMeaning::Optimizers(_) if text == FILLED_IN => filled_in(Field::Optimizer, place, draft),
        KeyMeaning::Number(field) => draft.read(field, text, place),
        KeyMeaning::Words(field, words) => {
            let is_meant = |theirs: &str| theirs.eq_ignore_ascii_case(text) || theirs == switched(text);
            if let Some((_, value)) = words.iter().find(|(theirs, _)| is_meant(theirs)) {
                draft.take(field, value.clone(), place);
            } else {
                unknown(setting, words.iter().map(|(theirs, _)| *theirs), field, draft);
            }
        }
        KeyMeaning::Optimizers(words) => {
            if let Some((_, optimizer, paged)) = words.iter().find(|(theirs, ..)| theirs.eq_ignore_ascii_case(text)) {
                draft.take(Field::Optimizer, *optimizer, place);
                if *paged {
                    draft.take(Field::PagedOptimizer, true, place);
                }
            } else {
                unknown(setting, words.iter().map(|(theirs, ..)| *theirs), Field::Optimizer, draft);
            }
        }
        KeyMeaning::Only(values, fix) | KeyMeaning::Except(values, fix) => {
            let is_listed = values.iter().any(|value| value.eq_ignore_ascii_case(text));
            if is_listed == matches!(means, KeyMeaning::Only(..)) {
                draft.report.ignore(place, format!("'{text}' changes nothing"));
            } else {
                draft.cannot(setting, "changes size, time or memory as no plan can say", fix);
            }
        }
        KeyMeaning::Clipping => match text.parse::<f64>() {
            Ok(norm) if norm > 0.0 => draft.report.ignore(place, "a plan clips gradients, to whatever norm"),
            Ok(_) => draft.take(Field::ClipNorm, false, place),
            Err(_) if unset || text == FILLED_IN => {
                draft.report.ignore(place, "a plan clips gradients, to whatever norm");
            }
            Err(_) if OFF.contains(&text) || text == "null" => draft.take(Field::ClipNorm, false, place),
            Err(_) => draft.refuse(place, format!("'{text}' is no norm"), Field::ClipNorm),
        },
        KeyMeaning::Compiled(off, _) => {
            let off = off.iter().any(|value| value.eq_ignore_ascii_case(text));
            draft.take(Field::Compile, if off { Compile::Off } else { Compile::On }, place);
        }
        KeyMeaning::Nothing(why) => draft.report.ignore(place, why),
        KeyMeaning::Codec(_) | KeyMeaning::Left(..) | KeyMeaning::Rest => {}
    }
}

/// A switch in the tables' words, however it is written: `yes` and `1` in options of Hugging Face's parser
/// (`string_to_bool` of `hf_argparser.py`), `on` in YAML.
pub(crate) fn switched(text: &str) -> &str {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "t" | "y" | "1" | "on" => "true",
        "false" | "no" | "f" | "n" | "0" | "off" => "false",
        _ => text,
    }
}

/// Refuses a value that is none of a key's words.
fn unknown(setting: &Setting, words: impl Iterator<Item = &'static str>, field: Field, draft: &mut PlanDraft) {
    let known: Vec<&str> = words.collect();
    let what = format!("'{}' is nothing that a plan can say; known: {}", setting.text, known.join(", "));
    draft.refuse(&setting.place, what, field);
}

/// A value that the tool fills in when it starts: known only if another file gives it.
pub(crate) fn filled_in(field: Field, place: &str, draft: &mut PlanDraft) {
    if draft.value(field).is_some() {
        draft.report.ignore(place, "'auto' is what another setting says");
    } else {
        draft.ask(field, place, "'auto' is filled in elsewhere when the tool starts");
    }
}

/// Notes settings that no table has: harmless ones by the tool's list, the rest as unknown.
pub fn leave(tool: &str, settings: ToolSettings, draft: &mut PlanDraft) {
    let settings = without_effect(tool, settings, draft);
    draft.unknown.extend(settings.rest().map(|(name, setting)| (name.to_owned(), setting.clone())));
}

/// Notes a tool's harmless settings, doubts its kernels, and returns the rest.
pub fn without_effect(tool: &str, mut settings: ToolSettings, draft: &mut PlanDraft) -> ToolSettings {
    let PlanDraft { harmless, report, doubted, .. } = draft;
    let [harmless, kernels] = harmless.of_tool(tool);
    for Harmless { why, names } in harmless {
        for setting in names.iter().flat_map(|name| settings.take_all(name)) {
            report.ignore(&setting.place, why);
        }
    }
    for name in kernels.iter().flat_map(|kernels| &kernels.names) {
        let found = settings.take_named(name);
        for (_, setting) in &found {
            report.doubt(&setting.place);
        }
        doubted.extend(found);
    }
    settings
}
