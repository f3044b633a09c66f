//! `export`: a plan as another tool takes it.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::args::{Everywhere, ExportArgs, JobStarter, ModuleNames, SweepArgs, TableForm};
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::{Session, note_idle, refused};
use crate::cli::{files, output, sweep};
use shardscope_engine::evaluate::{self, Workspace};
use shardscope_engine::scenario::{Field, Problem, Scenario};
use shardscope_engine::text::printable;
use shardscope_engine::units::Seconds;
use shardscope_interop::FileText;
use shardscope_interop::export::{ExportForm, ExportedFiles};
use shardscope_interop::fsdp2::Names;
use shardscope_interop::job_array::JobArray;
use shardscope_interop::plans::{JobLauncher, JobWishes, PlanTarget};
use shardscope_interop::trace::RankTrace;
use shardscope_library::disk;
use shardscope_library::text::shell::is_plain;

pub(super) fn run(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<Exit, Failure> {
    if arguments.array.sweep {
        if arguments.to != ExportForm::Plan(PlanTarget::SBATCH) {
            return Err(Failure::input("--sweep: a job array is a script for Slurm; choose --to sbatch"));
        }
        let script = array_script(session, everywhere, arguments)?;
        return hand_over(session, &[(ARRAY_FILE, script)], &[], arguments);
    }
    let scenario = session.open_possible(&arguments.input)?.scenario;
    note_idle(&arguments.input, [scenario.plan.clone()]);
    let (form, version) = (form(arguments), arguments.target_version.as_deref());
    let scenario = runnable(scenario, form, arguments)?;
    let exported = form.files(version, &scenario, &wishes(form, &scenario, arguments)?);
    match exported.map_err(|problems| refused(&problems, &arguments.input))? {
        ExportedFiles::Texts(files, notes) => hand_over(session, &files, &notes, arguments),
        ExportedFiles::Traces(traces) => hand_over_traces(session, &traces, arguments),
    }
}

/// The scenario, if the tool can run its plan; else the nearest that it can, if that is wanted.
fn runnable(scenario: Scenario, form: ExportForm, arguments: &ExportArgs) -> Result<Scenario, Failure> {
    let lacking = form.lacking(arguments.target_version.as_deref(), &scenario, arguments.nearest);
    let Some(lacking) = lacking.map_err(|problem| refused(&[problem], &arguments.input))? else { return Ok(scenario) };
    let words = lacking.nearest_in_words();
    match (words, lacking.nearest) {
        (Some(words), Some(nearest)) if arguments.nearest => {
            output::warning(&format!("the nearest plan that {} has: {words}", form.name()));
            Ok(nearest.scenario)
        }
        // What it does otherwise than planned is said with the file.
        _ if lacking.refused.is_empty() => Ok(scenario),
        (Some(words), _) => {
            let fix = format!("the nearest that it has: {words}; --nearest writes it");
            let lacks = lacking.refused.into_iter().map(|lack| Problem { fix: fix.clone(), ..lack });
            Err(refused(&lacks.collect::<Vec<_>>(), &arguments.input))
        }
        (None, _) => Err(refused(&lacking.refused, &arguments.input)),
    }
}

/// The files to write.
fn form(arguments: &ExportArgs) -> ExportForm {
    match (arguments.to, arguments.module_names) {
        (ExportForm::Modules(_), ModuleNames::Huggingface) => ExportForm::Modules(Names::HuggingFace),
        (form, _) => form,
    }
}

/// Properties of a job beside its size.
fn wishes(form: ExportForm, scenario: &Scenario, arguments: &ExportArgs) -> Result<JobWishes, Failure> {
    let ExportArgs { partition, account, cpus_per_task, gpu_type, launcher, .. } = arguments;
    // The sample scenario's tokens are nobody's training.
    let asked = arguments.input.scenario.is_some() || arguments.input.flags.has(Field::Tokens);
    let time = if asked && form == ExportForm::Plan(PlanTarget::SBATCH) { length(scenario)? } else { None };
    Ok(JobWishes {
        partition: word("--partition", partition.as_deref())?,
        account: word("--account", account.as_deref())?,
        time,
        cpus: *cpus_per_task,
        device: word("--gpu-type", gpu_type.as_deref())?,
        launcher: match launcher {
            JobStarter::Torchrun => JobLauncher::Torchrun,
            JobStarter::Accelerate => JobLauncher::Accelerate,
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
    let Some(tokens) = scenario.plan.length() else { return Ok(None) };
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
        files::refuse_taken(file, arguments.force, &session.inputs)?;
    }
    files::write(&written, arguments.force)?;
    if !matches!(arguments.to, ExportForm::Modules(_)) {
        for note in notes {
            output::to_stderr(&format!("not as planned: {note}\n"));
        }
    }
    let lines: Vec<String> = written.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}

/// How the script is called.
const ARRAY_FILE: &str = "sweep.sbatch";

/// The script, of a sweep that can be computed.
fn array_script(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<FileText, Failure> {
    let asked = &arguments.array;
    let (Some(x), Some(y)) = (&asked.x, &asked.y) else {
        return Err(Failure::input("--sweep: a sweep has two axes; give --x and --y"));
    };
    let read = |axis: &str| axis.parse().map_err(|why: String| Failure::input(why));
    let question = sweep::question(
        session,
        &SweepArgs {
            x: read(x)?,
            y: read(y)?,
            metric: asked.metric,
            tune: asked.tune,
            part: None,
            format: TableForm::Csv,
            input: arguments.input.clone(),
        },
    )?;
    let cells = question.len();
    let partition = word("--partition", arguments.partition.as_deref())?.map(|name| ("partition", name));
    let account = word("--account", arguments.account.as_deref())?.map(|name| ("account", name));
    let options = partition.into_iter().chain(account).collect();
    let array = JobArray {
        command: sweep_command(everywhere, arguments, [x, y]),
        parts: asked.parts.unwrap_or_else(|| JobArray::parts(cells, asked.tune)),
        at_once: asked.at_once,
        cells,
        options,
    };
    array.script().map_err(|error| Failure::input(format!("no script can say it: {error}")))
}

/// The command line of the sweep: as it was given here.
fn sweep_command(everywhere: &Everywhere, arguments: &ExportArgs, [x, y]: [&str; 2]) -> Vec<String> {
    let mut words = vec!["sweep".to_owned()];
    // A file whose name begins with a dash is none of the options.
    let file = |scenario: &String| if scenario.starts_with('-') { format!("./{scenario}") } else { scenario.clone() };
    words.extend(arguments.input.scenario.as_ref().map(file));
    let mut flag = |name: &str, value: &str| words.push(format!("--{name}={value}"));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    everywhere.config.iter().for_each(|file| flag("config", &text(file)));
    everywhere.presets.iter().for_each(|folder| flag("presets", &text(folder)));
    for (field, value) in arguments.input.flags.given() {
        flag(field.spec().flag, value);
    }
    flag("x", x);
    flag("y", y);
    flag("metric", arguments.array.metric.word());
    if arguments.array.tune {
        words.push("--tune".to_owned());
    }
    words
}

/// Writes the files, or prints the only one.
fn hand_over_traces(session: &Session, traces: &[RankTrace], arguments: &ExportArgs) -> Result<Exit, Failure> {
    let Some(out) = &arguments.out else {
        let [trace] = traces else {
            let ranks = traces.len();
            return Err(Failure::input(format!(
                "--out: is missing; the step has {ranks} pipeline ranks, a file for each"
            )));
        };
        let mut text = Vec::new();
        trace.write(&mut text).map_err(Failure::unwritten)?;
        return output::result(&String::from_utf8_lossy(&text)).map(|()| Exit::Done);
    };
    let named: Vec<(PathBuf, &RankTrace)> =
        traces.iter().enumerate().map(|(rank, trace)| (name(out, rank), trace)).collect();
    for (file, _) in &named {
        files::refuse_taken(file, arguments.force, &session.inputs)?;
        if let Some(folder) = file.parent() {
            disk::create_folder(folder).map_err(|error| Failure::io(folder, &error))?;
        }
    }
    for (file, trace) in &named {
        write(file, arguments.force, trace)?;
    }
    let lines: Vec<String> = named.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}

/// `DIR/rank0.json` in a folder; `DIR/NAME0.json.gz` where `DIR/NAME.json.gz` is asked for.
fn name(out: &Path, rank: usize) -> PathBuf {
    let file = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let suffix = [".json.gz", ".json"].into_iter().find_map(|suffix| Some((file.strip_suffix(suffix)?, suffix)));
    match suffix {
        Some((stem, suffix)) => out.with_file_name(format!("{stem}{rank}{suffix}")),
        None => out.join(format!("rank{rank}.json")),
    }
}

fn write(file: &Path, force: bool, trace: &RankTrace) -> Result<(), Failure> {
    let failed = |error| Failure::io(file, &error);
    files::write_as_it_comes(file, force, |staged| {
        if file.extension().is_some_and(|extension| extension == "gz") {
            let mut packed = BufWriter::new(GzEncoder::new(staged, Compression::default()));
            trace.write(&mut packed).map_err(failed)?;
            let packed = packed.into_inner().map_err(|error| failed(error.into_error()))?;
            return packed.finish().map(drop).map_err(failed);
        }
        let mut plain = BufWriter::new(staged);
        trace.write(&mut plain).and_then(|()| plain.flush()).map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_stands_in_the_name_and_the_suffix_packs() {
        assert_eq!(name(Path::new("traces"), 3), Path::new("traces/rank3.json"));
        assert_eq!(name(Path::new("a/step.json.gz"), 12), Path::new("a/step12.json.gz"));
        assert_eq!(name(Path::new("step.json"), 0), Path::new("step0.json"));
    }
}
