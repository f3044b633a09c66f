//! The names of the panels in one row, for a screen that shows one at a time.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::app::{App, Panel};
use crate::ui::theme::{Role, Theme};

/// The panel whose name is at a place.
pub(in crate::ui) fn at(app: &App, theme: Theme, area: Rect, at: Position) -> Option<Panel> {
    let mut end = area.x;
    Panel::ALL.into_iter().find(|panel| {
        end = end.saturating_add(tab(app, theme, *panel).width() as u16);
        at.x < end
    })
}

fn tab(app: &App, theme: Theme, panel: Panel) -> Span<'static> {
    let title = if panel == Panel::Map { app.view.name } else { panel.title() };
    let name = format!("{} {title}", panel as usize + 1);
    if panel == app.focus {
        Span::styled(format!("[{name}]"), theme.style(Role::Accent))
    } else {
        Span::styled(format!(" {name} "), theme.style(Role::Dim))
    }
}

/// Draws it; the panel that has the keys is in brackets.
pub(in crate::ui) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    buf.set_line(
        area.x,
        area.y,
        &Panel::ALL.map(|panel| tab(app, theme, panel)).into_iter().collect::<Line>(),
        area.width,
    );
}
