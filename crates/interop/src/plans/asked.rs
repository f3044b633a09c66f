//! A plan as tools are asked about it: the values that matter, and how its state is sharded.
//!
//! Knows no tool's answer.

use shardscope_engine::plan::{Accumulation, BesideModel, Extent, FrozenEnds, GlobalBatch, Plan, Precision};
use shardscope_engine::plan::{Reduction, Sharded, TrainMethod};
use shardscope_engine::scenario::{Checked, Field, Layout, Value};

/// A plan that a tool is asked about: the values that matter, and its layout.
#[derive(Debug)]
pub(crate) struct PlanQuery<'a> {
    pub job: Checked<'a>,
    /// In the order of the fields; those that need not be stated are left out.
    values: Vec<(Field, Value)>,
}

/// Fields that a tool's file states even at their default: tools have other defaults.
const STATED: [Field; 11] = [
    Field::MicroBatch,
    Field::Accumulate,
    Field::Recompute,
    Field::Optimizer,
    Field::LoraRank,
    Field::LoraTargets,
    Field::LoraDropout,
    Field::Offload,
    Field::Epochs,
    Field::Prefetch,
    Field::Reduction,
];

/// Fields that no run's file states: sequence length, length and price of the run, counting of flop, and assumptions on
/// machine and data.
const NOT_OF_A_FILE: [Field; 11] = [
    Field::Sequence,
    Field::Tokens,
    Field::Examples,
    Field::Epochs,
    Field::Packing,
    Field::ResponseMax,
    Field::Price,
    Field::FlopCount,
    Field::Bandwidth,
    Field::Memory,
    Field::Imbalance,
];

impl<'a> PlanQuery<'a> {
    /// Collects the values of a scenario that can be laid out.
    pub fn new(job: Checked<'a>) -> Self {
        let values =
            Field::all().filter(|field| field.is_in_plan()).filter_map(|field| Some((field, says(field, &job)?)));
        Self { values: values.collect(), job }
    }

    pub fn plan(&self) -> &Plan {
        &self.job.plan
    }

    pub fn layout(&self) -> &Layout {
        self.job.layout()
    }

    /// A field's value; `None` if it need not be stated.
    pub fn value(&self, field: Field) -> Option<&Value> {
        self.values.iter().find(|(own, _)| *own == field).map(|(_, value)| value)
    }

    /// All fields that need to be stated.
    pub fn values(&self) -> impl Iterator<Item = &(Field, Value)> {
        self.values.iter()
    }

    /// Pipeline stages, virtual ones included; 1 without a pipeline.
    pub fn stages(&self) -> u32 {
        match self.layout().pipeline {
            1 => 1,
            ranks => ranks * self.plan().virtual_stages(),
        }
    }

    /// How the state is sharded, as nearly as one number of ranks can say.
    pub fn shards(&self) -> Shards {
        let Layout { weights, gradients, optimizer: over, .. } = *self.layout();
        let first = match (weights, gradients, over) {
            (1, 1, 1) => None,
            (1, 1, _) => Some(Sharded::Optimizer),
            (1, ..) => Some(Sharded::Gradients),
            _ => Some(Sharded::Weights),
        };
        Shards { first, over, copies: self.layout().group() / over }
    }

    /// How FSDP2 shards it: weights along with the rest, over whole groups of context-parallel ranks.
    pub fn fsdp2_shards(&self) -> Shards {
        let shards = self.shards();
        let (context, group) = (self.layout().context, self.layout().group());
        match shards.first {
            None if context > 1 => Shards { first: Some(Sharded::Weights), over: context, copies: group / context },
            _ if shards.over.is_multiple_of(context) => shards,
            _ => Shards { over: group, copies: 1, ..shards },
        }
    }

    /// True if a field's value would be lost in a file without it.
    pub fn counts(&self, field: Field, value: &Value) -> bool {
        let plan = self.plan();
        match field {
            field if NOT_OF_A_FILE.contains(&field) => false,
            Field::Reshard => *value == Value::Switch(false),
            Field::Reduction => plan.reduction != Reduction::Default && plan.accumulate > 1,
            Field::Accumulation => plan.accumulation == Accumulation::Layered && plan.accumulate > 1,
            Field::Precision => plan.precision != Precision::Bf16,
            Field::Accumulate
            | Field::GlobalBatch
            | Field::Devices
            | Field::MicroBatch
            | Field::Qwz
            | Field::Qgz
            | Field::Hpz => true,
            _ => field.usual() != Some(value),
        }
    }
}

/// The value of a plan's field that needs to be stated; `None` if it is the default, or changes nothing.
fn says(field: Field, job: &Checked<'_>) -> Option<Value> {
    let (plan, layout) = (&job.plan, job.layout());
    let sharding = &plan.sharding;
    match field {
        // Taken from the layout: two ways to state one plan are written alike.
        Field::Nodes => return None,
        Field::Devices => return Some(layout.devices.into()),
        Field::GlobalBatch => {
            // A batch beyond the field's range is still stated.
            let sequences = job.sequences();
            return Some(GlobalBatch::sequences(sequences).map_or(Value::Number(sequences), Value::Batch));
        }
        Field::Train if plan.tuning.freezes() => {
            return Some(
                if plan.tuning.frozen_format().has_four_bits() { TrainMethod::Qlora } else { TrainMethod::Lora }.into(),
            );
        }
        Field::FrozenEnds if job.model.frozen_layers == 0 && plan.tuning.ends == Some(FrozenEnds::None) => return None,
        Field::Reference if plan.reference() == usual_reference(plan) => return None,
        Field::Schedule if layout.pipeline > 1 => return Some(plan.effective_schedule().into()),
        Field::Reshard => return (layout.weights > 1).then(|| sharding.reshard_after_forward.into()),
        // Only sharded state travels, quantised or not.
        Field::Qwz => return (sharding.wire.weights.quantised() && layout.weights > 1).then(|| true.into()),
        Field::Qgz => return (sharding.wire.gradients.quantised() && layout.gradients > 1).then(|| true.into()),
        Field::Hpz => {
            let ranks = layout.secondary.filter(|ranks| *ranks > 1 && layout.weights > 1)?;
            return Some(Extent::Ranks(ranks).into());
        }
        field if field.is_in_sharding() => return None,
        _ => {}
    }
    let value = field.value(job)?;
    // Defaults are left out, unless tools have other ones. An idle offload still moves the state, or the tool that
    // cannot state it notes that.
    let stated = STATED.contains(&field) || field.usual() != Some(&value);
    (stated && (field == Field::Offload || field.idle_in(plan).is_none())).then_some(value)
}

/// The default reference of a method: a copy of the model, or with adapters the frozen weights.
fn usual_reference(plan: &Plan) -> BesideModel {
    if plan.tuning.freezes() { BesideModel::AdaptersOff } else { BesideModel::Resident }
}

/// How the state is sharded: the first sharded part, and the number of ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    /// The first part that is sharded; `None` is `ddp`.
    pub first: Option<Sharded>,
    /// Ranks over which the state is sharded.
    pub over: u32,
    /// Number of copies of the shards.
    pub copies: u32,
}
