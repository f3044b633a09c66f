//! Answers: evaluations that the explorer keeps, so that a scenario that was on the screen before is there again at once.
//!
//! Beside them stand the questions that lead to them: axes of the map, assumptions, pins, a run of the user's own, and
//! the work of views.

pub mod assumed;
pub mod axes;
pub mod batch;
pub mod own_run;
pub mod pins;
pub mod resolve;
pub mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::Fixes;
use shardscope_report::figures::FigureSubject;

/// An answered question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked about.
    pub scenario: Scenario,
    /// What came out of it.
    pub evaluation: Arc<Evaluation>,
}

impl Answer {
    /// What its figures are read from.
    pub fn subject(&self) -> FigureSubject<'_> {
        FigureSubject::evaluated(&self.scenario, &self.evaluation)
    }
}

/// The most answers that are kept.
const MOST: usize = 32;

/// The most spans of timelines that are kept: some forty megabytes.
pub(crate) const MOST_SPANS: usize = 300_000;

/// Answers, the latest first.
#[derive(Debug, Clone, Default)]
pub struct Answers {
    kept: VecDeque<(Answer, Option<Fixes>)>,
}

impl Answers {
    /// The answer about a scenario, and what would let it fit.
    pub fn find(&self, scenario: &Scenario) -> Option<(Answer, Option<Fixes>)> {
        self.kept.iter().find(|(answer, _)| answer.scenario == *scenario).cloned()
    }

    /// Keeps an answer in place of an older one about the same scenario.
    pub fn keep(&mut self, answer: Answer) {
        // What would let it fit stays with it: that is a fact of the scenario, not of this run.
        let known = self.kept.iter().position(|(kept, _)| kept.scenario == answer.scenario);
        let fix = known.and_then(|index| self.kept.remove(index)).and_then(|(_, fix)| fix);
        self.kept.push_front((answer, fix));
        // The newest stays however long its trace is: it is on the screen.
        while self.kept.len() > MOST || self.kept.len() > 1 && self.spans() > MOST_SPANS {
            self.kept.pop_back();
        }
    }

    /// Adds what would let a scenario fit.
    pub fn fix(&mut self, scenario: &Scenario, fix: &Fixes) {
        if let Some((_, known)) = self.kept.iter_mut().find(|(answer, _)| answer.scenario == *scenario) {
            *known = Some(fix.clone());
        }
    }

    fn spans(&self) -> usize {
        self.kept.iter().map(|(answer, _)| answer.evaluation.trace.spans.len()).sum()
    }
}

#[cfg(test)]
mod tests;
