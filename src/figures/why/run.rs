//! The whole training by a plan that a search for the shortest one found [layered B3].

use crate::bounds::layered::CriticalBatch;
use crate::search::training::{Best, Goal};
use crate::units::Seconds;

use super::facts::{count, input};
use super::{Amount, Explanation, Figure, Formula, Input, LAYERED, Source};

/// Where the steps of a batch are from.
fn kaplan() -> String {
    format!("{LAYERED}, after Kaplan et al.")
}

/// Which of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// Days of the whole training.
    Days,
    /// Steps of it.
    Steps,
    /// Sequences of a step.
    Batch,
}

/// A plan that was found, and for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The method's name.
    pub method: &'static str,
    /// Its plan.
    pub best: Best,
    /// What is to be trained.
    pub goal: Goal,
    /// Where the critical batch comes from.
    pub law: CriticalBatch,
}

/// Every number, in the order in which one leads to the other.
pub const ALL: [Which; 3] = [Which::Days, Which::Steps, Which::Batch];

/// Why a number is what it is.
pub fn explain(which: Which, run: &Run) -> Explanation {
    let (name, amount) = run.shown(which);
    let (formula, about) = run.because(which);
    let source = match which {
        Which::Days => Source::convention("86,400 seconds a day"),
        Which::Steps => Source::paper(&kaplan()),
        Which::Batch => Source::convention("one optimizer step"),
    };
    Explanation { figure: Figure::Run(which), name, amount, formula, about: about.into(), source }
}

impl Run {
    fn shown(&self, which: Which) -> (String, Amount) {
        let batch = self.best.choice.sequences();
        match which {
            Which::Days => (format!("training time, {}", self.method), count(self.best.days, "days")),
            Which::Steps => ("steps".to_owned(), count(self.goal.steps(batch), "steps")),
            Which::Batch => ("sequences of a step".to_owned(), count(batch, "sequences")),
        }
    }

    fn figure(&self, which: Which) -> Formula {
        let (name, amount) = self.shown(which);
        Input { name, amount, source: Source::paper(&kaplan()), figure: Some(Figure::Run(which)) }.into()
    }

    fn because(&self, which: Which) -> (Formula, &'static str) {
        let choice = &self.best.choice;
        let found = |name: &str, value: u32| input(name, count(value, ""), Source::convention("found by the search"));
        match which {
            Which::Days => (
                self.figure(Which::Steps) * input("step time", self.best.summary.step_time, Source::simulated())
                    / Seconds::DAY.get(),
                "The shortest that this method takes on at most so many devices. Enter on the chart takes its plan; the \
                 step is explained there.",
            ),
            Which::Steps => {
                let steps = input(
                    "steps at the critical batch",
                    count(self.goal.steps, ""),
                    Source::chosen("tokens, else 100,000"),
                );
                let critical = input("critical batch", count(self.goal.critical, ""), Source::paper(self.law.source()));
                (
                    steps * (Formula::from(1.0) + critical / self.figure(Which::Batch)) / 2.0,
                    "A larger batch needs fewer steps, never less than half of those at the critical one; a smaller \
                     one needs more steps, and fewer sequences in all.",
                )
            }
            Which::Batch => (
                found("data-parallel ranks", choice.data)
                    * found("micro-batches of a step", choice.accumulate)
                    * found("sequences of a micro-batch", choice.micro_batch),
                "Every data-parallel rank takes its micro-batches, one after the other.",
            ),
        }
    }
}
