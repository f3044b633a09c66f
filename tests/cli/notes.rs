//! What is said of flags that change nothing. Notes reach a terminal only, and the log.

use super::run::{Home, assert_contains};

/// The notes of a run that says nothing on standard error.
fn notes(arguments: &str) -> Vec<String> {
    let home = Home::new();
    let run = home.run(&format!("{arguments} --log told.log"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{arguments}");
    let log = std::fs::read_to_string(home.path().join("told.log")).expect("a log");
    log.lines().filter_map(|line| Some(line.split_once("note: ")?.1.to_owned())).collect()
}

#[test]
fn choices_that_a_plan_does_not_follow_are_told() {
    let job = "--hardware a100-80gb-nvlink16 --model mpt-1b --stack ideal";
    let schedule = "--pp 4 --accumulate 8 --schedule";
    for (flags, note) in [
        (
            format!("{schedule} 1f1b --accumulation layered"),
            "--schedule: layer by layer, a pipeline runs breadth-first",
        ),
        (
            "--pp 4 --accumulate 6 --schedule interleaved --accumulation layered".to_owned(),
            "--schedule: layer by layer, a pipeline runs breadth-first; choose accumulation standard",
        ),
        (format!("{schedule} interleaved"), "--schedule: interleaved with one stage on each rank is 1f1b"),
        (format!("{schedule} 1f1b --stages-per-rank 4"), "--stages-per-rank: 1f1b has one stage on each rank"),
        ("--schedule gpipe".to_owned(), "--schedule: there is no pipeline"),
        ("--stages-per-rank 2".to_owned(), "--stages-per-rank: there is no pipeline"),
        ("--offload checkpoints --recompute none".to_owned(), "--offload: recompute none keeps no checkpoints"),
        (
            "--strategy zero1 --hpz node".to_owned(),
            "--hpz: weights are not sharded; choose a strategy that shards them",
        ),
        ("--strategy zero1 --qgz on".to_owned(), "--qgz: gradients are not sharded"),
        ("--offload all --recompute selective".to_owned(), "--offload: recompute selective keeps no checkpoints"),
    ] {
        let told = notes(&format!("eval {job} {flags}"));
        assert_eq!(told.len(), 1, "{flags}: {told:?}");
        assert_contains(&told[0], &[note]);
    }
}

#[test]
fn choices_that_count_are_not_told() {
    let job = "--hardware a100-80gb-nvlink16 --model mpt-1b --stack ideal";
    for flags in [
        "--pp 4 --accumulate 8 --schedule interleaved --stages-per-rank 2",
        "--pp 4 --accumulate 8 --schedule breadth-first --stages-per-rank 2 --accumulation layered",
        "--offload checkpoints --recompute full",
        "--accumulation layered",
    ] {
        assert_eq!(notes(&format!("eval {job} {flags}")), [""; 0], "{flags}");
    }
}

/// A cell may have the pipeline, or the recompute, that the scenario lacks.
#[test]
fn a_sweep_tells_what_counts_in_no_cell() {
    let sweep = |flags: &str| {
        notes(&format!("sweep --hardware a100-80gb-nvlink16 --model mpt-1b --stack ideal --y micro-batch=1,2 {flags}"))
    };
    let stages = "--accumulate 4 --stages-per-rank 2";
    assert_contains(&sweep(&format!("--x nodes=1,2 {stages} --schedule 1f1b --pp 2"))[0], &["--stages-per-rank: 1f1b"]);
    assert_contains(&sweep(&format!("--x nodes=1,2 {stages}"))[0], &["--stages-per-rank: there is no pipeline"]);
    assert_eq!(sweep(&format!("--x pp=1,2 {stages} --schedule interleaved")), [""; 0]);
    assert_contains(&sweep("--x nodes=1,2 --offload checkpoints")[0], &["--offload: recompute none"]);
    assert_eq!(sweep("--x nodes=1,2 --offload checkpoints --tune"), [""; 0]);
}

#[test]
fn a_search_tells_what_it_chooses_itself() {
    let machine = "--hardware a100-80gb-nvlink16 --stack ideal";
    let training = "--objective training-time --devices-max 2 --steps 10";
    let told =
        notes(&format!("plan {machine} --model x-32 {training} --pp 2 --strategy ddp --schedule gpipe --nodes 3"));
    let flags: Vec<&str> = told.iter().filter_map(|note| note.split_once(':')).map(|(flag, _)| flag).collect();
    assert_eq!(flags, ["--strategy", "--nodes", "--pp", "--schedule"]);
    assert_contains(&told[0], &["changes nothing; the search chooses it"]);
    let told = notes(&format!("plan {machine} --model mpt-125m --recompute full --offload checkpoints"));
    assert_eq!(told, ["--recompute: changes nothing; the search chooses it"]);
}
