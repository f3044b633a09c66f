//! The session of a command: settings and presets, and scenarios opened over them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::Options;
use crate::app::state::keymap::Keymap;
use crate::config::{self, Config, Place, Terminal};
use shardscope_engine::plan::{GlobalBatch, Plan};
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::field::PLACEMENT;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::scenario::{Field, Idle, Problem, Value};
use shardscope_engine::search::{self, MOST_THREADS, Pool};
use shardscope_engine::units::thousands;
use shardscope_interop::import::{is_cluster_file, is_model_file, read_cluster, read_model};
use shardscope_interop::report::ImportReport;
use shardscope_library::disk::InputKind;
use shardscope_library::folders::with_folders;
use shardscope_library::text::shell::ShellCode;
use shardscope_report::snapshot::{self, OpenError, Opened};

use super::args::{Everywhere, ScenarioArgs, ScenarioFlags};
use super::exit::Failure;
use super::{files, like_command, output};

/// One run of the program.
pub(super) struct Session {
    /// Everything that can be chosen.
    pub(super) library: Arc<Library>,
    /// How to show and how to compute it.
    pub(super) options: Options,
    /// The files that the command line names to be read.
    pub(super) inputs: Vec<PathBuf>,
}

impl Session {
    /// Reads settings and presets. What the user did not name may be missing or unreadable.
    pub(super) fn start(everywhere: &Everywhere, inputs: Vec<PathBuf>) -> Result<Self, Failure> {
        let place = Place::find(everywhere.config.as_deref());
        let config = match &place {
            Some(place) => settings(place, everywhere.config.is_some())?,
            None => Config::default(),
        };
        for folder in &everywhere.presets {
            std::fs::read_dir(folder).map_err(|error| Failure::io(folder, &error))?;
        }
        let keymap = Keymap::custom(&config.keys).map_err(|problems| {
            let place = place.as_ref().map_or_else(String::new, |place| config::mistakes(place, &problems));
            Failure::input(place)
        })?;
        let file = place.as_ref().map(|place| place.file.clone());
        let (library, warnings) =
            with_folders(shardscope_presets::library(), place.map(|place| place.folder), &everywhere.presets);
        for warning in &warnings {
            output::warning(warning);
        }
        Ok(Self {
            library: Arc::new(library),
            options: Options { keymap, config: file, ..options(everywhere, &config) },
            inputs,
        })
    }

    /// Whether a word names a file that is no scenario's, and no preset: another tool's, which is imported.
    pub(super) fn is_foreign(&self, name: &str) -> bool {
        let own = Path::new(name).extension().is_some_and(|extension| extension == "toml");
        !own && self.library.scenario_text(name).is_err() && Path::new(name).is_file()
    }

    /// Threads for a search.
    pub(super) fn pool(&self) -> Result<Pool, Failure> {
        search::pool(self.options.threads).map_err(|error| Failure::Io(format!("threads: {error}")))
    }

    /// The scenario that the arguments name, with their flags over it; whether it can be laid out is not asked.
    pub(super) fn open(&self, input: &ScenarioArgs) -> Result<Opened, Failure> {
        let ScenarioArgs { scenario, flags } = input;
        let name = scenario.as_deref().unwrap_or("default");
        if self.is_foreign(name) {
            return Err(Failure::input(import_first(name)));
        }
        let mut opened = snapshot::open(name, &self.library).map_err(refuse_opening)?;
        if scenario.is_none() && flags.has(Field::Model) {
            // How long the default's model trains says nothing of another one.
            opened.file.plan.put(Field::Tokens, None);
        }
        let (mut lengths, mut put) = (None, Vec::new());
        for (field, text) in flags.given() {
            if field == Field::Packing && files::holds_lengths(text) {
                lengths = Some(Path::new(text));
            } else if field == Field::Model && is_model_file(text) {
                self.adopt_model(Path::new(text), &mut opened)?;
            } else if field == Field::Cluster && is_cluster_file(text) {
                let cluster = read_cluster(Path::new(text), &self.library, &files::open)?;
                opened.file.cluster.clone_from(&cluster.id);
                opened.scenario.cluster = Arc::new(cluster);
            } else {
                put.push((field, text));
            }
            if let Ok(Some(Value::Batch(GlobalBatch::Sequences(count)))) = field.read(text)
                && text.ends_with(char::is_alphabetic)
            {
                // Whoever writes 4M often means tokens.
                let said = thousands(f64::from(count));
                output::warning(&format!("--global-batch {text}: {said} sequences; for tokens write '{text} tokens'"));
            }
        }
        let mut problems = if flags.is_empty() { Vec::new() } else { opened.put_over(put, &self.library) };
        if let Some(file) = lengths {
            let trained = flags.has(Field::Examples) || flags.has(Field::Tokens);
            pack(file, trained, &mut opened)?;
            match self.library.resolve_over(&opened.file, Some(&opened.scenario)) {
                Ok(scenario) => opened.scenario = scenario,
                Err(more) => problems.extend(more),
            }
        }
        problems.extend(disagreement(&opened, flags));
        if problems.is_empty() { Ok(opened) } else { Err(refused(&problems, input)) }
    }

    /// Puts the model of another tool's file into a scenario, which holds it as a snapshot holds its own: no preset
    /// has its id. What the file leaves open is said.
    fn adopt_model(&self, file: &Path, opened: &mut Opened) -> Result<(), Failure> {
        let imported = read_model(file, &self.library, &files::open)?;
        let mut model = imported.made.model;
        model.id = self.library.new_id(Kind::Model, &model.name);
        opened.file.model.clone_from(&model.id);
        opened.scenario.model = Arc::new(model);
        let assumed = ImportReport { assumed: imported.report.assumed, ..ImportReport::default() };
        output::to_stderr(&assumed.text());
        Ok(())
    }

    /// Opens a scenario that must be possible as it is.
    pub(super) fn open_possible(&self, input: &ScenarioArgs) -> Result<Opened, Failure> {
        let opened = self.open(input)?;
        match opened.scenario.layout() {
            Ok(_) => {}
            Err(problems) if !input.flags.is_empty() => return Err(refused(&problems, input)),
            Err(problems) => return Err(Failure::input(opened.mistakes(&problems).to_string())),
        }
        if input.flags.has(Field::GlobalBatch) {
            opened.scenario.divides_batch().map_err(|problem| refused(&[problem], input))?;
        }
        Ok(opened)
    }
}

/// Packs the examples of a file of lengths, a line for each: their mean, none longer than a sequence, which is where tools cut
/// them. Unless it is said how much is trained, there are as many as lengths.
fn pack(file: &Path, trained: bool, opened: &mut Opened) -> Result<(), Failure> {
    let text = files::read_lossy(file, InputKind::Lengths)?;
    let sequence = opened.scenario.plan.sequence;
    let (mut examples, mut tokens) = (0_u32, 0_u64);
    for (line, length) in (1..).zip(text.lines()).filter(|(_, length)| !length.trim().is_empty()) {
        let read = length.trim().parse::<u32>().ok().filter(|length| *length > 0);
        let length = read.ok_or_else(|| {
            let length: String = printable(length).chars().take(40).collect();
            let what = format!("{}:{line}: '{length}' is no length", file.display());
            Failure::input(format!("--packing: {what}; write the tokens of an example on each line"))
        })?;
        examples += 1;
        tokens += u64::from(length.min(sequence));
    }
    if examples == 0 {
        return Err(Failure::input(format!("--packing: {} has no length", file.display())));
    }
    let mean = (tokens as f64 / f64::from(examples)).round().max(1.0) as u32;
    opened.file.put(Field::Packing, Some(Value::Count(mean)));
    if !trained {
        opened.file.put(Field::Examples, Some(Value::Count(examples)));
    }
    output::note(&format!("--packing: {} examples of {mean} tokens on average", thousands(f64::from(examples))));
    Ok(())
}

/// A count of micro-batches beside a global batch from which another one follows.
fn disagreement(opened: &Opened, flags: &ScenarioFlags) -> Option<Problem> {
    let text = |field: Field| flags.given().find(|(given, _)| *given == field).map(|(_, text)| text);
    let (said, plan) = (text(Field::Accumulate)?, &opened.scenario.plan);
    text(Field::GlobalBatch).filter(|_| plan.global_batch.is_held())?;
    let said = Field::Accumulate.read(said).ok()??.get::<u32>()?;
    let each = opened.scenario.sequences() / f64::from(plan.accumulate);
    (said != plan.accumulate && each > 0.0).then(|| Problem {
        field: Field::Accumulate.path().to_owned(),
        what: format!(
            "{said} micro-batches are a global batch of {} sequences, not {}",
            f64::from(said) * each,
            plan.global_batch
        ),
        fix: format!("choose --accumulate {} or --global-batch {}", plan.accumulate, f64::from(said) * each),
    })
}

/// Says how a file is taken in that is no scenario.
fn import_first(name: &str) -> String {
    let line = ShellCode::default().code("shardscope import ").word(name).line();
    let line = line.unwrap_or_else(|_| "shardscope import FILE".to_owned());
    format!("{}: is no scenario; import it: `{line}`", printable(name))
}

fn refuse_opening(error: OpenError) -> Failure {
    match error {
        OpenError::Io { error: ref reason, .. } if reason.kind() != ErrorKind::InvalidData => {
            Failure::Io(error.to_string())
        }
        // The word may as well have been meant as a command.
        OpenError::Unknown(unknown) => {
            let command = like_command(&unknown.id).map_or_else(String::new, |name| format!("; or the command {name}"));
            Failure::input(format!("{unknown}, `shardscope help` the commands{command}"))
        }
        error => Failure::input(error.to_string()),
    }
}

/// Says which flags change nothing in any of these plans.
pub(super) fn note_idle(input: &ScenarioArgs, plans: impl IntoIterator<Item = Plan>) {
    let mut plans = plans.into_iter();
    let mut idle = plans.next().map(|plan| Idle::all(&plan)).unwrap_or_default();
    for plan in plans {
        idle.retain(|one| one.field.idle_in(&plan).is_some());
    }
    for Idle { field, why, fix } in idle {
        if input.flags.has(field) {
            output::note(&format!("--{field}: {why}; {fix}"));
        }
    }
}

/// Says which flags a search does not heed, since it chooses itself what they say.
pub(super) fn note_chosen(input: &ScenarioArgs, is_chosen: impl Fn(Field) -> bool) {
    for (field, _) in input.flags.given().filter(|(field, _)| is_chosen(*field)) {
        output::note(&format!("--{field}: changes nothing; the search chooses it"));
    }
}

/// Problems, each under the flag of its field, unless that stands in a file.
pub(super) fn refused(problems: &[Problem], input: &ScenarioArgs) -> Failure {
    if problems.iter().any(Problem::is_bug) {
        return problems.to_vec().into();
    }
    // One mistake in the three extents of the state is said once.
    let extent = |problem: &Problem| problem.field.starts_with(PLACEMENT);
    let mut problems = problems.to_vec();
    problems.dedup_by(|next, one| next.what == one.what && extent(next) && extent(one));
    let line = |problem: &Problem| match input.flag(&problem.field) {
        Some(flag) => format!("--{flag}: {}; {}", problem.what, problem.fix),
        None => problem.to_string(),
    };
    Failure::Input(problems.iter().map(line).collect())
}

/// Reads the configuration. Only the command line can insist on a file; elsewhere the defaults serve.
fn settings(place: &Place, insisted: bool) -> Result<Config, Failure> {
    let without = |message: String| {
        if insisted {
            return Err(Failure::Io(message));
        }
        output::warning(&format!("{message}; the defaults are used"));
        Ok(Config::default())
    };
    match place.read() {
        Ok(Some(config)) => Ok(config),
        Ok(None) if place.named => without(format!("{}: there is no such file", place.file.display())),
        Ok(None) => Ok(Config::default()),
        Err(config::Error::Read(error)) => without(format!("{}: {error}", place.file.display())),
        Err(config::Error::Wrong(error)) => Err(Failure::input(error.to_string())),
    }
}

fn options(everywhere: &Everywhere, config: &Config) -> Options {
    let variable = std::env::var("RAYON_NUM_THREADS").ok();
    let terminal = Terminal {
        palette: everywhere.palette.unwrap_or(config.terminal.palette),
        ascii: everywhere.ascii || config.terminal.ascii,
        low_bandwidth: everywhere.low_bandwidth || config.terminal.low_bandwidth,
        ..config.terminal
    };
    let threads = threads(everywhere.threads, variable.as_deref(), config.threads);
    Options { threads, terminal, ..Options::default() }
}

/// The flag, else the variable as rayon reads it (0 and nonsense stand for the default), within the flag's bounds, else
/// the file.
fn threads(flag: Option<u16>, variable: Option<&str>, file: Option<usize>) -> Option<usize> {
    let variable = || variable?.parse().ok().filter(|threads| (1..=usize::from(MOST_THREADS)).contains(threads));
    flag.map(usize::from).or_else(variable).or(file)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use shardscope_engine::scenario::field::Type;

    use crate::cli::args::{Cli, CliCommand};

    use super::*;

    /// A text for a field's flag, other than what the default scenario has.
    fn text(field: Field) -> &'static str {
        match (field, field.spec().takes) {
            (Field::Cluster, _) => "a100-80gb-dgx",
            (Field::Stack, _) => "megatron-2024",
            (Field::Model, _) => "mpt-7b",
            (Field::Strategy, _) => "hsdp",
            (Field::Nodes, _) => "4",
            (Field::Devices, _) => "64",
            (Field::Sequence, _) => "1024",
            (_, Type::OneOf(words)) => words.all.last().copied().unwrap_or_default(),
            (_, Type::Switch) => "off",
            (_, Type::Factor | Type::Share) => "0.5",
            (_, Type::Tokens) => "3e11",
            (_, Type::Batch) => "512",
            (_, Type::Extent) => "node",
            (_, Type::Recompute) => "full",
            _ => "2",
        }
    }

    /// Every pair of flags, through the parser of the command line: each says what it says alone, or both are refused.
    #[test]
    fn no_flag_is_dropped_beside_another() {
        let library = Arc::new(shardscope_presets::library());
        let session = Session { library, options: Options::default(), inputs: Vec::new() };
        let scenario = |fields: &[Field]| {
            let flags = fields.iter().map(|field| format!("--{field}={}", text(*field)));
            let words = ["shardscope", "eval"].map(str::to_owned).into_iter().chain(flags);
            let Ok(Cli { command: Some(CliCommand::Eval(eval)), .. }) = Cli::try_parse_from(words) else { return None };
            Some(session.open_possible(&eval.input).ok()?.scenario)
        };
        let alone: Vec<(Field, _)> =
            Field::all().filter_map(|field| Some((field, Some(field.value(&scenario(&[field])?)?)))).collect();
        assert!(alone.len() > 30, "{}", alone.len());
        let mut dropped = Vec::new();
        for (place, (one, said)) in alone.iter().enumerate() {
            for (other, also) in &alone[place + 1..] {
                let Some(both) = scenario(&[*one, *other]) else { continue };
                for (field, said) in [(one, said), (other, also)] {
                    let now = field.value(&both);
                    if now != *said {
                        dropped.push(format!("--{one} --{other}: {field} is {now:?}, not {said:?}"));
                    }
                }
            }
        }
        assert!(dropped.is_empty(), "{}", dropped.join("\n"));
    }

    #[test]
    fn threads_come_from_the_flag_then_the_variable_then_the_file() {
        assert_eq!(threads(Some(1), Some("2"), Some(3)), Some(1));
        assert_eq!(threads(None, Some("2"), Some(3)), Some(2));
        assert_eq!(threads(None, Some("0"), Some(3)), Some(3));
        assert_eq!(threads(None, Some("many"), None), None);
        // As many as the flag takes at most.
        assert_eq!(threads(None, Some("1024"), Some(3)), Some(1024));
        assert_eq!(threads(None, Some("1000000"), Some(3)), Some(3));
    }
}
