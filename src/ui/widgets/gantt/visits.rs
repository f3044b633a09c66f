//! A pipeline rank's line: its visits of its stages in the large, and what it waits for between them.
//!
//! ```text
//! 0██1██2██3██╌╌╌╌╌╌╌╌╌╌0▒▒▒▒▒4██1▒▒▒▒▒5██
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::scale::Scale;
use super::track::Track;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{columns, put};
use shardscope_engine::evaluate::{IdleCause, Span, TaskKind};

/// The parts of a column's time, by their place in the shares.
const FORWARD: usize = 0;
const BACKWARD: usize = 1;
const OPTIMIZER: usize = 2;
const BUBBLE: usize = 3;
const EXPOSED: usize = 4;

/// Draws each column as what most of its time goes into, and over each visit that has room its micro-batch.
pub(super) fn draw(track: &Track, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
    let visits = |scale: Scale| track.within(scale.window).chunk_by(goes_on).filter_map(StageVisit::new);
    let shares = scale.shares(track.folded, &|scale| {
        let mut shares = vec![[0.0; 5]; scale.columns];
        for idle in track.stalls(scale.window) {
            let part = match idle.cause {
                IdleCause::Bubble => BUBBLE,
                IdleCause::Communication => EXPOSED,
                IdleCause::Other => continue,
            };
            scale.cover(idle.start, idle.end, |column, share| shares[column][part] += share);
        }
        for StageVisit { first, last } in visits(scale) {
            let part = match first.activity.kind {
                TaskKind::Forward | TaskKind::ForwardAlone => FORWARD,
                kind if kind.is_backward() => BACKWARD,
                _ => OPTIMIZER,
            };
            scale.cover(first.start, last.end, |column, share| shares[column][part] += share);
        }
        shares
    });
    let mut due = [0.0; 4];
    for (share, x) in shares.into_iter().zip(plot.left()..plot.right()) {
        let (glyph, style) = look(share, &mut due, theme);
        put(buf, x, plot.y, glyph, style);
    }
    for visit in visits(scale).filter(|visit| visit.first.activity.kind != TaskKind::Optimizer) {
        visit.number(theme, scale, plot, buf);
    }
}

/// Whether two spans that follow one another belong to the same visit.
fn goes_on(span: &Span, next: &Span) -> bool {
    span.leads_to(next)
}

/// The spans of one visit, by its ends.
struct StageVisit<'a> {
    first: &'a Span,
    last: &'a Span,
}

impl<'a> StageVisit<'a> {
    /// A fixed cost of the host is none.
    fn new(spans: &'a [Span]) -> Option<Self> {
        let (first, last) = (spans.first()?, spans.last()?);
        (first.activity.kind != TaskKind::Host).then_some(Self { first, last })
    }

    /// Writes its micro-batch at its start, if that leaves a column of its fill.
    fn number(&self, theme: Theme, scale: Scale, plot: Rect, buf: &mut Buffer) {
        let (from, to) = (scale.at(self.first.start).round() as usize, scale.at(self.last.end).round() as usize);
        let number = self.first.activity.micro_batch.to_string();
        // A number alone would look like nothing runs.
        if number.len() < to.saturating_sub(from) && self.first.start >= scale.window.0 {
            let ink = theme.inside(theme.span(self.first.activity.kind));
            for (offset, digit) in number.split("").filter(|digit| !digit.is_empty()).enumerate() {
                if let Some(cell) = buf.cell_mut((plot.x + columns(from + offset), plot.y)) {
                    cell.reset();
                    cell.set_symbol(digit).set_style(ink);
                }
            }
        }
    }
}

/// Forward is full and backward light, so that they differ without colours; a column of both is between.
/// Of what runs, the bubble, exposed transfers and nothing, a column shows what most of it is, or what was hidden in the columns
/// before it by now for a whole one: so what is shorter than a column is seen as often as it is long.
fn look(
    [forward, backward, optimizer, bubble, exposed]: [f64; 5],
    due: &mut [f64; 4],
    theme: Theme,
) -> (&'static str, Style) {
    let (glyphs, busy) = (theme.glyphs(), forward + backward + optimizer);
    // An exposed transfer inside a visit is the visit's.
    let waiting = (1.0 - busy - bubble).min(exposed).max(0.0);
    let blank = 1.0 - busy - bubble - waiting;
    let shares = [busy, bubble, waiting, blank];
    due.iter_mut().zip(shares).for_each(|(due, share)| *due += share);
    let most = |of: &[f64; 4]| {
        let here = (0..shares.len()).filter(|part| shares[*part] > 1e-9);
        here.max_by(|one, other| of[*one].total_cmp(&of[*other])).unwrap_or(3)
    };
    let owed = most(due);
    let most = if due[owed] >= 1.0 - 1e-6 { owed } else { most(&shares) };
    due[most] -= 1.0;
    if most == 0 {
        let [full, dense, light, _] = glyphs.fills;
        let (more, less) = (forward.max(backward), forward.min(backward));
        return match forward >= backward {
            _ if optimizer > more => ("o", theme.span(TaskKind::Optimizer)),
            _ if less > more / 2.0 => (dense, theme.span(TaskKind::Backward)),
            true => (full, theme.span(TaskKind::Forward)),
            false => (light, theme.span(TaskKind::Backward)),
        };
    }
    if most == 1 {
        return (glyphs.bubble, theme.style(Role::Dim));
    }
    if most == 2 { (glyphs.exposed, theme.style(Role::Bad)) } else { (" ", Style::new()) }
}
