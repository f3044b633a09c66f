//! Exports a plan to PyTorch's FSDP2: sharding, splits and recomputation, module by module.
//!
//! [`Fsdp2Spec`] is readable JSON; [`LOADER`] is a Python file that applies it. Module paths are those of Llama in
//! torchtitan or Hugging Face; for another model, edit them in the JSON. A module that FSDP2 cannot run as planned is
//! marked as not exact, with the reason.

mod modules;
mod names;
mod spec;

use crate::FileText;
use shardscope_engine::plan::{Accumulation, Format, Offload, Plan};
use shardscope_engine::scenario::{Field, Problem, Scenario};

use super::plans::asked::PlanQuery;
use super::plans::deviation::{Deviation, DeviationTest, UnsupportedField};
use super::plans::lacks::{AskedTool, ToolTable};
use super::plans::table::left_to;

pub use names::Names;
pub use spec::Fsdp2Spec;
pub use spec::{FORMAT, Module, Reduce, Reshard};

/// The Python file that applies a specification.
pub const LOADER: &str = include_str!("fsdp2.py");

/// The version of PyTorch that [`LOADER`] is for.
pub const VERSION: &str = "2.15.0";

impl Fsdp2Spec {
    /// The specification and the loader, under their usual file names.
    pub fn files(&self) -> Result<[(&'static str, FileText); 2], String> {
        Ok([("fsdp2.json", FileText::json(self)?), ("fsdp2.py", FileText::own(LOADER))])
    }
}

/// The specification of a scenario, or the reasons why FSDP2 cannot run it.
pub(crate) fn specify(scenario: &Scenario, names: Names) -> Result<Fsdp2Spec, Vec<Problem>> {
    let asked = PlanQuery::new(scenario.checked()?);
    let (layout, plan) = (*asked.layout(), &scenario.plan);
    let (refused, otherwise): (Vec<UnsupportedField>, Vec<UnsupportedField>) =
        ASKED.lacks(&asked).partition(|lack| lack.fix.is_some());
    if !refused.is_empty() {
        return Err(refused.into_iter().filter_map(UnsupportedField::into_problem).collect());
    }
    let wire = plan.sharding.wire;
    let reduce = scenario.reduction_format(wire.gradients);
    let (modules, of_modules) = modules::modules(scenario, &layout, names);
    // Notes on modules name the path; they replace the plan-wide note on sharding.
    let others = otherwise.into_iter().filter(|lack| lack.field != Field::Strategy || of_modules.is_empty());
    let notes = of_modules.iter().cloned().chain(others.map(|lack| lack.what)).collect();
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

/// The script as a tool, to ask what it lacks of a plan.
pub(crate) const ASKED: AskedTool = AskedTool { name: "fsdp2", version: VERSION, runs: None, table: &TABLE };

const SCRIPT: &str = "the script's own";

/// Fields that the specification states and the script applies, and where FSDP2 deviates.
const TABLE: ToolTable = ToolTable {
    keys: &[&[
        left_to(SCRIPT, &[Field::Recompute, Field::Precision, Field::Offload, Field::Reshard, Field::Hpz]),
        left_to(SCRIPT, &[Field::Reduction, Field::Qwz, Field::Qgz, Field::Accumulation]),
        left_to(SCRIPT, &[Field::Tensor, Field::Context, Field::Pipeline]),
        left_to("the user's own loop", &[Field::MicroBatch, Field::Accumulate, Field::GlobalBatch]),
        left_to("the user's own loop", &[Field::Devices, Field::Optimizer]),
    ]],
    others: &[],
    deviations: &[
        not_alone(Field::Tensor, |asked, _| asked.layout().tensor > 1, |_, _| not_exported("tensor")),
        not_alone(Field::Context, |asked, _| asked.layout().context > 1, |_, _| not_exported("context")),
        not_alone(Field::Pipeline, |asked, _| asked.layout().pipeline > 1, |_, _| not_exported("pipeline")),
        Deviation::sentence(
            Field::Strategy,
            |asked, _| modules::layouts(&asked.job).any(|placed| modules::otherwise(&placed).is_some()),
            |asked, _| {
                modules::layouts(&asked.job).find_map(|it| modules::otherwise(&it)).unwrap_or_default().to_owned()
            },
        ),
        Deviation::sentence(
            Field::Qwz,
            |asked, _| asked.plan().sharding.wire.weights.quantised(),
            |_, _| QUANTISED.to_owned(),
        ),
        Deviation::sentence(
            Field::Qgz,
            |asked, _| {
                let wire = asked.plan().sharding.wire;
                wire.gradients.quantised() && !wire.weights.quantised()
            },
            |_, _| QUANTISED.to_owned(),
        ),
        Deviation::sentence(
            Field::Precision,
            |asked, _| asked.plan().precision.is_low(),
            |_, _| "FSDP2 does not compute in fp8 by itself: the layers stay in bf16".to_owned(),
        )
        .alone(),
        Deviation::sentence(
            Field::Offload,
            |asked, _| !matches!(asked.plan().offload, Offload::None | Offload::State),
            |_, _| "of what lives on the host only the whole state is taken over".to_owned(),
        )
        .alone(),
        Deviation::sentence(
            Field::Accumulation,
            |asked, _| asked.plan().accumulation == Accumulation::Layered && asked.plan().accumulate > 1,
            |_, _| {
                "FSDP2 takes micro-batches one after the other, not layer by layer: it moves the state for each of them"
                    .to_owned()
            },
        ),
    ],
};

const QUANTISED: &str = "FSDP2 does not quantise what travels: it moves more bytes than planned";

/// A kind of parallelism that the script refuses.
const fn not_alone(field: Field, meets: DeviationTest, says: fn(&PlanQuery<'_>, &'static str) -> String) -> Deviation {
    Deviation::sentence(field, meets, says).alone().refused(|| "choose 1".to_owned())
}

fn not_exported(name: &str) -> String {
    format!("FSDP2 shards data-parallel ranks alone, and {name} parallelism is not exported")
}

/// PyTorch's name of a format; formats without one travel in the storage format.
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
