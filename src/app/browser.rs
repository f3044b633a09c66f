//! Snapshots and sets on disk: a list with a preview, from which they are opened, saved and deleted.

use tui_input::Input;

use crate::snapshot::Listed;

use super::action::Action;
use super::cursor::ListCursor;

/// The list on the screen.
#[derive(Debug, Clone, Default)]
pub struct Browser {
    /// The files, once they have been looked for.
    pub files: Option<Vec<Listed>>,
    /// Which of them has the keys.
    pub cursor: ListCursor,
    /// What is searched for in names and contents.
    pub search: Input,
    /// Whether keys are text of the search.
    pub searching: bool,
    /// Whether the user is asked if it is to be deleted.
    pub asking: bool,
}

impl Browser {
    /// The files whose name or contents hold the searched text, in any case.
    pub fn found(&self) -> Vec<&Listed> {
        let wanted = self.search.value().to_lowercase();
        let holds = |text: &str| text.to_lowercase().contains(&wanted);
        let found = |file: &&Listed| {
            let held = file.holds.iter().flatten();
            holds(&file.name) || held.into_iter().any(|held| holds(&held.what) || holds(&held.name))
        };
        self.files.iter().flatten().filter(found).collect()
    }

    /// The file that has the keys, of those that are found.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }

    /// The file that has the keys.
    pub fn file(&self) -> Option<&Listed> {
        self.found().get(self.row()).copied()
    }

    /// Does what the user asked of the search; says whether that was all.
    pub(super) fn search(&mut self, action: Action) -> bool {
        match action {
            Action::Search => self.searching = true,
            Action::Close if self.searching => self.searching = false,
            Action::Type(request) => {
                if self.search.handle(request).is_some_and(|changed| changed.value) {
                    self.cursor = ListCursor::default();
                }
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
