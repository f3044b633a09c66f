//! From the ids of a scenario file to the scenario: each id looked up, the plan put together.

use std::sync::Arc;

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::{BesideModel, OtherModel, PostTraining, Precision};
use crate::scenario::field::{Field, Resolved, Value};
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Problem, Scenario};

use super::{Library, Unknown};

impl Library {
    /// The scenario that a file means, or every id that is unknown. Whether it can be laid out is for
    /// [`Scenario::layout`] to say.
    pub fn resolve(&self, file: &ScenarioFile) -> Result<Scenario, Vec<Problem>> {
        self.resolve_over(file, None)
    }

    /// Resolves over a scenario, where the ids of `base` stand for what `base` holds: a snapshot's cluster stays the
    /// snapshot's while its plan is edited.
    pub fn resolve_over(&self, file: &ScenarioFile, base: Option<&Scenario>) -> Result<Scenario, Vec<Problem>> {
        let mut problems = file.problems();
        let cluster = match (base.filter(|base| base.cluster.id == file.cluster), &file.machine) {
            (Some(base), _) => Some(Arc::clone(&base.cluster)),
            (None, Some(machine)) => Some(Arc::new(Cluster { id: file.cluster.clone(), ..machine.clone() })),
            (None, None) => found(Field::Cluster, self.cluster(&file.cluster), &mut problems),
        };
        let stack = match base.filter(|base| base.stack.id == file.stack) {
            Some(base) => Some((Arc::clone(&base.stack), Arc::clone(&base.calibration))),
            None => found(Field::Stack, self.stack(&file.stack), &mut problems).and_then(|stack| {
                let calibration = found(Field::Stack, self.calibration(&stack.calibration), &mut problems)?;
                let lacking = calibration.lacks(&stack).into_iter();
                problems.extend(lacking.map(|lack| unnamed(&stack.id, lack)));
                Some((stack, calibration))
            }),
        };
        let model = match (base.filter(|base| base.model.id == file.model), &file.shape) {
            (Some(base), _) => Some(Arc::clone(&base.model)),
            (None, Some(shape)) => Some(Arc::new(Model { id: file.model.clone(), ..shape.clone() })),
            (None, None) => found(Field::Model, self.model(&file.model), &mut problems),
        };
        let model = model.map(|model| file.plan.trained(model));
        let sharding = match &file.plan.sharding {
            Some(sharding) => Some(sharding.clone()),
            None => found(Field::Strategy, self.strategy(&file.strategy), &mut problems).map(|it| it.sharding.clone()),
        };
        let sequence = model.as_ref().map_or(1, |model| model.sequence);
        let plan = sharding.map(|sharding| file.plan.plan(&sharding, sequence)).transpose();
        let plan = plan.map_err(|problem| problems.push(problem)).ok().flatten();
        match (cluster, stack, model, plan) {
            (Some(cluster), Some((stack, calibration)), Some(model), Some(mut plan)) if problems.is_empty() => {
                if file.plan.get(Field::Precision).is_none() {
                    plan.precision = Precision::usual(&cluster.device.peak);
                }
                let problems = self.beside(&mut plan.post_training, base);
                if !problems.is_empty() {
                    return Err(problems);
                }
                let strategy = file.strategy.as_str().into();
                let (name, caveats) = (file.title(), file.caveats.as_slice().into());
                let unknown = file.unknown.as_slice().into();
                let mut scenario =
                    Scenario { name, cluster, stack, calibration, model, strategy, plan, caveats, unknown };
                scenario.settle_batch();
                Ok(scenario)
            }
            _ => Err(problems),
        }
    }
}

impl Library {
    /// Looks the models up that are beside the trained one, and says which are unknown.
    fn beside(&self, post: &mut PostTraining, base: Option<&Scenario>) -> Vec<Problem> {
        let mut problems = Vec::new();
        let known: Vec<OtherModel> =
            base.map(|base| &base.plan.post_training).into_iter().flat_map(PostTraining::others).cloned().collect();
        let PostTraining { reference, teacher, critic, reward_model, .. } = post;
        for (field, beside) in [
            (Field::Reference, reference.as_mut()),
            (Field::Teacher, Some(teacher)),
            (Field::Critic, critic.as_mut()),
            (Field::RewardModel, Some(reward_model)),
        ] {
            let Some(BesideModel::Other(other)) = beside else { continue };
            let same = known.iter().find(|known| known.id == other.id).and_then(|known| known.model.clone());
            other.model = same.or_else(|| found(field, self.model(&other.id), &mut problems));
        }
        problems
    }

    /// The file that reproduces a scenario: with model and cluster in full, where they are none of the presets.
    pub fn file(&self, scenario: &Scenario) -> ScenarioFile {
        let file = ScenarioFile::of(scenario);
        let own = self.model(&scenario.model.id).is_ok_and(|preset| file.plan.trained(preset) == scenario.model);
        let known = self.cluster(&scenario.cluster.id).is_ok();
        ScenarioFile {
            shape: (!own).then(|| Model::clone(&scenario.model)),
            machine: (!known).then(|| Cluster::clone(&scenario.cluster)),
            ..file
        }
    }

    /// The value of a preset's id, so that many scenarios can take it without looking it up: `file` already
    /// names it, and says what goes with it.
    pub fn look_up(&self, field: Field, file: &ScenarioFile, base: &Scenario) -> Result<Value, Vec<Problem>> {
        let scenario = self.resolve_over(file, Some(base))?;
        let resolved = Resolved::from_scenario(field, &scenario);
        resolved.map(Value::Preset).ok_or_else(|| vec![Problem::bug(field.path(), "it has no presets".to_owned())])
    }
}

/// A name in a stack's file that its calibration does not have.
fn unnamed(stack: &str, Problem { field, what, .. }: Problem) -> Problem {
    Problem { field: Field::Stack.path().to_owned(), what, fix: format!("change '{field}' of stack '{stack}'") }
}

/// The preset of an id; an unknown id is noted as a problem.
fn found<T>(field: Field, looked_up: Result<Arc<T>, Unknown>, problems: &mut Vec<Problem>) -> Option<Arc<T>> {
    let problem =
        |unknown: Unknown| Problem { field: field.path().to_owned(), what: unknown.what(), fix: unknown.fix() };
    looked_up.map_err(|unknown| problems.push(problem(unknown))).ok()
}

#[cfg(test)]
mod tests {
    use crate::plan::{Extent, Size};
    use crate::presets::Library;
    use crate::scenario::file::{ScenarioFile, parse};
    use crate::units::Bytes;
    use std::sync::Arc;

    fn file() -> ScenarioFile {
        let ids = "cluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n";
        parse(&format!("format = 1\n{ids}[plan]\nnodes = 8\n")).expect("valid")
    }

    #[test]
    fn ids_become_what_they_stand_for() {
        let scenario = Library::embedded().resolve(&file()).expect("scenario");
        assert_eq!(scenario.name, "mpt-7b on h100-80gb-dgx, fsdp");
        assert_eq!((scenario.cluster.id.as_str(), &*scenario.strategy), ("h100-80gb-dgx", "fsdp"));
        assert_eq!(scenario.calibration.id, scenario.stack.calibration);
        // The sequence length that MPT-7B was trained with.
        assert_eq!((scenario.plan.size, scenario.plan.sequence), (Size::Nodes(8), 2048));
        assert_eq!(scenario.plan.sharding.weights, Extent::System);
    }

    #[test]
    fn every_unknown_id_is_named() {
        let mut file = file();
        for flag in ["hardware", "stack", "model", "strategy"] {
            file.set(flag, "no-such").expect(flag);
        }
        let problems = Library::embedded().resolve(&file).expect_err("unknown");
        let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
        assert_eq!(fields, ["cluster", "stack", "model", "strategy"]);
        assert!(problems.iter().all(|problem| problem.what.contains("no-such")), "{problems:?}");
    }

    #[test]
    fn shard_moves_the_extents_and_is_refused_where_there_are_none() {
        let library = Library::embedded();
        let mut file = file();
        file.set("shard", "4").expect("shard");
        let sharding = library.resolve(&file).expect("scenario").plan.sharding;
        assert_eq!([sharding.weights, sharding.gradients, sharding.optimizer], [const { Extent::Ranks(4) }; 3]);
        file.set("strategy", "ddp").expect("strategy");
        file.set("shard", "4").expect("shard");
        assert_eq!(library.resolve(&file).expect_err("ddp")[0].field, "plan.shard");
    }

    #[test]
    fn what_a_base_holds_wins_over_its_ids() {
        let library = Library::embedded();
        let mut base = library.resolve(&file()).expect("scenario");
        let mut cluster = (*base.cluster).clone();
        cluster.device.memory = Bytes::new(1e9);
        base.cluster = Arc::new(cluster);
        let mut file = ScenarioFile::of(&base);
        file.set("nodes", "4").expect("nodes");
        let edited = library.resolve_over(&file, Some(&base)).expect("scenario");
        assert_eq!(edited.cluster, base.cluster);
        assert_eq!(edited.plan.size, Size::Nodes(4));
        assert_ne!(library.resolve(&file).expect("scenario").cluster, base.cluster);
    }
}
