//! Kinds of terminals: `TERM`, `COLORTERM`, `NO_COLOR`, locale and size in every combination, and twelve of them each time.
//!
//! All: `cargo test --test integration every_terminal -- --ignored`.

use std::time::Duration;

use vt100::Color;

use super::harness::{Options, READY, Session};
use super::{cells, reversed};

/// One terminal.
#[derive(Debug, Clone, Copy)]
struct Case {
    term: &'static str,
    colorterm: bool,
    no_color: bool,
    utf8: bool,
    size: (u16, u16),
}

/// What colours may be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Colours {
    None,
    Sixteen,
    Indexed,
    True,
}

const TERMS: [&str; 5] = ["xterm-256color", "screen-256color", "xterm", "linux", "dumb"];
const QUIET: Duration = Duration::from_millis(300);
const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);
const TINY: (u16, u16) = (10, 3);

const fn case(term: &'static str, colorterm: bool, no_color: bool, utf8: bool, size: (u16, u16)) -> Case {
    Case { term, colorterm, no_color, utf8, size }
}

/// Each value of each dimension, with its neighbours that are most often wrong.
const CHOSEN: [Case; 12] = [
    case("xterm-256color", true, false, true, LARGE),
    case("xterm-256color", false, false, true, SMALL),
    case("xterm-256color", true, true, true, SMALL),
    case("xterm-256color", false, true, false, LARGE),
    case("screen-256color", false, false, true, LARGE),
    case("screen-256color", true, false, false, SMALL),
    case("xterm", false, false, true, SMALL),
    case("xterm", true, false, true, LARGE),
    case("linux", false, false, false, SMALL),
    case("linux", false, false, true, LARGE),
    case("xterm", false, false, true, TINY),
    case("dumb", true, false, true, SMALL),
];

impl Case {
    fn expected(self) -> Colours {
        match self {
            Self { no_color: true, .. } => Colours::None,
            Self { colorterm: true, .. } => Colours::True,
            Self { term: "xterm-256color" | "screen-256color", .. } => Colours::Indexed,
            _ => Colours::Sixteen,
        }
    }

    fn environment(self) -> Vec<(&'static str, &'static str)> {
        let mut environment = vec![("TERM", self.term), ("LANG", if self.utf8 { "en_US.UTF-8" } else { "C" })];
        environment.extend(self.colorterm.then_some(("COLORTERM", "truecolor")));
        environment.extend(self.no_color.then_some(("NO_COLOR", "1")));
        environment
    }

    fn check(self) {
        let folder = tempfile::tempdir().unwrap();
        let environment = self.environment();
        let options = Options { environment: &environment, size: self.size, ..Options::default() };
        let mut session = Session::start(folder.path(), &options);
        if self.term == "dumb" {
            assert!(session.end().success(), "{self:?}");
            assert!(!session.written(0).contains(&0x1b), "{self:?}");
            return;
        }
        if self.size == TINY {
            session.wait_for("need 40x10");
            session.resize(SMALL);
        }
        session.wait_for(READY);
        session.wait_for("FITS");
        session.press("2");
        session.wait("reversing the cursor", |session| !session.screen(reversed).is_empty());
        session.wait("completing the map", |session| !session.text().contains("computing"));
        session.wait_for_silence(QUIET);
        self.check_looks(&session);
        let before = session.screen(reversed);
        session.press("l");
        session.wait("moving the cursor", |session| session.screen(reversed) != before);
        session.wait_for_silence(QUIET);
        session.press("\x1b");
        session.wait("going back", |session| session.screen(reversed) == before);
        session.press("q");
        assert!(session.end().success(), "{self:?}");
        session.wait_until_restored();
    }

    /// No more colours than there may be, some where there may be any, and no glyph beyond ASCII without UTF-8.
    fn check_looks(self, session: &Session) {
        let seen = session.screen(|screen| {
            let colours = cells(screen).flat_map(|(_, cell)| [cell.fgcolor(), cell.bgcolor()]);
            colours.map(kind).max().unwrap_or(Colours::None)
        });
        assert_eq!(seen, self.expected(), "{self:?}:\n{}", session.text());
        assert_eq!(session.text().is_ascii(), !self.utf8, "{self:?}:\n{}", session.text());
    }
}

fn kind(color: Color) -> Colours {
    match color {
        Color::Default => Colours::None,
        Color::Idx(0..16) => Colours::Sixteen,
        Color::Idx(_) => Colours::Indexed,
        Color::Rgb(..) => Colours::True,
    }
}

#[test]
fn twelve_terminals() {
    CHOSEN.into_iter().for_each(Case::check);
}

#[test]
#[ignore = "a hundred and twenty terminals take minutes: before a release"]
fn every_terminal() {
    for term in TERMS {
        for switches in 0..8 {
            for size in [SMALL, LARGE, TINY] {
                case(term, switches & 1 > 0, switches & 2 > 0, switches & 4 > 0, size).check();
            }
        }
    }
}
