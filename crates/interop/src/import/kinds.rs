//! Imports files of each kind: hands its reader the options and the current scenario's facts.

use std::num::NonZeroU32;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Scenario, Value, file};
use shardscope_evidence::measured;
use shardscope_report::snapshot;

use super::super::content::ForeignKind;
use super::super::huggingface::{self, CountedModel, Families, ImportOptions};
use super::super::nccl::{self, LinkOptions, MeasuredLinks, TimedCollective};
use super::super::out_of_memory::{self, OutOfMemory};
use super::super::plans::{self, ImportedPlan, LauncherFile, PlanWishes};
use super::super::report::{ImportReport, Imported};
use super::super::runs::{self, RunOptions, RunRows};
use super::super::topology::{self, FoundMachine, MachineWishes};
use super::{
    Foreign, ImportContext, ImportError, is_cluster_file, is_model_file, nothing_named, read_cluster, read_model,
    within,
};

/// An import of files whose kind is known.
pub(super) struct Import<'a> {
    pub(super) kind: ForeignKind,
    pub(super) options: &'a [(String, String)],
    pub(super) context: ImportContext<'a>,
}

impl Import<'_> {
    pub(super) fn read(&self, texts: &[(String, String)]) -> Result<Imported<Foreign>, ImportError> {
        match self.kind {
            ForeignKind::Model => Ok(self.model(texts)?.map(Foreign::Model)),
            ForeignKind::Links => Ok(self.links(texts)?.map(Foreign::Links)),
            ForeignKind::Run => Ok(self.run(texts)?.map(Foreign::Run)),
            ForeignKind::OutOfMemory => Ok(Self::out_of_memory(texts)?.map(Foreign::OutOfMemory)),
            ForeignKind::Plan => Ok(self.plan(texts)?.map(|plan| Foreign::Plan(Box::new(plan)))),
            ForeignKind::Cluster => Ok(self.cluster(texts)?.map(Foreign::Cluster)),
            ForeignKind::Trace => Err(Problem::bug("import", "a trace was read as text".to_owned()).into()),
        }
    }

    /// Refuses options that the kind does not take.
    pub(super) fn check_options(&self) -> Result<(), ImportError> {
        let spec = self.kind.spec();
        // For a trace or a message the caller has already applied the flags to the current scenario.
        let takes_fields = self.kind == ForeignKind::Plan;
        let is_known =
            |name: &str| spec.options.iter().any(|option| option.name == name) || takes_fields && field(name).is_some();
        let Some((unknown, _)) = self.options.iter().find(|(name, _)| !is_known(name)) else { return Ok(()) };
        let known = match spec.options {
            _ if takes_fields => "the flags of a scenario, like --devices 64".to_owned(),
            [] => "none".to_owned(),
            options => options.iter().map(|option| format!("--{}", option.name)).collect::<Vec<_>>().join(", "),
        };
        let what = format!("is no option of an import of {}", spec.name);
        Err(ImportError::option(unknown, what, format!("known here: {known}")))
    }

    fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    fn parse<T: FromStr>(&self, name: &str, example: &str) -> Result<Option<T>, ImportError> {
        let Some(text) = self.option(name) else { return Ok(None) };
        let wrong = |_| ImportError::option(name, format!("'{text}' is no value"), format!("write one like {example}"));
        text.parse().map(Some).map_err(wrong)
    }

    fn model(&self, texts: &[(String, String)]) -> Result<Imported<CountedModel>, ImportError> {
        let [(file, text), ..] = texts else { return Err(nothing_named()) };
        let options = ImportOptions { file, name: self.option("name"), like: self.option("like") };
        let families = Families::of_library(self.context.library)?;
        huggingface::model(text, &families, options).map_err(|error| within(file, vec![error]))
    }

    fn out_of_memory(texts: &[(String, String)]) -> Result<Imported<OutOfMemory>, ImportError> {
        let [(file, text), ..] = texts else { return Err(nothing_named()) };
        out_of_memory::read(text).map_err(|errors| within(file, errors))
    }

    fn cluster(&self, texts: &[(String, String)]) -> Result<Imported<FoundMachine>, ImportError> {
        let rate = |name| self.parse(name, "\"400 GB/s\"");
        let wishes = MachineWishes {
            name: self.option("name"),
            nodes: self.parse("nodes", "16")?.map(NonZeroU32::get),
            rate: rate("rate")?,
            node_bandwidth: rate("node-bandwidth")?,
            device: self.option("device"),
        };
        Ok(topology::machine(texts, self.context.library, wishes)?)
    }

    fn links(&self, texts: &[(String, String)]) -> Result<Imported<MeasuredLinks>, ImportError> {
        let collective = match self.option("collective") {
            None => None,
            Some("all-gather") => Some(TimedCollective::AllGather),
            Some("reduce-scatter") => Some(TimedCollective::ReduceScatter),
            Some("all-reduce") => Some(TimedCollective::AllReduce),
            Some(other) => {
                let fix = "write all-gather, reduce-scatter or all-reduce";
                return Err(ImportError::option("collective", format!("'{other}' is unknown"), fix));
            }
        };
        let base = match (self.option("cluster"), self.context.current) {
            (Some(name), _) => self.default_on(name)?,
            (None, Some(current)) => current.clone(),
            (None, None) => {
                let name = texts.first().map_or("", |(name, _)| name);
                let what = format!("is {}, which does not say of which cluster", self.kind.spec().name);
                return Err(Problem::new(name, what, "say it with --cluster ID").into());
            }
        };
        Ok(nccl::links(texts, &base, LinkOptions { collective, name: self.option("name") })?)
    }

    /// The default scenario on another cluster.
    fn default_on(&self, name: &str) -> Result<Scenario, ImportError> {
        let ImportContext { library, open, .. } = self.context;
        let bug = |error: snapshot::OpenError| Problem::bug("default", error.to_string());
        let mut scenario = snapshot::open("default", library).map_err(bug)?.scenario;
        scenario.cluster = if is_cluster_file(name) {
            Arc::new(read_cluster(Path::new(name), library, open)?)
        } else {
            library.cluster(name).map_err(|unknown| ImportError::option("cluster", unknown, ""))?
        };
        Ok(scenario)
    }

    fn run(&self, texts: &[(String, String)]) -> Result<Imported<RunRows>, ImportError> {
        let given = self.cells()?;
        let options = RunOptions { skip: self.parse("skip", "3")?, given: &given };
        let mut all = Imported { made: RunRows::default(), report: ImportReport::default() };
        for (file, text) in texts {
            let one = runs::run(file, text, options).map_err(|errors| within(file, errors))?;
            all.made.rows.extend(one.made.rows);
            all.report.append(one.report);
        }
        all.made.tell_apart();
        Ok(all)
    }

    /// Cells from options, or else from the current scenario: column, value and source of each.
    fn cells(&self) -> Result<Vec<(String, String, String)>, ImportError> {
        let mut cells = Vec::new();
        for (column, option, kind, why) in [
            ("cluster", "hardware", Kind::Cluster, "a log names the GPU at most"),
            ("stack", "stack", Kind::Stack, "no log names its release"),
        ] {
            let in_hand = self.context.current.map(|current| match kind {
                Kind::Cluster => current.cluster.id.as_str(),
                _ => current.stack.id.as_str(),
            });
            let known = in_hand.filter(|id| self.context.library.entries(kind).any(|entry| entry.id == *id));
            let given = self.option(option).map(|id| (id, format!("--{option}")));
            let given = given.or_else(|| Some((known?, format!("that of the current scenario: {why}"))));
            cells.extend(given.map(|(id, place)| (column.to_owned(), id.to_owned(), place)));
        }
        for (_, set) in self.options.iter().filter(|(option, _)| option == "set") {
            let cell = set.split_once('=').filter(|(column, _)| measured::is_column(column));
            let Some((column, value)) = cell else {
                let fix = "write COLUMN=VALUE with a column that `shardscope validate --template` explains";
                return Err(ImportError::option("set", format!("'{set}' names no column"), fix));
            };
            cells.push((column.to_owned(), value.to_owned(), "--set".to_owned()));
        }
        Ok(cells)
    }

    fn plan(&self, texts: &[(String, String)]) -> Result<Imported<ImportedPlan>, ImportError> {
        let files: Vec<LauncherFile> = texts.iter().map(|(name, text)| LauncherFile { name, text }).collect();
        let wishes = self.wishes()?;
        let read = |wishes: &PlanWishes| plans::import(&files, wishes.clone(), self.context.library);
        Ok(match self.context.current {
            None => read(&wishes)?,
            Some(current) => over(current, wishes, self.context.library, read)?,
        })
    }

    /// The fields that options set.
    fn wishes(&self) -> Result<PlanWishes, ImportError> {
        let ImportContext { library, open, .. } = self.context;
        let mut wishes = PlanWishes::default();
        for (name, text) in self.options {
            match field(name) {
                Some(Field::Model) if is_model_file(text) => {
                    wishes.model = Some(read_model(Path::new(text), library, open)?.made.model);
                }
                Some(Field::Cluster) if is_cluster_file(text) => {
                    wishes.machine = Some(read_cluster(Path::new(text), library, open)?);
                }
                Some(field) => {
                    let value = field.read(text);
                    let value = value.map_err(|problem| ImportError::option(name, problem.what, problem.fix))?;
                    wishes.fields.extend(value.map(|value| (field, value)));
                }
                None => {}
            }
        }
        Ok(wishes)
    }
}

fn field(flag: &str) -> Option<Field> {
    Field::all().find(|field| field.spec().flag == flag)
}

/// The cluster, the stack and the model: no launcher's file states all of them.
const FACTS: [Field; 3] = [Field::Cluster, Field::Stack, Field::Model];

/// Imports a launcher's plan. What the files leave open comes from the current scenario, which is closer to the truth
/// than any default. The files are read twice, first to learn what they leave open.
fn over(
    current: &Scenario,
    mut wishes: PlanWishes,
    library: &Library,
    read: impl Fn(&PlanWishes) -> Result<Imported<ImportedPlan>, Vec<Problem>>,
) -> Result<Imported<ImportedPlan>, Vec<Problem>> {
    let given: Vec<Field> = wishes.fields.iter().map(|(field, _)| *field).collect();
    let first = read(&wishes).or_else(|problems| {
        // Most launchers get the number of devices on the command line.
        if !problems.iter().all(|problem| problem.fix == plans::SAY_DEVICES) {
            return Err(problems);
        }
        wishes.fields.push((Field::Devices, Value::Count(current.devices())));
        read(&wishes)
    })?;
    let is_open = |field: &Field| first.report.assumed.iter().any(|assumed| assumed.field == field.key());
    // Nobody chose the default scenario's stack: the stack known for the tool is closer to the truth.
    let unsaid = library.scenario_text("default").ok().and_then(|base| Some(file::parse(&base.text).ok()?.stack));
    let is_known = |field: &Field| *field != Field::Stack || unsaid.as_deref() != Some(&*current.stack.id);
    for field in FACTS.into_iter().filter(is_open).filter(is_known) {
        let id = field.value(current);
        let known = id.as_ref().is_some_and(|id| library.title(field, &id.to_string()).is_some());
        match id {
            Some(id) if known => wishes.fields.push((field, id)),
            _ if field == Field::Model => wishes.model = Some((*current.model).clone()),
            _ if field == Field::Cluster => wishes.machine = Some((*current.cluster).clone()),
            _ => {}
        }
    }
    // The current facts may make the plan invalid, like heads that ranks do not divide: then keep the first one.
    let mut imported = read(&wishes).unwrap_or(first);
    for taken in &mut imported.report.taken {
        let field = Field::all().find(|field| taken.place == format!("--{field}"));
        if field.is_some_and(|field| !given.contains(&field)) {
            "not in any file: taken from the current scenario".clone_into(&mut taken.place);
        }
    }
    Ok(imported)
}
