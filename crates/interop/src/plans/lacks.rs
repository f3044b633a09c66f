//! What each tool lacks of a plan: which fields its file says, and what it does otherwise. Exports, searches and the nearest
//! plan ask the same table.
//!
//! Not for any tool's own entries, which stand beside its keys, nor for how what it says is written.

use std::borrow::Cow;

use shardscope_engine::plan::{Accumulation, Extent, FrozenEnds, FrozenFormat, GlobalBatch, Plan, Precision};
use shardscope_engine::plan::{Reduction, Sharded, TrainMethod};
use shardscope_engine::scenario::{Checked, Field, Layout, Problem, Value};
use shardscope_engine::stack::Runs;

use super::table::{Says, ToolKey};

/// A plan that a tool is asked about: the values that count in it, and its layout.
#[derive(Debug)]
pub(crate) struct AskedPlan<'a> {
    pub job: Checked<'a>,
    /// In the order of the fields; none where it says nothing of its own.
    values: Vec<(Field, Value)>,
}

/// A tool in a version, and what it lacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedTool {
    /// Its name in sentences.
    pub name: &'static str,
    pub version: &'static str,
    /// The plans that it can run at all; any where it does not matter to it.
    pub runs: Option<&'static Runs>,
    pub table: &'static ToolTable,
}

/// What the file of a tool says, and what the tool does otherwise.
#[derive(Debug)]
pub(crate) struct ToolTable {
    /// Keys that are written, by which fields are said.
    pub keys: &'static [&'static [ToolKey]],
    /// Fields that are said in other ways, or left to who starts the tool; `None` where that is all of them.
    pub also: Option<&'static [&'static [Field]]>,
    pub deviations: &'static [Deviation],
}

/// Something that a tool does otherwise than a plan says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deviation {
    /// The field that another value would help.
    field: Field,
    /// Whether the field's value alone decides, whatever else the plan says.
    alone: bool,
    /// Whether a plan meets it.
    meets: Meets,
    /// What the tool does.
    does: Does,
    /// The way out, where the tool takes no such plan at all.
    fix: Option<fn() -> String>,
}

/// What a tool does instead.
#[derive(Debug, Clone, Copy)]
enum Does {
    /// Behind the field and its value.
    Instead(&'static str),
    /// The same, with figures of the plan and the tool's version.
    InsteadOf(fn(&AskedPlan<'_>, &'static str) -> String),
    /// A whole sentence.
    Sentence(fn(&AskedPlan<'_>, &'static str) -> String),
    /// Nothing.
    Nothing,
}

/// What a tool lacks of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackedField {
    /// The field that another value would help.
    pub field: Field,
    /// What the tool does otherwise, or that it cannot run the plan.
    pub what: String,
    /// The way out where the tool cannot run the plan; `None` where it runs it otherwise than planned.
    pub fix: Option<String>,
}

impl LackedField {
    /// The problem of a plan that the tool refuses for it.
    pub fn into_problem(self) -> Option<Problem> {
        Some(Problem::new(self.field.path(), self.what, self.fix?))
    }
}

/// Whether a plan meets a deviation of a tool's version.
pub(crate) type Meets = fn(&AskedPlan<'_>, &'static str) -> bool;

impl Deviation {
    /// What a tool does otherwise than a field says.
    pub const fn instead(field: Field, meets: Meets, does: &'static str) -> Self {
        Self { field, alone: false, meets, does: Does::Instead(does), fix: None }
    }

    /// The same, with figures of the plan.
    pub const fn instead_of(field: Field, meets: Meets, does: fn(&AskedPlan<'_>, &'static str) -> String) -> Self {
        Self { field, alone: false, meets, does: Does::InsteadOf(does), fix: None }
    }

    /// The same in a sentence that names what is planned.
    pub const fn sentence(field: Field, meets: Meets, does: fn(&AskedPlan<'_>, &'static str) -> String) -> Self {
        Self { field, alone: false, meets, does: Does::Sentence(does), fix: None }
    }

    /// A field that the tool's file does not say in some plans.
    pub const fn unsaid(field: Field, meets: Meets) -> Self {
        Self { field, alone: false, meets, does: Does::Nothing, fix: None }
    }

    /// The field's value alone decides.
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// The tool takes no such plan.
    pub const fn refused(self, fix: fn() -> String) -> Self {
        Self { fix: Some(fix), ..self }
    }
}

/// Fields that a tool's file says though they are as usual: tools have other defaults.
const STATED: [Field; 10] = [
    Field::MicroBatch,
    Field::Accumulate,
    Field::Recompute,
    Field::Optimizer,
    Field::LoraRank,
    Field::LoraTargets,
    Field::Offload,
    Field::Epochs,
    Field::Prefetch,
    Field::Reduction,
];

/// What no file of a run says: the length of its sequences and of itself, its price, the count of its flop, and what is
/// assumed of the machine and of the data.
const NOT_OF_A_FILE: [Field; 10] = [
    Field::Sequence,
    Field::Tokens,
    Field::Examples,
    Field::Epochs,
    Field::Packing,
    Field::Price,
    Field::FlopCount,
    Field::Bandwidth,
    Field::Memory,
    Field::Imbalance,
];

impl<'a> AskedPlan<'a> {
    /// A scenario's plan, that can be laid out.
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

    /// What a field says; `None` where it says nothing of its own.
    pub fn value(&self, field: Field) -> Option<&Value> {
        self.values.iter().find(|(own, _)| *own == field).map(|(_, value)| value)
    }

    /// All fields that say something of their own.
    pub fn values(&self) -> impl Iterator<Item = &(Field, Value)> {
        self.values.iter()
    }

    /// Stages of the whole pipeline; 1 without one.
    pub fn stages(&self) -> u32 {
        match self.layout().pipeline {
            1 => 1,
            ranks => ranks * self.plan().virtual_stages(),
        }
    }

    /// How the state is sharded, as nearly as one count of ranks says it.
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

    /// The same as FSDP2 does it: weights lie with what is sharded, over whole groups of context-parallel ranks.
    pub fn fsdp2_shards(&self) -> Shards {
        let shards = self.shards();
        let (context, group) = (self.layout().context, self.layout().group());
        match shards.first {
            None if context > 1 => Shards { first: Some(Sharded::Weights), over: context, copies: group / context },
            _ if shards.over.is_multiple_of(context) => shards,
            _ => Shards { over: group, copies: 1, ..shards },
        }
    }

    /// Whether a field of an unusual value would go unsaid.
    fn counts(&self, field: Field, value: &Value) -> bool {
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

/// What a job says of a field of its plan; `None` where it is as usual, or changes nothing.
fn says(field: Field, job: &Checked<'_>) -> Option<Value> {
    let (plan, layout) = (&job.plan, job.layout());
    let sharding = &plan.sharding;
    match field {
        // As the layout has it, not as the file does: two ways of saying one plan are written alike.
        Field::Nodes => return None,
        Field::Devices => return Some(layout.devices.into()),
        Field::GlobalBatch => {
            // More than the field itself could hold is still said.
            let sequences = job.sequences();
            return Some(GlobalBatch::sequences(sequences).map_or(Value::Number(sequences), Value::Batch));
        }
        Field::Train if plan.tuning.freezes() => {
            let four_bits = plan.tuning.frozen_format() == FrozenFormat::Nf4;
            return Some(if four_bits { TrainMethod::Qlora } else { TrainMethod::Lora }.into());
        }
        Field::FrozenEnds if job.model.frozen_layers == 0 && plan.tuning.ends == Some(FrozenEnds::None) => return None,
        Field::Schedule if layout.pipeline > 1 => return Some(plan.effective_schedule().into()),
        Field::Reshard => return (layout.weights > 1).then(|| sharding.reshard_after_forward.into()),
        // What is quantised travels only where it is sharded.
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
    // What is as it usually is needs no word, but where tools have other defaults. An offload that is idle moves the state
    // all the same, or is noted by the tool that cannot say it.
    let stated = STATED.contains(&field) || field.usual() != Some(&value);
    (stated && (field == Field::Offload || field.idle_in(plan).is_none())).then_some(value)
}

/// How the state is sharded: from which part on, and over how many ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shards {
    /// The first part that is sharded; `None` is `ddp`.
    pub first: Option<Sharded>,
    /// Ranks that share it.
    pub over: u32,
    /// How many copies of it there are.
    pub copies: u32,
}

/// One count of ranks for all that is sharded.
pub(crate) const ONE_EXTENT: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| {
        let Layout { weights, gradients, optimizer, .. } = *asked.layout();
        [weights, gradients].into_iter().any(|ranks| ranks != 1 && ranks != optimizer)
    },
    |asked, _| {
        let Layout { weights, gradients, optimizer, .. } = *asked.layout();
        format!(
            "weights over {weights}, gradients over {gradients}, optimizer state over {optimizer} ranks: there is one extent \
             for all, and {optimizer} is written"
        )
    },
);

/// Weights lie with gradients and optimizer state.
pub(crate) const WEIGHTS_TOO: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| matches!(asked.shards().first, Some(Sharded::Optimizer | Sharded::Gradients)),
    |_, _| "FSDP2 shards weights with what is sharded: they are gathered once and kept".to_owned(),
);

/// Whether gradients are summed over copies of the shards, once a step or at each of several micro-batches; `None` where there
/// are no copies, or no micro-batches to sum apart.
pub(crate) fn sums_each_micro_batch(asked: &AskedPlan<'_>) -> Option<bool> {
    let (plan, shards) = (asked.plan(), asked.shards());
    let apart = plan.accumulate > 1 && !plan.staged() && plan.reduction != Reduction::Step;
    let copied = shards.first.is_some() && shards.copies > 1;
    (apart && copied).then(|| plan.sums_each_micro_batch(plan.reduction))
}

/// Sums over copies come with the shards' own.
pub(crate) const SUMS_EACH: Deviation = Deviation::instead(
    Field::Reduction,
    |asked, _| sums_each_micro_batch(asked) == Some(false),
    "FSDP2 sums gradients over the copies at each micro-batch",
);

/// Shards hold whole groups of context-parallel ranks.
pub(crate) const WHOLE_CONTEXT: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| asked.layout().context > 1 && !asked.shards().over.is_multiple_of(asked.layout().context),
    |asked, _| {
        let (context, shards) = (asked.layout().context, asked.shards());
        match shards.first {
            None => format!("FSDP2 shards over the {context} context-parallel ranks, which hold copies here"),
            Some(_) => format!("shards over {} ranks: FSDP2's hold all {context} context-parallel ranks", shards.over),
        }
    },
);

impl AskedTool {
    /// Each part of a plan that the tool lacks: for which it refuses it first, then what it runs otherwise. Nothing is put
    /// into words before it is asked for.
    pub fn lacks<'a>(&'a self, asked: &'a AskedPlan<'a>) -> impl Iterator<Item = LackedField> + 'a {
        let runs = self.runs.into_iter().flat_map(move |runs| asked.job.lacks_of(self.name, runs));
        let refused = runs.map(|(field, problem)| LackedField { field, what: problem.what, fix: Some(problem.fix) });
        let deviations = self.table.deviations.iter().filter(|deviation| (deviation.meets)(asked, self.version));
        let deviations = deviations.map(move |deviation| {
            let value = || asked.value(deviation.field).cloned().or_else(|| deviation.field.value(&asked.job));
            let named = |does: &str| {
                let value = value().map_or_else(String::new, |value| value.to_string());
                format!("{} {value}: {does}", deviation.field.key())
            };
            let what = match deviation.does {
                Does::Instead(does) => named(does),
                Does::InsteadOf(does) => named(&does(asked, self.version)),
                Does::Sentence(does) => does(asked, self.version),
                Does::Nothing => named(&self.unsupported()),
            };
            LackedField { field: deviation.field, what, fix: deviation.fix.map(|fix| fix()) }
        });
        let unsaid = asked.values().filter_map(move |(field, value)| {
            let what = match self.says(*field, value, asked) {
                Says::AsPlanned => return None,
                Says::Otherwise(does) => Cow::from(does),
                Says::Nothing if !asked.counts(*field, value) => return None,
                Says::Nothing => Cow::from(self.unsupported()),
            };
            Some(LackedField { field: *field, what: format!("{} {value}: {what}", field.key()), fix: None })
        });
        refused.chain(deviations).chain(unsaid)
    }

    /// Whether the tool refuses the value that a job has of a field, or runs it otherwise, whatever the job's other fields
    /// say.
    pub fn lacks_alone(&self, field: Field, asked: &AskedPlan<'_>) -> bool {
        let refused = || self.runs.is_some_and(|runs| field.is_lacked(&asked.job, runs));
        let met = |deviation: &Deviation| {
            deviation.alone && deviation.field == field && (deviation.meets)(asked, self.version)
        };
        let unsaid = |value: &Value| match self.says(field, value, asked) {
            Says::AsPlanned => false,
            Says::Otherwise(_) => true,
            Says::Nothing => asked.counts(field, value),
        };
        let unsaid = || field.counts_alone() && asked.value(field).is_some_and(unsaid);
        refused() || self.table.deviations.iter().any(met) || unsaid()
    }

    /// How the tool's file says the value of a field.
    fn says(&self, field: Field, value: &Value, asked: &AskedPlan<'_>) -> Says {
        let is_also = |also: &[&[Field]]| also.iter().any(|fields| fields.contains(&field));
        if self.table.also.is_none_or(is_also) {
            return Says::AsPlanned;
        }
        let keys = self.table.keys.iter().copied().flatten();
        keys.map(|key| key.means.says(field, value, asked.plan()))
            .find(|says| *says != Says::Nothing)
            .unwrap_or(Says::Nothing)
    }

    fn unsupported(&self) -> String {
        format!("not supported by {}", self.name)
    }
}

/// Operators of one kind lie alike in all layers.
pub(crate) const ALIKE: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| !asked.plan().operators.is_empty(),
    |_, _| "operators that lie apart: all layers are treated alike".to_owned(),
);
