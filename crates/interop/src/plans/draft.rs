//! A plan being read from another tool's files: its fields, and the source of each.
//!
//! Knows no tool's names.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::report::ImportReport;
use shardscope_engine::model::Model;
use shardscope_engine::plan::{Compile, Extent, MasterWeights, Moments, Offload, Recompute, Reduction, Sharded};
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::{Field, Value};

use super::PlanWishes;
use super::free_layers::FreeLayers;
use super::harmless::HarmlessNames;
use super::settings::Setting;
use super::stages::UnevenStages;

/// The union of two offloads, if a plan has a word for it.
fn offloads(field: Field, one: &Value, other: &Value) -> Option<Value> {
    let (one, other) = (one.get::<Offload>()?, other.get::<Offload>()?);
    let parts = |offload: Offload| [offload.optimizer(), offload.state(), offload.checkpoints(), offload.activations()];
    let (mine, more) = (parts(one), parts(other));
    let both: [bool; 4] = std::array::from_fn(|part| mine[part] || more[part]);
    let same = one.on_drives() || other.on_drives();
    let found = Offload::ALL.iter().find(|offload| offload.on_drives() == same && parts(**offload) == both)?;
    (field == Field::Offload).then(|| (*found).into())
}

/// Fields found so far, and problems.
#[derive(Debug, Default)]
pub(crate) struct PlanDraft {
    values: BTreeMap<Field, (Value, String)>,
    /// Sources of the values.
    pub report: ImportReport,
    /// Problems that prevent the import.
    pub errors: Vec<Problem>,
    /// The model, if the files describe one.
    pub model: Option<Model>,
    /// The stack of the files' tool, and whose runs it knows.
    pub stack: Option<(&'static str, &'static str)>,
    /// Elements that may be prefetched, if a file says so; their number of units depends on the model.
    pub prefetched: Option<(f64, String)>,
    /// True if the arguments are a log's, which lists defaults too.
    pub logged: bool,
    /// When gradients are reduced, and why; it matters with several micro-batches.
    pub reduced: Option<(Reduction, String)>,
    /// Layers per pipeline stage, if a file says so; the number of stages depends on the model.
    pub layers_per_stage: Option<(u32, String)>,
    /// How uneven stages divide the model's layers.
    pub uneven_stages: Option<(UnevenStages, String)>,
    /// Recomputed layers per pipeline stage, if a file says so; their share depends on the model.
    pub repeated_layers: Option<(u32, String)>,
    /// Layers with activations on the host, if a file says so; whether those are all but the last depends on the model.
    pub offloaded_layers: Option<(u32, String)>,
    /// Source of a tiled MLP, whose tiles have as many tokens as the model has channels.
    pub tiled: Option<String>,
    /// Source of dividing a node's cores among its processes.
    pub bound_cores: Option<String>,
    /// Source of one thread for each of a node's processes.
    pub one_thread: Option<String>,
    /// Trained layers, if a file says so; the number of frozen ones depends on the model.
    pub free_layers: Option<(FreeLayers, String)>,
    /// Settings that no table of their tool knows, by their names.
    pub unknown: Vec<(String, Setting)>,
    /// Unknown settings that may change size, time or memory.
    pub doubted: Vec<(String, Setting)>,
    /// Settings without effect, by tool.
    pub harmless: HarmlessNames,
    /// Devices on the nodes, if the user gives the nodes.
    of_nodes: Option<u32>,
    /// Fields that the user gives, which override the files.
    given: Vec<Field>,
}

impl PlanDraft {
    /// Starts from the user's fields, which override the files.
    pub fn new(wishes: PlanWishes, of_nodes: Option<u32>, harmless: HarmlessNames) -> Self {
        let mut draft = Self { model: wishes.model, of_nodes, harmless, ..Self::default() };
        if draft.model.is_some() {
            draft.given.push(Field::Model);
        }
        for (field, value) in wishes.fields {
            let flag = format!("--{field}");
            draft.report.take(field.key(), &value, &flag);
            draft.values.insert(field, (value, flag));
            draft.given.push(field);
        }
        draft
    }

    /// Sets a field from a setting's text.
    pub fn read(&mut self, field: Field, text: &str, place: &str) {
        if self.is_overruled(field, place) {
            return;
        }
        match field.read(text) {
            Ok(Some(value)) => self.put(field, value, place),
            Ok(None) => self.ask(field, place, "is empty"),
            Err(_) if text.contains('$') => self.refuse(place, format!("'{text}' is set outside the file"), field),
            Err(problem) => self.refuse(place, format!("{}: {}", problem.what, problem.fix), field),
        }
    }

    /// Sets a field to a value derived from a setting.
    pub fn take(&mut self, field: Field, value: impl Into<Value>, place: &str) {
        if !self.is_overruled(field, place) {
            self.put(field, value.into(), place);
        }
    }

    /// True if the user gives the field, or one that includes it. The file's value is then reported as ignored,
    /// whatever it is.
    fn is_overruled(&mut self, field: Field, place: &str) -> bool {
        // A strategy implies its extent, and nodes imply devices.
        let stronger = match field {
            Field::Shard => Field::Strategy,
            Field::Devices => Field::Nodes,
            field => field,
        };
        let said = [field, stronger].into_iter().find(|field| self.given.contains(field));
        if let Some(said) = said {
            self.report.ignore(place, format!("--{said} says it"));
        }
        said.is_some()
    }

    fn put(&mut self, field: Field, value: Value, place: &str) {
        // Any of several switches turns on recomputation, compilation or an offload: one that is off leaves it to the
        // others.
        let off = [
            (Field::Recompute, Value::Recompute(Recompute::None)),
            (Field::Compile, Compile::Off.into()),
            (Field::Offload, Offload::None.into()),
        ];
        let is_off = |value: &Value| off.contains(&(field, value.clone()));
        // One switch may offload the state, and another one checkpoints.
        let both =
            self.values.get(&field).and_then(|(other, said)| Some((offloads(field, other, &value)?, said.clone())));
        let (value, place) = match &both {
            Some((both, said)) if !said.is_empty() => {
                self.report.forget(field.key());
                self.values.remove(&field);
                (both.clone(), format!("{said}, {place}"))
            }
            _ => (value, place.to_owned()),
        };
        let place = place.as_str();
        match self.values.get(&field) {
            Some((other, said)) if *other == value && !said.is_empty() => return,
            Some((other, said)) if said.is_empty() || is_off(other) => self.report.forget(field.key()),
            Some((_, said)) if is_off(&value) => return self.report.ignore(place, format!("{said} says it")),
            // Two files of one job, such as the Trainer's and Accelerate's, must agree: which one the launcher believes
            // depends on its version.
            Some((other, said)) => {
                let what = format!("{} is {value} here and {other} in {said}", field.key());
                return self.errors.push(Problem::new(place, what, "let both say the same"));
            }
            None => {}
        }
        self.report.take(field.key(), &value, place);
        self.values.insert(field, (value, place.to_owned()));
    }

    /// Sets a field that no file gives to the value that applies anyway.
    pub fn assume(&mut self, field: Field, value: impl Into<Value>, why: impl Display) {
        if self.values.contains_key(&field) {
            return;
        }
        let value = value.into();
        self.report.assume(field.key(), &value, format!("{why}; --{field} says otherwise"));
        self.values.insert(field, (value, String::new()));
    }

    /// Sets the sharding: the first sharded part (`None` is `ddp`), over some ranks (`None` is all). Gradients are
    /// summed over copies at each micro-batch.
    pub fn shard(&mut self, first: Option<Sharded>, over: Option<Extent>, place: &str) {
        self.shard_with_copies(first, over, "hsdp", place);
    }

    /// As `shard`, with the strategy for copies of sharded weights.
    pub fn shard_with_copies(
        &mut self,
        first: Option<Sharded>,
        over: Option<Extent>,
        copied: &'static str,
        place: &str,
    ) {
        let strategy = match (first, &over) {
            (None, _) | (_, Some(Extent::Ranks(1))) => "ddp",
            (Some(Sharded::Optimizer), _) => "zero1",
            (Some(Sharded::Gradients), _) => "zero2",
            (Some(Sharded::Weights), None) => "fsdp",
            (Some(Sharded::Weights), Some(_)) => copied,
        };
        self.take(Field::Strategy, Value::id(strategy), place);
        if let Some(over) = over.filter(|_| strategy != "ddp") {
            self.take(Field::Shard, over, place);
        }
    }

    /// Keeps weights, gradients and moments in 16 bits, without master weights.
    pub(crate) fn keep_16_bits(&mut self, place: &str) {
        self.take(Field::MasterWeights, MasterWeights::None, place);
        self.take(Field::Moments, Moments::Bf16, place);
    }

    /// As `keep_16_bits`, where no file says otherwise.
    pub(crate) fn assume_16_bits(&mut self, why: &str) {
        self.assume(Field::MasterWeights, MasterWeights::None, why);
        self.assume(Field::Moments, Moments::Bf16, why);
    }

    /// The value given for a field.
    pub fn value(&self, field: Field) -> Option<&Value> {
        self.values.get(&field).map(|(value, _)| value)
    }

    /// The count given for a field.
    pub fn count(&self, field: Field) -> Option<u32> {
        self.value(field)?.get()
    }

    /// The count given for a field, or 1.
    pub fn ranks(&self, field: Field) -> u32 {
        self.count(field).unwrap_or(1).max(1)
    }

    /// Devices of the job, if known.
    pub fn devices(&self) -> Option<u32> {
        self.count(Field::Devices).or(self.of_nodes)
    }

    /// Data-parallel ranks, if the devices are known and divide evenly.
    pub fn data_ranks(&self) -> Option<u32> {
        let product = [Field::Tensor, Field::Context, Field::Pipeline]
            .into_iter()
            .try_fold(1_u32, |product, field| product.checked_mul(self.ranks(field)))?;
        let devices = self.devices()?;
        devices.is_multiple_of(product).then_some(devices / product)
    }

    /// True if the user gives a field.
    pub(crate) fn is_given(&self, field: Field) -> bool {
        self.given.contains(&field)
    }

    /// Refuses a value that a plan cannot hold; the fix names the field's flag.
    pub fn refuse(&mut self, place: &str, what: impl Display, field: Field) {
        if !self.is_given(field) {
            let fix = format!("say it with --{field}, which goes before the file");
            self.errors.push(Problem::new(place, what, fix));
        }
    }

    /// Refuses settings that contradict one another, or the user.
    pub(crate) fn contradict(&mut self, place: &str, what: impl Display) {
        self.errors.push(Problem::new(place, what, "correct one of them, or say another --devices"));
    }

    /// Refuses a setting that changes size, time or memory in a way that no plan can express.
    pub fn cannot(&mut self, setting: &Setting, what: &str, fix: &str) {
        self.errors.push(Problem::new(&setting.place, format!("'{}' {what}", setting.text), fix));
    }

    /// Keeps a setting with the plan whose effect on size, time or memory is unknown.
    pub fn doubt(&mut self, name: &str, setting: Setting) {
        self.report.doubt(&setting.place);
        self.doubted.push((name.to_owned(), setting));
    }

    /// Asks the user for a field.
    pub fn ask(&mut self, field: Field, place: &str, what: impl Display) {
        if !self.is_given(field) {
            self.errors.push(Problem::new(place, what, format!("say it with --{field}")));
        }
    }

    /// All fields, with their values.
    pub fn fields(&self) -> impl Iterator<Item = (Field, &Value)> {
        self.values.iter().map(|(field, (value, _))| (*field, value))
    }
}
