//! `export`: a plan as another tool takes it.

mod array;
mod trace;

use std::fs;

use crate::evaluate::{self, Workspace};
use crate::interop::fsdp2::{self, Names};
use crate::interop::plans::{self, JobLauncher, JobWishes, PlanTarget};
use crate::scenario::Scenario;
use crate::text::printable;
use crate::units::Seconds;

use super::args::{Everywhere, ExportArgs, ExportTarget, Launcher, ModuleNames};
use super::exit::{Exit, Failure};
use super::session::{Session, note_idle, refused};
use super::{files, output};

/// What an export comes to.
struct Export {
    /// Names and texts; the first is what is printed where no folder is given.
    files: Vec<(&'static str, String)>,
    /// What the tool does otherwise than planned.
    notes: Vec<String>,
}

pub(super) fn run(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let export = match arguments.to {
        ExportTarget::Sbatch if arguments.array.sweep => {
            let script = array::script(session, everywhere, arguments)?;
            Export { files: vec![(array::FILE, script)], notes: Vec::new() }
        }
        _ if arguments.array.sweep => {
            return Err(Failure::input("--sweep: a job array is a script for Slurm; choose --to sbatch"));
        }
        ExportTarget::Trace => return trace::run(session, arguments),
        target => {
            let scenario = session.open_possible(&arguments.input)?.scenario;
            note_idle(&arguments.input, [scenario.plan.clone()]);
            match plan_target(target) {
                Some(target) => of_plan(target, &scenario, arguments)?,
                None => of_modules(&scenario, arguments)?,
            }
        }
    };
    if arguments.strict && !export.notes.is_empty() {
        let fix = "change the plan, or leave --strict out";
        return Err(Failure::Input(export.notes.iter().map(|note| format!("{note}; {fix}")).collect()));
    }
    hand_over(session, &export, arguments)
}

/// What is written as a launcher's configuration; module by module else.
fn plan_target(target: ExportTarget) -> Option<PlanTarget> {
    Some(match target {
        ExportTarget::Fsdp2 | ExportTarget::Trace => return None,
        ExportTarget::Accelerate => PlanTarget::Accelerate,
        ExportTarget::HfTrainer => PlanTarget::Trainer,
        ExportTarget::Deepspeed => PlanTarget::DeepSpeed,
        ExportTarget::Megatron => PlanTarget::Megatron,
        ExportTarget::Torchtitan => PlanTarget::Torchtitan,
        ExportTarget::Sbatch => PlanTarget::Sbatch,
    })
}

/// Module by module, as FSDP2 is applied.
fn of_modules(scenario: &Scenario, arguments: &ExportArgs) -> Result<Export, Failure> {
    if let Some(version) = arguments.target_version.as_deref().filter(|version| *version != fsdp2::VERSION) {
        let (version, known) = (printable(version), fsdp2::VERSION);
        return Err(Failure::input(format!("--target-version: '{version}' of PyTorch is not known; choose {known}")));
    }
    let names = match arguments.module_names {
        ModuleNames::Torchtitan => Names::Torchtitan,
        ModuleNames::Huggingface => Names::HuggingFace,
    };
    let spec = fsdp2::specify(scenario, names).map_err(|problems| refused(&problems, &arguments.input))?;
    let files = spec.files().map_err(Failure::unwritten)?.into();
    Ok(Export { files, notes: spec.notes })
}

/// As a launcher's configuration.
fn of_plan(target: PlanTarget, scenario: &Scenario, arguments: &ExportArgs) -> Result<Export, Failure> {
    let ExportArgs { partition, account, target_version, cpus_per_task, gpu_type, launcher, .. } = arguments;
    let time = match target {
        PlanTarget::Sbatch => length(scenario)?,
        _ => None,
    };
    let job = JobWishes {
        partition: word("--partition", partition.as_deref())?,
        account: word("--account", account.as_deref())?,
        time,
        cpus: *cpus_per_task,
        device: word("--gpu-type", gpu_type.as_deref())?,
        launcher: match launcher {
            Launcher::Torchrun => JobLauncher::Torchrun,
            Launcher::Accelerate => JobLauncher::Accelerate,
        },
    };
    let exported = plans::export(target, target_version.as_deref(), scenario, &job)
        .map_err(|problems| refused(&problems, &arguments.input))?;
    Ok(Export { files: vec![(exported.file, exported.text)], notes: exported.notes })
}

/// A name that a script can hold as it is.
fn word(flag: &str, name: Option<&str>) -> Result<Option<String>, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ',');
    match name {
        Some(name) if name.is_empty() || !name.chars().all(plain) => {
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
fn hand_over(session: &Session, export: &Export, arguments: &ExportArgs) -> Result<Exit, Failure> {
    let Some(folder) = &arguments.out else {
        let (_, text) = &export.files[0];
        return output::result(text).map(|()| Exit::Done);
    };
    fs::create_dir_all(folder).map_err(|error| Failure::io(folder, &error))?;
    let written: Vec<_> = export.files.iter().map(|(name, text)| (folder.join(name), text.as_str())).collect();
    for (file, _) in &written {
        files::vacant(file, arguments.force, &session.inputs)?;
    }
    files::write(&written, arguments.force)?;
    if arguments.to != ExportTarget::Fsdp2 {
        export.notes.iter().for_each(|note| output::to_stderr(&format!("not as planned: {note}\n")));
    }
    let lines: Vec<String> = written.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}
