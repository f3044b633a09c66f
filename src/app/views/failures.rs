//! The view of failures: how much time is lost, by the work between two checkpoints.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::{ListCursor, across};
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER};
use crate::app::action::panel::ViewId;
use crate::app::answers::Answer;
use crate::app::views::{View, ViewSpec};
use shardscope_engine::bounds::goodput::{IntervalLaw, TimeShares};
use shardscope_engine::evaluate::FailureForecast;
use shardscope_engine::units::{Amount, Seconds};
use shardscope_report::figures::Figure;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "failures", name: "Failures", about: "time lost to checkpoints and failures, by interval" },
    opens: "R",
    hint: "",
    keys: |keys| keys.sideways("interval", "shorter and longer interval").ends("shortest and longest interval"),
};

/// The intervals, in seconds: from seconds to days.
pub const INTERVALS: [f64; 15] = [5.0, 10.0, 20.0, 50.0, 1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5];

/// The interval under its cursor, and what failures make of what is shown.
#[derive(Debug, Clone, Default)]
pub struct FailuresView {
    /// Where the cursor was moved to.
    cursor: Option<ListCursor>,
    /// Nothing where the cluster does not say what goes wrong.
    pub picture: Option<FailurePicture>,
}

/// The effect of failures on a training.
#[derive(Debug, Clone, PartialEq)]
pub struct FailurePicture {
    /// The failures that stop the job, their cost, and the best interval.
    pub forecast: FailureForecast,
    /// Where the time goes at each of [`INTERVALS`].
    pub shares: [TimeShares; INTERVALS.len()],
    /// The best interval by each rule.
    pub best: [(IntervalLaw, Seconds); IntervalLaw::ALL.len()],
    /// Bytes of a checkpoint.
    pub checkpoint: Option<Amount>,
    /// Days of the training without failures and with them, where its length is stated.
    pub days: Option<[Amount; 2]>,
}

impl FailurePicture {
    fn new(answer: &Answer) -> Option<Self> {
        let subject = answer.subject();
        let forecast = subject.failures()?;
        let interruptions = forecast.interruptions;
        let amount = |figure: Figure| figure.amount(&subject);
        Some(Self {
            forecast,
            shares: INTERVALS.map(|interval| interruptions.shares(Seconds::new(interval))),
            best: IntervalLaw::ALL.map(|law| (law, interruptions.interval(law))),
            checkpoint: amount(Figure::CheckpointBytes),
            days: amount(Figure::Days).zip(amount(Figure::DaysWithFailures)).map(|(without, with)| [without, with]),
        })
    }
}

impl FailuresView {
    /// The interval that has the keys: at first the one that is nearest to the best.
    pub fn place(&self) -> usize {
        let best = self.picture.as_ref().map_or(Seconds::ZERO, |picture| picture.forecast.interval);
        let away = |index: &usize| libm::fabs(libm::log(INTERVALS[*index] / best.get()));
        let nearest = || (0..INTERVALS.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        self.cursor.map(|cursor| cursor.row(INTERVALS.len())).or_else(nearest).unwrap_or(0)
    }
}

impl View for FailuresView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let mut cursor = ListCursor::at(self.place());
        if self.picture.is_some() && cursor.go(across(action), INTERVALS.len(), context.page) {
            self.cursor = Some(cursor);
        }
        Vec::new()
    }

    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        match self.picture {
            _ if context.answer.is_none() => Err(LATER),
            None => Err("the cluster does not say what goes wrong: there is no figure to explain".into()),
            Some(_) => Ok(Asked::Shown(Figure::GoodputEvery(INTERVALS[self.place()] as usize))),
        }
    }

    fn place(&self, _: &Context) -> Option<usize> {
        self.picture.as_ref().map(|_| Self::place(self))
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        self.cursor = Some(ListCursor::at(place));
        None
    }

    fn renew(&mut self, context: &Context) {
        self.picture = context.answer.and_then(FailurePicture::new);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::app::tests::{explorer, press};
    use shardscope_engine::hardware::Reliability;

    #[test]
    fn the_cursor_begins_at_the_best_interval_and_stays_among_them() {
        let mut app = explorer();
        press(&mut app, "R");
        let best = app.answer.as_ref().unwrap().subject().failures().unwrap().interval.get();
        let place = |app: &crate::app::App| View::place(&app.views.failures, &app.context()).unwrap();
        let away = |at: f64| (at / best).ln().abs();
        let nearest = INTERVALS.iter().map(|at| away(*at)).fold(f64::MAX, f64::min);
        assert!((away(INTERVALS[place(&app)]) - nearest).abs() < 1e-9);
        let first = place(&app);
        press(&mut app, "l");
        assert_eq!(place(&app), first + 1);
        press(&mut app, "gh");
        assert_eq!(place(&app), 0);
        press(&mut app, "Gl");
        assert_eq!(place(&app), INTERVALS.len() - 1);
        // What `i` explains is of the interval under the cursor.
        assert!(matches!(app.views.failures.figure(&app.context()), Ok(Asked::Shown(Figure::GoodputEvery(200_000)))));
    }

    #[test]
    fn a_cluster_that_says_nothing_has_no_chart() {
        let mut app = explorer();
        let answer = app.answer.as_mut().unwrap();
        Arc::make_mut(&mut answer.scenario.cluster).reliability = Reliability::default();
        press(&mut app, "R");
        assert_eq!(View::place(&app.views.failures, &app.context()), None);
        assert!(app.views.failures.figure(&app.context()).is_err());
    }
}
