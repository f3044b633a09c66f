//! Whatever is drawn, a terminal shows it as it is in the buffer.

use std::cell::RefCell;
use std::num::NonZeroU16;
use std::rc::Rc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::*;

const SIZE: (u16, u16) = (24, 4);

/// A terminal that reads what is written.
#[derive(Clone)]
struct Terminal(Rc<RefCell<(vt100::Parser, usize)>>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut terminal = self.0.borrow_mut();
        terminal.0.process(bytes);
        terminal.1 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn terminal() -> Terminal {
    terminal_of(SIZE)
}

fn terminal_of((columns, rows): (u16, u16)) -> Terminal {
    let cells = |count| NonZeroU16::new(count).unwrap();
    Terminal(Rc::new(RefCell::new((vt100::Parser::new(cells(rows), cells(columns), 0), 0))))
}

/// Writes to it, from a cleared screen on.
fn wire(terminal: &Terminal) -> WireBackend<Terminal> {
    wire_of(terminal, SIZE)
}

fn wire_of(terminal: &Terminal, size: (u16, u16)) -> WireBackend<Terminal> {
    let mut wire = WireBackend::new(terminal.clone(), Some(size.into()));
    wire.clear().unwrap();
    wire
}

fn draw(wire: &mut WireBackend<Terminal>, from: &Buffer, to: &Buffer) {
    wire.draw(from.diff(to).into_iter()).unwrap();
    Backend::flush(wire).unwrap();
}

/// A cell as the terminal shows it: glyph, colours, modifiers.
type Shown = (String, vt100::Color, vt100::Color, [bool; 4]);

fn shown(terminal: &Terminal) -> Vec<Shown> {
    let screen = &terminal.0.borrow().0;
    let at = (0..SIZE.1).flat_map(|y| (0..SIZE.0).map(move |x| (x, y)));
    at.map(|(x, y)| {
        let cell = screen.screen().cell(y, x).unwrap();
        let text = if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
        let modifiers = [cell.bold(), cell.dim(), cell.underline(), cell.inverse()];
        // Of a blank that is neither reversed nor underlined only the ground is seen.
        let plain = text == " " && !modifiers[2] && !modifiers[3];
        let (fg, modifiers) = if plain { (vt100::Color::Default, [false; 4]) } else { (cell.fgcolor(), modifiers) };
        (text, fg, cell.bgcolor(), modifiers)
    })
    .collect()
}

fn wanted(buf: &Buffer) -> Vec<Shown> {
    let color = |color| match color {
        Color::Reset => vt100::Color::Default,
        Color::Indexed(index) => vt100::Color::Idx(index),
        Color::Rgb(r, g, b) => vt100::Color::Rgb(r, g, b),
        Color::Red => vt100::Color::Idx(1),
        Color::LightMagenta => vt100::Color::Idx(13),
        other => panic!("{other:?} is not drawn here"),
    };
    let cell = |cell: &Cell| {
        let has = [Modifier::BOLD, Modifier::DIM, Modifier::UNDERLINED, Modifier::REVERSED];
        let modifiers = has.map(|modifier| cell.modifier.contains(modifier));
        let plain = cell.symbol() == " " && !modifiers[2] && !modifiers[3];
        let (fg, modifiers) = if plain { (vt100::Color::Default, [false; 4]) } else { (color(cell.fg), modifiers) };
        (cell.symbol().to_owned(), fg, color(cell.bg), modifiers)
    };
    buf.content.iter().map(cell).collect()
}

/// A few strokes: place, text, colours, modifier.
type Stroke = (u16, u16, &'static str, Color, Color, Modifier);

fn stroke() -> impl Strategy<Value = Stroke> {
    let colors = [Color::Reset, Color::Indexed(32), Color::Red, Color::LightMagenta, Color::Rgb(1, 2, 3)];
    let modifiers = [Modifier::empty(), Modifier::BOLD, Modifier::DIM, Modifier::UNDERLINED, Modifier::REVERSED];
    let texts = ["x", "  ", "           ", "                 ", "▐ 57▌", "a b c d", "─────", "12.5", "███"];
    // vt100 knows bold or dim, not both.
    let both = |(one, other): (Modifier, Modifier)| {
        if one.union(other).contains(Modifier::BOLD | Modifier::DIM) { one } else { one | other }
    };
    let modifier = (select(modifiers.to_vec()), select(modifiers.to_vec())).prop_map(both);
    (0..SIZE.0, 0..SIZE.1, select(texts.to_vec()), select(colors.to_vec()), select(colors.to_vec()), modifier)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_terminal_shows_what_was_drawn(frames in vec((vec(stroke(), 0..6), any::<bool>()), 1..6)) {
        let terminal = terminal();
        let mut wire = wire(&terminal);
        let area = Rect::new(0, 0, SIZE.0, SIZE.1);
        let mut last = Buffer::empty(area);
        for (strokes, anew) in frames {
            let mut next = if anew { Buffer::empty(area) } else { last.clone() };
            for (x, y, text, fg, bg, modifier) in strokes {
                let style = Style::reset().fg(fg).bg(bg).add_modifier(modifier);
                next.set_stringn(x, y, text, (SIZE.0 - x).into(), style);
            }
            draw(&mut wire, &last, &next);
            prop_assert_eq!(shown(&terminal), wanted(&next));
            last = next;
        }
    }
}

fn bytes_of(from: &[&str], to: &[&str]) -> usize {
    let terminal = terminal_of((12, 4));
    let mut wire = wire_of(&terminal, (12, 4));
    let lines = |lines: &[&str]| Buffer::with_lines(lines.iter().map(|line| format!("{line:<12}")));
    let empty = Buffer::empty(Rect::new(0, 0, 12, from.len() as u16));
    draw(&mut wire, &empty, &lines(from));
    let before = terminal.0.borrow().1;
    draw(&mut wire, &lines(from), &lines(to));
    terminal.0.borrow().1 - before
}

/// Begin and end of a synchronized update.
const FRAME: usize = 16;

#[test]
fn what_does_not_change_costs_nothing() {
    assert_eq!(bytes_of(&["abc"], &["abc"]), 0);
}

#[test]
fn a_short_gap_is_written_over_and_a_long_one_jumped() {
    // Back to the first column (1), then "xbx", or "x", a jump by 8 columns (4) and "x".
    assert_eq!(bytes_of(&["abc"], &["xbx"]), FRAME + 1 + 3);
    assert_eq!(bytes_of(&["abcdefghij"], &["xbcdefghix"]), FRAME + 1 + 1 + 4 + 1);
}

#[test]
fn the_next_row_is_reached_from_where_the_last_one_was_left() {
    // To the second column (6), "x", a row down and a column back (4), "x".
    assert_eq!(bytes_of(&["abc", "abc"], &["axc", "axc"]), FRAME + 6 + 1 + 4 + 1);
}

#[test]
fn a_long_stretch_of_blanks_is_erased_at_once() {
    // To the second column (6), "erase 10 characters" would be longer than ten blanks with the jump behind them.
    assert_eq!(bytes_of(&["abbbbbbbbbbc"], &["a          c"]), FRAME + 6 + 10);
    let terminal = terminal_of((30, 1));
    let mut wire = wire_of(&terminal, (30, 1));
    let [full, gap] = ["b".repeat(30), format!("a{}c", " ".repeat(28))].map(|line| Buffer::with_lines([line]));
    draw(&mut wire, &Buffer::empty(full.area), &full);
    let before = terminal.0.borrow().1;
    draw(&mut wire, &full, &gap);
    // To the first column (6), "a", "erase 28 characters" (5), a jump over them (5), "c".
    assert_eq!(terminal.0.borrow().1 - before, FRAME + 6 + 1 + 5 + 5 + 1);
    assert_eq!(terminal.0.borrow().0.screen().contents().trim_end(), format!("a{}c", " ".repeat(28)));
}

#[test]
fn blanks_of_two_rows_are_no_stretch() {
    let terminal = terminal();
    let mut wire = wire(&terminal);
    // Eight blanks up to column 9 in one row, eight from column 10 on in the next: together more than a gap.
    let full = Buffer::with_lines(["xxxxxxxxxxxxxxxxxxxxxxxx"; 2]);
    let gaps = Buffer::with_lines(["xx        xxxxxxxxxxxxxx", "xxxxxxxxxx        xxxxxx"]);
    draw(&mut wire, &Buffer::empty(full.area), &full);
    draw(&mut wire, &full, &gaps);
    assert_eq!(shown(&terminal)[..48], wanted(&gaps)[..]);
}

#[test]
fn styles_that_take_turns_are_written_one_after_the_other() {
    let terminal = terminal();
    let mut wire = wire(&terminal);
    let empty = Buffer::empty(Rect::new(0, 0, 12, 1));
    let mut turns = empty.clone();
    for x in 0..6 {
        turns.set_string(2 * x, 0, "xy", Style::new().fg(Color::Indexed(if x % 2 == 0 { 32 } else { 98 })));
    }
    draw(&mut wire, &empty, &empty);
    let before = terminal.0.borrow().1;
    draw(&mut wire, &empty, &turns);
    let taken = terminal.0.borrow().1 - before;
    // To the first place (6), and for each style: its pen (10), three times "xy" (6) and two jumps over the other's two
    // columns (8); a jump back between them (4), and the pen laid down (3). In turns it would be six pens: 81.
    assert_eq!(taken, FRAME + 6 + 2 * (10 + 6 + 8) + 4 + 3);
}

#[test]
fn the_rest_of_a_row_is_cleared_at_once() {
    // A jump to the second column (6), and "clear to the end of the row" (3).
    assert_eq!(bytes_of(&["abcdefghijkl"], &["a"]), FRAME + 6 + 3);
}

#[test]
fn a_hidden_cursor_is_hidden_once() {
    let terminal = terminal();
    let mut wire = wire(&terminal);
    wire.hide_cursor().unwrap();
    Backend::flush(&mut wire).unwrap();
    let before = terminal.0.borrow().1;
    wire.hide_cursor().unwrap();
    Backend::flush(&mut wire).unwrap();
    assert_eq!(terminal.0.borrow().1, before);
}
