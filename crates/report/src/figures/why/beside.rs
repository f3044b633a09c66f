//! What models beside the one that is trained take: their forwards, their weights, their flop.

use shardscope_engine::cost::{EngineMemory, Factors, Rates, TokenFlop};
use shardscope_engine::evaluate::TaskKind;
use shardscope_engine::scenario::ModelBeside;
use shardscope_engine::units::{Amount, Bytes, Dimension, Seconds};

use crate::figures::figure::Figure;

use super::facts::{FigureEntry, FormulaFacts, because, count, figure, input, only_counted};
use super::formula::{Citation, Formula};
use super::time::WAITS;

/// Time and weights of models beside.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Beside, "beside-time", "forward beside", Dimension::Seconds)
        .about("Forwards of models beside the one that is trained, of which nothing is kept for a backward.")
        .value(|of, _| Some(of.summary.phases.beside.get()))
        .why(|facts, _| {
            because(only_counted("forwards beside", facts.summary().phases.beside), Citation::convention(WAITS))
        }),
    figure(Figure::BesideWeights, "beside-weights", "models beside", Dimension::Bytes)
        .label("beside")
        .about(
            "This device's shard of the frozen weights of models beside the one that is trained: a reference, a \
             teacher.",
        )
        .value(|of, _| Some(of.summary.memory.parts.beside.get()))
        .why(|facts, _| because(facts.beside(), Citation::convention("weights alone: nothing of them is updated"))),
    figure(Figure::Engine, "engine", "engine of rollouts", Dimension::Bytes)
        .label("engine")
        .about(
            "What the engine that writes answers has of this device: its share of the memory while it writes, and what it \
             keeps while it sleeps.",
        )
        .value(|of, _| Some(of.summary.memory.parts.engine.get()))
        .why(|facts, _| because(facts.engine(), Citation::chosen("rollout-share, rollout-tp, sleep"))),
];

impl FormulaFacts<'_> {
    /// Weights of the model beside: those of its parameters over the ranks that share them, where every device has a part of
    /// all of them in the format of the precision.
    fn beside(&self) -> Formula {
        let held = self.memory_of_fullest().parts.beside;
        let (models, storage) = (self.scenario.passed_in_step(), self.rates.storage());
        let whole = self.layout.tensor * self.layout.pipeline == 1 && !self.scenario.plan.tuning.freezes();
        let own = models.iter().find(|model| model.has_weights).filter(|_| whole && held > Bytes::ZERO);
        let Some(model) = own else { return only_counted("weights of models beside", held) };
        let parameters = count(model.scenario.model.parameters() as f64, "");
        let each = Amount { value: storage.get(), unit: Dimension::Bytes };
        let extent = Citation::chosen("reference-over, teacher-over");
        input(format!("parameters of the {}", model.role), parameters, self.shape())
            * input("bytes of a weight", each, Citation::convention("bytes of the format"))
            / input(
                format!("ranks that share the weights of the {}", model.role),
                count(model.layout().weights, ""),
                extent,
            )
    }

    /// The engine's share of the memory, where that is what it has.
    fn engine(&self) -> Formula {
        let held = self.memory_of_fullest().parts.engine;
        let (engine, capacity) = (EngineMemory::new(self.scenario), self.scenario.capacity());
        if held == Bytes::ZERO || held != engine.share {
            return only_counted("what an engine keeps", held);
        }
        let share = Amount { value: engine.share / capacity, unit: Dimension::Share };
        input("memory of a device", capacity, self.sheet())
            * input("share of an engine", share, Citation::chosen("rollout-share"))
    }

    /// Passes of a micro-batch over the trained model, with those over models beside.
    pub(super) fn with_forwards_beside(&self, own: Formula) -> Formula {
        let forward = |model: &ModelBeside| {
            let (rates, shape) = (Rates::new(&model.scenario, &Factors::default()), &model.scenario.model);
            let layers = shape.kinds().map(|(kind, layers)| rates.layer(kind).forward.sum().time * f64::from(layers));
            let ends = if shape.vocab > 0 {
                rates.embedding().forward.time + rates.head().forward.time
            } else {
                Seconds::ZERO
            };
            let time = layers.sum::<Seconds>() + ends;
            input(format!("forwards of the {}", model.role), count(model.forwards, ""), Citation::chosen("method"))
                * input(format!("a forward of the {}", model.role), time, self.calibrated())
        };
        self.scenario.passed_in_step().iter().map(forward).fold(own, |all, one| all + one)
    }

    /// The visits of a pipeline rank's stages, with those of models beside.
    pub(super) fn with_visits_beside(&self, own: Formula) -> Formula {
        match self.listed(|kind| kind == TaskKind::ForwardAlone) {
            Seconds::ZERO => own,
            beside => own + input("visits of models beside", beside, Citation::simulated()),
        }
    }

    /// Flop of a token with those of models beside, where a step passes any.
    pub(super) fn with_flop_beside(&self, own: Formula) -> Formula {
        if !self.scenario.plan.passes_beside() {
            return own;
        }
        let rule = "2 for each parameter that a token meets, and attention once, of each forward alone";
        own + input("flop of models beside", TokenFlop::new(self.scenario).beside, Citation::convention(rule))
    }
}
