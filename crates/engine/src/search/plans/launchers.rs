//! Launchers: programs that start a plan. Which there are, and what they lack, is data that a search is given; it neither
//! knows their names nor their keys.

use std::fmt;

use crate::scenario::{Edit, Field, Scenario, Value};

/// What a program that starts plans takes.
#[derive(Clone, Copy)]
pub struct LauncherRules {
    /// The program's name.
    pub name: &'static str,
    /// Whether the launcher of a name takes a plan.
    pub takes: fn(&str, &Scenario) -> bool,
    /// The fields whose values it lacks in a plan; none where it takes the plan.
    pub lacks: fn(&str, &Scenario) -> Vec<Field>,
    /// Whether it lacks the value that a plan has of a field, whatever its other fields say.
    pub lacks_alone: fn(&str, &Scenario, Field) -> bool,
}

impl LauncherRules {
    /// Whether it takes a plan.
    pub fn takes(&self, scenario: &Scenario) -> bool {
        (self.takes)(self.name, scenario)
    }

    /// The fields whose values it lacks in a plan.
    pub fn lacks(&self, scenario: &Scenario) -> Vec<Field> {
        (self.lacks)(self.name, scenario)
    }
}

impl fmt::Debug for LauncherRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for LauncherRules {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Launchers of which one has to take each plan of a search; any plan will do where there is none.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct AnyLauncher(pub Vec<LauncherRules>);

impl AnyLauncher {
    /// Whether one of them takes a plan.
    pub fn take(&self, scenario: &Scenario) -> bool {
        self.0.is_empty() || self.0.iter().any(|launcher| launcher.takes(scenario))
    }

    /// Whether one of them may take a job's plans with a value of a field: a value that all lack, whatever stands beside it,
    /// is dropped before it is combined with others.
    pub fn may_take(&self, job: &Scenario, field: Field, value: Value) -> bool {
        let mut with = job.clone();
        let edit = Edit { field, value };
        if self.0.is_empty() || edit.apply(&mut with).is_err() {
            return true;
        }
        self.0.iter().any(|launcher| !(launcher.lacks_alone)(launcher.name, &with, field))
    }
}
