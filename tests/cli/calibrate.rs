//! `calibrate`: what is printed, the file that it writes, and what is refused.

use serde_json::Value;

use super::run::{Home, assert_contains, keys, number, run};

const ROWS: &str = "id,cluster,stack,num_gpus,strategy_class,model,layers,hidden,heads,vocab,seq_len,micro_batch,\
                    global_batch,act_ckpt,precision,group,scored,step_time_s
a,a100-80gb-dgx,default,1,ddp,MPT,8,1024,8,50368,2048,2,2,none,bf16,a,yes,0.2
b,a100-80gb-dgx,default,1,ddp,MPT,8,2048,16,50368,2048,2,2,none,bf16,b,yes,0.4
";

/// A folder of presets with the file that a fit has written predicts what the fit printed.
#[test]
fn a_fitted_file_is_a_preset() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    home.write("own/calibration/measured.toml", "what a fit replaces");
    let fit = home.run("calibrate rows.csv --out own/calibration/measured.toml --force --format json");
    assert_eq!(fit.code, Some(0), "{}", fit.stderr);
    let fit: Value = serde_json::from_str(&fit.stdout).expect("JSON");
    assert_eq!(fit["format"], 1);
    let names = ["name", "value", "before", "low", "high", "standard_error", "groups", "determined", "meaning", "unit"];
    let constants = fit["constants"].as_array().expect("a list");
    assert!(constants.len() <= 48 && names.iter().all(|name| constants.iter().all(|one| one.get(name).is_some())));
    let again = home.run("validate rows.csv --presets own --format json");
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["summary"]["step_time"]["mean"], fit["after"]["step_time"]["mean"]);
    assert!(fit["after"]["step_time"]["mean"].as_f64() < fit["before"]["step_time"]["mean"].as_f64());
    assert_eq!(fit["cross_validated"]["summary"]["step_time"]["rows"], 2);
    let text = std::fs::read_to_string(home.path().join("own/calibration/measured.toml")).expect("written");
    let file: toml::Table = text.parse().expect("TOML");
    assert_contains(file["source"].as_str().expect("text"), &["fitted to 2 step times", "mean of 2 groups"]);
}

/// Groups a and b fall into different folds by the hash of their names, so that each is scored by the other's choice.
#[test]
fn nested_errors_are_printed_and_written() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    let json = home.run("calibrate rows.csv --nested --format json").json(0);
    let nested = &json["nested"];
    assert_eq!(keys(nested), "by_group by_source constants");
    let by_group = &nested["by_group"];
    assert_eq!(keys(by_group), "folds step_time memory cross_validated");
    let folds = by_group["folds"].as_array().expect("a list");
    assert_eq!(folds.len(), 2);
    assert!(folds.iter().all(|fold| keys(fold) == "left_out step_time memory prior_weight usual"), "{folds:?}");
    let means: Vec<f64> = folds.iter().map(|fold| number(&fold["step_time"], "mean")).collect();
    // Two groups: their mean, and half the difference over the root of two.
    let (mean, error) = (f64::midpoint(means[0], means[1]), (means[0] - means[1]).abs() / 8.0_f64.sqrt());
    let all = &by_group["step_time"];
    assert!(
        (number(all, "mean") - mean).abs() < 1e-12 && (number(all, "standard_error") - error).abs() < 1e-12,
        "{all}"
    );
    let crossed = &json["cross_validated"]["summary"]["step_time"]["mean"];
    assert_eq!(&by_group["cross_validated"]["mean"], crossed);
    let constants = nested["constants"].as_array().expect("a list");
    assert!(constants.iter().any(|one| one["name"] == "micro-batch" && one["stays"].is_boolean()), "{constants:?}");
    let text = home.run("calibrate rows.csv --nested");
    assert_eq!(text.code, Some(0));
    assert_contains(&text.stdout, &["nested: constants and the prior's weight", "without fold", "micro-batch"]);
    assert_eq!(home.run("calibrate rows.csv --format json").json(0)["nested"], Value::Null);
}

/// Peaks of memory alone make no fit: bands and what is said of step times would rest on nothing.
#[test]
fn rows_without_a_step_time_are_refused() {
    let home = Home::new();
    let header = ROWS.lines().next().expect("a header").replace("step_time_s", "step_time_s,metric_peak_mem_gb");
    let row = "a,a100-80gb-dgx,default,1,ddp,MPT,8,1024,8,50368,2048,2,2,none,bf16,a,no,,9.5";
    home.write("rows.csv", &format!("{header}\n{row}\n"));
    let told = home.run("calibrate rows.csv --out fit.toml");
    assert_contains(&told.refused().join("\n"), &["no row has a step time to fit to"]);
    assert!(!home.path().join("fit.toml").exists());
}

/// A link stays one, and what is not a regular file is left alone.
#[test]
fn a_fit_is_written_through_links_and_over_nothing_else() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    home.write("there/old.toml", "what a fit replaces");
    std::os::unix::fs::symlink("there/old.toml", home.path().join("link.toml")).expect("a link");
    assert_eq!(home.run("calibrate rows.csv --out link.toml --force").code, Some(0));
    assert!(home.path().join("link.toml").is_symlink());
    let text = std::fs::read_to_string(home.path().join("there/old.toml")).expect("written");
    assert_contains(&text, &["format = 1"]);
    let folder = home.run("calibrate rows.csv --out there --force");
    assert_eq!(folder.code, Some(1));
    assert_contains(&folder.stderr, &["there: is not a regular file; choose another name"]);
    assert_contains(&folder.stdout, &["cross-validated"]);
}

#[test]
fn people_read_what_each_constant_rests_on() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    let fit = home.run("calibrate rows.csv");
    let parts = ["before ", "fitted ", "cross-validated by group", "micro-batch", "without evidence", "by stack"];
    assert_contains(&fit.stdout, &parts);
    assert!(!home.path().join("measured.toml").exists());
}

/// A row that cannot be read, one that no preset stands for, and one whose stack another calibration serves.
#[test]
fn rows_that_took_no_part_are_told() {
    let home = Home::new();
    let row = |id: &str, cluster: &str, stack: &str| {
        let like = ROWS.lines().nth(1).expect("a row").replacen("a,a100-80gb-dgx,default", "", 1);
        format!("{id},{cluster},{stack}{like}\n")
    };
    let more = [row("c", "no-such-cluster", "default"), row("d", "a100-80gb-dgx", "ideal"), "e,short\n".to_owned()];
    home.write("rows.csv", &format!("{ROWS}{}", more.concat()));
    let why = "d: its stack uses calibration 'ideal', not 'measured', which the first row has";
    assert_contains(&home.run("calibrate rows.csv").stdout, &["\nskipped\n", "rows.csv:6: ", "  c: ", why]);
    let fit: Value = serde_json::from_str(&home.run("calibrate rows.csv --format json").stdout).expect("JSON");
    let ids: Vec<&str> =
        fit["skipped"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["rows.csv:6", "c", "d"]);
    assert_eq!(fit["after"]["step_time"]["rows"], 2);
}

/// What `validate` predicts with the default's constants is nothing to fit those to.
#[test]
fn rows_of_unknown_software_teach_nothing() {
    let home = Home::new();
    home.write("rows.csv", &ROWS.replace(",default,", ",nowhere,"));
    assert_contains(&home.run("calibrate rows.csv").refused().join("\n"), &["no stack 'nowhere'"]);
    assert_contains(&home.run("validate rows.csv").stdout, &["stack = default in"]);
}

/// Ideal software has no constants that rows could tell: each would be fitted to no number at all.
#[test]
fn rows_of_ideal_software_are_refused_by_the_calibration() {
    let home = Home::new();
    home.write("rows.csv", &ROWS.replace(",default,", ",ideal,"));
    let refused = home.run("calibrate rows.csv --out new/calibration/mine.toml");
    assert_contains(refused.refused()[0], &["'ideal' has ", "constants that rows can tell", "like default"]);
    assert!(!home.path().join("new").exists());
}

#[test]
fn rows_without_a_time_are_refused() {
    let home = Home::new();
    home.write("rows.csv", &ROWS.replace(",yes,", ",no,"));
    home.write("none.csv", ROWS.lines().next().expect("a header"));
    for file in ["rows.csv", "none.csv"] {
        assert!(!home.run(&format!("calibrate {file}")).refused().is_empty(), "{file}");
    }
    assert_contains(&home.run("calibrate none.csv").refused().join("\n"), &["none.csv: holds no run"]);
    assert_eq!(run("calibrate missing.csv").code, Some(1));
    assert!(!run("calibrate").refused().is_empty());
}

/// Neither measurements nor any other file are lost to a name that was typed wrong.
#[test]
fn a_fit_replaces_no_input_and_another_file_only_where_that_is_insisted_on() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    home.write("kept.toml", "kept");
    std::fs::hard_link(home.path().join("rows.csv"), home.path().join("again.csv")).expect("a link");
    for out in ["rows.csv", "./rows.csv --force", "again.csv --force"] {
        let refused = home.run(&format!("calibrate rows.csv --out {out}"));
        assert_contains(&refused.refused().join("\n"), &["is an input"]);
    }
    let taken = home.run("calibrate rows.csv --out kept.toml");
    assert_eq!((taken.code, taken.stdout.as_str()), (Some(1), ""));
    assert_contains(&taken.stderr, &["kept.toml: already exists", "--force"]);
    let read = |name: &str| std::fs::read_to_string(home.path().join(name)).expect("there");
    assert_eq!((read("rows.csv").as_str(), read("kept.toml").as_str()), (ROWS, "kept"));
}

/// A fit from scratch says how sure its constants are: the next one starts there, and a gap has causes. The constants and
/// what is left to the run make all of the gap; the band is narrower afterwards.
#[test]
fn a_posterior_is_written_and_started_from() {
    let home = Home::new();
    home.write("rows.csv", ROWS);
    // Those rows are so slow that the fit is at its bounds: only a faster one can tell more.
    home.write("one.csv", &ROWS.lines().take(2).map(|line| line.replace("0.2", "0.05") + "\n").collect::<String>());
    home.write("own/calibration/measured.toml", "what a fit replaces");
    let out = "--out own/calibration/measured.toml --force --format json";
    home.run(&format!("calibrate rows.csv --prior none {out}")).json(0);
    let one = |prior: &str| home.run(&format!("calibrate one.csv --presets own --format json {prior}")).json(0);
    let started = one("");
    assert_eq!(one("--prior shipped"), started);
    assert_ne!(one("--prior none")["constants"], started["constants"]);
    let mean = |when: &str| started[when]["step_time"]["mean"].as_f64().expect("a mean");
    assert!(mean("after") < mean("before"), "{started}");
    assert!(!home.run("calibrate rows.csv --prior shiped").refused().is_empty());

    let shown = "eval --presets own --hardware a100-80gb-dgx --model mpt-7b --nodes 2 --measured-mfu 20%";
    let report = home.run(&format!("{shown} --format json")).json(0);
    let told = &report["measured"];
    let predicted = number(&report, "step_time_s");
    let seconds = predicted * number(&report, "mfu") / 0.2;
    assert!((number(told, "step_time_s") / seconds - 1.0).abs() < 1e-9, "{told}");
    assert!((number(told, "gap") - (seconds / predicted - 1.0)).abs() < 1e-9, "{told}");
    let causes = told["causes"].as_array().expect("a list");
    let explained: f64 = causes.iter().map(|cause| number(cause, "share")).sum();
    assert!(!causes.is_empty() && (explained + number(told, "unexplained") - 1.0).abs() < 0.1, "{told}");
    // So few rows give no band; the run itself does. The shipped constants have one, which a run moves and makes hardly wider.
    assert!(told["band_before"].is_null(), "{told}");
    assert!(number(&told["band_after"], "low") < number(&told["band_after"], "high"), "{told}");
    let shipped = "eval --hardware a100-80gb-dgx --model mpt-7b --nodes 2 --measured-mfu 40% --format json";
    let told = &home.run(shipped).json(0)["measured"];
    let width = |band: &str| number(&told[band], "high") / number(&told[band], "low");
    assert!(width("band_after") < 1.05 * width("band_before"), "{told}");
    assert_contains(&home.run(shown).stdout, &["than predicted", "share of the gap", "this run", "80 % of such steps"]);
    assert_contains(&home.run(shown).stdout, &["it may have been", "hypotheses"]);
    let found = told["hypotheses"].as_array().expect("a list");
    assert!(
        found.iter().all(|one| number(one, "distance") >= 0.0 && one["change"].is_string() && one["value"].is_string())
    );
    let asked = |flags: &str| run(&format!("eval --hardware a100-80gb-dgx {flags}")).refused().join("\n");
    assert_contains(&asked("--measured-mfu 0"), &["from 0.0001% to 100%"]);
    assert_contains(&asked("--stack ideal --measured-mfu 30%"), &["--measured", "'ideal'", "calibrate --prior none"]);
}
