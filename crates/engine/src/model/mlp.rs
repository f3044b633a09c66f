//! The MLP's half of a layer: one, or experts behind a router, beside which some layers may have a plain one.

use serde::{Deserialize, Serialize};

use super::{Matrix, Model};

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
    /// Width inside the shared expert, or all of them together, which every token visits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_ffn: Option<u32>,
    /// Whether the shared expert's output passes a gate of one column.
    #[serde(default, skip_serializing_if = "is_off")]
    pub shared_gate: bool,
    /// Layers that have a plain MLP of `ffn_hidden` instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dense_layers: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_off(on: &bool) -> bool {
    !on
}

/// MLPs of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mlps {
    /// The first matrix, with the gate beside it where there is one.
    pub up: Matrix,
    /// The second matrix.
    pub down: Matrix,
    /// How many a layer has.
    pub count: u64,
    /// How many of them a token visits.
    pub active: u64,
    /// How many layers have them.
    pub layers: u64,
}

impl Mlps {
    /// Weights of one.
    pub fn weights(&self) -> u64 {
        self.up.parameters() + self.down.parameters()
    }

    /// Parameters of one.
    fn parameters(&self, biased: bool) -> u64 {
        self.weights() + if biased { self.up.output + self.down.output } else { 0 }
    }
}

impl Model {
    /// The MLPs of the layers, by shape: of those without experts first.
    pub(crate) fn mlps(&self) -> impl Iterator<Item = Mlps> + use<> {
        let found = match self.experts {
            None => [Some(self.mlps_of(self.ffn_hidden, [1, 1], self.layers)), None, None],
            Some(experts) => {
                let dense = experts.dense_layers.unwrap_or(0);
                let sparse = self.layers - dense.min(self.layers);
                let width = experts.ffn_hidden.unwrap_or(self.ffn_hidden);
                [
                    (dense > 0).then(|| self.mlps_of(self.ffn_hidden, [1, 1], dense)),
                    Some(self.mlps_of(width, [experts.count, experts.active], sparse)),
                    experts.shared_ffn.map(|width| self.mlps_of(width, [1, 1], sparse)),
                ]
            }
        };
        found.into_iter().flatten()
    }

    fn mlps_of(&self, width: u32, [count, active]: [u32; 2], layers: u32) -> Mlps {
        let (hidden, width, gates) = (u64::from(self.hidden), u64::from(width), if self.gated { 2 } else { 1 });
        Mlps {
            up: Matrix { input: hidden, output: gates * width },
            down: Matrix { input: width, output: hidden },
            count: count.into(),
            active: active.into(),
            layers: layers.into(),
        }
    }

    /// The share of the layers that have these.
    pub fn share(&self, mlps: &Mlps) -> f64 {
        mlps.layers as f64 / f64::from(self.layers)
    }

    /// A sum over the MLPs of a layer, of a mean one where layers differ.
    pub(crate) fn over_mlps(&self, of: impl Fn(&Mlps) -> f64) -> f64 {
        self.mlps().map(|mlps| self.share(&mlps) * of(&mlps)).sum()
    }

    /// A width of its MLPs that a number does not divide.
    pub(crate) fn undivided_mlp(&self, size: u32) -> Option<u64> {
        self.mlps().map(|mlps| mlps.down.input).find(|width| !width.is_multiple_of(size.into()))
    }

    /// Parameters of all layers' MLPs: experts, their routers and gates included, and their share of the norms.
    pub(super) fn all_mlp_parameters(&self) -> u64 {
        let biases = self.biases();
        let mlps = self.mlps().map(|mlps| mlps.layers * mlps.count * mlps.parameters(biases.mlp)).sum::<u64>();
        let norms = u64::from(self.norms / 2) * self.norm_parameters();
        mlps + self.router_parameters() + u64::from(self.layers) * norms
    }

    /// Parameters of one layer's MLP; of a mean one where layers differ.
    pub(crate) fn mlp_parameters(&self) -> u64 {
        // Rounded, since a mean need not be whole: DeepSeek-V3 has three layers without experts before 58 with them. What
        // all layers have together is exact in `parameters` alone.
        let layers = u64::from(self.layers).max(1);
        (self.all_mlp_parameters() + layers / 2) / layers
    }

    /// Parameters of all routers and of the gates of shared experts.
    fn router_parameters(&self) -> u64 {
        let Some(experts) = self.experts else { return 0 };
        let hidden = u64::from(self.hidden);
        let bias = u64::from(self.biases().router);
        let gate = if experts.shared_gate { hidden } else { 0 };
        let sparse = self.layers - experts.dense_layers.unwrap_or(0).min(self.layers);
        u64::from(sparse) * (u64::from(experts.count) * (hidden + bias) + gate)
    }

    /// Parameters of experts that a token does not visit, in all layers.
    pub(super) fn idle_parameters(&self) -> u64 {
        let biased = self.biases().mlp;
        let idle = |mlps: Mlps| mlps.layers * mlps.count.saturating_sub(mlps.active) * mlps.parameters(biased);
        self.mlps().map(idle).sum()
    }
}
