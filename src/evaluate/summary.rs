//! From a run of the simulator to the figures that people ask for.

use crate::cost::{Factors, peak};
use crate::hardware::MAX_LEVELS;
use crate::plan::{FlopCount, Recompute};
use crate::program::{PICOS, Picos, Program, held};
use crate::scenario::{Layout, Problem, Scenario};
use crate::sim::{Observer, Outcome, Peak, Simulator};
use crate::units::{Bytes, Flop, Seconds};

use super::{Memory, MemoryParts, Resource, Summary, TimeParts, Traffic};

/// Buffers that evaluations reuse.
#[derive(Debug, Default)]
pub struct Workspace {
    program: Program,
    simulator: Simulator,
}

impl Workspace {
    /// Lays the scenario out and builds its program.
    pub(super) fn build(&mut self, scenario: &Scenario, factors: &Factors) -> Result<Layout, Vec<Problem>> {
        let layout = scenario.layout()?;
        self.program.build(scenario, &layout, factors);
        Ok(layout)
    }

    /// How many tasks the program that was built last runs.
    pub(super) fn task_count(&self) -> u64 {
        self.program.ranks.iter().map(crate::program::RankProgram::task_count).sum()
    }

    /// Memory that the program that was built last holds all the time.
    pub(super) fn state_bytes(&self) -> f64 {
        let state = &self.program.state;
        state.weights + state.gradients + state.optimizer
    }
}

/// Runs a scenario once.
pub(super) fn run(
    scenario: &Scenario,
    factors: &Factors,
    workspace: &mut Workspace,
    fold: bool,
    observer: &mut impl Observer,
) -> Result<Summary, Vec<Problem>> {
    let layout = workspace.build(scenario, factors)?;
    workspace.simulator.run(&workspace.program.ranks, fold, observer).map_err(|stuck| {
        vec![Problem {
            field: "plan".to_owned(),
            what: format!("the program of rank {} is stuck at task {:?}", stuck.rank, stuck.task),
            mend: "this is a bug in shardscope: please report it with the scenario".to_owned(),
        }]
    })?;
    let outcome = workspace.simulator.outcome(workspace.simulator.last());
    Ok(Figures { scenario, layout, program: &workspace.program, outcome }.summary())
}

/// A finished run and what it ran.
struct Figures<'a> {
    scenario: &'a Scenario,
    layout: Layout,
    program: &'a Program,
    outcome: Outcome,
}

fn seconds(picos: Picos) -> Seconds {
    Seconds::new(picos as f64 / PICOS)
}

impl Figures<'_> {
    fn summary(&self) -> Summary {
        let (scenario, plan) = (self.scenario, &self.scenario.plan);
        let step_time = seconds(self.outcome.end);
        let sequences = f64::from(plan.micro_batch) * f64::from(plan.accumulate) * f64::from(self.layout.data);
        let tokens_per_step = sequences * f64::from(plan.sequence);
        let devices = f64::from(self.layout.devices);
        let tokens_per_s_per_device = tokens_per_step / step_time.get() / devices;
        let counted = match plan.flop_count {
            FlopCount::Parameters => scenario.model.active_parameters(),
            FlopCount::Matrices => scenario.model.matrix_parameters(),
        };
        let model_flop = scenario.model.flop_per_token(counted, plan.sequence);
        let hardware_flop = model_flop + self.recomputed_flop();
        let rate = |flop: Flop| flop * (tokens_per_step / devices) / step_time;
        let peak = peak(scenario, plan.precision);
        let memory = self.memory();
        Summary {
            fits: memory.peak <= memory.capacity,
            devices: self.layout.devices,
            tokens_per_step,
            step_time,
            tokens_per_s_per_device,
            model_flops: rate(model_flop),
            hardware_flops: rate(hardware_flop),
            mfu: rate(model_flop) / peak,
            hfu: rate(hardware_flop) / peak,
            time: self.time(),
            memory,
            traffic: self.traffic(),
            bottleneck: self.bottleneck(),
        }
    }

    /// Flop per token that backward spends on computing forward again: a third of the layers' model
    /// flop where whole layers are, the attention core's forward where recompute is selective.
    fn recomputed_flop(&self) -> Flop {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let core = model.attention_flop(plan.sequence);
        let logits = u64::from(model.vocab) * u64::from(model.hidden);
        let matrices = Flop::new(2.0 * (model.matrix_parameters() - logits) as f64);
        match plan.recompute {
            Recompute::Selective => core,
            other => (matrices + core) * other.layers(),
        }
    }

    fn time(&self) -> TimeParts {
        let totals = &self.outcome.totals;
        let slow_host = self.program.volume.host.min(totals.compute);
        TimeParts {
            compute: seconds(totals.compute - slow_host),
            communication: seconds(totals.communication),
            exposed: seconds(totals.exposed.iter().sum()),
            bubble: seconds(totals.bubble),
            optimizer: seconds(totals.optimizer),
            other: seconds(slow_host + totals.host + totals.waiting),
        }
    }

    fn memory(&self) -> Memory {
        let (scenario, state) = (self.scenario, &self.program.state);
        let Peak { held: in_use, at, task, iteration } = self.outcome.peak;
        let dynamic = |part: usize| in_use[part] as f64;
        let mut parts = MemoryParts {
            weights: Bytes::new(state.weights),
            gradients: Bytes::new(state.gradients + dynamic(held::GRADIENTS)),
            optimizer: Bytes::new(state.optimizer),
            secondary_weights: Bytes::new(dynamic(held::SECONDARY)),
            activations: Bytes::new(dynamic(held::ACTIVATIONS)),
            gathered: Bytes::new(dynamic(held::GATHERED)),
            communication: Bytes::new(dynamic(held::COMMUNICATION)),
            reserved: Bytes::ZERO,
        };
        parts.reserved = scenario.stack.reserve + parts.total() * scenario.stack.fragmentation;
        let label = self.program.ranks.first().and_then(|rank| rank.tasks.get(task as usize)).map(|task| task.label);
        Memory {
            capacity: scenario.cluster.device.memory * scenario.plan.memory_factor,
            peak: parts.total(),
            parts,
            moment: seconds(at),
            during: label.map(|label| label.at(iteration.block, iteration.section)).unwrap_or_default(),
        }
    }

    fn traffic(&self) -> [Traffic; MAX_LEVELS] {
        let volume = &self.program.volume;
        std::array::from_fn(|level| Traffic {
            bytes_per_device: Bytes::new(volume.bytes[level]),
            busy: Seconds::new(volume.busy[level]),
        })
    }

    /// Whatever most of the step goes into.
    fn bottleneck(&self) -> Resource {
        let time = self.time();
        let memory_bound = Seconds::new(self.program.volume.memory_bound).min(time.compute);
        let mut shares = [(Resource::Compute, Seconds::ZERO); MAX_LEVELS + 4];
        shares[0] = (Resource::Compute, time.compute - memory_bound);
        shares[1] = (Resource::Memory, memory_bound + time.optimizer);
        shares[2] = (Resource::Bubble, time.bubble);
        shares[3] = (Resource::Host, time.other);
        for level in 0..MAX_LEVELS {
            shares[4 + level] = (Resource::Level(level), seconds(self.outcome.totals.exposed[level]));
        }
        let largest =
            |best: (Resource, Seconds), share: (Resource, Seconds)| if share.1 > best.1 { share } else { best };
        shares.into_iter().fold(shares[0], largest).0
    }
}
