//! `plan --profile`: the contract of its JSON, its exit codes, and what it says about bad input.

use serde_json::json;

use super::run::{Home, Run, assert_contains};

/// Rows of the authors' own profile; where they are from stands in the file.
const ROWS: &str = include_str!("../fixtures/osdp_profile.csv");

fn plan(arguments: &str) -> Run {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    let mut command = home.command("plan --profile rows.csv");
    // The sizes have a space.
    let arguments = arguments.split(" --").map(|one| one.trim_start_matches("--"));
    for one in arguments {
        let (flag, value) = one.split_once(' ').expect("a flag and its value");
        command.args([&format!("--{flag}"), value]);
    }
    Run::of(&command.output().expect("the binary runs"))
}

/// [osdp C7]: 48 layers of 1536 under 8 GiB.
#[test]
fn the_authors_run_is_planned() {
    let run = plan("--layers 48 --hidden 1536 --memory-limit 8 GiB --batch-index 1 --reserve 800 MiB --format json");
    let found = run.json(0);
    assert_eq!(found["format"], 1);
    assert_eq!(found["plans"][0]["counts"], json!([0, 2, 46, 0]));
    assert_eq!((&found["plans"][0]["mem_mib"], &found["all_sharded"][0]["mem_mib"]), (&json!(7304), &json!(5568)));
    for (list, time) in [("plans", 2.9019), ("all_sharded", 3.3501)] {
        assert_eq!(found[list][0]["batch_index"], 1);
        assert!((found[list][0]["time_s"].as_f64().expect("a number") - time).abs() < 1e-4);
    }
}

/// The authors' two runs took 753 MiB more than the plan and 78 more than all-sharded layers: 8057.35 - 7304,
/// 5656.91 - 5578.8.
#[test]
fn the_text_puts_the_measured_runs_beside() {
    let run = plan("--layers 48 --hidden 1536 --memory-limit 8 GiB");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_contains(&run.stdout, &["0 2 46 0", "7,304 MiB", "8,057 MiB, 8,104 here", "5,657 MiB, 5,579 here"]);
    assert_contains(&run.stdout, &["2.996 s, 2.902 s here", "3.644 s, 3.350 s here"]);
    assert_contains(&run.stdout, &["753 MiB beyond the plan, 78 MiB beyond all sharded: they differ"]);
    assert!(run.stdout.lines().all(|line| line.len() <= 120), "{}", run.stdout);
}

#[test]
fn nothing_fits_is_said_and_told_by_the_exit_code() {
    let found = plan("--layers 48 --hidden 2048 --memory-limit 8 GiB --format json").json(3);
    assert_eq!(found["plans"], json!([]));
    let run = plan("--layers 48 --hidden 2048 --memory-limit 8 GiB");
    assert_eq!(run.code, Some(3));
    assert_contains(&run.stdout, &["nothing fits", "8,496 MiB"]);
}

#[test]
fn what_the_profile_lacks_is_refused_by_name() {
    for (wrong, parts) in [
        ("--layers 48 --hidden 999 --memory-limit 8 GiB", ["--hidden", "1024, 1536"]),
        ("--layers 0 --hidden 1024 --memory-limit 8 GiB", ["--layers", "1 to 4096"]),
        ("--layers 48 --hidden 1024 --memory-limit 8 GiB --batch-index 9", ["--batch-index", "1, 2, 3, 4"]),
        ("--layers 48 --hidden 1024", ["--memory-limit", "required"]),
        ("--layers 48 --hidden 1024 --memory-limit 8 GiB --top 2", ["--profile", "--top"]),
        ("--layers 48 --hidden 1024 --memory-limit 8 GiB --objective memory", ["--profile", "--objective"]),
        ("--layers 48 --hidden 1024 --memory-limit 8 GiB --nodes 2", ["--nodes", "leave it out"]),
    ] {
        assert_contains(&plan(wrong).refused().join("\n"), &parts);
    }
}

#[test]
fn bad_rows_are_refused_with_their_place() {
    let home = Home::new();
    home.write("bad.csv", &format!("{ROWS}1024,five,0,0.1,12\n"));
    let command = "plan --layers 1 --hidden 1024 --memory-limit 8GiB --profile";
    let line = ROWS.lines().count() + 1;
    let place = format!("bad.csv:{line}:6: batch_index: 'five'");
    assert_contains(&home.run(&format!("{command} bad.csv")).refused().join("\n"), &[&place]);
    let scenario = home.run("plan nosuch --profile bad.csv --layers 1 --hidden 1024 --memory-limit 8GiB");
    assert_contains(&scenario.refused().join("\n"), &["nosuch", "leave it out"]);
    let missing = home.run(&format!("{command} missing.csv"));
    assert_eq!((missing.code, missing.stderr.contains("missing.csv")), (Some(1), true), "{}", missing.stderr);
}
