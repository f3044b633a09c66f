//! The view of the intensities: which transfer has the keys.

use crate::bounds::intensity;
use crate::scenario::Scenario;

use crate::app::action::Action;
use crate::app::update::moved;

/// The cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Intensities {
    cursor: usize,
}

impl Intensities {
    /// The transfer that has the keys, of so many.
    pub fn cursor(&self, count: usize) -> usize {
        self.cursor.min(count.saturating_sub(1))
    }

    /// The transfer that is to have the keys.
    pub(in crate::app) const fn go_to(&mut self, transfer: usize) {
        self.cursor = transfer;
    }

    /// Does what the user asked for.
    pub fn update(&mut self, action: Action, scenario: &Scenario) {
        let count = intensity::of(scenario).len();
        self.cursor = moved(self.cursor(count), action, count, count);
    }
}
