//! Bytes on the wire, which are what a slow line feels.

use std::cell::Cell;
use std::io::Write;
use std::rc::Rc;

use ratatui::Terminal;

use super::wire::WireBackend;
use super::*;
use crate::app::action::Action;
use crate::app::tests::{FRONTIER, H100, PIPELINE, explorer, explorer_on, follow, press};
use crate::config::{self, ColorDepth};
use crate::ui::caps::Depth;

/// A writer that counts.
#[derive(Clone, Default)]
struct Counter(Rc<Cell<usize>>);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.set(self.0.get() + bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal in 256 colours over a wire.
struct Line {
    terminal: Terminal<WireBackend<Counter>>,
    wire: Counter,
}

impl Line {
    fn new(size: (u16, u16)) -> Self {
        let wire = Counter::default();
        let terminal = Terminal::new(WireBackend::new(wire.clone(), Some(size.into()))).unwrap();
        Self { terminal, wire }
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
fn a_whole_frame_of_any_view_stays_within_its_budget() {
    for view in crate::app::views::SPECS.map(|spec| spec.id) {
        let mut app = explorer();
        app.update(Action::View(view));
        let full = Line::new((80, 24)).draw(&app);
        assert!(full <= 12_000, "{view:?} takes {full} bytes");
    }
    let mut app = explorer();
    press(&mut app, "?");
    assert!(Line::new((80, 24)).draw(&app) <= 12_000, "the help");
}

#[test]
fn a_frame_of_which_nothing_changes_takes_no_bytes() {
    let (mut line, app) = (Line::new((120, 40)), explorer());
    line.draw(&app);
    assert_eq!(line.draw(&app), 0);
}

/// Steps, and jumps from edge to edge, after which nothing is as it was.
const MOTIONS: [Action; 16] = [
    Action::Left,
    Action::Up,
    Action::Right,
    Action::Right,
    Action::Down,
    Action::Down,
    Action::First,
    Action::Last,
    Action::PageUp,
    Action::First,
    Action::PageDown,
    Action::Last,
    Action::First,
    Action::Best,
    Action::Left,
    Action::Down,
];

#[test]
fn the_cursor_moves_first_and_the_panels_follow_both_within_their_budgets() {
    let default = shardscope_presets::library().scenario_text("default").unwrap().text.to_string();
    for text in [&default, H100, FRONTIER, PIPELINE] {
        for size in [(80, 24), (120, 40), (200, 50)] {
            let (mut line, mut app) = (Line::new(size), explorer_on(text));
            line.draw(&app);
            for action in MOTIONS {
                app.update(action);
                let moved = line.draw(&app);
                assert!(moved <= 300, "{action:?} at {size:?} takes {moved} bytes");
                follow(&mut app);
                let followed = line.draw(&app);
                assert!(followed <= 9_500, "the panels at {size:?} take {followed} bytes after {action:?}");
            }
        }
    }
}

#[test]
fn the_command_line_wins_over_the_environment() {
    let options = Options {
        terminal: config::Terminal { palette: ColorDepth::Ansi16, ascii: true, ..config::Terminal::default() },
        ..Options::default()
    };
    let environment = |name: &str| match name {
        "NO_COLOR" => Some("1".to_owned()),
        "LANG" => Some("en_US.UTF-8".to_owned()),
        _ => None,
    };
    let caps = Caps::detect(&environment, Overrides::from(&options));
    assert_eq!((caps.depth, caps.ascii), (Depth::C16, true));
    let caps = Caps::detect(&environment, Overrides::from(&Options::default()));
    assert_eq!((caps.depth, caps.ascii), (Depth::None, false));
}
