//! Compute, activations and exchanges of units, which do not depend on how the state is sharded. Not for the passes of units
//! ([`super::unit_costs`]).

use crate::cost::{
    Activations, ContextTransfers, ExpertTransfers, HeadBytes, LayerWork, Parameters, PassTimes, PerPiece, Rates,
    TensorTransfers, Transfer,
};
use crate::model::{Mixer, PerKind};
use crate::scenario::{Layout, Scenario};
use crate::units::{Bytes, Seconds};

/// Compute and memory of a layer of a kind, however its state is sharded.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct LayerCosts {
    pub work: LayerWork,
    /// Time of the host to launch forward.
    pub host: PerPiece<Seconds>,
    pub activations: Activations,
    /// The layer's parameters, before tensor ranks divide them.
    pub parameters: PerPiece<Parameters>,
}

/// Compute and memory of the embedding or of the head, however their state is sharded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EndCosts {
    pub work: PassTimes,
    /// Bytes that forward leaves for backward.
    pub kept: Bytes,
    /// Bytes that each of the two works in.
    pub working: Bytes,
    /// Bytes from which the gradients of its weights are computed.
    pub weight_inputs: Bytes,
}

/// Compute, activations and exchanges of a model's units, however their state is sharded.
#[derive(Debug, PartialEq)]
pub(crate) struct UnitWork {
    pub(super) layers: PerKind<LayerCosts>,
    pub(super) embedding: EndCosts,
    /// Last norm, logits and loss.
    pub(super) head: EndCosts,
    /// Exchanges of tensor, context and experts' ranks; `None` where there are none of these.
    pub(super) exchanges: Option<Box<UnitExchanges>>,
    /// Whether weights are shared, by which a stack may take another runtime.
    shares_weights: bool,
}

/// The mixers whose tokens meet across context ranks.
const MIXERS: [Mixer; 3] = [Mixer::Attention, Mixer::Window, Mixer::Recurrent];

/// Transfers between the ranks that share the work of a unit.
#[derive(Debug, PartialEq)]
pub(super) struct UnitExchanges {
    pub tensor: TensorTransfers,
    /// Those between context ranks, in layers of each mixer.
    context: [ContextTransfers; MIXERS.len()],
    pub experts: ExpertTransfers,
}

impl UnitWork {
    /// The work of units at the rates of a checked scenario.
    pub fn new(rates: &Rates<'_>, layout: &Layout) -> Self {
        let HeadBytes { kept, working } = rates.head_bytes();
        Self {
            layers: PerKind::new(&rates.scenario.model, |kind| LayerCosts {
                work: rates.layer(kind),
                host: PerPiece::from_fn(|piece| rates.host_piece(piece, kind)),
                activations: rates.activations(kind),
                parameters: PerPiece::from_fn(|piece| {
                    let there = rates.has(piece, kind);
                    if there { Parameters::piece(rates.scenario, kind, piece) } else { Parameters::NONE }
                }),
            }),
            embedding: EndCosts {
                work: rates.embedding(),
                kept: rates.embedded(),
                working: Bytes::ZERO,
                weight_inputs: Bytes::ZERO,
            },
            head: EndCosts {
                work: rates.head(),
                kept,
                working: working + rates.distilled(),
                weight_inputs: rates.head_gradient_inputs(),
            },
            exchanges: UnitExchanges::new(rates, layout),
            shares_weights: rates.scenario.shares_weights(),
        }
    }

    /// Whether another scenario has the same work, if it differs in the sharding of the state alone.
    pub fn serves(&self, scenario: &Scenario) -> bool {
        scenario.stack.runtime_unsharded.is_none() || scenario.shares_weights() == self.shares_weights
    }

    /// Recomputes the exchanges on another network; `None` if other exchanges than before take time there.
    pub(super) fn retime(&mut self, rates: &Rates<'_>, layout: &Layout) -> Option<()> {
        let take_time = |work: &Self| work.exchanges.as_deref().map(UnitExchanges::take_time);
        let before = take_time(self);
        self.exchanges = UnitExchanges::new(rates, layout);
        (take_time(self) == before).then_some(())
    }
}

impl UnitExchanges {
    fn new(rates: &Rates<'_>, layout: &Layout) -> Option<Box<Self>> {
        if layout.tensor == 1 && layout.context == 1 && !rates.experts.own_mesh {
            return None;
        }
        let model = &rates.scenario.model;
        let tensor = rates.tensor_transfers(rates.tokens() * f64::from(model.hidden), layout.tensor_group());
        let mut experts = rates.expert_transfers(layout);
        if rates.experts.own_mesh && model.experts.is_some_and(|experts| experts.shared_ffn.is_some()) {
            // The shared expert is cut over the tensor ranks as an MLP is.
            experts.dispatch = experts.dispatch.map(|way| way + tensor.forward + tensor.overlapped_forward);
        }
        let context = MIXERS.map(|mixer| rates.context_transfers(mixer, layout));
        Some(Box::new(Self { tensor, context, experts }))
    }

    /// The exchanges of a mixer between context ranks; `None` where tokens do not meet.
    pub fn of_context(&self, mixer: Mixer) -> Option<&ContextTransfers> {
        let place = MIXERS.iter().position(|own| *own == mixer)?;
        Some(&self.context[place])
    }

    /// Whether each exchange takes time; one that takes none is no task.
    fn take_time(&self) -> ([bool; 13], [[bool; 4]; MIXERS.len()]) {
        let Self { tensor, context, experts } = self;
        let takes = |transfer: &Transfer| transfer.time > Seconds::ZERO;
        let TensorTransfers { forward, overlapped_forward, backward, overlapped_backward, ends } = tensor;
        let ExpertTransfers { dispatch, combine } = experts;
        let context = context.each_ref().map(|ContextTransfers { around, beside, .. }| {
            [&around.forward, &around.backward, &beside.forward, &beside.backward].map(takes)
        });
        let others = [
            forward,
            overlapped_forward,
            backward,
            overlapped_backward,
            &ends.embedding.forward,
            &ends.embedding.backward,
            &ends.head.forward,
            &ends.head.backward,
            &ends.overlapped_head,
            &dispatch.forward,
            &dispatch.backward,
            &combine.forward,
            &combine.backward,
        ];
        (others.map(takes), context)
    }
}
