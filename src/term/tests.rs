//! Bytes on the wire, which are what a slow line feels.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::*;
use crate::app::action::Action;
use crate::app::tests::{explorer, press};

/// A wire that counts.
#[derive(Clone, Default)]
struct Wire(Rc<Cell<usize>>);

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal of 120x40 in 256 colours over a wire.
struct Line {
    terminal: Terminal<CrosstermBackend<Wire>>,
    wire: Wire,
}

impl Line {
    fn new() -> Self {
        let wire = Wire::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, 120, 40));
        let backend = CrosstermBackend::new(wire.clone());
        Self { terminal: Terminal::with_options(backend, TerminalOptions { viewport }).unwrap(), wire }
    }

    /// Bytes of a frame.
    fn draw(&mut self, app: &App) -> usize {
        let caps = Caps { depth: Depth::C256, ..Caps::default() };
        let before = self.wire.0.get();
        self.terminal.draw(|frame| ui::draw(app, &caps, frame)).unwrap();
        self.wire.0.get() - before
    }
}

#[test]
fn frames_stay_within_their_budget() {
    let (mut line, mut app) = (Line::new(), explorer());
    let full = line.draw(&app);
    assert!(full <= 30_000, "a full frame takes {full} bytes");
    let same = line.draw(&app);
    assert!(same <= 30, "an unchanged frame takes {same} bytes");
    // The cursor moves, and the answer about its cell is still to come.
    app.update(Action::Right);
    let moved = line.draw(&app);
    assert!(moved < 300, "moving the cursor takes {moved} bytes");
    press(&mut app, "l");
    let answered = line.draw(&app);
    assert!(answered < full / 2, "another cell's figures take {answered} bytes of {full}");
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let options = Options { palette: Palette::Ansi16, ascii: true, ..Options::default() };
    let environment = |name: &str| match name {
        "NO_COLOR" => Some("1".to_owned()),
        "LANG" => Some("en_US.UTF-8".to_owned()),
        _ => None,
    };
    let caps = Caps::detect(&environment, overrides(&options));
    assert_eq!((caps.depth, caps.ascii), (Depth::C16, true));
    let caps = Caps::detect(&environment, overrides(&Options::default()));
    assert_eq!((caps.depth, caps.ascii), (Depth::None, false));
}
