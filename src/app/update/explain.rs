//! The explanation of a figure by `i`: the one under the cursor of a panel. A view names its own.

use std::sync::Arc;

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_report::figures::Figure;

use crate::app::action::Command;
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER, NOTHING};
use crate::app::answers::Answer;
use crate::app::layer::Layer;
use crate::app::layer::explanation::{Awaited, Explaining};
use crate::app::state::App;

impl App {
    /// Explains the figure that the cursor is on, or says why there is none.
    pub(crate) fn explain(&mut self) -> Vec<Command> {
        let found = match self.keyed().figure(&self.context()) {
            Err(why) => Err(why),
            Ok(Asked::Shown(figure)) => self.explanation(figure),
            Ok(Asked::Evaluated(whose, figure, answer)) => Explaining::new(figure, &answer, Some(whose)).ok_or(NOTHING),
            Ok(Asked::Other(whose, figure, scenario)) => match self.known(&scenario) {
                Some(answer) => Explaining::new(figure, &answer, Some(whose)).ok_or(NOTHING),
                None => return vec![self.await_explanation(Awaited { whose, figure, scenario })],
            },
            Ok(Asked::Limit(which, limits)) => Explaining::limit(which, limits)
                .ok_or_else(|| "the state alone does not fit: this figure means nothing here".into()),
            Ok(Asked::Training(run)) => Explaining::training(run).ok_or(NOTHING),
        };
        self.open_explanation(found);
        Vec::new()
    }

    fn open_explanation(&mut self, found: Result<Explaining, Notice>) {
        match found {
            Ok(explaining) => self.layer = Some(Layer::Explain(Box::new(explaining))),
            Err(why) => self.tell(why),
        }
    }

    /// The explanation of a figure of what is shown.
    fn explanation(&self, figure: Figure) -> Result<Explaining, Notice> {
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
        self.tell(LATER);
        Command::Explain { generation: self.explanation, scenario }
    }

    /// Takes the evaluation that an explanation waits for.
    pub(crate) fn take_explained(&mut self, result: Result<Box<Evaluation>, Vec<Problem>>) {
        let Some(Awaited { whose, figure, scenario }) = self.awaited.take() else { return };
        let explaining = |evaluation: Box<Evaluation>| {
            let answer = Answer { scenario: *scenario, evaluation: Arc::from(evaluation) };
            Explaining::new(figure, &answer, Some(whose))
        };
        self.notice = None;
        self.open_explanation(result.ok().and_then(explaining).ok_or(NOTHING));
    }
}
