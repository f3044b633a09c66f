//! From a run of the simulator to the figures that people ask for: rates, shares of time, memory, bottleneck. Not for
//! what ran when ([`super::trace`]).

use std::ops::Add;
use std::sync::Arc;

use crate::cost::{Factors, Rates, TokenFlop, peak};
use crate::hardware::MAX_LEVELS;
use crate::program::{
    HostMemory, MAX_SERIAL_TIME, ModelState, PerMemoryKind, Picos, Program, RankProgram, UnitWork, Volume, picos,
    seconds,
};
use crate::scenario::{Checked, Layout, Problem, Scenario};
use crate::sim::{MemoryPeak, Outcome, PipelineDrain, RankLimits, Simulator};
use crate::units::{Bytes, Count, Flop, Seconds};

use super::basis::ProgramBasis;
use super::figures::{HostTraffic, Memory, MemoryParts, Phases, Resource, Summary, TimeParts, Traffic};
use super::rollouts::PhasesOfRollout;
use super::simulation::{simulate, stuck};

/// Buffers that evaluations reuse.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(super) program: Program,
    /// What that was built for, where it may be timed anew.
    pub(super) basis: Option<ProgramBasis>,
    /// How many programs it has built.
    #[cfg(test)]
    pub(crate) builds: u32,
    pub(super) simulator: Simulator,
    /// The other phases of a step whose answers the model writes.
    pub(super) rollout: Option<PhasesOfRollout>,
    /// Limits of the ranks of a run that is broken off beyond them.
    pub(super) limits: Vec<RankLimits>,
}

/// The longest step and the fullest device that are of interest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepLimits {
    pub time: Seconds,
    pub memory: Bytes,
}

impl StepLimits {
    /// No limits.
    pub const NONE: Self = Self { time: Seconds::new(f64::INFINITY), memory: Bytes::new(f64::INFINITY) };

    /// Whether whatever keeps to others keeps to these too.
    pub fn allow(&self, others: &Self) -> bool {
        self.time >= others.time && self.memory >= others.memory
    }
}

/// Slack for rounding, so that nothing is broken off that keeps to its limits.
const SLACK: f64 = 1.0 + 1e-9;

impl Workspace {
    /// The scenario, checked: as far as it differs from that of the program that was built last.
    pub(super) fn checked<'s>(&mut self, scenario: &'s Scenario) -> Result<Checked<'s>, Vec<Problem>> {
        let known = self.basis.as_mut().and_then(|basis| basis.is_of(scenario).then_some(basis.layout));
        known.map_or_else(|| scenario.checked(), |layout| scenario.checked_as(layout))
    }

    /// Builds the scenario's program, with the work of its units where that is known; or times the program anew that was
    /// built last, where nothing but the network differs.
    pub(super) fn build(
        &mut self,
        scenario: &Checked,
        factors: &Factors,
        known: Option<&Arc<UnitWork>>,
    ) -> Result<(), Vec<Problem>> {
        if !self.retime(scenario, factors) {
            self.build_anew(scenario, factors, known);
        }
        if scenario.plan.paged_optimizer {
            self.move_pages(scenario, factors)?;
        }
        self.rollout = PhasesOfRollout::new(scenario, factors)?;
        if let Some(crowded) = crowded(scenario, &self.host_memory(scenario)) {
            return Err(vec![crowded]);
        }
        // Times are whole picoseconds in 64 bits. No step is longer than all its tasks one after the other, so that
        // their sum tells beforehand whether the clock can overflow.
        let serial = self.program.serial();
        if serial <= MAX_SERIAL_TIME { Ok(()) } else { Err(vec![too_long(serial)]) }
    }

    /// Times the program anew; returns whether that could be.
    fn retime(&mut self, scenario: &Checked, factors: &Factors) -> bool {
        let same = self.basis.as_mut().is_some_and(|basis| basis.is_of(scenario) && basis.has(factors));
        same && self.program.retime(scenario, scenario.layout(), factors).is_some()
    }

    fn build_anew(&mut self, scenario: &Checked, factors: &Factors, known: Option<&Arc<UnitWork>>) {
        self.basis = None;
        #[cfg(test)]
        {
            self.builds += 1;
        }
        self.program.build_with(scenario, scenario.layout(), factors, known);
        // Known work is shared, so that it cannot be timed anew.
        self.basis = known.is_none().then(|| ProgramBasis::new(scenario, factors));
    }

    /// Moves as many pages of the optimizer's state to the host as the device has no room for. A peak does not depend on that:
    /// pages come when backward has freed its activations.
    fn move_pages(&mut self, scenario: &Scenario, factors: &Factors) -> Result<(), Vec<Problem>> {
        let rates = Rates::new(scenario, factors);
        self.program.move_pages(Bytes::ZERO, &rates);
        simulate(&self.program, &mut self.simulator, true, &mut ())?;
        let Some(state) = self.program.states.first() else { return Ok(()) };
        let allocated: i64 = self.simulator.outcome(0).peak.allocated.total();
        let asked = state.total() + Bytes::new(allocated as f64);
        let beyond = asked - scenario.calibration.allocator.asked(scenario.capacity());
        if beyond > Bytes::ZERO {
            self.program.move_pages(beyond, &rates);
        }
        Ok(())
    }

    /// What the program that was built last keeps on the host of the node that keeps the most.
    pub(super) fn host_memory(&self, scenario: &Scenario) -> HostMemory {
        let waits = self.rollout.as_ref().map(|rollout| rollout.most_on_host(scenario, &self.program.states));
        HostMemory { waiting: waits.unwrap_or_default(), ..self.state_on_host(scenario) }
    }

    /// The same of what is there throughout the step.
    fn state_on_host(&self, scenario: &Scenario) -> HostMemory {
        let states = &self.program.states;
        if !states.iter().any(|state| state.host.any()) {
            return HostMemory::default();
        }
        let devices = scenario.devices();
        let (on_node, of_stage) = (scenario.devices_on_node(), devices / states.len() as u32);
        // Pipeline ranks lie outermost: of 32 devices in 4 stages the first node of 8 has rank 0 alone, of 4 devices in 4
        // stages it has one device of each rank.
        let of_node = |first: u32| {
            let of_rank = |(rank, state): (u32, &ModelState)| {
                let begins = (rank * of_stage).max(first);
                let ends = ((rank + 1) * of_stage).min(first + on_node);
                state.host * f64::from(ends.saturating_sub(begins))
            };
            (0..).zip(states).map(of_rank).fold(HostMemory::default(), HostMemory::add)
        };
        let fuller = |best: HostMemory, other: HostMemory| {
            let all = |one: &HostMemory| one.total() + one.drives.total();
            if all(&other) > all(&best) { other } else { best }
        };
        // The node in which a rank's devices begin, and the next one: all others have as many devices of the same rank.
        let nodes =
            (0..states.len() as u32).flat_map(|rank| [0, 1].map(|next| rank * of_stage / on_node.max(1) + next));
        let firsts = nodes.map(|node| node * on_node).filter(|first| *first < devices);
        firsts.map(of_node).fold(HostMemory::default(), fuller)
    }

    /// How many tasks the program that was built last runs.
    pub(super) fn task_count(&self) -> u64 {
        self.program.ranks.iter().map(|program| program.task_count(&self.program.code)).sum()
    }

    /// Memory that each rank of the program that was built last holds all the time.
    pub(super) fn state_bytes(&self) -> impl Iterator<Item = f64> {
        self.program.states.iter().map(|state| state.total().get())
    }
}

/// The problem of a node whose host or drives have no room for what they keep, where the cluster states how much that is.
fn crowded(scenario: &Scenario, kept: &HostMemory) -> Option<Problem> {
    let host = scenario.cluster.host.as_ref()?;
    let drives = host.nvme.as_ref().map(|drives| ("drives", kept.drives.total(), drives.capacity));
    let places = [Some(("memory", kept.total(), host.memory)), drives];
    let crowded = places.into_iter().flatten().find(|(_, needed, capacity)| needed > capacity);
    crowded.map(|(place, needed, capacity)| Problem::crowded_host(place, needed, capacity))
}

/// The problem of a step whose tasks would overflow the simulator's clock if they ran one after the other.
fn too_long(serial: Seconds) -> Problem {
    let [serial, longest] = [serial, MAX_SERIAL_TIME].map(|time| time.to_string());
    Problem {
        field: "plan".to_owned(),
        what: format!("a step is {serial} of work and transfers, those of all pipeline ranks added up"),
        fix: format!(
            "choose less work in a step (accumulate, micro-batch, sequence) or faster links: {longest} at most"
        ),
    }
}

/// Runs a scenario once.
pub(super) fn run(
    scenario: &Checked,
    factors: &Factors,
    workspace: &mut Workspace,
    fold: bool,
) -> Result<Summary, Vec<Problem>> {
    workspace.build(scenario, factors, None)?;
    simulate(&workspace.program, &mut workspace.simulator, fold, &mut ())?;
    Ok(figures(scenario, workspace))
}

/// Runs a scenario once, with the work of its units where that is known; `None` where it goes beyond limits.
pub(super) fn run_within(
    scenario: &Checked,
    known: Option<&Arc<UnitWork>>,
    limits: &StepLimits,
    workspace: &mut Workspace,
) -> Result<Option<Summary>, Vec<Problem>> {
    workspace.build(scenario, &Factors::default(), known)?;
    let Workspace { program, simulator, limits: of_ranks, .. } = &mut *workspace;
    let time = limits.time * SLACK;
    let end = if time < MAX_SERIAL_TIME { picos(time) } else { Picos::MAX };
    let asked = scenario.calibration.allocator.asked(limits.memory * SLACK);
    let (code, mut before) = (&program.code, 0);
    let of_rank = |(rank, state): (&RankProgram, &ModelState)| {
        let last = rank.last_sent_backward(code);
        let drain = last.map(|launch| PipelineDrain { launch, after: rank.computing_after(launch, code), before });
        before += rank.last_received_backward(code);
        let (computing, allocated) = (rank.computing(code), (asked - state.least()).get() as i64);
        RankLimits { end, allocated, computing, drain }
    };
    of_ranks.clear();
    of_ranks.extend(program.ranks.iter().zip(&program.states).map(of_rank));
    let ended = simulator.run_within(&program.code, &program.ranks, of_ranks, true, &mut ()).map_err(stuck)?;
    Ok(ended.then(|| figures(scenario, workspace)))
}

/// The figures of the run that was made last.
pub(super) fn figures(scenario: &Checked, workspace: &Workspace) -> Summary {
    RunFigures::new(scenario, *scenario.layout(), workspace).summary()
}

/// Memory of each pipeline rank in the run that was made last.
pub(super) fn stages(scenario: &Scenario, workspace: &Workspace) -> Vec<Memory> {
    (0..workspace.program.ranks.len()).map(|rank| fullest(scenario, workspace, rank)).collect()
}

/// Each pipeline rank's state, with what it allocates at most beside it in the run that was made last.
pub(super) fn allocations(workspace: &Workspace) -> Vec<(ModelState, PerMemoryKind<Bytes>)> {
    let allocated = |rank: usize| allocated(&workspace.simulator.outcome(rank).peak);
    workspace.program.states.iter().enumerate().map(|(rank, state)| (*state, allocated(rank))).collect()
}

fn allocated(peak: &MemoryPeak) -> PerMemoryKind<Bytes> {
    peak.allocated.map(|bytes| Bytes::new(bytes as f64))
}

/// A finished run with its scenario.
struct RunFigures<'a> {
    scenario: &'a Scenario,
    layout: Layout,
    /// The pipeline rank that ends last.
    last_rank: u32,
    /// What that rank spent its time on.
    outcome: Outcome,
    /// The scenario's flop for each token.
    flop: TokenFlop,
    /// Totals over its tasks.
    volume: Volume,
    /// Its copies to the host and from it.
    host: HostTraffic,
    /// Memory of the fullest rank.
    memory: Memory,
    /// Peak of the first rank's memory.
    first_peak: Bytes,
    /// What the fullest node keeps on its host.
    host_memory: HostMemory,
    /// Parameters that a rank updates on its host, of the rank that updates the most there.
    updated_on_host: Count,
}

impl<'a> RunFigures<'a> {
    fn new(scenario: &'a Scenario, layout: Layout, workspace: &'a Workspace) -> Self {
        let (program, simulator) = (&workspace.program, &workspace.simulator);
        let last = simulator.last_rank();
        let of_rank = |rank: usize| fullest(scenario, workspace, rank);
        // Only a fuller rank replaces: of equals the first is shown.
        let fuller = |best: Memory, rank: usize| {
            let other = of_rank(rank);
            if other.peak > best.peak { other } else { best }
        };
        let first = of_rank(0);
        let memory = (1..program.ranks.len()).fold(first, fuller);
        let (outcome, volume) = (simulator.outcome(last), program.volume(last));
        // Exposed time is booked by level; the place behind the last level is that of copies, which cross none.
        let host = HostTraffic::new(&volume, seconds(outcome.totals.exposed[MAX_LEVELS]));
        let flop = workspace.basis.as_ref().map_or_else(|| TokenFlop::new(scenario), |basis| basis.flop);
        let updated = program.states.iter().map(|state| state.updated_on_host);
        Self {
            scenario,
            layout,
            last_rank: last as u32,
            outcome,
            flop,
            volume,
            host,
            memory,
            first_peak: first.peak,
            host_memory: workspace.host_memory(scenario),
            updated_on_host: updated.fold(Count::ZERO, Count::max),
        }
    }

    fn summary(&self) -> Summary {
        let (scenario, plan) = (self.scenario, &self.scenario.plan);
        let step_time = seconds(self.outcome.end);
        let sequences = f64::from(plan.sequences_at_once()) * f64::from(plan.accumulate) * f64::from(self.layout.data);
        let tokens_per_step = sequences * f64::from(plan.sequence);
        let devices = f64::from(self.layout.devices);
        let tokens_per_s_per_device = tokens_per_step / step_time.get() / devices;
        let peak = peak(scenario, plan.precision);
        let TokenFlop { model: model_flop, recomputed, beside, executed } = self.flop;
        let hardware_flop = model_flop + recomputed + beside;
        // No schedule is faster than its arithmetic at the peak, nor than its busiest link: the slower of the two.
        let shortest = (executed * (tokens_per_step / devices) / peak).max(self.busiest());
        let rate = |flop: Flop| flop * (tokens_per_step / devices) / step_time;
        let memory = self.memory;
        Summary {
            fits: memory.needed() <= memory.capacity,
            devices: self.layout.devices,
            tokens_per_step,
            step_time,
            last_rank: self.last_rank,
            tokens_per_s_per_device,
            model_flops: rate(model_flop),
            hardware_flops: rate(hardware_flop),
            limit: model_flop * (tokens_per_step / devices) / shortest,
            mfu: rate(model_flop) / peak,
            hfu: rate(hardware_flop) / peak,
            time: self.time(),
            phases: self.phases(),
            memory,
            first_peak: self.first_peak,
            traffic: self.traffic(),
            host: self.host,
            host_memory: self.host_memory,
            updated_on_host: self.updated_on_host,
            bottleneck: self.bottleneck(),
        }
    }

    /// Time that the busiest level or the link to the host takes if nothing ever waits: for ZeRO-3 the network
    /// floor of the FSDP limits [fsdp A4 (b)], with the model's own parameters, the ring's rate and each
    /// micro-batch's gathers.
    fn busiest(&self) -> Seconds {
        let levels = self.volume.busy.into_iter().fold(Seconds::ZERO, Seconds::max);
        levels.max(self.host.to.busy).max(self.host.from.busy)
    }

    fn time(&self) -> TimeParts {
        let totals = &self.outcome.totals;
        // The host's delays are part of the compute tasks, so that they are taken out here and shown as "other".
        let slow_host = self.volume.host.min(totals.compute);
        TimeParts {
            compute: seconds(totals.compute - slow_host),
            communication: seconds(totals.communication),
            exposed: seconds(totals.exposed.iter().sum()),
            dispatch: seconds(totals.dispatch),
            bubble: seconds(totals.bubble),
            optimizer: seconds(totals.optimizer),
            other: seconds(slow_host + totals.host + totals.waiting),
        }
    }

    fn phases(&self) -> Phases {
        let [forward, backward, update, beside] = self.outcome.totals.phases.map(seconds);
        Phases { forward, backward, update, beside }
    }

    fn traffic(&self) -> [Traffic; MAX_LEVELS] {
        let volume = &self.volume;
        std::array::from_fn(|level| Traffic {
            bytes_per_device: volume.bytes[level],
            busy: volume.busy[level],
            exposed: seconds(self.outcome.totals.exposed[level]),
        })
    }

    /// The resource on which most of the step is spent.
    fn bottleneck(&self) -> Resource {
        let time = self.time();
        let memory_bound = self.volume.memory_bound.min(time.compute);
        let exposed = self.outcome.totals.exposed.map(seconds);
        let mut shares = [(Resource::Compute, Seconds::ZERO); MAX_LEVELS + 5];
        shares[0] = (Resource::Compute, time.compute - memory_bound);
        shares[1] = (Resource::Memory, memory_bound + time.optimizer);
        shares[2] = (Resource::Bubble, time.bubble);
        shares[3] = (Resource::Host, time.other);
        shares[4] = (Resource::HostLink, self.host.exposed);
        for level in 0..MAX_LEVELS {
            shares[5 + level] = (Resource::Level(level), exposed[level]);
        }
        // Only what is larger replaces: among equal shares the order above decides, on every machine alike.
        let largest =
            |best: (Resource, Seconds), share: (Resource, Seconds)| if share.1 > best.1 { share } else { best };
        shares.into_iter().fold(shares[0], largest).0
    }
}

/// Memory of one rank at the fullest moment of all phases of a step.
fn fullest(scenario: &Scenario, workspace: &Workspace, rank: usize) -> Memory {
    let Workspace { program, simulator, rollout, .. } = workspace;
    let peak = simulator.outcome(rank).peak;
    let own = memory(scenario, program, rank, &peak);
    let of_phases =
        |phases: &PhasesOfRollout| phases.fullest(scenario, rank, &program.states[rank], (own, &allocated(&peak)));
    rollout.as_ref().map_or(own, of_phases)
}

/// Memory of one rank at its fullest moment of a run.
fn memory(scenario: &Scenario, program: &Program, rank: usize, peak: &MemoryPeak) -> Memory {
    let MemoryPeak { at, task, place, .. } = *peak;
    let state = &program.states[rank];
    let mut parts = MemoryParts::new(state, &allocated(peak));
    // The allocator reserves more than is asked for: fragments, and the runtime's own memory.
    let asked = parts.total();
    parts.reserved = scenario.calibration.allocator.peak(asked) - asked;
    let during = program.code.tasks.get(task as usize).map(|task| program.ranks[rank].activity(task, &place));
    Memory {
        capacity: scenario.capacity(),
        peak: parts.total(),
        parts,
        experts: state.resident_experts(),
        pages: state.resident_pages() * (1.0 + scenario.calibration.allocator.fragmentation),
        moved_pages: state.host.pages,
        moment: seconds(at),
        during: during.unwrap_or_default(),
    }
}
