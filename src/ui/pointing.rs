//! The target under a place of the screen, for the mouse. It asks the panels, which know what they draw where.

use ratatui::layout::{Margin, Position, Rect};

use super::caps::Caps;
use super::panels::{breakdown, chrome, inputs, layers, memory, timeline, views};
use super::screen::ScreenPlaces;
use super::theme::Theme;
use crate::app::state::pointing::PointerTarget;
use crate::app::{App, Panel};

/// Finds the target under a column and a row of a screen of some size.
pub fn target(app: &App, caps: &Caps, (width, height): (u16, u16), (column, row): (u16, u16)) -> PointerTarget {
    let (theme, at) = (Theme::new(*caps), Position::new(column, row));
    let Some(places) = ScreenPlaces::new(app, Rect { x: 0, y: 0, width, height }) else {
        return PointerTarget::Nothing;
    };
    if app.layer.is_some() {
        return layers::target(app, places.body, at);
    }
    if let Some(panel) = places.tabs.contains(at).then(|| chrome::tab_at(app, theme, places.tabs, at)).flatten() {
        return PointerTarget::Panel(panel);
    }
    // A wall that two panels share has the title of the later one.
    let under = places.panels.into_iter().rfind(|(_, area)| area.contains(at));
    let Some((panel, area)) = under else { return PointerTarget::Nothing };
    let inside = area.inner(Margin::new(1, 1));
    let row = |row| PointerTarget::Row(panel, row);
    let exact = match panel {
        _ if !inside.contains(at) => None,
        Panel::Map => views::target(app, theme, inside, at),
        Panel::Inputs => inputs::field_at(app, inside, at).map(row),
        Panel::Memory => memory::rank_at(app, inside, at).map(row),
        Panel::Timeline => {
            timeline::moment_at(app, theme, inside, at).map(|(share, row)| PointerTarget::Moment(share, row))
        }
        Panel::Time => breakdown::row_at(app, theme, inside, at).map(row),
    };
    exact.unwrap_or(PointerTarget::Panel(panel))
}

#[cfg(test)]
mod tests;
