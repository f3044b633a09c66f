//! Memory of a step whose answers the model writes, phase by phase: the engine's, that of each forward of the trainer, of its critic
//! and of its update. Each phase of the trainer is a program of its own. Not for the time of rollouts, which nobody says here.

use crate::cost::{EngineMemory, Factors};
use crate::plan::{RolloutLayout, Rollouts, TrainerOffload};
use crate::program::{Activity, MemoryKind, ModelPart, ModelState, PerMemoryKind, Program, StateBytes, seconds};
use crate::scenario::{BesideRole, Field, Layout, Problem, Scenario};
use crate::sim::Simulator;
use crate::units::{Bytes, Seconds, percent};

use super::figures::{Memory, MemoryParts};
use super::simulation::simulate;
use super::step_phase::{PhaseKind, PhaseLane, StepPhase};

/// The phases beside the update, each as it was run once over the answers of an update.
#[derive(Debug)]
pub(super) struct PhasesOfRollout {
    engine: EngineMemory,
    rollouts: Rollouts,
    /// Forwards alone, and the critic's own update behind them.
    runs: Vec<PhaseRun>,
}

/// A phase of the trainer but its update.
#[derive(Debug)]
struct PhaseRun {
    role: BesideRole,
    /// Its time for all answers of a rollout.
    time: Seconds,
    /// Each pipeline rank's state of the model that is passed.
    states: Vec<ModelState>,
    /// What each has allocated beside that at most.
    allocated: Vec<PerMemoryKind<Bytes>>,
}

/// What a device has in a phase: parts of the trainer, nothing reserved, and of the engine; and what of both is on the host.
struct HeldInPhase {
    kind: PhaseKind,
    parts: MemoryParts,
    on_host: Bytes,
}

impl PhasesOfRollout {
    /// Those of a scenario whose model writes answers; an engine whose cache does not hold a sequence is a problem, as vLLM says
    /// when it starts.
    pub fn new(scenario: &Scenario, factors: &Factors) -> Result<Option<Self>, Vec<Problem>> {
        if !scenario.plan.writes() {
            return Ok(None);
        }
        let (engine, rollouts) = (EngineMemory::new(scenario), &scenario.plan.post_training.rollouts);
        if engine.least() > engine.share {
            return Err(vec![crowded(scenario, &engine)]);
        }
        let forwards = f64::from(rollouts.updates);
        let alone = scenario.beside().into_iter().map(|model| (model.role, forwards, model.scenario));
        let critic =
            scenario.critic().map(|critic| (BesideRole::Critic, forwards * f64::from(rollouts.epochs), critic));
        let runs = alone.chain(critic).map(|(role, times, scenario)| PhaseRun::new(role, times, &scenario, factors));
        Ok(Some(Self { engine, rollouts: rollouts.clone(), runs: runs.collect::<Result<_, _>>()? }))
    }

    fn run(&self, role: BesideRole) -> Option<&PhaseRun> {
        self.runs.iter().find(|run| run.role == role)
    }

    /// The critic's state on a device of a rank.
    fn critic(&self, rank: usize) -> ModelState {
        self.run(BesideRole::Critic).and_then(|run| run.states.get(rank)).copied().unwrap_or_default()
    }

    /// What of the trainer's state is on a device of a rank in a phase.
    fn present(&self, kind: PhaseKind, rank: usize, own: &ModelState) -> StateBytes {
        let (state, critic) = (own.resident(), self.critic(rank).resident());
        let beside = state.beside + critic.total();
        match self.rollouts.offload {
            TrainerOffload::None => StateBytes { beside, ..state },
            TrainerOffload::Optimizer => StateBytes {
                optimizer: if kind == PhaseKind::Update { state.optimizer } else { Bytes::ZERO },
                beside: if kind == PhaseKind::Critic { beside } else { beside - critic.optimizer },
                ..state
            },
            TrainerOffload::All => match kind {
                PhaseKind::Rollout => StateBytes::default(),
                PhaseKind::Update => state,
                PhaseKind::Critic => StateBytes { beside: critic.total(), ..StateBytes::default() },
                PhaseKind::Transfer | PhaseKind::Alone(BesideRole::Itself) => {
                    StateBytes { weights: state.weights, ..StateBytes::default() }
                }
                PhaseKind::Alone(role) => StateBytes { beside: self.passed(role, rank), ..StateBytes::default() },
            },
        }
    }

    /// Weights of a model that is passed alone on a device of a rank.
    fn passed(&self, role: BesideRole, rank: usize) -> Bytes {
        self.run(role).and_then(|run| run.states.get(rank)).map_or(Bytes::ZERO, |state| state.resident().beside)
    }

    /// What of the trainer may be on a device of a rank, or else on the host.
    fn movable(&self, rank: usize, own: &ModelState) -> Bytes {
        let passed = |run: &PhaseRun| match run.role {
            BesideRole::Itself | BesideRole::Critic => Bytes::ZERO,
            role => self.passed(role, rank),
        };
        let beside = match self.rollouts.offload {
            TrainerOffload::All => self.runs.iter().map(passed).sum(),
            _ => own.resident().beside,
        };
        StateBytes { beside, ..own.resident() }.total() + self.critic(rank).resident().total()
    }

    /// The trainer's phases on a device of a rank, in the order of a step; `update` is what its update allocates at most.
    fn held(&self, rank: usize, own: &ModelState, update: &PerMemoryKind<Bytes>) -> Vec<HeldInPhase> {
        let colocated = self.rollouts.layout == RolloutLayout::Colocated;
        let awake = if colocated { self.engine.share } else { Bytes::ZERO };
        let weights = if colocated && self.rollouts.sleep > 0 {
            self.engine.asleep + self.engine.weights
        } else {
            self.engine.asleep
        };
        let mut moved = PerMemoryKind::default();
        moved[MemoryKind::Gathered] = self.engine.in_transfer;
        let alone = self.runs.iter().map(|run| {
            let kind = if run.role == BesideRole::Critic { PhaseKind::Critic } else { PhaseKind::Alone(run.role) };
            (kind, run.allocated.get(rank).copied().unwrap_or_default(), self.engine.asleep)
        });
        let first = (PhaseKind::Rollout, PerMemoryKind::default(), awake);
        let last = [(PhaseKind::Update, *update, self.engine.asleep), (PhaseKind::Transfer, moved, weights)];
        let (all, of_critic) = (self.movable(rank, own), self.critic(rank).host.total());
        let phases = std::iter::once(first).chain(alone).chain(last);
        let held = phases.map(|(kind, allocated, engine)| {
            let device = self.present(kind, rank, own);
            let stays = kind == PhaseKind::Update || self.rollouts.offload != TrainerOffload::All;
            let buffers = if stays { own.buffers } else { Bytes::ZERO };
            let state = ModelState { device, buffers, ..ModelState::default() };
            let moved = if self.rollouts.offload == TrainerOffload::None { Bytes::ZERO } else { all - device.total() };
            let copy = if kind.is_of_engine() { Bytes::ZERO } else { self.engine.on_host };
            let on_host = moved.max(Bytes::ZERO) + copy + of_critic;
            HeldInPhase { kind, parts: MemoryParts { engine, ..MemoryParts::new(&state, &allocated) }, on_host }
        });
        held.collect()
    }

    /// Memory of a device of a rank in its fullest phase, where it is known of the update, with what that allocates.
    pub fn fullest(
        &self,
        scenario: &Scenario,
        rank: usize,
        own: &ModelState,
        (update, allocated): (Memory, &PerMemoryKind<Bytes>),
    ) -> Memory {
        let phases = self.held(rank, own, allocated).into_iter();
        let memories = phases.map(|HeldInPhase { kind, parts, .. }| {
            let parts = reserved(scenario, parts);
            let (moment, during) = match kind {
                PhaseKind::Update => (update.moment, update.during),
                kind => (Seconds::ZERO, Activity { kind: kind.task(), part: ModelPart::Model, ..Activity::default() }),
            };
            let stays = kind == PhaseKind::Update || self.rollouts.offload == TrainerOffload::None;
            let experts = if stays { update.experts } else { StateBytes::default() };
            Memory { peak: parts.total(), parts, moment, during, experts, ..update }
        });
        // Only a fuller phase replaces: of equals the first is shown.
        memories.reduce(|best, other| if other.peak > best.peak { other } else { best }).unwrap_or(update)
    }

    /// What waits on the host of a node at most, where each device has a rank's state: that of the fullest one.
    pub fn most_on_host(&self, scenario: &Scenario, states: &[ModelState]) -> Bytes {
        let none = PerMemoryKind::default();
        let of_rank = |(rank, own): (usize, &ModelState)| self.held(rank, own, &none);
        let all = states.iter().enumerate().flat_map(of_rank).map(|held| held.on_host);
        all.fold(Bytes::ZERO, Bytes::max) * f64::from(scenario.devices_on_node())
    }

    /// All phases of a step with their memory, that of the fullest rank. Of the update it is known what each rank, with its state,
    /// allocates, and how long one takes.
    pub fn phases(
        &self,
        scenario: &Scenario,
        ranks: &[(ModelState, PerMemoryKind<Bytes>)],
        update: Seconds,
    ) -> Vec<StepPhase> {
        let split = self.rollouts.layout == RolloutLayout::Split;
        let updates = f64::from(self.rollouts.updates) * f64::from(self.rollouts.epochs);
        let mut phases: Vec<StepPhase> = Vec::new();
        for (rank, (own, allocated)) in ranks.iter().enumerate() {
            for (place, held) in self.held(rank, own, allocated).into_iter().enumerate() {
                let host = held.on_host * f64::from(scenario.devices_on_node());
                let peak = match held.kind {
                    PhaseKind::Rollout if split => self.engine.share,
                    _ => reserved(scenario, held.parts).total(),
                };
                if let Some(phase) = phases.get_mut(place) {
                    (phase.peak, phase.host) = (phase.peak.max(peak), phase.host.max(host));
                    continue;
                }
                let time = match held.kind {
                    PhaseKind::Rollout | PhaseKind::Transfer => None,
                    PhaseKind::Update => Some(update * updates),
                    PhaseKind::Critic => self.run(BesideRole::Critic).map(|run| run.time),
                    PhaseKind::Alone(role) => self.run(role).map(|run| run.time),
                };
                let lane = if held.kind == PhaseKind::Rollout { PhaseLane::Engine } else { PhaseLane::Trainer };
                phases.push(StepPhase { kind: held.kind, passes: Vec::new(), lane, time, peak, host });
            }
        }
        phases
    }
}

impl PhaseRun {
    fn new(role: BesideRole, times: f64, scenario: &Scenario, factors: &Factors) -> Result<Self, Vec<Problem>> {
        let (mut program, mut simulator) = (Program::default(), Simulator::default());
        program.build(scenario, &Layout::of(scenario), factors);
        simulate(&program, &mut simulator, true, &mut ())?;
        let allocated = |rank: usize| simulator.outcome(rank).peak.allocated.map(|bytes| Bytes::new(bytes as f64));
        Ok(Self {
            role,
            time: seconds(simulator.outcome(simulator.last_rank()).end) * times,
            allocated: (0..program.ranks.len()).map(allocated).collect(),
            states: program.states,
        })
    }
}

/// The parts with what the trainer's allocator reserves beside those that are its own.
fn reserved(scenario: &Scenario, parts: MemoryParts) -> MemoryParts {
    let asked = parts.total() - parts.engine - parts.reserved;
    MemoryParts { reserved: scenario.calibration.allocator.peak(asked) - asked, ..parts }
}

/// The problem of an engine whose share of the memory does not hold what it needs.
fn crowded(scenario: &Scenario, engine: &EngineMemory) -> Problem {
    let EngineMemory { share, weights, workspace, sequence, .. } = *engine;
    let (capacity, ranks) = (scenario.capacity(), scenario.plan.post_training.rollouts.tensor);
    let fix = match engine.least() / capacity {
        least if least <= 0.95 => {
            format!("choose {} or more, or --rollout-tp {}", (least * 20.0).ceil() / 20.0, 2 * ranks)
        }
        _ => format!("choose --rollout-tp {}", 2 * ranks),
    };
    Problem {
        field: Field::RolloutShare.path().to_owned(),
        what: format!(
            "an engine needs {}: {weights} of weights, {workspace} to work in and {sequence} for a sequence of {} tokens; {} of a \
             device are {share}",
            engine.least(),
            scenario.plan.sequence,
            percent(share / capacity),
        ),
        fix,
    }
}
