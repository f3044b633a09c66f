//! The fields of a scenario, each said once: its name in files, its flag, its label, its values, its default, its help
//! and where it lies in a plan. Files, flags, the explorer's rows, axes, edits and the guide follow this table.
//!
//! Not for what values mean together: that is checked with the scenario.

mod behaviour;
mod lenses;
mod table;
mod value;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, LazyLock};

use crate::model::Model;
use crate::plan::{Plan, PostMethod, Sharding, Size, StageSizes};
use crate::stack::{Feature, Runs};
use crate::units::devices;

use super::{Checked, Problem, Scenario};

pub use behaviour::Idle;
pub use table::Field;
pub(super) use table::MOST;
pub use value::Resolved;
pub use value::{Type, Typed, Value, count, switch};

/// What is known of a field.
#[derive(Debug, Clone, Copy)]
pub struct FieldSpec {
    /// Its path in the file (`plan.micro_batch`), as in [`Problem::field`].
    pub path: &'static str,
    /// Its path where a file places the state in full (`plan.sharding.weights`), which problems name.
    pub in_full: Option<&'static str>,
    /// The name of its flag (`micro-batch`).
    pub flag: &'static str,
    /// Its name on the screen.
    pub label: &'static str,
    /// What its values are.
    pub takes: Type,
    /// What its value is called in a usage line.
    pub value_name: &'static str,
    /// What it is, in a sentence without full stop.
    pub help: &'static str,
    /// What holds where nothing is said.
    pub default: &'static str,
    /// What one, and what several of its value are.
    pub unit: Option<[&'static str; 2]>,
    /// Values that a key steps through.
    pub steps: Steps,
    /// How it serves as an axis.
    pub axis: AxisSpec,
    /// Whether its row is folded away until asked for.
    pub rare: bool,
    /// Whether a search over plans changes it.
    pub search: SearchRole,
    /// How many of its values after and before the current one advice tries; none where a change would be no advice: of the
    /// machine, the numbers (precision, optimizer) or the task (model, sequence).
    pub advice: (usize, usize),
    /// How many of its values after and before the current one a diagnosis tries: those of advice, and numbers and details
    /// that a run may have had without its owner knowing, but no counts of devices.
    pub suspected: (usize, usize),
    /// Whether an import states its default where no file says it.
    pub left_open: bool,
    /// What it needs of the program that runs the plan.
    need: Option<Need>,
    /// When it changes nothing; the first rule that holds says why.
    idle: [Option<IdleRule>; 3],
    /// Where it lies.
    place: FieldPlace,
}

/// Values that a key steps through, in order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steps {
    /// All that its type has: words, or the ids of the library.
    All,
    /// Nodes of the cluster.
    Nodes,
    /// 1, 2, 3, 4, 6, 8, 12, ...: powers of two, and half-way between them.
    Counts(u32),
    /// Powers of two, both ends included; 0 comes before 1.
    Powers(u32, u32),
    /// These numbers.
    Numbers(&'static [f64]),
    /// Powers of two of sequences, and none held.
    Batches,
    /// Extents of the state that make a difference on the cluster.
    Extents,
    /// One device, and the levels of the cluster.
    Levels,
}

impl Steps {
    /// The counts among them, none above `most`; nothing where they are no counts.
    pub fn counts(self, most: u32) -> Vec<u32> {
        let powers = |first: u32, last: u32| {
            // None, then one and what doubles it.
            let next = |count: &u32| if *count == 0 { Some(1) } else { count.checked_mul(2) };
            let powers = std::iter::successors(Some(first), next);
            powers.take_while(move |count| *count <= last.min(most))
        };
        let mut counts: Vec<u32> = match self {
            Self::Nodes => return Self::Counts(most).counts(most),
            Self::Counts(last) => powers(1, last).chain(powers(3, last)).collect(),
            Self::Powers(first, last) => powers(first, last).collect(),
            Self::All | Self::Numbers(_) | Self::Batches | Self::Extents | Self::Levels => Vec::new(),
        };
        counts.sort_unstable();
        counts
    }
}

/// How a field serves as an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AxisSpec {
    /// Its word on the command line.
    pub word: &'static str,
    /// The ends of the powers of two that a map shows, where it counts.
    pub range: (u32, u32),
}

/// What a search over plans does with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchRole {
    /// It stays as the job has it.
    Fixed,
    /// The same, unless nobody has said it and no launcher takes its default.
    Launched,
    /// It changes where values of it are asked for.
    OnRequest,
    /// It changes unless it is held.
    Free,
}

/// A field that names a preset by its id. Who matches on it forgets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresetField {
    /// The machine that trains, under `cluster`.
    Cluster,
    /// The software that trains, under `stack`.
    Stack,
    /// What is trained, under `model`.
    Model,
    /// How its state is placed at first, under `strategy`.
    Strategy,
}

/// What a field needs of the program that runs its plan.
#[derive(Debug, Clone, Copy)]
enum Need {
    /// A feature, and the name of what a program without it lacks: for any other value than the default, or where a rule of
    /// its own says that a job makes use of it.
    Feature(Feature, Text, Option<fn(&Checked<'_>) -> bool>),
    /// A value that the program lists: what it lacks where it does not.
    Listed(fn(&Plan, &Runs) -> Option<Lack>),
}

/// What a program lacks of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lack {
    /// What it lacks.
    pub what: Cow<'static, str>,
    /// The values that it has, where it lists them; else empty.
    pub known: String,
}

/// When a field changes nothing.
#[derive(Debug, Clone, Copy)]
struct IdleRule {
    /// Whether its value in a plan changes nothing.
    is: fn(&Plan) -> bool,
    /// Why it changes nothing.
    why: Text,
    /// The change that would give it an effect.
    fix: &'static str,
}

/// A text of an entry.
#[derive(Debug, Clone, Copy)]
enum Text {
    /// The same for every plan.
    Fixed(&'static str),
    /// One that has values of the plan.
    OfPlan(fn(&Plan) -> String),
}

impl Text {
    fn of_plan(self, plan: &Plan) -> Cow<'static, str> {
        match self {
            Self::Fixed(text) => text.into(),
            Self::OfPlan(text) => text(plan).into(),
        }
    }
}

/// Where a field lies.
#[derive(Debug, Clone, Copy)]
enum FieldPlace {
    /// The id of a preset, at the top of the file.
    Id(PresetField),
    /// In the plan.
    Plan(Lens<Plan>),
    /// In the model, as the plan trains it.
    Model(Lens<Model>),
    /// In how the plan places its state, over what the strategy says.
    Sharding(Lens<Sharding>),
}

/// How a value is taken from a place and put there.
#[derive(Debug)]
struct Lens<T> {
    get: fn(&T) -> Option<Value>,
    /// Says whether the place could take it.
    set: fn(&mut T, &Value) -> bool,
}

impl<T> Clone for Lens<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Lens<T> {}

impl Field {
    /// All of them, in the order of files, helps and screens.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + Clone {
        table::ALL.iter().copied()
    }

    /// What is known of it.
    pub const fn spec(self) -> &'static FieldSpec {
        &table::TABLE[self as usize]
    }

    /// Its path in the file (`plan.micro_batch`), as in [`Problem::field`].
    pub const fn path(self) -> &'static str {
        self.spec().path
    }

    /// The field of a flag (`micro-batch`).
    pub fn from_flag(flag: &str) -> Option<Self> {
        Self::all().find(|field| field.spec().flag == flag)
    }

    /// The fields that say what a problem names by its path (`plan.micro_batch`), the nearest first: what a strategy says
    /// of its shards, other fields refine.
    pub fn behind(path: &str) -> Vec<Self> {
        if !path.starts_with(PLACEMENT) {
            return Self::all().filter(|field| field.path() == path).collect();
        }
        let own = Self::all().find(|field| field.spec().in_full == Some(path));
        let moved = own.filter(|own| own.spec().steps == Steps::Extents).map(|_| Self::Shard);
        own.into_iter().chain(moved).chain([Self::Strategy]).collect()
    }

    /// Its path where a file places the state in full, else its own.
    pub(crate) fn path_in_full(self) -> &'static str {
        self.spec().in_full.unwrap_or(self.path())
    }

    /// The field of an axis (`memory`).
    pub fn from_axis(word: &str) -> Option<Self> {
        Self::all().find(|field| field.spec().axis.word == word)
    }

    /// Whether a file has it in its table of post-training.
    pub(super) fn is_in_post_training(self) -> bool {
        self.path().starts_with(POST_TRAINING)
    }

    /// The name of its key in the table that it stands in: `micro_batch`.
    pub fn key(self) -> &'static str {
        let path = self.path();
        path.split_once('.').map_or(path, |(_, key)| key)
    }

    /// Whether a plan holds it, rather than the top of the file.
    pub const fn is_in_plan(self) -> bool {
        self.preset().is_none()
    }

    /// Which preset it names; `None` for a field of the plan.
    pub const fn preset(self) -> Option<PresetField> {
        match self.spec().place {
            FieldPlace::Id(preset) => Some(preset),
            FieldPlace::Plan(_) | FieldPlace::Model(_) | FieldPlace::Sharding(_) => None,
        }
    }

    /// Whether a search over plans changes it unless it is held.
    pub(crate) fn is_searched(self) -> bool {
        self.spec().search == SearchRole::Free
    }

    /// Whether a strategy says it where nobody else does.
    pub const fn is_in_sharding(self) -> bool {
        matches!(self.spec().place, FieldPlace::Sharding(_))
    }

    /// Reads its value from text; no text stands for the default.
    pub fn read(self, text: &str) -> Result<Option<Value>, Problem> {
        let text = text.trim();
        if text.is_empty() && self.is_in_plan() {
            return Ok(None);
        }
        // The 8,192 tokens of a sequence are written 8k.
        if let Some(tokens) = Some(text).filter(|_| self == Self::Sequence).and_then(value::binary) {
            return Ok(Some(Value::Count(tokens)));
        }
        self.spec().takes.read(text).map(Some).map_err(|fix| Problem {
            field: self.path().to_owned(),
            what: format!("'{}' is not valid", super::file::printable(text)),
            fix,
        })
    }

    /// The value of a plan's field where nothing is said; `None` where model, stack or strategy say it.
    pub fn usual(self) -> Option<&'static Value> {
        // Read once: a search asks it of each plan.
        static USUAL: LazyLock<Vec<Option<Value>>> = LazyLock::new(|| {
            let usual = |spec: &FieldSpec| match spec.place {
                FieldPlace::Id(_) | FieldPlace::Sharding(_) => None,
                // Its default is a value, or words that say where it comes from.
                FieldPlace::Plan(_) | FieldPlace::Model(_) => spec.takes.read(spec.default).ok(),
            };
            table::TABLE.iter().map(usual).collect()
        });
        USUAL[self as usize].as_ref()
    }

    /// Its value in a plan; `None` where the plan has none, or where it is no field of a plan alone.
    pub fn in_plan(self, plan: &Plan) -> Option<Value> {
        match self.spec().place {
            FieldPlace::Id(_) | FieldPlace::Model(_) => None,
            FieldPlace::Plan(lens) => (lens.get)(plan),
            FieldPlace::Sharding(lens) => (lens.get)(&plan.sharding),
        }
    }

    /// Its value in a scenario; `None` where the scenario has none.
    pub fn value(self, scenario: &Scenario) -> Option<Value> {
        if let FieldPlace::Model(lens) = self.spec().place {
            return (lens.get)(&scenario.model);
        }
        let Some(preset) = self.preset() else { return self.in_plan(&scenario.plan) };
        Some(Value::id(match preset {
            PresetField::Cluster => &scenario.cluster.id,
            PresetField::Stack => &scenario.stack.id,
            PresetField::Model => &scenario.model.id,
            PresetField::Strategy => &scenario.strategy,
        }))
    }

    /// The same as people think of it, however the scenario says it: whole nodes where only devices are given, and devices
    /// where only nodes are; `None` where that cannot be said.
    pub fn meant(self, scenario: &Scenario) -> Option<Value> {
        match (self, scenario.plan.size) {
            // A job of 16 devices is one of 2 nodes of 8; one of 4 devices is of no count of nodes.
            (Self::Nodes, Size::Devices(count)) => {
                let per_node = scenario.cluster.devices_per_node();
                count.is_multiple_of(per_node).then_some(Value::Count(count / per_node))
            }
            (Self::Devices, _) => Some(Value::Count(scenario.devices())),
            _ => self.value(scenario),
        }
    }

    /// Its value as the screen has it.
    pub fn text(self, scenario: &Scenario) -> String {
        match (self, self.meant(scenario)) {
            (_, Some(value)) => self.spec().takes.show(&value),
            (Self::Nodes, None) => devices(scenario.devices()),
            (_, None) => "-".to_owned(),
        }
    }

    /// Puts a value into a scenario. Presets must have been looked up: nothing is read or sought here, so that a map of
    /// many cells costs what its evaluations cost.
    pub fn put(self, value: &Value, scenario: &mut Scenario) -> Result<(), Problem> {
        match value {
            Value::Preset(preset) => {
                preset.clone().put(scenario);
                Ok(())
            }
            value => {
                if let FieldPlace::Model(lens) = self.spec().place {
                    (lens.set)(Arc::make_mut(&mut scenario.model), value);
                }
                self.put_in_plan(&mut scenario.plan, value)?;
                // What a step computes says what comes behind the last layer.
                let scores = scenario.plan.post_training.method == PostMethod::Reward;
                if scenario.model.scores != scores {
                    Arc::make_mut(&mut scenario.model).scores = scores;
                }
                Ok(())
            }
        }
    }

    /// Gives a plan's field a value; a field of the model changes no plan.
    pub(crate) fn put_in_plan(self, plan: &mut Plan, value: &Value) -> Result<(), Problem> {
        let taken = match self.spec().place {
            FieldPlace::Id(_) => false,
            FieldPlace::Model(_) => true,
            FieldPlace::Plan(lens) => (lens.set)(plan, value),
            FieldPlace::Sharding(lens) => (lens.set)(&mut plan.sharding, value),
        };
        match (taken, self) {
            (true, _) => Ok(()),
            (false, Self::Shard) if matches!(value, Value::Extent(_)) => Err(Problem::nothing_sharded()),
            (false, _) => Err(Problem::bug(self.path(), format!("'{value}' is of another type"))),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.spec().flag)
    }
}

/// What begins the path of a field in the table of post-training.
const POST_TRAINING: &str = "post_training.";

/// What begins the paths of the placement of the state in full.
pub const PLACEMENT: &str = "plan.sharding.";

/// One field of a scenario and the value that it gets: what undo, sweeps, tuning, advice and training have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// Which field.
    pub field: Field,
    /// Its new value.
    pub value: Value,
}

impl Edit {
    /// An edit of a field.
    pub fn new(field: Field, value: impl Into<Value>) -> Self {
        Self { field, value: value.into() }
    }

    /// What gives one scenario's field the value that it has in another; `None` where that has none.
    pub fn from_scenario(field: Field, scenario: &Scenario) -> Option<Self> {
        Some(Self { field, value: field.value(scenario)? })
    }

    /// Makes the edit in a scenario.
    pub fn apply(&self, scenario: &mut Scenario) -> Result<(), Problem> {
        self.field.put(&self.value, scenario)
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field, self.value)
    }
}

impl Resolved {
    /// The preset that a scenario has in a field; `None` for a field of the plan.
    pub fn from_scenario(field: Field, scenario: &Scenario) -> Option<Self> {
        let Scenario { cluster, stack, calibration, model, strategy, plan, .. } = scenario.clone();
        Some(match field.preset()? {
            PresetField::Cluster => Self::Cluster(cluster, plan.precision),
            PresetField::Stack => Self::Stack(stack, calibration),
            PresetField::Model => Self::Model(model, plan.sequence),
            PresetField::Strategy => Self::Strategy(strategy, plan.sharding),
        })
    }

    /// Puts the preset into a scenario, with what it brings along; operators that were placed one by one were placed for
    /// another model or strategy.
    fn put(self, scenario: &mut Scenario) {
        let plan = &mut scenario.plan;
        match self {
            Self::Cluster(cluster, precision) => (scenario.cluster, plan.precision) = (cluster, precision),
            Self::Stack(stack, calibration) => (scenario.stack, scenario.calibration) = (stack, calibration),
            // Placements of operators and the layers of stages were meant for the model before.
            Self::Model(model, sequence) => {
                (scenario.model, plan.sequence, plan.operators) = (model, sequence, Vec::new());
                plan.stage_layers = StageSizes::Balanced;
            }
            Self::Strategy(id, sharding) => {
                (scenario.strategy, plan.sharding, plan.operators) = (id, sharding, Vec::new());
            }
        }
    }
}

#[cfg(test)]
mod tests;
