//! A line to type on: the text, and what becomes of it.

use tui_input::{Input, InputRequest};

use shardscope_engine::scenario::Field;
use shardscope_interop::export::ExportForm;

use crate::app::action::context::Context;
use crate::app::action::effect::Effect;
use crate::app::action::{Action, Command};
use crate::app::transfer::exporting::ExportConsent;
use crate::app::transfer::importing::path;
use crate::app::views::View;

/// A text being typed over an old one.
#[derive(Debug, Clone)]
pub struct TypedLine {
    /// The typed text, with its cursor.
    pub input: Input,
    /// Whether it is still the old text, which the first character replaces.
    pub untouched: bool,
}

impl TypedLine {
    /// An old text, to be replaced or changed.
    pub fn new(text: String) -> Self {
        Self { input: Input::new(text), untouched: true }
    }

    /// Changes the text: what is typed first replaces it, any other key changes it from then on.
    pub fn change(&mut self, request: InputRequest) {
        if std::mem::take(&mut self.untouched) && matches!(request, InputRequest::InsertChar(_)) {
            self.input.reset();
        }
        self.input.handle(request);
    }

    /// Another text stands in it, which typing goes on behind.
    pub fn go_on(&mut self, text: String) {
        *self = Self { input: Input::new(text), untouched: false };
    }

    /// The text without blanks around it.
    pub fn text(&self) -> &str {
        self.input.value().trim()
    }
}

/// The purpose of a typed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A field's value.
    Value(Field),
    /// The name of a pinned scenario; the pin by its place.
    PinName(usize),
    /// The name of a set.
    SetName,
    /// The measured figure of a run.
    OwnFigure,
    /// Which of other tools' files are taken in.
    ImportPath,
    /// Where a plan is written.
    ExportFolder(ExportForm),
}

/// A line to type on, alone in its box.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The purpose of the text.
    pub purpose: Purpose,
    /// The typed text.
    pub line: TypedLine,
    /// The text that it began with; of a path, the line that was typed last.
    before: String,
}

impl Entry {
    /// A line with an old text.
    pub fn new(purpose: Purpose, text: String) -> Self {
        Self { purpose, line: TypedLine::new(text.clone()), before: text }
    }

    /// An empty line for the path of a file; the last one can be had again.
    pub fn of_path(last: String) -> Self {
        Self { purpose: Purpose::ImportPath, line: TypedLine::new(String::new()), before: last }
    }

    /// A line with an old text, which typing goes on behind.
    pub fn continued(purpose: Purpose, text: String) -> Self {
        let line = TypedLine { untouched: text.is_empty(), ..TypedLine::new(text) };
        Self { purpose, line, before: String::new() }
    }

    /// The effect of the typed text.
    fn take(&self) -> Option<Effect> {
        let text = self.line.text();
        match self.purpose {
            Purpose::Value(field) => (text != self.before).then(|| Effect::Give(field, text.to_owned())),
            Purpose::PinName(pin) => (!text.is_empty()).then(|| Effect::RenamePin(pin, text.to_owned())),
            Purpose::OwnFigure => (text != self.before).then(|| Effect::Measure(text.to_owned())),
            Purpose::ImportPath => (!text.is_empty()).then(|| Effect::Import(text.to_owned())),
            Purpose::ExportFolder(form) => {
                let folder = path(if text.is_empty() { "." } else { text });
                Some(Effect::ExportPlan(form, folder, ExportConsent::default()))
            }
            Purpose::SetName => (!text.is_empty()).then(|| Effect::Run(Command::SaveSet(text.to_owned()))),
        }
    }
}

impl View for Entry {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match action {
            Action::Close => vec![Effect::Close],
            Action::Take => std::iter::once(Effect::Close).chain(self.take()).collect(),
            Action::Type(request) => {
                self.line.change(request);
                Vec::new()
            }
            Action::Complete => vec![Effect::Run(Command::Complete(self.line.input.value().to_owned()))],
            Action::Up if !self.before.is_empty() => {
                self.line.go_on(self.before.clone());
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}
