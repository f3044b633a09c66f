//! A whole step in one row, to lay several under one another on one scale: compute, and what it waits for.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;

use super::text::put;
use crate::ui::theme::{Role, Theme, Tone};
use shardscope_engine::evaluate::{Folded, IdleCause, Stall};
use shardscope_engine::units::Seconds;

/// The kinds of a column.
const KINDS: usize = 4;
const COMPUTE: usize = 0;
const EXPOSED: usize = 1;
const BUBBLE: usize = 2;
const OTHER: usize = 3;

/// A step over a window of time that begins with it. The marks of each kind add up to its share of the time.
///
/// ```text
/// ████!!████!!████!!████!!████!!██
/// ████████████████████████████
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Strip<'a> {
    pub theme: Theme,
    /// When compute waits, by start time.
    pub idle: &'a [Stall],
    /// Stretches that repeat without being listed again.
    pub folded: &'a [Folded],
    /// The length of the step.
    pub step: Seconds,
    /// The time that the whole width stands for.
    pub window: Seconds,
}

impl<'a> Strip<'a> {
    /// A step of one rank, of which the window shows the beginning.
    pub const fn new(theme: Theme, idle: &'a [Stall], step: Seconds, window: Seconds) -> Self {
        Self { theme, idle, folded: &[], step, window }
    }

    /// For each of so many columns the share of its time that goes into each kind.
    fn shares(&self, columns: usize) -> Vec<[f64; KINDS]> {
        let mut shares = vec![[0.0; KINDS]; columns];
        let per_second = columns as f64 / self.window.get();
        let mut add = |from: Seconds, to: Seconds, kind: usize, weight: f64| {
            let (from, to) = (from.get() * per_second, (to.get() * per_second).min(columns as f64));
            for (column, share) in shares.iter_mut().enumerate().take(to.ceil() as usize).skip(from as usize) {
                let part = to.min(column as f64 + 1.0) - from.max(column as f64);
                share[kind] += weight * part.max(0.0);
                // Compute has the whole step below; what waits is taken out of it.
                share[COMPUTE] -= weight * part.max(0.0);
            }
        };
        for idle in self.idle {
            add(idle.start, idle.end, kind(idle.cause), 1.0);
        }
        for folded in self.folded {
            let length = folded.end - folded.start;
            let inside = |idle: &&Stall| idle.start >= folded.start && idle.end <= folded.end;
            for idle in self.idle.iter().filter(inside) {
                add(folded.end, folded.over(), kind(idle.cause), (idle.end - idle.start) / length);
            }
        }
        let end = self.step.get() * per_second;
        for (column, share) in shares.iter_mut().enumerate() {
            share[COMPUTE] += (end - column as f64).clamp(0.0, 1.0);
        }
        shares
    }
}

const fn kind(cause: IdleCause) -> usize {
    match cause {
        IdleCause::Communication => EXPOSED,
        IdleCause::Bubble => BUBBLE,
        IdleCause::Other => OTHER,
    }
}

impl Widget for &Strip<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let sound = |time: Seconds| time.get().is_finite() && time.get() > 0.0;
        if area.is_empty() || !sound(self.step) || !sound(self.window) {
            return;
        }
        let glyphs = self.theme.glyphs();
        let looks: [(&str, Style); KINDS] = [
            (glyphs.fills[0], self.theme.fill(Tone::Blue)),
            (glyphs.exposed, self.theme.style(Role::Bad)),
            (glyphs.bubble, self.theme.style(Role::Warn)),
            (glyphs.hidden, self.theme.style(Role::Dim)),
        ];
        let mut due = [0.0; KINDS];
        for (x, shares) in (area.left()..area.right()).zip(self.shares(area.width.into())) {
            if shares.iter().sum::<f64>() < 0.5 {
                break;
            }
            for (due, share) in due.iter_mut().zip(shares) {
                *due += share;
            }
            // The kind that is most in debt gets the column, so that each has as many columns as is its share in all.
            let most = (0..KINDS).max_by(|a, b| due[*a].total_cmp(&due[*b])).unwrap_or(COMPUTE);
            due[most] -= 1.0;
            put(buf, x, area.y, looks[most].0, looks[most].1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::caps::Caps;

    fn idle(from: f64, to: f64, cause: IdleCause) -> Stall {
        Stall { rank: 0, cause, start: Seconds::new(from), end: Seconds::new(to) }
    }

    fn drawn(strip: &Strip, width: u16) -> String {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 1));
        strip.render(buffer.area, &mut buffer);
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    fn theme() -> Theme {
        Theme::new(Caps::default())
    }

    #[test]
    fn each_column_shows_what_most_of_its_time_goes_into() {
        let waits = [idle(2.0, 4.0, IdleCause::Communication), idle(6.0, 7.0, IdleCause::Bubble)];
        let strip = Strip::new(theme(), &waits, Seconds::new(8.0), Seconds::new(10.0));
        assert_eq!(drawn(&strip, 10), "██!!██╌█  ");
        assert_eq!(drawn(&strip, 20), "████!!!!████╌╌██    ");
    }

    #[test]
    fn marks_add_up_to_the_time_also_where_each_wait_is_shorter_than_a_column() {
        // Forty waits of a quarter of a second in forty seconds: ten of forty columns.
        let waits: Vec<Stall> =
            (0..40).map(|at| idle(f64::from(at), f64::from(at) + 0.25, IdleCause::Communication)).collect();
        let strip = Strip::new(theme(), &waits, Seconds::new(40.0), Seconds::new(40.0));
        assert_eq!(drawn(&strip, 40).matches('!').count(), 10);
        assert_eq!(drawn(&strip, 40).matches('█').count(), 30);
    }

    #[test]
    fn what_is_folded_counts_as_often_as_it_repeats() {
        // One of four seconds is waited for; the stretch of four happens four times.
        let waits = [idle(0.0, 1.0, IdleCause::Communication)];
        let folded = [Folded { rank: 0, start: Seconds::ZERO, end: Seconds::new(4.0), times: 3 }];
        let strip = Strip::new(theme(), &waits, Seconds::new(16.0), Seconds::new(16.0));
        assert_eq!(drawn(&strip, 16).matches('!').count(), 1);
        assert_eq!(drawn(&Strip { folded: &folded, ..strip }, 16).matches('!').count(), 4);
    }

    #[test]
    fn nothing_is_drawn_of_a_step_without_length() {
        for step in [0.0, f64::NAN, -1.0] {
            let strip = Strip::new(theme(), &[], Seconds::new(step), Seconds::new(1.0));
            assert_eq!(drawn(&strip, 4), "    ");
        }
    }
}
