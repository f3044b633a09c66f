//! The parts of a model that a job leaves as they are, and what backward computes of each. Not for what that costs
//! ([`crate::cost`]).

use crate::model::LayerKind;
use crate::plan::FrozenEnds;

use super::Scenario;

/// The gradients that backward computes of a part of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differentiated {
    /// None: nothing below it is trained either.
    Nothing,
    /// Those of its inputs: it is frozen, and something below it is trained.
    Inputs,
    /// Those of its weights too.
    All,
}

impl Differentiated {
    /// Flop of a token for a weight that it meets: 2 forward and 2 for each gradient.
    pub const fn flop_per_weight(self) -> f64 {
        match self {
            Self::Nothing => 2.0,
            Self::Inputs => 4.0,
            Self::All => 6.0,
        }
    }
}

impl Scenario {
    /// The ends of the model that stay as they are: of adapters both, and where nothing is said the embedding below frozen
    /// layers, so that backward stops at the last of these.
    pub fn frozen_ends(&self) -> FrozenEnds {
        let usual = if self.model.frozen_layers > 0 { FrozenEnds::Embedding } else { FrozenEnds::None };
        if self.plan.tuning.freezes() { FrozenEnds::Both } else { self.plan.tuning.ends.unwrap_or(usual) }
    }

    /// Whether some parameters of the model stay as they are.
    pub fn trains_part(&self) -> bool {
        self.model.frozen_layers > 0 || self.frozen_ends() != FrozenEnds::None
    }

    /// Whether the embedding is trained. Logits that reuse its matrix freeze it with them.
    pub(crate) fn trains_embedding(&self) -> bool {
        let ends = self.frozen_ends();
        !(ends.embedding() || self.model.has_tied_logits() && ends.head())
    }

    /// The gradients that backward computes of layers of a kind.
    pub fn differentiated(&self, kind: LayerKind) -> Differentiated {
        match kind.frozen {
            _ if self.plan.stands_beside => Differentiated::Nothing,
            _ if self.plan.tuning.freezes() => Differentiated::Inputs,
            false => Differentiated::All,
            true if self.trains_embedding() => Differentiated::Inputs,
            true => Differentiated::Nothing,
        }
    }

    /// First layers that backward does not reach.
    pub(crate) fn unreached_layers(&self) -> u32 {
        if self.trains_embedding() || self.plan.tuning.freezes() { 0 } else { self.model.frozen_layers }
    }

    /// The gradients that backward computes of the logits' matrix.
    pub(crate) fn differentiated_logits(&self) -> Differentiated {
        let trained = if self.model.has_tied_logits() { self.trains_embedding() } else { !self.frozen_ends().head() };
        if trained { Differentiated::All } else { Differentiated::Inputs }
    }

    /// Parameters of the model itself that are trained; of a tied embedding once.
    pub(crate) fn trained_in_full(&self) -> u64 {
        if self.plan.tuning.freezes() {
            return 0;
        }
        let model = &self.model;
        let layers = model.kinds().filter(|(kind, _)| !kind.frozen);
        let layers: u64 = layers.map(|(kind, layers)| u64::from(layers) * model.layer_parameters(kind)).sum();
        let embedding = if self.trains_embedding() { model.embedding_parameters() } else { 0 };
        layers + embedding + if self.frozen_ends().head() { 0 } else { model.head_parameters() }
    }

    /// Flop that frozen parts save of the 6 of each counted parameter, 2 for each gradient; without a count of matrices alone
    /// the embedding's parameters are counted too.
    pub(crate) fn frozen_flop(&self, matrices: bool) -> f64 {
        let model = &self.model;
        let saved = |of: Differentiated, counted: u64| {
            (Differentiated::All.flop_per_weight() - of.flop_per_weight()) * counted as f64
        };
        let layers = model.over_layers(|kind| {
            let counted = if matrices { model.active_weights(kind) } else { model.active_layer_parameters(kind) };
            saved(self.differentiated(kind), counted)
        });
        let embedding = if self.trains_embedding() { Differentiated::All } else { Differentiated::Nothing };
        let [embedded, head] = if matrices {
            [0, model.matrix_parameters() - model.layers_matrix_parameters()]
        } else {
            [model.embedding_parameters(), model.head_parameters()]
        };
        layers + saved(embedding, embedded) + saved(self.differentiated_logits(), head)
    }
}
