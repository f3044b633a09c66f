//! The mouse: what it points at, in the words of the state, and what a click, the wheel and a drag do there.
//!
//! It is left to the terminal unless the user asks for it. What lies under a place of the screen is `ui`'s to say.

use super::action::{Action, Command};
use super::keymap::Place;
use super::layer::Layer;
use super::timeline::Step;
use super::view::View;
use super::{App, Panel};

/// What lies under the pointer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// A panel.
    Panel(Panel),
    /// A cell of the map.
    Cell(usize),
    /// A field of the scenario.
    Field(usize),
    /// A moment on the timeline, as a share of what it shows.
    Moment(f64),
    /// An item of the list on top.
    Item(usize),
    /// The top layer.
    Layer,
    /// Nothing that can be pointed at.
    Nothing,
}

/// What the mouse does.
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

/// The mouse.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Mouse {
    /// Whether it is taken.
    pub taken: bool,
    /// Where on the timeline it was, while it drags.
    dragged: Option<f64>,
}

impl Mouse {
    /// A mouse that is taken, or not.
    pub const fn new(taken: bool) -> Self {
        Self { taken, dragged: None }
    }
}

impl Target {
    /// The panel that it belongs to.
    const fn panel(self) -> Option<Panel> {
        match self {
            Self::Panel(panel) => Some(panel),
            Self::Cell(_) => Some(Panel::Map),
            Self::Field(_) => Some(Panel::Inputs),
            Self::Moment(_) => Some(Panel::Timeline),
            Self::Item(_) | Self::Layer | Self::Nothing => None,
        }
    }
}

impl App {
    /// Does what the mouse asks for.
    pub fn point(&mut self, target: Target, gesture: Gesture) -> Vec<Command> {
        let dragged = self.mouse.dragged.take();
        match gesture {
            Gesture::WheelUp | Gesture::WheelDown => self.wheel(target, gesture == Gesture::WheelUp),
            _ if self.layer.is_some() => self.click_layer(target, gesture),
            Gesture::Click => self.click(target),
            Gesture::Drag => {
                match target {
                    Target::Cell(index) => self.go_to(index),
                    Target::Moment(now) => self.pull(dragged, now),
                    _ => {}
                }
                Vec::new()
            }
        }
    }

    /// The wheel goes through what it is over; over the timeline it zooms.
    fn wheel(&mut self, target: Target, up: bool) -> Vec<Command> {
        if self.layer.is_none() {
            let Some(panel) = target.panel() else { return Vec::new() };
            self.focus = panel;
        }
        let zooms = self.place() == Place::Panel(Panel::Timeline);
        self.update(match (zooms, up) {
            (false, true) => Action::Up,
            (false, false) => Action::Down,
            (true, true) => Action::More,
            (true, false) => Action::Less,
        })
    }

    /// A click gives a panel the keys and goes to what is under it; the same again takes it.
    fn click(&mut self, target: Target) -> Vec<Command> {
        self.notice = None;
        let Some(panel) = target.panel() else { return Vec::new() };
        let had_keys = std::mem::replace(&mut self.focus, panel) == panel;
        match target {
            Target::Cell(index) if had_keys && self.map.cursor == index => return self.update(Action::Take),
            Target::Field(index) if had_keys && self.inputs.cursor == index => return self.update(Action::Take),
            Target::Cell(index) => self.go_to(index),
            Target::Field(index) => self.inputs.cursor = index,
            Target::Moment(now) => {
                self.pull(None, now);
                if let Some(answer) = &self.answer {
                    self.timeline.choose_at(now, Step::of(&answer.evaluation));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// A click beside the top layer closes it; on an item goes there, and the same again takes it. A question is
    /// answered by keys only.
    fn click_layer(&mut self, target: Target, gesture: Gesture) -> Vec<Command> {
        if gesture != Gesture::Click {
            return Vec::new();
        }
        let Target::Item(index) = target else {
            return if target == Target::Layer { Vec::new() } else { self.update(Action::Close) };
        };
        let cursor = match &mut self.layer {
            Some(Layer::List(list)) => &mut list.cursor,
            Some(Layer::Palette(palette)) => &mut palette.cursor,
            Some(Layer::Browser(browser)) if !browser.asking => &mut browser.cursor,
            _ => return Vec::new(),
        };
        if std::mem::replace(cursor, index) == index { self.update(Action::Take) } else { Vec::new() }
    }

    /// The map's cursor goes to a cell.
    fn go_to(&mut self, index: usize) {
        if self.view == View::Map && index != self.map.cursor && index < self.map.progress().1 {
            self.map.cursor = index;
            self.look();
        }
    }

    /// The timeline follows the pointer.
    fn pull(&mut self, from: Option<f64>, now: f64) {
        if let (Some(from), Some(answer)) = (from, &self.answer) {
            self.timeline.pan(from - now, Step::of(&answer.evaluation));
        }
        self.mouse.dragged = Some(now);
    }
}

#[cfg(test)]
mod tests;
