//! The nearest plan: the fewest and smallest changes to one that a program cannot run, or that cannot be laid out.

use crate::evaluate::{Summary, Workspace, fits_safely, summary};
use crate::plan::{Accumulation, Extent, Format, Offload, Plan, Precision, Recompute, Schedule};
use crate::presets::Library;
use crate::scenario::field::{SearchRole, Type};
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Edit, Field, Scenario, Value};

use super::advice::Adviser;
use super::candidate::Candidate;
use super::options::toward;

/// Values of a field that are tried together with those of another one: two below its own and two above.
const NEAR: usize = 4;

/// The most edits that are tried for a scenario that is possible: half of them alone, half in pairs. All fields with the
/// [`NEAR`] values of each are some 25,000 pairs.
const MOST_TRIED: usize = 1 << 16;

/// A plan that a program can run, near one that it cannot.
#[derive(Debug, Clone, PartialEq)]
pub struct NearestPlan {
    /// The scenario with the plan.
    pub scenario: Scenario,
    /// Time, memory and throughput with it.
    pub summary: Summary,
    /// Those of the plan as it was, where it can be evaluated.
    pub before: Option<Summary>,
    /// The fields that changed, each with both values: `recompute 0.45 -> full`.
    pub changes: Vec<String>,
}

/// The distance of one changed field, in doublings of a number of ranks.
const FIELD: f64 = 1.0;

/// The most plans whose distance is compared. They are made one after the other, and only their distances are kept.
const MOST_COMPARED: usize = 1 << 14;

/// The most plans that are evaluated, the nearest first.
const MOST_EVALUATED: usize = 1 << 8;

/// What a program lacks of a scenario's plan: the fields for which it refuses the plan, and those that it runs otherwise.
pub type Lacking<'a> = dyn Fn(&Scenario) -> [Vec<Field>; 2] + 'a;

/// The nearest plan that fits safely and of which a program lacks nothing; among equally near ones, the fastest. `None` where none
/// is found, or where a field for which the program refuses the plan has no replacement; what has none and is run otherwise
/// stays. Only fields that the program lacks change, and the recompute where nothing fits otherwise.
///
/// ```
/// use shardscope_engine::evaluate::Workspace;
/// use shardscope_engine::plan::Reduction;
/// use shardscope_engine::scenario::{Field, Scenario};
/// use shardscope_engine::search::nearest_plan;
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// // A program that sums gradients after each micro-batch.
/// let sums_late = |plan: &Scenario| plan.plan.reduction != Reduction::MicroBatch;
/// let lacks = |plan: &Scenario| [if sums_late(plan) { vec![Field::Reduction] } else { vec![] }, vec![]];
/// let nearest = nearest_plan(&scenario, &lacks, &mut Workspace::default()).expect("it fits");
/// assert_eq!(nearest.scenario.plan.reduction, Reduction::MicroBatch);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn nearest_plan(scenario: &Scenario, lacking: &Lacking<'_>, workspace: &mut Workspace) -> Option<NearestPlan> {
    nearest_of(&Replacements::new(scenario, lacking)?, workspace).1
}

/// The same, with how many plans were compared and how many evaluated.
fn nearest_of(plans: &Replacements, workspace: &mut Workspace) -> ([usize; 2], Option<NearestPlan>) {
    let compared = plans.count().min(MOST_COMPARED);
    let apart = |index: usize| Some((distance(plans.scenario, &plans.plan(index)?), index));
    let mut near: Vec<(f64, usize)> = (0..compared).filter_map(apart).collect();
    near.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let (mut evaluated, mut best) = (0, None::<(f64, Scenario, Summary)>);
    for (apart, index) in near.into_iter().take(MOST_EVALUATED) {
        if best.as_ref().is_some_and(|(least, ..)| *least < apart) {
            break;
        }
        evaluated += 1;
        let Some(plan) = plans.plan(index) else { continue };
        let Ok(figures) = summary(&plan, workspace) else { continue };
        let is_faster = |(.., best): &(f64, Scenario, Summary)| figures.step_time < best.step_time;
        if fits_safely(&plan, &figures) && best.as_ref().is_none_or(is_faster) {
            best = Some((apart, plan, figures));
        }
    }
    let found = best.map(|(_, found, figures)| {
        let (before, changes) = (summary(plans.scenario, workspace).ok(), changes(plans.scenario, &found));
        NearestPlan { scenario: found, summary: figures, before, changes }
    });
    ([compared, evaluated], found)
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
    possible_of(library, file, known, wanted).1
}

/// The same, with how many edits were tried.
fn possible_of(
    library: &Library,
    file: &ScenarioFile,
    known: &Scenario,
    wanted: &[Edit],
) -> (usize, Option<Candidate>) {
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
    let mut tried = 0;
    let mut possible = |edits: Vec<Edit>| {
        tried += 1;
        let all = wanted.iter().chain(&edits).cloned().collect();
        let Candidate { scenario, .. } = adviser.candidate(all)?;
        Some(Candidate { edits, scenario })
    };
    let fields: Vec<Vec<Edit>> = fields.map(|field| edits(field).collect()).collect();
    let one = fields.iter().flatten().take(MOST_TRIED / 2).find_map(|edit| possible(vec![edit.clone()]));
    let found = one.or_else(|| {
        let near = |edits: &'_ Vec<Edit>| edits.iter().take(NEAR).cloned().collect::<Vec<_>>();
        let near: Vec<Vec<Edit>> = fields.iter().map(near).collect();
        let pairs =
            near.iter().enumerate().flat_map(|(at, firsts)| near[at + 1..].iter().map(move |others| (firsts, others)));
        pairs
            .flat_map(|(firsts, others)| {
                firsts.iter().flat_map(move |one| others.iter().map(move |other| [one, other]))
            })
            .take(MOST_TRIED / 2)
            .find_map(|pair| possible(pair.map(Edit::clone).to_vec()))
    });
    (tried, found)
}

/// Puts the value of an index into a plan.
type Put<'a> = Box<dyn Fn(&mut Plan, usize) + 'a>;

/// Values that a program may have in place of one that it lacks, by their index.
struct Replacement<'a> {
    values: Vec<usize>,
    put: Put<'a>,
}

impl<'a> Replacement<'a> {
    fn among<T: 'a>(values: impl IntoIterator<Item = T>, put: impl Fn(&mut Plan, &T) + 'a) -> Self {
        let all: Vec<T> = values.into_iter().collect();
        Self { values: (0..all.len()).collect(), put: Box::new(move |plan, at| put(plan, &all[at])) }
    }

    fn one(put: impl Fn(&mut Plan) + 'a) -> Self {
        Self::among([()], move |plan, ()| put(plan))
    }

    /// All ways to shard the state over one device, the levels, all ranks or as many ranks as a part has now.
    fn placed(plan: &Plan) -> Self {
        let sharding = &plan.sharding;
        let mut extents = vec![Extent::Device, Extent::Innermost, Extent::Node, Extent::System];
        for own in [&sharding.weights, &sharding.gradients, &sharding.optimizer] {
            if !extents.contains(own) {
                extents.push(own.clone());
            }
        }
        let count = extents.len();
        let put = move |plan: &mut Plan, at: usize| {
            plan.operators.clear();
            let [weights, gradients, optimizer] =
                [at / count / count, at / count % count, at % count].map(|extent| extents[extent].clone());
            let to = &mut plan.sharding;
            (to.weights, to.gradients, to.optimizer) = (weights, gradients, optimizer);
        };
        Self { values: (0..count * count * count).collect(), put: Box::new(put) }
    }

    /// In place of a field; `None` where nothing can stand for what it says: adapters train another model.
    fn for_field(field: Field, plan: &Plan) -> Option<Self> {
        Some(match field {
            Field::Tensor => Self::one(|plan| plan.tensor = 1),
            Field::Context => Self::one(|plan| plan.context = 1),
            Field::ExpertOverlap => Self::one(|plan| plan.experts.overlap = false),
            Field::Pipeline => Self::one(|plan| (plan.pipeline, plan.stages_per_rank) = (1, 1)),
            Field::Accumulation => Self::one(|plan| plan.accumulation = Accumulation::Standard),
            Field::Schedule => Self::among(Schedule::ALL.iter().copied(), |plan, schedule| {
                let stages = if schedule.rules().virtual_stages { plan.stages_per_rank } else { 1 };
                (plan.schedule, plan.stages_per_rank) = (*schedule, stages);
            }),
            Field::Recompute => {
                let modes = [Recompute::Full, Recompute::Selective, Recompute::None];
                Self::among(modes, |plan, mode| plan.recompute = *mode)
            }
            Field::Precision => {
                Self::among(Precision::ALL.iter().copied(), |plan, precision| plan.precision = *precision)
            }
            Field::Offload => Self::among(Offload::ALL.iter().copied(), |plan, offload| plan.offload = *offload),
            Field::Qwz => Self::one(|plan| plan.sharding.wire.weights = Format::Bf16),
            Field::Qgz => Self::one(|plan| {
                plan.sharding.wire.gradients = Format::Bf16;
                plan.sharding.two_hop_gradients = false;
            }),
            Field::Hpz => Self::one(|plan| plan.sharding.secondary = None),
            Field::Strategy => Self::placed(plan),
            // What is as the stack has it where nothing is said.
            Field::ExpertTensor => Self::one(|plan| plan.experts.tensor = None),
            Field::DispatchFormat => Self::one(|plan| plan.experts.formats = None),
            Field::GradientFormat => Self::one(|plan| plan.gradients = None),
            Field::HostThreads => Self::one(|plan| plan.host_threads = None),
            Field::FrozenFormat => Self::one(|plan| plan.tuning.frozen = None),
            Field::Reshard => Self::among([true, false], |plan, again| plan.sharding.reshard_after_forward = *again),
            field if OF_THE_TASK.contains(&field) => return None,
            field => match field.spec().takes {
                Type::OneOf(words) => Self::values(field, words.iter().map(Value::Word)),
                _ => Self::values(field, field.usual().cloned()),
            },
        })
    }

    /// These values of a field.
    fn values(field: Field, values: impl IntoIterator<Item = Value>) -> Self {
        Self::among(values, move |plan, value| {
            // A value of the field's own table is of its type.
            let _ = field.put_in_plan(plan, value);
        })
    }
}

/// Fields that say what is trained, on what and for how long: another value is another task.
const OF_THE_TASK: [Field; 16] = [
    Field::Cluster,
    Field::Stack,
    Field::Model,
    Field::Nodes,
    Field::Devices,
    Field::MicroBatch,
    Field::Accumulate,
    Field::GlobalBatch,
    Field::Sequence,
    Field::MtpLayers,
    Field::Train,
    Field::LoraRank,
    Field::LoraTargets,
    Field::LoraDropout,
    Field::FrozenLayers,
    Field::FrozenEnds,
];

/// The plans with which each field that a program lacks has another value: a product, of which each plan is made when it is
/// asked for.
struct Replacements<'a> {
    scenario: &'a Scenario,
    lacking: &'a Lacking<'a>,
    fields: Vec<Replacement<'a>>,
    /// Fields that nothing can stand for, and that the program runs otherwise.
    left: Vec<Field>,
}

impl<'a> Replacements<'a> {
    fn new(scenario: &'a Scenario, lacking: &'a Lacking<'a>) -> Option<Self> {
        let [refused, otherwise] = lacking(scenario);
        let (mut fields, mut left) = (Vec::<(Field, Replacement)>::new(), Vec::new());
        for field in Field::all().filter(|field| refused.contains(field) || otherwise.contains(field)) {
            match Replacement::for_field(field, &scenario.plan) {
                Some(replacement) => fields.push((field, replacement)),
                None if refused.contains(&field) => return None,
                None => left.push(field),
            }
        }
        let is_recompute = |(field, _): &(Field, _)| *field == Field::Recompute;
        let recomputes = fields.iter().any(is_recompute);
        // Where the mesh has no choice, what else the program lacks is judged on the mesh that it has.
        let mut base = scenario.clone();
        for (_, one) in fields.iter().filter(|(_, one)| one.values.len() == 1) {
            (one.put)(&mut base.plan, 0);
        }
        for (field, several) in fields.iter_mut().filter(|(_, one)| one.values.len() > 1) {
            let Replacement { values, put } = several;
            values.retain(|value| {
                let mut with = base.clone();
                put(&mut with.plan, *value);
                lacking(&with).iter().all(|lacks| !lacks.contains(field))
            });
        }
        let mut fields: Vec<Replacement> = fields.into_iter().map(|(_, replacement)| replacement).collect();
        if !recomputes {
            let again = [None, Some(Recompute::Selective), Some(Recompute::Full)];
            fields.push(Replacement::among(again, |plan, mode| plan.recompute = mode.unwrap_or(plan.recompute)));
        }
        Some(Self { scenario, lacking, fields, left })
    }

    /// How many plans there are, possible or not.
    fn count(&self) -> usize {
        self.fields.iter().map(|field| field.values.len()).product()
    }

    /// The plan of an index below their count, where the program can run it.
    fn plan(&self, index: usize) -> Option<Scenario> {
        let (mut found, mut each) = (self.scenario.clone(), self.count());
        for Replacement { values, put } in &self.fields {
            each /= values.len();
            put(&mut found.plan, values[index / each % values.len()]);
        }
        found.settle_batch();
        let is_possible = found.layout().is_ok() && found.keeps_batch().is_ok();
        let lacks_more = || (self.lacking)(&found).concat().iter().any(|field| !self.left.contains(field));
        (is_possible && !lacks_more()).then_some(found)
    }
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
    use crate::scenario::Checked;
    use crate::scenario::file::parse;
    use crate::stack::Runs;

    fn lacks(scenario: &Scenario, runs: &Runs) -> Vec<Field> {
        let of = |job: Checked<'_>| job.lacks_of("it", runs).map(|(field, _)| field).collect();
        scenario.checked().map_or_else(|_| Vec::new(), of)
    }

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

    /// From ZeRO-1 over a node, DDP moves the optimizer's extent from 8 devices to one, and ZeRO-2 that of gradients from one to
    /// 8: one field and three doublings each. Of two as near the faster is taken, ZeRO-2, which need not sum whole
    /// gradients on each device. FSDP over the node moves two extents.
    #[test]
    fn the_nearest_plan_changes_least() {
        let library = Library::embedded();
        let text = "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-1b\"\nstrategy = \"zero1-hier\"\n\
                    [plan]\nnodes = 2\n";
        let (_, scenario) = scenario(&library, text);
        let runs = scenario.stack.runs.clone().expect("limits");
        assert_eq!(scenario.lacks().len(), 1);
        let found = nearest_plan(&scenario, &|plan| [lacks(plan, &runs), Vec::new()], &mut Workspace::default())
            .expect("a plan");
        assert_eq!(found.scenario.lacks(), []);
        assert!(found.summary.fits);
        let layout = found.scenario.layout().expect("a layout");
        assert_eq!((layout.weights, layout.gradients, layout.optimizer), (1, 8, 8));
        assert_eq!(found.changes, ["gradients_over device -> innermost"]);
    }

    /// Nothing stands for adapters, which a program without them lacks: no plan is made, where 64 copies of each were for every
    /// field beside it.
    #[test]
    fn what_nothing_can_stand_for_has_no_nearest_plan() {
        let library = Library::embedded();
        let (_, scenario) = scenario(
            &library,
            "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"llama-3.1-8b\"\nstrategy = \"zero2\"\n\
             [plan]\nnodes = 4\ntensor = 2\nweights_over = \"2\"\ngradients_over = \"4\"\noptimizer_over = \"16\"\n\
             train = \"lora\"\npaged_optimizer = true\noffload = \"checkpoints\"\nrecompute = \"full\"\n",
        );
        let runs = Runs { features: Some(Vec::new()), ..Runs::default() };
        let lacking = |scenario: &Scenario| [lacks(scenario, &runs), Vec::new()];
        let found = lacks(&scenario, &runs);
        assert!(found.contains(&Field::Train) && found.contains(&Field::Tensor), "{found:?}");
        assert!(Replacements::new(&scenario, &lacking).is_none());
        assert_eq!(nearest_plan(&scenario, &lacking, &mut Workspace::default()), None);
    }

    /// A program that lacks all of a plan that has a replacement: 7 extents of each part of the state, which has three, make
    /// 343 plans beside each schedule, precision and offload that it has, and each with three kinds of recompute.
    #[test]
    fn no_search_for_the_nearest_is_larger_than_its_bounds() {
        let library = Library::embedded();
        let (file, scenario) = scenario(
            &library,
            "format = 1\ncluster = \"b200-dgx\"\nstack = \"ideal\"\nmodel = \"llama-3.1-8b\"\nstrategy = \"zero2\"\n\
             [plan]\nnodes = 4\npipeline = 2\nschedule = \"breadth-first\"\nstages_per_rank = 2\naccumulate = 4\nprecision = \"nvfp4\"\n\
             weights_over = \"2\"\ngradients_over = \"4\"\noptimizer_over = \"16\"\noffload = \"all\"\nrecompute = \"0.3\"\n",
        );
        let runs = Runs {
            schedules: Some(vec![Schedule::GPipe, Schedule::OneForwardOneBackward, Schedule::Interleaved]),
            precisions: Some(vec![Precision::Bf16, Precision::Fp16, Precision::Fp32]),
            offload: Some(vec![Offload::None, Offload::Optimizer, Offload::State]),
            recompute: Some(vec![crate::stack::RecomputeKind::Full]),
            shards: Some(vec![
                "device/device/system".parse().expect("a pattern"),
                "system/system/system".parse().expect("a pattern"),
            ]),
            ..Runs::default()
        };
        let lacking = |scenario: &Scenario| [lacks(scenario, &runs), Vec::new()];
        let plans = Replacements::new(&scenario, &lacking).expect("replacements");
        let ([compared, evaluated], found) = nearest_of(&plans, &mut Workspace::default());
        assert!(compared <= MOST_COMPARED && evaluated <= MOST_EVALUATED, "{compared} {evaluated}");
        assert!(evaluated > 0 && compared > 100, "{compared} {evaluated}");
        assert!(found.expect("a plan").scenario.lacks_of("it", &runs).is_empty());
        // Two fields that each need another one of their own: every pair of the nearest values is tried at most.
        let wanted = [Edit::new(Field::Tensor, 7), Edit::new(Field::Context, 5), Edit::new(Field::Pipeline, 11)];
        let (tried, none) = possible_of(&library, &file, &scenario, &wanted);
        assert!(none.is_none() && tried <= MOST_TRIED, "{tried}");
    }
}
