//! The command lines that give what is shown, to read and to copy. Not for making them: see
//! [`shardscope_library::command`].

use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::{Action, Command};
use crate::app::views::View;

/// The command lines on the screen.
#[derive(Debug, Clone, Default)]
pub struct CommandLines {
    /// The output of each, and the line itself.
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
mod tests {
    use super::*;
    use crate::app::tests::{explorer, press};
    use shardscope_engine::search::Axis;

    /// The text that Enter hands to the clipboard.
    fn copied(commands: &[Command]) -> Option<&str> {
        commands.iter().find_map(|command| match command {
            Command::Copy { text, .. } => Some(text.as_str()),
            _ => None,
        })
    }

    #[test]
    fn what_is_copied_gives_what_is_shown() {
        let mut app = explorer();
        press(&mut app, "C");
        let commands = press(&mut app, "<ret>");
        let line = copied(&commands).unwrap();
        assert!(line.starts_with("shardscope eval --hardware "), "{line}");
        assert!(app.layer.is_none());
        assert!(app.notice.as_deref().is_none(), "the terminal says what became of it");
    }

    #[test]
    fn the_axes_of_the_map_are_read_again_as_they_are() {
        let mut app = explorer();
        let lines = app.command_lines().unwrap().lines;
        let [_, (what, sweep)] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(*what, "the map");
        let words = shlex::split(sweep).unwrap();
        let y = &words[words.iter().position(|word| word == "--y").unwrap() + 1];
        assert_eq!(y.parse::<Axis>().unwrap(), app.views.map.sweep.y);
        assert!(sweep.starts_with("shardscope sweep "), "{sweep}");
        app.shown = Err(Vec::new());
        assert!(app.command_lines().is_err(), "what cannot be has none");
    }
}
