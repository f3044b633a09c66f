//! The mouse: what it points at, in the words of the state, and what a click, the wheel and a drag do there.
//!
//! It is left to the terminal unless the user asks for it. What lies under a place of the screen is `ui`'s to say.

use crate::app::action::panel::Panel;

/// The target under the pointer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PointerTarget {
    /// A panel.
    Panel(Panel),
    /// A row of a panel, or of the view in the map's place: a field, a figure, a strategy.
    Row(Panel, usize),
    /// A cell of the map, or a place of the chart in the map's place.
    Cell(usize),
    /// A moment on the timeline, as a share of what it shows, and the row.
    Moment(f64, Option<usize>),
    /// An item of the list, the form or the explanation on top.
    Item(usize),
    /// The top layer.
    Layer,
    /// Nothing that can be pointed at.
    Nothing,
}

/// An event of the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gesture {
    /// Its first button goes down.
    Click,
    /// It moves while that button is down.
    Drag,
    /// Its wheel turns away from the user.
    WheelUp,
    /// Its wheel turns towards the user.
    WheelDown,
}

/// Whose the mouse is, and what it does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mouse {
    /// Whether it is taken.
    pub taken: bool,
    /// Where on the timeline it was, while it drags.
    pub(crate) dragged: Option<f64>,
}

impl Mouse {
    /// A mouse that is taken, or not.
    pub const fn new(taken: bool) -> Self {
        Self { taken, dragged: None }
    }
}

impl PointerTarget {
    /// The panel that it belongs to.
    pub(crate) const fn panel(self) -> Option<Panel> {
        match self {
            Self::Panel(panel) | Self::Row(panel, _) => Some(panel),
            Self::Cell(_) => Some(Panel::Map),
            Self::Moment(..) => Some(Panel::Timeline),
            Self::Item(_) | Self::Layer | Self::Nothing => None,
        }
    }
}
