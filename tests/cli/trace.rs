//! `export --to trace`: a file for each pipeline rank, packed where the name says so.

use std::fs::File;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::run::{Home, assert_contains, run};

const PIPELINE: &str = "export --to trace --hardware a100-80gb-dgx --model mpt-1b --nodes 1 --pp 2 --accumulate 4";

#[test]
fn each_pipeline_rank_has_a_file() {
    let home = Home::new();
    let plain = home.run(&format!("{PIPELINE} --out traces"));
    assert_eq!((plain.code, plain.stdout.as_str()), (Some(0), "traces/rank0.json\ntraces/rank1.json\n"));
    let packed = home.run(&format!("{PIPELINE} --out traces/step.json.gz"));
    assert_eq!((packed.code, packed.stdout.as_str()), (Some(0), "traces/step0.json.gz\ntraces/step1.json.gz\n"));
    for rank in 0..2 {
        let open = |name: String| File::open(home.path().join("traces").join(name)).expect("a file");
        let plain: Value = serde_json::from_reader(open(format!("rank{rank}.json"))).expect("JSON");
        let packed = GzDecoder::new(open(format!("step{rank}.json.gz")));
        assert_eq!(serde_json::from_reader::<_, Value>(packed).expect("JSON"), plain);
        assert_eq!(
            (&plain["distributedInfo"]["rank"], &plain["distributedInfo"]["world_size"]),
            (&rank.into(), &8.into())
        );
    }
    let again = home.run(&format!("{PIPELINE} --out traces"));
    assert_eq!(again.code, Some(1));
    assert_contains(&again.stderr, &["rank0.json: already exists", "--force"]);
    assert_contains(&run(PIPELINE).refused().join("\n"), &["--out: is missing", "2 pipeline ranks"]);
    let alone = run(&PIPELINE.replace("--pp 2", "--pp 1"));
    assert_eq!(alone.code, Some(0));
    assert!(serde_json::from_str::<Value>(&alone.stdout).expect("JSON")["traceEvents"].is_array());
}

#[test]
fn a_step_of_too_many_tasks_is_refused() {
    let long = "export --to trace --hardware a100-80gb-dgx --model mpt-1b --nodes 1 --accumulate 100000";
    assert_contains(&run(long).refused().join("\n"), &["--accumulate: a trace of this step has more than"]);
}

fn recorded(name: &str) -> String {
    format!("{}/tests/fixtures/trace/{name}.json.gz", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_recorded_step_stands_beside_a_simulated_one() {
    let home = Home::new();
    let ddp = recorded("kineto-nccl-parser-cut");
    let alone = home.run(&format!("import {ddp}"));
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    assert_contains(&alone.stderr, &["is what a profiler recorded: import trace", "steps = 3 (ProfilerStep)"]);
    assert_contains(
        &alone.stdout,
        &["step               222 ms", "all-reduce           5  15.6 ms  13.1 ms  97.5 MiB"],
    );
    assert!(!alone.stdout.contains("simulated"), "{}", alone.stdout);
    let scenario = "--hardware a100-80gb-dgx --model mpt-125m --nodes 1 --strategy ddp";
    let json = home.run(&format!("import trace {ddp} {scenario} --format json")).json(0);
    assert_eq!((json["format"].as_u64(), json["measured"]["steps"].as_u64()), (Some(1), Some(3)));
    let step = home.run(&format!("eval {scenario} --format json")).json(0)["step_time_s"].as_f64().expect("a step");
    let beside = json["simulated"]["step_s"].as_f64().expect("a step");
    assert!((beside / step - 1.0).abs() < 1e-9, "{beside} beside {step}");
}

/// A file for each pipeline rank, read again beside the scenario that it is of: nothing differs.
#[test]
fn an_exported_trace_comes_back_as_its_own_step() {
    let home = Home::new();
    assert_eq!(home.run(&format!("{PIPELINE} --out step.json.gz")).code, Some(0));
    for rank in 0..2 {
        let flags = PIPELINE.strip_prefix("export --to trace ").expect("flags");
        let json = home.run(&format!("import trace step{rank}.json.gz {flags} --format json")).json(0);
        assert_eq!(json["measured"], json["simulated"], "rank {rank}");
        assert_eq!(json["assumed"][0]["value"], rank.to_string(), "{}", json["assumed"]);
    }
}

#[test]
fn what_is_no_trace_is_refused_and_a_missing_one_is_no_input() {
    let home = Home::new();
    home.write("short.json", "{\"traceEvents\": [{\"ph\": \"X\"");
    for command in ["import trace short.json", "import short.json"] {
        assert_contains(&home.run(command).refused().join("\n"), &["short.json: it ends in the middle"]);
    }
    assert_eq!(home.run("import trace absent.json").code, Some(1));
    let bad = format!("import trace {} --nodes 0", recorded("kineto-mi250-minitoy"));
    assert_contains(&home.run(&bad).refused().join("\n"), &["--nodes"]);
}
