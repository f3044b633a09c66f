//! An explorer with invented figures, so that a screen shows the drawing and nothing of the engine.

mod views;

use std::sync::Arc;

use crate::app::action::{Action, Command, Facet, JobReport};
use crate::app::answers::work::{Found, SoFar};
use crate::app::tests::{FRONTIER, question, start};
use crate::app::{App, Panel};
use shardscope_engine::bounds::intensity::LinkNeeds;
use shardscope_engine::evaluate::{
    Activity, Copies, Details, Elasticity, ErrorBand, Evaluation, HostMemory, HostTraffic, IdleCause, Memory,
    MemoryParts, MemoryPoint, ModelPart, Phases, Property, Resource, Span, Stall, StateBytes, Stream, Summary,
    TaskKind, TimeParts, Trace, Traffic, Workspace,
};
use shardscope_engine::hardware::MAX_LEVELS;
use shardscope_engine::plan::{Extent, Extents, Layers, Offload, Operator, Placement, Recompute, Size};
use shardscope_engine::presets::Kind as Presets;
use shardscope_engine::program::PerMemoryKind;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::planner::{FoundPlan, PlacementGain, PlanAnswer, Uniform};
use shardscope_engine::search::plans::{EvaluatedPlan, PlanCounts, PlanSearchAnswer};
use shardscope_engine::search::training::{BestTraining, METHODS, StageAssignment, TrainingChoice};
use shardscope_engine::search::{self, Cell, StrategyOutcome as Row, Tuned};
use shardscope_engine::units::{Bytes, Count, FlopPerSecond, Seconds};
use shardscope_evidence::measured::runs::{ComparedRuns, PublishedRun};
use shardscope_evidence::measured::{Metric, Residual, Validation, validate};
use shardscope_report::figures::Figures;
use shardscope_report::snapshot::{HeldSnapshot, Listed};

pub(super) use views::{
    advised, best, best_by_operator, compared, copies, evidence, hardware, lengths, measured, out_of_memory, planned,
    strategies, strategies_in_fp8, traffic, training,
};

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
    let mut evaluation = evaluation();
    evaluation.details = Details { slowed: evaluation.trace.slowed(), ..details(&app.scenario) };
    // The invented figures are of Frontier; elsewhere other levels have these names.
    let [node, system] = ["node", "system"].map(|name| app.scenario.cluster.level(name).unwrap());
    evaluation.summary.bottleneck = Resource::Level(node);
    evaluation.elasticity[0].property = Property::LevelBandwidth(node);
    evaluation.elasticity[2].property = Property::LevelLatency(system);
    app.receive(JobReport::Evaluated { generation: FIRST, result: Ok(Arc::new(evaluation)) });
    let (width, all) = (app.views.map.width(), app.views.map.progress().1);
    app.receive(JobReport::Cells {
        generation: FIRST,
        cells: (0..all).map(|index| (index, cell(index, width))).collect(),
    });
    app
}

/// The map with each cell's best batch, which is the one that all cells have.
pub(super) fn tuned() -> App {
    let mut app = explorer();
    let commands = app.update(Action::Tune);
    let [Command::Sweep { generation, .. }] = commands[..] else { panic!("{commands:?}") };
    let (width, all) = (app.views.map.width(), app.views.map.progress().1);
    app.receive(JobReport::Cells { generation, cells: (0..all).map(|index| (index, cell(index, width))).collect() });
    app
}

/// The list of snapshots and sets.
pub(super) fn browsing(keys: &[Action]) -> App {
    let mut app = explorer();
    app.update(Action::Snapshots);
    let answer = app.answer.clone().unwrap();
    let held = |name: &str, what: &str| HeldSnapshot {
        name: name.to_owned(),
        what: format!("GPT-NeoX-20B, Frontier, {what}, 48 nodes"),
        version: "0.1.0".to_owned(),
        figures: Some(Figures::new(&answer.scenario, &answer.evaluation)),
    };
    let file = |name: &str, holds: Result<Vec<HeldSnapshot>, String>| Listed {
        path: format!("./{name}").into(),
        name: name.to_owned(),
        is_set: holds.as_ref().is_ok_and(|held| held.len() > 1),
        holds,
    };
    let wrong = "broken.toml:12:1: cluster.device.compute_units: must be above 0; export the snapshot again, or fix it";
    app.receive(JobReport::Listed(vec![
        file("gpt-neox-20b-mi250x-frontier-zero-topo-384.toml", Ok(vec![held("", "zero-topo")])),
        file("topo-against-zeropp.toml", Ok(vec![held("zeropp", "zeropp"), held("zero-topo", "zero-topo")])),
        file("broken.toml", Err(wrong.to_owned())),
    ]));
    for key in keys {
        app.update(*key);
    }
    app
}

/// A pipeline on a network of so many times the bandwidth.
pub(super) fn network(factor: f64) -> App {
    answered(App::new(start(&format!("{PIPELINE}\nbandwidth_factor = {factor}\n"))).0)
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
    let trace = trace.in_order();
    summary.last_rank = trace.last_rank();
    let details = Details { slowed: trace.slowed(), ..details(&app.scenario) };
    let evaluation = Evaluation {
        summary,
        stages,
        trace,
        elasticity: Vec::new(),
        setbacks: Vec::new(),
        error_band: None,
        details,
        ahead: None,
    };
    app.receive(JobReport::Evaluated { generation: FIRST, result: Ok(Arc::new(evaluation)) });
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
    for (kind, slot, first, delay) in
        [(TaskKind::Forward, 100.0, 0.0, rank), (TaskKind::Backward, 200.0, 900.0, last - rank)]
    {
        for micro_batch in 0..turns {
            let start = first + at(micro_batch + delay, slot);
            for half in [0, 1] {
                let layer = if kind == TaskKind::Forward { 2 * rank + half } else { 2 * rank + 1 - half };
                let from = start + at(half, slot / 2.0);
                trace.spans.push(Span {
                    rank,
                    lane: Stream::Compute,
                    activity: Activity { kind, part: ModelPart::Layer, layer, micro_batch },
                    start: ms(from),
                    end: ms(from + slot / 2.0),
                    alone: ms(slot / 2.0),
                    bytes: Bytes::ZERO,
                    level: None,
                    exposed: false,
                });
            }
            let in_use = gib(30.0 + at(micro_batch, if kind == TaskKind::Forward { 1.0 } else { -1.0 }));
            trace.memory.push(MemoryPoint { rank, at: ms(start), in_use, allocated: PerMemoryKind::default() });
        }
    }
    let ends = [(0.0, at(rank, 100.0)), (at(turns + rank, 100.0), 900.0 + at(last - rank, 200.0))];
    let end = (900.0 + at(turns + last - rank, 200.0), 2700.0);
    let bubbles = ends.into_iter().chain([end]).filter(|(from, to)| from < to);
    trace.idle.extend(bubbles.map(|(from, to)| Stall { rank, cause: IdleCause::Bubble, start: ms(from), end: ms(to) }));
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
            fix: "choose a count that divides 8".to_owned(),
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
        last_rank: 0,
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
            dispatch: Seconds::ZERO,
            bubble: Seconds::ZERO,
            optimizer: ms(120.0),
            other: ms(410.0),
        },
        phases: Phases { forward: ms(2100.0), backward: ms(4520.0), update: ms(220.0), beside: ms(0.0) },
        memory: Memory {
            capacity: gib(64.0),
            peak: parts.total(),
            parts,
            experts: StateBytes::default(),
            pages: Bytes::ZERO,
            moved_pages: Bytes::ZERO,
            moment: ms(4100.0),
            during: activity(TaskKind::Backward, 43),
        },
        first_peak: parts.total(),
        traffic,
        host: HostTraffic::default(),
        host_memory: HostMemory::default(),
        updated_on_host: Count::ZERO,
        bottleneck: Resource::Level(1),
    }
}

fn activity(kind: TaskKind, layer: u32) -> Activity {
    Activity { kind, part: ModelPart::Layer, layer, micro_batch: 0 }
}

/// What the scenario alone settles is not invented.
fn details(scenario: &Scenario) -> Details {
    search::once(scenario, &mut Workspace::default()).unwrap().details
}

fn evaluation() -> Evaluation {
    let felt = |property, value, gain| Elasticity { property, value, gain };
    Evaluation {
        summary: summary(),
        stages: vec![summary().memory],
        trace: trace(),
        elasticity: vec![
            felt(Property::LevelBandwidth(1), 0.55, 0.054),
            felt(Property::PeakFlop, 0.32, 0.031),
            felt(Property::LevelLatency(2), -0.02, 0.002),
        ],
        setbacks: Vec::new(),
        error_band: Some(ErrorBand { low: ms(6500.0), high: ms(7200.0), rows: 12, own: 0 }),
        details: Details::default(),
        ahead: None,
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
        trace.spans.push(span(Stream::Gather, TaskKind::AllGather, 0.0, 60.0, gib(0.9), true));
        trace.spans.push(span(Stream::Compute, TaskKind::Forward, 60.0, 171.0, Bytes::ZERO, false));
        let wait = Stall { rank: 0, cause: IdleCause::Communication, start: ms(start), end: ms(start + 60.0) };
        trace.idle.push(wait);
        let in_use = gib(30.0 + 11.2 * f64::from(layer) / 39.0);
        trace.memory.push(MemoryPoint { rank: 0, at: ms(start), in_use, allocated: PerMemoryKind::default() });
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
    (0..4).for_each(|_| drop(app.update(Action::Down)));
    type_in(&mut app, "2.50 EUR");
    app.update(Action::Take);
    app.update(Action::Down);
    type_in(&mut app, "-700");
    app.update(Action::Take);
    app
}
