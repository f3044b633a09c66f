//! What `i` explains: the figure that the cursor of a panel is on. That of a view is the view's own to name.

use super::explaining::Awaited;
use std::sync::Arc;

use crate::evaluate::{Evaluation, HostDirection, Lane, TaskKind};
use crate::figures::Figure;
use crate::scenario::{Problem, Scenario};

use super::action::Command;
use super::answers::Answer;
use super::explaining::{Asked, Explaining, LATER, NOTHING, breakdown, of_field};
use super::layer::Layer;
use super::panel::Panel;
use super::state::App;
use super::timeline::ShownStep;

impl App {
    /// Explains the figure that the cursor is on, or says why there is none.
    pub(super) fn explain(&mut self) -> Vec<Command> {
        let asked = match self.views.get(self.view) {
            Some(view) if self.focus == Panel::Map => view.figure(&self.context()),
            _ => Ok(Asked::Shown(self.figure())),
        };
        let found = match asked {
            Err(why) => Err(why),
            Ok(Asked::Shown(figure)) => self.explanation(figure),
            Ok(Asked::Evaluated(whose, figure, answer)) => Explaining::new(figure, &answer, Some(whose)).ok_or(NOTHING),
            Ok(Asked::Other(whose, figure, scenario)) => match self.known(&scenario) {
                Some(answer) => Explaining::new(figure, &answer, Some(whose)).ok_or(NOTHING),
                None => return vec![self.await_explanation(Awaited { whose, figure, scenario })],
            },
            Ok(Asked::Limit(which, limits)) => {
                Explaining::limit(which, limits).ok_or("the state alone does not fit: this figure means nothing here")
            }
            Ok(Asked::Training(run)) => Explaining::training(run).ok_or(NOTHING),
        };
        self.open_explanation(found);
        Vec::new()
    }

    fn open_explanation(&mut self, found: Result<Explaining, &'static str>) {
        match found {
            Ok(explaining) => self.layer = Some(Layer::Explain(Box::new(explaining))),
            Err(why) => self.tell(why.to_owned()),
        }
    }

    /// The explanation of a figure of what is shown.
    fn explanation(&self, figure: Figure) -> Result<Explaining, &'static str> {
        let found = self.answer.as_ref().and_then(|answer| Explaining::new(figure, answer, None));
        found.ok_or(NOTHING)
    }

    /// The answer about a scenario, if it is the one on the screen.
    fn known(&self, scenario: &Scenario) -> Option<Answer> {
        self.answer.as_ref().filter(|answer| answer.scenario == *scenario).cloned()
    }

    /// A scenario that is not shown is run once, behind the screen. Its explanation opens when its figures are there,
    /// unless another key has come between.
    fn await_explanation(&mut self, awaited: Awaited) -> Command {
        self.explanation += 1;
        let scenario = awaited.scenario.clone();
        self.awaited = Some(awaited);
        self.tell(LATER.to_owned());
        Command::Explain { generation: self.explanation, scenario }
    }

    /// What an explanation waits for is there.
    pub(super) fn take_explained(&mut self, result: Result<Box<Evaluation>, Vec<Problem>>) {
        let Some(Awaited { whose, figure, scenario }) = self.awaited.take() else { return };
        let explaining = |evaluation: Box<Evaluation>| {
            let answer = Answer { scenario: *scenario, evaluation: Arc::from(evaluation) };
            Explaining::new(figure, &answer, Some(whose))
        };
        self.notice = None;
        self.open_explanation(result.ok().and_then(explaining).ok_or(NOTHING));
    }

    /// The figure of the answer that the cursor is on.
    fn figure(&self) -> Figure {
        match self.focus {
            Panel::Inputs => self.inputs.field().map_or(Figure::StepTime, of_field),
            Panel::Map => self.map.metric,
            Panel::Memory => Figure::Peak,
            Panel::Timeline => self.of_span().unwrap_or(Figure::Exposed),
            Panel::Time => {
                let figures = breakdown(self.answer.as_ref());
                figures.get(self.time.row(figures.len())).copied().unwrap_or(Figure::StepTime)
            }
        }
    }

    /// What the span that is chosen on the timeline adds to.
    fn of_span(&self) -> Option<Figure> {
        let answer = self.answer.as_ref()?;
        let span = self.timeline.chosen(ShownStep::new(&answer.evaluation))?.first()?;
        Some(match span.activity.kind {
            TaskKind::Forward | TaskKind::Backward => Figure::Compute,
            TaskKind::Optimizer => Figure::Optimizer,
            TaskKind::Host => Figure::Other,
            TaskKind::Copy if span.lane == Lane::HostIn => Figure::Copied(HostDirection::In),
            TaskKind::Copy => Figure::Copied(HostDirection::Out),
            _ => span.level.map_or(Figure::Communication, |level| Figure::Traffic(level.into())),
        })
    }
}
