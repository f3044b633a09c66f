//! A timeline: tracks with labelled spans over a window of time, and under them which communication is exposed.
//!
//! A span that is wide enough is drawn by itself, with its ends and a label as long as fits; narrower ones add up to
//! a shade per column, which is the share of the column's time in which something runs. A track of visits shows what
//! a pipeline rank does in the large. What is outside the window costs nothing to draw. Not for what runs when.

mod scale;
mod track;
mod visits;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::widgets::Widget;

use super::axis;
use super::strip::Strip;
use super::text::{columns, fit, put, width};
use crate::ui::theme::{Role, Theme};
use shardscope_engine::evaluate::{Folded, IdleCause, InOrder, Span, Stall};
use shardscope_engine::units::Seconds;

use scale::Scale;

pub use track::{Track, TrackForm};

/// The name of the row of exposed communication.
const EXPOSED: &str = "exposed";

/// Tracks over the window of time `[from, to)`; zoom and pan are the window. Rows: the whole step if asked for, one per
/// track, then exposed communication, then the axis; what does not fit is left out from below.
///
/// ```text
/// compute ▕███ fwd 20 ███▏▕███ fwd 21 ███▏▕███ fwd 22 ███
/// gather  ▕g21▏          ▕g22▏           ▕g23▏
/// exposed ····           ··!!            ····
///         ╵1.20 s       ╵1.25         ╵1.30
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Gantt<'a> {
    pub theme: Theme,
    /// One under another, from above.
    pub tracks: &'a [Track<'a>],
    /// From when to when.
    pub window: (Seconds, Seconds),
    /// Stretches of the rank shown that repeat without being listed again: each is drawn as the average of what repeats.
    pub folded: &'a [Folded],
    /// Adds the row of exposed communication: the stretches in which compute waits for it, by start time, and what is
    /// communicated, hidden or not.
    ///
    /// Its marks add up to the exposed time, rounded up to a column.
    pub exposed: Option<(&'a [Stall], &'a [&'a [Span]])>,
    /// The spans under the cursor: their track, start and end.
    pub selected: Option<(usize, Seconds, Seconds)>,
    /// Adds a row on top: compute and what it waits for over a whole step of this length, the window between marks.
    pub overview: Option<Seconds>,
}

impl<'a> Gantt<'a> {
    /// Tracks over a window of time.
    pub const fn new(theme: Theme, tracks: &'a [Track<'a>], from: Seconds, to: Seconds) -> Self {
        Self { theme, tracks, window: (from, to), folded: &[], exposed: None, selected: None, overview: None }
    }

    /// Rows that everything takes.
    pub fn height(&self) -> u16 {
        let extra = usize::from(self.exposed.is_some()) + usize::from(self.overview.is_some());
        columns(self.tracks.len() + extra + 1)
    }

    /// The track at a place: they stand under the overview.
    pub fn track_at(&self, area: Rect, at: Position) -> Option<usize> {
        let down = usize::from(at.y.checked_sub(area.y)?).checked_sub(usize::from(self.overview.is_some()))?;
        (down < self.tracks.len()).then_some(down)
    }

    /// The area of the time, right of the names.
    pub fn plot(&self, area: Rect) -> Rect {
        let gutter = self.gutter(area.width);
        Rect { x: area.x + gutter, width: area.width - gutter, ..area }
    }

    /// Columns of the names, with the blank behind them; none on a narrow screen.
    fn gutter(&self, total: u16) -> u16 {
        let names = self.tracks.iter().map(|track| width(&track.name));
        let exposed = self.exposed.map(|_| EXPOSED.len());
        let widest = columns(names.chain(exposed).max().unwrap_or(0));
        if total < 30 || widest == 0 { 0 } else { widest.min(total / 4) + 1 }
    }

    fn draw_name(&self, name: &str, here: bool, area: Rect, plot: Rect, buf: &mut Buffer) {
        let room = usize::from((plot.x - area.x).saturating_sub(1));
        let role = if here { Role::Title } else { Role::Dim };
        buf.set_stringn(area.x, plot.y, fit(name, room, self.theme), room, self.theme.style(role));
        if here && plot.x > area.x {
            put(buf, plot.x - 1, plot.y, self.theme.glyphs().pinned, self.theme.style(Role::Accent));
        }
    }

    fn draw_exposed(&self, scale: Scale, plot: Rect, buf: &mut Buffer) {
        let Some((idle, communicated)) = self.exposed else { return };
        let shares = scale.shares(self.folded, &|scale| {
            let mut shares = vec![[0.0; 2]; scale.columns];
            let waits = idle.within(scale.window);
            for idle in waits.iter().filter(|idle| idle.cause == IdleCause::Communication) {
                scale.cover(idle.start, idle.end, |column, share| shares[column][0] += share);
            }
            // A column shows only whether there is any communication.
            for (column, [_, moving]) in shares.iter_mut().enumerate() {
                let here = |span: &Span| scale.touches(span.start, span.end, column);
                let moves = |line: &&[Span]| line.within(scale.stretch(column)).iter().any(here);
                *moving = f64::from(u8::from(communicated.iter().any(moves)));
            }
            shares
        });
        let glyphs = self.theme.glyphs();
        // Most waits are shorter than a column. Their shares add up, and each whole column's worth is one mark: so the
        // marks say how long compute waits, and not only that it does.
        let mut due = 0.0;
        for ([waiting, moving], x) in shares.into_iter().zip(plot.left()..plot.right()) {
            due += waiting;
            if waiting > 0.0 && due > 1e-9 {
                due -= 1.0;
                put(buf, x, plot.y, glyphs.exposed, self.theme.style(Role::Bad));
            } else if waiting > 0.0 || moving > 0.0 {
                put(buf, x, plot.y, glyphs.hidden, self.theme.style(Role::Dim));
            }
        }
    }

    /// Over each stretch of repeats how many there are.
    fn draw_repeats(&self, folded: &[Folded], scale: Scale, plot: Rect, buf: &mut Buffer) {
        for folded in folded {
            let (from, to) = (scale.at(folded.end).ceil() as usize, scale.at(folded.over()).floor() as usize);
            let text = format!(" the same {} times more ", folded.times);
            let free = to.saturating_sub(from).saturating_sub(width(&text));
            if free > 0 {
                // In the middle of the repeats.
                let x = plot.x + columns(from + free / 2);
                buf.set_stringn(x, plot.y, &text, text.len(), Style::reset().patch(self.theme.style(Role::Dim)));
            }
        }
    }

    /// The whole step in one row, and where the window is in it.
    fn draw_overview(&self, step: Seconds, plot: Rect, buf: &mut Buffer) {
        let Some(scale) = Scale::new((Seconds::ZERO, step), plot.width.into()) else { return };
        if let Some((idle, _)) = self.exposed {
            Strip { folded: self.folded, ..Strip::new(self.theme, idle, step, step) }.render(plot, buf);
        }
        let last = plot.width.saturating_sub(1);
        let (from, to) = (scale.at(self.window.0).floor(), scale.at(self.window.1).ceil());
        let (from, to) = (columns(from as usize).min(last), columns(to as usize).saturating_sub(1).min(last));
        buf.set_style(
            Rect { x: plot.x + from, width: to.saturating_sub(from) + 1, ..plot },
            self.theme.style(Role::Cursor),
        );
        let caps = Style::reset().patch(self.theme.style(Role::Accent));
        // The caps stand beside the window, where there is a column left.
        for (column, mark) in [(from.checked_sub(1), 0), (to.checked_add(1).filter(|to| *to <= last), 1)] {
            if let Some(column) = column {
                put(buf, plot.x + column, plot.y, self.theme.glyphs().cursor[mark], caps);
            }
        }
    }

    fn draw_axis(&self, plot: Rect, buf: &mut Buffer) {
        let style = self.theme.style(Role::Dim);
        for tick in axis::ticks(self.window.0, self.window.1, plot.width.into()) {
            let room = usize::from(plot.width).saturating_sub(tick.column);
            let text = format!("{}{}", self.theme.glyphs().tick, tick.label);
            if width(&text) <= room {
                buf.set_stringn(plot.x + columns(tick.column), plot.y, text, room, style);
            }
        }
    }
}

impl Widget for &Gantt<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let plot = Rect { height: 1, ..self.plot(area) };
        let Some(scale) = Scale::new(self.window, plot.width.into()) else { return };
        let mut rows = (area.top()..area.bottom()).map(|y| Rect { y, ..plot });
        if let Some((step, plot)) = self.overview.and_then(|step| Some((step, rows.next()?))) {
            self.draw_name("step", false, area, plot, buf);
            self.draw_overview(step, plot, buf);
        }
        for (index, (track, plot)) in self.tracks.iter().zip(rows.by_ref()).enumerate() {
            self.draw_name(&track.name, track.here, area, plot, buf);
            match track.form {
                TrackForm::Spans => track.draw_spans(self.theme, scale, plot, buf),
                TrackForm::Visits => visits::draw(track, self.theme, scale, plot, buf),
            }
            if index == 0 {
                self.draw_repeats(track.folded, scale, plot, buf);
            }
            if let Some((_, from, to)) = self.selected.filter(|(track, ..)| *track == index) {
                track::highlight(self.theme, scale, (from, to), plot, buf);
            }
        }
        if let Some(plot) = self.exposed.and_then(|_| rows.next()) {
            self.draw_name(EXPOSED, false, area, plot, buf);
            self.draw_exposed(scale, plot, buf);
        }
        if let Some(plot) = rows.next() {
            self.draw_axis(plot, buf);
        }
    }
}

/// Whether a span moves bytes between devices or to the host.
pub const fn communicates(span: &Span) -> bool {
    span.activity.kind.communicates()
}

#[cfg(test)]
mod tests;
