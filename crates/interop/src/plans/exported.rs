//! Writes plans as text that a version of a tool accepts.
//!
//! Knows no tool's keys, and does not touch the disk.

use std::collections::BTreeSet;

use crate::FileText;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::scenario::{Field, Problem, Scenario};
use shardscope_report::figures::caveats;

use super::asked::PlanQuery;
use super::sbatch::{self, Job, JobWishes};
use super::target::PlanTarget;
use super::writer::PlanWriter;
use super::written::{self, Head, Ranks, Written};

/// A file for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPlan {
    /// The file's usual name.
    pub file: &'static str,
    /// The file's text.
    pub text: FileText,
    /// Where the tool deviates from the plan.
    pub notes: Vec<String>,
    /// Fields that the file states as planned.
    pub fields: BTreeSet<Field>,
    /// Fields that the file states in any way, or leaves to whoever starts the tool.
    pub said: BTreeSet<Field>,
}

/// Writes a scenario's plan for a tool, unless the tool refuses it.
pub fn export(
    target: PlanTarget,
    version: Option<&str>,
    scenario: &Scenario,
    wishes: &JobWishes,
) -> Result<ExportedPlan, Vec<Problem>> {
    let job = Job::new(scenario, wishes);
    let version = target.version(version).map_err(|problem| vec![problem])?;
    let asked = PlanQuery::new(scenario.checked()?);
    let (mut refused, mut notes) = (Vec::new(), Vec::new());
    for lack in target.asked(version).lacks(&asked) {
        match lack.fix {
            Some(fix) => refused.push(Problem::new(lack.field.path(), lack.what, fix)),
            None => notes.push((lack.field, lack.what)),
        }
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let mut writer = PlanWriter::new(&asked, version);
    let form = (target.spec().write)(&mut writer, &job);
    let PlanWriter { said, own: mut fields, elsewhere, .. } = writer;
    fields.retain(|field| notes.iter().all(|(lacked, _)| lacked != field));
    let of_queue = (target == PlanTarget::SBATCH).then(|| job.lacks()).flatten();
    let notes: Vec<String> = notes.into_iter().map(|(_, what)| what).chain(of_queue).collect();
    let tool = format!("{} {version}", target.name());
    let predicted = summary(scenario, &mut Workspace::default())?;
    let caveats = caveats(scenario, &predicted);
    let head = Head { tool, scenario: scenario.name.clone(), notes: notes.clone(), elsewhere, caveats };
    let unwritable = |what: String| {
        let fix = "give it another name".to_owned();
        vec![Problem { field: format!("the file for {}", target.name()), what, fix }]
    };
    let (file, text) = match form {
        Written::Yaml(file, lines) => (file, written::yaml(&head, &lines)),
        Written::Json(file, lines) => (file, written::json(&head, &lines)),
        Written::Toml(file, lines) => (file, written::toml(&head, &lines)),
        Written::Script(file, text) => (file, text(&head, &Ranks::of_scenario(scenario))),
        Written::Job => ("job.sh", sbatch::script(&head, &job)),
    };
    let text = text.map_err(unwritable)?;
    Ok(ExportedPlan { file, text, notes, fields, said })
}
