//! Frames as few bytes: what ratatui asks to be drawn, in the shortest way that every terminal understands.
//!
//! It knows what is on the screen, so it writes over a short gap instead of jumping it, clears the rest of a row in one
//! go, says of a style only what changes, and writes nothing at all where nothing changes. On a slow line that is what
//! one feels. Not for taking the terminal over or giving it back ([`super::screen`]).

mod style;

use std::io::{self, Write};

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

/// A terminal that is written to thriftily.
#[derive(Debug)]
pub(super) struct Wire<W: Write> {
    inner: CrosstermBackend<W>,
    /// The size, if the terminal is not to be asked.
    size: Option<Size>,
    /// What the screen shows, row by row, as far as it is known.
    shown: Vec<Vec<Option<Cell>>>,
    /// Where the next glyph goes, if that is known.
    at: Option<(u16, u16)>,
    pen: Pen,
    /// Whether a frame has begun.
    open: bool,
    /// Whether the text cursor is seen, and where it was put.
    cursor: (Option<bool>, Option<Position>),
}

impl<W: Write> Wire<W> {
    /// A terminal of which nothing is known.
    pub(super) fn new(writer: W, size: Option<Size>) -> Self {
        Self {
            inner: CrosstermBackend::new(writer),
            size,
            shown: Vec::new(),
            at: None,
            pen: Pen::default(),
            open: false,
            cursor: (None, None),
        }
    }

    /// Someone else wrote to the terminal.
    pub(super) fn forget(&mut self) {
        self.shown.clear();
        (self.at, self.cursor) = (None, (None, None));
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
        let blank = |x: &u16| self.cell(*x, y).is_some_and(is_blank);
        (0..self.columns(y)).rev().take_while(blank).last().unwrap_or(u16::MAX)
    }

    /// Brings the next glyph to a place: over a gap of which every glyph is known and as the pen is, or by a jump.
    fn go(&mut self, x: u16, y: u16) -> io::Result<()> {
        let jump = match self.at {
            Some(at) if at == (x, y) => return Ok(()),
            Some((from, row)) if row == y && from < x => {
                let jump = if x - from == 1 { "\x1b[C".to_owned() } else { format!("\x1b[{}C", x - from) };
                let gap = (from..x).map(|x| self.cell(x, y).filter(|cell| self.pen.is(cell) && width(cell) == 1));
                match gap.map(|cell| cell.map(Cell::symbol)).collect::<Option<String>>() {
                    Some(gap) if gap.len() <= jump.len() => gap,
                    _ => jump,
                }
            }
            _ => format!("\x1b[{};{}H", u32::from(y) + 1, u32::from(x) + 1),
        };
        self.at = Some((x, y));
        self.inner.write_all(jump.as_bytes())
    }

    fn put(&mut self, x: u16, y: u16, cell: &Cell) -> io::Result<()> {
        self.go(x, y)?;
        self.inner.write_all(self.pen.change(cell).as_bytes())?;
        self.inner.write_all(cell.symbol().as_bytes())?;
        // Behind the last column terminals differ.
        let next = x.saturating_add(width(cell));
        self.at = (next < self.columns(y)).then_some((next, y));
        Ok(())
    }
}

/// Whether a cell shows nothing, on the terminal's own ground.
fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && cell.bg == Color::Reset && cell.modifier.is_empty()
}

fn width(cell: &Cell) -> u16 {
    if cell.symbol().len() == 1 { 1 } else { Span::raw(cell.symbol()).width() as u16 }
}

impl<W: Write> Write for Wire<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.inner)
    }
}

impl<W: Write> Backend for Wire<W> {
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
        let mut rest = &cells[..];
        // The row at hand, and from where on it is blank.
        let mut tail = (u16::MAX, 0);
        while let Some(((x, y, cell), after)) = rest.split_first() {
            rest = after;
            if tail.0 != *y {
                tail = (*y, self.blank_from(*y));
            }
            let here = rest.iter().take_while(|(_, row, _)| row == y).count();
            if *x >= tail.1 && here + 1 >= TAIL {
                self.go(*x, *y)?;
                self.inner.write_all(self.pen.plain_ground().as_bytes())?;
                self.inner.write_all(b"\x1b[K")?;
                rest = &rest[here..];
            } else {
                self.put(*x, *y, cell)?;
            }
        }
        self.inner.write_all(self.pen.rest().as_bytes())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.cursor.0 == Some(false) {
            return Ok(());
        }
        self.begin()?;
        self.cursor = (Some(false), None);
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if self.cursor.0 == Some(true) {
            return Ok(());
        }
        self.begin()?;
        self.cursor.0 = Some(true);
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        // The terminal is never asked.
        Ok(self.cursor.1.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.cursor.1 == Some(position) && self.at == Some((position.x, position.y)) {
            return Ok(());
        }
        self.begin()?;
        (self.cursor.1, self.at) = (Some(position), Some((position.x, position.y)));
        self.inner.set_cursor_position(position)
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
        self.size.map_or_else(|| self.inner.size(), Ok)
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
