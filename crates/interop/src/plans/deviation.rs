//! Deviations of tools from plans: the type, and those that several tools share.
//!
//! Each tool's table lists its own.

use shardscope_engine::plan::{Reduction, Sharded};
use shardscope_engine::scenario::{Field, Layout, Problem};

use super::asked::PlanQuery;

/// One way in which a tool deviates from a plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deviation {
    /// The field to change.
    field: Field,
    /// True if this field's value alone decides.
    alone: bool,
    /// True for plans that the deviation applies to.
    meets: DeviationTest,
    /// What the tool does instead.
    does: DeviationText,
    /// The fix, if the tool refuses such plans.
    fix: Option<fn() -> String>,
}

/// What a tool does instead.
#[derive(Debug, Clone, Copy)]
enum DeviationText {
    /// Text after the field and its value.
    Instead(&'static str),
    /// Such a text, with figures of the plan and the tool's version.
    InsteadOf(fn(&PlanQuery<'_>, &'static str) -> String),
    /// A whole sentence.
    Sentence(fn(&PlanQuery<'_>, &'static str) -> String),
    /// No text: the caller gives one.
    Nothing,
}

/// A field of a plan that a tool lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedField {
    /// The field to change.
    pub field: Field,
    /// What the tool does instead, or that it cannot run the plan.
    pub what: String,
    /// The fix if the tool cannot run the plan; `None` if it runs it differently.
    pub fix: Option<String>,
}

impl UnsupportedField {
    /// The problem, if the tool refuses the plan.
    pub fn into_problem(self) -> Option<Problem> {
        Some(Problem::new(self.field.path(), self.what, self.fix?))
    }
}

/// True if a deviation of a tool's version applies to a plan.
pub(crate) type DeviationTest = fn(&PlanQuery<'_>, &'static str) -> bool;

impl Deviation {
    /// A tool does something other than the field says.
    pub const fn instead(field: Field, meets: DeviationTest, does: &'static str) -> Self {
        Self { field, alone: false, meets, does: DeviationText::Instead(does), fix: None }
    }

    /// As `instead`, with figures of the plan.
    pub const fn instead_of(
        field: Field,
        meets: DeviationTest,
        does: fn(&PlanQuery<'_>, &'static str) -> String,
    ) -> Self {
        Self { field, alone: false, meets, does: DeviationText::InsteadOf(does), fix: None }
    }

    /// As `instead`, in a sentence that names what is planned.
    pub const fn sentence(
        field: Field,
        meets: DeviationTest,
        does: fn(&PlanQuery<'_>, &'static str) -> String,
    ) -> Self {
        Self { field, alone: false, meets, does: DeviationText::Sentence(does), fix: None }
    }

    /// A field that the tool's file cannot state in some plans.
    pub const fn unsaid(field: Field, meets: DeviationTest) -> Self {
        Self { field, alone: false, meets, does: DeviationText::Nothing, fix: None }
    }

    /// Makes the field's value alone decide.
    pub const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Makes the tool refuse such plans.
    pub const fn refused(self, fix: fn() -> String) -> Self {
        Self { fix: Some(fix), ..self }
    }

    /// True if the deviation applies to a plan.
    pub fn is_met(&self, asked: &PlanQuery<'_>, version: &'static str) -> bool {
        (self.meets)(asked, version)
    }

    /// True if the value of `field` alone makes it apply.
    pub fn is_met_alone(&self, field: Field, asked: &PlanQuery<'_>, version: &'static str) -> bool {
        self.alone && self.field == field && self.is_met(asked, version)
    }

    /// The lacked field of a plan that it applies to; `unsupported` is the text where none is known.
    pub fn in_words(
        &self,
        asked: &PlanQuery<'_>,
        version: &'static str,
        unsupported: impl Fn() -> String,
    ) -> UnsupportedField {
        let named = |does: &str| {
            let value = asked.value(self.field).cloned().or_else(|| self.field.value(&asked.job));
            format!("{} {}: {does}", self.field.key(), value.map_or_else(String::new, |value| value.to_string()))
        };
        let what = match self.does {
            DeviationText::Instead(does) => named(does),
            DeviationText::InsteadOf(does) => named(&does(asked, version)),
            DeviationText::Sentence(does) => does(asked, version),
            DeviationText::Nothing => named(&unsupported()),
        };
        UnsupportedField { field: self.field, what, fix: self.fix.map(|fix| fix()) }
    }
}

/// The tool has one number of ranks for everything sharded.
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

/// FSDP2 shards weights along with gradients and optimizer state.
pub(crate) const WEIGHTS_TOO: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| matches!(asked.shards().first, Some(Sharded::Optimizer | Sharded::Gradients)),
    |_, _| "FSDP2 shards weights with what is sharded: they are gathered once and kept".to_owned(),
);

/// True if gradients are summed over copies of the shards at each micro-batch, false if once a step; `None` without
/// copies, or without micro-batches to sum apart.
pub(crate) fn sums_each_micro_batch(asked: &PlanQuery<'_>) -> Option<bool> {
    let (plan, shards) = (asked.plan(), asked.shards());
    let apart = plan.accumulate > 1 && !plan.staged() && plan.reduction != Reduction::Step;
    let copied = shards.first.is_some() && shards.copies > 1;
    (apart && copied).then(|| plan.sums_each_micro_batch(plan.reduction))
}

/// FSDP2 sums over copies whenever it sums over shards.
pub(crate) const SUMS_EACH: Deviation = Deviation::instead(
    Field::Reduction,
    |asked, _| sums_each_micro_batch(asked) == Some(false),
    "FSDP2 sums gradients over the copies at each micro-batch",
);

/// FSDP2's shards span whole groups of context-parallel ranks.
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

/// The tool shards an operator alike in all layers.
pub(crate) const ALIKE: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| !asked.plan().operators.is_empty(),
    |_, _| "operators that lie apart: all layers are treated alike".to_owned(),
);
