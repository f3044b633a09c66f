//! The MLP's half of a layer: one, or experts behind a router, beside which some layers may have a plain one.

use serde::{Deserialize, Serialize};

use super::{LayerKind, LayerMatrix, LayerMlp, LayerPart, Matrix, MatrixRole, Model, is_off};

/// A mixture of experts in place of the layers' MLPs; experts are sharded like other parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experts {
    /// Experts per layer.
    pub count: u32,
    /// Experts that each token visits.
    pub active: u32,
    /// Width inside each, where it is not `ffn_hidden`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ffn_hidden: Option<u32>,
    /// Width to which tokens are narrowed on their way to the experts that a router chooses, and from which they are widened
    /// behind them, where they are (`moe_latent_size` of Nemotron 3 and Megatron-LM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latent: Option<u32>,
    /// Width inside the shared expert, or all of them together, which every token visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_ffn: Option<u32>,
    /// Whether the shared expert's output passes a gate of one column.
    #[serde(default, skip_serializing_if = "is_off")]
    pub shared_gate: bool,
    /// How many layers have a plain MLP of `ffn_hidden` instead, the first ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense_layers: Option<u32>,
    /// Groups of equally many experts, in their order, of which the router chooses some for each token (`n_group` in
    /// configurations of `DeepSeek-V3`); one for each node where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<u32>,
    /// How many of the groups a token's experts come from at most, where the router limits that (`topk_group`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_groups: Option<u32>,
    /// Of the layers after these the last of every so many has them; the others have a plain MLP too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

impl Experts {
    /// Whether a layer has them.
    pub(super) fn are_in(self, layer: u32) -> bool {
        let behind = layer.checked_sub(self.dense_layers.unwrap_or(0));
        behind.is_some_and(|layer| (layer + 1).is_multiple_of(self.every.unwrap_or(1)))
    }
}

/// MLPs of a layer that have one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mlps {
    /// The first matrix, with the gate beside it where there is one.
    pub up: Matrix,
    /// The second matrix.
    pub down: Matrix,
    /// How many the layer has.
    pub count: u64,
    /// How many of them a token visits.
    pub active: u64,
    /// Whether a router chooses them.
    pub routed: bool,
    /// Whether they narrow and widen tokens on the way to others, with nothing in between.
    pub narrows: bool,
}

impl Model {
    /// The MLPs of a layer of a kind, by shape: a shared expert comes after the others.
    pub(crate) fn mlps(&self, kind: LayerKind) -> impl Iterator<Item = Mlps> + use<> {
        let found = match (kind.mlp, self.experts) {
            (LayerMlp::None, _) => [None; 3],
            (LayerMlp::Plain, _) | (_, None) => [Some(self.mlp_of(self.ffn_hidden)), None, None],
            (LayerMlp::Experts, Some(experts)) => {
                let width = experts.ffn_hidden.unwrap_or(self.ffn_hidden);
                [
                    Some(self.experts_of(experts, width)),
                    experts.shared_ffn.map(|width| self.mlp_of(width)),
                    experts.latent.map(|width| self.narrowing(width)),
                ]
            }
        };
        found.into_iter().flatten()
    }

    /// One MLP of a width inside.
    fn mlp_of(&self, width: u32) -> Mlps {
        let (hidden, width, gates) = (u64::from(self.hidden), u64::from(width), if self.gated { 2 } else { 1 });
        Mlps {
            up: Matrix { input: hidden, output: gates * width },
            down: Matrix { input: width, output: hidden },
            count: 1,
            active: 1,
            routed: false,
            narrows: false,
        }
    }

    /// Experts that a router chooses from, of a width inside.
    fn experts_of(&self, experts: Experts, width: u32) -> Mlps {
        let (one, tokens) = (self.mlp_of(width), u64::from(self.routed_hidden()));
        Mlps {
            up: Matrix { input: tokens, ..one.up },
            down: Matrix { output: tokens, ..one.down },
            count: experts.count.into(),
            active: experts.active.into(),
            routed: true,
            narrows: false,
        }
    }

    /// What narrows tokens for the experts, and widens them again.
    fn narrowing(&self, width: u32) -> Mlps {
        let one = self.mlp_of(width);
        Mlps { up: Matrix { output: width.into(), ..one.up }, narrows: true, ..one }
    }

    /// Width of tokens at the experts that a router chooses.
    pub(crate) fn routed_hidden(&self) -> u32 {
        self.experts.and_then(|experts| experts.latent).unwrap_or(self.hidden)
    }

    /// A width of its MLPs that a number does not divide.
    pub(crate) fn undivided_mlp(&self, size: u32) -> Option<u64> {
        let mut widths = self.kinds().flat_map(|(kind, _)| self.mlps(kind)).map(|mlps| mlps.down.input);
        widths.find(|width| !width.is_multiple_of(size.into()))
    }

    /// Parameters of a layer's MLP: experts, their router and gate included, and its share of the norms.
    pub(crate) fn mlp_parameters(&self, kind: LayerKind) -> u64 {
        let matrices = self.mlp_matrices(kind).map(|one| one.parameters()).sum::<u64>();
        matrices + self.router_parameters(kind) + self.mlp_norm_parameters(kind)
    }

    /// Those of them that each tensor rank has whole, and those of these in matrices: norms, router and gate, biases behind
    /// second matrices, and what narrows and widens tokens for experts (Megatron-LM, `moe_layer.py`).
    pub(crate) fn replicated_in_mlp(&self, kind: LayerKind) -> [u64; 2] {
        let plain = self.mlp_matrices(kind).filter(|one| one.part == LayerPart::Plain);
        let [biases, narrowing] = plain.fold([0; 2], |[biases, narrowing], one| {
            let last = if one.role == MatrixRole::Last { one.bias } else { 0 };
            [biases + last, narrowing + if one.narrows() { one.weights() } else { 0 }]
        });
        let beside = biases + self.router_parameters(kind) + self.mlp_norm_parameters(kind);
        [narrowing + beside, narrowing]
    }

    /// Parameters of a layer's experts that a router chooses from.
    pub(crate) fn routed_parameters(&self, kind: LayerKind) -> u64 {
        self.over_part(kind, LayerPart::Routed, LayerMatrix::parameters)
    }

    /// Those of the MLP's share of the norms.
    fn mlp_norm_parameters(&self, kind: LayerKind) -> u64 {
        if kind.has_mlp() { u64::from(self.norms / 2) * self.norm_parameters() } else { 0 }
    }

    /// Parameters of a layer's router and of the gate of its shared expert.
    fn router_parameters(&self, kind: LayerKind) -> u64 {
        let Some(experts) = self.experts.filter(|_| kind.has_experts()) else { return 0 };
        let hidden = u64::from(self.hidden);
        let bias = u64::from(self.biases().router);
        let gate = if experts.shared_gate { hidden } else { 0 };
        u64::from(experts.count) * (hidden + bias) + gate
    }

    /// Parameters of a layer's experts that a token does not visit.
    pub(super) fn idle_parameters(&self, kind: LayerKind) -> u64 {
        let idle = |one: LayerMatrix| one.parameters() / one.count * one.count.saturating_sub(one.active);
        if kind.has_experts() { self.mlp_matrices(kind).map(idle).sum() } else { 0 }
    }

    /// Parameters of a layer without those of experts that a token does not visit.
    pub(crate) fn active_layer_parameters(&self, kind: LayerKind) -> u64 {
        self.layer_parameters(kind) - self.idle_parameters(kind)
    }

    /// Weights of a layer's matrix products that take part in one token's arithmetic.
    pub(crate) fn active_weights(&self, kind: LayerKind) -> u64 {
        self.matrices(kind).map(|one| one.active_weights()).sum::<u64>() + self.conv_weights(kind)
    }

    /// Weights of a layer's matrix products, those of experts that a token does not visit included.
    pub(crate) fn layer_weights(&self, kind: LayerKind) -> u64 {
        self.matrices(kind).map(|one| one.weights()).sum::<u64>() + self.conv_weights(kind)
    }
}
