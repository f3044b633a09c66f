//! Answers: evaluations that the explorer keeps, so that a scenario that was on the screen before is there again at once.
//!
//! Beside them stand the questions that lead to them: axes of the map, assumptions, pins, a run of the user's own, the
//! recipes of vendors, and the work of views.

pub mod assumed;
pub mod axes;
pub mod launchers;
pub mod own_run;
pub mod pins;
pub mod recipe;
pub mod work;

use std::collections::VecDeque;
use std::sync::Arc;

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{CheckedScenario, Field, Problem, Scenario};
use shardscope_engine::search::Fixes;
use shardscope_report::figures::FigureSubject;

/// An answered question.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The scenario that was evaluated.
    pub scenario: Scenario,
    pub evaluation: Arc<Evaluation>,
}

impl Answer {
    /// The subject that figures are read from.
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

/// The scenario that a file means, if it can be laid out; what it shares with the last one stays as it was there,
/// which may come from a snapshot.
pub(crate) fn resolve(
    library: &Library,
    file: &ScenarioFile,
    last: &Scenario,
) -> Result<CheckedScenario, Vec<Problem>> {
    library.resolve_over(file, Some(last))?.into_checked()
}

/// The base of the map's cells: the scenario without the fields of its axes, so that moving along them changes no cell.
pub(crate) fn base(library: &Library, file: &ScenarioFile, scenario: &Scenario, fields: [Field; 2]) -> Scenario {
    let mut file = file.clone();
    for field in fields.into_iter().filter(|field| field.is_in_sharding()) {
        file.plan.put(field, None);
    }
    let base = library.resolve_over(&file, Some(scenario)).unwrap_or_else(|_| scenario.clone());
    axes::common(fields, base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::explorer;
    use shardscope_engine::plan::Size;

    fn answer(nodes: u32) -> Answer {
        let mut answer = explorer().answer.unwrap();
        answer.scenario.plan.size = Size::Nodes(nodes);
        answer
    }

    #[test]
    fn an_answer_is_found_by_its_scenario() {
        let mut answers = Answers::default();
        let (one, two) = (answer(1), answer(2));
        answers.keep(one.clone());
        let fix = Fixes(vec![shardscope_engine::scenario::Edit::new(shardscope_engine::scenario::Field::Nodes, 4)]);
        answers.fix(&one.scenario, &fix);
        assert_eq!(answers.find(&one.scenario).map(|(_, fix)| fix), Some(Some(fix.clone())));
        assert!(answers.find(&two.scenario).is_none());
        answers.keep(two);
        answers.keep(one.clone());
        assert_eq!(answers.kept.len(), 2);
        assert_eq!(answers.find(&one.scenario).map(|(_, fix)| fix), Some(Some(fix)), "the fix stays with it");
    }

    #[test]
    fn the_oldest_answers_are_forgotten() {
        let mut answers = Answers::default();
        let first = answer(1);
        for nodes in 1..=MOST as u32 + 1 {
            let mut next = first.clone();
            next.scenario.plan.size = Size::Nodes(nodes);
            answers.keep(next);
        }
        assert_eq!(answers.kept.len(), MOST);
        assert!(answers.find(&first.scenario).is_none());
    }

    #[test]
    fn long_timelines_push_others_out_but_never_the_latest() {
        let mut answers = Answers::default();
        let mut long = answer(1);
        let mut evaluation = shardscope_engine::evaluate::Evaluation::clone(&long.evaluation);
        let span = evaluation.trace.spans[0];
        evaluation.trace.spans = vec![span; MOST_SPANS + 1];
        long.evaluation = Arc::new(evaluation);
        answers.keep(answer(2));
        answers.keep(long.clone());
        assert_eq!(answers.kept.len(), 1);
        assert!(answers.find(&long.scenario).is_some());
    }
}
