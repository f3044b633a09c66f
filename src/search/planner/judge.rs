//! Candidates by the simulator, and which of two is better.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::evaluate::{Memory, Summary, Workspace, summary};
use crate::plan::Recompute;
use crate::search::Cancel;

use super::candidate::{Candidate, Slot};
use super::space::Space;
use super::why::Why;
use super::{Found, Objective};

/// A candidate and what came out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    /// Its batch and recompute, by index in the space.
    pub batch: usize,
    pub candidate: Candidate,
    pub summary: Summary,
    /// Seconds of a step by the paper's model, where that led to it.
    pub paper_s: Option<f64>,
}

/// What candidates came to, by devices, batch and assignment: the same within every memory limit of a job, but for
/// whether it fits. `None` for one that cannot be.
#[derive(Default)]
pub(super) struct Known(Mutex<BTreeMap<(u32, usize, Candidate), Option<Summary>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(u32, usize, Candidate), Option<Summary>>> {
        // An entry is whole whoever panicked beside it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Simulates candidates, each once, and compares them.
pub(super) struct Judge<'a> {
    pub objective: Objective,
    pub searched: u64,
    known: &'a Known,
    /// Once asked to, it finds nothing possible any more, which ends every search.
    cancel: &'a Cancel,
    workspace: Workspace,
}

impl<'a> Judge<'a> {
    pub fn new(objective: Objective, known: &'a Known, cancel: &'a Cancel) -> Self {
        Self { objective, searched: 0, known, cancel, workspace: Workspace::default() }
    }

    /// `None` where the candidate cannot be.
    pub fn judge(&mut self, space: &Space<'_>, batch: usize, candidate: Candidate) -> Option<Judged> {
        if self.cancel.is_cancelled() {
            return None;
        }
        self.searched += 1;
        let key = (space.scenario.devices(), batch, candidate);
        let known = self.known.lock().get(&key).copied();
        let found = known.unwrap_or_else(|| {
            let found = summary(&key.2.scenario(space, space.batches[batch]), &mut self.workspace).ok();
            self.known.lock().insert(key.clone(), found);
            found
        })?;
        let capacity = space.scenario.cluster.device.memory * space.scenario.plan.memory_factor;
        let memory = Memory { capacity, ..found.memory };
        let summary = Summary { fits: memory.peak <= capacity, memory, ..found };
        Some(Judged { batch, candidate: key.2, summary, paper_s: None })
    }

    /// All operators alike, in every way; the batch is raised until no way fits, and that one is the last.
    pub fn uniform(&mut self, space: &Space<'_>) -> Vec<Judged> {
        let mut found: Vec<Judged> = Vec::new();
        let mut full: Option<Recompute> = None;
        for (batch, tuned) in space.batches.iter().enumerate() {
            if full == Some(tuned.recompute) {
                continue;
            }
            let ways = (0..space.ways.len()).map(|way| Candidate::uniform(space, Slot { way, slices: 1 }));
            let judged: Vec<Judged> = ways.filter_map(|way| self.judge(space, batch, way)).collect();
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
        let Some(smallest) = space.batches.iter().position(|tuned| tuned.recompute == Recompute::Full) else {
            return false;
        };
        let slices = [1, space.slices.last().copied().unwrap_or(1)];
        slices.into_iter().any(|slices| {
            let judged = self.judge(space, smallest, Candidate::uniform(space, Slot { way, slices }));
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
        let scenario = one.candidate.scenario(space, space.batches[one.batch]);
        let operators = one.candidate.cover(space);
        let widest = &space.ways[space.ways.len() - 1].extents;
        let why = (0..operators.len()).map(|index| {
            let mut sharded = scenario.clone();
            sharded.plan.operators.clone_from(&operators);
            sharded.plan.operators[index].extents.clone_from(widest);
            let asked = !self.cancel.is_cancelled();
            let sharded = asked.then(|| summary(&sharded, &mut self.workspace).ok()).flatten();
            sharded.map_or_else(Why::default, |sharded| Why::of(&one.summary, &sharded))
        });
        Found { why: why.collect(), scenario, summary: one.summary, paper_s: one.paper_s, operators }
    }
}
