//! The launchers that run a plan as planned, and what each of the others lacks.
//!
//! Searches query this for very many plans: nothing is written, and messages are made only on demand. Exports refuse by
//! the same tables ([`super::plans`]).

use std::sync::LazyLock;

use shardscope_engine::scenario::{Checked, Field, Scenario};
use shardscope_engine::search::plans::Launchers;
use shardscope_engine::text::printable;

use super::fsdp2;
use super::plans::asked::PlanQuery;
use super::plans::lacks::AskedTool;
use super::plans::{PlanTarget, UnsupportedField};

/// A training launcher, in the newest known version.
#[derive(Debug, Clone, Copy)]
pub struct Launcher {
    word: &'static str,
    tool: AskedTool,
}

/// All launchers, in the order of `export --to`.
static ALL: LazyLock<Vec<Launcher>> = LazyLock::new(|| {
    let of = |target: PlanTarget| Launcher { word: target.word(), tool: target.asked(target.spec().versions[0]) };
    std::iter::once(Launcher { word: "fsdp2", tool: fsdp2::ASKED }).chain(PlanTarget::launchers().map(of)).collect()
});

impl Launcher {
    /// All launchers.
    pub fn all() -> &'static [Self] {
        ALL.as_slice()
    }

    /// The launcher with a word of `export --to`.
    pub fn named(word: &str) -> Option<&'static Self> {
        Self::all().iter().find(|launcher| launcher.word == word)
    }

    /// The launcher's word of `export --to`.
    pub const fn word(&self) -> &'static str {
        self.word
    }

    /// True if the launcher starts the stack's program: a plan timed for one program is no plan of another.
    fn starts(&self, scenario: &Scenario) -> bool {
        scenario.stack.started_by.as_ref().is_none_or(|words| words.iter().any(|word| word == self.word))
    }

    /// What the launcher lacks of a plan: first the stack's program, then fields for which it refuses the plan, then
    /// deviations. Empty if it takes the plan, or if the plan cannot be laid out.
    pub fn lacks(&self, scenario: &Scenario) -> Vec<UnsupportedField> {
        let Ok(job) = scenario.checked() else { return Vec::new() };
        let other = (!self.starts(scenario)).then(|| UnsupportedField {
            field: Field::Stack,
            what: format!("it does not start {}", printable(&scenario.stack.name)),
            fix: None,
        });
        other.into_iter().chain(self.tool.lacks(&PlanQuery::new(job))).collect()
    }

    /// True if the launcher runs a plan as planned.
    pub fn takes(&self, plan: &LaunchedPlan<'_>) -> bool {
        self.starts(&plan.0.job) && self.tool.lacks(&plan.0).next().is_none()
    }

    /// True if the launcher lacks a field's value, whatever the plan's other fields are: a search may drop the value
    /// before combining it with others of the same model, cluster and stack.
    pub fn lacks_alone(&self, field: Field, plan: &LaunchedPlan<'_>) -> bool {
        self.tool.lacks_alone(field, &plan.0)
    }
}

/// A plan that all launchers are asked about, built once.
#[derive(Debug)]
pub struct LaunchedPlan<'a>(PlanQuery<'a>);

impl<'a> LaunchedPlan<'a> {
    /// The plan of a scenario.
    pub fn new(job: Checked<'a>) -> Self {
        Self(PlanQuery::new(job))
    }
}

/// Launchers that run a scenario's plan as planned, by their words of `export --to`; empty if it cannot be laid out.
pub fn runs_in(scenario: &Scenario) -> Vec<&'static str> {
    let Ok(job) = scenario.checked() else { return Vec::new() };
    let plan = LaunchedPlan::new(job);
    Launcher::all().iter().filter(|launcher| launcher.takes(&plan)).map(Launcher::word).collect()
}

/// The launchers for a search: all of them, or one.
pub fn searched(only: Option<&Launcher>) -> Launchers {
    Launchers {
        names: Launcher::all()
            .iter()
            .map(Launcher::word)
            .filter(|word| only.is_none_or(|only| only.word == *word))
            .collect(),
        take: |names, scenario| {
            let plan = scenario.checked().ok().map(LaunchedPlan::new);
            plan.is_some_and(|plan| named(names).any(|launcher| launcher.takes(&plan)))
        },
        lacks: |name, scenario| {
            let lacks = Launcher::named(name).map_or_else(Vec::new, |launcher| launcher.lacks(scenario));
            lacks.into_iter().map(|lack| lack.field).collect()
        },
        lack_alone: |names, scenario, field| {
            let plan = scenario.checked().ok().map(LaunchedPlan::new);
            plan.is_some_and(|plan| named(names).all(|launcher| launcher.lacks_alone(field, &plan)))
        },
    }
}

fn named<'a>(names: &'a [&'static str]) -> impl Iterator<Item = &'static Launcher> + 'a {
    names.iter().filter_map(|name| Launcher::named(name))
}

/// What the launcher that lacks the least of a plan lacks: `torchtitan: no reduction step`; `None` if one takes the
/// plan. Launchers that start the stack's program come first.
pub fn missing(scenario: &Scenario) -> Option<String> {
    let lacks = Launcher::all().iter().map(|launcher| (launcher, launcher.lacks(scenario)));
    let (launcher, least) = lacks.min_by_key(|(launcher, lacks)| (!launcher.starts(scenario), lacks.len()))?;
    let what: Vec<String> = least.into_iter().map(|lack| lack.what).collect();
    (!what.is_empty()).then(|| format!("{}: {}", launcher.word, what.join("; ")))
}

#[cfg(test)]
mod tests;
