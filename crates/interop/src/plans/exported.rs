//! Plans as text that a tool accepts, each for a version of it.
//!
//! Not for the keys of any tool, nor for the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::FileText;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::scenario::{Field, Problem, Scenario};
use shardscope_engine::stack::Runs;
use shardscope_report::figures::caveats;

use super::lacks::{AskedPlan, AskedTool, ToolTable};
use super::sbatch::{self, Job, JobWishes};
use super::writer::{Line, PlanWriter};
use super::written::{self, Head, Ranks};
use super::{accelerate, deepspeed, megatron, torchtitan, torchtune, trainer};

/// The plans that each tool can run; a tool that is like an unknown stack is not among them.
static TOOLS: LazyLock<BTreeMap<String, Runs>> = LazyLock::new(|| {
    let tools: BTreeMap<String, Runs> = toml::from_str(include_str!("tools.toml")).unwrap_or_default();
    let library = shardscope_presets::library();
    tools.into_iter().filter_map(|(tool, runs)| Some((tool, library.whole(runs).ok()?))).collect()
});

/// Tools that plans are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanTarget {
    /// Accelerate's YAML.
    Accelerate,
    /// Arguments of Hugging Face's Trainer, as YAML.
    Trainer,
    /// DeepSpeed's JSON.
    DeepSpeed,
    /// Arguments of Megatron-LM.
    Megatron,
    /// torchtitan's command, or the TOML of earlier versions.
    Torchtitan,
    /// torchtune's YAML.
    Torchtune,
    /// A job for Slurm.
    Sbatch,
}

/// A file for a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedPlan {
    /// Its usual name.
    pub file: &'static str,
    /// What is in it.
    pub text: FileText,
    /// What the tool does otherwise than planned.
    pub notes: Vec<String>,
    /// Fields that the file says as planned.
    pub fields: BTreeSet<Field>,
    /// Fields that the file says in some way, or that are left to who starts the tool.
    pub said: BTreeSet<Field>,
}

impl PlanTarget {
    /// The tool's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accelerate => "accelerate",
            Self::Trainer => "transformers",
            Self::DeepSpeed => "deepspeed",
            Self::Megatron => "Megatron-LM core",
            Self::Torchtitan => "torchtitan",
            Self::Torchtune => "torchtune",
            Self::Sbatch => "Slurm",
        }
    }

    /// Versions that are known, the newest first.
    pub const fn versions(self) -> &'static [&'static str] {
        match self {
            Self::Accelerate => accelerate::VERSIONS,
            Self::Trainer => trainer::VERSIONS,
            Self::DeepSpeed => deepspeed::VERSIONS,
            Self::Megatron => megatron::VERSIONS,
            Self::Torchtitan => torchtitan::VERSIONS,
            Self::Torchtune => torchtune::VERSIONS,
            Self::Sbatch => sbatch::VERSIONS,
        }
    }

    /// The tool in a version, for questions on what it lacks.
    pub(crate) fn asked(self, version: &'static str) -> AskedTool {
        let runs = TOOLS.get(&format!("{} {version}", self.name())).or_else(|| TOOLS.get(self.name()));
        AskedTool { name: self.name(), version, runs, table: self.table() }
    }

    const fn table(self) -> &'static ToolTable {
        match self {
            Self::Accelerate => &accelerate::TABLE,
            Self::Trainer => &trainer::TABLE,
            Self::DeepSpeed => &deepspeed::TABLE,
            Self::Megatron => &megatron::TABLE,
            Self::Torchtitan => &torchtitan::TABLE,
            Self::Torchtune => &torchtune::TABLE,
            Self::Sbatch => &sbatch::TABLE,
        }
    }

    /// The version that is asked for, or the newest.
    pub fn version(self, wanted: Option<&str>) -> Result<&'static str, Problem> {
        let known = self.versions();
        let found = known.iter().find(|version| wanted.is_none_or(|wanted| wanted == **version));
        found.copied().ok_or_else(|| Problem {
            field: "--target-version".to_owned(),
            what: format!("'{}' of {} is not known", wanted.unwrap_or_default(), self.name()),
            fix: format!("choose one of {}", known.join(", ")),
        })
    }
}

/// A scenario's plan for a tool, or why there is none.
pub fn export(
    target: PlanTarget,
    version: Option<&str>,
    scenario: &Scenario,
    wishes: &JobWishes,
) -> Result<ExportedPlan, Vec<Problem>> {
    let job = Job::new(scenario, wishes);
    let version = target.version(version).map_err(|problem| vec![problem])?;
    let asked = AskedPlan::new(scenario.checked()?);
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
    let mut writer = PlanWriter::new(&asked);
    let form = match target {
        PlanTarget::Accelerate => Written::Yaml("accelerate.yaml", accelerate::write(&mut writer)),
        PlanTarget::Trainer => Written::Yaml("training_arguments.yaml", trainer::write(&mut writer)),
        PlanTarget::DeepSpeed => Written::Json(deepspeed::write(version, &mut writer)),
        PlanTarget::Megatron => Written::Script(megatron::write(&mut writer)),
        PlanTarget::Torchtitan => {
            let lines = torchtitan::write(version, &mut writer);
            if version == "0.3.0" { Written::Command(lines) } else { Written::Toml(lines) }
        }
        PlanTarget::Torchtune => Written::Yaml("torchtune.yaml", torchtune::write(&mut writer)),
        PlanTarget::Sbatch => {
            sbatch::say(&mut writer, &job);
            Written::Job
        }
    };
    let PlanWriter { said, own: mut fields, elsewhere, .. } = writer;
    fields.retain(|field| notes.iter().all(|(lacked, _)| lacked != field));
    let of_queue = (target == PlanTarget::Sbatch).then(|| job.lacks()).flatten();
    let notes: Vec<String> = notes.into_iter().map(|(_, what)| what).chain(of_queue).collect();
    let tool = format!("{} {version}", target.name());
    let predicted = summary(scenario, &mut Workspace::default())?;
    let caveats = caveats(scenario, &predicted);
    let head = Head { tool, scenario: scenario.name.clone(), notes: notes.clone(), elsewhere, caveats };
    let unwritable = |what: String| {
        let fix = "give it another name".to_owned();
        vec![Problem { field: format!("the file for {}", target.name()), what, fix }]
    };
    let (file, text) = form.text(&head, &Ranks::of_scenario(scenario), &job).map_err(unwritable)?;
    Ok(ExportedPlan { file, text, notes, fields, said })
}

/// What a plan is written as.
enum Written {
    Yaml(&'static str, Vec<Line>),
    Json(Vec<Line>),
    Toml(Vec<Line>),
    Command(Vec<Line>),
    Script((Vec<Line>, &'static str)),
    Job,
}

impl Written {
    /// The usual name of the file, and its text.
    fn text(&self, head: &Head, ranks: &Ranks, job: &Job<'_>) -> Result<(&'static str, FileText), String> {
        Ok(match self {
            Self::Yaml(file, lines) => (file, written::yaml(head, lines)?),
            Self::Json(lines) => ("deepspeed.json", written::json(head, lines)?),
            Self::Toml(lines) => ("torchtitan.toml", written::toml(head, lines)?),
            Self::Command(lines) => ("torchtitan.sh", torchtitan::command(head, lines, ranks)?),
            Self::Script((lines, environment)) => ("megatron.sh", megatron::text(head, lines, environment, ranks)?),
            Self::Job => ("job.sh", sbatch::script(head, job)?),
        })
    }
}
