//! Writes a plan as another tool's files: the list of tools, and the files of each. Knows no tool's keys, and does not
//! touch the disk.

use crate::FileText;
use shardscope_engine::evaluate::{Summary, Workspace};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{NearestPlan, nearest_plan};
use shardscope_engine::text::printable;

use super::fsdp2::{self, Names};
use super::plans::asked::PlanQuery;
use super::plans::deviation::UnsupportedField;
use super::plans::lacks::AskedTool;
use super::plans::{self, JobWishes, PlanTarget};
use super::trace::RankTrace;

/// A format of `export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    /// A launcher's configuration, or a job script.
    Plan(PlanTarget),
    /// FSDP2's settings per module, under a library's module names.
    Modules(Names),
    /// A trace of the simulated step.
    Trace,
}

impl ExportForm {
    /// All formats, in the order of the command line.
    pub fn all() -> impl Iterator<Item = Self> {
        let modules = [Names::Torchtitan, Names::HuggingFace].into_iter().map(Self::Modules);
        modules.chain(PlanTarget::all().map(Self::Plan)).chain([Self::Trace])
    }

    /// The format's name, mostly the word of `export --to`.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    /// The format's name, and the files written.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Modules(Names::Torchtitan) => ("fsdp2", "fsdp2.json and fsdp2.py, torchtitan's modules"),
            Self::Modules(Names::HuggingFace) => ("fsdp2, Hugging Face", "the same, Hugging Face's modules"),
            Self::Plan(target) => (target.word(), target.spec().about),
            Self::Trace => ("trace", "the simulated step, for Perfetto"),
        }
    }

    /// Help text on the files written.
    pub fn help(self) -> &'static str {
        match self {
            Self::Modules(_) => "PyTorch FSDP2: fsdp2.json, module by module, and fsdp2.py, which applies it",
            Self::Plan(target) => target.spec().help,
            Self::Trace => {
                "Chrome trace of the simulated step, for Perfetto: DIR/rank0.json for each pipeline rank, or with --out \
                 DIR/NAME.json.gz packed"
            }
        }
    }

    /// The tool in the given version or the newest known; `None` for traces, which no tool runs.
    fn asked(self, version: Option<&str>) -> Result<Option<AskedTool>, Problem> {
        match self {
            Self::Plan(target) => target.version(version).map(|version| Some(target.asked(version))),
            Self::Modules(_) => known(version).map(|()| Some(fsdp2::ASKED)),
            Self::Trace => Ok(None),
        }
    }

    /// What a version of the tool (by default the newest) lacks of a scenario's plan; `None` if nothing. Includes the
    /// nearest plan if the tool refuses this one or `nearest_wanted` is set.
    pub fn lacking(
        self,
        version: Option<&str>,
        scenario: &Scenario,
        nearest_wanted: bool,
    ) -> Result<Option<LackingPlan>, Problem> {
        let Some(tool) = self.asked(version)? else { return Ok(None) };
        let lacking = |scenario: &Scenario| {
            let Ok(job) = scenario.checked() else { return Default::default() };
            let asked = PlanQuery::new(job);
            let (refused, otherwise): (Vec<UnsupportedField>, _) =
                tool.lacks(&asked).partition(|lack| lack.fix.is_some());
            [refused, otherwise]
        };
        let fields = |lacks: Vec<UnsupportedField>| lacks.into_iter().map(|lack| lack.field).collect::<Vec<_>>();
        let [refused, otherwise] = lacking(scenario);
        if refused.is_empty() && otherwise.is_empty() {
            return Ok(None);
        }
        let nearest = || nearest_plan(scenario, &|plan| lacking(plan).map(fields), &mut Workspace::default());
        let nearest = if nearest_wanted || !refused.is_empty() { nearest() } else { None };
        Ok(Some(LackingPlan {
            refused: refused.into_iter().filter_map(UnsupportedField::into_problem).collect(),
            nearest,
        }))
    }

    /// The files of a scenario's plan, for a version of the tool or the newest known.
    pub fn files(
        self,
        version: Option<&str>,
        scenario: &Scenario,
        job: &JobWishes,
    ) -> Result<ExportedFiles, Vec<Problem>> {
        match self {
            Self::Plan(target) => {
                let exported = plans::export(target, version, scenario, job)?;
                Ok(ExportedFiles::Texts(vec![(exported.file, exported.text)], exported.notes))
            }
            Self::Modules(names) => {
                known(version).map_err(|problem| vec![problem])?;
                let spec = fsdp2::specify(scenario, names)?;
                let files = spec.files().map_err(|error| vec![Problem::bug("fsdp2", error)])?;
                Ok(ExportedFiles::Texts(files.into(), spec.notes))
            }
            Self::Trace => RankTrace::all(scenario, &mut Workspace::default()).map(ExportedFiles::Traces),
        }
    }
}

/// A plan that a tool cannot run as planned.
#[derive(Debug, Clone, PartialEq)]
pub struct LackingPlan {
    /// The parts that the tool refuses; empty if it runs the plan, but differently.
    pub refused: Vec<Problem>,
    /// The nearest plan that the tool runs as planned, if one fits.
    pub nearest: Option<NearestPlan>,
}

impl LackingPlan {
    /// The nearest plan in words, with step time and peak memory: `recompute 0.45 -> full, 3.1 s -> 3.4 s a step, peak
    /// 52.3 GiB -> 40.1 GiB, which fits`.
    pub fn nearest_in_words(&self) -> Option<String> {
        let NearestPlan { summary, before, changes, .. } = self.nearest.as_ref()?;
        let was = |figure: fn(&Summary) -> String| before.as_ref().map_or_else(String::new, |it| figure(it) + " -> ");
        let [time, peak] = [|it: &Summary| it.step_time.to_string(), |it: &Summary| it.memory.peak.to_string()];
        let (before_time, before_peak) = (was(time), was(peak));
        let changes = changes.join(", ");
        Some(format!(
            "{changes}, {before_time}{} a step, peak {before_peak}{}, which fits",
            time(summary),
            peak(summary)
        ))
    }
}

/// Refuses unknown versions of PyTorch.
fn known(version: Option<&str>) -> Result<(), Problem> {
    match version.filter(|version| *version != fsdp2::VERSION) {
        None => Ok(()),
        Some(version) => Err(Problem {
            field: "--target-version".to_owned(),
            what: format!("'{}' of PyTorch is not known", printable(version)),
            fix: format!("choose {}", fsdp2::VERSION),
        }),
    }
}

/// The output of an export.
#[derive(Debug)]
pub enum ExportedFiles {
    /// Names and texts of files, the complete one first; notes on where the tool deviates from the plan.
    Texts(Vec<(&'static str, FileText)>, Vec<String>),
    /// The simulated step of each pipeline rank; may take hundreds of MB.
    Traces(Vec<RankTrace>),
}
