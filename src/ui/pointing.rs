//! What lies under a place of the screen, for the mouse. It asks the panels, which know where they draw what.

use ratatui::layout::{Margin, Position, Rect};

use super::caps::Caps;
use super::panels::{inputs, layers, map, tabs};
use super::screen::Places;
use super::theme::Theme;
use crate::app::pointing::Target;
use crate::app::view::View;
use crate::app::{App, Panel};

/// What lies under a column and a row of a screen of some size.
pub fn target(app: &App, caps: &Caps, (width, height): (u16, u16), (column, row): (u16, u16)) -> Target {
    let (theme, at) = (Theme::new(*caps), Position::new(column, row));
    let Some(places) = Places::of(app, Rect { x: 0, y: 0, width, height }) else { return Target::Nothing };
    if app.layer.is_some() {
        return layers::target(app, places.body, at);
    }
    if let Some(panel) = places.tabs.contains(at).then(|| tabs::at(app, theme, places.tabs, at)).flatten() {
        return Target::Panel(panel);
    }
    let under = places.panels.into_iter().find(|(_, area)| area.contains(at));
    let Some((panel, area)) = under else { return Target::Nothing };
    let inside = area.inner(Margin::new(1, 1));
    let exact = match panel {
        Panel::Map if app.view == View::Map => map::cell_at(app, theme, inside, at).map(Target::Cell),
        Panel::Inputs => inputs::field_at(app, inside, at).map(Target::Field),
        Panel::Timeline if inside.contains(at) => Some(Target::Moment(share(inside, column))),
        _ => None,
    };
    exact.unwrap_or(Target::Panel(panel))
}

/// How far across an area a column is, 0 to 1.
fn share(area: Rect, column: u16) -> f64 {
    f64::from(column.saturating_sub(area.x)) / f64::from(area.width.max(2) - 1)
}

#[cfg(test)]
mod tests;
