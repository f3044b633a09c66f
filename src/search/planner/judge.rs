//! Candidates by the simulator, and which of two is better.

use std::cmp::Ordering;

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::Recompute;
use crate::scenario::Scenario;
use crate::search::{Cancel, Tuned};

use super::candidate::{Candidate, Slot};
use super::space::Space;
use super::why::Why;
use super::{Found, Objective};

/// A candidate and what came out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub tuned: Tuned,
    pub candidate: Candidate,
    pub summary: Summary,
    /// Seconds of a step by the paper's model, where that led to it.
    pub paper_s: Option<f64>,
}

/// Simulates candidates and compares them.
pub(super) struct Judge {
    pub objective: Objective,
    pub searched: u64,
    /// Once asked to, it finds nothing possible any more, which ends every search.
    cancel: Cancel,
    workspace: Workspace,
}

impl Judge {
    pub fn new(objective: Objective, cancel: &Cancel) -> Self {
        Self { objective, searched: 0, cancel: cancel.clone(), workspace: Workspace::default() }
    }

    /// `None` where the candidate cannot be.
    pub fn judge(&mut self, space: &Space<'_>, tuned: Tuned, candidate: Candidate) -> Option<Judged> {
        let summary = self.summary(&candidate.scenario(space, tuned))?;
        Some(Judged { tuned, candidate, summary, paper_s: None })
    }

    fn summary(&mut self, scenario: &Scenario) -> Option<Summary> {
        if self.cancel.is_cancelled() {
            return None;
        }
        self.searched += 1;
        summary(scenario, &mut self.workspace).ok()
    }

    /// All operators alike, in every way; the batch is raised until no way fits, and that one is the last.
    pub fn uniform(&mut self, space: &Space<'_>) -> Vec<Judged> {
        let mut found: Vec<Judged> = Vec::new();
        let mut full: Option<Recompute> = None;
        for tuned in &space.batches {
            if full == Some(tuned.recompute) {
                continue;
            }
            let ways = (0..space.ways.len()).map(|way| Candidate::uniform(space, Slot { way, slices: 1 }));
            let judged: Vec<Judged> = ways.filter_map(|way| self.judge(space, *tuned, way)).collect();
            if !judged.iter().any(|one| one.summary.fits) {
                full = Some(tuned.recompute);
            }
            found.extend(judged);
        }
        found
    }

    /// Whether the smallest plans that there are fit: everything sharded and computed again, in one piece or in
    /// the most slices.
    pub fn can_fit(&mut self, space: &Space<'_>) -> bool {
        let way = space.ways.len() - 1;
        let Some(smallest) = space.batches.iter().find(|tuned| tuned.recompute == Recompute::Full) else {
            return false;
        };
        let slices = [1, space.slices.last().copied().unwrap_or(1)];
        slices.into_iter().any(|slices| {
            let judged = self.judge(space, *smallest, Candidate::uniform(space, Slot { way, slices }));
            judged.is_some_and(|one| one.summary.fits)
        })
    }

    /// The better one first: what fits, then the objective, then less memory; of what does not fit, what comes
    /// closest.
    pub fn order(&self, a: &Summary, b: &Summary) -> Ordering {
        let memory = |summary: &Summary| summary.memory.peak.get();
        let smaller = memory(a).total_cmp(&memory(b));
        if a.fits != b.fits || !a.fits {
            return b.fits.cmp(&a.fits).then(smaller);
        }
        let speed = b.tokens_per_s_per_device.total_cmp(&a.tokens_per_s_per_device);
        match self.objective {
            Objective::Throughput | Objective::Devices => speed.then(smaller),
            Objective::StepTime => a.step_time.get().total_cmp(&b.step_time.get()).then(smaller),
            Objective::Memory => smaller.then(speed),
        }
    }

    pub fn better(&self, a: &Summary, b: &Summary) -> bool {
        self.order(a, b) == Ordering::Less
    }

    /// The plan as others may use it.
    pub fn explained(&mut self, space: &Space<'_>, one: &Judged) -> Found {
        let scenario = one.candidate.scenario(space, one.tuned);
        let operators = one.candidate.cover(space);
        let widest = &space.ways[space.ways.len() - 1].extents;
        let why = (0..operators.len()).map(|index| {
            let mut sharded = scenario.clone();
            sharded.plan.operators.clone_from(&operators);
            sharded.plan.operators[index].extents.clone_from(widest);
            self.summary(&sharded).map_or_else(Why::default, |sharded| Why::of(&one.summary, &sharded))
        });
        Found { why: why.collect(), scenario, summary: one.summary, paper_s: one.paper_s, operators }
    }
}
