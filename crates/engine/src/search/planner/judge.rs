//! Candidates by the simulator, and which of two is better.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering as MemoryOrder};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use crate::evaluate::{Memory, StepLimits, Summary, Workspace, summary, summary_within};
use crate::plan::Recompute;
use crate::search::evaluator::Cancel;
use crate::search::plans::{BorrowedWorkspace, PlanSearch, PlanSearchAnswer, SearchLimits};

use super::candidate::{OperatorChoice, OperatorPlan};
use super::found::FoundPlan;
use super::placement_gain::PlacementGain;
use super::request::PlannerObjective;
use super::space::Space;

/// A candidate and what came out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JudgedPlan {
    /// Its batch and recompute, by index in the space.
    pub batch: usize,
    pub candidate: OperatorPlan,
    pub summary: Summary,
    /// Seconds of a step by the paper's model, where that led to it.
    pub paper_s: Option<f64>,
}

/// Results of candidates by devices, batch and assignment: the same within every memory limit of a job, except for
/// whether it fits.
#[derive(Default)]
pub(super) struct PlanMemo(Mutex<PlanResults>);

type PlanResults = BTreeMap<(u32, usize, OperatorPlan), PlanResult>;

/// What came of a candidate.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::large_enum_variant, reason = "most are whole, and are copied out")]
enum PlanResult {
    /// It is no valid plan.
    Impossible,
    /// It goes beyond these limits.
    Beyond(StepLimits),
    Whole(Summary),
}

impl PlanMemo {
    fn lock(&self) -> MutexGuard<'_, PlanResults> {
        // An entry is whole whoever panicked beside it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Simulates candidates, each once, and compares them.
pub(super) struct Judge<'a> {
    pub objective: PlannerObjective,
    searched: AtomicU64,
    known: &'a PlanMemo,
    /// Once asked to stop, it finds nothing possible any more, which ends every search.
    cancel: &'a Cancel,
    /// Workspaces that no simulation uses just now.
    spare: Mutex<Vec<Workspace>>,
    /// What else than its memory a plan must keep to.
    limits: SearchLimits,
}

impl<'a> Judge<'a> {
    pub fn new(objective: PlannerObjective, known: &'a PlanMemo, cancel: &'a Cancel) -> Self {
        let limits = SearchLimits::default();
        Self { objective, searched: AtomicU64::new(0), known, cancel, spare: Mutex::default(), limits }
    }

    /// Plans that were compared so far.
    pub fn searched(&self) -> u64 {
        self.searched.load(MemoryOrder::Relaxed)
    }

    /// The same within the limits of a search: what does not keep to them does not fit.
    pub fn within(self, limits: SearchLimits) -> Self {
        Self { limits, ..self }
    }

    /// `None` where the candidate cannot be.
    pub fn judge(&self, space: &Space<'_>, batch: usize, candidate: OperatorPlan) -> Option<JudgedPlan> {
        self.judge_within(space, batch, candidate, &StepLimits::NONE)
    }

    /// A candidate that is better than a plan of the same batch. Others are simulated as far as it takes to see that.
    pub fn better_candidate(
        &self,
        space: &Space<'_>,
        batch: usize,
        candidate: OperatorPlan,
        than: &Summary,
    ) -> Option<JudgedPlan> {
        // Of plans that do not fit the one that comes closest is better: that needs the whole of its memory.
        let limits = if than.fits {
            let memory = space.scenario.capacity() * self.limits.margin.filled(space.scenario);
            match self.objective {
                PlannerObjective::Memory => StepLimits { memory: memory.min(than.memory.peak), ..StepLimits::NONE },
                _ => StepLimits { time: than.step_time, memory },
            }
        } else {
            StepLimits::NONE
        };
        let one = self.judge_within(space, batch, candidate, &limits)?;
        self.better(&one.summary, than).then_some(one)
    }

    /// `None` where the candidate cannot be, or goes beyond limits.
    fn judge_within(
        &self,
        space: &Space<'_>,
        batch: usize,
        candidate: OperatorPlan,
        limits: &StepLimits,
    ) -> Option<JudgedPlan> {
        if self.cancel.is_cancelled() {
            return None;
        }
        self.searched.fetch_add(1, MemoryOrder::Relaxed);
        let key = (space.scenario.devices(), batch, candidate);
        // Not locked while it simulates: two threads may simulate the same once each, and find the same.
        let known = self.known.lock().get(&key).copied();
        let answers = |known: &PlanResult| !matches!(known, PlanResult::Beyond(others) if !others.allow(limits));
        // Pages that move depend on the room that there is.
        let known = known.filter(|_| !space.scenario.plan.paged_optimizer);
        let found = known.filter(answers).unwrap_or_else(|| {
            let scenario = key.2.scenario(space, space.batches[batch]);
            let found =
                match summary_within(&scenario, None, limits, &mut BorrowedWorkspace::new(&self.spare).workspace) {
                    Ok(Some(summary)) => PlanResult::Whole(summary),
                    Ok(None) => PlanResult::Beyond(*limits),
                    Err(_) => PlanResult::Impossible,
                };
            self.known.lock().insert(key.clone(), found);
            found
        });
        let PlanResult::Whole(found) = found else { return None };
        // What is remembered may come from another limit: the capacity is this search's own.
        let capacity = space.scenario.capacity();
        let memory = Memory { capacity, ..found.memory };
        let summary = Summary { fits: memory.needed() <= capacity, memory, ..found };
        let summary = Summary { fits: self.limits.keeps(space.scenario, &summary), ..summary };
        Some(JudgedPlan { batch, candidate: key.2, summary, paper_s: None })
    }

    /// What the search over whole plans answers.
    pub fn whole(&self, search: &PlanSearch) -> PlanSearchAnswer {
        let answer = search.run_alone(&mut BorrowedWorkspace::new(&self.spare).workspace, self.cancel);
        self.searched.fetch_add(answer.counts.simulated, MemoryOrder::Relaxed);
        answer
    }

    /// All operators alike, in every way; the batch is raised until no way fits, and that one is the last.
    pub fn uniform(&self, space: &Space<'_>) -> Vec<JudgedPlan> {
        let mut found: Vec<JudgedPlan> = Vec::new();
        let mut full: Option<Recompute> = None;
        for (batch, tuned) in space.batches.iter().enumerate() {
            if full == Some(tuned.recompute) {
                continue;
            }
            let plan = |way| OperatorPlan::uniform(space, OperatorChoice { way, slices: 1 });
            let judged: Vec<JudgedPlan> = side_by_side(space.ways.len(), |way| self.judge(space, batch, plan(way)))
                .into_iter()
                .flatten()
                .collect();
            if !judged.iter().any(|one| one.summary.fits) {
                full = Some(tuned.recompute);
            }
            found.extend(judged);
        }
        found
    }

    /// Whether the smallest plans that there are fit: everything sharded and computed again, in one piece or in
    /// the most slices.
    pub(crate) fn can_fit(&self, space: &Space<'_>) -> bool {
        let way = space.ways.len() - 1;
        let Some(smallest) = space.batches.iter().position(|tuned| tuned.recompute == Recompute::Full) else {
            return false;
        };
        let slices = [1, space.slices.last().copied().unwrap_or(1)];
        slices.into_iter().any(|slices| {
            let judged = self.judge(space, smallest, OperatorPlan::uniform(space, OperatorChoice { way, slices }));
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
            PlannerObjective::Throughput | PlannerObjective::Devices => speed.then(smaller),
            PlannerObjective::StepTime => a.step_time.get().total_cmp(&b.step_time.get()).then(smaller),
            PlannerObjective::Memory => smaller.then(speed),
        }
    }

    pub fn better(&self, a: &Summary, b: &Summary) -> bool {
        self.order(a, b) == Ordering::Less
    }

    /// The plan as others may use it.
    pub fn explained(&self, space: &Space<'_>, one: &JudgedPlan) -> FoundPlan {
        let scenario = one.candidate.scenario(space, space.batches[one.batch]);
        let operators = one.candidate.cover(space);
        let widest = &space.ways[space.ways.len() - 1].extents;
        let why = (0..operators.len()).map(|index| {
            let mut sharded = scenario.clone();
            sharded.plan.operators.clone_from(&operators);
            sharded.plan.operators[index].extents.clone_from(widest);
            let asked = !self.cancel.is_cancelled();
            let simulate = || summary(&sharded, &mut BorrowedWorkspace::new(&self.spare).workspace).ok();
            let sharded = asked.then(simulate).flatten();
            sharded.map_or_else(PlacementGain::default, |sharded| PlacementGain::between(&one.summary, &sharded))
        });
        FoundPlan { why: why.collect(), scenario, summary: one.summary, paper_s: one.paper_s, operators }
    }
}

/// Results of so many pieces of work in their order: on the threads of the search that asks, or one after the other where
/// it has none.
pub(super) fn side_by_side<R: Send>(pieces: usize, work: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    if rayon::current_thread_index().is_some() {
        (0..pieces).into_par_iter().with_max_len(1).map(work).collect()
    } else {
        (0..pieces).map(work).collect()
    }
}
