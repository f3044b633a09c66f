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
