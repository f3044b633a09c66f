//! Axes, sweeps, tuned cells and elasticities.

use std::sync::Mutex;

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::plans::{Margin, Objective, PlanSearch, SearchLimits, SearchSpace};
use super::*;
use crate::evaluate::{Property, Resource, Summary, fits_safely};
use crate::plan::{GlobalBatch, Offload, Recompute, Schedule, Size};
use crate::presets::Library;
use crate::scenario::Field;
use crate::scenario::file::parse;
use crate::testing;
use crate::units::BytesPerSecond;

fn counts(axis: &Axis) -> Vec<String> {
    axis.values.iter().map(ToString::to_string).collect()
}

#[test]
fn values_are_lists_powers_of_two_or_steps() {
    let read = |text: &str| text.parse::<Axis>().map(|axis| counts(&axis).join(" "));
    assert_eq!(read("nodes=1,2,4").as_deref(), Ok("1 2 4"));
    assert_eq!(read("nodes=1..64").as_deref(), Ok("1 2 4 8 16 32 64"));
    assert_eq!(read("nodes=1..24").as_deref(), Ok("1 2 4 8 16 24"), "the end is one of them");
    assert_eq!(read("nodes=3..40").as_deref(), Ok("3 6 12 24 40"));
    assert_eq!(read("seq=1..10:3").as_deref(), Ok("1 4 7 10"));
    assert_eq!(read("seq=1..9:3").as_deref(), Ok("1 4 7 9"));
    assert_eq!(read("shard=device,node,16,system").as_deref(), Ok("device node 16 system"));
    assert_eq!(read("bandwidth=0.5,2").as_deref(), Ok("0.5 2"));
    for wrong in
        ["", "nodes", "nodes=", "nodes=0", "nodes=4..1", "rows=1", "bandwidth=1..4", "nodes=1..2:0", "memory=-1"]
    {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    assert!(read("nodes=1..4000000:1").is_err(), "too many values");
    // A list of ranges is refused when it is full: each of these has 65,536 values, all of them a thousand times as many.
    assert!(read(&format!("micro-batch={}1", "1..65536:1,".repeat(1000))).is_err(), "too many values");
}

fn sweep() -> Sweep {
    let axis = |text: &str| text.parse().expect("an axis");
    Sweep {
        base: testing::scenario(),
        x: axis("nodes=1..64"),
        y: axis("shard=device,2,node,8,system,rack"),
        tune: false,
    }
}

fn filled(sweep: &Sweep, threads: usize) -> Vec<Option<Cell>> {
    let cells = Mutex::new(vec![None; sweep.len()]);
    let pool = pool(Some(threads)).expect("a pool");
    let all = sweep.run(&Evaluator::on(&pool), 3, &|index, cell| cells.lock().expect("a lock")[index] = Some(cell));
    assert!(all);
    cells.into_inner().expect("a lock")
}

#[test]
fn a_sweep_is_the_same_on_any_number_of_threads() {
    for tune in [false, true] {
        let sweep = Sweep { tune, ..sweep() };
        let one = filled(&sweep, 1);
        assert!(one.iter().all(Option::is_some));
        assert_eq!(one, filled(&sweep, 2));
        assert_eq!(one, filled(&sweep, 8));
    }
}

/// Three networks for each of two batches: two programs, whichever axis is which.
#[test]
fn a_sweep_over_bandwidth_builds_a_program_for_each_other_value() {
    let axis = |text: &str| text.parse::<Axis>().expect("an axis");
    let [networks, batches] = ["bandwidth=0.5,1,2", "micro-batch=1,2"].map(axis);
    for (x, y) in [(networks.clone(), batches.clone()), (batches, networks)] {
        let sweep = Sweep { base: testing::scenario(), x, y, tune: false };
        let mut workspace = Workspace::default();
        let mut order: Vec<usize> = (0..sweep.len()).collect();
        order.sort_by_key(|index| sweep.turn(*index));
        for index in order {
            let again = sweep.cell(index, &mut Workspace::default());
            assert_eq!(sweep.cell(index, &mut workspace), again, "cell {index}");
        }
        assert_eq!(workspace.builds, 2);
    }
}

#[test]
fn a_cell_that_cannot_be_says_why() {
    let sweep = sweep();
    let cell = |x: usize, y: usize| sweep.cell(y * sweep.x.values.len() + x, &mut Workspace::default());
    let why = |cell: Cell| match cell {
        Cell::Impossible(problem) => problem.to_string(),
        Cell::Possible { .. } => panic!("it is possible"),
    };
    assert!(why(cell(0, 3)).contains('8'), "8 ranks on one node of 4");
    assert!(why(cell(1, 5)).contains("no level 'rack'"));
    assert!(matches!(cell(1, 3), Cell::Possible { .. }));
}

#[test]
fn a_cancelled_sweep_stops() {
    let cancel = Cancel::default();
    let seen = Mutex::new(0);
    let pool = pool(Some(2)).expect("a pool");
    let all = sweep().run(&Evaluator::new(&pool, &cancel), 0, &|_, _| {
        *seen.lock().expect("a lock") += 1;
        cancel.cancel();
    });
    assert!(!all);
    assert!(*seen.lock().expect("a lock") <= 2, "each thread ends the cell that it is in");
}

#[test]
fn the_first_cell_is_the_one_asked_for() {
    let order = Mutex::new(Vec::new());
    let pool = pool(Some(1)).expect("a pool");
    sweep().run(&Evaluator::on(&pool), 17, &|index, _| order.lock().expect("a lock").push(index));
    let order = order.into_inner().expect("a lock");
    assert_eq!(order[..2], [17, 0]);
}

#[test]
fn tuning_never_loses_and_fills_memory() {
    let mut scenario = testing::scenario();
    scenario.plan.accumulate = 16;
    let plain = crate::evaluate::summary(&scenario, &mut Workspace::default()).expect("a valid scenario");
    let (choice, summary) = tuned(&scenario, &mut Workspace::default()).expect("a valid scenario");
    assert!(summary.fits && summary.tokens_per_s_per_device >= plain.tokens_per_s_per_device);
    assert_eq!(choice.accumulate, 16_u32.div_ceil(choice.micro_batch), "no more micro-batches than it takes");
    assert_eq!(choice.recompute, Recompute::None, "there is memory to spare");
}

/// The best of every micro-batch with every recompute of the search's grid, each evaluated.
fn tried(scenario: &Scenario) -> Option<Summary> {
    let shares = (1..20).map(|part| Recompute::Share(f64::from(part) / 20.0));
    let modes = [Recompute::None, Recompute::Selective, Recompute::Full].into_iter().chain(shares);
    let sizes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128];
    let all = modes.flat_map(|recompute| sizes.map(move |micro_batch| (recompute, micro_batch)));
    let mut workspace = Workspace::default();
    let fitting = all.filter_map(|(recompute, micro_batch)| {
        let mut trial = scenario.clone();
        trial.plan.accumulate = scenario.accumulate_for(micro_batch)?;
        (trial.plan.micro_batch, trial.plan.recompute) = (micro_batch, recompute);
        crate::evaluate::summary(&trial, &mut workspace).ok().filter(|summary| fits_safely(&trial, summary))
    });
    fitting.max_by(|one, other| one.tokens_per_s_per_device.total_cmp(&other.tokens_per_s_per_device))
}

#[test]
fn tuning_finds_what_trying_everything_finds() {
    for (nodes, memory, pipeline) in [(1, 1.0, 1), (2, 0.4, 1), (4, 0.2, 1), (8, 0.1, 1), (2, 1.0, 2), (4, 0.15, 4)] {
        let mut scenario = testing::scenario();
        (scenario.plan.size, scenario.plan.memory_factor) = (Size::Nodes(nodes), memory);
        (scenario.plan.accumulate, scenario.plan.pipeline) = (8, pipeline);
        let (_, found) = tuned(&scenario, &mut Workspace::default()).expect("a valid scenario");
        let all = tried(&scenario);
        assert_eq!(all.is_some(), fits_safely(&scenario, &found), "{nodes} nodes, {memory} of the memory");
        if let Some(all) = all {
            assert_eq!(all.step_time, found.step_time, "{nodes} nodes");
        }
    }
}

/// `t`, `plan` and the search for whole plans are one question where the same is free: on random jobs none of them names a
/// better figure than another.
#[test]
fn questions_with_the_same_search_space_have_the_same_answer() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let job = (prop::sample::select(vec![4_u32, 8]), 0.05..0.5, 1_u32..4, prop::sample::select(vec![16_u32, 32, 96]));
    let pool = pool(Some(2)).expect("threads");
    let (mut answered, mut placed) = (0, 0);
    for _ in 0..40 {
        let (layers, memory, nodes, batch) = job.new_tree(&mut runner).expect("a job").current();
        let mut scenario = testing::scenario();
        std::sync::Arc::make_mut(&mut scenario.model).layers = layers;
        let plan = &mut scenario.plan;
        (plan.size, plan.memory_factor, plan.global_batch) =
            (Size::Nodes(nodes), memory, GlobalBatch::Sequences(batch));
        scenario.settle_batch();
        let ask = |fields: &[Field]| {
            let space = SearchSpace::only(fields);
            let limits = SearchLimits::SAFE;
            let search = PlanSearch::new(scenario.clone(), space, Objective::Throughput, limits, 1);
            search.run(&Evaluator::on(&pool), &mut |_| {}).plans.pop().map(|best| best.summary)
        };
        let batches = [Field::MicroBatch, Field::Recompute];
        let best = ask(&batches);
        let tuned = tuned(&scenario, &mut Workspace::default()).ok().map(|(_, found)| found);
        assert_eq!(best, tuned.filter(|found| fits_safely(&scenario, found)), "t on {:?}", scenario.plan);
        let state = [Field::WeightsOver, Field::GradientsOver, Field::OptimizerOver];
        let Some(best) = ask(&[&batches[..], &state].concat()) else { continue };
        let (objective, cost_model) = (planner::PlannerObjective::Throughput, planner::CostModel::Simulator);
        let request = planner::PlanRequest { scenario, objective, cost_model, top: 1, any_plan: true };
        let planned = planner::plan(&request, &Cancel::default()).expect("a valid job");
        let found = planned.plans.first().expect("a plan, where the search has one");
        assert!(found.summary.tokens_per_s() >= best.tokens_per_s(), "plan on {:?}", request.scenario.plan);
        answered += 1;
        // With operators placed one by one the search is no worse than `plan`, whether or not it has more to choose from.
        let space = if answered % 5 == 0 {
            SearchSpace::default()
        } else {
            SearchSpace::only(&[&batches[..], &state].concat())
        };
        let (base, limits) = (request.scenario, SearchLimits::SAFE);
        let mut search = PlanSearch::new(base, space, Objective::Throughput, limits, 3);
        let best = |search: &PlanSearch| {
            let answer = search.run(&Evaluator::on(&pool), &mut |_| {});
            let refined = planner::refined(search, &answer, &Evaluator::on(&pool)).map(|found| found.summary);
            (answer.plans.first().map(|best| best.summary), refined)
        };
        let (whole, refined) = best(&search);
        let most = [whole, refined].into_iter().flatten().map(|found| found.tokens_per_s()).reduce(f64::max);
        // What gains less than a thousandth is not named.
        let planned = found.summary.tokens_per_s() * (1.0 - 1e-3);
        assert!(most.is_some_and(|most| most >= planned), "{most:?} < {planned} on {:?}", search.base.plan);
        // Within its margin, and smaller where that is what counts.
        (search.limits.margin, search.objective) = (Margin::Share(0.05), Objective::Memory);
        let (whole, refined) = best(&search);
        if let Some((whole, refined)) = whole.zip(refined) {
            assert!(refined.memory.peak <= whole.memory.peak && whole.memory.peak <= whole.memory.capacity * 0.95);
        }
        search.objective = Objective::Throughput;
        let (whole, refined) = best(&search);
        if let Some((whole, refined)) = whole.zip(refined) {
            assert!(refined.memory.peak <= refined.memory.capacity * 0.95);
            assert!(refined.tokens_per_s() > whole.tokens_per_s());
            placed += 1;
        }
    }
    assert!(answered > 20, "{answered} jobs fit");
    assert!(placed > 0, "no job gains by a choice for each operator");
}

/// The strategies held side by side are the search with nothing but the strategy free.
#[test]
fn the_best_strategy_of_the_list_is_that_of_the_search() {
    let library = Library::embedded();
    let pool = pool(Some(2)).expect("threads");
    for memory in [0.15, 0.3, 0.6, 1.0] {
        let mut base = testing::scenario();
        (base.plan.size, base.plan.memory_factor) = (Size::Nodes(4), memory);
        let candidates = strategies(&library, &base);
        let values = candidates.iter().flat_map(|(_, candidate)| candidate.edits.iter().map(|edit| edit.value.clone()));
        let mut space = SearchSpace::only(&[]);
        space.vary(Axis { field: Field::Strategy, values: values.collect() });
        let limits = SearchLimits::default();
        let search = PlanSearch::new(base, space, Objective::Throughput, limits, 1);
        let found = search.run(&Evaluator::on(&pool), &mut |_| {}).plans.pop().map(|best| best.summary.tokens_per_s());
        let listed = outcomes(&candidates, &Evaluator::on(&pool)).into_iter().filter_map(|one| one.outcome.ok());
        let best = listed.filter(|summary| summary.fits).map(|summary| summary.tokens_per_s()).reduce(f64::max);
        assert_eq!(found, best, "{memory} of the memory");
    }
}

/// The plans of the shortest training are plans of the search: at their batch, on their devices, it finds none slower.
#[test]
fn the_shortest_training_is_no_faster_than_the_best_plan() {
    let library = Library::embedded();
    let pool = pool(Some(2)).expect("threads");
    let mut base = testing::scenario();
    base.plan.recompute = Recompute::Full;
    let goal = training::Goal { critical: 48.0, steps: 1000.0 };
    let training = training::TrainingSearch::new(base, goal, 8, &library).expect("embedded strategies");
    let answers = Mutex::new(Vec::new());
    let done = |index: usize, answer: training::TrainingAnswer| answers.lock().expect("a lock").push((index, answer));
    assert!(training.run(&Evaluator::on(&pool), &done));
    let mut compared = 0;
    for (index, answer) in answers.into_inner().expect("a lock") {
        let Some(fewest) = answer.best else { continue };
        let mut base = training.scenario(&training::METHODS[index / training.budgets.len()], &fewest.choice);
        base.plan.global_batch = GlobalBatch::Sequences(fewest.choice.sequences() as u32);
        let (space, limits) = (SearchSpace::default(), SearchLimits::default());
        let search = PlanSearch::new(base, space, Objective::Throughput, limits, 1);
        let best = search.run(&Evaluator::on(&pool), &mut |_| {}).plans.pop().expect("a plan, where there is one");
        let (best, of_training) = (best.summary.tokens_per_s(), fewest.summary.tokens_per_s());
        assert!(best >= of_training * (1.0 - 1e-9), "{best} < {of_training} with {:?}", fewest.choice);
        compared += 1;
    }
    assert!(compared >= 8, "{compared} plans");
}

/// An interleaved pipeline of two ranks takes 8 sequences in 8, 4 or 2 micro-batches: one is not possible, and leaves the
/// others as they are.
#[test]
fn tuning_takes_what_the_schedule_takes() {
    let mut scenario = testing::scenario();
    let plan = &mut scenario.plan;
    (plan.pipeline, plan.stages_per_rank, plan.accumulate, plan.schedule) = (2, 4, 8, Schedule::Interleaved);
    let (choice, found) = tuned(&scenario, &mut Workspace::default()).expect("possible");
    assert!(found.fits && [8, 4, 2].contains(&choice.accumulate), "{choice:?}");
    assert_eq!(tried(&scenario).map(|all| all.step_time), Some(found.step_time));
}

#[test]
fn elasticities_add_up_where_everything_is_exposed() {
    // Nothing overlaps and nothing has a latency: arithmetic, memory and wire share the step, and
    // doubling all of them would halve it, so the elasticities sum to 1.
    let mut scenario = testing::scenario();
    std::sync::Arc::make_mut(&mut scenario.stack).overlap = crate::stack::Overlap::None;
    let evaluation = full(&scenario, &mut Workspace::default()).expect("a valid scenario");
    let of = |property: Property| {
        evaluation.elasticity.iter().find(|one| one.property == property).expect("asked for").value
    };
    let sum = of(Property::PeakFlop)
        + of(Property::MemoryBandwidth)
        + of(Property::LevelBandwidth(0))
        + of(Property::LevelBandwidth(1));
    assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    let share = evaluation.summary.time.exposed / evaluation.summary.step_time;
    assert!((of(Property::LevelBandwidth(1)) - share).abs() < 1e-4, "the exposed share is the system level's");
    assert_eq!(evaluation.summary.bottleneck, Resource::Level(1));
    assert!(of(Property::LevelLatency(1)).abs() < 1e-9);
}

/// 100 M parameters over 8 ranks: at 10 MB/s, 25 MB of gradients and 25 MB of weights take 5 s, all else some ms.
#[test]
fn a_slow_link_to_the_host_limits_what_is_offloaded() {
    let mut scenario = testing::scenario();
    std::sync::Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e7);
    let felt = |scenario: &Scenario| {
        let evaluation = full(scenario, &mut Workspace::default()).expect("a valid scenario");
        let value =
            evaluation.elasticity.iter().find(|one| one.property == Property::HostBandwidth).map(|one| one.value);
        (value, evaluation.bottleneck(), evaluation.summary)
    };
    let (nothing, ..) = felt(&scenario);
    assert_eq!(nothing, None, "nothing travels to the host");
    for offload in [Offload::Optimizer, Offload::State] {
        scenario.plan.offload = offload;
        let (value, bottleneck, summary) = felt(&scenario);
        assert!(value.expect("copies") > 0.9, "{offload}: {value:?}");
        assert_eq!((bottleneck, summary.bottleneck), (Resource::HostLink, Resource::HostLink), "{offload}");
        assert_eq!(bottleneck.name(&scenario), "host");
        assert!(summary.host.exposed > summary.step_time * 0.9, "{offload}: {}", summary.host.exposed);
    }
}

#[test]
fn more_memory_is_worth_a_larger_micro_batch() {
    // Checkpoints and state leave no room for the next larger micro-batch; with 10 % more there is.
    let mut scenario = testing::scenario();
    scenario.plan.size = Size::Nodes(2);
    scenario.plan.accumulate = 16;
    let gain = |memory: f64| {
        let mut scenario = scenario.clone();
        scenario.plan.memory_factor = memory;
        let evaluation = full(&scenario, &mut Workspace::default()).expect("a valid scenario");
        evaluation.elasticity.iter().find(|one| one.property == Property::MemoryCapacity).map(|one| one.value)
    };
    let gains: Vec<f64> = (1..100).filter_map(|step| gain(f64::from(step) * 0.01)).collect();
    assert!(gains.iter().all(|gain| *gain >= 0.0));
    assert!(gains.iter().any(|gain| *gain > 0.01), "at some capacity 10 % more lets a larger batch in");
}

/// Of each two fields of a plan that a file gives, both are in the scenario, or the file is refused: none is dropped in
/// silence. Pairs of which one says the other anew: nodes and devices, accumulation and a batch that is held (the command
/// line refuses both), and the extents that `shard` moves.
#[test]
fn no_field_that_is_given_is_dropped() {
    let library = Library::embedded();
    let base = library.resolve(&parse(EXAMPLE_OF_PAIRS).expect("a file")).expect("a scenario");
    let apart = |one: Field, other: Field| {
        let pair = [one, other];
        let both = |fields: [Field; 2]| fields.iter().all(|field| pair.contains(field));
        both([Field::Nodes, Field::Devices])
            || both([Field::Accumulate, Field::GlobalBatch])
            || both([Field::Tokens, Field::Examples])
            || pair.contains(&Field::Shard) && pair.iter().all(|field| field.is_in_sharding())
    };
    let fields: Vec<Field> = Field::all().filter(|field| field.is_in_plan()).collect();
    let value = |field: Field| {
        let own = field.value(&base);
        let mut options = options::plan_options(field, &base);
        options.retain(|option| Some(option) != own.as_ref());
        let given = options.into_iter().nth(1).or_else(|| own.clone())?;
        // The rank of adapters counts where there are some.
        let mut file = parse(EXAMPLE_OF_PAIRS).expect("a file");
        file.put(field, Some(given.clone()));
        let alone = library.resolve(&file).ok()?;
        field.value(&alone).is_some().then_some(given)
    };
    let mut kept = 0;
    for (index, one) in fields.iter().enumerate() {
        for other in &fields[index + 1..] {
            let (Some(first), Some(second)) = (value(*one), value(*other)) else { continue };
            let mut file = parse(EXAMPLE_OF_PAIRS).expect("a file");
            file.put(*one, Some(first.clone()));
            file.put(*other, Some(second.clone()));
            let Ok(scenario) = library.resolve(&file) else { continue };
            if scenario.layout().is_err() || apart(*one, *other) {
                continue;
            }
            for (field, given) in [(*one, &first), (*other, &second)] {
                assert_eq!(field.value(&scenario).as_ref(), Some(given), "{} with {}", one.path(), other.path());
            }
            kept += 1;
        }
    }
    assert!(kept > 100, "{kept} pairs");
}

const EXAMPLE_OF_PAIRS: &str =
    "format = 1\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n";

#[test]
fn a_free_batch_keeps_the_accumulation() {
    let library = Library::embedded();
    for order in [["accumulate", "global-batch"], ["global-batch", "accumulate"]] {
        let mut file = parse(EXAMPLE_OF_PAIRS).expect("a file");
        for flag in order {
            file.set(flag, if flag == "accumulate" { "64" } else { "free" }).expect("a value");
        }
        let plan = library.resolve(&file).expect("a scenario").plan;
        assert_eq!((plan.accumulate, plan.global_batch), (64, crate::plan::GlobalBatch::Free), "{order:?}");
    }
}
