//! The form of a cluster or a model: its fields, what is typed into them, and what is wrong with it. Not for the file
//! ([`shardscope_library::draft::Draft`]).

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::Scenario;
use shardscope_library::draft::{Draft, DraftField};

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, say};
use crate::app::action::{Action, Command};
use crate::app::layer::typing::TypedLine;
use crate::app::views::View;

/// One field.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its path in the file.
    pub label: String,
    /// Its value: what was typed, right or wrong.
    pub value: String,
    /// The unit of the value.
    pub unit: String,
    /// The value and its unit before the form was opened.
    pub before: String,
    /// A note, where its name does not suffice.
    pub note: String,
    /// The mistake in the value.
    pub wrong: Option<String>,
    /// The field of the file; `None` for the id, which is the file's name.
    slot: Option<DraftField>,
}

impl Row {
    fn of(slot: DraftField) -> Self {
        let DraftField { path, value, unit, note, .. } = slot.clone();
        let before = worded(&value, &unit);
        Self { label: path, value, unit, before, note, wrong: None, slot: Some(slot) }
    }

    /// The value with its unit.
    pub fn text(&self) -> String {
        worded(&self.value, &self.unit)
    }
}

fn worded(value: &str, unit: &str) -> String {
    if value.is_empty() || unit.is_empty() { value.to_owned() } else { format!("{value} {unit}") }
}

/// The form on the screen.
#[derive(Debug, Clone)]
pub struct Form {
    draft: Draft,
    /// One for each field, in the order of the file.
    pub rows: Vec<Row>,
    /// The field that has the keys.
    cursor: ListCursor,
    /// The text being typed into it.
    pub typing: Option<TypedLine>,
    /// Whether the user was told that leaving loses what was changed.
    warned: bool,
}

impl Form {
    /// The form of a scenario's cluster, or of its model.
    pub fn of(kind: Kind, scenario: &Scenario, library: &Library) -> Result<Self, String> {
        let draft = Draft::copy_of(library, kind, scenario)?;
        let (value, before) = (draft.id.clone(), draft.id.clone());
        let (label, unit, note) = ("id".to_owned(), String::new(), String::new());
        let id = Row { label, value, unit, before, note, wrong: None, slot: None };
        let fields = draft.slots().into_iter().map(Row::of);
        let rows = draft.replaces.is_none().then_some(id).into_iter().chain(fields).collect();
        Ok(Self { draft, rows, cursor: ListCursor::default(), typing: None, warned: false })
    }

    /// The kind of preset.
    pub fn kind(&self) -> Kind {
        self.draft.kind
    }

    /// Where it is saved, in words.
    pub fn target(&self) -> String {
        let (kind, id) = (self.draft.kind.word(), &self.draft.id);
        if self.draft.replaces.is_some() { format!("your {kind} {id}") } else { format!("a new {kind}, {id}") }
    }

    /// A summary of its fields: the parameters of a model.
    pub fn total(&self) -> Option<String> {
        self.draft.counts()
    }

    /// Whether a value differs from what it was.
    pub fn is_changed(&self) -> bool {
        self.rows.iter().any(|row| row.text() != row.before)
    }

    /// The field that has the keys, by its place.
    pub fn row(&self) -> usize {
        self.cursor.row(self.rows.len())
    }

    /// Sets the field to the typed value; every mistake then is noted at its field.
    fn take(&mut self, typed: &TypedLine, library: &Library) {
        let (row, text) = (self.row(), typed.text().to_owned());
        let Some(row) = self.rows.get_mut(row) else { return };
        let refused = if let Some(slot) = &row.slot {
            self.draft.set(slot, &text).err()
        } else {
            self.draft.id.clone_from(&text);
            library.refusal(self.draft.kind, &text)
        };
        (row.value, row.wrong) = (text, refused);
        self.warned = false;
        self.renew();
    }

    /// Reads the fields of the copy again; a value that it does not hold stays as it was typed.
    fn renew(&mut self) {
        let (slots, problems) = (self.draft.slots(), self.draft.problems());
        // A text that the copy could not take is still on the screen: its reason stays with it until another one is
        // typed.
        let refused =
            |row: &Row| row.slot.as_ref().is_none_or(|slot| row.wrong.is_some() && !is_held(slot, &slots, row));
        for row in &mut self.rows {
            if refused(row) {
                continue;
            }
            if let Some(slot) = slots.iter().find(|slot| slot.path == row.label) {
                (row.value, row.unit) = (slot.value.clone(), slot.unit.clone());
            }
            row.wrong = problems.iter().find(|problem| problem.field == row.label).map(|problem| problem.what.clone());
        }
        // What has no field of its own is said at the first one around it.
        for Problem { field: path, what: must, .. } in problems {
            if self.rows.iter().any(|row| row.label == path) {
                continue;
            }
            let near = self.rows.iter_mut().find(|row| !path.is_empty() && row.label.starts_with(path.as_str()));
            if let Some(row) = near {
                row.wrong.get_or_insert(must);
            }
        }
    }
}

impl View for Form {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        if let Some(mut typed) = self.typing.take() {
            match action {
                Action::Take => self.take(&typed, context.library),
                Action::Close => {}
                _ => {
                    if let Action::Type(request) = action {
                        typed.change(request);
                    }
                    self.typing = Some(typed);
                }
            }
            return Vec::new();
        }
        match action {
            Action::Take => self.typing = self.rows.get(self.row()).map(|row| TypedLine::new(row.value.clone())),
            Action::Save => match self.rows.iter().position(|row| row.wrong.is_some()) {
                // It stays until the file is there: nothing that was typed is lost.
                None => return vec![Effect::Run(Command::SavePreset(self.draft.saving()))],
                Some(row) => {
                    self.cursor = ListCursor::at(row);
                    return say("not saved: a field is wrong, the reason is shown with it");
                }
            },
            Action::Close if self.warned || !self.is_changed() => return vec![Effect::Close],
            Action::Close => {
                self.warned = true;
                return say("not saved yet: s saves, Esc again discards it");
            }
            _ => {}
        }
        Vec::new()
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.rows.iter().map(|row| format!("{} {} {}", row.label, row.text(), row.note)).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        self.typing.is_none().then_some(&mut self.cursor)
    }
}

/// Whether the copy holds what a row shows.
fn is_held(slot: &DraftField, slots: &[DraftField], row: &Row) -> bool {
    let held = slots.iter().find(|other| other.path == slot.path);
    held.is_some_and(|held| held.value == row.value || worded(&held.value, &held.unit) == row.value)
}

#[cfg(test)]
mod tests;
