//! What tools do otherwise than plans say: one deviation, and those that several tools share.
//!
//! Not for which tool has which, which its own table says.

use shardscope_engine::plan::{Reduction, Sharded};
use shardscope_engine::scenario::{Field, Layout, Problem};

use super::asked::AskedPlan;

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

    /// Whether a plan meets it.
    pub fn is_met(&self, asked: &AskedPlan<'_>, version: &'static str) -> bool {
        (self.meets)(asked, version)
    }

    /// Whether the value of a field alone meets it.
    pub fn is_met_alone(&self, field: Field, asked: &AskedPlan<'_>, version: &'static str) -> bool {
        self.alone && self.field == field && self.is_met(asked, version)
    }

    /// What the tool lacks of a plan that meets it; `unsupported` is what it does instead where nothing is known of that.
    pub fn in_words(
        &self,
        asked: &AskedPlan<'_>,
        version: &'static str,
        unsupported: impl Fn() -> String,
    ) -> LackedField {
        let named = |does: &str| {
            let value = asked.value(self.field).cloned().or_else(|| self.field.value(&asked.job));
            format!("{} {}: {does}", self.field.key(), value.map_or_else(String::new, |value| value.to_string()))
        };
        let what = match self.does {
            Does::Instead(does) => named(does),
            Does::InsteadOf(does) => named(&does(asked, version)),
            Does::Sentence(does) => does(asked, version),
            Does::Nothing => named(&unsupported()),
        };
        LackedField { field: self.field, what, fix: self.fix.map(|fix| fix()) }
    }
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

/// Operators of one kind lie alike in all layers.
pub(crate) const ALIKE: Deviation = Deviation::sentence(
    Field::Strategy,
    |asked, _| !asked.plan().operators.is_empty(),
    |_, _| "operators that lie apart: all layers are treated alike".to_owned(),
);
