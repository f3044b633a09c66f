//! A plan for PyTorch's FSDP2: what is sharded over how many ranks, split and computed again, module by module.
//!
//! [`Fsdp2Spec`] is a readable JSON; [`LOADER`] is a Python file that applies it. Paths are those of a Llama as
//! torchtitan or Hugging Face name them; whoever has another model fixes them in the JSON. What FSDP2 cannot do as planned is marked
//! as not exact, with the reason.

mod modules;
mod names;
mod spec;

use crate::FileText;
use shardscope_engine::plan::{Accumulation, Format, Plan};
use shardscope_engine::scenario::{Problem, Scenario};

pub use names::Names;
pub use spec::Fsdp2Spec;
pub use spec::{FORMAT, Module, Reduce, Reshard};

/// The Python file that applies a specification.
pub const LOADER: &str = include_str!("fsdp2.py");

/// The version of PyTorch that it is for.
pub const VERSION: &str = "2.15.0";

impl Fsdp2Spec {
    /// The files that apply it, by their usual names: the specification first.
    pub fn files(&self) -> Result<[(&'static str, FileText); 2], String> {
        Ok([("fsdp2.json", FileText::json(self)?), ("fsdp2.py", FileText::own(LOADER))])
    }
}

/// The specification of a scenario, or why it cannot be for FSDP2.
pub(crate) fn specify(scenario: &Scenario, names: Names) -> Result<Fsdp2Spec, Vec<Problem>> {
    let layout = scenario.layout()?;
    let plan = &scenario.plan;
    let alone = [("tensor", layout.tensor), ("context", layout.context), ("pipeline", layout.pipeline)];
    let problems: Vec<Problem> =
        alone.into_iter().filter(|(_, ranks)| *ranks > 1).map(|(name, _)| not_alone(name)).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let wire = plan.sharding.wire;
    let reduce = scenario.reduction_format(wire.gradients);
    let (modules, mut notes) = modules::modules(scenario, &layout, names);
    if wire.weights.quantised() || wire.gradients.quantised() {
        notes.push("FSDP2 does not quantise what travels: it moves more bytes than planned".to_owned());
    }
    if plan.precision.is_low() {
        notes.push("FSDP2 does not compute in fp8 by itself: the layers stay in bf16".to_owned());
    }
    if plan.offload.optimizer() != plan.offload.state() || plan.offload.checkpoints() {
        notes.push("of what lives on the host only the whole state is taken over".to_owned());
    }
    if plan.accumulation == Accumulation::Layered && plan.accumulate > 1 {
        notes.push(
            "FSDP2 takes micro-batches one after the other, not layer by layer: it moves the state for each of them"
                .to_owned(),
        );
    }
    Ok(Fsdp2Spec {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        scenario: scenario.name.clone(),
        ranks: layout.devices,
        param_dtype: dtype(plan.precision.storage(), plan).to_owned(),
        reduce_dtype: dtype(plan.precision.wire(reduce), plan).to_owned(),
        offload: plan.offload.state(),
        micro_batch: plan.micro_batch,
        accumulate: plan.accumulate,
        sequence: plan.sequence,
        layer_path: names.layer().to_owned(),
        modules,
        notes,
    })
}

fn not_alone(name: &str) -> Problem {
    Problem {
        field: format!("plan.{name}"),
        what: format!("FSDP2 shards data-parallel ranks alone, and {name} parallelism is not exported"),
        fix: "choose 1".to_owned(),
    }
}

/// PyTorch's name of a format; what it has none for travels in the storage format.
fn dtype(format: Format, plan: &Plan) -> &'static str {
    match format {
        Format::Fp32 => "float32",
        Format::Bf16 => "bfloat16",
        Format::Fp16 => "float16",
        Format::Fp8 | Format::Fp4 | Format::Int8 | Format::Int4 => dtype(plan.precision.storage(), plan),
    }
}

#[cfg(test)]
mod tests;
