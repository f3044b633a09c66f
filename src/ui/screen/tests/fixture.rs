//! An explorer with invented figures, so that a screen shows the drawing and nothing of the engine.

use std::sync::Arc;

use crate::app::action::{Action, Command, Report};
use crate::app::evidence::{Picture, Run};
use crate::app::strategies::Row;
use crate::app::tests::{FRONTIER, start};
use crate::app::view::View;
use crate::app::work::Found;
use crate::app::{App, Panel};
use crate::evaluate::{
    Activity, Copies, Elasticity, ErrorBand, Evaluation, HostTraffic, Idle, IdleCause, Kind, Lane, Memory, MemoryParts,
    MemoryPoint, Part, Phases, Resource, Span, Summary, TimeParts, Trace, Traffic,
};
use crate::hardware::MAX_LEVELS;
use crate::measured::{Metric, Residual, Validation, validate};
use crate::plan::{Extent, Extents, Layers, Offload, Operator, Placement, Recompute};
use crate::presets::Kind as Presets;
use crate::report::Figures;
use crate::scenario::Problem;
use crate::search::planner::{Found as PlanFound, Planned, Uniform, Why};
use crate::search::training::{Best, Choice, Dealing, METHODS};
use crate::search::{self, Cell, Tuned};
use crate::snapshot::{Held, Listed};
use crate::units::{Bytes, FlopPerSecond, Seconds};

/// The numbers of the first question and the first map.
const FIRST: u64 = 1;

fn gib(count: f64) -> Bytes {
    Bytes::new(count * 1_073_741_824.0)
}

fn ms(count: f64) -> Seconds {
    Seconds::new(count * 1e-3)
}

/// Everything answered.
pub(super) fn explorer() -> App {
    answered(waiting())
}

fn answered(mut app: App) -> App {
    app.hear(Report::Evaluated { generation: FIRST, result: Ok(Arc::new(evaluation())) });
    let (width, all) = (app.map.width(), app.map.progress().1);
    app.hear(Report::Cells { generation: FIRST, cells: (0..all).map(|index| (index, cell(index, width))).collect() });
    app
}

/// The map with each cell's best batch, which is the one that all cells have.
pub(super) fn tuned() -> App {
    let mut app = explorer();
    let commands = app.update(Action::Tune);
    let [Command::Sweep { generation, .. }] = commands[..] else { panic!("{commands:?}") };
    let (width, all) = (app.map.width(), app.map.progress().1);
    app.hear(Report::Cells { generation, cells: (0..all).map(|index| (index, cell(index, width))).collect() });
    app
}

/// A comparison of so many scenarios, the pinned ones on fewer nodes, each with more exposed communication than the next.
pub(super) fn compared(count: u32) -> App {
    let mut app = explorer();
    for index in 1..count {
        let mut other = evaluation();
        let wait = ms(2000.0 / f64::from(index));
        let summary = &mut other.summary;
        summary.step_time += wait;
        summary.time.exposed += wait;
        summary.traffic[2] = Traffic { bytes_per_device: gib(40.0), busy: ms(2100.0), exposed: wait };
        let slower = ms(6840.0) / summary.step_time;
        summary.tokens_per_s_per_device *= slower;
        summary.model_flops = summary.model_flops * slower;
        summary.mfu *= slower;
        summary.memory.parts.weights = gib(19.1 / f64::from(index));
        summary.memory.peak = summary.memory.parts.total();
        let idle = Idle { rank: 0, cause: IdleCause::Communication, start: ms(6840.0), end: summary.step_time };
        other.trace.idle.push(idle);
        let mut scenario = app.scenario.clone();
        scenario.plan.sharding.weights = Extent::System;
        let name = if index == 1 { "zeropp".to_owned() } else { format!("wider {index}") };
        app.pins.add(name, scenario, Some(Arc::new(other)));
    }
    app.update(Action::View(View::Compare));
    app.update(Action::Last);
    app
}

/// The list of snapshots and sets.
pub(super) fn browsing(keys: &[Action]) -> App {
    let mut app = explorer();
    app.update(Action::Snapshots);
    let answer = app.answer.clone().unwrap();
    let held = |name: &str, what: &str| Held {
        name: name.to_owned(),
        what: format!("GPT-NeoX-20B, Frontier, {what}, 48 nodes"),
        version: "0.1.0".to_owned(),
        figures: Figures::of(&answer.scenario, &answer.evaluation),
    };
    let file = |name: &str, holds: Result<Vec<Held>, String>| Listed {
        path: format!("./{name}").into(),
        name: name.to_owned(),
        is_set: holds.as_ref().is_ok_and(|held| held.len() > 1),
        holds,
    };
    let wrong =
        "broken.toml:12:1: cluster.device.compute_units: must be above 0; export the snapshot again, or mend it";
    app.hear(Report::Listed(vec![
        file("gpt-neox-20b-mi250x-frontier-zero-topo-384.toml", Ok(vec![held("", "zero-topo")])),
        file("topo-against-zeropp.toml", Ok(vec![held("zeropp", "zeropp"), held("zero-topo", "zero-topo")])),
        file("broken.toml", Err(wrong.to_owned())),
    ]));
    for key in keys {
        app.update(*key);
    }
    app
}

/// What would help, invented: every fifth change gains, the more the later it was tried.
pub(super) fn advised() -> App {
    let mut app = explorer();
    app.update(Action::View(View::Advice));
    let figures = (0..=app.views.advice.tried()).map(|index| {
        let gain = if index % 5 == 4 { 0.01 * index as f64 } else { -0.2 };
        let summary = summary();
        Some(Summary { tokens_per_s_per_device: summary.tokens_per_s_per_device * (1.0 + gain), ..summary })
    });
    let figures = std::iter::once(Some(summary())).chain(figures.skip(1)).collect();
    app.hear(Report::Found { generation: FIRST, found: Found::Advice(figures) });
    app.update(Action::Down);
    app
}

/// The view of the hardware: throughput is the least of 60, 50 a memory and 40 a bandwidth.
pub(super) fn hardware() -> App {
    let mut app = explorer();
    app.update(Action::View(View::Hardware));
    let factor = |power: usize| [0.125_f64, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0][power];
    let cell = |index: usize| {
        let (bandwidth, memory) = (factor(index % 7), factor(6 - index / 7));
        let throughput = (50.0_f64 * memory).min(40.0 * bandwidth).min(60.0);
        let summary = Summary {
            model_flops: FlopPerSecond::new(throughput * 1e12),
            tokens_per_s_per_device: throughput,
            fits: memory > 0.2,
            ..summary()
        };
        (index, Cell::Possible { summary, choice: Tuned { micro_batch: 4, recompute: Recompute::None, accumulate: 2 } })
    };
    app.hear(Report::Found { generation: FIRST, found: Found::Hardware((0..49).map(cell).collect()) });
    app
}

/// The view of the strategies: throughput falls by 3 TFLOP/s a row, one does not fit, one is not possible.
pub(super) fn strategies() -> App {
    let mut app = explorer();
    app.update(Action::View(View::Strategies));
    let ids: Vec<String> = app.library.entries(Presets::Strategy).map(|entry| entry.id.clone()).collect();
    let row = |(index, id): (usize, String)| {
        let slower = 3.0 * index as f64;
        let mut summary = Summary { fits: index != 0, ..summary() };
        summary.model_flops = FlopPerSecond::new((57.1 - slower) * 1e12);
        summary.tokens_per_s_per_device *= 1.0 - slower / 57.1;
        summary.traffic[2] = Traffic { bytes_per_device: gib(slower), busy: ms(10.0 * slower), exposed: Seconds::ZERO };
        let problem = Problem {
            field: "plan.sharding.secondary".to_owned(),
            what: "inside 'node' tensor parallelism leaves one data x context rank of 64".to_owned(),
            mend: "choose another".to_owned(),
        };
        let outcome = if id == "zeropp" { Err(problem) } else { Ok(summary) };
        Row { id, outcome }
    };
    app.hear(Report::Found {
        generation: FIRST,
        found: Found::Strategies(ids.into_iter().enumerate().map(row).collect()),
    });
    app
}

/// The view of the traffic; the pinned scenario sends twelve times as much across nodes.
pub(super) fn traffic() -> App {
    let mut app = explorer();
    let Some(answer) = &app.answer else { return app };
    let mut other = Evaluation::clone(&answer.evaluation);
    let [_, _, system, ..] = &mut other.summary.traffic;
    *system = Traffic { bytes_per_device: gib(115.0), busy: ms(6200.0), exposed: ms(6090.0) };
    other.summary.time.exposed = ms(6500.0);
    other.summary.step_time = ms(13_340.0);
    app.pins.add("before".to_owned(), app.scenario.clone(), Some(Arc::new(other)));
    app.update(Action::View(View::Traffic));
    app
}

/// The same view of a plan whose state is on the host: 24 GiB of gradients go there, 48 GiB of weights come.
pub(super) fn copies() -> App {
    let mut app = explorer();
    let Some(answer) = &mut app.answer else { return app };
    let copies = |bytes, busy| Copies { bytes: gib(bytes), busy: ms(busy) };
    Arc::make_mut(&mut answer.evaluation).summary.host =
        HostTraffic { to: copies(24.0, 1031.0), from: copies(48.0, 2062.0), exposed: ms(0.0) };
    app.update(Action::View(View::Traffic));
    app
}

/// The view of the training time: from 64 devices on each method takes 20,000 device-days and some days for itself.
pub(super) fn training() -> App {
    let mut app = answered(App::new(start(PIPELINE)).0);
    app.update(Action::View(View::Training));
    let search = app.views.training.picture.as_ref().unwrap().search.clone();
    for index in 0..search.len() {
        let (method, devices) = (index / search.budgets.len(), search.budgets[index % search.budgets.len()]);
        let pipeline = if METHODS[method].dealings.contains(&Dealing::None) { 1 } else { 8 };
        let data = devices / 8 / pipeline;
        let choice = Choice {
            devices,
            tensor: 8,
            pipeline,
            data,
            micro_batch: 1,
            accumulate: 12,
            offload: Offload::None,
            dealing: 0,
            strategy: 0,
        };
        let days = 20_000.0 / f64::from(devices) + [24.0, 15.0, 12.0, 9.0, 3.0][method];
        let best = (data > 0).then(|| Best { days, choice, summary: summary() });
        let answer = Box::new(search::training::Answer { best, plans: 100, simulated: 5 });
        app.hear(Report::Found { generation: FIRST, found: Found::Training(index, answer) });
    }
    app
}

/// A pipeline on a network of so many times the bandwidth.
pub(super) fn network(factor: f64) -> App {
    answered(App::new(start(&format!("{PIPELINE}\nbandwidth_factor = {factor}\n"))).0)
}

/// The view of the plan: up to half of the memory everything is sharded, from there on more and more layers are not.
pub(super) fn planned() -> App {
    let mut app = explorer();
    app.update(Action::View(View::Plan));
    let ladder = Arc::clone(&app.views.planning.picture.as_ref().unwrap().ladder);
    for (place, limit) in ladder.limits.iter().enumerate().skip(1) {
        let whole = (44.0 * (limit - 0.5).max(0.0)).round() as u32;
        let flops = |share: f64| Summary {
            model_flops: FlopPerSecond::new(57.1e12 * share),
            tokens_per_s_per_device: summary().tokens_per_s_per_device * share,
            ..summary()
        };
        let mut planned = Planned { searched: 1000, two_way: Some(flops(0.5 + limit / 4.0)), ..Planned::default() };
        planned.fsdp = (*limit > 0.2).then(|| flops(0.5));
        planned.uniform = vec![
            Uniform { extents: extents(["package", "node", "system"]), best: planned.fsdp.map(|_| flops(0.55)) },
            Uniform { extents: extents(["system"; 3]), best: planned.fsdp },
            Uniform { extents: extents(["device"; 3]), best: None },
        ];
        let mut best = flops(0.5 + limit / 2.0);
        best.memory.capacity = gib(64.0 * limit);
        let placement = |layers: (u32, u32), operator, extents, split| Placement {
            layers: Some(Layers { first: layers.0, last: layers.1 }),
            operator,
            extents,
            split,
        };
        let (narrow, wide) = (extents(["package", "node", "system"]), extents(["system"; 3]));
        let mut operators = vec![placement((whole, 43), Operator::Mlp, wide.clone(), 4)];
        if whole > 0 {
            operators.insert(0, placement((0, whole - 1), Operator::Layer, narrow, 1));
        }
        operators.insert(0, placement((whole, 43), Operator::Attention, wide.clone(), 1));
        operators.push(Placement { layers: None, operator: Operator::Embedding, extents: wide.clone(), split: 1 });
        operators.push(Placement { layers: None, operator: Operator::Head, extents: wide, split: 1 });
        let spends = Why { traffic_saved: gib(12.0), time_saved: ms(310.0), memory_spent: gib(4.8) };
        let why = operators.iter().map(|one| if one.layers.is_some() { spends } else { Why::default() }).collect();
        planned.plans =
            vec![PlanFound { scenario: app.scenario.clone(), summary: best, paper_s: None, operators, why }];
        app.hear(Report::Found { generation: FIRST, found: Found::Plan(place, Box::new(planned)) });
    }
    app
}

/// The view of the evidence: forty invented runs from 0.3 s to 60 s, every fifth of them off by more than 10 %.
pub(super) fn evidence() -> App {
    let mut app = explorer();
    app.update(Action::View(View::Evidence));
    let hardware = ["a100-80gb-dgx", "h100-80gb-dgx"];
    let class = ["full_shard", "3d", "hsdp"];
    let residual = |index: usize| {
        let measured = 0.3 * libm::pow(200.0, index as f64 / 39.0);
        let error = if index.is_multiple_of(5) { 0.18 } else { 0.02 * (index % 5) as f64 - 0.05 };
        Residual {
            id: format!("run-{index}"),
            group: format!("group-{}", index / 2),
            stack: "default".to_owned(),
            hardware: hardware[index % 2].to_owned(),
            class: class[index % 3].to_owned(),
            across: index % 2 == 1,
            choice: String::new(),
            metric: Metric::StepTime,
            reading: None,
            predicted: measured * (1.0 + error),
            measured,
            null: 0.2,
        }
    };
    let residuals: Vec<Residual> = (0..40).map(residual).collect();
    let run = |one: &Residual| {
        let run = Run {
            scenario: app.scenario.clone(),
            summary: summary(),
            source: "a report (arXiv 0000.00000), table 1".to_owned(),
            assumed: vec!["vocab 50257".to_owned(), "precision bf16".to_owned()],
        };
        (one.id.clone(), run)
    };
    let runs = residuals.iter().map(run).collect();
    let validation = Validation { residuals, ..validate(&[], |_| Vec::new()) };
    app.hear(Report::Found { generation: FIRST, found: Found::Evidence(Box::new(Picture { validation, runs })) });
    app
}

fn extents(names: [&str; 3]) -> Extents {
    let [weights, gradients, optimizer] = names.map(|name| Some(name.parse().unwrap()));
    Extents { weights, gradients, optimizer }
}

/// A pipeline of four ranks, everything answered but the map.
pub(super) fn pipeline() -> App {
    let (mut app, _) = App::new(start(PIPELINE));
    let (mut summary, mut trace) = (summary(), Trace::default());
    (0..RANKS).for_each(|rank| all_forward_then_all_backward(&mut trace, rank));
    summary.step_time = ms(2700.0);
    summary.time.bubble = ms(900.0);
    let stage = |rank: u32| {
        let mut memory = summary.memory;
        memory.parts.activations = gib(9.7 + f64::from(RANKS - rank));
        Memory { peak: memory.parts.total(), ..memory }
    };
    let stages: Vec<Memory> = (0..RANKS).map(stage).collect();
    summary.memory = stages[0];
    let evaluation = Evaluation { summary, stages, trace: trace.in_order(), elasticity: Vec::new(), error_band: None };
    app.hear(Report::Evaluated { generation: FIRST, result: Ok(Arc::new(evaluation)) });
    app
}

const PIPELINE: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "ideal"
model = "gpt3-175b"
strategy = "fsdp"
[plan]
nodes = 64
tensor = 8
pipeline = 4
schedule = "gpipe"
accumulate = 6
recompute = "full"
"#;

const RANKS: u32 = 4;

/// Six micro-batches, 100 ms forward and 200 ms backward on each rank, half of it for each of two layers: forward ends
/// after 6 + 3 slots at 900 ms, backward after as many at 2700 ms.
fn all_forward_then_all_backward(trace: &mut Trace, rank: u32) {
    let (turns, last) = (6, RANKS - 1);
    let at = |slots: u32, slot: f64| f64::from(slots) * slot;
    for (kind, slot, first, delay) in [(Kind::Forward, 100.0, 0.0, rank), (Kind::Backward, 200.0, 900.0, last - rank)] {
        for micro_batch in 0..turns {
            let start = first + at(micro_batch + delay, slot);
            for half in [0, 1] {
                let layer = if kind == Kind::Forward { 2 * rank + half } else { 2 * rank + 1 - half };
                let from = start + at(half, slot / 2.0);
                trace.spans.push(Span {
                    rank,
                    lane: Lane::Compute,
                    activity: Activity { kind, part: Part::Layer, layer, micro_batch },
                    start: ms(from),
                    end: ms(from + slot / 2.0),
                    alone: ms(slot / 2.0),
                    bytes: Bytes::ZERO,
                    level: None,
                    exposed: false,
                });
            }
            let in_use = gib(30.0 + at(micro_batch, if kind == Kind::Forward { 1.0 } else { -1.0 }));
            trace.memory.push(MemoryPoint { rank, at: ms(start), in_use });
        }
    }
    let ends = [(0.0, at(rank, 100.0)), (at(turns + rank, 100.0), 900.0 + at(last - rank, 200.0))];
    let end = (900.0 + at(turns + last - rank, 200.0), 2700.0);
    let bubbles = ends.into_iter().chain([end]).filter(|(from, to)| from < to);
    trace.idle.extend(bubbles.map(|(from, to)| Idle { rank, cause: IdleCause::Bubble, start: ms(from), end: ms(to) }));
}

/// Nothing answered yet.
pub(super) fn waiting() -> App {
    App::new(start(&format!("{FRONTIER}tokens = 300e9"))).0
}

/// Faster on fewer nodes and over narrower extents; too big or impossible in the corner.
fn cell(index: usize, width: usize) -> Cell {
    let (x, y) = (index % width, index / width);
    if y > 2 && x + 2 < y {
        let problem = Problem {
            field: "plan.sharding.weights".to_owned(),
            what: "groups of 16 do not fill the 8 data x context ranks".to_owned(),
            mend: "choose a count that divides 8".to_owned(),
        };
        return Cell::Impossible(problem);
    }
    let mut summary = summary();
    summary.model_flops = FlopPerSecond::new((66 - x - 4 * y) as f64 * 1e12);
    summary.fits = y > 0 && x + y > 2;
    if !summary.fits {
        summary.memory.peak = gib(71.3);
    }
    Cell::Possible { summary, choice: Tuned { micro_batch: 1, recompute: Recompute::Full, accumulate: 8 } }
}

fn summary() -> Summary {
    let parts = MemoryParts {
        weights: gib(19.1),
        gradients: gib(4.8),
        optimizer: gib(0.6),
        activations: gib(9.7),
        gathered: gib(3.4),
        reserved: gib(3.6),
        ..MemoryParts::default()
    };
    let mut traffic = [Traffic::default(); MAX_LEVELS];
    traffic[0] = Traffic { bytes_per_device: gib(98.0), busy: ms(710.0), exposed: ms(150.0) };
    traffic[1] = Traffic { bytes_per_device: gib(12.5), busy: ms(380.0), exposed: ms(260.0) };
    Summary {
        fits: true,
        devices: 384,
        // 384 devices x 8 micro-batches x 2048 tokens.
        tokens_per_step: 6_291_456.0,
        step_time: ms(6840.0),
        tokens_per_s_per_device: 6_291_456.0 / 6.84 / 384.0,
        model_flops: FlopPerSecond::new(57.1e12),
        hardware_flops: FlopPerSecond::new(74.2e12),
        limit: FlopPerSecond::new(114.2e12),
        mfu: 0.298,
        hfu: 0.387,
        time: TimeParts {
            compute: ms(5900.0),
            communication: ms(3200.0),
            exposed: ms(410.0),
            bubble: Seconds::ZERO,
            optimizer: ms(120.0),
            other: ms(410.0),
        },
        phases: Phases { forward: ms(2100.0), backward: ms(4520.0), update: ms(220.0) },
        memory: Memory {
            capacity: gib(64.0),
            peak: parts.total(),
            parts,
            moment: ms(4100.0),
            during: activity(Kind::Backward, 43),
        },
        first_peak: parts.total(),
        traffic,
        host: HostTraffic::default(),
        bottleneck: Resource::Level(1),
    }
}

fn activity(kind: Kind, layer: u32) -> Activity {
    Activity { kind, part: Part::Layer, layer, micro_batch: 0 }
}

fn evaluation() -> Evaluation {
    let felt = |resource: &str, value| Elasticity { resource: resource.to_owned(), value };
    Evaluation {
        summary: summary(),
        stages: vec![summary().memory],
        trace: trace(),
        elasticity: vec![felt("node.bandwidth", 0.55), felt("peak_flop", 0.32), felt("system.latency", -0.02)],
        error_band: Some(ErrorBand { low: ms(6500.0), high: ms(7200.0), rows: 12 }),
    }
}

/// Forty layers of 171 ms; the gather of the next layer is 60 ms too late.
fn trace() -> Trace {
    let mut trace = Trace::default();
    for layer in 0..40_u32 {
        let start = 171.0 * f64::from(layer);
        let span = |lane, kind, from: f64, to: f64, bytes, exposed| Span {
            rank: 0,
            lane,
            activity: activity(kind, layer),
            start: ms(start + from),
            end: ms(start + to),
            alone: ms(to - from),
            bytes,
            level: (bytes > Bytes::ZERO).then_some(0),
            exposed,
        };
        trace.spans.push(span(Lane::Gather, Kind::AllGather, 0.0, 60.0, gib(0.9), true));
        trace.spans.push(span(Lane::Compute, Kind::Forward, 60.0, 171.0, Bytes::ZERO, false));
        let wait = Idle { rank: 0, cause: IdleCause::Communication, start: ms(start), end: ms(start + 60.0) };
        trace.idle.push(wait);
        let in_use = gib(30.0 + 11.2 * f64::from(layer) / 39.0);
        trace.memory.push(MemoryPoint { rank: 0, at: ms(start), in_use });
    }
    trace.in_order()
}

/// The form of the cluster with a value changed, one that cannot be, and one being typed.
pub(super) fn edited() -> App {
    let mut app = explorer();
    let type_in = |app: &mut App, text: &str| {
        app.update(Action::Take);
        text.chars().for_each(|letter| drop(app.update(Action::Type(tui_input::InputRequest::InsertChar(letter)))));
    };
    app.update(Action::Panel(Panel::Inputs));
    app.update(Action::Adapt);
    (0..3).for_each(|_| drop(app.update(Action::Down)));
    type_in(&mut app, "2.50 EUR");
    app.update(Action::Take);
    app.update(Action::Down);
    type_in(&mut app, "-700");
    app.update(Action::Take);
    app
}
