//! The command lines that give what is shown, to read and to copy. Not for making them: see
//! [`shardscope_engine::presets::Library::command`].

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::{Action, Command};
use crate::app::views::view::View;

/// The command lines on the screen.
#[derive(Debug, Clone, Default)]
pub struct CommandLines {
    /// What each gives, and the line itself.
    pub lines: Vec<(&'static str, String)>,
    cursor: ListCursor,
}

impl CommandLines {
    /// Lines, and what each gives.
    pub fn new(lines: Vec<(&'static str, String)>) -> Self {
        Self { lines, cursor: ListCursor::default() }
    }

    /// The line under the cursor, by its place.
    pub fn row(&self) -> usize {
        self.cursor.row(self.lines.len())
    }
}

impl View for CommandLines {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match (action, self.lines.get(self.row())) {
            (Action::Close, _) => vec![Effect::Close],
            (Action::Take, Some((what, line))) => {
                let said = format!("the command line of {what} was sent to the terminal's clipboard");
                vec![Effect::Close, Effect::Run(Command::Copy { text: line.clone(), said })]
            }
            _ => Vec::new(),
        }
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        Some(self.lines.iter().map(|(what, line)| format!("{what} {line}")).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }
}

#[cfg(test)]
mod tests;
