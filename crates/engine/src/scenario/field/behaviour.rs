//! What a plan's fields need of the program that runs it, and which of them change nothing: what the entries say, asked of
//! a plan.

use std::borrow::Cow;

use crate::plan::Plan;
use crate::scenario::Checked;
use crate::stack::Runs;

use super::{Field, Lack, Need};

/// A field whose value changes nothing in its plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    /// Which field it is, as the table names it.
    pub field: Field,
    /// Why it changes nothing.
    pub why: Cow<'static, str>,
    /// The change that would give it an effect.
    pub fix: &'static str,
}

impl Idle {
    /// All of a plan. Usual values are among them: where there is no pipeline, its schedule never counts, whether somebody
    /// chose it or not.
    pub fn all(plan: &Plan) -> Vec<Self> {
        Field::all().filter_map(|field| field.idle_in(plan)).collect()
    }
}

impl Field {
    /// Why its value changes nothing in a plan; `None` where it counts.
    pub fn idle_in(self, plan: &Plan) -> Option<Idle> {
        let rule = self.spec().idle.iter().flatten().find(|rule| (rule.is)(plan))?;
        Some(Idle { field: self, why: rule.why.of_plan(plan), fix: rule.fix })
    }

    /// Whether its value counts in every plan, and alone says what the plan is.
    pub fn counts_alone(self) -> bool {
        let of_several = matches!(self, Self::Reduction | Self::Accumulation | Self::Schedule | Self::FrozenEnds);
        !of_several && !self.is_in_sharding() && self.spec().idle.iter().all(Option::is_none)
    }

    /// Whether a program has the feature that other values than the default need; true where they need none.
    pub(crate) fn is_offered(self, runs: &Runs) -> bool {
        !matches!(self.spec().need, Some(Need::Feature(feature, ..)) if !runs.has(feature))
    }

    /// Whether what it needs follows from its value alone.
    pub(in crate::scenario) const fn is_needed_alone(self) -> bool {
        // Without a pipeline no schedule counts, without context ranks no kind of theirs, and no modules count but under
        // selective recompute.
        let of_several = matches!(self, Self::Schedule | Self::ContextKind | Self::RecomputeModules);
        !of_several && matches!(self.spec().need, Some(Need::Feature(_, _, None) | Need::Listed(_)))
    }

    /// What a program lacks for the field's value in a job; `None` where it runs it.
    pub(in crate::scenario) fn lack(self, job: &Checked<'_>, runs: &Runs) -> Option<Lack> {
        match self.spec().need? {
            Need::Listed(lack) => lack(&job.plan, runs),
            Need::Feature(feature, what, used) => {
                let differs = || self.value(job).as_ref() != self.usual();
                let lacks = !runs.has(feature) && used.map_or_else(differs, |used| used(job));
                lacks.then(|| Lack { what: what.of_plan(&job.plan), known: String::new() })
            }
        }
    }
}
