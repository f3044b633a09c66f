//! One line of the timeline.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::label::{labels, names};
use super::{Scale, overlapping};
use crate::evaluate::{Activity, Kind};
use crate::ui::caps::Depth;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{columns, put, width};
use crate::units::Seconds;

/// One stretch of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Start.
    pub start: Seconds,
    /// End.
    pub end: Seconds,
    /// What runs: gives colour and label.
    pub activity: Activity,
}

impl Span {
    /// Whether it moves bytes between devices or to the host.
    pub(super) const fn communicates(&self) -> bool {
        !matches!(self.activity.kind, Kind::Forward | Kind::Backward | Kind::Optimizer | Kind::Host)
    }
}

/// One line of the timeline.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Its spans by start time; they don't overlap.
    pub spans: Vec<Span>,
    /// Stretches in which it waits for another pipeline rank, by start time.
    pub bubbles: Vec<(Seconds, Seconds)>,
}

/// From this many columns on a span is drawn by itself.
const ALONE: f64 = 3.0;

/// What the narrow spans of a column add up to.
#[derive(Debug, Clone, Copy, Default)]
struct Density {
    /// Share of the column's time in which something runs.
    busy: f64,
    /// The kind that takes most of it at one stretch, and how much.
    kind: Kind,
    most: f64,
}

impl Track {
    /// The spans that touch a window.
    pub(super) fn within(&self, window: (Seconds, Seconds)) -> &[Span] {
        overlapping(&self.spans, |span| (span.start, span.end), window)
    }

    pub(super) fn draw(&self, theme: Theme, scale: Scale, selected: Option<usize>, plot: Rect, buf: &mut Buffer) {
        self.draw_bubbles(theme, scale, plot, buf);
        let mut density = vec![Density::default(); scale.columns];
        let mut wide = Vec::new();
        for span in self.within(scale.window) {
            let (from, to) = (scale.at(span.start), scale.at(span.end));
            if to - from >= ALONE {
                wide.push(span);
                continue;
            }
            scale.cover_columns(from, to, |column, share| {
                let cell = &mut density[column];
                cell.busy += share;
                if share > cell.most {
                    (cell.kind, cell.most) = (span.activity.kind, share);
                }
            });
        }
        draw_density(&density, theme, plot, buf);
        for span in wide {
            draw_alone(span, theme, scale, plot, buf);
        }
        let in_view = |span: &&Span| span.end > scale.window.0 && span.start < scale.window.1;
        if let Some(span) = selected.and_then(|index| self.spans.get(index)).filter(in_view) {
            let (from, to) = (scale.at(span.start), scale.at(span.end));
            let from = columns(from.round().min(scale.columns as f64 - 1.0) as usize);
            let length = columns(to.round() as usize).saturating_sub(from).max(1);
            highlight(theme, Rect { x: plot.x + from, width: length, ..plot }, buf);
        }
    }

    fn draw_bubbles(&self, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
        for (from, to) in overlapping(&self.bubbles, |bubble| *bubble, scale.window) {
            let (from, to) = (scale.at(*from).round() as usize, scale.at(*to).round() as usize);
            for column in from..to {
                put(buf, plot.x + columns(column), plot.y, theme.glyphs().bubble, theme.style(Role::Dim));
            }
        }
    }
}

/// The chosen span: in the colour of text with its label reversed; without colours all reversed.
fn highlight(theme: Theme, place: Rect, buf: &mut Buffer) {
    let glyphs = theme.glyphs();
    for position in place.intersection(buf.area).positions() {
        let symbol = buf[position].symbol();
        let filled = glyphs.shades[1..].contains(&symbol) || glyphs.ends.contains(&symbol);
        let style = if filled && theme.caps().depth > Depth::None { Style::new() } else { theme.style(Role::Cursor) };
        buf[position].set_style(Style::reset().patch(style));
    }
}

/// Narrow spans: a shade per column, and over a longer run of one kind its name.
fn draw_density(density: &[Density], theme: Theme, plot: Rect, buf: &mut Buffer) {
    let mut x = plot.x;
    for run in density.chunk_by(|one, other| (one.busy > 0.0, one.kind) == (other.busy > 0.0, other.kind)) {
        let (start, length) = (x, run.len());
        x += columns(length);
        if run[0].busy <= 0.0 {
            continue;
        }
        let fill = theme.span(run[0].kind);
        for (x, cell) in (start..).zip(run) {
            // Rounding may leave a hair between spans that touch.
            put(buf, x, plot.y, theme.shade(cell.busy + 1e-6), fill);
        }
        let (long, short, _) = names(run[0].kind);
        if let Some(name) = [long, short].into_iter().find(|name| name.len() + 6 <= length) {
            // On its colour the name would look busier than a run that is mostly blank.
            let solid = run.iter().map(|cell| cell.busy).sum::<f64>() >= 0.9 * length as f64;
            let ink = if solid { theme.inside(fill) } else { fill };
            write_centred(name, ink, Rect { x: start, width: columns(length), ..plot }, buf);
        }
    }
}

/// A wide span: its ends where they are in the window, filled, with its label in the middle.
fn draw_alone(span: &Span, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
    let (start, end) = (scale.at(span.start).round() as usize, scale.at(span.end).round() as usize);
    let fill = theme.span(span.activity.kind);
    let [left, right] = theme.glyphs().ends;
    let x = |column: usize| plot.x + columns(column);
    for column in start..end {
        put(buf, x(column), plot.y, theme.shade(1.0), fill);
    }
    let (opens, closes) = (span.start >= scale.window.0, span.end <= scale.window.1);
    if opens {
        put(buf, x(start), plot.y, left, fill);
    }
    if closes {
        put(buf, x(end - 1), plot.y, right, fill);
    }
    let (start, end) = (start + usize::from(opens), end - usize::from(closes));
    let room = end.saturating_sub(start);
    let labels = labels(span.activity);
    let roomy = labels.iter().find(|label| width(label) + 2 <= room);
    if let Some(label) = roomy.or_else(|| labels.last().filter(|label| width(label) <= room)) {
        write_centred(label, theme.inside(fill), Rect { x: x(start), width: columns(room), ..plot }, buf);
    }
}

/// Writes a label into the middle of a filled stretch, with a blank on both sides; in a short one it takes all.
fn write_centred(label: &str, style: Style, place: Rect, buf: &mut Buffer) {
    let room = usize::from(place.width);
    let text = if width(label) + 4 <= room { format!(" {label} ") } else { format!("{label:^room$}") };
    let x = place.x + columns((room - width(&text).min(room)) / 2);
    for offset in 0..columns(width(&text)) {
        if let Some(cell) = buf.cell_mut((x + offset, place.y)) {
            cell.reset();
        }
    }
    buf.set_stringn(x, place.y, &text, room, style);
}
