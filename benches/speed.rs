//! Speed against the project's targets, which stand in the names: `cargo bench`.
#![expect(clippy::unwrap_used, reason = "the scenario is a preset and the axes are fixed")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use shardscope::app::action::JobReport;
use shardscope::app::jobs;
use shardscope::app::{App, Start};
use shardscope::ui::caps::{Caps, Depth};
use shardscope::ui::draw;
use shardscope_engine::evaluate::{
    Activity, Evaluation, IdleCause, ModelPart, Span, Stall, Stream, TaskKind, Trace, Workspace, summary, traced,
};
use shardscope_engine::plan::{Offload, Plan, Recompute, Schedule, Size};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::parse;
use shardscope_engine::search::planner::{CostModel, MemoryCurve, PlanRequest, PlannerObjective, plan};
use shardscope_engine::search::training::{Goal, TrainingSearch};
use shardscope_engine::search::{Cancel, Evaluator, Sweep, full, pool};
use shardscope_interop::kineto;
use shardscope_interop::nccl::{self, LinkOptions, TimedCollective};
use shardscope_interop::plans;
use shardscope_interop::runs::{self, RunOptions};

/// FSDP of a 7B model on 8 nodes of H100s, with another count of layers and micro-batches.
fn scenario(layers: u32, accumulate: u32) -> Scenario {
    let library = shardscope_presets::library();
    let (stack, strategy) = (library.stack("default").unwrap(), library.strategy("fsdp").unwrap());
    let mut model = (*library.model("llama-2-7b").unwrap()).clone();
    model.layers = layers;
    let mut plan = Plan::new(strategy.sharding.clone(), 4096);
    (plan.size, plan.accumulate) = (Size::Nodes(8), accumulate);
    Scenario {
        name: String::new(),
        cluster: library.cluster("h100-80gb-dgx").unwrap(),
        calibration: library.calibration(&stack.calibration).unwrap(),
        stack,
        model: Arc::new(model),
        strategy: strategy.id.as_str().into(),
        plan,
        caveats: Arc::default(),
        unknown: Arc::default(),
    }
}

fn one(criterion: &mut Criterion) {
    let mut workspace = Workspace::default();
    for (layers, accumulate) in [(32, 1), (320, 1), (3200, 1), (32, 16), (32, 160), (32, 1600)] {
        let scenario = scenario(layers, accumulate);
        let name = format!("summary, layers {layers}, micro-batches {accumulate} (target 50 us)");
        evaluations(criterion, &name, &scenario, &mut workspace);
    }
    // Mixtral 8x7B has as many layers as the dense model.
    for ranks in [1, 8] {
        let mut scenario = scenario(32, 1);
        scenario.model = shardscope_presets::library().model("mixtral-8x7b").unwrap();
        scenario.plan.experts.ranks = ranks;
        let name = format!("summary, 32 layers of experts on {ranks} ranks (target twice the dense one)");
        evaluations(criterion, &name, &scenario, &mut workspace);
    }
    let scenario = scenario(32, 1);
    criterion.bench_function("full detail, 32 layers (target 2 ms)", |bench| {
        bench.iter(|| full(black_box(&scenario), &mut workspace));
    });
}

/// Evaluations that are built: of two scenarios by turns that differ in what costs nothing, since one and the same would be
/// timed anew.
fn evaluations(criterion: &mut Criterion, name: &str, scenario: &Scenario, workspace: &mut Workspace) {
    let mut other = scenario.clone();
    other.plan.tokens = Some(1e12);
    let mut turns = [scenario, &other].into_iter().cycle();
    criterion.bench_function(name, |bench| bench.iter(|| summary(black_box(turns.next().unwrap()), workspace)));
}

/// A model of a trillion parameters on `P` pipeline ranks of `K` stages each, with `M` micro-batches.
fn pipeline(
    strategy: &str,
    tensor: u32,
    (ranks, stages, micro_batches): (u32, u32, u32),
    schedule: Schedule,
) -> Scenario {
    let library = shardscope_presets::library();
    let mut scenario = scenario(128, micro_batches);
    let strategy = library.strategy(strategy).unwrap();
    scenario.cluster = library.cluster("a100-80gb-dgx").unwrap();
    scenario.model = library.model("megatron-1t").unwrap();
    scenario.strategy = strategy.id.as_str().into();
    let plan = &mut scenario.plan;
    (plan.sharding, plan.sequence, plan.tensor) = (strategy.sharding.clone(), 2048, tensor);
    (plan.pipeline, plan.stages_per_rank, plan.schedule) = (ranks, stages, schedule);
    (plan.size, plan.recompute) = (Size::Devices(8 * ranks * tensor), Recompute::Full);
    scenario
}

fn pipelines(criterion: &mut Criterion) {
    let mut workspace = Workspace::default();
    for (strategy, tensor, shape, schedule) in [
        ("ddp", 8, (8, 1, 32), Schedule::OneForwardOneBackward),
        ("ddp", 8, (8, 1, 4096), Schedule::GPipe),
        ("ddp", 8, (64, 1, 1024), Schedule::OneForwardOneBackward),
        ("ddp", 8, (8, 8, 64), Schedule::BreadthFirst),
        ("fsdp", 8, (8, 8, 64), Schedule::BreadthFirst),
        ("fsdp", 8, (8, 8, 4096), Schedule::BreadthFirst),
        ("ddp", 8, (8, 8, 64), Schedule::Interleaved),
        ("fsdp", 8, (8, 8, 64), Schedule::Interleaved),
        ("zero1", 8, (16, 8, 64), Schedule::Interleaved),
    ] {
        let scenario = pipeline(strategy, tensor, shape, schedule);
        let (ranks, stages, micro_batches) = shape;
        let name = format!(
            "summary, {schedule}, {strategy}, {ranks} ranks x {stages} stages x {micro_batches} micro-batches (target 300 us)"
        );
        evaluations(criterion, &name, &scenario, &mut workspace);
    }
    for schedule in [Schedule::BreadthFirst, Schedule::Interleaved] {
        let scenario = pipeline("ddp", 1, (16, 8, 64), schedule);
        let name = format!("trace, {schedule}, 16 ranks x 8 stages x 64 micro-batches (target 10 ms)");
        criterion.bench_function(&name, |bench| {
            bench.iter(|| black_box(&scenario).checked().and_then(|checked| traced(&checked, &mut workspace)));
        });
    }
}

fn many(criterion: &mut Criterion) {
    let factors: Vec<String> = (1..=100).map(|percent| format!("{}", f64::from(percent) / 100.0)).collect();
    let networks = format!("bandwidth={}", factors.join(","));
    for (name, x, y, threads) in [
        ("map of 32 x 16 on the explorer's pool (target 40 ms)", "nodes=1..32:1", "micro-batch=1..16:1", None),
        ("sweep of 100 x 100 on one core (target 20 Kelem/s)", "nodes=1..100:1", "micro-batch=1..100:1", Some(1)),
        ("sweep of 100 networks x 100 on one core (target 200 Kelem/s)", &networks, "nodes=1..100:1", Some(1)),
    ] {
        let sweep = Sweep { base: scenario(32, 1), x: x.parse().unwrap(), y: y.parse().unwrap(), tune: false };
        let mut group = criterion.benchmark_group("sweep");
        group.throughput(Throughput::Elements(sweep.len() as u64)).sample_size(20);
        group.bench_function(name, |bench| {
            // The start-up of the pool belongs to the sweep.
            bench.iter(|| sweep.run(&Evaluator::on(&pool(threads).unwrap()), 0, &|_, cell| drop(black_box(cell))));
        });
        group.finish();
    }
}

/// The exact search of every batch and recompute, each plan checked by the simulator.
fn operators(criterion: &mut Criterion) {
    let library = shardscope_presets::library();
    let mut base = scenario(96, 1);
    base.model = library.model("gpt3-175b").unwrap();
    base.plan.size = Size::Nodes(16);
    let request = PlanRequest {
        scenario: base,
        objective: PlannerObjective::Throughput,
        cost_model: CostModel::Paper,
        top: 1,
        any_plan: false,
    };
    criterion.bench_function("exact plan of 96 layers, all batches (target 100 ms)", |bench| {
        bench.iter(|| plan(black_box(&request), &Cancel::default()));
    });
    let mut large = scenario(128, 256);
    (large.model, large.plan.tensor, large.plan.context) = (library.model("megatron-1t").unwrap(), 4, 4);
    (large.plan.sequence, large.plan.offload) = (2048, Offload::State);
    // A host with room for that.
    Arc::make_mut(&mut large.cluster).host = None;
    let request = PlanRequest {
        scenario: large,
        objective: PlannerObjective::Memory,
        cost_model: CostModel::Simulator,
        top: 1,
        any_plan: true,
    };
    let mut group = criterion.benchmark_group("plan by the simulator, 128 layers, least memory");
    group.sample_size(10);
    group.bench_function("a trillion parameters (target 10 s)", |bench| {
        bench.iter(|| plan(black_box(&request), &Cancel::default()).unwrap());
    });
    group.finish();
    let text = &library.scenario_text("frontier-20b-384").unwrap().text;
    let scenario = library.resolve(&parse(text).unwrap()).unwrap();
    let request = PlanRequest {
        scenario,
        objective: PlannerObjective::Throughput,
        cost_model: CostModel::Simulator,
        top: 1,
        any_plan: true,
    };
    let mut group = criterion.benchmark_group("plan by the simulator, 44 layers, 384 devices");
    group.sample_size(10);
    group.bench_function("one limit (target 200 ms)", |bench| {
        bench.iter(|| plan(black_box(&request), &Cancel::default()).unwrap());
    });
    let (curve, pool) = (MemoryCurve::new(request), pool(Some(2)).unwrap());
    group.bench_function("12 limits on two cores (target 1 s)", |bench| {
        bench.iter(|| {
            curve.run(&Evaluator::on(&pool), curve.own(), &|_, planned| {
                black_box(planned);
            })
        });
    });
    group.finish();
}

/// The shortest training of a trillion parameters on at most 100,000 devices.
fn training(criterion: &mut Criterion) {
    let library = shardscope_presets::library();
    let mut base = scenario(1, 1);
    base.cluster = library.cluster("a100-80gb-nvlink16").unwrap();
    base.stack = library.stack("ideal").unwrap();
    base.calibration = library.calibration(&base.stack.calibration).unwrap();
    base.model = library.model("x-160").unwrap();
    (base.plan.sequence, base.plan.recompute) = (2560, Recompute::Full);
    let training = TrainingSearch::new(base, Goal { critical: 2415.0, steps: 1e5 }, 100_000, &library).unwrap();
    let pool = pool(Some(2)).unwrap();
    let mut group = criterion.benchmark_group("training");
    group.sample_size(10);
    group.bench_function("shortest training of X_160 on two cores (target 5 s)", |bench| {
        bench.iter(|| {
            training.run(&Evaluator::on(&pool), &|_, answer| {
                black_box(answer);
            })
        });
    });
    group.finish();
}

/// The explorer on the default scenario, with everything answered.
fn explorer() -> App {
    let library = Arc::new(shardscope_presets::library());
    let file = parse(&library.scenario_text("default").unwrap().text).unwrap();
    let scenario = library.resolve(&file).unwrap();
    let (mut app, commands) = App::new(Start::new(library, file, scenario));
    commands.into_iter().flat_map(jobs::in_line).for_each(|report| drop(app.receive(report)));
    app
}

fn screen(criterion: &mut Criterion) {
    let app = explorer();
    let caps = Caps { depth: Depth::True, ..Caps::default() };
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        criterion.bench_function(&format!("draw {width} x {height}"), |bench| {
            bench.iter(|| terminal.draw(|frame| draw(&app, &caps, frame)).map(|_| ()));
        });
    }
    let mut app = explorer();
    app.receive(JobReport::Evaluated { generation: 1, result: Ok(Arc::new(long(&app))) });
    let mut terminal = Terminal::new(TestBackend::new(200, 50)).unwrap();
    criterion.bench_function("draw 200 x 50, 100k spans of 8 ranks (target 5 ms)", |bench| {
        bench.iter(|| terminal.draw(|frame| draw(&app, &caps, frame)).map(|_| ()));
    });
}

/// The explorer's answer with a trace of 101,376 spans: 8 ranks, forward and backward of 64 micro-batches, 66 layers, a
/// gather for every second one.
fn long(app: &App) -> Evaluation {
    const LAYERS: u32 = 66;
    let mut evaluation = (*app.answer.as_ref().unwrap().evaluation).clone();
    let span = evaluation.trace.spans[0];
    let slot = evaluation.summary.step_time / f64::from(128 * LAYERS);
    let mut trace = Trace::default();
    for (rank, turn) in (0..8).flat_map(|rank| (0..128).map(move |turn| (rank, turn))) {
        let kind = if turn % 2 == 0 { TaskKind::Forward } else { TaskKind::Backward };
        for layer in 0..LAYERS {
            let start = slot * f64::from(turn * LAYERS + layer);
            let activity = Activity { kind, part: ModelPart::Layer, layer, micro_batch: turn / 2 };
            let compute = Span { rank, lane: Stream::Compute, activity, start, end: start + slot * 0.9, ..span };
            trace.spans.push(compute);
            if layer % 2 == 0 {
                trace.spans.push(Span { lane: Stream::Gather, ..compute });
            }
            trace.idle.push(Stall { rank, cause: IdleCause::Communication, start: compute.end, end: start + slot });
        }
    }
    evaluation.trace = trace.in_order();
    evaluation
}

/// Other tools' files of the size that nobody should wait for, good and bad: time grows with the size alone.
fn inputs(criterion: &mut Criterion) {
    const SIZE: usize = 10 << 20;
    let long = |line: &str| line.repeat(SIZE / line.len());
    let mut group = criterion.benchmark_group("10 MB (target 5 s)");
    group.throughput(Throughput::Bytes(SIZE as u64)).sample_size(10);
    let step = " iteration 1/ 2 | elapsed time per iteration (ms): 5837.9 | global batch size: 4 |\n";
    for (name, text) in [("log of a run", long(step)), ("log of a run, blank", long("\n"))] {
        let options = RunOptions { skip: None, given: &[] };
        group.bench_function(name, |bench| bench.iter(|| runs::run("it.log", black_box(&text), options)));
    }
    let event = r#"{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 2, "args": {"device": 0}},"#;
    let trace = format!("[{}{{}}]", long(event));
    group.bench_function("trace", |bench| bench.iter(|| kineto::read(black_box(trace.as_bytes())).is_ok()));
    let base = scenario(32, 1);
    let row = "  1048576  262144  float  none  -1  35.5  29.5  27.7  0  35.0  30.0  28.1  0\n";
    let logs = [("it.log".to_owned(), format!("# Rank 0 on a device 0\n# Rank 1 on a device 1\n{}", long(row)))];
    let options = LinkOptions { collective: Some(TimedCollective::AllGather), name: None };
    group.bench_function("log of nccl-tests", |bench| {
        bench.iter(|| nccl::links(black_box(&logs), &base, options).is_ok());
    });
    for (name, part) in [("script, continued", "\\\n"), ("script, unclosed", "${"), ("script", "A+=1 B=$((2 * $A))\n")]
    {
        let text = format!("x --num-layers 2 --hidden-size 64 {}", long(part));
        group.bench_function(name, |bench| bench.iter(|| plans::is_plan("it.sh", black_box(&text))));
    }
    group.finish();
}

criterion_group!(benches, one, pipelines, many, operators, training, screen, inputs);
criterion_main!(benches);
