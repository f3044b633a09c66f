//! The shares of a layer's forward that selective recompute repeats, by part. Not for their bytes and seconds
//! ([`super::operator`]).

use crate::model::{LayerKind, LayerMatrix, LayerPart, MatrixRole, Model};
use crate::plan::{Module, Recompute, RecomputeModules};
use crate::scenario::Scenario;
use crate::stack::Selective;
use crate::units::Share;

use super::rates::Rates;

/// The shares of a layer's forward that selective recompute repeats.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Repeats {
    /// The share of attention's core.
    pub core: Share,
    /// The share of the norms.
    pub norms: Share,
    /// The share of attention's products.
    pub projections: Share,
    /// The share of those products that expand what latent attention compresses.
    pub expansions: Share,
    /// The shares of the MLP; in a layer of experts those of the shared one.
    pub mlp: MlpRepeats,
    /// The shares of the experts that a router chooses.
    pub experts: MlpRepeats,
}

/// The shares of MLPs that selective recompute repeats.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct MlpRepeats {
    /// The share of the products.
    pub products: Share,
    /// The share of the activation function.
    pub activation: Share,
    /// Whether they run again from their input, with the exchanges around them.
    pub whole: bool,
}

impl MlpRepeats {
    const WHOLE: Self = Self { products: Share::new(1.0), activation: Share::new(1.0), whole: true };
}

impl Repeats {
    /// The shares of a layer of a kind under selective recompute: those of the stack's file, or the modules of the plan.
    pub fn new(scenario: &Scenario, kind: LayerKind) -> Self {
        let repeats = match scenario.plan.recompute_modules {
            RecomputeModules::OF_STACK => {
                let Selective { core, element_wise, matmul } = scenario.stack.selective;
                let [core, norms, products] = [core, element_wise, matmul].map(Share::new);
                let mlp = MlpRepeats { products, activation: norms, whole: false };
                Self { core, norms, projections: products, expansions: products, mlp, experts: mlp }
            }
            modules => Self::of_modules(modules, kind),
        };
        // What checkpoints attention's core or expands what it compresses leaves other mixers as they are.
        if kind.mixer.attends() {
            repeats
        } else {
            Self { core: Share::ZERO, expansions: repeats.projections, ..repeats }
        }
    }

    /// The shares of modules, each whole. `core_attn`, `mlp`, `moe` and `shared_experts` run again from their inputs; the
    /// others drop their outputs alone (Megatron-LM, `transformer_config.py`, `recompute_modules`).
    fn of_modules(modules: RecomputeModules, kind: LayerKind) -> Self {
        let share = |module: Module| Share::new(if modules.has(module) { 1.0 } else { 0.0 });
        let whole = |any: &[Module]| any.iter().any(|module| modules.has(*module)).then_some(MlpRepeats::WHOLE);
        let (plain, routed): (&[Module], &[Module]) = if kind.has_experts() {
            (&[Module::Experts, Module::SharedExperts], &[Module::Experts])
        } else {
            (&[Module::Mlp], &[])
        };
        let activation = MlpRepeats { activation: share(Module::ExpertActivation), ..MlpRepeats::default() };
        Self {
            core: share(Module::CoreAttention),
            norms: share(Module::Norms),
            projections: Share::ZERO,
            expansions: share(Module::LatentExpansion),
            mlp: whole(plain).unwrap_or_default(),
            experts: whole(routed).unwrap_or(activation),
        }
    }

    /// The share of the product by a matrix.
    pub(super) fn share(&self, one: &LayerMatrix) -> Share {
        if one.role == MatrixRole::Expansion { self.expansions } else { self.of_adapters(one.part) }
    }

    /// The share of the adapters in a part of a layer: they run again with the products that do not expand.
    pub(super) fn of_adapters(&self, part: LayerPart) -> Share {
        if part == LayerPart::Mixer { self.projections } else { self.of_mlp(part).products }
    }

    /// The shares of MLPs in a part of a layer.
    pub(super) fn of_mlp(&self, part: LayerPart) -> MlpRepeats {
        if part == LayerPart::Routed { self.experts } else { self.mlp }
    }

    /// Weights of a layer's products that run again for a token.
    pub fn weights(&self, model: &Model, kind: LayerKind) -> f64 {
        let products =
            model.matrices(kind).map(|one| one.active_weights() as f64 * self.share(&one).get()).sum::<f64>();
        products + model.conv_weights(kind) as f64 * self.projections.get()
    }
}

impl Rates<'_> {
    /// The shares of a layer of a kind that selective recompute repeats; none under another recompute.
    pub(crate) fn repeats(&self, kind: LayerKind) -> Repeats {
        match self.scenario.plan.recompute {
            Recompute::Selective => Repeats::new(self.scenario, kind),
            _ => Repeats::default(),
        }
    }
}
