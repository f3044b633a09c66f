//! Speed against the project's targets, which stand in the names: `cargo bench`.
#![expect(clippy::unwrap_used, reason = "the scenario is a preset and the axes are fixed")]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use shardscope::app::action::{Command, Report};
use shardscope::app::{App, Options, Start};
use shardscope::evaluate::{Workspace, summary};
use shardscope::plan::{Plan, Size};
use shardscope::presets::Library;
use shardscope::scenario::Scenario;
use shardscope::scenario::file::parse;
use shardscope::search::{Cancel, Sweep, full, pool};
use shardscope::ui::caps::{Caps, Depth};
use shardscope::ui::draw;

/// FSDP of a 7B model on 8 nodes of H100s, with another count of layers and micro-batches.
fn scenario(layers: u32, accumulate: u32) -> Scenario {
    let library = Library::embedded();
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
    }
}

fn one(criterion: &mut Criterion) {
    let mut workspace = Workspace::default();
    for (layers, accumulate) in [(32, 1), (320, 1), (3200, 1), (32, 16), (32, 160), (32, 1600)] {
        let scenario = scenario(layers, accumulate);
        let name = format!("summary, layers {layers}, micro-batches {accumulate} (target 50 us)");
        criterion.bench_function(&name, |bench| bench.iter(|| summary(black_box(&scenario), &mut workspace)));
    }
    let scenario = scenario(32, 1);
    criterion.bench_function("full detail, 32 layers (target 2 ms)", |bench| {
        bench.iter(|| full(black_box(&scenario), &mut workspace));
    });
}

fn many(criterion: &mut Criterion) {
    for (name, x, y, threads) in [
        ("map of 32 x 16 on the explorer's pool (target 40 ms)", "nodes=1..32:1", "micro-batch=1..16:1", None),
        ("sweep of 100 x 100 on one core (target 20 Kelem/s)", "nodes=1..100:1", "micro-batch=1..100:1", Some(1)),
    ] {
        let sweep = Sweep { base: scenario(32, 1), x: x.parse().unwrap(), y: y.parse().unwrap(), tune: false };
        let mut group = criterion.benchmark_group("sweep");
        group.throughput(Throughput::Elements(sweep.len() as u64)).sample_size(20);
        group.bench_function(name, |bench| {
            // The start-up of the pool belongs to the sweep.
            bench.iter(|| sweep.run(&pool(threads).unwrap(), 0, &Cancel::default(), &|_, cell| drop(black_box(cell))));
        });
        group.finish();
    }
}

/// The explorer on the default scenario, with everything answered.
fn explorer() -> App {
    let library = Arc::new(Library::embedded());
    let file = parse(&library.scenario_text("default").unwrap().text).unwrap();
    let scenario = library.resolve(&file).unwrap();
    let (mut app, commands) = App::new(Start { library, file, scenario, options: Options::default() });
    let mut workspace = Workspace::default();
    for command in commands {
        let report = match command {
            Command::Evaluate { generation, scenario } => {
                Report::Evaluated { generation, result: full(&scenario, &mut workspace).map(Arc::new) }
            }
            Command::Sweep { generation, sweep, .. } => {
                let cells = (0..sweep.len()).map(|index| (index, sweep.cell(index, &mut workspace))).collect();
                Report::Cells { generation, cells }
            }
            _ => continue,
        };
        app.hear(report);
    }
    app
}

fn screen(criterion: &mut Criterion) {
    let app = explorer();
    let caps = Caps { depth: Depth::True, ascii: false, light: false, low_bandwidth: false };
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        criterion.bench_function(&format!("draw {width} x {height}"), |bench| {
            bench.iter(|| terminal.draw(|frame| draw(&app, &caps, frame)).map(|_| ()));
        });
    }
}

criterion_group!(benches, one, many, screen);
criterion_main!(benches);
