//! What viewers and analysers ask of a trace, held by the traces of many plans; and shardscope's own figures in them.

use std::collections::HashMap;

use serde_json::Value;

use shardscope_engine::evaluate::{IdleCause, zero_bubble};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file;

use super::*;

/// Plans of all kinds: each lane, folds, pipelines, shards of several extents.
const PLANS: &[&[(&str, &str)]] = &[
    &[("model", "mpt-1b"), ("nodes", "2")],
    &[("model", "mpt-7b"), ("nodes", "4"), ("strategy", "zeropp"), ("accumulate", "3")],
    &[("model", "mpt-7b"), ("nodes", "2"), ("strategy", "hsdp"), ("recompute", "0.5")],
    &[("model", "mpt-7b"), ("nodes", "4"), ("tp", "4"), ("pp", "4"), ("accumulate", "8")],
    &[
        ("model", "mpt-7b"),
        ("nodes", "4"),
        ("pp", "4"),
        ("schedule", "breadth-first"),
        ("stages-per-rank", "2"),
        ("accumulate", "8"),
    ],
    &[("model", "mpt-1b"), ("nodes", "1"), ("cp", "2"), ("offload", "state"), ("recompute", "full")],
    &[("model", "mpt-1b"), ("nodes", "1"), ("strategy", "ddp"), ("accumulate", "400")],
    &[("model", "mpt-7b"), ("nodes", "2"), ("accumulation", "layered"), ("accumulate", "4")],
];

fn scenario(flags: &[(&str, &str)]) -> Scenario {
    let library = shardscope_presets::library();
    let mut file = file::parse(&library.scenario_text("default").expect("a preset").text).expect("a scenario");
    for (flag, text) in flags {
        file.set(flag, text).expect(text);
    }
    library.resolve(&file).unwrap_or_else(|problems| panic!("{flags:?}: {problems:?}"))
}

/// Each rank's file, read again.
fn traces(scenario: &Scenario) -> Vec<Value> {
    let read = |trace: &RankTrace| {
        let mut text = Vec::new();
        trace.write(&mut text).expect("it is written");
        serde_json::from_slice(&text).expect("JSON")
    };
    RankTrace::all(scenario, &mut Workspace::default()).expect("a trace").iter().map(read).collect()
}

/// A time of an event, in picoseconds.
fn picos(event: &Value, key: &str) -> u64 {
    let micros = event[key].as_f64().unwrap_or_else(|| panic!("{key} of {event}"));
    assert!(micros >= 0.0 && micros.is_finite(), "{event}");
    (micros * 1e6).round() as u64
}

fn events<'a>(trace: &'a Value, kind: &'static str) -> impl Iterator<Item = &'a Value> {
    trace["traceEvents"].as_array().expect("events").iter().filter(move |event| event["ph"] == kind)
}

/// Spans of some kernels, joined where they overlap.
fn union(trace: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<(u64, u64)> {
    let kernels = events(trace, "X").filter(|event| event["cat"] == "kernel" && wanted(event));
    let mut spans: Vec<(u64, u64)> =
        kernels.map(|event| (picos(event, "ts"), picos(event, "ts") + picos(event, "dur"))).collect();
    spans.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

fn length(spans: &[(u64, u64)]) -> f64 {
    spans.iter().map(|(start, end)| end - start).sum::<u64>() as f64 / 1e12
}

fn both(one: &[(u64, u64)], other: &[(u64, u64)]) -> f64 {
    let overlap = |(start, end): &(u64, u64)| {
        let with = other.iter().map(|(from, to)| (*end).min(*to).saturating_sub((*start).max(*from)));
        with.sum::<u64>()
    };
    one.iter().map(overlap).sum::<u64>() as f64 / 1e12
}

fn is_nccl(event: &Value) -> bool {
    event["name"].as_str().is_some_and(|name| name.starts_with("nccl"))
}

#[test]
fn traces_of_many_plans_hold_what_viewers_ask() {
    for flags in PLANS {
        let scenario = scenario(flags);
        let evaluation = once(&scenario, &mut Workspace::default()).expect("it runs");
        let traces = traces(&scenario);
        assert_eq!(traces.len(), scenario.plan.pipeline as usize, "{flags:?}");
        for (rank, trace) in traces.iter().enumerate() {
            assert_eq!((&trace["schemaVersion"], &trace["distributedInfo"]["rank"]), (&json!(1), &json!(rank)));
            let all: Vec<&Value> = trace["traceEvents"].as_array().expect("events").iter().collect();
            assert!(all.is_sorted_by_key(|event| picos(event, "ts")), "{flags:?}");
            // Spans of one thread follow one another.
            let mut ends: HashMap<u64, u64> = HashMap::new();
            for span in events(trace, "X") {
                let thread = span["tid"].as_u64().expect("a thread");
                let end = ends.entry(thread).or_default();
                assert!(picos(span, "ts") >= *end, "{flags:?}: {span} begins before {end} ps");
                *end = picos(span, "ts") + picos(span, "dur");
                if span["cat"] == "kernel" {
                    assert_eq!(span["args"]["stream"], thread);
                }
            }
            assert!(ends.len() > 2 && ends.contains_key(&7), "{flags:?}: {ends:?}");
            flows_are_pairs(trace);
            let points: Vec<f64> = events(trace, "C").map(in_use).collect();
            let most = points.iter().copied().fold(0.0, f64::max);
            let peak = evaluation.stages[rank].peak.gib();
            assert!((most - peak).abs() < 1e-6 * peak, "{flags:?}: {most} GiB at most, {peak} in the report");
        }
    }
}

fn in_use(counter: &Value) -> f64 {
    let parts = counter["args"].as_object().expect("parts").values();
    parts.map(|part| part.as_f64().filter(|part| *part >= -1e-9).expect("a size")).sum()
}

/// Each flow begins once inside a gather and ends once, later, where a pass over the same part begins.
fn flows_are_pairs(trace: &Value) {
    let starts = |thread: u64| {
        let spans = events(trace, "X").filter(move |span| span["tid"] == thread);
        spans.map(|span| (picos(span, "ts"), picos(span, "ts") + picos(span, "dur"))).collect::<Vec<_>>()
    };
    let (gathers, passes) = (starts(20), starts(7));
    let mut ends: HashMap<u64, u64> =
        events(trace, "f").map(|flow| (flow["id"].as_u64().expect("an id"), picos(flow, "ts"))).collect();
    for flow in events(trace, "s") {
        let (id, at) = (flow["id"].as_u64().expect("an id"), picos(flow, "ts"));
        let used = ends.remove(&id).expect("an end");
        let place = gathers.partition_point(|(start, _)| *start <= at);
        assert!(at < used && place > 0 && at <= gathers[place - 1].1, "{flow}");
        assert!(passes.binary_search_by_key(&used, |(start, _)| *start).is_ok(), "{flow} ends where no pass begins");
    }
    assert!(ends.is_empty(), "{ends:?} begin nowhere");
}

/// How much of communication runs beside compute, from the spans of the file, is what the report says: communication
/// less what is exposed of it, where nothing waits for other ranks or for the host.
#[test]
fn the_overlap_of_the_trace_is_that_of_the_report() {
    for flags in [
        &[("model", "mpt-1b"), ("nodes", "2"), ("stack", "ideal")][..],
        &[("model", "mpt-7b"), ("nodes", "4"), ("stack", "ideal"), ("strategy", "zeropp"), ("accumulate", "3")],
        &[("model", "mpt-7b"), ("nodes", "2"), ("stack", "ideal"), ("tp", "8"), ("accumulate", "4")],
        &[("model", "mpt-7b"), ("nodes", "2"), ("stack", "ideal"), ("strategy", "hsdp"), ("micro-batch", "1")],
    ] {
        let scenario = scenario(flags);
        let evaluation = once(&scenario, &mut Workspace::default()).expect("it runs");
        let trace = &traces(&scenario)[evaluation.trace.last_rank() as usize];
        let (communication, compute) = (union(trace, is_nccl), union(trace, |event| event["args"]["stream"] == 7));
        let time = &evaluation.summary.time;
        let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * evaluation.summary.step_time.get();
        assert!(near(length(&communication), time.communication.get()), "{flags:?}: {time:?}");
        let hidden = both(&communication, &compute);
        let report = (time.communication - time.exposed).get();
        assert!(near(hidden, report), "{flags:?}: {hidden} s hidden, {report} s in the report");
        assert!(hidden > 0.0 && time.other.get() == 0.0, "{flags:?}: {time:?}");
    }
}

/// As many passes as micro-batches times layers, times 2.
#[test]
fn what_the_explorer_folds_away_stands_in_the_file() {
    let scenario = scenario(&[("model", "mpt-1b"), ("nodes", "1"), ("accumulate", "700")]);
    let evaluation = once(&scenario, &mut Workspace::default()).expect("it runs");
    assert!(!evaluation.trace.folded_of(0).is_empty(), "it is folded");
    let trace = &traces(&scenario)[0];
    let layers = events(trace, "X").filter(|event| {
        let name = event["name"].as_str().unwrap_or_default();
        name == "forward layer" || name == "backward layer"
    });
    assert_eq!(layers.count(), 2 * 700 * scenario.model.layers as usize);
    // Compute runs, the host runs what holds it up, or it stalls.
    let kernels = length(&union(trace, |event| event["args"]["stream"] == 7));
    let host: u64 = events(trace, "X").filter(|event| event["name"] == "host").map(|event| picos(event, "dur")).sum();
    let causes = [IdleCause::Communication, IdleCause::Bubble, IdleCause::Other];
    let still: Seconds = causes.map(|cause| evaluation.trace.stall_time(0, cause)).into_iter().sum();
    let (busy, report) = (kernels + host as f64 / 1e12, (evaluation.summary.step_time - still).get());
    assert!((busy - report).abs() < 1e-6 * report, "{busy} s busy, {report} s in the report");
}

/// A rank's trace of ZB-H1 names the two parts of backward, each for every layer and micro-batch. Of the 24 layers of mpt-1b
/// rank 0 of 2 has 13: the logits beside the others, 50,368 x 2,048 weights, take as long as the 12 x 2,048^2 of two layers.
#[test]
fn split_backward_is_named_by_its_parts() {
    let scenario =
        scenario(&[("model", "mpt-1b"), ("nodes", "1"), ("pp", "2"), ("strategy", "ddp"), ("accumulate", "3")]);
    let mut evaluation = once(&scenario, &mut Workspace::default()).expect("a plan");
    evaluation.trace = zero_bubble(&scenario);
    let trace = RankTrace::new(0, &scenario, &scenario.layout().expect("a layout"), &evaluation);
    let mut text = Vec::new();
    trace.write(&mut text).expect("it is written");
    let trace: Value = serde_json::from_slice(&text).expect("JSON");
    let layers = |name: &str| {
        let named = events(&trace, "X").filter(|event| event["name"] == name);
        named.map(|event| (event["args"]["layer"].clone(), event["args"]["micro-batch"].clone())).collect::<Vec<_>>()
    };
    let each: Vec<_> =
        (0..3).flat_map(|micro_batch| (0..13).rev().map(move |layer| (layer.into(), micro_batch.into()))).collect();
    for name in ["backward, inputs layer", "backward, weights layer"] {
        let mut found = layers(name);
        // A layer is two pieces of compute, attention and MLP.
        found.dedup();
        assert_eq!(found, each, "{name}");
    }
    assert_eq!(layers("backward layer"), []);
}

/// Eight ranks reduce gradients in fp32 whatever they train in: 4 bytes an element, as many elements as weights of a layer.
/// Weights are gathered in bf16, an eighth of them from each rank.
#[test]
fn what_is_sent_is_named_and_counted_in_its_own_format() {
    let scenario = scenario(&[("model", "mpt-1b"), ("nodes", "1")]);
    let weights = scenario.model.largest_layer_parameters();
    let trace = traces(&scenario).swap_remove(0);
    let of = |operation: &str| {
        let sent = events(&trace, "X").filter(|event| event["args"]["Collective name"] == operation);
        let of_layer = sent.filter(|event| event["args"]["layer"] == 3).map(|event| &event["args"]);
        of_layer
            .map(|args| (args["dtype"].as_str().expect("a type"), args["In msg nelems"].as_u64().expect("a count")))
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(of("_reduce_scatter_base").into_iter().collect::<Vec<_>>(), [("Float", weights)]);
    assert!(
        of("_allgather_base").iter().all(|one| *one == ("BFloat16", weights / 8)) && !of("_allgather_base").is_empty()
    );
}
