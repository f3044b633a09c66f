//! The MLP's half of a layer: one, or experts behind a router, beside which some layers may have a plain one.

use serde::{Deserialize, Serialize};

use super::{
    LayerKind, LayerMatrix, LayerMlp, LayerPart, LayerPlaces, Matrix, MatrixRole, Model, PartParameters, is_off,
};

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
    /// The layers that have them.
    pub fn places(self) -> LayerPlaces {
        LayerPlaces::last_of(self.dense_layers.unwrap_or(0), self.every.unwrap_or(1))
    }

    /// How many first layers have none, and of how many further ones each time the last has them, where two such numbers
    /// say which layers of a list have them.
    pub fn dense_and_every(with: &[bool]) -> Option<(u32, u32)> {
        let mut layers = with.iter().zip(0_u32..).filter(|(with, _)| **with).map(|(_, layer)| layer);
        let first = layers.next().unwrap_or(with.len() as u32);
        let every = layers.next().map_or(1, |second| second - first);
        let dense = (first + 1).checked_sub(every)?;
        LayerPlaces::last_of(dense, every).are(with).then_some((dense, every))
    }
}

impl Model {
    /// The matrices of the MLPs of a layer of a kind, both of each: experts that a router chooses from, a shared expert, and
    /// what narrows tokens for experts and widens them again.
    pub(crate) fn mlp_matrices(&self, kind: LayerKind) -> impl Iterator<Item = LayerMatrix> + use<> {
        let plain = |names, width| self.mlp(names, LayerPart::Plain, self.hidden, width);
        let found = match (kind.mlp, self.experts) {
            (LayerMlp::None, _) => [None; 3],
            (LayerMlp::Plain, _) | (_, None) => {
                [Some(plain(["MLP's gate and up", "MLP's up", "MLP's down"], self.ffn_hidden)), None, None]
            }
            (LayerMlp::Experts, Some(experts)) => {
                let shared = ["shared expert's gate and up", "shared expert's up", "shared expert's down"];
                [
                    Some(self.routed_experts(experts)),
                    experts.shared_ffn.map(|width| plain(shared, width)),
                    experts.latent.map(|width| self.narrowing(width)),
                ]
            }
        };
        found.into_iter().flatten().flatten()
    }

    /// An MLP of a width inside: its first matrix, with the gate beside it where there is one, and its second.
    fn mlp(&self, names: [&'static str; 3], part: LayerPart, tokens: u32, width: u32) -> [LayerMatrix; 2] {
        let ([gated, up, down], [tokens, width]) = (names, [tokens, width].map(u64::from));
        let (name, joined) = if self.gated { (gated, 2) } else { (up, 1) };
        let first = self.of_mlp(name, part, MatrixRole::First, Matrix { input: tokens, output: joined * width });
        let last = self.of_mlp(down, part, MatrixRole::Last, Matrix { input: width, output: tokens });
        [LayerMatrix { joined, ..first }, last]
    }

    fn of_mlp(&self, name: &'static str, part: LayerPart, role: MatrixRole, matrix: Matrix) -> LayerMatrix {
        let bias = if self.biases().mlp { matrix.output } else { 0 };
        LayerMatrix { bias, ..LayerMatrix::new(name, part, role, matrix) }
    }

    /// Experts that a router chooses from.
    fn routed_experts(&self, experts: Experts) -> [LayerMatrix; 2] {
        let (names, width) =
            (["experts' gate and up", "experts' up", "experts' down"], experts.ffn_hidden.unwrap_or(self.ffn_hidden));
        let (count, active) = (experts.count.into(), experts.active.into());
        let one = self.mlp(names, LayerPart::Routed, self.routed_hidden(), width);
        one.map(|matrix| LayerMatrix { count, active, ..matrix })
    }

    /// What narrows tokens for the experts, and widens them again.
    fn narrowing(&self, width: u32) -> [LayerMatrix; 2] {
        let [hidden, narrow] = [self.hidden, width].map(u64::from);
        let of = |name, role, input, output| LayerMatrix {
            whole: true,
            ..self.of_mlp(name, LayerPart::Plain, role, Matrix { input, output })
        };
        [
            of("tokens narrowed for experts", MatrixRole::First, hidden, narrow),
            of("tokens widened behind experts", MatrixRole::Last, narrow, hidden),
        ]
    }

    /// The experts of layers of a kind.
    pub(crate) fn experts_in(&self, kind: LayerKind) -> Option<Experts> {
        self.experts.filter(|_| kind.has_experts())
    }

    /// Width of tokens at the experts that a router chooses.
    pub(crate) fn routed_hidden(&self) -> u32 {
        self.experts.and_then(|experts| experts.latent).unwrap_or(self.hidden)
    }

    /// A width of its MLPs that a number does not divide.
    pub(crate) fn undivided_mlp(&self, size: u32) -> Option<u64> {
        let matrices = self.kinds().flat_map(|(kind, _)| self.mlp_matrices(kind));
        let mut widths = matrices.filter(|one| one.role == MatrixRole::Last).map(|one| one.matrix.input);
        widths.find(|width| !width.is_multiple_of(size.into()))
    }

    /// Parameters of what every token passes of a layer's MLP, a router and the MLP's share of the norms included. Tensor ranks
    /// each have whole: norms, router and gate, biases behind second matrices, and what narrows and widens tokens for experts
    /// (Megatron-LM, `moe_layer.py`).
    pub(super) fn plain_parameters(&self, kind: LayerKind) -> PartParameters {
        let own = PartParameters::of_matrices(self.part_matrices(kind, LayerPart::Plain));
        own + PartParameters::on_each_rank(self.router_parameters(kind) + self.mlp_norm_parameters(kind))
    }

    /// Those of the MLP's share of the norms.
    fn mlp_norm_parameters(&self, kind: LayerKind) -> u64 {
        if kind.has_mlp() { u64::from(self.norms / 2) * self.norm_parameters() } else { 0 }
    }

    /// Parameters of a layer's router and of the gate of its shared expert.
    fn router_parameters(&self, kind: LayerKind) -> u64 {
        let Some(experts) = self.experts_in(kind) else { return 0 };
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
