//! `import run`: from a log to a table, to what `validate` makes of it.

use super::run::{Home, assert_contains};

const LOG: &str = include_str!("../fixtures/logs/superbench-megatron-deepspeed.log");

/// Microsoft's run of 16 devices in two nodes, 75.216 s for a step after the first.
const IMPORT: &str = "import run it.log --skip 1 --hardware a100-80gb-dgx --stack megatron-deepspeed-2022";

fn home() -> Home {
    let home = Home::new();
    home.write("it.log", LOG);
    home
}

#[test]
fn a_log_is_scored_as_it_is() {
    let home = home();
    let imported = home.run(IMPORT);
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    for said in ["taken:", "step_time_s = 75.216 (median of 4 lines of Megatron-LM", "cluster = a100-80gb-dgx"] {
        assert_contains(&imported.stderr, &[said]);
    }
    let scored = home.run_with_input("validate - --format json", &imported.stdout);
    assert_eq!(scored.code, Some(0), "{}", scored.stderr);
    assert_contains(&scored.stdout, &["75.216"]);
}

#[test]
fn a_table_is_never_written_over_unasked() {
    let home = home();
    let out = format!("{IMPORT} --out rows.csv");
    assert_eq!(home.run(&out).code, Some(0));
    let again = home.run(&out);
    assert_eq!(again.code, Some(1));
    assert_contains(&again.stderr, &["--force"]);
    assert_eq!(home.run(&format!("{out} --force")).code, Some(0));
    assert_eq!(home.run("validate rows.csv").code, Some(0));
}

#[test]
fn two_logs_are_two_rows_and_standard_input_is_one() {
    let home = home();
    let both = home.run_with_input("import run it.log - --format json", LOG);
    let json: serde_json::Value = serde_json::from_str(&both.stdout).expect("JSON");
    let ids: Vec<_> = json["rows"].as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
    assert_eq!(ids, ["it", "standard input"]);
    assert!(json["assumed"].as_array().expect("a list").iter().any(|one| one["field"] == "cluster"));
}

#[test]
fn what_cannot_be_read_is_bad_input() {
    let home = home();
    home.write("empty.log", "");
    for (arguments, said) in [
        ("import run empty.log", "holds no line of a step"),
        ("import run it.log --skip 5", "write a smaller --skip"),
        ("import run it.log --set colour=red", "--set: 'colour=red' names no column"),
    ] {
        let run = home.run(arguments);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments}: {}", run.stderr);
        assert_contains(&run.stderr, &[said]);
    }
}
