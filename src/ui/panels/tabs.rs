//! The names of the panels in one row, for a screen that shows one at a time.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};

/// Draws it; the panel that has the keys is in brackets.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let tab = |panel: Panel| {
        let title = if panel == Panel::Map { app.view.name() } else { panel.title() };
        let name = format!("{} {title}", panel as usize + 1);
        if panel == app.focus {
            Span::styled(format!("[{name}]"), theme.style(Role::Accent))
        } else {
            Span::styled(format!(" {name} "), theme.style(Role::Dim))
        }
    };
    buf.set_line(area.x, area.y, &Panel::ALL.map(tab).into_iter().collect::<Line>(), area.width);
}
