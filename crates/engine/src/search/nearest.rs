//! The nearest plan: the fewest and smallest changes to one that a program cannot run, or that cannot be laid out.

use crate::evaluate::{Summary, Workspace, summary};
use crate::plan::{Accumulation, Extent, Format, Offload, Precision, Recompute, Schedule};
use crate::presets::Library;
use crate::scenario::field::SearchRole;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Edit, Field, Problem, Scenario};
use crate::stack::Runs;

use super::advice::Adviser;
use super::candidate::Candidate;
use super::options::toward;

/// Values of a field that are tried together with those of another one: two below its own and two above.
const NEAR: usize = 4;

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

/// The nearest scenario to one that cannot be laid out, or that cannot keep its global batch: a file with the edits that
/// are `wanted`, and one more, or two of the nearest where one is not enough. Each changes how the job is laid out; else it
/// moves a field that is wanted to its nearest value; else it changes numbers or the batch. `known` is the last scenario of
/// the file that was possible. `None` where no two edits are enough.
pub fn nearest_possible(
    library: &Library,
    file: &ScenarioFile,
    known: &Scenario,
    wanted: &[Edit],
) -> Option<Candidate> {
    let adviser = Adviser { library, file, scenario: known, any_plan: false };
    let own = |field: Field| wanted.iter().find(|edit| edit.field == field);
    // Neither the machine nor its size changes unasked; accumulation follows from a batch that is held.
    let held = known.plan.global_batch.is_held();
    let is_given = |field: Field| {
        matches!(field, Field::Nodes | Field::Devices) || held && field == Field::Accumulate || own(field).is_some()
    };
    let others = |role| {
        let plays = move |field: &Field| match field {
            Field::Shard => role == SearchRole::Free,
            field => field.is_in_plan() && field.spec().search == role,
        };
        Field::all().filter(plays).filter(|field| !is_given(*field))
    };
    let back = wanted.iter().map(|edit| edit.field).filter(|field| field.is_in_plan());
    let fields = others(SearchRole::Free).chain(back).chain(others(SearchRole::OnRequest));
    let edits = |field: Field| {
        let now = own(field).map(|edit| edit.value.clone()).or_else(|| field.meant(known));
        let [before, after] = [false, true].map(|forward| toward(field, now.as_ref(), forward, known, library));
        let values = (0..before.len().max(after.len())).flat_map(move |step| {
            [before.get(step).cloned(), after.get(step).cloned()].into_iter().flatten().collect::<Vec<_>>()
        });
        values.map(move |value| Edit { field, value })
    };
    let possible = |edits: Vec<Edit>| {
        let all = wanted.iter().chain(&edits).cloned().collect();
        let Candidate { scenario, .. } = adviser.candidate(all)?;
        Some(Candidate { edits, scenario })
    };
    let fields: Vec<Vec<Edit>> = fields.map(|field| edits(field).collect()).collect();
    let one = fields.iter().flatten().find_map(|edit| possible(vec![edit.clone()]));
    one.or_else(|| {
        let near = |edits: &'_ Vec<Edit>| edits.iter().take(NEAR).cloned().collect::<Vec<_>>();
        let near: Vec<Vec<Edit>> = fields.iter().map(near).collect();
        let pairs =
            near.iter().enumerate().flat_map(|(at, firsts)| near[at + 1..].iter().map(move |others| (firsts, others)));
        pairs
            .flat_map(|(firsts, others)| {
                firsts.iter().flat_map(move |one| others.iter().map(move |other| [one, other]))
            })
            .find_map(|pair| possible(pair.map(Edit::clone).to_vec()))
    })
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
        Field::ExpertOverlap => vec![with(&|other| other.plan.experts.overlap = false)],
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

    fn scenario(library: &Library, text: &str) -> (ScenarioFile, Scenario) {
        let file = parse(text).expect("a file");
        let scenario = library.resolve(&file).expect("a scenario");
        (file, scenario)
    }

    /// 64 nodes of 8 GPUs take 512 x 4 = 2,048 sequences at once, twice the batch; micro-batch 3 takes 1,536, and 2 takes
    /// the 1,024. 7 tensor ranks divide none of the 32 heads, which 4 do. A V100 has no bf16.
    #[test]
    fn one_more_edit_makes_a_wanted_one_possible() {
        let library = Library::embedded();
        let (file, known) = scenario(
            &library,
            "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"llama-2-7b\"\nstrategy = \"fsdp\"\n\
             [plan]\nnodes = 32\nmicro_batch = 4\nglobal_batch = 1024\nprecision = \"bf16\"\n",
        );
        let nearest = |wanted: Edit| nearest_possible(&library, &file, &known, &[wanted]).expect("a scenario");
        let micro = nearest(Edit::new(Field::Nodes, 64));
        assert_eq!((micro.to_string().as_str(), micro.scenario.sequences()), ("micro 2", 1024.0));
        assert_eq!(nearest(Edit::new(Field::Tensor, 7)).to_string(), "tp 4");
        let v100 = Edit { field: Field::Cluster, value: crate::scenario::Value::id("v100-32gb-dgx1") };
        let fp16 = nearest(v100);
        assert_eq!(
            (fp16.to_string().as_str(), fp16.scenario.cluster.id.as_str()),
            ("precision fp16", "v100-32gb-dgx1")
        );
    }

    /// Both of these are wanted at once, so that neither change alone is enough.
    #[test]
    fn two_edits_make_two_wanted_ones_possible() {
        let library = Library::embedded();
        let (file, known) = scenario(
            &library,
            "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"llama-2-7b\"\nstrategy = \"fsdp\"\n\
             [plan]\nnodes = 32\nprecision = \"bf16\"\n",
        );
        let v100 = Edit { field: Field::Cluster, value: crate::scenario::Value::id("v100-32gb-dgx1") };
        let wanted = [v100, Edit::new(Field::Tensor, 7)];
        let found = nearest_possible(&library, &file, &known, &wanted).expect("a scenario");
        assert_eq!(found.to_string(), "tp 4 + precision fp16");
        assert_eq!((found.scenario.plan.tensor, found.scenario.cluster.id.as_str()), (4, "v100-32gb-dgx1"));
    }

    /// From ZeRO-1 over a node, DDP moves one extent to one device. FSDP over the node moves two extents, each as far,
    /// so it is further by a field and its doublings.
    #[test]
    fn the_nearest_plan_changes_least() {
        let library = Library::embedded();
        let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-1b\"\nstrategy = \"zero1-hier\"\n\
                    [plan]\nnodes = 2\n";
        let (_, scenario) = scenario(&library, text);
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
