//! Arguments of `import`, built from the table of kinds and their options. Not for what is imported.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

use shardscope_engine::scenario::Field;
use shardscope_interop::content::{ForeignKind, ImportOption};
use shardscope_interop::import::ImportWords;

use super::flags::flag;
use super::{ReportForm, ScenarioArgs, ScenarioFlags, written};

/// Arguments of `import`.
#[derive(Debug)]
pub struct ImportArgs {
    /// The kind that was named; without one the content of the file tells.
    pub kind: Option<ForeignKind>,
    /// Files and options.
    pub words: ImportWords,
    /// The scenario to compare a trace with, or that ran out of memory.
    pub scenario: ScenarioArgs,
    /// Where the result goes.
    pub output: ImportOutput,
}

/// Where an import goes, and in what form.
#[derive(Debug, Clone, Default, Args)]
pub struct ImportOutput {
    /// Write the result here; an existing file needs --force
    #[arg(long, value_name = "FILE", value_parser = written)]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Refuse a file of which anything is unknown to this program
    #[arg(long)]
    pub strict: bool,
    /// Format of the result: the file itself as text, its report on stderr; or all of it as JSON
    #[arg(long, value_enum, default_value = "text")]
    pub format: ReportForm,
}

const FILE: &str = "file";
const SCENARIO: &str = "scenario";

// By hand, where other arguments are derived: the table of kinds says which options there are.
impl Args for ImportArgs {
    fn augment_args(command: Command) -> Command {
        let file = Arg::new(FILE).value_name("FILE").value_parser(value_parser!(PathBuf)).help(
            "File whose content says what it is: a model, a run's log or trace, an out-of-memory \
             message, a launcher's configuration, a tool's output",
        );
        // Each option is taken here too, for the kind that the content tells; the help of that kind explains it.
        let flags = Field::all().map(flag).map(|flag| flag.value_parser(value_parser!(String)));
        let hidden = options().map(argument).chain(flags).map(|argument| argument.hide(true));
        ImportOutput::augment_args(command.args_conflicts_with_subcommands(true).arg(file))
            .args(hidden)
            .subcommands(ForeignKind::ALL.map(kind))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ImportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let (kind, matches) = match matches.subcommand() {
            None => (None, matches),
            Some((word, matches)) => (ForeignKind::ALL.into_iter().find(|kind| kind.spec().word == word), matches),
        };
        let texts = |name: &str| matches.try_get_many::<String>(name).ok().flatten().into_iter().flatten().cloned();
        let files = matches.get_many::<PathBuf>(FILE).into_iter().flatten().cloned().collect();
        // In the order of the table of fields: presets first, since what follows refines them.
        let names = Field::all().map(|field| field.spec().flag).chain(options().map(|option| option.name));
        let options = names.flat_map(|name| texts(name).map(move |text| (name.to_owned(), text))).collect();
        let takes_fields = kind.is_none_or(|kind| kind.spec().takes_fields);
        let flags = if takes_fields { ScenarioFlags::from_arg_matches(matches)? } else { ScenarioFlags::default() };
        Ok(Self {
            kind,
            words: ImportWords { files, options },
            scenario: ScenarioArgs { scenario: texts(SCENARIO).next(), flags },
            output: ImportOutput::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The command that imports a kind.
fn kind(kind: ForeignKind) -> Command {
    let spec = kind.spec();
    let files = Arg::new(FILE).value_name(spec.file_name).value_parser(value_parser!(PathBuf)).help(spec.file_help);
    let files = files.required(true).num_args(1..=if spec.several { usize::MAX } else { 1 });
    let command = Command::new(spec.word).arg(files).args(spec.options.iter().map(argument));
    let command = ImportOutput::augment_args(command);
    let command = match kind {
        ForeignKind::Trace | ForeignKind::OutOfMemory => ScenarioArgs::augment_args(command),
        _ if spec.takes_fields => ScenarioFlags::augment_args(command),
        _ => command,
    };
    // Last, since arguments that are flattened into a command bring a description of their own.
    command.about(spec.about)
}

fn argument(option: &ImportOption) -> Arg {
    let ImportOption { name, value_name, help, words, repeats } = *option;
    let argument = Arg::new(name).long(name).value_name(value_name).help(help);
    let argument = if repeats { argument.action(ArgAction::Append) } else { argument };
    if words.is_empty() { argument } else { argument.value_parser(PossibleValuesParser::new(words)) }
}

/// The options of all kinds that are no flags of a scenario, each once.
fn options() -> impl Iterator<Item = &'static ImportOption> {
    let all = || ForeignKind::ALL.into_iter().flat_map(|kind| kind.spec().options);
    let is_flag = |option: &ImportOption| Field::all().any(|field| field.spec().flag == option.name);
    let is_first =
        move |at: usize, option: &ImportOption| all().position(|other| other.name == option.name) == Some(at);
    all().enumerate().filter(move |(at, option)| is_first(*at, option) && !is_flag(option)).map(|(_, option)| option)
}
