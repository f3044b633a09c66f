//! A scenario with its figures, and the figures that relations speak of.

use std::sync::LazyLock;

use shardscope_engine::evaluate::{ErrorBand, Expense, FailureForecast, Summary, Workspace, summary};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::{self, ScenarioFile};
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_library::command;

use super::Change;
use super::verdict::{Verdict, equal, holds};

pub static LIBRARY: LazyLock<Library> = LazyLock::new(shardscope_presets::library);

pub struct Run {
    pub scenario: Scenario,
    pub summary: Summary,
}

impl Run {
    /// `None` where a scenario is refused.
    pub fn new(scenario: Scenario, workspace: &mut Workspace) -> Option<Self> {
        let summary = summary(&scenario, workspace).ok()?;
        Some(Self { scenario, summary })
    }

    /// The run after a change.
    pub fn changed(&self, change: Change, workspace: &mut Workspace) -> Option<Self> {
        let mut scenario = self.scenario.clone();
        change(&mut scenario);
        if scenario == self.scenario {
            return Some(Self { scenario, summary: self.summary });
        }
        Self::new(scenario, workspace)
    }

    pub fn step(&self) -> f64 {
        self.summary.step_time.get()
    }

    /// The memory that a device must have.
    pub fn memory(&self) -> f64 {
        self.summary.memory.needed().get()
    }

    pub fn band(&self) -> Option<ErrorBand> {
        ErrorBand::of_summary(&self.scenario, &self.summary, None)
    }

    pub fn expense(&self) -> Option<Expense> {
        Some(Expense::new(self.scenario.plan.length()?, &self.summary, &self.scenario))
    }

    pub fn days(&self) -> f64 {
        self.expense().map_or(f64::NAN, |expense| expense.time.days())
    }

    pub fn forecast(&self) -> Option<FailureForecast> {
        FailureForecast::new(&self.scenario, self.summary.step_time)
    }

    /// Whether a command line says it.
    pub fn has_command(&self) -> bool {
        command::eval(&LIBRARY, &self.scenario).is_some()
    }

    /// What its command line says.
    pub fn said_again(&self) -> Result<Scenario, String> {
        let line = command::eval(&LIBRARY, &self.scenario).ok_or("no command")?;
        let words = shlex::split(&line).ok_or("no command of a shell")?;
        let mut file = file::parse(&LIBRARY.scenario_text("default").unwrap().text).unwrap();
        // As the command does where a model is named.
        file.plan.put(Field::Tokens, None);
        let mut words = words.iter().skip(2).flat_map(|word| word.splitn(2, '='));
        while let (Some(flag), Some(value)) = (words.next(), words.next()) {
            file.set(flag.trim_start_matches("--"), value).map_err(|problem| format!("{problem} in {line}"))?;
        }
        resolved(&file)
    }

    /// What its file says.
    pub fn read_again(&self) -> Result<Scenario, String> {
        let file = file::parse(&self.toml()).map_err(|error| error.to_string())?;
        resolved(&file)
    }

    pub fn toml(&self) -> String {
        LIBRARY.file(&self.scenario).to_toml().unwrap()
    }

    /// Its figures, and its file.
    pub fn shown(&self) -> String {
        let Summary { fits, step_time, time, memory, .. } = &self.summary;
        format!("# fits {fits}, {step_time:?}, {time:?}\n# {memory:?}\n{}", self.toml())
    }

    /// The same in every figure as another scenario in a workspace of its own.
    pub fn has_figures_of(&self, other: &Scenario) -> Verdict {
        self.has_figures(&summary(other, &mut Workspace::default()).map_err(|problems| format!("{problems:?}"))?)
    }

    pub fn has_figures(&self, figures: &Summary) -> Verdict {
        holds(*figures == self.summary, || format!("{figures:?} is not {:?}", self.summary))
    }
}

fn resolved(file: &ScenarioFile) -> Result<Scenario, String> {
    LIBRARY.resolve(file).map_err(|problems| format!("{problems:?}"))
}

/// The same step, and the same memory.
pub fn same(one: &Run, other: &Run) -> Verdict {
    equal("step", other.step(), one.step()).and(equal("memory", other.memory(), one.memory()))
}
