//! The view of failures: how much time is lost, by the work between two checkpoints.

use crate::app::action::Action;
use crate::app::asked::{Asked, LATER};
use crate::app::context::Context;
use crate::app::cursor::{ListCursor, across};
use crate::app::effect::Effect;
use crate::app::panel::ViewId;
use crate::app::view::{View, ViewSpec};
use crate::evaluate::FailureForecast;
use crate::figures::Figure;
use crate::units::Seconds;

/// What is known of it before it is shown.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "failures", name: "Failures", about: "time lost to checkpoints and failures, by interval" },
    opens: "R",
    hint: "",
    keys: |keys| keys.sideways("interval", "shorter and longer interval").ends("shortest and longest interval"),
};

/// The intervals, in seconds: from seconds to days.
pub const INTERVALS: [f64; 15] = [5.0, 10.0, 20.0, 50.0, 1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5];

/// Knows nothing but the interval under its cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FailuresView(Option<ListCursor>);

impl FailuresView {
    /// The interval that has the keys: at first the one that is nearest to the best.
    pub fn place(self, forecast: &FailureForecast) -> usize {
        let away = |index: &usize| libm::fabs(libm::log(INTERVALS[*index] / forecast.interval.get()));
        let nearest = || (0..INTERVALS.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        self.0.map(|cursor| cursor.row(INTERVALS.len())).or_else(nearest).unwrap_or(0)
    }

    /// The same as a time.
    pub fn interval(self, forecast: &FailureForecast) -> Seconds {
        Seconds::new(INTERVALS[self.place(forecast)])
    }
}

/// What failures make of what is shown, where its cluster says what goes wrong.
fn forecast(context: &Context) -> Option<FailureForecast> {
    context.answer?.subject().failures()
}

impl View for FailuresView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let Some(forecast) = forecast(context) else { return Vec::new() };
        let mut cursor = ListCursor::at(self.place(&forecast));
        if cursor.go(across(action), INTERVALS.len(), context.page) {
            self.0 = Some(cursor);
        }
        Vec::new()
    }

    fn figure(&self, context: &Context) -> Result<Asked, &'static str> {
        match forecast(context) {
            _ if context.answer.is_none() => Err(LATER),
            None => Err("the cluster does not say what goes wrong: there is no figure to explain"),
            Some(forecast) => Ok(Asked::Shown(Figure::GoodputEvery(self.interval(&forecast).get() as usize))),
        }
    }

    fn place(&self, context: &Context) -> Option<usize> {
        forecast(context).map(|forecast| Self::place(*self, &forecast))
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        self.0 = Some(ListCursor::at(place));
        None
    }
}

#[cfg(test)]
mod tests;
