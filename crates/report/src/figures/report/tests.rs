//! What is printed of an evaluation and of a map, over figures that are put together by hand.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::figures::figure::Figure;
use shardscope_engine::bounds::intensity;
use shardscope_engine::evaluate::{
    Activity, Copies, Details, Elasticity, ErrorBand, Evaluation, HostMemory, HostTraffic, Memory, MemoryParts, Phases,
    Property, Resource, StateBytes, Summary, TaskKind, TimeParts, Trace, Traffic,
};
use shardscope_engine::plan::{Accumulation, Offload, Schedule};
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{Axis, Cell, Sweep, Tuned};
use shardscope_engine::units::{Bytes, Count, FlopPerSecond, Seconds};

use super::*;

pub(crate) fn scenario() -> Scenario {
    let library = shardscope_presets::library();
    let ids = "cluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n";
    let text = format!("format = 1\n{ids}[plan]\nnodes = 8\nmicro_batch = 4\ntokens = 300e9\n");
    library.resolve(&shardscope_engine::scenario::file::parse(&text).expect("valid")).expect("scenario")
}

/// A step of half a second in which nothing is round: three parts of a third of a byte over whole ones.
pub(crate) fn evaluation(scenario: &Scenario) -> Evaluation {
    let third = 1.0 / 3.0;
    let parts = MemoryParts {
        weights: Bytes::new(2e9 + third),
        gradients: Bytes::new(1e9 + third),
        optimizer: Bytes::new(3e9 + third),
        activations: Bytes::new(30e9),
        ..MemoryParts::default()
    };
    let during = Activity { kind: TaskKind::Backward, layer: 31, ..Activity::default() };
    let memory = Memory {
        capacity: Bytes::new(80e9),
        peak: parts.total(),
        parts,
        experts: StateBytes::default(),
        pages: Bytes::ZERO,
        moved_pages: Bytes::ZERO,
        moment: Seconds::new(0.2),
        during,
    };
    let time = TimeParts {
        compute: Seconds::new(0.4),
        communication: Seconds::new(0.3),
        exposed: Seconds::new(0.08),
        dispatch: Seconds::ZERO,
        bubble: Seconds::ZERO,
        optimizer: Seconds::new(0.015),
        other: Seconds::new(0.005),
    };
    // 64 devices x 4 sequences of 2048 tokens in 0.5 s: 16,384 tokens per second and device.
    let summary = Summary {
        fits: true,
        devices: scenario.devices(),
        tokens_per_step: 524_288.0,
        step_time: Seconds::new(0.5),
        last_rank: 0,
        tokens_per_s_per_device: 16_384.0,
        model_flops: FlopPerSecond::new(571e12),
        hardware_flops: FlopPerSecond::new(600e12),
        limit: FlopPerSecond::new(1142e12),
        mfu: 0.5,
        hfu: f64::INFINITY,
        time,
        phases: Phases {
            forward: Seconds::new(0.16),
            backward: Seconds::new(0.32),
            update: Seconds::new(0.02),
            beside: Seconds::ZERO,
        },
        memory,
        first_peak: memory.peak,
        traffic: std::array::from_fn(|level| Traffic {
            exposed: Seconds::new(if level == 0 { 0.08 } else { 0.0 }),
            ..Traffic::default()
        }),
        host: HostTraffic::default(),
        host_memory: HostMemory::default(),
        updated_on_host: Count::ZERO,
        bottleneck: Resource::Level(0),
    };
    let elasticity = |property, value, gain| Elasticity { property, value, gain };
    let elasticity =
        vec![elasticity(Property::LevelBandwidth(0), 0.32, 0.031), elasticity(Property::LevelLatency(0), -0.01, 0.001)];
    let checked = scenario.checked().expect("a valid scenario");
    let details =
        Details { layout: *checked.layout(), transfers: intensity::transfers(&checked), ..Details::default() };
    Evaluation {
        summary,
        stages: vec![summary.memory],
        trace: Trace::default(),
        elasticity,
        setbacks: Vec::new(),
        error_band: None,
        details,
        ahead: None,
    }
}

fn json_of(scenario: &Scenario, evaluation: &Evaluation) -> Value {
    serde_json::from_str(&EvaluationReport::new(scenario, evaluation, None).to_json()).expect("JSON")
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().expect("object").keys().map(String::as_str).collect()
}

#[test]
fn json_has_the_keys_of_the_contract_in_their_order() {
    let scenario = scenario();
    let json = json_of(&scenario, &evaluation(&scenario));
    let top = [
        "format",
        "scenario",
        "fits",
        "step_time_s",
        "tokens_per_s_per_device",
        "tokens_per_s",
        "parameters",
        "batch",
        "model_tflops_per_device",
        "hardware_tflops_per_device",
        "mfu",
        "hfu",
        "error_band",
        "time",
        "phases",
        "memory",
        "traffic",
        "bottleneck",
        "training",
        "caveats",
        "unknown",
        "intensities",
    ];
    assert_eq!(keys(&json), top);
    assert_eq!(json["error_band"], Value::Null, "no measured row stands behind it");
    let time = ["compute_s", "communication_s", "exposed_communication_s", "bubble_s", "optimizer_s", "other_s"];
    assert_eq!(keys(&json["time"]), [&time[..], &["slowed_s", "dispatch_exposed_s"]].concat());
    assert_eq!(keys(&json["memory"]), ["capacity_bytes", "peak_bytes", "spare_bytes", "p_fits", "parts", "stages"]);
    let parts = [
        "weights",
        "gradients",
        "optimizer",
        "secondary_weights",
        "activations",
        "gathered",
        "communication",
        "reserved",
    ];
    assert_eq!(keys(&json["memory"]["parts"]), parts);
    assert_eq!(keys(&json["traffic"][0]), ["level", "bytes_per_device", "busy_s"]);
    assert_eq!(keys(&json["bottleneck"]), ["resource", "elasticity"]);
}

#[test]
fn json_says_what_the_evaluation_says() {
    let scenario = scenario();
    let json = json_of(&scenario, &evaluation(&scenario));
    assert_eq!(json["format"], 1);
    assert_eq!(json["scenario"]["model"], "mpt-7b");
    assert_eq!(json["scenario"]["plan"]["nodes"], 8);
    assert_eq!(json["model_tflops_per_device"], 571.0);
    assert_eq!(json["hfu"], Value::Null, "what is not finite is null");
    assert_eq!(json["error_band"], Value::Null);
    assert_eq!(json["bottleneck"]["resource"], "node");
    assert_eq!(json["bottleneck"]["elasticity"]["node.bandwidth"], 0.32);
    // 300e9 tokens / (64 x 16,384 tokens/s) / 86,400 s = 3.3114 days; x 64 devices x 24 h = 5,086.3 h.
    assert!((json["training"]["days"].as_f64().expect("days") - 3.3114).abs() < 1e-4);
    assert!((json["training"]["device_hours"].as_f64().expect("hours") - 5086.3).abs() < 0.1);
}

#[test]
fn a_price_and_a_power_make_money_and_energy() {
    let mut scenario = scenario();
    Arc::make_mut(&mut scenario.cluster).watts_per_device = None;
    let evaluation = evaluation(&scenario);
    let plain = json_of(&scenario, &evaluation);
    let with_failures = ["goodput", "days_with_failures", "cost_with_failures", "energy_with_failures_j", "checkpoint"];
    let training = [&["tokens", "days", "device_hours", "cost", "currency", "energy_j"][..], &with_failures].concat();
    assert_eq!(keys(&plain["training"]), training);
    assert!(plain["training"]["cost"].is_null() && plain["training"]["energy_j"].is_null(), "no price, no cost");
    let cluster = Arc::make_mut(&mut scenario.cluster);
    cluster.price_per_device_hour = "2 USD".parse().ok();
    cluster.watts_per_device = "1 kW".parse().ok();
    let training = &json_of(&scenario, &evaluation)["training"];
    // 5,086.3 device-hours, see above: at 2 USD 10,172.5 USD (5,086.263 x 2), at 1 kW 5,086.3 kWh.
    assert!((training["cost"].as_f64().expect("cost") - 10_172.5).abs() < 0.1, "{training}");
    assert_eq!(training["currency"], "USD");
    assert!((training["energy_kwh"].as_f64().expect("energy") - 5086.3).abs() < 0.1, "{training}");
    // 5,086.263 kWh x 3.6e6 J.
    assert!((training["energy_j"].as_f64().expect("energy") / 1.831_054_7e10 - 1.0).abs() < 1e-6, "{training}");
    // The scenario's own price stands before the cluster's: 5,086.263 x 3 EUR.
    scenario.plan.price = "3 EUR".parse().ok();
    let own = &json_of(&scenario, &evaluation)["training"];
    assert!((own["cost"].as_f64().expect("cost") - 15_258.8).abs() < 0.1 && own["currency"] == "EUR", "{own}");
    scenario.plan.price = None;
    let text = text(&scenario, &evaluation, None);
    // To two digits, since no measured run is like it.
    assert!(text.contains("10,000 USD, 2.00 USD a device-hour\n"), "{text}");
    assert!(text.contains("5.1 MWh, 1.00 kW a device\n"), "{text}");
}

#[test]
fn what_crosses_the_host_link_is_listed_each_way() {
    let scenario = scenario();
    let mut evaluation = evaluation(&scenario);
    assert_eq!(json_of(&scenario, &evaluation)["host_link"], Value::Null, "nothing does");
    let copies = |gib: f64, busy| Copies { bytes: gib * Bytes::GIB, busy: Seconds::new(busy) };
    evaluation.summary.host =
        HostTraffic { to: copies(1.0, 0.04), from: copies(2.0, 0.08), exposed: Seconds::new(0.01) };
    let link = json!({
        "to_host": { "bytes_per_device": 1_073_741_824, "busy_s": 0.04 },
        "from_host": { "bytes_per_device": 2_147_483_648_u64, "busy_s": 0.08 },
    });
    assert_eq!(json_of(&scenario, &evaluation)["host_link"], link);
    let text = text(&scenario, &evaluation, None);
    assert!(
        text.contains("\n  to host      1.00 GiB, busy 40.0 ms\n  from host    2.00 GiB, busy 80.0 ms\n"),
        "{text}"
    );
    assert!(text.contains("of it, waits for copies to and from the host"), "{text}");
}

#[test]
fn whole_bytes_sum_to_the_whole_peak() {
    let scenario = scenario();
    let json = json_of(&scenario, &evaluation(&scenario));
    let parts = json["memory"]["parts"].as_object().expect("parts");
    // Three thirds make a byte that no part has alone: it goes to the largest, the activations.
    assert_eq!(json["memory"]["peak_bytes"], 36_000_000_001_u64);
    assert_eq!(parts["activations"], 30_000_000_001_u64);
    assert_eq!(parts.values().filter_map(Value::as_u64).sum::<u64>(), 36_000_000_001);
    assert_eq!(json["memory"]["stages"], json!([{ "stage": 0, "peak_bytes": 36_000_000_001_u64, "parts": parts }]));
}

/// Layer by layer a pipeline is breadth first, and one stage per rank is not interleaved, whatever was chosen.
#[test]
fn the_text_says_what_is_run() {
    let mut scenario = scenario();
    let plan = &mut scenario.plan;
    (plan.pipeline, plan.tensor, plan.accumulate, plan.schedule) = (2, 2, 4, Schedule::Interleaved);
    let line = |scenario: &Scenario| {
        let text = text(scenario, &evaluation(scenario), None);
        text.lines().find(|line| line.starts_with("a step: ")).expect("a line").to_owned()
    };
    let tokens = scenario.plan.sequence;
    assert!(line(&scenario).contains("; tp 2; pp 2 1f1b; recompute none"), "{}", line(&scenario));
    scenario.plan.accumulation = Accumulation::Layered;
    scenario.plan.stages_per_rank = 4;
    let step = line(&scenario).replace(',', "");
    assert!(step.starts_with(&format!("a step: 4 micro-batches of 4 x {tokens} tokens layer by layer")), "{step}");
    assert!(step.contains("; pp 2 breadth-first 4 stages a rank"), "{step}");
    scenario.plan.stages_per_rank = 1;
    assert!(line(&scenario).contains("; pp 2 breadth-first, 1 stage a rank"), "{}", line(&scenario));
}

#[test]
fn a_band_has_its_rows() {
    let scenario = scenario();
    let mut evaluation = evaluation(&scenario);
    evaluation.error_band = Some(ErrorBand { low: Seconds::new(0.45), high: Seconds::new(0.6), rows: 12, own: 0 });
    let json = json_of(&scenario, &evaluation);
    assert_eq!(json["error_band"], json!({ "low": 0.45, "high": 0.6, "rows": 12, "own": 0, "lacks": ["release"] }));
    let text = text(&scenario, &evaluation, None);
    assert!(text.contains("model flop per second and device     571 TFLOP/s, 50.0 % MFU"), "{text}");
    // 571 TFLOP/s x 0.5 s / 0.6 s = 476, and over 0.45 s 634.
    assert!(text.contains("  450 ms to 600 ms, 476 TFLOP/s to 634 TFLOP/s per device\n"), "{text}");
}

#[test]
fn toml_leaves_out_what_is_not_finite() {
    let scenario = scenario();
    let evaluation = evaluation(&scenario);
    let text = EvaluationReport::new(&scenario, &evaluation, None).to_toml().expect("text");
    let table: toml::Table = toml::from_str(&text).expect("TOML");
    assert!(!table.contains_key("hfu"));
    assert_eq!(table["step_time_s"].as_float(), Some(0.5));
    assert_eq!(table["memory"]["peak_bytes"].as_integer(), Some(36_000_000_001));
    assert_eq!(table["scenario"]["plan"]["micro_batch"].as_integer(), Some(4));
}

#[test]
fn the_text_begins_with_the_verdict() {
    let scenario = scenario();
    let mut evaluation = evaluation(&scenario);
    let report = text(&scenario, &evaluation, None);
    insta::assert_snapshot!(report);
    // 36 of 36 GB is above 92 %; 36 of 30 GB is 6 GB too many, 5.59 GiB. The calibration's peaks hold within e^0.0814 - 1,
    // 8.48 % of 33.5 GiB. What fills all of the memory fits in half of the cases; ln(30/36) = -0.182 is 2.87 standard
    // deviations of 0.0814 / 1.2816 = 0.0635 below the middle, which 0.2 % are, or 0 in whole ones.
    let sure = |chance: &str| format!("(80 % interval +-2.84 GiB, P(fits) {chance})");
    evaluation.summary.memory.capacity = evaluation.summary.memory.peak;
    let tight = format!("\nfits, tight: 33.5 GiB of 33.5 GiB, 100 %, 0 B spare {}\n", sure("50 %"));
    assert!(text(&scenario, &evaluation, None).contains(&tight));
    evaluation.summary.memory.capacity = Bytes::new(30e9);
    evaluation.summary.fits = false;
    let over = format!("\ndoes not fit: needs 33.5 GiB, 5.59 GiB more than 27.9 GiB {}\n", sure("0 %"));
    assert!(text(&scenario, &evaluation, None).contains(&over));
}

#[test]
fn the_limit_is_said_in_words() {
    let scenario = scenario();
    let mut evaluation = evaluation(&scenario);
    let words = |evaluation: &Evaluation| limit(&scenario, evaluation).to_string();
    assert_eq!(words(&evaluation), "limited by bandwidth in the node: +10 % gives +3.1 %");
    evaluation.elasticity[1] = Elasticity { property: Property::LevelLatency(0), value: -0.5, gain: 0.054 };
    assert_eq!(words(&evaluation), "limited by latency in the node: -10 % gives +5.4 %");
    // Whatever gives most, wherever most of the time goes.
    evaluation.elasticity[0] = Elasticity { property: Property::PeakFlop, value: 0.6, gain: 0.058 };
    assert_eq!(words(&evaluation), "limited by compute: +10 % peak gives +5.8 %");
    // Near today's value 1.1^0.6 = 1.0588 was promised; of less than half of that the rest is the node's to give, of
    // which alone 10 % more gives even less.
    evaluation.elasticity[0].gain = 0.012;
    evaluation.elasticity[1] = Elasticity { property: Property::LevelBandwidth(0), value: 0.9, gain: 0.006 };
    assert_eq!(words(&evaluation), "limited by compute: +10 % peak gives +1.2 %, tied with bandwidth in the node");
    evaluation.elasticity.clear();
    assert_eq!(words(&evaluation), "limited by bandwidth in the node");
    evaluation.elasticity.push(Elasticity { property: Property::HostBandwidth, value: 0.6, gain: 0.059 });
    assert_eq!(words(&evaluation), "limited by bandwidth of the host link: +10 % gives +5.9 %");
    // In JSON both are of the resource `host`, and `host` tells them apart.
    let of_host = |evaluation: &Evaluation| {
        let bottleneck = &figures::record(&scenario, evaluation)["bottleneck"];
        (bottleneck["resource"].clone(), bottleneck["host"].clone())
    };
    let host = |part: &str| (json!("host"), json!(part));
    assert_eq!(of_host(&evaluation), host("link"));
    evaluation.summary.bottleneck = Resource::Host;
    assert_eq!(words(&evaluation), "limited by the host, which launches the work");
    assert_eq!(of_host(&evaluation), host("launches"));
    evaluation.summary.bottleneck = Resource::Bubble;
    assert_eq!(of_host(&evaluation), (json!("bubble"), Value::Null));
}

/// More memory asks for another plan, so that it stands beside what limits this one, however much it gives.
#[test]
fn what_more_memory_gives_stands_beside_the_limit() {
    let scenario = scenario();
    let mut evaluation = evaluation(&scenario);
    evaluation.elasticity.push(Elasticity { property: Property::MemoryCapacity, value: 0.09, gain: 0.09 });
    let line = "\nlimited by bandwidth in the node: +10 % gives +3.1 %, same plan; +10 % memory, re-tuned: +9.0 %\n";
    assert!(text(&scenario, &evaluation, None).contains(line));
    assert_eq!(limit(&scenario, &evaluation).gain.as_deref(), Some("+10 % gives +3.1 %"));
}

/// 50 GB/s of a port times an eighth; half of the 79.11 GiB that an allocator sees.
#[test]
fn changed_hardware_is_said_under_the_title() {
    let mut scenario = scenario();
    let evaluation = evaluation(&scenario);
    assert_eq!(changed(&scenario), None);
    scenario.plan.bandwidth_factor = 0.125;
    assert_eq!(changed(&scenario).as_deref(), Some("changed: bandwidth of system x 0.125 = 6.25 GB/s"));
    scenario.plan.memory_factor = 0.5;
    let told = "changed: bandwidth of system x 0.125 = 6.25 GB/s, memory x 0.5 = 39.6 GiB";
    assert_eq!(text(&scenario, &evaluation, None).lines().nth(1), Some(told));
}

#[test]
fn what_is_on_the_host_is_part_of_the_step() {
    let mut scenario = scenario();
    let evaluation = evaluation(&scenario);
    let is_step = |line: &&str| line.starts_with("a step: ");
    let step =
        |scenario: &Scenario| text(scenario, &evaluation, None).lines().find(is_step).expect("a step").to_owned();
    assert!(step(&scenario).ends_with("; recompute none"), "{}", step(&scenario));
    scenario.plan.offload = Offload::All;
    assert!(step(&scenario).ends_with("; recompute none; state on the host"), "{}", step(&scenario));
    scenario.plan.recompute = shardscope_engine::plan::Recompute::Full;
    assert!(step(&scenario).ends_with("; state and checkpoints on the host"), "{}", step(&scenario));
}

fn sweep() -> Sweep {
    let axis = |text: &str| text.parse::<Axis>().expect(text);
    Sweep { base: scenario(), x: axis("nodes=1,2"), y: axis("shard=node,16"), tune: true }
}

/// One cell of each sort: fits, does not fit, cannot be, not reached.
fn cells(sweep: &Sweep) -> Vec<Option<Cell>> {
    let choice = Tuned { micro_batch: 4, recompute: shardscope_engine::plan::Recompute::Full, accumulate: 2 };
    let summary = evaluation(&sweep.base).summary;
    let mut large = summary;
    large.fits = false;
    large.memory.peak = Bytes::new(90e9);
    let what = "groups of 16, here, do not fill 8 ranks".to_owned();
    let problem = Problem { field: "plan.shard".to_owned(), what, fix: "choose another".to_owned() };
    vec![
        Some(Cell::Possible { summary, choice }),
        Some(Cell::Possible { summary: large, choice }),
        Some(Cell::Impossible(problem)),
        None,
    ]
}

/// Launchers that know no plan.
const NOWHERE: RunsIn = RunsIn { names: |_| Vec::new(), missing: |_| None };

#[test]
fn a_map_as_csv_has_the_header_of_the_contract() {
    let sweep = sweep();
    let report = SweepReport { sweep: &sweep, metric: Figure::ModelFlops, cells: &cells(&sweep), runs_in: NOWHERE };
    let lines = [
        "x,y,metric,value,fits,reason,micro_batch,recompute,accumulate,global_batch",
        "1,node,throughput,571,true,,4,full,2,256",
        "2,node,throughput,571,false,does not fit: needs 83.8 GiB of 74.5 GiB,4,full,2,256",
        "1,16,throughput,,false,\"not possible: groups of 16, here, do not fill 8 ranks\",,,,",
        "2,16,throughput,,,not computed: the sweep was interrupted,,,,",
    ];
    assert_eq!(report.csv(), format!("{}\n", lines.join("\n")));
}

#[test]
fn a_map_as_text_marks_what_has_no_figure() {
    let sweep = sweep();
    let mut cells = cells(&sweep);
    let report = SweepReport { sweep: &sweep, metric: Figure::ModelFlops, cells: &cells, runs_in: NOWHERE };
    insta::assert_snapshot!(report.text());
    cells[3] = cells[0].clone();
    let report = SweepReport { sweep: &sweep, metric: Figure::ModelFlops, cells: &cells, runs_in: NOWHERE };
    assert!(!report.partial() && !report.text().contains("partial"));
}

#[test]
fn a_map_as_json_says_whether_it_is_whole() {
    let sweep = sweep();
    let report = SweepReport { sweep: &sweep, metric: Figure::Mfu, cells: &cells(&sweep), runs_in: NOWHERE };
    let json: Value = serde_json::from_str(&report.json()).expect("JSON");
    assert_eq!((&json["format"], &json["partial"], &json["metric"]), (&json!(1), &json!(true), &json!("mfu")));
    assert_eq!(json["x"], json!({ "axis": "nodes", "values": [1, 2] }));
    assert_eq!(json["y"], json!({ "axis": "shard", "values": ["node", 16] }));
    let first = json!({
        "x": 1, "y": "node", "value": 50.0, "fits": true, "reason": null,
        "micro_batch": 4, "recompute": "full", "accumulate": 2, "global_batch": 256, "runs_in": [],
    });
    assert_eq!(json["cells"][0], first);
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(4));
}

#[test]
fn another_versions_figures_stand_beside_todays() {
    let scenario = scenario();
    let now = Figures::new(&scenario, &evaluation(&scenario));
    let mut slower = evaluation(&scenario);
    slower.summary.step_time = slower.summary.step_time / 1.25;
    let stored = Figures::new(&scenario, &slower);
    let text = beside("0.0.9\u{1b}[2J", &stored, &now);
    assert!(text.starts_with("\nstored by shardscope 0.0.9\u{fffd}[2J\n"), "{text}");
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("step time") && line.ends_with("(+25.0 %)")),
        "{text}"
    );
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("peak memory") && line.ends_with("(+0.0 %)")),
        "{text}"
    );
}
