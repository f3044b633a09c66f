//! The nearest plan that a program can run: the fewest and smallest changes to a plan that it cannot run.

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::{Accumulation, Extent, Format, Offload, Precision, Recompute, Schedule};
use crate::scenario::{Field, Problem, Scenario};
use crate::stack::Runs;

/// A plan that a program can run, near one that it cannot.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestPlan {
    /// The scenario with the plan.
    pub scenario: Scenario,
    /// Time, memory and throughput with it.
    pub summary: Summary,
    /// The fields that changed, each with both values: `recompute 0.45 -> full`.
    pub changes: Vec<String>,
}

/// The distance of one changed field, in doublings of a number of ranks.
const FIELD: f64 = 1.0;

/// The nearest plan that fits and that the program of this name can run; among equally near ones, the fastest. `None`
/// where none is found. Only fields that the program lacks change, and the recompute where nothing fits otherwise.
pub fn nearest_plan(scenario: &Scenario, name: &str, runs: &Runs, workspace: &mut Workspace) -> Option<NearestPlan> {
    let lacks = scenario.lacks_of(name, runs);
    let mut plans = vec![scenario.clone()];
    for field in Field::all().filter(|field| lacks_field(&lacks, *field)) {
        plans = plans.iter().flat_map(|plan| replaced(plan, field, runs)).collect();
    }
    let again = [Recompute::Selective, Recompute::Full];
    let more = plans.iter().flat_map(|plan| {
        let with = |recompute| {
            let mut other = plan.clone();
            other.plan.recompute = recompute;
            other
        };
        again.map(with)
    });
    let all: Vec<Scenario> = plans.iter().cloned().chain(more).collect();
    let mut best: Option<([f64; 2], Scenario, Summary)> = None;
    for mut plan in all {
        plan.settle_batch();
        if plan.layout().is_err() || plan.keeps_batch().is_err() || !plan.lacks_of(name, runs).is_empty() {
            continue;
        }
        let Ok(figures) = summary(&plan, workspace) else { continue };
        let score = [distance(scenario, &plan), figures.step_time.get()];
        if figures.fits && best.as_ref().is_none_or(|(least, ..)| score < *least) {
            best = Some((score, plan, figures));
        }
    }
    let (_, found, summary) = best?;
    let changes = changes(scenario, &found);
    Some(NearestPlan { scenario: found, summary, changes })
}

fn lacks_field(lacks: &[Problem], field: Field) -> bool {
    lacks.iter().any(|lack| lack.field == field.path())
}

/// Copies of a plan, each with another value of a field that a program may have instead.
fn replaced(plan: &Scenario, field: Field, runs: &Runs) -> Vec<Scenario> {
    let with = |change: &dyn Fn(&mut Scenario)| {
        let mut other = plan.clone();
        change(&mut other);
        other
    };
    match field {
        Field::Tensor => vec![with(&|other| other.plan.tensor = 1)],
        Field::Context => vec![with(&|other| other.plan.context = 1)],
        Field::Pipeline => vec![with(&|other| (other.plan.pipeline, other.plan.stages_per_rank) = (1, 1))],
        Field::Accumulation => vec![with(&|other| other.plan.accumulation = Accumulation::Standard)],
        Field::Schedule => {
            let known = Schedule::ALL.iter().filter(|schedule| runs.schedules(**schedule));
            let stages =
                |schedule: Schedule| if schedule.rules().virtual_stages { plan.plan.stages_per_rank } else { 1 };
            let change = |schedule: &Schedule| {
                let (schedule, stages) = (*schedule, stages(*schedule));
                with(&|other| (other.plan.schedule, other.plan.stages_per_rank) = (schedule, stages))
            };
            known.map(change).collect()
        }
        Field::Recompute => {
            let modes = [Recompute::Full, Recompute::Selective, Recompute::None];
            modes.into_iter().map(|mode| with(&|other| other.plan.recompute = mode)).collect()
        }
        Field::Precision => {
            Precision::ALL.iter().map(|precision| with(&|other| other.plan.precision = *precision)).collect()
        }
        Field::Offload => Offload::ALL.iter().map(|offload| with(&|other| other.plan.offload = *offload)).collect(),
        Field::Qwz => vec![with(&|other| other.plan.sharding.wire.weights = Format::Bf16)],
        Field::Qgz => vec![with(&|other| {
            other.plan.sharding.wire.gradients = Format::Bf16;
            other.plan.sharding.two_hop_gradients = false;
        })],
        Field::Hpz => vec![with(&|other| other.plan.sharding.secondary = None)],
        _ => placed(plan),
    }
}

/// Copies of a plan, sharded in every way over one device, the levels, all ranks or as many ranks as a part has now.
fn placed(plan: &Scenario) -> Vec<Scenario> {
    let sharding = &plan.plan.sharding;
    let mut extents = vec![Extent::Device, Extent::Innermost, Extent::Node, Extent::System];
    for own in [&sharding.weights, &sharding.gradients, &sharding.optimizer] {
        if !extents.contains(own) {
            extents.push(own.clone());
        }
    }
    let mut found = Vec::new();
    for weights in &extents {
        for gradients in &extents {
            for optimizer in &extents {
                let mut other = plan.clone();
                other.plan.operators.clear();
                let to = &mut other.plan.sharding;
                (to.weights, to.gradients, to.optimizer) = (weights.clone(), gradients.clone(), optimizer.clone());
                found.push(other);
            }
        }
    }
    found
}

/// The distance between two plans: the number of fields that differ, and of doublings between their numbers of ranks.
fn distance(one: &Scenario, other: &Scenario) -> f64 {
    let fields = changes(one, other).len() as f64 * FIELD;
    let (Ok(before), Ok(after)) = (one.layout(), other.layout()) else { return f64::INFINITY };
    let ranks = [
        (before.weights, after.weights),
        (before.gradients, after.gradients),
        (before.optimizer, after.optimizer),
        (before.tensor, after.tensor),
        (before.context, after.context),
        (before.pipeline, after.pipeline),
    ];
    let doublings = |(before, after): (u32, u32)| libm::fabs(libm::log2(f64::from(after) / f64::from(before)));
    fields + ranks.into_iter().map(doublings).sum::<f64>()
}

/// The fields that differ, with both values.
fn changes(before: &Scenario, after: &Scenario) -> Vec<String> {
    let named = |field: Field| {
        let [old, new] = [before, after].map(|plan| field.value(plan).map(|value| value.to_string()));
        (old != new).then(|| format!("{} {} -> {}", field.key(), old.unwrap_or_default(), new.unwrap_or_default()))
    };
    let fields = Field::all().filter(|field| field.is_in_plan() && *field != Field::Shard);
    let operators = (before.plan.operators != after.plan.operators).then(|| "operators placed alike".to_owned());
    fields.filter_map(named).chain(operators).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Library;
    use crate::scenario::file::parse;

    /// From ZeRO-1 over a node, DDP moves one extent to one device. FSDP over the node moves two extents, each as far,
    /// so it is further by a field and its doublings.
    #[test]
    fn the_nearest_plan_changes_least() {
        let library = Library::embedded();
        let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-1b\"\nstrategy = \"zero1-hier\"\n\
                    [plan]\nnodes = 2\n";
        let scenario = library.resolve(&parse(text).expect("a file")).expect("a scenario");
        let runs = scenario.stack.runs.clone().expect("limits");
        assert_eq!(scenario.lacks().len(), 1);
        let found = nearest_plan(&scenario, "FSDP2", &runs, &mut Workspace::default()).expect("a plan");
        assert_eq!(found.scenario.lacks(), []);
        assert!(found.summary.fits);
        let layout = found.scenario.layout().expect("a layout");
        assert_eq!((layout.weights, layout.gradients, layout.optimizer), (1, 1, 1));
        assert_eq!(found.changes, ["optimizer_over node -> device"]);
    }
}
