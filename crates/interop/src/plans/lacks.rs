//! What each tool lacks of a plan: which fields its file says, and what it does otherwise. Exports, searches and the nearest
//! plan ask the same table.
//!
//! Not for any tool's own entries, which stand beside its keys, nor for how what it says is written.

use std::borrow::Cow;

use shardscope_engine::scenario::{Field, Value};
use shardscope_engine::stack::Runs;

use super::asked::AskedPlan;
use super::deviation::{Deviation, LackedField};
use super::table::{Means, Says, ToolKey};

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
    /// Keys that are only read.
    pub others: &'static [ToolKey],
    /// What the tool does otherwise as a whole, beside what is lost with its keys.
    pub deviations: &'static [Deviation],
}

impl ToolTable {
    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = ToolKey> {
        self.keys.iter().copied().flatten().copied()
    }

    /// The names of keys that say something of a plan.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys().chain(self.others.iter().copied());
        keys.flat_map(|key| match key.means {
            Means::Nothing(_) | Means::Left(..) | Means::Rest => Vec::new(),
            Means::Codec(codec) => codec.names.to_vec(),
            _ => vec![key.name],
        })
    }

    /// What the tool does otherwise.
    fn deviations(&self) -> impl Iterator<Item = &'static Deviation> {
        let lost =
            self.keys().filter_map(|key| if let Means::Codec(codec) = key.means { Some(codec.lost) } else { None });
        self.deviations.iter().chain(lost.flatten())
    }
}

impl AskedTool {
    /// Each part of a plan that the tool lacks: for which it refuses it first, then what it runs otherwise. Nothing is put
    /// into words before it is asked for.
    pub fn lacks<'a>(&'a self, asked: &'a AskedPlan<'a>) -> impl Iterator<Item = LackedField> + 'a {
        let runs = self.runs.into_iter().flat_map(move |runs| asked.job.lacks_of(self.name, runs));
        let refused = runs.map(|(field, problem)| LackedField { field, what: problem.what, fix: Some(problem.fix) });
        let met = self.table.deviations().filter(|deviation| deviation.is_met(asked, self.version));
        let deviations = met.map(|deviation| deviation.in_words(asked, self.version, || self.unsupported()));
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
        let met = || self.table.deviations().any(|deviation| deviation.is_met_alone(field, asked, self.version));
        let unsaid = |value: &Value| match self.says(field, value, asked) {
            Says::AsPlanned => false,
            Says::Otherwise(_) => true,
            Says::Nothing => asked.counts(field, value),
        };
        let unsaid = || field.counts_alone() && asked.value(field).is_some_and(unsaid);
        refused() || met() || unsaid()
    }

    /// How the tool's file says the value of a field.
    fn says(&self, field: Field, value: &Value, asked: &AskedPlan<'_>) -> Says {
        let said = self.table.keys().map(|key| key.means.says(field, value, asked.plan()));
        said.into_iter().find(|says| *says != Says::Nothing).unwrap_or(Says::Nothing)
    }

    fn unsupported(&self) -> String {
        format!("not supported by {}", self.name)
    }
}
