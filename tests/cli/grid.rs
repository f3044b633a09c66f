//! `plan --grid`: the contract of its JSON, its exit codes, and what it says about bad input.

use serde_json::Value;

use super::run::{assert_contains, keys, number, run};

/// The machine of the worked example [fsdp A5].
const MACHINE: &str = "--memory 40GB --link 25GB/s --peak 312TFLOP/s";

fn json(arguments: &str, code: i32) -> Value {
    run(&format!("plan --grid {arguments} --format json")).json(code)
}

/// 7B on 64 devices; the arithmetic stands at `the_best_points_of_the_worked_example` of the library.
#[test]
fn the_best_points_have_the_keys_promised() {
    let found = json(&format!("--model fsdp-7b --devices 64 {MACHINE}"), 0);
    assert_eq!(keys(&found), "format objective best searched");
    assert_eq!((&found["format"], &found["objective"]), (&1.into(), &"grid".into()));
    assert_eq!(keys(&found["best"]), "mfu throughput sequence");
    let point = |name: &str| {
        let point = &found["best"][name];
        assert_eq!(keys(point), "stage gamma seq batch mfu hfu tokens_per_s step_time_s");
        let [stage, gamma, seq, batch] = ["stage", "gamma", "seq", "batch"].map(|key| number(point, key));
        (stage, gamma, seq, batch, number(point, "mfu"))
    };
    assert_eq!(point("mfu"), (3.0, 1.0, 4096.0, 2.0, 0.75));
    let (stage, gamma, seq, batch, _) = point("throughput");
    assert_eq!((stage, gamma, seq, batch), (3.0, 0.9, 512.0, 18.0));
    assert_eq!(point("sequence"), (3.0, 0.0, 131_072.0, 1.0, 0.5625));
    assert!((number(&found["best"]["throughput"], "tokens_per_s") - 5738.7).abs() < 0.1);
    assert!(number(&found, "searched") > 1000.0);
}

/// [fsdp A6]: 175B on 64 devices lacks 3.49 GB.
#[test]
fn nothing_fits_is_said_and_told_by_the_exit_code() {
    let arguments = format!("--model fsdp-175b --devices 64 {MACHINE}");
    let found = json(&arguments, 3);
    assert_eq!((&found["best"], &found["searched"]), (&Value::Null, &0.into()));
    let text = run(&format!("plan --grid {arguments}"));
    assert_eq!(text.code, Some(3));
    assert_contains(&text.stdout, &["nothing fits"]);
}

/// Less memory, in whatever way it is said, leaves the same.
#[test]
fn memory_is_limited_and_reserved() {
    let longest =
        |more: &str| number(&json(&format!("--model fsdp-7b --devices 64 {more}"), 0)["best"]["sequence"], "seq");
    let rest = "--link 25GB/s --peak 312TFLOP/s";
    // (20 - 1.611) GB / 262,144 B = 70,148 tokens: 2^16.
    for less in ["--memory 20GB", "--memory 40GB --reserve 20GB", "--memory 40GB --memory-limit 20GB"] {
        assert!((longest(&format!("{less} {rest}")) - 65_536.0).abs() < 0.5, "{less}");
    }
    assert!((longest(&format!("{rest} --memory 40GB --memory-limit 80GB")) - 131_072.0).abs() < 0.5);
}

/// A ring over 16 nodes of 16 passes at the 300 GB/s of a node: 16 ports of 25 GB/s between nodes are 400 GB/s.
#[test]
fn a_scenario_gives_what_is_not_given() {
    let own = json("--hardware a100-80gb-nvlink16 --model fsdp-7b --nodes 16", 0);
    let said = json("--model fsdp-7b --devices 256 --memory 80GiB --link 300GB/s --peak 312TFLOP/s", 0);
    assert_eq!(own, said);
}

#[test]
fn the_text_names_each_point() {
    let run = run(&format!("plan --grid --model fsdp-7b --devices 64 {MACHINE}"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_contains(&run.stdout, &["stage 3, gamma 1, 2 x 4,096 tokens", "5,739 tokens/s", "1 x 131,072 tokens"]);
    assert!(run.stdout.lines().all(|line| line.len() <= 100), "{}", run.stdout);
}

#[test]
fn wrong_numbers_are_refused_by_name() {
    for (wrong, flag) in [
        ("--grid --alpha 0", "--alpha"),
        ("--grid --alpha 1.1", "--alpha"),
        ("--grid --n-bwd 0", "--n-bwd"),
        ("--grid --link 0GB/s", "--link"),
        ("--grid --tp 2", "--tp"),
        ("--grid --gamma 1", "--gamma"),
        // Numbers of the grid without it.
        ("--memory 40GB", "--grid"),
        ("--n-bwd 2", "--grid"),
        ("--alpha 0.5", "--grid"),
        ("--reserve 1GiB", "--grid"),
        ("--grid --profile rows.csv --layers 1 --hidden 64 --memory-limit 8GiB", "--profile"),
    ] {
        let run = run(&format!("plan {wrong}"));
        assert!(run.refused().join("\n").contains(flag), "{wrong}: {}", run.stderr);
    }
}
