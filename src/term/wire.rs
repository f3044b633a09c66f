//! Frames as few bytes: what ratatui asks to be drawn, in the shortest way that every terminal understands.
//!
//! It knows what is on the screen, so it writes over a short gap instead of jumping it, clears the rest of a row in one
//! go, says of a style only what changes, and writes nothing at all where nothing changes. On a slow line that is what
//! one feels. Not for taking the terminal over or giving it back ([`super::screen`]).

mod style;

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Color;
use ratatui::text::Span;

use style::Pen;

/// Cells at the end of a row that are worth clearing at once.
const TAIL: usize = 3;

/// Rows that may be written style by style: of a whole screen a slow line would show one colour after the other.
const BAND: u16 = 16;

/// Blanks inside a row that are worth erasing at once, with the jump over them.
const GAP: usize = 12;

/// Columns and rows that are drawn on: a terminal can claim 65,535 of both, whose cells no memory holds. What is beyond
/// stays blank.
const LARGEST: (u16, u16) = (1000, 400);

/// A terminal to which as few bytes are written as possible.
#[derive(Debug)]
pub(super) struct WireBackend<W: Write> {
    inner: CrosstermBackend<W>,
    /// The size, if the terminal is not to be asked.
    size: Option<Size>,
    /// Cells that the screen shows, row by row, as far as it is known.
    shown: Vec<Vec<Option<Cell>>>,
    hand: Hand,
    /// Whether a frame has begun.
    open: bool,
    /// Whether the text cursor is seen, and where it was put.
    cursor: (Option<bool>, Option<Position>),
}

impl<W: Write> WireBackend<W> {
    /// A terminal of which nothing is known.
    pub(super) fn new(writer: W, size: Option<Size>) -> Self {
        Self {
            inner: CrosstermBackend::new(writer),
            size,
            shown: Vec::new(),
            hand: Hand::default(),
            open: false,
            cursor: (None, None),
        }
    }

    /// Someone else wrote to the terminal.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
        (self.hand.at, self.cursor) = (None, (None, None));
    }

    /// A frame begins with the first thing that changes.
    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.open, true) {
            queue!(self.inner, BeginSynchronizedUpdate)?;
        }
        Ok(())
    }

    fn cell(&self, x: u16, y: u16) -> Option<&Cell> {
        self.shown.get(usize::from(y))?.get(usize::from(x))?.as_ref()
    }

    fn keep(&mut self, x: u16, y: u16, cell: &Cell) {
        let (x, y) = (usize::from(x), usize::from(y));
        if self.shown.len() <= y {
            self.shown.resize(y + 1, Vec::new());
        }
        let row = &mut self.shown[y];
        if row.len() <= x {
            row.resize(x + 1, None);
        }
        row[x] = Some(cell.clone());
    }

    /// Columns of a row, as far as it is known.
    fn columns(&self, y: u16) -> u16 {
        self.shown.get(usize::from(y)).map_or(0, Vec::len) as u16
    }

    /// The column from which a row is blank.
    fn blank_from(&self, y: u16) -> u16 {
        // From the end of the row, as long as nothing shows.
        let blank = |x: &u16| self.cell(*x, y).is_some_and(is_blank);
        (0..self.columns(y)).rev().take_while(blank).last().unwrap_or(u16::MAX)
    }

    /// Writes cells row by row, or one style after the other, whichever takes fewer bytes: where two styles take turns,
    /// to go over the rows twice is shorter than to change the pen at every step.
    fn band(&mut self, cells: &[(u16, u16, &Cell)]) -> io::Result<()> {
        // Both orders are written in memory, and the shorter one goes out: a few microseconds for bytes that a slow line feels.
        let along = self.written(cells.iter());
        let mut styles: Vec<Pen> = Vec::new();
        let mut passes: Vec<Vec<&(u16, u16, &Cell)>> = Vec::new();
        let mut pass = 0;
        for at in cells {
            // A blank goes with what is before it.
            if !styles.get(pass).is_some_and(|pen| pen.is(at.2)) {
                pass = styles.iter().position(|pen| pen.is(at.2)).unwrap_or(styles.len());
                if pass == styles.len() {
                    // The order of first appearance keeps the passes from left to right.
                    styles.push(Pen::from(at.2));
                    passes.push(Vec::new());
                }
            }
            passes[pass].push(at);
        }
        let turned = self.written(passes.into_iter().flatten());
        self.take(if turned.text.len() < along.text.len() { turned } else { along })
    }

    /// What writes these cells in this order.
    fn written<'a>(&self, cells: impl Iterator<Item = &'a (u16, u16, &'a Cell)>) -> Hand {
        let (mut hand, cells) = (self.hand.clone(), cells.collect::<Vec<_>>());
        let together = |one: &&(u16, u16, &Cell), other: &&(u16, u16, &Cell)| {
            is_blank(one.2) && is_blank(other.2) && (one.0 + 1, one.1) == (other.0, other.1)
        };
        for run in cells.chunk_by(together) {
            match run {
                [(x, y, _), ..] if run.len() >= GAP => hand.erase(*x, *y, run.len(), self),
                _ => run.iter().for_each(|(x, y, cell)| hand.put(*x, *y, cell, self)),
            }
        }
        hand
    }

    /// Writes what the hand holds.
    fn take(&mut self, mut hand: Hand) -> io::Result<()> {
        let text = std::mem::take(&mut hand.text);
        self.hand = hand;
        self.inner.write_all(text.as_bytes())
    }
}

/// What writes on the terminal: its place, if that is known, its pen, and the text that it has not handed over.
#[derive(Debug, Clone, Default)]
struct Hand {
    at: Option<(u16, u16)>,
    pen: Pen,
    text: String,
}

impl Hand {
    /// Goes to a place: over a gap of which every glyph is known and as the pen is, or by a jump.
    fn go<W: Write>(&mut self, x: u16, y: u16, wire: &WireBackend<W>) {
        let jump = jump(self.at, (x, y));
        let jump = match self.at {
            Some((from, row)) if row == y && from < x => {
                // Rewriting known glyphs moves the cursor as well as a jump, and costs a byte each.
                let gap = (from..x).map(|x| wire.cell(x, y).filter(|cell| self.pen.is(cell) && width(cell) == 1));
                match gap.map(|cell| cell.map(Cell::symbol)).collect::<Option<String>>() {
                    Some(gap) if gap.len() <= jump.len() => gap,
                    _ => jump,
                }
            }
            _ => jump,
        };
        self.at = Some((x, y));
        self.text.push_str(&jump);
    }

    fn put<W: Write>(&mut self, x: u16, y: u16, cell: &Cell, wire: &WireBackend<W>) {
        self.go(x, y, wire);
        self.text.push_str(&self.pen.change(cell));
        self.text.push_str(cell.symbol());
        // Behind the last column terminals differ.
        let next = x.saturating_add(width(cell));
        self.at = (next < wire.columns(y)).then_some((next, y));
    }

    /// Makes so many cells blank, and stays before them.
    fn erase<W: Write>(&mut self, x: u16, y: u16, count: usize, wire: &WireBackend<W>) {
        self.go(x, y, wire);
        self.text.push_str(&self.pen.plain_ground());
        self.text.extend(["\x1b[", &count.to_string(), "X"]);
    }

    /// Clears a row from a place on.
    fn clear<W: Write>(&mut self, x: u16, y: u16, wire: &WireBackend<W>) {
        self.go(x, y, wire);
        self.text.push_str(&self.pen.plain_ground());
        self.text.push_str("\x1b[K");
    }
}

/// The shortest jump from one place to another (ECMA-48: CUP; or LF, CUU and CUD, with CUF, CUB, CHA or CR).
fn jump(from: Option<(u16, u16)>, (x, y): (u16, u16)) -> String {
    let steps = |count: u16, to: char| match count {
        0 => String::new(),
        1 => format!("\x1b[{to}"),
        _ => format!("\x1b[{count}{to}"),
    };
    let place = format!("\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1);
    let Some((column, row)) = from else { return place };
    let along = steps(x.abs_diff(column), if column < x { 'C' } else { 'D' });
    let column = format!("\x1b[{}G", u32::from(x) + 1);
    let margin = format!("\r{}", steps(x, 'C'));
    // A line feed goes straight down: the terminal is raw.
    let down = match y.checked_sub(row) {
        Some(rows @ 0..=3) => "\n".repeat(rows.into()),
        Some(rows) => steps(rows, 'B'),
        None => steps(row - y, 'A'),
    };
    let near = [along, column, margin].map(|across| format!("{down}{across}"));
    near.into_iter().chain([place]).min_by_key(String::len).unwrap_or_default()
}

/// Whether a cell shows nothing, on the terminal's own ground.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && cell.bg == Color::Reset && cell.modifier.is_empty()
}

fn width(cell: &Cell) -> u16 {
    if cell.symbol().len() == 1 { 1 } else { Span::raw(cell.symbol()).width() as u16 }
}

impl<W: Write> Write for WireBackend<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.inner)
    }
}

impl<W: Write> Backend for WireBackend<W> {
    type Error = io::Error;

    fn draw<'a, I: Iterator<Item = (u16, u16, &'a Cell)>>(&mut self, content: I) -> io::Result<()> {
        let cells: Vec<_> = content.collect();
        if cells.is_empty() {
            return Ok(());
        }
        self.begin()?;
        for (x, y, cell) in &cells {
            self.keep(*x, *y, cell);
        }
        for band in cells.chunk_by(|one, other| one.1 / BAND == other.1 / BAND) {
            // Tails are cleared last, with one pen: most rows end in blanks on the plain ground.
            let (mut bodies, mut tails) = (Vec::new(), Vec::new());
            for row in band.chunk_by(|one, other| one.1 == other.1) {
                let blank = self.blank_from(row[0].1);
                let tail = row.iter().position(|(x, ..)| *x >= blank).filter(|tail| row.len() - tail >= TAIL);
                bodies.extend_from_slice(&row[..tail.unwrap_or(row.len())]);
                tails.extend(tail.map(|tail| row[tail]));
            }
            self.band(&bodies)?;
            let mut hand = self.hand.clone();
            for (x, y, _) in tails {
                hand.clear(x, y, self);
            }
            self.take(hand)?;
        }
        let rest = self.hand.pen.rest();
        self.inner.write_all(rest.as_bytes())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.cursor.0 == Some(false) {
            return Ok(());
        }
        self.begin()?;
        self.cursor = (Some(false), None);
        // Queued, as all of a frame: the backend's own would write at once.
        queue!(self.inner, Hide)
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if self.cursor.0 == Some(true) {
            return Ok(());
        }
        self.begin()?;
        self.cursor.0 = Some(true);
        queue!(self.inner, Show)
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        // The terminal is never asked.
        Ok(self.cursor.1.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.cursor.1 == Some(position) && self.hand.at == Some((position.x, position.y)) {
            return Ok(());
        }
        self.begin()?;
        (self.cursor.1, self.hand.at) = (Some(position), Some((position.x, position.y)));
        queue!(self.inner, MoveTo(position.x, position.y))
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        self.begin()?;
        self.forget();
        if region == ClearType::All {
            let Size { width, height } = self.size()?;
            self.shown = vec![vec![Some(Cell::EMPTY); width.into()]; height.into()];
        }
        self.inner.clear_region(region)
    }

    fn size(&self) -> io::Result<Size> {
        let Size { width, height } = self.size.map_or_else(|| self.inner.size(), Ok)?;
        Ok(Size { width: width.min(LARGEST.0), height: height.min(LARGEST.1) })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.inner.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.open) {
            queue!(self.inner, EndSynchronizedUpdate)?;
        }
        Backend::flush(&mut self.inner)
    }
}

#[cfg(test)]
mod tests;
