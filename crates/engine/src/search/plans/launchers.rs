//! Launchers: programs that start a plan. Which there are, and what they lack, is data that a search is given; it neither
//! knows their names nor their keys.

use std::fmt;

use crate::scenario::{Edit, Field, Scenario, Value};

/// Launchers of which one is to take each plan of a search; any plan will do where none is named.
#[derive(Clone)]
pub struct Launchers {
    /// As the functions below know them.
    pub names: Vec<&'static str>,
    /// Whether one of those named takes a plan.
    pub take: fn(&[&'static str], &Scenario) -> bool,
    /// The fields whose values the one named lacks in a plan; none where it takes the plan.
    pub lacks: fn(&'static str, &Scenario) -> Vec<Field>,
    /// Whether all of those named lack the value that a plan has of a field, whatever its other fields say.
    pub lack_alone: fn(&[&'static str], &Scenario, Field) -> bool,
}

impl Launchers {
    /// Those of them that a test of each keeps.
    pub(super) fn only(&self, keeps: impl Fn(&'static str) -> bool) -> Self {
        Self { names: self.names.iter().copied().filter(|name| keeps(name)).collect(), ..self.clone() }
    }

    /// Whether one of them takes a plan.
    pub fn take(&self, scenario: &Scenario) -> bool {
        self.names.is_empty() || (self.take)(&self.names, scenario)
    }

    /// Whether one of them may take a job's plans with a value of a field: a value that all lack, whatever stands beside it,
    /// is dropped before it is combined with others.
    pub(super) fn may_take(&self, job: &Scenario, field: Field, value: Value) -> bool {
        let mut with = job.clone();
        let edit = Edit { field, value };
        self.names.is_empty() || edit.apply(&mut with).is_err() || !(self.lack_alone)(&self.names, &with, field)
    }
}

impl Default for Launchers {
    fn default() -> Self {
        Self { names: Vec::new(), take: |_, _| true, lacks: |_, _| Vec::new(), lack_alone: |_, _, _| false }
    }
}

impl fmt::Debug for Launchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.names.fmt(f)
    }
}

impl PartialEq for Launchers {
    fn eq(&self, other: &Self) -> bool {
        self.names == other.names
    }
}
