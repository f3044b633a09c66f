//! A plan as a file holds it: the fields that were given, and where the state lies in full. Its keys, their order and
//! their values are those of the table of fields.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::Model;
use crate::plan::{Placement, Plan, PostMethod, PostTraining, Sharding};
use crate::scenario::field::{Field, Type, Value};
use crate::scenario::{Problem, Scenario};

/// A plan as a file holds it: what is absent is as in [`Plan::new`].
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanFile {
    values: BTreeMap<Field, Value>,
    /// Placement of the state in full, instead of the strategy's.
    pub sharding: Option<Sharding>,
    /// Operators whose state lies elsewhere; none.
    pub operators: Vec<Placement>,
}

const SHARDING: &str = "sharding";
const OPERATORS: &str = "operators";

impl PlanFile {
    /// The value that the file gives a field.
    pub fn get(&self, field: Field) -> Option<&Value> {
        self.values.get(&field)
    }

    /// Gives a field a value, or leaves it to its default; so does a factor or a share of 1, which is what is anyway.
    pub fn put(&mut self, field: Field, value: Option<Value>) {
        // It is left out, so that stepping there and back leaves the file as it was.
        let unchanged = |value: &Value| {
            matches!(value, Value::Number(factor)
                if matches!(field.spec().takes, Type::Factor | Type::Share) && (factor - 1.0).abs() <= f64::EPSILON)
        };
        match value.filter(|value| !unchanged(value)) {
            Some(value) => self.values.insert(field, value),
            None => self.values.remove(&field),
        };
    }

    /// The plan, where the strategy places the state as `sharding` and the model brings `sequence`.
    pub fn plan(&self, sharding: &Sharding, sequence: u32) -> Result<Plan, Problem> {
        let mut plan = Plan::new(self.sharding.as_ref().unwrap_or(sharding).clone(), sequence);
        plan.operators.clone_from(&self.operators);
        for (field, value) in &self.values {
            field.put_in_plan(&mut plan, value)?;
        }
        Ok(plan)
    }

    /// The model as the plan trains it.
    pub fn trained(&self, mut model: Arc<Model>) -> Arc<Model> {
        let [further, frozen] =
            [Field::MtpLayers, Field::FrozenLayers].map(|field| self.get(field).and_then(Value::get).unwrap_or(0));
        let scores = self.get(Field::Method).and_then(Value::get) == Some(PostMethod::Reward);
        if (model.mtp_layers, model.frozen_layers, model.scores) != (further, frozen, scores) {
            let model = Arc::make_mut(&mut model);
            (model.mtp_layers, model.frozen_layers, model.scores) = (further, frozen, scores);
        }
        model
    }

    /// Every field of a scenario's plan, so that nothing of it hangs on a default. The fields that refine a strategy are in
    /// the placement of the state, which is given in full.
    pub(super) fn from_scenario(scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        let all = plan.post_training != PostTraining::default();
        let said =
            |field: &Field| field.is_in_plan() && !field.is_in_sharding() && (all || !field.is_in_post_training());
        let fields = Field::all().filter(said);
        let values = fields.filter_map(|field| Some((field, field.value(scenario)?)));
        Self { values: values.collect(), sharding: Some(plan.sharding.clone()), operators: plan.operators.clone() }
    }
}

/// The fields that a file has in its table of post-training: of a plan as much as all others, which takes them over when a
/// file is read, and hands them back when it is written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PostTrainingTable(BTreeMap<Field, Value>);

impl PostTrainingTable {
    /// Whether it has none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of a plan.
    pub(super) fn from_plan(plan: &PlanFile) -> Self {
        let own = plan.values.iter().filter(|(field, _)| field.is_in_post_training());
        Self(own.map(|(field, value)| (*field, value.clone())).collect())
    }

    /// Gives them to a plan.
    pub(super) fn move_into(&mut self, plan: &mut PlanFile) {
        plan.values.append(&mut self.0);
    }
}

impl Serialize for PostTrainingTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(field, value)| (field.key(), value)))
    }
}

impl Serialize for PlanFile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in self.values.iter().filter(|(field, _)| !field.is_in_post_training()) {
            map.serialize_entry(field.key(), value)?;
        }
        if let Some(sharding) = &self.sharding {
            map.serialize_entry(SHARDING, sharding)?;
        }
        if !self.operators.is_empty() {
            map.serialize_entry(OPERATORS, &self.operators)?;
        }
        map.end()
    }
}

/// A key of a plan.
enum PlanKey {
    Field(Field),
    Sharding,
    Operators,
}

impl<'de> Deserialize<'de> for PlanKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = String::deserialize(from)?;
        let mut fields = Field::all().filter(|field| field.is_in_plan() && !field.is_in_post_training());
        match key.as_str() {
            SHARDING => Ok(Self::Sharding),
            OPERATORS => Ok(Self::Operators),
            name => fields
                .clone()
                .find(|field| field.key() == name)
                .map(Self::Field)
                .ok_or_else(|| unknown_key(name, fields.by_ref().map(Field::key).chain([SHARDING, OPERATORS]))),
        }
    }
}

fn unknown_key<E: Error>(name: &str, known: impl Iterator<Item = &'static str>) -> E {
    let known: Vec<String> = known.map(|key| format!("`{key}`")).collect();
    E::custom(format_args!("unknown field `{name}`, expected one of {}", known.join(", ")))
}

/// A key of post-training.
struct PostTrainingKey(Field);

impl<'de> Deserialize<'de> for PostTrainingKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = String::deserialize(from)?;
        let fields = Field::all().filter(|field| field.is_in_post_training());
        let known = fields.clone().find(|field| field.key() == key);
        known.map(Self).ok_or_else(|| unknown_key(&key, fields.map(Field::key)))
    }
}

/// Reads the value of a field, of whatever type it is.
impl<'de> DeserializeSeed<'de> for Field {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.spec().takes.deserialize(from)
    }
}

struct PlanVisitor;

impl<'de> Visitor<'de> for PlanVisitor {
    type Value = PlanFile;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct PlanFile")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PlanFile, A::Error> {
        let mut plan = PlanFile::default();
        while let Some(key) = map.next_key()? {
            match key {
                PlanKey::Field(field) => drop(plan.values.insert(field, map.next_value_seed(field)?)),
                PlanKey::Sharding => plan.sharding = Some(map.next_value()?),
                PlanKey::Operators => plan.operators = map.next_value()?,
            }
        }
        Ok(plan)
    }
}

struct PostTrainingVisitor;

impl<'de> Visitor<'de> for PostTrainingVisitor {
    type Value = PostTrainingTable;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("struct PostTrainingTable")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PostTrainingTable, A::Error> {
        let mut table = PostTrainingTable::default();
        while let Some(PostTrainingKey(field)) = map.next_key()? {
            table.0.insert(field, map.next_value_seed(field)?);
        }
        Ok(table)
    }
}

impl<'de> Deserialize<'de> for PostTrainingTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_struct("PostTrainingTable", &[], PostTrainingVisitor)
    }
}

impl<'de> Deserialize<'de> for PlanFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_struct("PlanFile", &[], PlanVisitor)
    }
}
