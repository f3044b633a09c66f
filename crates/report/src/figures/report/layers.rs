//! The section on the kinds of layers, for a model that has several: how many layers each has, and the cost of one.

use serde_json::{Value, json};

use shardscope_engine::cost::{Factors, Rates};
use shardscope_engine::plan::Recompute;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Bytes, Seconds, thousands};

use crate::figures::table::whole;

use super::lines::row;

pub(super) const TITLE: &str = "each layer, by kind";

/// A kind of layer, and the cost of one layer of it.
struct KindOfLayer {
    name: String,
    layers: u32,
    parameters: u64,
    forward: Seconds,
    backward: Seconds,
    /// Activations of a micro-batch that it keeps for the backward pass.
    kept: Bytes,
}

/// The kinds of a model's layers; none where all are alike.
fn kinds(scenario: &Scenario) -> Vec<KindOfLayer> {
    let model = &scenario.model;
    if !model.is_mixed() {
        return Vec::new();
    }
    let rates = Rates::new(scenario, &Factors::default());
    let of_kind = |(kind, layers)| {
        let (work, activations) = (rates.layer(kind), rates.activations(kind));
        let again = scenario.plan.recompute == Recompute::Full;
        KindOfLayer {
            name: kind.name(model),
            layers,
            parameters: model.layer_parameters(kind),
            forward: work.forward.sum().time,
            backward: work.backward.sum().time,
            kept: if again { activations.checkpoint } else { activations.layer },
        }
    };
    model.kinds().map(of_kind).collect()
}

/// A line for each kind.
pub(super) fn rows(scenario: &Scenario) -> Vec<(String, String)> {
    let line = |KindOfLayer { name, layers, parameters, forward, backward, kept }| {
        let parameters = thousands(parameters as f64);
        let value = format!("{parameters} parameters, forward {forward}, backward {backward}, keeps {kept}");
        row(&format!("{layers} x {name}"), value)
    };
    kinds(scenario).into_iter().map(line).collect()
}

/// The kinds for scripts; `None` where all layers are alike.
pub(super) fn json(scenario: &Scenario) -> Option<Value> {
    let entry = |KindOfLayer { name, layers, parameters, forward, backward, kept }| {
        json!({
            "kind": name,
            "layers": layers,
            "parameters": parameters,
            "forward_s": forward.get(),
            "backward_s": backward.get(),
            "activations_bytes": whole(kept),
        })
    };
    let kinds: Vec<Value> = kinds(scenario).into_iter().map(entry).collect();
    (!kinds.is_empty()).then(|| kinds.into())
}
