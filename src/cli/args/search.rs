//! Arguments of `search`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use shardscope_engine::scenario::Field;
use shardscope_engine::scenario::field::Type;
use shardscope_engine::search::plans::Objective;
use shardscope_engine::search::{Axis, WorkPart};
use shardscope_engine::units::{Money, Seconds, read_share};
use shardscope_interop::runs_in::Launcher;

use super::{ScenarioArgs, TableForm, words, written};

/// Arguments of `search`.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// Objective of the plans, at the scenario's global batch: tokens per second of all devices, days, cost,
    /// energy, fewest devices or least memory; or the longest sequence that fits, with the fastest plan of each length. Days,
    /// cost and energy include failures where the cluster states them
    #[arg(long, default_value = "throughput", value_parser = words(OBJECTIVES))]
    pub objective: Sought,
    /// Fewest tokens per second of all devices, failures included where the cluster states them; needs --objective sequence
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub tokens_per_s_min: Option<f64>,
    /// Values that a field may take, like nodes=4..32 or strategy=zero3,hsdp; may be repeated. `--nodes 4..32` says the
    /// same of nodes
    #[arg(long, value_name = "FIELD=VALUES")]
    pub over: Vec<Axis>,
    /// Field that stays as the scenario has it, like recompute; may be repeated. Flags that are given stay as they are
    #[arg(long, value_name = "FIELD", value_parser = field)]
    pub fix: Vec<Field>,
    /// Also allowed in a plan: quantise transfers, offload to the host, compute in fp8; nothing by default
    #[arg(long, value_enum, value_delimiter = ',')]
    pub allow: Vec<Allow>,
    /// Launcher that takes the plans, as of `export --to`; `any`, the default, ranks plans that some launcher takes first, and
    /// names the better ones that none takes
    #[arg(long, value_name = "TOOL", value_parser = launcher)]
    pub runs_in: Option<String>,
    /// Plans that the stack and launchers cannot run too: each then says what the stack lacks
    #[arg(long)]
    pub any_plan: bool,
    /// Share of the memory that must stay free, like 5%; by default as much as a plan needs to fit with a chance of 0.9
    #[arg(long, value_name = "SHARE", value_parser = margin)]
    pub margin: Option<f64>,
    /// Longest training, like "30 d", failures included where the cluster states them; needs --tokens
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Seconds>,
    /// Most money, like "500000 USD"; needs --tokens and a price
    #[arg(long, value_name = "MONEY")]
    pub budget: Option<Money>,
    /// Most devices
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub devices_max: Option<u32>,
    /// Plans to print, best first, each of another mesh, schedule or micro-batch; 10 by default
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub top: Option<u32>,
    /// Also print the plans that nothing beats in all of these: days, cost, devices
    #[arg(long, value_name = "FIGURES", value_delimiter = ',', value_parser = words(FRONT))]
    pub pareto: Vec<Objective>,
    /// Also write the best plan as a scenario, for eval, export or the explorer; an existing file needs --force
    #[arg(long, value_name = "FILE.toml", value_parser = written)]
    pub out: Option<PathBuf>,
    /// Overwrite existing files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Look at one of N parts of the plans, from 0, as JSON: `merge` puts them together. A part exits with 0 whether or
    /// not it has a plan that fits
    #[arg(long, value_name = "K/N")]
    pub part: Option<WorkPart>,
    /// Parts of the same search that are there already, so that this one need not look at what cannot beat them
    #[arg(long, value_name = "PART.json", num_args = 1.., requires = "part")]
    pub known: Vec<PathBuf>,
    /// Format of the report
    #[arg(long, value_enum, default_value = "text")]
    pub format: TableForm,
    #[command(flatten)]
    pub input: ScenarioArgs,
}

/// What a search looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// The plans that are best in this.
    Plans(Objective),
    /// The longest sequence that fits.
    Sequence,
}

impl Sought {
    /// By what plans of the same length are ranked.
    pub const fn objective(self) -> Objective {
        match self {
            Self::Plans(objective) => objective,
            Self::Sequence => Objective::Throughput,
        }
    }
}

const OBJECTIVES: [(&str, Sought); Objective::ALL.len() + 1] = {
    let mut all = [("sequence", Sought::Sequence); Objective::ALL.len() + 1];
    let mut at = 0;
    while at < Objective::ALL.len() {
        all[at] = (Objective::ALL[at].0, Sought::Plans(Objective::ALL[at].1));
        at += 1;
    }
    all
};

/// In what plans of a front are weighed against one another.
const FRONT: [(&str, Objective); 3] =
    [("days", Objective::Days), ("cost", Objective::Cost), ("devices", Objective::Devices)];

/// Extra choices that a search may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Allow {
    Quantised,
    Offload,
    Fp8,
}

fn field(name: &str) -> Result<Field, String> {
    Field::from_flag(name).or_else(|| Field::from_axis(name)).ok_or_else(|| {
        let flags: Vec<&str> = Field::all().map(|field| field.spec().flag).collect();
        format!("a field is one of {}", flags.join(", "))
    })
}

fn launcher(text: &str) -> Result<String, String> {
    let known = text == "any" || Launcher::named(text).is_some();
    let words = || Launcher::all().iter().map(Launcher::word).collect::<Vec<_>>().join(", ");
    known.then(|| text.to_owned()).ok_or_else(|| format!("choose any or one of {}", words()))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = Type::Tokens.read(text).ok().filter(|rate| Type::Tokens.holds(rate)).and_then(|rate| rate.get());
    rate.ok_or_else(|| "a rate is a number of tokens a second above 0, like 5000 or 12k".to_owned())
}

fn margin(text: &str) -> Result<f64, String> {
    let share = read_share(text).filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "a margin is a share of the memory, like 5%".to_owned())
}
