//! The whole training by a plan that a search for the shortest one found [layered B3].

use shardscope_engine::bounds::layered::CriticalBatch;
use shardscope_engine::search::training::{BestTraining, Goal, USUAL_STEPS};
use shardscope_engine::units::{Amount, Seconds, thousands};

use crate::figures::figure::{Figure, RunFigure};

use super::facts::{LAYERED, count, input};
use super::formula::{Citation, Explanation, Formula, FormulaInput};

/// Where the steps of a batch are from.
fn kaplan() -> String {
    format!("{LAYERED}, after Kaplan et al.")
}

/// A plan that was found, and for what.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingRun {
    /// The method's name.
    pub method: &'static str,
    /// The plan that was found, with its days.
    pub best: BestTraining,
    pub goal: Goal,
    /// Where the critical batch comes from.
    pub law: CriticalBatch,
}

/// Every number, in the order in which one leads to the other.
pub const ALL: [RunFigure; 3] = [RunFigure::Days, RunFigure::Steps, RunFigure::Batch];

/// Why a number is what it is.
pub fn explain(which: RunFigure, run: &TrainingRun) -> Explanation {
    let (name, amount) = run.shown(which);
    let (formula, about) = run.because(which);
    let source = match which {
        RunFigure::Days => Citation::convention("86,400 seconds a day"),
        RunFigure::Steps => Citation::paper(&kaplan()),
        RunFigure::Batch => Citation::convention("one optimizer step"),
    };
    Explanation { figure: Figure::Run(which), name, amount, formula, about: about.into(), source }
}

impl TrainingRun {
    fn shown(&self, which: RunFigure) -> (String, Amount) {
        let batch = self.best.choice.sequences();
        match which {
            RunFigure::Days => (format!("training time, {}", self.method), count(self.best.days, "days")),
            RunFigure::Steps => ("steps".to_owned(), count(self.goal.steps(batch), "steps")),
            RunFigure::Batch => ("sequences of a step".to_owned(), count(batch, "sequences")),
        }
    }

    fn figure(&self, which: RunFigure) -> Formula {
        let (name, amount) = self.shown(which);
        FormulaInput { name, amount, source: Citation::paper(&kaplan()), figure: Some(Figure::Run(which)) }.into()
    }

    fn because(&self, which: RunFigure) -> (Formula, &'static str) {
        let choice = &self.best.choice;
        let found = |name: &str, value: u32| input(name, count(value, ""), Citation::convention("found by the search"));
        match which {
            RunFigure::Days => (
                self.figure(RunFigure::Steps) * input("step time", self.best.summary.step_time, Citation::simulated())
                    / Seconds::DAY.get(),
                "The shortest that this method takes on at most so many devices. Enter on the chart takes its plan; the \
                 step is explained there.",
            ),
            RunFigure::Steps => {
                let steps = input(
                    "steps at the critical batch",
                    count(self.goal.steps, ""),
                    Citation::chosen(&format!("tokens, else {}", thousands(USUAL_STEPS))),
                );
                let critical =
                    input("critical batch", count(self.goal.critical, ""), Citation::paper(self.law.source()));
                (
                    steps * (Formula::from(1.0) + critical / self.figure(RunFigure::Batch)) / 2.0,
                    "A larger batch needs fewer steps, never less than half of those at the critical one; a smaller \
                     one needs more steps, and fewer sequences in all.",
                )
            }
            RunFigure::Batch => (
                found("data-parallel ranks", choice.data)
                    * found("micro-batches of a step", choice.accumulate)
                    * found("sequences of a micro-batch", choice.micro_batch),
                "Every data-parallel rank takes its micro-batches, one after the other.",
            ),
        }
    }
}
