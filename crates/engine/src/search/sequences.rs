//! How long a context fits, and how fast it trains: the best plan at each length, lengths doubling, then the longest.
//!
//! The length is an axis outside the search over whole plans ([`super::plans`]). At each length the ways to make room that no
//! plan search tries unasked (kinds of context parallelism, losses, offload; module `means`) are weighed against one another:
//! first which of them fit at all, by the plan that takes least memory, then what their best plans reach on a coarse grid, and
//! last the best of these on the whole grid of its mesh. What does not fit at one length is not tried at a longer one. Not for
//! plans at one length.

mod means;
mod run;

use crate::evaluate::Summary;
use crate::plan::GlobalBatch;
use crate::scenario::{Edit, Field, Scenario};

use super::Evaluator;
use super::candidate::Candidate;
use super::plans::{EvaluatedPlan, PlanCounts, PlanSearch};

use means::RoomMeans;
use run::LengthsRun;

/// Lengths begin with the job's own, halved until it is no longer than this.
const SHORT: u32 = 8192;

/// The shortest length that is tried where none fits.
const SHORTEST: u32 = 256;

/// The longest length is found to this part of the power of two below it.
const PARTS: u32 = 16;

/// A search for the longest sequence that fits, and for the best plan at each length.
///
/// ```no_run
/// use shardscope_engine::search::plans::{Objective, PlanSearch, SearchLimits, SearchSpace};
/// use shardscope_engine::search::sequences::SequenceSearch;
/// use shardscope_engine::search::{Evaluator, pool};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let space = SearchSpace::of_stack(false);
/// let plans = PlanSearch::new(scenario, space, Objective::Throughput, SearchLimits::SAFE, 1);
/// let answer = SequenceSearch { plans }.run(&Evaluator::on(&pool(None)?), &mut |_| ());
/// for length in &answer.lengths {
///     println!("{} tokens: {} a step", length.sequence, length.found.summary.step_time);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceSearch {
    /// The plans at each length: a job, what is free, and limits. Plans are ranked by their tokens per second.
    pub plans: PlanSearch,
}

/// The best plan at one length.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextLength {
    /// Tokens of a sequence.
    pub sequence: u32,
    /// The fastest plan that fits.
    pub found: EvaluatedPlan,
    /// What the plan cannot do without: fields for whose usual value no plan fits, whatever else it does.
    pub needs: Vec<Field>,
}

/// What is known of all lengths, or so far.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SequenceAnswer {
    /// The best plan at each length, the shortest first; the last is the longest that fits, once that is known.
    pub lengths: Vec<ContextLength>,
    /// The shortest length that was found not to fit.
    pub too_long: Option<u32>,
    /// The length that is tried now.
    pub tried: u32,
    /// Plans of all lengths.
    pub counts: PlanCounts,
    /// Whether the search has ended.
    pub exact: bool,
}

impl SequenceAnswer {
    /// The longest that fits, as far as is known.
    pub fn longest(&self) -> Option<&ContextLength> {
        self.lengths.last()
    }
}

impl ContextLength {
    /// The figures of its plan.
    pub const fn summary(&self) -> &Summary {
        &self.found.summary
    }
}

impl SequenceSearch {
    /// Tokens of a step at every length, where the job holds its batch; a length that has more takes one sequence a step.
    pub fn tokens_of_step(&self) -> Option<f64> {
        let base = &self.plans.base;
        Some(base.wanted_sequences()? * base.plan.tokens_each())
    }

    /// Searches, and says from time to time what is found so far. Stopped, the answer is what was found before.
    pub fn run(&self, evaluator: &Evaluator, progress: &mut dyn FnMut(&SequenceAnswer)) -> SequenceAnswer {
        let mut run = LengthsRun::new(self, evaluator, progress);
        if run.find_shortest() {
            run.double();
            run.refine();
        }
        run.into_answer()
    }

    /// The length that is tried first.
    fn first(&self) -> u32 {
        let own = self.plans.base.plan.sequence;
        let halves = std::iter::successors(Some(own), |length| length.is_multiple_of(2).then_some(length / 2));
        halves.into_iter().find(|length| *length <= SHORT).unwrap_or(own)
    }

    /// The job at a length with some means; `None` where it cannot take them.
    fn job(&self, sequence: u32, means: &RoomMeans) -> Option<Scenario> {
        let base = &self.plans.base;
        let batch = base.wanted_sequences().map(|wanted| {
            let sequences = (wanted * f64::from(base.plan.sequence) / f64::from(sequence)).round().max(1.0);
            Edit::new(Field::GlobalBatch, GlobalBatch::Sequences(sequences as u32))
        });
        let length = std::iter::once(Edit::new(Field::Sequence, sequence));
        let edits = length.chain(batch).chain(means.edits.iter().cloned());
        Candidate::nearest(base, edits).ok().map(|found| found.scenario)
    }
}

#[cfg(test)]
mod tests;
