//! Clicks, the wheel and drags, by where the mouse points.

use crate::app::action::keys::KeyPlace;
use crate::app::action::panel::{Panel, ViewId};
use crate::app::action::{Action, Command};
use crate::app::state::App;
use crate::app::state::pointing::{Gesture, PointerTarget};
use crate::app::timeline::ShownStep;
use crate::app::views::hardware;

impl App {
    /// Does what the mouse asks for.
    pub fn point(&mut self, target: PointerTarget, gesture: Gesture) -> Vec<Command> {
        // A drag is told by the mark that the press left. Any other gesture ends it.
        let dragged = self.mouse.dragged.take();
        self.find.take_if(|_| gesture != Gesture::Drag);
        match gesture {
            Gesture::WheelUp | Gesture::WheelDown => self.wheel(target, gesture == Gesture::WheelUp),
            _ if self.layer.is_some() => self.click_layer(target, gesture),
            Gesture::Click => self.click(target),
            Gesture::Drag => {
                match target {
                    PointerTarget::Cell(index) => self.go_to(index),
                    PointerTarget::Row(panel, index) if panel == self.focus => self.go_to_row(index),
                    PointerTarget::Moment(now, _) => self.pull(dragged, now),
                    _ => {}
                }
                Vec::new()
            }
        }
    }

    /// The wheel goes through what it is over; over the timeline it zooms.
    fn wheel(&mut self, target: PointerTarget, up: bool) -> Vec<Command> {
        if self.layer.is_none() {
            let Some(panel) = target.panel() else { return Vec::new() };
            self.focus = panel;
        }
        let zooms = self.place() == KeyPlace::Panel(Panel::Timeline);
        self.update(match (zooms, up) {
            (false, true) => Action::Up,
            (false, false) => Action::Down,
            (true, true) => Action::More,
            (true, false) => Action::Less,
        })
    }

    /// A click gives a panel the keys and goes to what is under it; the same again takes it.
    fn click(&mut self, target: PointerTarget) -> Vec<Command> {
        self.notice = None;
        let Some(panel) = target.panel() else { return Vec::new() };
        // A first click goes there, a second one on the same place does what Enter does: a click into another panel
        // never changes the scenario.
        let had_keys = std::mem::replace(&mut self.focus, panel) == panel;
        match target {
            // What does not fit is easily clicked on twice to see why.
            PointerTarget::Cell(index) if had_keys && self.cell() == Some(index) && self.is_without_plan(index) => {
                self.tell("nothing fits here, so a click does not apply it; Enter does");
            }
            PointerTarget::Cell(index) if had_keys && self.cell() == Some(index) => return self.update(Action::Take),
            PointerTarget::Row(_, index) if had_keys && self.row() == index => return self.update(Action::Take),
            PointerTarget::Cell(index) => self.go_to(index),
            PointerTarget::Row(_, index) => self.go_to_row(index),
            PointerTarget::Moment(now, row) => {
                self.pull(None, now);
                if let Some(answer) = &self.answer {
                    self.timeline.choose_at(now, row, ShownStep::new(&answer.evaluation));
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// A click beside the top layer closes it; on an item goes there, and the same again takes it. A question is
    /// answered by keys only.
    fn click_layer(&mut self, target: PointerTarget, gesture: Gesture) -> Vec<Command> {
        if gesture != Gesture::Click {
            return Vec::new();
        }
        let PointerTarget::Item(index) = target else {
            return if target == PointerTarget::Layer { Vec::new() } else { self.update(Action::Close) };
        };
        if matches!(self.place(), KeyPlace::Question | KeyPlace::Entry | KeyPlace::Path) {
            return Vec::new();
        }
        let had_cursor = self.row() == index;
        self.go_to_row(index);
        if had_cursor { self.update(Action::Take) } else { Vec::new() }
    }

    /// The row that has the cursor.
    fn row(&self) -> usize {
        self.keyed().cursor(&self.context())
    }

    /// The cell of the map that has the cursor, or the place of the chart.
    fn cell(&self) -> Option<usize> {
        self.views.get(self.view).place(&self.context())
    }

    /// Whether a cell of a map has no plan that fits.
    fn is_without_plan(&self, index: usize) -> bool {
        let map = match self.view {
            ViewId::MAP => Some(&self.views.map),
            view if view == hardware::SPEC.id => self.views.hardware.map.as_ref(),
            _ => None,
        };
        map.is_some_and(|map| map.figure(index).is_none())
    }

    /// The cursor goes to a cell of the map, or to a place of the chart.
    fn go_to(&mut self, index: usize) {
        let effect = self.with_view(|view, context| view.go_to_place(index, context));
        self.perform(effect.into_iter().collect());
    }

    /// The timeline follows the pointer.
    fn pull(&mut self, from: Option<f64>, now: f64) {
        if let (Some(from), Some(answer)) = (from, &self.answer) {
            self.timeline.pan(from - now, ShownStep::new(&answer.evaluation));
        }
        self.mouse.dragged = Some(now);
    }
}

#[cfg(test)]
mod tests;
