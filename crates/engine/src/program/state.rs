//! Static memory of a step: shards of weights, gradients and optimizer state, by group of parameters.

use crate::cost::{Parameters, Rates};
use crate::scenario::Layout;
use crate::units::{Bytes, Count};

use super::unit_costs::{UnitCosts, whole_gradients};

/// One rank's static memory, and how it keeps gradients.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ModelState {
    /// This rank's shard of the weights.
    pub weights: Bytes,
    /// Gradients, where they are kept all the time.
    pub gradients: Bytes,
    /// Optimizer state and master weights.
    pub optimizer: Bytes,
    /// The part of it in pages that may leave the device.
    pub pages: Bytes,
    /// Pages that are on the host.
    pub moved_pages: Bytes,
    /// Static buffers of a pipeline's stages.
    pub buffers: Bytes,
    /// Whether gradients of all units are kept whole, rather than reduced unit by unit.
    pub whole_gradients: bool,
    /// Parameters of this rank's part of the model, before sharding.
    pub parameters: Parameters,
    /// Those of them that are of experts with a mesh of their own.
    pub expert_parameters: Parameters,
    /// The parts of weights, gradients and optimizer state that are of such experts.
    pub experts: [Bytes; 3],
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
    /// Total bytes.
    pub fn total(&self) -> Bytes {
        self.weights + self.gradients + self.optimizer + self.buffers
    }

    /// What stays on a device where all pages leave it.
    pub fn least(&self) -> Bytes {
        self.total() - self.pages
    }

    /// The same with so many bytes of its pages on the host, of experts as many as of all else.
    pub(super) fn without_pages(mut self, gone: Bytes) -> Self {
        if gone > Bytes::ZERO {
            self.experts[2] = self.experts[2] * ((self.optimizer - gone) / self.optimizer);
        }
        Self { optimizer: self.optimizer - gone, pages: self.pages - gone, moved_pages: gone, ..self }
    }

    /// The state of one rank's parameter groups.
    pub(super) fn of_groups(groups: &[ParameterGroup<'_>]) -> Self {
        let states = groups.iter().map(|group| Self::new(group.costs.rates, group.costs.layout, group.parameters));
        states.reduce(Self::with).unwrap_or_default()
    }

    /// The sum with other parameters' state on the same rank.
    fn with(self, other: Self) -> Self {
        Self {
            weights: self.weights + other.weights,
            gradients: self.gradients + other.gradients,
            optimizer: self.optimizer + other.optimizer,
            pages: self.pages + other.pages,
            moved_pages: self.moved_pages + other.moved_pages,
            buffers: self.buffers + other.buffers,
            whole_gradients: self.whole_gradients && other.whole_gradients,
            parameters: self.parameters + other.parameters,
            expert_parameters: self.expert_parameters + other.expert_parameters,
            experts: std::array::from_fn(|part| self.experts[part] + other.experts[part]),
        }
    }

    /// `weights P q / w`, `gradients P g / d`, `optimizer P k / o` [frontier D3], where gradients that
    /// are not reduced before the step's end count whole, and frozen parameters have neither gradients nor state.
    pub fn new(rates: &Rates<'_>, layout: &Layout, parameters: Parameters) -> Self {
        let plan = &rates.scenario.plan;
        let whole_gradients = whole_gradients(rates, layout);
        // Gradients that are kept whole until the step's end take full size, whatever extent they are sharded over
        // then.
        let gradient_ranks = if whole_gradients { 1 } else { layout.gradients };
        let state_on_host = if plan.offload.state() { 1.0 } else { 0.0 };
        let shard =
            |count: Count, each: Bytes, ranks: u32, on_host: f64| count * each / f64::from(ranks) * (1.0 - on_host);
        let Parameters { weights, trained, linear, .. } = parameters;
        let of_optimizer = |all: Bytes| all / f64::from(layout.optimizer) * (1.0 - plan.optimizer_on_host());
        let own = Self {
            weights: shard(weights, rates.storage(), layout.weights, state_on_host)
                + linear * rates.weight_casts(layout),
            gradients: if UnitCosts::frees_gradients(rates, layout) {
                Bytes::ZERO
            } else {
                let each = rates.gradient_bytes(whole_gradients, layout);
                shard(trained, each, gradient_ranks, rates.gradients_on_host(layout).get())
            },
            optimizer: of_optimizer(parameters.optimizer_state(plan)),
            pages: if plan.paged_optimizer { of_optimizer(parameters.moments(plan)) } else { Bytes::ZERO },
            moved_pages: Bytes::ZERO,
            buffers: Bytes::ZERO,
            whole_gradients,
            parameters,
            expert_parameters: Parameters::NONE,
            experts: [Bytes::ZERO; 3],
        };
        if layout.sees_experts {
            return Self { expert_parameters: parameters, experts: [own.weights, own.gradients, own.optimizer], ..own };
        }
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 12 bytes of state 8 are pages, of which 4 leave: 8 bytes stay, and of the experts' 6 as large a share, 4.
    #[test]
    fn pages_leave_experts_and_others_alike() {
        let [twelve, eight, six, four] = [12.0, 8.0, 6.0, 4.0].map(Bytes::new);
        let experts = [Bytes::ZERO, Bytes::ZERO, six];
        let state = ModelState { optimizer: twelve, pages: eight, experts, ..ModelState::default() };
        let ModelState { optimizer, pages, moved_pages, experts, .. } = state.without_pages(four);
        assert_eq!([optimizer, pages, moved_pages, experts[2]], [eight, four, four, four]);
        assert_eq!(ModelState::default().without_pages(Bytes::ZERO), ModelState::default());
    }
}
