//! Snapshots and sets on disk: a list with a preview, from which they are opened, saved and deleted.

use shardscope_report::snapshot::Listed;

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening, say};
use crate::app::action::{Action, Command};
use crate::app::layer::list::{Filter, ranked};
use crate::app::views::View;

/// The list on the screen.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    /// The files, once they have been looked for.
    pub files: Option<Vec<Listed>>,
    /// Which of them has the keys.
    cursor: ListCursor,
    /// The text to find in names and contents.
    pub filter: Filter,
    /// Whether the user is asked if it is to be deleted.
    pub asking: bool,
}

impl Browser {
    /// The files whose name or contents match the typed text, the best first.
    pub fn found(&self) -> Vec<&Listed> {
        let held = |file: &Listed| {
            let held = file.holds.iter().flatten().flat_map(|held| [held.what.as_str(), &held.name]);
            held.collect::<Vec<_>>().join(" ")
        };
        ranked(self.files.iter().flatten(), |file| self.filter.score(&file.name, &held(file)))
    }

    /// The file that has the keys, of those that are found.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }

    /// The file that has the keys.
    pub fn file(&self) -> Option<&Listed> {
        self.found().get(self.row()).copied()
    }

    /// The file under the cursor is opened, or it is said why it cannot be.
    fn open(&self) -> Vec<Effect> {
        match self.file() {
            Some(Listed { holds: Ok(_), path, .. }) => {
                vec![Effect::Close, Effect::OpenFile(path.clone())]
            }
            Some(_) => say("it cannot be opened as it is: the reason is shown with it"),
            None => Vec::new(),
        }
    }

    /// The question whether the file is to be deleted was answered.
    fn answer(&mut self, action: Action) -> Vec<Effect> {
        self.asking = false;
        let deleted = self.file().filter(|_| action == Action::Take).map(|file| Command::Delete(file.path.clone()));
        deleted.map_or_else(Vec::new, |delete| [delete, Command::List].map(Effect::Run).into())
    }
}

impl View for Browser {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            _ if self.asking => return self.answer(action),
            Action::Close => return vec![Effect::Close],
            Action::Take => return self.open(),
            Action::Export => return vec![Effect::Export, Effect::Run(Command::List)],
            Action::SaveSet if context.pins.all().is_empty() => {
                return say("nothing is pinned: p pins the scenario shown, then a set can be saved");
            }
            Action::SaveSet => return vec![Effect::Open(Opening::SetName)],
            Action::Type(request) => self.filter.change(request, &mut self.cursor),
            Action::Remove => self.asking = self.file().is_some(),
            _ => {}
        }
        Vec::new()
    }

    fn count(&self, _: &Context) -> usize {
        self.found().len()
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        (!self.asking).then_some(&mut self.cursor)
    }
}

#[cfg(test)]
mod tests;
