//! Settings of a step whose answers the model generates: batches of prompts or answers, lengths, the engine, a reference.
//! Also TRL's and ms-swift's, beside the Trainer's settings. [`super::rollout_programs`] reads other programs.

mod trl;

use shardscope_engine::plan::{BesideModel, LoraTargets, PostMethod, Recompute, TrainMethod};
use shardscope_engine::scenario::{Field, Value};

use super::draft::PlanDraft;
use super::settings::{Setting, ToolSettings};
use super::table::{self, OFF};

pub(super) use trl::{of_axolotl, read as read_beside_trainer};

/// A program's settings being read.
pub(super) struct RolloutSettings<'a> {
    pub settings: &'a mut ToolSettings,
    pub draft: &'a mut PlanDraft,
    pub program: &'static str,
}

/// A number, with the place of its setting or the program whose default it is.
pub(super) struct SourcedCount {
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

    /// True if a switch is on; `usual` if it is not set.
    pub fn is_on(&mut self, name: &str, usual: bool) -> bool {
        self.take(name).map_or(usual, |setting| table::switched(&setting.text) == "true")
    }

    /// Reads a field's number, or assumes the usual one.
    pub fn number(&mut self, name: &str, field: Field, usual: impl Into<Value>) {
        match self.take(name) {
            Some(setting) => self.draft.read(field, &setting.text, &setting.place),
            None => self.draft.assume(field, usual, self.default()),
        }
    }

    /// A count from which several fields follow.
    pub fn count(&mut self, name: &str, usual: u32) -> SourcedCount {
        let Some(setting) = self.take(name) else {
            return SourcedCount { value: usual, place: format!("{name}, {}", self.default()) };
        };
        match setting.text.parse() {
            Ok(value) if value > 0 => SourcedCount { value, place: setting.place },
            _ => {
                self.draft.cannot(&setting, "is no count", "write a number of 1 or more");
                SourcedCount { value: usual, place: setting.place }
            }
        }
    }

    /// Refuses any value of a setting but these.
    pub fn only(&mut self, name: &str, known: &[&str], fix: &str) {
        let Some(setting) = self.take(name) else { return };
        if known.iter().any(|word| word.eq_ignore_ascii_case(&setting.text)) {
            self.draft.report.ignore(&setting.place, "a plan has it so");
        } else {
            self.draft.cannot(&setting, "changes size, time or memory as no plan can say", fix);
        }
    }

    /// Answers in a rollout and in each of its updates; the flags tell if the counts are of prompts.
    pub fn batches(&mut self, rollout: &SourcedCount, update: &SourcedCount, [prompts, of_update]: [bool; 2]) {
        let group = self.draft.ranks(Field::Group);
        let answers = |counted: &SourcedCount, prompts: bool| {
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

    /// The sequence: longest prompt plus longest answer.
    pub fn sequence(&mut self, prompt: &SourcedCount, answer: &SourcedCount) {
        let place = format!("{} + {}", prompt.place, answer.place);
        self.draft.take(Field::Sequence, prompt.value.saturating_add(answer.value), &place);
    }

    pub fn method(&mut self, method: PostMethod, place: &str) {
        self.draft.take(Field::Method, method, place);
    }

    /// The reference; none if nothing is compared with it.
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

    /// Asks for a model other than the trained one, whose shape is in no file.
    pub fn ask_model(&mut self, name: &str, field: Field) {
        if let Some(model) = self.take(name) {
            self.draft.ask(field, &model.place, format!("'{}' is a model whose shape is in no file", model.text));
        }
    }

    /// Nodes times devices of each.
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

    /// The engine's sleep level; 0 if sleep is off.
    pub fn sleeps(&mut self, name: &str, usual: bool, level: u32) {
        let level = if self.is_on(name, usual) { level } else { 0 };
        self.draft.take(Field::Sleep, level, &format!("{}: {name}", self.settings.file));
    }

    /// Refuses a feature that no plan has, unless it is off.
    pub fn off(&mut self, name: &str, fix: &str) {
        self.only(name, OFF, fix);
    }
}
