//! The keys that matter now, in one row.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::app::action::keys::KeyLine;
use crate::ui::theme::{Role, Theme};

/// Hints at the end that are never left out: help and quit, or close and quit.
const KEPT: usize = 2;

/// Draws it; where there is little room, the hints before the last ones are left out.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let hint = |line: &KeyLine| {
        let key = Span::styled(line.name(theme.caps().ascii), theme.style(Role::Accent));
        Line::from(vec![Span::raw(" "), key, Span::raw(" "), Span::raw(line.hint), Span::raw(" ")])
    };
    let mut hints: Vec<Line> = app.keymap.hints(app.place()).map(hint).collect();
    let width = |hints: &[Line]| hints.iter().map(Line::width).sum::<usize>();
    while hints.len() > KEPT && width(&hints) > usize::from(area.width) {
        // The last ones are the least urgent, but help and quit stay.
        hints.remove(hints.len() - KEPT - 1);
    }
    buf.set_line(area.x, area.y, &hints.into_iter().flatten().collect::<Line>(), area.width);
}
