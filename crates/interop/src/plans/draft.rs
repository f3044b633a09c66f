//! A plan while it is read from another tool's files: its fields, and where each comes from.
//!
//! Not for any tool's names.

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

/// What two switches put on the host together, where a plan has a word for it.
fn offloads(field: Field, one: &Value, other: &Value) -> Option<Value> {
    let (one, other) = (one.get::<Offload>()?, other.get::<Offload>()?);
    let parts = |offload: Offload| [offload.optimizer(), offload.state(), offload.checkpoints(), offload.activations()];
    let (mine, more) = (parts(one), parts(other));
    let both: [bool; 4] = std::array::from_fn(|part| mine[part] || more[part]);
    let same = one.on_drives() || other.on_drives();
    let found = Offload::ALL.iter().find(|offload| offload.on_drives() == same && parts(**offload) == both)?;
    (field == Field::Offload).then(|| (*found).into())
}

/// Fields as they are found, with what is wrong.
#[derive(Debug, Default)]
pub(crate) struct PlanDraft {
    values: BTreeMap<Field, (Value, String)>,
    /// Where the values come from.
    pub report: ImportReport,
    /// What cannot be taken over.
    pub errors: Vec<Problem>,
    /// The model, where the files describe one.
    pub model: Option<Model>,
    /// The stack that the files' tool stands for, and the tool.
    pub stack: Option<(&'static str, &'static str)>,
    /// Elements that may be gathered ahead, where a file says so: how many units that is depends on the model.
    pub prefetched: Option<(f64, String)>,
    /// Whether the arguments are a log's, which has those too that nobody set.
    pub logged: bool,
    /// When gradients of several micro-batches are reduced, and why: it matters where there are several.
    pub reduced: Option<(Reduction, String)>,
    /// Layers of a pipeline stage, where a file says so: how many stages that makes depends on the model.
    pub layers_per_stage: Option<(u32, String)>,
    /// How stages that are not alike divide the layers, of which the model has so many.
    pub uneven_stages: Option<(UnevenStages, String)>,
    /// Layers of each pipeline stage that are computed again, where a file says so: what share that is depends on the model.
    pub repeated_layers: Option<(u32, String)>,
    /// Layers whose activations are on the host, where a file says so: whether those are all but the last depends on the
    /// model.
    pub offloaded_layers: Option<(u32, String)>,
    /// That the MLP runs in tiles of as many tokens as the model has channels.
    pub tiled: Option<String>,
    /// What divides a node's cores among its processes.
    pub bound_cores: Option<String>,
    /// What gives each of several processes of a node one thread.
    pub one_thread: Option<String>,
    /// Layers that are trained, where a file says so: how many stay as they are depends on the model.
    pub free_layers: Option<(FreeLayers, String)>,
    /// Settings that no table of their tool knows, by their names.
    pub unknown: Vec<(String, Setting)>,
    /// Those of them that may change size, time or memory for all that is known.
    pub doubted: Vec<(String, Setting)>,
    /// Settings of each tool that change nothing.
    pub harmless: HarmlessNames,
    /// Devices of the nodes, where the user says these.
    of_nodes: Option<u32>,
    /// Fields that the user says, whatever the files have.
    given: Vec<Field>,
}

impl PlanDraft {
    /// Starts from what the user says, which files do not change.
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

    /// A field whose value a setting gives as people write it.
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

    /// A field whose value follows from what a setting says.
    pub fn take(&mut self, field: Field, value: impl Into<Value>, place: &str) {
        if !self.is_overruled(field, place) {
            self.put(field, value.into(), place);
        }
    }

    /// Whether the user says a field, or what is stronger. Then the file is not asked: its value is reported as ignored,
    /// whatever it is.
    fn is_overruled(&mut self, field: Field, place: &str) -> bool {
        // A strategy brings its extent, and nodes their devices.
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
        // Layers are computed again, code is compiled and something is on the host if any of several switches is on: one
        // that is off leaves it to the others.
        let off = [
            (Field::Recompute, Value::Recompute(Recompute::None)),
            (Field::Compile, Compile::Off.into()),
            (Field::Offload, Offload::None.into()),
        ];
        let is_off = |value: &Value| off.contains(&(field, value.clone()));
        // One switch moves the state, and another one checkpoints.
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
            // Two files of one job, say the Trainer's and Accelerate's, must agree: which of them the launcher believes
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

    /// A field that no file says, with what holds all the same.
    pub fn assume(&mut self, field: Field, value: impl Into<Value>, why: impl Display) {
        if self.values.contains_key(&field) {
            return;
        }
        let value = value.into();
        self.report.assume(field.key(), &value, format!("{why}; --{field} says otherwise"));
        self.values.insert(field, (value, String::new()));
    }

    /// Over how many ranks the state is sharded, from which part of it on; `None` is all ranks, and no part is `ddp`. Gradients
    /// are summed over copies at each micro-batch.
    pub fn shard(&mut self, first: Option<Sharded>, over: Option<Extent>, place: &str) {
        self.shard_with_copies(first, over, "hsdp", place);
    }

    /// The same, with the strategy that has copies of shards of weights.
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

    /// Weights, gradients and moments in 16 bits, without copies of more.
    pub(crate) fn keep_16_bits(&mut self, place: &str) {
        self.take(Field::MasterWeights, MasterWeights::None, place);
        self.take(Field::Moments, Moments::Bf16, place);
    }

    /// The same where no file says it.
    pub(crate) fn assume_16_bits(&mut self, why: &str) {
        self.assume(Field::MasterWeights, MasterWeights::None, why);
        self.assume(Field::Moments, Moments::Bf16, why);
    }

    /// What is said of a field.
    pub fn value(&self, field: Field) -> Option<&Value> {
        self.values.get(&field).map(|(value, _)| value)
    }

    /// A count that is said.
    pub fn count(&self, field: Field) -> Option<u32> {
        self.value(field)?.get()
    }

    /// A count that is said, or 1.
    pub fn ranks(&self, field: Field) -> u32 {
        self.count(field).unwrap_or(1).max(1)
    }

    /// Devices of the job, where they are known.
    pub fn devices(&self) -> Option<u32> {
        self.count(Field::Devices).or(self.of_nodes)
    }

    /// Data-parallel ranks, where the devices are known and divide.
    pub fn data_ranks(&self) -> Option<u32> {
        let product = [Field::Tensor, Field::Context, Field::Pipeline]
            .into_iter()
            .try_fold(1_u32, |product, field| product.checked_mul(self.ranks(field)))?;
        let devices = self.devices()?;
        devices.is_multiple_of(product).then_some(devices / product)
    }

    /// Whether the user says a field.
    pub(crate) fn is_given(&self, field: Field) -> bool {
        self.given.contains(&field)
    }

    /// A value that a plan cannot hold, with the flag that says another one.
    pub fn refuse(&mut self, place: &str, what: impl Display, field: Field) {
        if !self.is_given(field) {
            let fix = format!("say it with --{field}, which goes before the file");
            self.errors.push(Problem::new(place, what, fix));
        }
    }

    /// `ToolSettings` that contradict one another, or the user.
    pub(crate) fn contradict(&mut self, place: &str, what: impl Display) {
        self.errors.push(Problem::new(place, what, "correct one of them, or say another --devices"));
    }

    /// A setting that changes size, time or memory as no plan can say.
    pub fn cannot(&mut self, setting: &Setting, what: &str, fix: &str) {
        self.errors.push(Problem::new(&setting.place, format!("'{}' {what}", setting.text), fix));
    }

    /// A setting whose effect on size, time or memory is not known: it stays with the plan.
    pub fn doubt(&mut self, name: &str, setting: Setting) {
        self.report.doubt(&setting.place);
        self.doubted.push((name.to_owned(), setting));
    }

    /// A field that the user has to say.
    pub fn ask(&mut self, field: Field, place: &str, what: impl Display) {
        if !self.is_given(field) {
            self.errors.push(Problem::new(place, what, format!("say it with --{field}")));
        }
    }

    /// The fields with their values.
    pub fn fields(&self) -> impl Iterator<Item = (Field, &Value)> {
        self.values.iter().map(|(field, (value, _))| (*field, value))
    }
}
