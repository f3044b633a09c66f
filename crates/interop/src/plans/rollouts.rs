//! How settings say a step whose answers the model writes: batches of prompts or of answers, lengths, the engine, a reference. What
//! TRL and ms-swift say of it beside the Trainer's settings. Not for programs of their own ([`super::rollout_programs`]).

mod trl;

use shardscope_engine::plan::{BesideModel, LoraTargets, PostMethod, Recompute, TrainMethod};
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::settings::{Setting, ToolSettings};
use super::table::{self, OFF};

pub(super) use trl::{of_axolotl, read as read_beside_trainer};

/// Settings of a program while they are taken over.
pub(super) struct RolloutSettings<'a> {
    pub settings: &'a mut ToolSettings,
    pub draft: &'a mut PlanDraft,
    pub program: &'static str,
}

/// A number with the place that says it, or whose default it is.
pub(super) struct SaidCount {
    pub value: u32,
    pub place: String,
}

impl RolloutSettings<'_> {
    pub fn default(&self) -> String {
        format!("{}'s default", self.program)
    }

    pub fn take(&mut self, name: &str) -> Option<Setting> {
        self.settings.take(name)
    }

    /// Whether a switch is on, where nothing says so as it is usually.
    pub fn is_on(&mut self, name: &str, usual: bool) -> bool {
        self.take(name).map_or(usual, |setting| table::switched(&setting.text) == "true")
    }

    /// A field's number, or its usual one.
    pub fn number(&mut self, name: &str, field: Field, usual: impl Into<Value>) {
        match self.take(name) {
            Some(setting) => self.draft.read(field, &setting.text, &setting.place),
            None => self.draft.assume(field, usual, self.default()),
        }
    }

    /// A count that several fields follow from.
    pub fn count(&mut self, name: &str, usual: u32) -> SaidCount {
        let Some(setting) = self.take(name) else {
            return SaidCount { value: usual, place: format!("{name}, {}", self.default()) };
        };
        match setting.text.parse() {
            Ok(value) if value > 0 => SaidCount { value, place: setting.place },
            _ => {
                self.draft.cannot(&setting, "is no count", "write a number of 1 or more");
                SaidCount { value: usual, place: setting.place }
            }
        }
    }

    /// Refuses any other value of a setting than these.
    pub fn only(&mut self, name: &str, known: &[&str], fix: &str) {
        let Some(setting) = self.take(name) else { return };
        if known.iter().any(|word| word.eq_ignore_ascii_case(&setting.text)) {
            self.draft.report.ignore(&setting.place, "a plan has it so");
        } else {
            self.draft.cannot(&setting, "changes size, time or memory as no plan can say", fix);
        }
    }

    /// Answers of a rollout and of each of its updates, whose counts are prompts or answers; says which.
    pub fn batches(&mut self, rollout: &SaidCount, update: &SaidCount, [prompts, of_update]: [bool; 2]) {
        let group = self.draft.ranks(Field::Group);
        let answers = |counted: &SaidCount, prompts: bool| {
            let (each, what) = if prompts { (group, "prompts") } else { (1, "answers") };
            (counted.value.saturating_mul(each), format!("{} ({what})", counted.place))
        };
        let ((all, rolled), (each, place)) = (answers(rollout, prompts), answers(update, of_update));
        self.draft.read(Field::GlobalBatch, &each.to_string(), &place);
        if all.is_multiple_of(each) {
            self.draft.take(Field::Updates, all / each, &format!("{rolled}, by {place}"));
        } else {
            self.draft.refuse(
                &rolled,
                format!("{all} answers are no multiple of the {each} of {place}"),
                Field::Updates,
            );
        }
    }

    /// The longest prompt and the longest answer together.
    pub fn sequence(&mut self, prompt: &SaidCount, answer: &SaidCount) {
        let place = format!("{} + {}", prompt.place, answer.place);
        self.draft.take(Field::Sequence, prompt.value.saturating_add(answer.value), &place);
    }

    pub fn method(&mut self, method: PostMethod, place: &str) {
        self.draft.take(Field::Method, method, place);
    }

    /// The reference: none where nothing is compared with it.
    pub fn reference(&mut self, compares: bool, host: bool, place: &str) {
        let adapters = self.draft.value(Field::Train).is_some_and(|train| *train == TrainMethod::Lora.into());
        let model = match () {
            () if !compares => BesideModel::None,
            () if adapters => BesideModel::AdaptersOff,
            () if host => BesideModel::Host,
            () => BesideModel::Resident,
        };
        self.draft.take(Field::Reference, model, place);
    }

    pub fn adapters(&mut self, name: &str) {
        if let Some(rank) = self.take(name).filter(|rank| rank.text != "0") {
            self.draft.take(Field::Train, TrainMethod::Lora, &rank.place);
            self.draft.read(Field::LoraRank, &rank.text, &rank.place);
            self.draft.assume(Field::LoraTargets, LoraTargets::ALL, self.default());
            if let Some(dropout) = self.take("lora_dropout") {
                self.draft.read(Field::LoraDropout, &dropout.text, &dropout.place);
            }
        }
    }

    pub fn recompute(&mut self, name: &str, usual: bool) {
        let again = |on: bool| if on { Recompute::Full } else { Recompute::None };
        match self.take(name) {
            Some(setting) => {
                let on = table::switched(&setting.text) == "true";
                self.draft.take(Field::Recompute, again(on), &setting.place);
            }
            None => self.draft.assume(Field::Recompute, again(usual), self.default()),
        }
    }

    /// A model of another shape than the trained one, which no file has.
    pub fn ask_model(&mut self, name: &str, field: Field) {
        if let Some(model) = self.take(name) {
            self.draft.ask(field, &model.place, format!("'{}' is a model whose shape is in no file", model.text));
        }
    }

    /// Devices of so many nodes.
    pub fn devices(&mut self, [nodes, each]: [&str; 2], field: Field, usual: [u32; 2]) {
        for name in [nodes, each] {
            if let Some(outside) = self.settings.text(name).filter(|text| text.contains('$')).map(str::to_owned) {
                let place = self.take(name).map_or_else(|| name.to_owned(), |setting| setting.place);
                self.draft.ask(field, &place, format!("'{outside}' is set outside the file"));
            }
        }
        let (nodes, each) = (self.count(nodes, usual[0]), self.count(each, usual[1]));
        let place = format!("{} x {}", nodes.place, each.place);
        self.draft.take(field, nodes.value.saturating_mul(each.value), &place);
    }

    /// How deep an engine sleeps: not at all where that is off.
    pub fn sleeps(&mut self, name: &str, usual: bool, level: u32) {
        let level = if self.is_on(name, usual) { level } else { 0 };
        self.draft.take(Field::Sleep, level, &format!("{}: {name}", self.settings.file));
    }

    /// Whether something is off that no plan has.
    pub fn off(&mut self, name: &str, fix: &str) {
        self.only(name, OFF, fix);
    }
}
