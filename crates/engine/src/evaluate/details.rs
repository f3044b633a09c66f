//! Inputs to explanations beyond the figures. Not for the explanations, which are `figures`'s.

use crate::bounds::intensity::{self, Intensity};
use crate::cost::{CollectiveAlgorithms, TransferParts};
use crate::hardware::MAX_LEVELS;
use crate::program::{ModelState, Stream, seconds};
use crate::scenario::{Checked, Layout};
use crate::units::{Bytes, Seconds};

use super::step_phase::StepPhase;
use super::summary::{self, Workspace};
use super::trace::Trace;

/// Inputs to explanations beyond the figures, kept so that an explanation need not build the step again.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// Ranks of each part of the plan.
    pub layout: Layout,
    /// Each pipeline rank's state.
    pub states: Vec<ModelState>,
    /// Bytes that a device of the rank that ends last sends into each level, by lane in the order of [`Stream::ALL`].
    pub sent: [[Bytes; MAX_LEVELS]; Stream::ALL.len()],
    /// Algorithms of those collectives, by lane.
    pub algorithms: [CollectiveAlgorithms; Stream::ALL.len()],
    /// Parts of that rank's transfer times, each transfer alone.
    pub parts: TransferParts,
    /// Delay of that rank's compute by slow launches of the host.
    pub late_launches: Seconds,
    /// Slowdown of that rank's compute by transfers beside it.
    pub slowed: Seconds,
    /// Each kind of transfer against the link that carries it.
    pub transfers: Vec<Intensity>,
    /// The phases of a step whose answers the model writes.
    pub phases: Vec<StepPhase>,
}

impl Details {
    /// The details of the run that was made last.
    pub(super) fn new(scenario: &Checked, trace: &Trace, workspace: &Workspace) -> Self {
        let Workspace { program, simulator, .. } = workspace;
        let volume = program.volume(simulator.last_rank());
        let update = seconds(simulator.outcome(simulator.last_rank()).end);
        let phases = workspace.rollout.as_ref();
        let phases = phases.map(|phases| phases.phases(scenario, &summary::allocations(workspace), update));
        Self {
            layout: *scenario.layout(),
            states: program.states.clone(),
            sent: volume.sent,
            algorithms: volume.algorithms,
            parts: volume.parts,
            late_launches: seconds(volume.host),
            slowed: trace.slowed(),
            transfers: intensity::transfers(scenario),
            phases: phases.unwrap_or_default(),
        }
    }

    /// The algorithms and protocols of the collectives of each lane that sends anything.
    pub fn collectives(&self) -> impl Iterator<Item = (Stream, Vec<&'static str>)> {
        let lanes = Stream::ALL.into_iter().zip(self.sent.iter().zip(self.algorithms));
        let sends = |sent: &[Bytes; MAX_LEVELS]| sent.iter().any(|bytes| *bytes > Bytes::ZERO);
        lanes.filter(move |(_, (sent, _))| sends(sent)).map(|(lane, (_, algorithms))| (lane, algorithms.words()))
    }
}
