//! The fields of a job that a search may change, and their values.

use std::collections::BTreeMap;

use crate::plan::{Accumulation, Offload, OneOf, Precision, Recompute, Reduction, Schedule};
use crate::scenario::field::{SearchRole, Steps, Typed};
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Edit, Field, Scenario, Value};
use crate::search::options::plan_options;
use crate::search::{Axis, Candidate};
use crate::stack::Runs;

use super::launchers::Launchers;

/// In which order a pipeline passes its stages and micro-batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeshOrder {
    pub schedule: Schedule,
    pub stages_per_rank: u32,
    pub accumulation: Accumulation,
}

/// Changes that a search may make beyond where the work is done: number formats, and use of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowed {
    /// Weights in int8 and gradients in int4 on the wire.
    pub quantised: bool,
    /// State and checkpoints on the host.
    pub offload: bool,
    /// fp8 arithmetic.
    pub fp8: bool,
}

/// The fields that are free unless they are held.
fn free_fields() -> impl Iterator<Item = Field> {
    Field::all().filter(|field| field.is_searched())
}

/// The extents of the state, all of which a strategy or `--shard` says at once.
fn extents() -> impl Iterator<Item = Field> {
    free_fields().filter(|field| field.is_in_sharding() && *field != Field::Reshard)
}

/// All that a field says at once.
fn said_by(field: Field) -> impl Iterator<Item = Field> {
    let places = matches!(field, Field::Strategy | Field::Shard);
    let keeps = (field == Field::Strategy).then_some(Field::Reshard);
    extents().filter(move |_| places).chain(keeps)
}

/// Units that may be gathered ahead, at most.
const MOST_AHEAD: u32 = 16;

/// The fields in which a plan that a search has found may differ from the scenario that it began with, beside
/// [`launched_fields`].
pub fn searched_fields() -> impl Iterator<Item = Field> {
    Field::all().filter(|field| matches!(field.spec().search, SearchRole::OnRequest | SearchRole::Free))
}

/// The fields that a search changes where no launcher takes their defaults, and nobody has said them.
pub fn launched_fields() -> impl Iterator<Item = Field> {
    Field::all().filter(|field| field.spec().search == SearchRole::Launched)
}

/// Recompute in steps of this share of the layers.
const SHARES: u32 = 20;

/// The same on a coarse grid, and its micro-batches.
const COARSE_SHARES: u32 = 4;
const COARSE_MICRO_BATCHES: [u32; 4] = [1, 2, 4, 8];

/// Sequences of a micro-batch at most.
pub(in crate::search) const MOST_SEQUENCES: u32 = 128;

/// Ranks of a tensor or context group at most.
const MOST_RANKS: u32 = 64;

/// The micro-batches that every search tries: those that the explorer steps through, so that none of its steps leads past
/// a best plan.
pub(in crate::search) fn micro_batches() -> Vec<u32> {
    Field::MicroBatch.spec().steps.counts(MOST_SEQUENCES)
}

/// How fine a grid is in what is neither held nor given its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::search) enum Grain {
    /// All of it.
    #[default]
    Fine,
    /// Recompute in quarters of the layers, small micro-batches, the usual order of accumulation.
    Coarse,
    /// The one recompute and the one micro-batch that take least memory.
    Smallest,
}

/// The values that a search may give to fields.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchSpace {
    /// Fields that stay as they are.
    fixed: Vec<Field>,
    /// Fields with the values that they may take.
    values: BTreeMap<Field, Vec<Value>>,
    /// Whether plans may have what their stack lacks. What is held or listed by its values may in any case.
    any_plan: bool,
    /// The launchers of which one has to take what is searched.
    launchers: Launchers,
    /// How fine the grid is.
    grain: Grain,
}

impl SearchSpace {
    /// The space with what some launcher may take alone. What is held or listed by its values stays.
    #[must_use]
    pub(super) fn launched(&self, launchers: Launchers) -> Self {
        Self { launchers, ..self.clone() }
    }

    /// The space with another grain of its grid.
    #[must_use]
    pub(in crate::search) fn with_grain(&self, grain: Grain) -> Self {
        Self { grain, ..self.clone() }
    }

    /// Whether a launcher may take a job's plans with a value of a field.
    fn may_take(&self, job: &Scenario, field: Field, value: impl Into<Value>) -> bool {
        self.launchers.may_take(job, field, value.into())
    }

    /// Whether a launcher takes a plan of the space.
    pub(super) fn takes(&self, scenario: &Scenario) -> bool {
        self.launchers.take(scenario)
    }

    /// All plans that the stack can run, or any.
    pub fn of_stack(any_plan: bool) -> Self {
        Self { any_plan, ..Self::default() }
    }

    /// The space with what the stack lacks.
    #[must_use]
    pub fn lifted(&self) -> Self {
        Self { any_plan: true, ..self.clone() }
    }

    /// Holds a field, and all that it says at once.
    pub fn fix(&mut self, field: Field) {
        self.fixed.push(field);
        self.fixed.extend(said_by(field));
    }

    /// Holds what a file says of the fields that change for launchers alone.
    pub fn fix_said(&mut self, file: &ScenarioFile) {
        self.fixed.extend(launched_fields().filter(|field| file.value(*field).is_some()));
    }

    /// Holds all fields but these.
    pub fn only(fields: &[Field]) -> Self {
        let fixed = free_fields().filter(|field| !fields.contains(field)).collect();
        Self { fixed, ..Self::default() }
    }

    /// What a job's stack can run, where plans keep to it.
    pub(in crate::search) fn runs<'a>(&self, job: &'a Scenario) -> Option<&'a Runs> {
        job.stack.runs.as_ref().filter(|_| !self.any_plan)
    }

    /// Whether no extent of weights, gradients and optimizer is chosen by the search.
    pub(super) fn holds_shards(&self) -> bool {
        let shards = extents().filter(|field| field.spec().steps == Steps::Extents);
        shards.into_iter().all(|field| self.fixed.contains(&field) || self.values.contains_key(&field))
    }

    /// Whether the state of every operator lies where the base has it.
    pub(super) fn fixes_state(&self) -> bool {
        extents().all(|field| self.is_fixed(field))
    }

    /// Whether the state of each operator may lie elsewhere than that of others.
    pub(in crate::search) fn places_operators(&self) -> bool {
        let stays = |field: Field| self.fixed.contains(&field) || self.values.contains_key(&field);
        // A second copy of the weights, over a level, moves no state.
        !extents().filter(|field| field.spec().steps == Steps::Extents).any(stays)
    }

    /// Whether plans may have a micro-batch with a recompute.
    pub(in crate::search) fn contains(&self, base: &Scenario, micro_batch: u32, recompute: Recompute) -> bool {
        self.micro_batches(base).contains(&micro_batch) && self.recomputes(base).contains(&recompute)
    }

    /// The space of a plan for operators: all that it does not choose is as in a job; `None` where no plan of this space
    /// is like the job in that.
    pub(in crate::search) fn restricted_to_mesh_of(&self, job: &Scenario) -> Option<Self> {
        let stays = |field: &Field| {
            !matches!(field, Field::MicroBatch | Field::Recompute) && extents().all(|extent| extent != *field)
        };
        let own = |(field, values): (&Field, &Vec<Value>)| {
            !stays(field) || field.value(job).is_some_and(|own| values.contains(&own))
        };
        if !self.values.iter().all(own) {
            return None;
        }
        let mut kept = self.clone();
        kept.values.retain(|field, _| !stays(field));
        kept.fixed.extend(free_fields().filter(stays));
        Some(kept)
    }

    /// How many combinations the values have that were given to fields.
    pub fn combinations(&self) -> usize {
        self.values.values().fold(1, |all, values| all.saturating_mul(values.len()))
    }

    /// Lets a field take some values, whatever else holds it; presets must have been looked up.
    pub fn vary(&mut self, axis: Axis) {
        self.fixed.extend(said_by(axis.field));
        self.values.insert(axis.field, axis.values);
    }

    /// A job, and those that differ from it in fields that only launchers change and that nobody has said: those with the
    /// fewest changes first.
    pub(super) fn open_jobs(&self, base: &Scenario) -> Vec<Scenario> {
        let mut jobs = vec![(0, base.clone())];
        for field in launched_fields().filter(|field| self.is_open(*field, base)) {
            let own = field.value(base);
            for value in plan_options(field, base).into_iter().filter(|value| own.as_ref() != Some(value)) {
                let edit = Edit { field, value };
                let changed = |(changes, job): &(usize, Scenario)| {
                    let mut job = job.clone();
                    edit.apply(&mut job).ok().map(|()| (changes + 1, job))
                };
                let same = jobs.iter().filter(|(_, job)| field.value(job) == own);
                let more: Vec<_> = same.filter_map(changed).collect();
                jobs.extend(more);
            }
        }
        jobs.sort_by_key(|(changes, _)| *changes);
        jobs.into_iter().map(|(_, job)| job).collect()
    }

    /// Whether nobody has said a field: its default says nothing.
    fn is_open(&self, field: Field, base: &Scenario) -> bool {
        let said = self.fixed.contains(&field) || self.values.contains_key(&field);
        !said && field.value(base).as_ref() == field.usual()
    }

    /// Lets fields take what is allowed, where they are not held.
    pub fn allow(&mut self, allowed: Allowed, base: &Scenario) {
        let switch = || [false, true].map(Value::from).to_vec();
        let mut lists: Vec<(Field, Vec<Value>)> = Vec::new();
        if allowed.quantised {
            lists.extend([(Field::Qwz, switch()), (Field::Qgz, switch())]);
        }
        if allowed.offload {
            let drives = base.cluster.drives().is_some();
            let possible = Offload::ALL.iter().filter(|offload| drives || !offload.on_drives());
            lists.push((Field::Offload, possible.map(|offload| Value::from(*offload)).collect()));
        }
        if allowed.fp8 && !base.plan.precision.is_low() && Precision::Fp8.runs_on(&base.cluster.device.peak) {
            lists.push((Field::Precision, vec![Value::from(base.plan.precision), Value::from(Precision::Fp8)]));
        }
        if let Some(runs) = self.runs(base) {
            let has = |value: &Value| {
                let coarse = value.get() == Some(true) && !Field::Qwz.is_offered(runs);
                let offload = value.get().is_some_and(|offload| !runs.offloads(offload));
                let precision = value.get().is_some_and(|precision| !runs.trains_in(precision));
                !(coarse || offload || precision)
            };
            for (_, values) in &mut lists {
                values.retain(has);
            }
        }
        for (field, values) in lists {
            if !self.fixed.contains(&field) {
                self.values.entry(field).or_insert(values);
            }
        }
    }

    /// The space of plans that put more on the host than a base does; `None` where there is none, or where these are in this
    /// space already.
    pub(in crate::search) fn offloading(&self, base: &Scenario) -> Option<Self> {
        let mut space = self.clone();
        space.allow(Allowed { offload: true, ..Allowed::default() }, base);
        if space == *self {
            return None;
        }
        let offloads = space.values.get_mut(&Field::Offload)?;
        offloads.retain(|value| value.get() != Some(base.plan.offload));
        (!offloads.is_empty()).then_some(space)
    }

    /// Whether plans may differ in a field; in a strategy, where their state may lie anywhere.
    pub fn is_free(&self, field: Field) -> bool {
        match field {
            _ if self.values.contains_key(&field) => true,
            Field::Strategy | Field::Shard => !self.fixes_state(),
            _ => field.is_searched() && !self.is_fixed(field),
        }
    }

    /// Whether a field of the mesh, the schedule or the state stays as the base has it.
    pub(in crate::search) fn is_fixed(&self, field: Field) -> bool {
        self.fixed.contains(&field) && !self.values.contains_key(&field)
    }

    /// Gives another job what a job has in the fields that a search decides anyway.
    pub(super) fn copy_free_fields(&self, job: &Scenario, other: &mut Scenario) {
        let scalars = free_fields().filter(|field| !field.is_in_sharding() && !self.is_fixed(*field));
        for field in scalars.chain(self.values.keys().copied()) {
            // A value of one job is a value of another of the same model on the same cluster.
            field.value(job).and_then(|value| field.put(&value, other).ok());
        }
        if !extents().chain([Field::Reshard]).any(|field| self.is_fixed(field)) {
            other.plan.sharding.clone_from(&job.plan.sharding);
            other.strategy.clone_from(&job.strategy);
        }
        if job.wanted_sequences().is_some() {
            other.plan.accumulate = job.plan.accumulate;
        }
        other.plan.operators.clone_from(&job.plan.operators);
        other.name.clone_from(&job.name);
    }

    /// The jobs that differ in anything but free fields: one for each combination of the values that their fields may
    /// take, in order. Impossible ones are left out, and counted.
    pub(super) fn variants(&self, base: &Scenario) -> (Vec<Scenario>, u64) {
        // A product, one field after the other: two values of offload and two of precision make four jobs, each of
        // which is searched as if it had been asked for.
        let (mut found, mut impossible) = (vec![base.clone()], 0);
        for (field, values) in self.values.iter().filter(|(field, _)| !field.is_searched()) {
            let mut next = Vec::with_capacity(found.len() * values.len());
            for scenario in &found {
                for value in values {
                    let edit = Edit { field: *field, value: value.clone() };
                    match Candidate::nearest(scenario, [edit]) {
                        Ok(candidate) => next.push(candidate.scenario),
                        Err(_) => impossible += 1,
                    }
                }
            }
            found = next;
        }
        (found, impossible)
    }

    /// The jobs that differ in anything but free fields.
    pub fn jobs(&self, base: &Scenario) -> Vec<Scenario> {
        self.variants(base).0
    }

    /// The counts of ranks that a field may take: one alone where the stack has no more.
    fn ranks(&self, field: Field, base: &Scenario, grid: impl FnOnce() -> Vec<u32>) -> Vec<u32> {
        if !self.is_offered(field, base) && !self.fixed.contains(&field) && !self.values.contains_key(&field) {
            return vec![1];
        }
        self.counts(field, base, grid)
    }

    /// The counts that a field may take: those given, its own where it is held, or else those of its grid.
    fn counts(&self, field: Field, base: &Scenario, grid: impl FnOnce() -> Vec<u32>) -> Vec<u32> {
        let own = || field.value(base).and_then(|value| value.get::<u32>());
        match self.values.get(&field) {
            Some(values) => values.iter().filter_map(Value::get).collect(),
            None if self.is_fixed(field) => own().into_iter().collect(),
            // The base's own count competes, where the grid does not have it.
            None => {
                let mut counts = grid();
                counts.extend(own().filter(|own| !counts.contains(own)));
                counts.sort_unstable();
                counts.retain(|count| self.may_take(base, field, *count));
                counts
            }
        }
    }

    pub(super) fn tensors(&self, base: &Scenario) -> Vec<u32> {
        let most = base.devices().min(base.model.heads).min(MOST_RANKS);
        self.ranks(Field::Tensor, base, || Field::Tensor.spec().steps.counts(most))
    }

    pub(in crate::search) fn contexts(&self, base: &Scenario) -> Vec<u32> {
        let most = base.devices().min(base.plan.sequence).min(MOST_RANKS);
        self.ranks(Field::Context, base, || Field::Context.spec().steps.counts(most))
    }

    /// Counts that divide a model's experts; one where it has none.
    pub(super) fn experts(&self, base: &Scenario) -> Vec<u32> {
        let count = base.model.experts.map_or(1, |experts| experts.count);
        let most = base.devices().min(count);
        let dividing = || (1..=most).filter(|ranks| count.is_multiple_of(*ranks)).collect();
        self.ranks(Field::Experts, base, dividing)
    }

    pub(super) fn micro_batches(&self, base: &Scenario) -> Vec<u32> {
        self.counts(Field::MicroBatch, base, || match self.grain {
            Grain::Fine => micro_batches(),
            Grain::Coarse => COARSE_MICRO_BATCHES.to_vec(),
            Grain::Smallest => vec![1],
        })
    }

    /// Counts that divide the devices: layers need not divide evenly.
    pub(super) fn pipelines(&self, base: &Scenario) -> Vec<u32> {
        let devices = base.devices();
        let most = devices.min(base.model.most_stages());
        let dividing = || (1..=most).filter(|ranks| devices.is_multiple_of(*ranks)).collect();
        self.ranks(Field::Pipeline, base, dividing)
    }

    /// Those that layers fill evenly, and powers of two up to a layer each, through which the explorer steps. A count in
    /// between, typed by hand, can be better: by 0.9 % in one of some thousand jobs. All of them would be ten times the
    /// plans.
    pub(super) fn stages(&self, base: &Scenario, pipeline: u32) -> Vec<u32> {
        let even = |stages: u32| base.model.layers.is_multiple_of(stages.saturating_mul(pipeline));
        let most = base.model.most_stages() / pipeline.max(1);
        let counts = || (1..=most).filter(|stages| stages.is_power_of_two() || even(*stages)).collect();
        self.counts(Field::StagesPerRank, base, counts)
    }

    /// Schedules with their virtual stages and orders of accumulation, each once. Where there is one stage in all,
    /// schedules do not differ.
    pub(super) fn orders(&self, base: &Scenario, pipeline: u32) -> Vec<MeshOrder> {
        let runs = self.runs(base);
        let runs_schedule = |schedule: &Schedule| runs.is_none_or(|runs| runs.schedules(*schedule));
        let layers = |order: &Accumulation| {
            *order == Accumulation::Standard || self.grain == Grain::Fine && self.is_offered(Field::Accumulation, base)
        };
        let schedules = self.choices(Field::Schedule, base, Schedule::ALL, runs_schedule);
        let accumulations = self.choices(Field::Accumulation, base, Accumulation::ALL, layers);
        let stages = self.stages(base, pipeline);
        let mut found = Vec::new();
        for accumulation in accumulations {
            if pipeline == 1 {
                // Without a pipeline schedules do not differ: the job keeps its own.
                let (schedule, stages_per_rank) = (base.plan.schedule, base.plan.stages_per_rank);
                found.push(MeshOrder { schedule, stages_per_rank, accumulation });
                continue;
            }
            for schedule in &schedules {
                // Layer by layer a pipeline is breadth first, whatever its schedule is called.
                let breadth = accumulation == Accumulation::Layered;
                if breadth && schedules.contains(&Schedule::LAYERED) && *schedule != Schedule::LAYERED {
                    continue;
                }
                // Several virtual stages where the schedule has them, one where it has not. 1F1B with two stages per
                // rank is no plan, and interleaving with one is 1F1B under another name.
                let looped = breadth || schedule.rules().virtual_stages;
                let more = |stages: &&u32| if looped { **stages > 1 || breadth } else { **stages == 1 };
                let order = |stages: &u32| MeshOrder { schedule: *schedule, stages_per_rank: *stages, accumulation };
                let mut taken: Vec<_> = stages.iter().filter(more).map(order).collect();
                if taken.is_empty() {
                    taken.extend(stages.first().map(order));
                }
                found.extend(taken);
            }
        }
        found
    }

    /// The words that a field may take: of those that nobody asked for, those that the stack has.
    fn choices<T: OneOf>(&self, field: Field, base: &Scenario, all: &[T], has: impl Fn(&T) -> bool) -> Vec<T> {
        let own = || field.value(base).and_then(|value| value.get());
        match self.values.get(&field) {
            Some(values) => values.iter().filter_map(Value::get).collect(),
            None if self.is_fixed(field) => own().into_iter().collect(),
            None => {
                let has = |one: &T| has(one) && self.may_take(base, field, *one);
                all.iter().copied().filter(has).collect()
            }
        }
    }

    /// The values that a field may take, the job's own first where nobody asked for others: `others` are those that the
    /// stack has.
    fn own_and<T: Typed + PartialEq + Clone + Into<Value>>(
        &self,
        field: Field,
        base: &Scenario,
        others: impl IntoIterator<Item = T>,
    ) -> Vec<T> {
        let own = || field.value(base).and_then(|value| value.get::<T>());
        match self.values.get(&field) {
            Some(values) => values.iter().filter_map(Value::get).collect(),
            None if self.is_fixed(field) => own().into_iter().collect(),
            None => {
                let mut found: Vec<T> = own().into_iter().collect();
                for other in others {
                    if !found.contains(&other) {
                        found.push(other);
                    }
                }
                found.retain(|one| self.may_take(base, field, one.clone()));
                found
            }
        }
    }

    /// Whether the stack has what other values of a field than the default need, or nothing is asked of it.
    pub(super) fn is_offered(&self, field: Field, base: &Scenario) -> bool {
        self.runs(base).is_none_or(|runs| field.is_offered(runs))
    }

    /// Whether tensor parallelism's collectives run beside products: without tensor ranks as the job has it.
    pub(super) fn tensor_overlaps(&self, base: &Scenario, tensor: u32) -> Vec<bool> {
        let cuts = tensor > 1 && base.stack.sequence_parallel;
        let both = [true, false].into_iter().filter(|_| self.is_offered(Field::TensorOverlap, base));
        let found = self.own_and(Field::TensorOverlap, base, both);
        let own = found.iter().copied().find(|on| *on == base.plan.tensor_overlap).or(found.first().copied());
        if cuts { found } else { own.into_iter().collect() }
    }

    /// When gradients may be reduced. To sum each micro-batch's over replicas spares nothing but copies of sums that are on
    /// the host: elsewhere it is tried where the job has it.
    pub(super) fn reductions(&self, base: &Scenario) -> Vec<Reduction> {
        // Sums over copies at each micro-batch only cost time, but leave nothing behind on the host, and some launchers know no
        // others.
        let sums_each = base.plan.offload.state() || !self.launchers.names.is_empty();
        let has = |reduction: &Reduction| {
            (*reduction != Reduction::MicroBatch || sums_each)
                && self.runs(base).is_none_or(|runs| runs.reduces(*reduction))
        };
        self.own_and(Field::Reduction, base, Reduction::ALL.iter().copied().filter(has))
    }

    /// How many units may be gathered ahead, the most first.
    pub(super) fn prefetches(&self, base: &Scenario) -> Vec<u32> {
        let grid = Field::Prefetch.spec().steps.counts(MOST_AHEAD);
        let grid = grid.into_iter().filter(|_| self.is_offered(Field::Prefetch, base));
        let mut found = self.own_and(Field::Prefetch, base, grid);
        found.sort_unstable_by(|one, other| other.cmp(one));
        found
    }

    /// Whether gathered weights are freed after forward.
    pub(super) fn reshards(&self, base: &Scenario) -> Vec<bool> {
        let both = [true, false].into_iter().filter(|_| self.is_offered(Field::Reshard, base));
        self.own_and(Field::Reshard, base, both)
    }

    pub(super) fn recomputes(&self, base: &Scenario) -> Vec<Recompute> {
        match self.values.get(&Field::Recompute) {
            Some(values) => values.iter().filter_map(Value::get).collect(),
            None if self.is_fixed(Field::Recompute) => vec![base.plan.recompute],
            None => {
                let of = if self.grain == Grain::Fine { SHARES } else { COARSE_SHARES };
                let shares = (1..of).map(|part| Recompute::Share(f64::from(part) / f64::from(of)));
                let grid = [Recompute::None, Recompute::Selective].into_iter().chain(shares).chain([Recompute::Full]);
                let mut modes: Vec<Recompute> = grid.collect();
                if !modes.contains(&base.plan.recompute) {
                    modes.push(base.plan.recompute);
                }
                modes.retain(|mode| self.runs(base).is_none_or(|runs| runs.recomputes(*mode)));
                modes.retain(|mode| self.may_take(base, Field::Recompute, *mode));
                if self.grain == Grain::Smallest {
                    let most = modes.iter().map(|mode| mode.layers()).fold(0.0, f64::max);
                    // What is on the host anyway need not be computed again.
                    let none = |mode: &Recompute| base.plan.offload.activations() && *mode == Recompute::None;
                    modes.retain(|mode| mode.layers() >= most || none(mode));
                }
                modes
            }
        }
    }

    /// The extents that a field was given, if any.
    pub(in crate::search) fn given_values(&self, field: Field) -> Option<&[Value]> {
        self.values.get(&field).map(Vec::as_slice)
    }
}
