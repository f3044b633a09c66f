//! The view of the traffic: which of its figures has the keys.

use crate::evaluate::HostDirection;
use crate::figures::Figure;

use crate::app::App;
use crate::app::action::Action;
use crate::app::update::moved;

/// The cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    cursor: usize,
}

impl Traffic {
    /// The figure that has the keys, of so many.
    pub fn cursor(&self, count: usize) -> usize {
        self.cursor.min(count.saturating_sub(1))
    }

    /// The figure that is to have the keys.
    pub(in crate::app) const fn go_to(&mut self, figure: usize) {
        self.cursor = figure;
    }
}

impl App {
    /// The figures of the scenario shown, in the order of the view's rows: what each level carries, and each way of the
    /// link to the host if anything crosses it, here or with the pinned scenario.
    pub fn carried(&self) -> Vec<Figure> {
        let Some(answer) = &self.answer else { return Vec::new() };
        let pinned = self.pins.reference().is_some_and(|(_, summary)| summary.host.any());
        let copies = pinned || answer.evaluation.summary.host.any();
        let levels = 0..answer.scenario.cluster.levels.len();
        let ways = HostDirection::ALL.into_iter().filter(|_| copies);
        levels
            .flat_map(|level| [Figure::Traffic(level), Figure::Busy(level)])
            .chain(ways.flat_map(|way| [Figure::Copied(way), Figure::Copying(way)]))
            .collect()
    }

    /// Does what the user asked of the view.
    pub(in crate::app) fn on_traffic(&mut self, action: Action) {
        let count = self.carried().len();
        let traffic = &mut self.views.traffic;
        traffic.cursor = moved(traffic.cursor(count), action, count, self.page);
    }
}

#[cfg(test)]
mod tests;
