//! What each tool lacks of a plan: fields that its file cannot state, and deviations. Exports, searches and the nearest
//! plan query the same table.
//!
//! Each tool's entries are beside its keys. Writes no files.

use std::borrow::Cow;

use shardscope_engine::scenario::{Field, Value};
use shardscope_engine::stack::Runs;

use super::asked::PlanQuery;
use super::deviation::{Deviation, UnsupportedField};
use super::table::{FieldCoverage, KeyMeaning, ToolKey};

/// A version of a tool, and what it lacks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskedTool {
    /// The tool's name in sentences.
    pub name: &'static str,
    pub version: &'static str,
    /// The plans that the tool can run at all; `None` for no limit.
    pub runs: Option<&'static Runs>,
    pub table: &'static ToolTable,
}

/// The keys of a tool's file, and the tool's deviations from plans.
#[derive(Debug)]
pub(crate) struct ToolTable {
    /// Keys that are written, and state fields.
    pub keys: &'static [&'static [ToolKey]],
    /// Keys that are only read.
    pub others: &'static [ToolKey],
    /// Deviations of the tool as a whole, beside those of its keys.
    pub deviations: &'static [Deviation],
}

impl ToolTable {
    /// All keys that are written.
    pub fn keys(&self) -> impl Iterator<Item = ToolKey> {
        self.keys.iter().copied().flatten().copied()
    }

    /// Names of keys that state something of a plan.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let keys = self.keys().chain(self.others.iter().copied());
        keys.flat_map(|key| match key.means {
            KeyMeaning::Nothing(_) | KeyMeaning::Left(..) | KeyMeaning::Rest => Vec::new(),
            KeyMeaning::Codec(codec) => codec.names.to_vec(),
            _ => vec![key.name],
        })
    }

    /// All deviations of the tool.
    fn deviations(&self) -> impl Iterator<Item = &'static Deviation> {
        let lost = self
            .keys()
            .filter_map(|key| if let KeyMeaning::Codec(codec) = key.means { Some(codec.lost) } else { None });
        self.deviations.iter().chain(lost.flatten())
    }
}

impl AskedTool {
    /// The fields of a plan that the tool lacks: first those for which it refuses the plan, then those that it runs
    /// differently. Messages are made on demand.
    pub fn lacks<'a>(&'a self, asked: &'a PlanQuery<'a>) -> impl Iterator<Item = UnsupportedField> + 'a {
        let runs = self.runs.into_iter().flat_map(move |runs| asked.job.lacks_of(self.name, runs));
        let refused =
            runs.map(|(field, problem)| UnsupportedField { field, what: problem.what, fix: Some(problem.fix) });
        let met = self.table.deviations().filter(|deviation| deviation.is_met(asked, self.version));
        let deviations = met.map(|deviation| deviation.in_words(asked, self.version, || self.unsupported()));
        let unsaid = asked.values().filter_map(move |(field, value)| {
            let what = match self.says(*field, value, asked) {
                FieldCoverage::AsPlanned => return None,
                FieldCoverage::Otherwise(does) => Cow::from(does),
                FieldCoverage::Nothing if !asked.counts(*field, value) => return None,
                FieldCoverage::Nothing => Cow::from(self.unsupported()),
            };
            Some(UnsupportedField { field: *field, what: format!("{} {value}: {what}", field.key()), fix: None })
        });
        refused.chain(deviations).chain(unsaid)
    }

    /// True if the tool refuses a field's value or runs it differently, whatever the job's other fields are.
    pub fn lacks_alone(&self, field: Field, asked: &PlanQuery<'_>) -> bool {
        let refused = || self.runs.is_some_and(|runs| field.is_lacked(&asked.job, runs));
        let met = || self.table.deviations().any(|deviation| deviation.is_met_alone(field, asked, self.version));
        let unsaid = |value: &Value| match self.says(field, value, asked) {
            FieldCoverage::AsPlanned => false,
            FieldCoverage::Otherwise(_) => true,
            FieldCoverage::Nothing => asked.counts(field, value),
        };
        let unsaid = || field.counts_alone() && asked.value(field).is_some_and(unsaid);
        refused() || met() || unsaid()
    }

    /// How the tool's file states a field's value.
    fn says(&self, field: Field, value: &Value, asked: &PlanQuery<'_>) -> FieldCoverage {
        let said = self.table.keys().map(|key| key.means.says(field, value, asked.plan()));
        said.into_iter().find(|says| *says != FieldCoverage::Nothing).unwrap_or(FieldCoverage::Nothing)
    }

    fn unsupported(&self) -> String {
        format!("not supported by {}", self.name)
    }
}
