//! `export`: a plan as another tool takes it.

mod array;
mod trace;

use shardscope_engine::disk;
use shardscope_engine::evaluate::{self, Workspace};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{NearestPlan, nearest_plan};
use shardscope_engine::text::printable;
use shardscope_engine::text::shell::is_plain;
use shardscope_engine::units::Seconds;
use shardscope_interop::FileText;
use shardscope_interop::export::{ExportForm, ExportedFiles};
use shardscope_interop::fsdp2::Names;
use shardscope_interop::plans::{JobLauncher, JobWishes, PlanTarget};

use super::args::{Everywhere, ExportArgs, ExportTarget, Launcher, ModuleNames};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle, refused};
use super::{files, output};

pub(super) fn run(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<Exit, Failure> {
    if arguments.array.sweep {
        if arguments.to != ExportTarget::Sbatch {
            return Err(Failure::input("--sweep: a job array is a script for Slurm; choose --to sbatch"));
        }
        let script = array::script(session, everywhere, arguments)?;
        return hand_over(session, &[(array::FILE, script)], &[], arguments);
    }
    let scenario = session.open_possible(&arguments.input)?.scenario;
    note_idle(&arguments.input, [scenario.plan.clone()]);
    let (form, version) = (form(arguments), arguments.target_version.as_deref());
    let scenario = runnable(scenario, form, arguments)?;
    let exported = form.files(version, &scenario, &wishes(form, &scenario, arguments)?);
    match exported.map_err(|problems| refused(&problems, &arguments.input))? {
        ExportedFiles::Texts(files, notes) => hand_over(session, &files, &notes, arguments),
        ExportedFiles::Traces(traces) => trace::hand_over(session, &traces, arguments),
    }
}

/// The scenario, if the tool can run its plan; else the nearest that it can, if that is wanted.
fn runnable(scenario: Scenario, form: ExportForm, arguments: &ExportArgs) -> Result<Scenario, Failure> {
    let ExportForm::Plan(target) = form else { return Ok(scenario) };
    let version = target.version(arguments.target_version.as_deref());
    let version = version.map_err(|problem| refused(&[problem], &arguments.input))?;
    let runs = target.runs(version).unwrap_or_default();
    let lacks = scenario.lacks_of(target.name(), &runs);
    if lacks.is_empty() {
        return Ok(scenario);
    }
    let nearest = nearest_plan(&scenario, target.name(), &runs, &mut Workspace::default());
    let Some(NearestPlan { scenario: found, summary, changes }) = nearest else {
        return Err(refused(&lacks, &arguments.input));
    };
    let step = format!("{} a step at {}", summary.step_time, summary.memory.peak);
    if arguments.nearest {
        output::warning(&format!("the nearest plan that {} has, {step}: {}", target.name(), changes.join(", ")));
        return Ok(found);
    }
    let fix = format!("the nearest that it has: {}, {step}; --nearest writes it", changes.join(", "));
    let lacks: Vec<Problem> = lacks.into_iter().map(|lack| Problem { fix: fix.clone(), ..lack }).collect();
    Err(refused(&lacks, &arguments.input))
}

/// What is written.
fn form(arguments: &ExportArgs) -> ExportForm {
    ExportForm::Plan(match arguments.to {
        ExportTarget::Trace => return ExportForm::Trace,
        ExportTarget::Fsdp2 => {
            return ExportForm::Modules(match arguments.module_names {
                ModuleNames::Torchtitan => Names::Torchtitan,
                ModuleNames::Huggingface => Names::HuggingFace,
            });
        }
        ExportTarget::Accelerate => PlanTarget::Accelerate,
        ExportTarget::HfTrainer => PlanTarget::Trainer,
        ExportTarget::Deepspeed => PlanTarget::DeepSpeed,
        ExportTarget::Megatron => PlanTarget::Megatron,
        ExportTarget::Torchtitan => PlanTarget::Torchtitan,
        ExportTarget::Sbatch => PlanTarget::Sbatch,
    })
}

/// What a job is to have beside its size.
fn wishes(form: ExportForm, scenario: &Scenario, arguments: &ExportArgs) -> Result<JobWishes, Failure> {
    let ExportArgs { partition, account, cpus_per_task, gpu_type, launcher, .. } = arguments;
    let time = if form == ExportForm::Plan(PlanTarget::Sbatch) { length(scenario)? } else { None };
    Ok(JobWishes {
        partition: word("--partition", partition.as_deref())?,
        account: word("--account", account.as_deref())?,
        time,
        cpus: *cpus_per_task,
        device: word("--gpu-type", gpu_type.as_deref())?,
        launcher: match launcher {
            Launcher::Torchrun => JobLauncher::Torchrun,
            Launcher::Accelerate => JobLauncher::Accelerate,
        },
    })
}

/// A name that a script can hold as it is.
fn word(flag: &str, name: Option<&str>) -> Result<Option<String>, Failure> {
    match name {
        Some(name) if name.is_empty() || !name.chars().all(is_plain) => {
            let name = printable(name);
            Err(Failure::input(format!("{flag}: '{name}' is no name; write letters, digits, '_', '-', '.' or ','")))
        }
        name => Ok(name.map(str::to_owned)),
    }
}

/// How long the training takes, where the plan says how many tokens it has.
fn length(scenario: &Scenario) -> Result<Option<Seconds>, Failure> {
    let Some(tokens) = scenario.plan.tokens else { return Ok(None) };
    let summary = evaluate::summary(scenario, &mut Workspace::default())?;
    Ok(Some(summary.training_time(tokens)))
}

/// Writes the files into the folder, or prints the first.
fn hand_over(
    session: &Session,
    exported: &[(&'static str, FileText)],
    notes: &[String],
    arguments: &ExportArgs,
) -> Result<Exit, Failure> {
    if arguments.strict && !notes.is_empty() {
        let fix = "change the plan, or leave --strict out";
        return Err(Failure::Input(notes.iter().map(|note| format!("{note}; {fix}")).collect()));
    }
    let Some(folder) = &arguments.out else {
        let (_, text) = &exported[0];
        return output::result(text.as_str()).map(|()| Exit::Done);
    };
    disk::create_folder(folder).map_err(|error| Failure::io(folder, &error))?;
    let written: Vec<_> = exported.iter().map(|(name, text)| (folder.join(name), text.as_str())).collect();
    for (file, _) in &written {
        files::vacant(file, arguments.force, &session.inputs)?;
    }
    files::write(&written, arguments.force)?;
    if arguments.to != ExportTarget::Fsdp2 {
        for note in notes {
            output::to_stderr(&format!("not as planned: {note}\n"));
        }
    }
    let lines: Vec<String> = written.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}
