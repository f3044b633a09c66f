//! The flags over a scenario, one for each field of its table.
//!
//! Not for what the values mean: they stay text here, and their fields read them.

use clap::builder::PossibleValuesParser;
use clap::error::Error;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use shardscope_engine::scenario::Field;
use shardscope_engine::scenario::field::Type;

/// Flags over the scenario, as they were written.
#[derive(Debug, Clone, Default)]
pub struct ScenarioFlags {
    /// In the order of the table: presets first, since what follows refines them.
    given: Vec<(Field, String)>,
}

impl ScenarioFlags {
    /// The flags that were given, each with its text; presets first, since what follows refines them.
    pub fn given(&self) -> impl Iterator<Item = (Field, &str)> {
        self.given.iter().map(|(field, text)| (*field, text.as_str()))
    }

    /// Whether a field's flag was given.
    pub fn has(&self, field: Field) -> bool {
        self.given.iter().any(|(given, _)| *given == field)
    }

    /// Takes away a flag whose text is a list or a range, which only a search can hold.
    pub fn take_range(&mut self, field: Field) -> Option<String> {
        let range = |(given, text): &(Field, String)| *given == field && (text.contains("..") || text.contains(','));
        let place = self.given.iter().position(range)?;
        Some(self.given.remove(place).1)
    }

    /// Whether none was given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

// By hand, where other arguments are derived: the table of fields says which flags there are.
impl Args for ScenarioFlags {
    fn augment_args(command: Command) -> Command {
        command.args(Field::all().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ScenarioFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let text = |field: Field| matches.get_one::<String>(field.spec().flag).cloned();
        Ok(Self { given: Field::all().filter_map(|field| Some((field, text(field)?))).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags that a page of help has; `--help` has all.
const COMMON: [Field; 15] = [
    Field::Cluster,
    Field::Stack,
    Field::Model,
    Field::Strategy,
    Field::Nodes,
    Field::Devices,
    Field::MicroBatch,
    Field::GlobalBatch,
    Field::Sequence,
    Field::Recompute,
    Field::Precision,
    Field::Tensor,
    Field::Pipeline,
    Field::Context,
    Field::Tokens,
];

/// The flag of a field.
pub(super) fn flag(field: Field) -> Arg {
    let spec = field.spec();
    let arg = Arg::new(spec.flag)
        .long(spec.flag)
        .value_name(spec.value_name)
        .help(spec.help)
        .help_heading("Scenario")
        .allow_negative_numbers(true);
    let arg = arg.hide_short_help(!COMMON.contains(&field));
    let arg = match field {
        Field::Devices => arg.conflicts_with(Field::Nodes.spec().flag).aliases(["gpus", "num-gpus"]),
        Field::GlobalBatch => arg.aliases(["batch", "batch-size"]),
        Field::Examples => arg.conflicts_with(Field::Tokens.spec().flag),
        _ => arg,
    };
    match spec.takes {
        Type::OneOf(words) => arg.value_parser(PossibleValuesParser::new(words.all)),
        Type::Switch => arg.value_parser(PossibleValuesParser::new(["on", "off"])),
        Type::Id
        | Type::Count(..)
        | Type::Factor
        | Type::Share
        | Type::Tokens
        | Type::Money
        | Type::Batch
        | Type::Extent
        | Type::Recompute
        | Type::RecomputeModules
        | Type::HostModules
        | Type::StageSizes
        | Type::Imbalance
        | Type::Capacity
        | Type::DispatchFormats
        | Type::LoraTargets
        | Type::Beside => arg,
    }
}
