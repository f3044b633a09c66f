//! Editing a scenario's file: a field gets a value, and what hangs on it follows.

use crate::plan::GlobalBatch;
use crate::scenario::field::{Edit, Field, PresetField, Value};
use crate::scenario::{Problem, Scenario};

use super::{ScenarioFile, printable};

/// Whether a batch is held, so that accumulation follows from it.
fn holds(batch: &Value) -> bool {
    batch.get().is_some_and(GlobalBatch::is_held)
}

impl ScenarioFile {
    /// Gives a field a value; none puts a field of the plan back to its default, and leaves an id as it is.
    ///
    /// A model brings its own sequence length, a strategy its own extents, and neither keeps operators that
    /// were placed one by one; nodes and devices replace each other, and so
    /// do accumulation and a global batch from which it follows, and tokens and examples. The name, the description and what was
    /// published go: they were those of another scenario.
    pub fn put(&mut self, field: Field, value: Option<Value>) {
        let plan = &mut self.plan;
        match field {
            Field::Model => {
                plan.put(Field::Sequence, None);
                plan.put(Field::MtpLayers, None);
                plan.put(Field::FrozenLayers, None);
                plan.put(Field::StageLayers, None);
                plan.operators.clear();
                self.shape = None;
            }
            Field::Cluster => self.machine = None,
            Field::Strategy => {
                // It says anew what the fields after it refine.
                for field in Field::all().filter(|field| field.is_in_sharding()) {
                    plan.put(field, None);
                }
                plan.sharding = None;
                plan.operators.clear();
            }
            Field::Nodes => plan.put(Field::Devices, None),
            Field::Devices => plan.put(Field::Nodes, None),
            Field::Accumulate if value.is_some() => plan.put(Field::GlobalBatch, None),
            Field::Examples if value.is_some() => plan.put(Field::Tokens, None),
            Field::Tokens if value.is_some() => plan.put(Field::Examples, None),
            Field::GlobalBatch if value.as_ref().is_some_and(holds) => plan.put(Field::Accumulate, None),
            _ => {}
        }
        match (field.preset(), value) {
            (Some(preset), Some(value)) => *self.id_mut(preset) = value.to_string(),
            (Some(_), None) => {}
            (None, value) => self.plan.put(field, value),
        }
        self.forget_words();
    }

    /// Drops what is said of the scenario as it was: its name, what it is for, what to look at, what was published of it.
    pub fn forget_words(&mut self) {
        (self.name, self.about, self.look, self.published) = (None, None, None, None);
    }

    /// Makes edits, one after the other.
    pub fn edit<'a>(&mut self, edits: impl IntoIterator<Item = &'a Edit>) {
        for Edit { field, value } in edits {
            self.put(*field, Some(value.clone()));
        }
    }

    /// The file with what a scenario's plan has in some fields, and with its placement of the state.
    #[must_use]
    pub fn with_plan(&self, found: &Scenario, fields: impl IntoIterator<Item = Field>) -> Self {
        let (mut file, plan) = (self.clone(), Self::of(found).plan);
        file.forget_words();
        let to = &mut file.plan;
        for field in fields {
            to.put(field, plan.get(field).cloned());
        }
        // The placement says all of these at once.
        Field::all().filter(|field| field.is_in_sharding()).for_each(|field| to.put(field, None));
        (to.sharding, to.operators) = (plan.sharding, plan.operators);
        file
    }

    /// The value that the file gives a field; `None` where it leaves it to a default.
    pub fn value(&self, field: Field) -> Option<Value> {
        match field {
            Field::Shard => self.plan.get(field).cloned().or_else(|| {
                // A placement that is given in full says it too.
                Some(self.plan.sharding.as_ref()?.first_extent()?.clone().into())
            }),
            _ => match field.preset() {
                Some(preset) => Some(Value::id(self.id(preset))),
                None => self.plan.get(field).cloned(),
            },
        }
    }

    /// The id of a preset.
    pub fn id(&self, preset: PresetField) -> &str {
        match preset {
            PresetField::Cluster => &self.cluster,
            PresetField::Stack => &self.stack,
            PresetField::Model => &self.model,
            PresetField::Strategy => &self.strategy,
        }
    }

    fn id_mut(&mut self, preset: PresetField) -> &mut String {
        match preset {
            PresetField::Cluster => &mut self.cluster,
            PresetField::Stack => &mut self.stack,
            PresetField::Model => &mut self.model,
            PresetField::Strategy => &mut self.strategy,
        }
    }

    /// Sets the field of a flag from text; no text puts a field of the plan back to its default.
    pub fn set(&mut self, flag: &str, text: &str) -> Result<(), Problem> {
        let field = Field::from_flag(flag).ok_or_else(|| {
            let flags: Vec<&str> = Field::all().map(|field| field.spec().flag).collect();
            Problem {
                field: printable(flag),
                what: "is not a field of a scenario".to_owned(),
                fix: format!("choose one of {}", flags.join(", ")),
            }
        })?;
        self.put(field, field.read(text)?);
        Ok(())
    }

    /// The text of a flag's field, as [`ScenarioFile::set`] takes it; `None` where the file leaves it to a default.
    pub fn get(&self, flag: &str) -> Option<String> {
        Some(self.value(Field::from_flag(flag)?)?.to_string())
    }
}
