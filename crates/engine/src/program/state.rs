//! Static memory of a step: shards of weights, gradients and optimizer state, by group of parameters, on the device and off it.

use derive_more::{Add, Mul};

use crate::cost::{Home, KeptPart, Parameters, Rates, StatePart};
use crate::scenario::Layout;
use crate::units::{Bytes, Count};

use super::unit_costs::UnitCosts;

/// Bytes of weights, gradients and optimizer state, and of models beside.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Mul)]
pub struct StateBytes {
    /// Weights.
    pub weights: Bytes,
    /// Gradients.
    pub gradients: Bytes,
    /// Moments, master weights and averages.
    pub optimizer: Bytes,
    /// Weights of models beside the one that is trained.
    pub beside: Bytes,
}

impl StateBytes {
    /// The sum of all parts.
    pub fn total(&self) -> Bytes {
        self.weights + self.gradients + self.optimizer + self.beside
    }

    /// The parts with their names.
    pub fn named(&self) -> [(&'static str, Bytes); 4] {
        let Self { weights, gradients, optimizer, beside } = *self;
        [("weights", weights), ("gradients", gradients), ("optimizer", optimizer), ("beside", beside)]
    }

    fn part_mut(&mut self, part: StatePart) -> &mut Bytes {
        match part {
            StatePart::Weights | StatePart::Casts => &mut self.weights,
            StatePart::Beside => &mut self.beside,
            StatePart::Gradients => &mut self.gradients,
            StatePart::Master | StatePart::Moments | StatePart::Average | StatePart::AveragedCopy => {
                &mut self.optimizer
            }
        }
    }
}

/// Bytes in the memory of a host and on its drives.
#[derive(Debug, Clone, Copy, PartialEq, Default, Add, Mul)]
pub struct HostMemory {
    /// State in the host's memory, averages of the weights and the copies that they are taken of included.
    pub state: StateBytes,
    /// Pages of the optimizer's state that the device has no room for.
    pub pages: Bytes,
    /// Activations that are there until backward, checkpoints among them.
    pub activations: Bytes,
    /// Buffers through which a state comes from the drives.
    pub buffers: Bytes,
    /// What waits there while another phase of a step has the devices, at most.
    pub waiting: Bytes,
    /// State on the drives.
    pub drives: StateBytes,
}

impl HostMemory {
    /// Bytes in the host's memory.
    pub fn total(&self) -> Bytes {
        self.state.total() + self.pages + self.activations + self.buffers + self.waiting
    }

    /// The parts of the host's memory with their names.
    pub fn named(&self) -> [(&'static str, Bytes); 8] {
        let [weights, gradients, optimizer, beside] = self.state.named();
        let others = [("pages", self.pages), ("activations", self.activations), ("buffers", self.buffers)];
        let [pages, activations, buffers] = others;
        [weights, gradients, optimizer, beside, pages, activations, buffers, ("waiting", self.waiting)]
    }

    /// Whether anything is there.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// One rank's static memory, and how it keeps gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelState {
    /// Bytes that the device keeps throughout the step if it has room for all pages of the optimizer's state.
    pub device: StateBytes,
    /// The part of the optimizer state in pages, of which [`HostMemory::pages`] have left.
    pub pages: Bytes,
    /// Static buffers of a pipeline's stages.
    pub buffers: Bytes,
    /// Bytes on the host and its drives.
    pub host: HostMemory,
    /// Parameters of this rank that its host updates.
    pub updated_on_host: Count,
    /// Whether gradients of all units are kept whole, rather than reduced unit by unit.
    pub whole_gradients: bool,
    /// Parameters of this rank's part of the model, before sharding.
    pub parameters: Parameters,
    /// Of these, bytes of experts that have a mesh of their own.
    pub expert_parameters: Parameters,
    /// The parts of weights, gradients and optimizer state that are of such experts.
    pub experts: StateBytes,
}

/// Parameters that share one sharding, and its costs.
#[derive(Clone, Copy)]
pub(super) struct ParameterGroup<'a> {
    pub costs: &'a UnitCosts<'a>,
    /// On one tensor and pipeline rank, before sharding.
    pub parameters: Parameters,
}

impl<'a> ParameterGroup<'a> {
    /// A group of `parameters`, counted before tensor parallelism splits them.
    pub fn new(costs: &'a UnitCosts<'a>, parameters: Parameters) -> Self {
        Self { costs, parameters: costs.local(parameters) }
    }
}

impl ModelState {
    /// Bytes that the device keeps once some pages have moved to the host.
    pub fn resident(&self) -> StateBytes {
        StateBytes { optimizer: self.device.optimizer - self.host.pages, ..self.device }
    }

    /// The part of it that is of experts, of whose pages as large a share left as of all.
    pub(crate) fn resident_experts(&self) -> StateBytes {
        if self.host.pages == Bytes::ZERO {
            return self.experts;
        }
        let stayed = self.resident().optimizer / self.device.optimizer;
        StateBytes { optimizer: self.experts.optimizer * stayed, ..self.experts }
    }

    /// Pages that are on the device.
    pub(crate) fn resident_pages(&self) -> Bytes {
        self.pages - self.host.pages
    }

    /// Total bytes on the device.
    pub fn total(&self) -> Bytes {
        self.resident().total() + self.buffers
    }

    /// Bytes that the device keeps if all pages move to the host.
    pub fn least(&self) -> Bytes {
        self.total() - self.resident_pages()
    }

    /// The same state, with some bytes of activations on the host.
    #[must_use]
    pub(super) fn with_activations_on_host(mut self, activations: Bytes) -> Self {
        self.host.activations = activations;
        self
    }

    /// The same state beside that of a model which only has weights.
    #[must_use]
    pub(super) fn beside(mut self, other: &Self) -> Self {
        self.device.beside += other.device.beside;
        self.host.state.beside += other.host.state.beside;
        self
    }

    /// The state of one rank's parameter groups.
    pub(super) fn of_groups(groups: &[ParameterGroup<'_>]) -> Self {
        let states = groups.iter().map(|group| Self::new(group.costs.rates, group.costs.layout, group.parameters));
        let all = states.reduce(Self::with).unwrap_or_default();
        let buffers = groups.first().map(|group| group.costs.rates.swap_buffers(all.updated_on_host));
        Self { host: HostMemory { buffers: buffers.unwrap_or_default(), ..all.host }, ..all }
    }

    /// The sum with other parameters' state on the same rank.
    fn with(self, other: Self) -> Self {
        Self {
            device: self.device + other.device,
            pages: self.pages + other.pages,
            buffers: self.buffers + other.buffers,
            host: self.host + other.host,
            updated_on_host: self.updated_on_host + other.updated_on_host,
            whole_gradients: self.whole_gradients && other.whole_gradients,
            parameters: self.parameters + other.parameters,
            expert_parameters: self.expert_parameters + other.expert_parameters,
            experts: self.experts + other.experts,
        }
    }

    /// The state of parameters of one sharding: the sum of what is kept of them, by place.
    pub fn new(rates: &Rates<'_>, layout: &Layout, parameters: Parameters) -> Self {
        let (mut device, mut pages, mut host) = (StateBytes::default(), Bytes::ZERO, HostMemory::default());
        rates.kept(layout, parameters, |kept: KeptPart| {
            let place = match kept.home {
                Home::Device | Home::Pages => &mut device,
                Home::Host => &mut host.state,
                Home::Drives => &mut host.drives,
            };
            *place.part_mut(kept.part) += kept.bytes();
            if kept.home == Home::Pages {
                pages += kept.bytes();
            }
        });
        let (expert_parameters, experts) =
            if layout.sees_experts { (parameters, device) } else { (Parameters::NONE, StateBytes::default()) };
        let owned = parameters.trained / f64::from(layout.optimizer);
        Self {
            device,
            pages,
            buffers: Bytes::ZERO,
            host,
            updated_on_host: owned * rates.scenario.plan.optimizer_on_host(),
            whole_gradients: rates.keeps_whole_gradients(layout),
            parameters,
            expert_parameters,
            experts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 12 bytes of state 8 are pages, of which 4 leave: 8 bytes stay, and of the experts' 6 as large a share, 4.
    #[test]
    fn pages_leave_experts_and_others_alike() {
        let [twelve, eight, six, four] = [12.0, 8.0, 6.0, 4.0].map(Bytes::new);
        let optimizer = |optimizer: Bytes| StateBytes { optimizer, ..StateBytes::default() };
        let mut state =
            ModelState { device: optimizer(twelve), pages: eight, experts: optimizer(six), ..ModelState::default() };
        assert_eq!((state.resident(), state.resident_experts()), (optimizer(twelve), optimizer(six)));
        state.host.pages = four;
        assert_eq!((state.resident(), state.resident_experts()), (optimizer(eight), optimizer(four)));
        assert_eq!([state.total(), state.least(), state.resident_pages()], [eight, four, four]);
    }
}
