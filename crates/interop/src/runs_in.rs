//! The launchers that run a plan as planned, and what each of the others lacks of it.
//!
//! Searches ask this of very many plans: nothing is written, and nothing is put into words before it is asked for. Exports
//! refuse by the same tables ([`super::plans`]).

use std::sync::LazyLock;

use shardscope_engine::scenario::{Checked, Field, Scenario};

use super::fsdp2;
use super::plans::lacks::{AskedPlan, AskedTool};
use super::plans::{LackedField, PlanTarget};

/// A launcher of training, in the newest version that is known.
#[derive(Debug, Clone, Copy)]
pub struct Launcher {
    word: &'static str,
    tool: AskedTool,
}

/// All launchers, in the order of `export --to`.
static ALL: LazyLock<[Launcher; 7]> = LazyLock::new(|| {
    let of = |word, target: PlanTarget| Launcher { word, tool: target.asked(target.versions()[0]) };
    [
        Launcher { word: "fsdp2", tool: fsdp2::ASKED },
        of("accelerate", PlanTarget::Accelerate),
        of("hf-trainer", PlanTarget::Trainer),
        of("deepspeed", PlanTarget::DeepSpeed),
        of("megatron", PlanTarget::Megatron),
        of("torchtitan", PlanTarget::Torchtitan),
        of("torchtune", PlanTarget::Torchtune),
    ]
});

impl Launcher {
    /// All of them.
    pub fn all() -> &'static [Self] {
        ALL.as_slice()
    }

    /// The one of a word of `export --to`.
    pub fn of(word: &str) -> Option<&'static Self> {
        Self::all().iter().find(|launcher| launcher.word == word)
    }

    /// Its word of `export --to`.
    pub const fn word(&self) -> &'static str {
        self.word
    }

    /// What it lacks of a plan: that for which it refuses the plan first, then what it runs otherwise than planned. None where
    /// it takes the plan, or where the plan cannot be laid out.
    pub fn lacks(&self, scenario: &Scenario) -> Vec<LackedField> {
        scenario.checked().map_or_else(|_| Vec::new(), |job| self.tool.lacks(&AskedPlan::new(job)).collect())
    }

    /// Whether it runs a plan as planned.
    pub fn takes(&self, plan: &LaunchedPlan<'_>) -> bool {
        self.tool.lacks(&plan.0).next().is_none()
    }

    /// Whether it lacks the value that a plan has of a field, whatever the plan's other fields say: a search may drop the
    /// value before it combines it with others of the same model, cluster and stack.
    pub fn lacks_alone(&self, field: Field, plan: &LaunchedPlan<'_>) -> bool {
        self.tool.lacks_alone(field, &plan.0)
    }
}

/// A plan that launchers are asked about: made once, and asked of each.
#[derive(Debug)]
pub struct LaunchedPlan<'a>(AskedPlan<'a>);

impl<'a> LaunchedPlan<'a> {
    /// The plan of a scenario.
    pub fn new(job: Checked<'a>) -> Self {
        Self(AskedPlan::new(job))
    }
}

/// The launchers that run a scenario's plan as planned, by their words of `export --to`; none where it cannot be laid out.
pub fn runs_in(scenario: &Scenario) -> Vec<&'static str> {
    let Ok(job) = scenario.checked() else { return Vec::new() };
    let plan = LaunchedPlan::new(job);
    Launcher::all().iter().filter(|launcher| launcher.takes(&plan)).map(Launcher::word).collect()
}

#[cfg(test)]
mod tests;
