//! The global batch of a scenario: the accumulation that comes nearest to it, and how near that is.

use crate::plan::{GlobalBatch, Padding};
use crate::units::{counted, written_count};

use super::{Problem, Scenario, field, layout};

/// How far the batch of a map's cell or of a search's plan may be from the one asked for, as a share of it.
pub const NEAR: f64 = 0.05;

impl Scenario {
    /// The examples of a step, all devices together, where several fill no sequence: sequences, or pairs of them; else the
    /// sequences. 0 for a plan that cannot be laid out.
    pub fn sequences(&self) -> f64 {
        f64::from(self.plan.accumulate) * self.sequences_at_once(self.plan.micro_batch)
    }

    /// Tokens of the sequences of a step, all devices together.
    pub fn tokens_of_step(&self) -> f64 {
        self.sequences() * self.plan.tokens_each()
    }

    /// Examples of a step, all devices together; `None` where several fill a sequence, and nobody says how long they are.
    pub fn examples_of_step(&self) -> Option<f64> {
        match self.plan.padding() {
            Padding::Fixed | Padding::Longest => Some(self.sequences()),
            Padding::Packed => {
                let each = f64::from(self.plan.packing?) * f64::from(self.plan.post_training.method.sequences());
                Some(self.tokens_of_step() / each)
            }
        }
    }

    /// The sequences that were asked for; `None` where the batch is free.
    pub fn wanted_sequences(&self) -> Option<f64> {
        self.plan.global_batch.wanted(self.plan.tokens_each())
    }

    /// Gives the plan the accumulation whose sequences come nearest to its global batch, where that is held.
    pub fn settle_batch(&mut self) {
        if let Some(accumulate) = self.nearest(self.plan.micro_batch) {
            self.plan.accumulate = accumulate;
        }
    }

    /// Micro-batches of another size: near enough to the batch where that is held, else of as many sequences as before;
    /// `None` where none are near.
    pub(crate) fn accumulate_for(&self, micro_batch: u32) -> Option<u32> {
        let Some(wanted) = self.wanted_sequences() else {
            let sequences = self.plan.micro_batch.saturating_mul(self.plan.accumulate);
            return Some(sequences.div_ceil(micro_batch).max(1));
        };
        let accumulate = self.nearest(micro_batch)?;
        is_near(f64::from(accumulate) * self.sequences_at_once(micro_batch), wanted).then_some(accumulate)
    }

    /// A problem where the batch is held and none near enough divides.
    pub fn keeps_batch(&self) -> Result<(), Problem> {
        match self.wanted_sequences() {
            Some(wanted) if self.can_be_counted() && !is_near(self.sequences(), wanted) => Err(self.missed(wanted)),
            _ => Ok(()),
        }
    }

    /// A problem where the batch is held and does not divide to the sequence.
    pub fn divides_batch(&self) -> Result<(), Problem> {
        match self.wanted_sequences() {
            Some(wanted) if self.can_be_counted() && (self.sequences() - wanted).abs() > 0.5 => {
                Err(self.missed(wanted))
            }
            _ => Ok(()),
        }
    }

    fn can_be_counted(&self) -> bool {
        self.sequences() > 0.0
    }

    /// What a batch that does not divide would have to be: the multiples around it.
    fn missed(&self, wanted: f64) -> Problem {
        let each = self.sequences_at_once(self.plan.micro_batch) * f64::from(self.whole_micro_batches());
        let named = |sequences: f64| match self.plan.global_batch {
            GlobalBatch::Tokens(_) => {
                format!("\"{} tokens\"", written_count(sequences * self.plan.tokens_each()))
            }
            _ => format!("{sequences}"),
        };
        let below = (wanted / each).floor() * each;
        let nearest = if below > 0.0 { format!("{} or {}", named(below), named(below + each)) } else { named(each) };
        Problem {
            field: field::Field::GlobalBatch.path().to_owned(),
            what: format!(
                "{} sequences are no multiple of the {} that micro-batch {} takes at once on all ranks",
                counted(wanted),
                counted(each),
                self.plan.micro_batch,
            ),
            fix: format!("choose {nearest}, another micro-batch, or free"),
        }
    }

    /// The sequences of a micro-batch of this size on all data ranks together.
    fn sequences_at_once(&self, micro_batch: u32) -> f64 {
        let plan = &self.plan;
        let ranks = u64::from(plan.tensor) * u64::from(plan.context) * u64::from(plan.pipeline);
        let data = u64::from(layout::devices(self)).checked_div(ranks).unwrap_or(0);
        data as f64 * f64::from(micro_batch)
    }

    /// How many micro-batches the schedule takes together.
    fn whole_micro_batches(&self) -> u32 {
        if self.plan.effective_schedule().rules().grouped { self.plan.pipeline } else { 1 }
    }

    /// The accumulation whose sequences come nearest to the batch, fewer ones of two that are as near; `None` where the
    /// batch is free or nothing can be counted.
    fn nearest(&self, micro_batch: u32) -> Option<u32> {
        let wanted = self.wanted_sequences()?;
        let group = self.whole_micro_batches();
        let each = self.sequences_at_once(micro_batch) * f64::from(group);
        if each <= 0.0 {
            return None;
        }
        let below = (wanted / each).floor().max(1.0);
        let nearer = (below + 1.0) * each - wanted < wanted - below * each;
        let most = f64::from(field::MOST / group.max(1)).max(1.0);
        let groups = if nearer { below + 1.0 } else { below }.min(most);
        Some(groups as u32 * group)
    }
}

fn is_near(sequences: f64, wanted: f64) -> bool {
    (sequences / wanted - 1.0).abs() <= NEAR
}

#[cfg(test)]
mod tests;
