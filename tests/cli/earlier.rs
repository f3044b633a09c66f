//! Files of each kind as versions 0.1.0 and 0.2.0 wrote them (`tests/fixtures`): every later version opens them.
//!
//! There are no migrations: the formats of all of them are still 1. A format that rises is named here with what turns
//! the old file into the new one.

use serde_json::Value;
use shardscope_report::snapshot::{LastSession, SessionFile};

use super::run::{Home, Run, assert_contains, run};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/0.1.0");

fn file(name: &str) -> String {
    let path = format!("{FOLDER}/{name}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn toml(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// As TOML, whose numbers are read exactly.
fn eval(arguments: &str) -> Value {
    let Run { code, stdout, stderr } = run(&format!("eval {arguments} --format toml"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    toml(&stdout)
}

fn eval_json(arguments: &str) -> Value {
    run(&format!("eval {arguments} --format json")).json(0)
}

/// Checks that everything that was said is still said, to the last digit; more may be said.
///
/// Three things are said otherwise since: a band that is not known is null as a whole, one that is known is wider, and the
/// capacity is what an allocator sees of the memory, up to 2 % less, on which hangs what 10 % more would give.
fn still(path: &str, then: &Value, now: &Value) {
    match (then, now) {
        (_, Value::Null) if path.ends_with("error_band.rows") => assert_eq!(then.as_f64(), Some(0.0), "{path}"),
        (Value::Number(then), Value::Number(now)) if path.ends_with("capacity_bytes") => {
            let share = now.as_f64().unwrap_or_default() / then.as_f64().unwrap_or_default();
            assert!((0.98..=1.0).contains(&share), "{path}: {share}");
        }
        (Value::Number(then), Value::Number(now)) if path.ends_with("error_band.low") => {
            assert!(now.as_f64() < then.as_f64(), "{path}: {now} of {then}");
        }
        (Value::Number(then), Value::Number(now)) if path.ends_with("error_band.high") => {
            assert!(now.as_f64() > then.as_f64(), "{path}: {now} of {then}");
        }
        (Value::Number(_), Value::Number(_)) if path.ends_with("spare_bytes") || path.ends_with("memory_capacity") => {}
        (Value::Object(then), _) => {
            then.iter().for_each(|(key, then)| still(&format!("{path}.{key}"), then, &now[key]));
        }
        (Value::Array(then), Value::Array(now)) => {
            assert_eq!(then.len(), now.len(), "{path}");
            (0..)
                .zip(then.iter().zip(now))
                .for_each(|(index, (then, now))| still(&format!("{path}.{index}"), then, now));
        }
        // TOML and JSON may write a whole number of seconds with a point or without.
        (Value::Number(then), Value::Number(now)) => assert_eq!(then.as_f64(), now.as_f64(), "{path}"),
        _ => assert_eq!(then, now, "{path}"),
    }
}

/// A band that is not known is null as a whole since.
const NO_ROWS: &str = "evaluation.error_band.rows";

/// Checks that every key is still there with a value of its kind, texts apart: what limits a step may change.
fn said(path: &str, then: &Value, now: &Value) {
    match then {
        Value::Object(then) => then.iter().for_each(|(key, then)| said(&format!("{path}.{key}"), then, &now[key])),
        Value::Number(rows) if now.is_null() => assert_eq!((path, rows.as_f64()), (NO_ROWS, Some(0.0))),
        Value::Number(_) => assert!(now.is_number(), "{path}: {now}"),
        Value::Null => {}
        _ => assert!(!now.is_null(), "{path} is gone"),
    }
}

/// Checks an evaluation whose physics moved since, as that of all rings of a node of MI250X did: everything is still said,
/// and the main figures are near. What is misread is not off by a seventh, but by factors.
fn evaluates(then: &Value, now: &Value) {
    said("evaluation", then, now);
    for place in ["/step_time_s", "/memory/peak_bytes", "/tokens_per_s_per_device"] {
        let [then, now] = [then, now].map(|one| one.pointer(place).and_then(Value::as_f64).expect(place));
        assert!((now / then - 1.0).abs() < 0.15, "{place}: {now}, not {then}");
    }
}

#[test]
fn a_snapshot_opens_and_its_figures_come_out_again() {
    let stored = toml(&file("snapshot.toml"));
    let now = eval(&format!("{FOLDER}/snapshot.toml"));
    evaluates(&stored["evaluation"], &now);
    still("scenario", &stored["scenario"], &now["scenario"]);
}

#[test]
fn a_set_opens_on_its_first_snapshot_and_its_figures_come_out_again() {
    let stored = toml(&file("set.toml"));
    let now = eval(&format!("{FOLDER}/set.toml"));
    still("evaluation", &stored["members"][0]["snapshot"]["evaluation"], &now);
}

#[test]
fn a_scenario_opens_with_every_field() {
    let now = eval(&format!("{FOLDER}/scenario.toml"));
    let stored = toml(&file("scenario.toml"));
    let plan = stored["plan"].as_object().expect("a table");
    // These four are written out in the placement of the state, the share as text.
    let kept =
        plan.iter().filter(|(key, _)| !["shard", "qwz", "hpz", "reshard_after_forward", "qgz"].contains(&key.as_str()));
    for (key, value) in kept.filter(|(key, _)| *key != "recompute") {
        still(key, value, &now["scenario"]["plan"][key]);
    }
    assert_eq!(now["scenario"]["plan"]["recompute"], "0.5");
    let sharding = &now["scenario"]["plan"]["sharding"];
    assert_eq!((&sharding["wire"]["weights"], &sharding["reshard_after_forward"]), (&"int8".into(), &false.into()));
    assert_eq!((&sharding["secondary"]["extent"], &sharding["two_hop_gradients"]), (&"node".into(), &false.into()));
}

#[test]
fn what_eval_printed_is_still_printed_and_its_scenario_opens() {
    let printed: Value = serde_json::from_str(&file("evaluation.json")).expect("JSON");
    evaluates(&printed, &eval_json("frontier-20b"));
    let printed = toml(&file("evaluation.toml"));
    evaluates(&printed, &eval(&format!("{FOLDER}/evaluation.toml")));
}

#[test]
fn a_sweep_prints_the_same_table() {
    // It held no global batch; the column for that is the last one. The rates are those of the constants of now.
    let Run { stdout, .. } = run("sweep h100-7b --global-batch free --x nodes=1..8 --y micro-batch=1,2 --format csv");
    let old = |line: &str| line.rsplit_once(',').map_or_else(String::new, |(columns, _)| format!("{columns}\n"));
    assert_eq!(stdout.lines().map(old).collect::<String>(), file("sweep.csv"));
}

#[test]
fn saved_presets_and_a_calibration_serve() {
    let printed: Value = serde_json::from_str(&file("mine.json")).expect("JSON");
    let now = eval_json(&format!("frontier-20b --presets {FOLDER}/presets --hardware frontier-mine --model neox-mine"));
    evaluates(&printed, &now);
}

#[test]
fn a_configuration_is_read() {
    let Run { code, stderr, .. } = run(&format!("eval --config {FOLDER}/config.toml"));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}

/// A snapshot of this version: what 0.1.0 wrote, with the figures and the version of now.
fn snapshot_of_now() -> String {
    let mut snapshot = file("snapshot.toml").parse::<toml::Table>().expect("TOML");
    let mut evaluation: toml::Table =
        run(&format!("eval {FOLDER}/snapshot.toml --format toml")).stdout.parse().expect("TOML");
    let known = snapshot["evaluation"].as_table().expect("a table").clone();
    evaluation.retain(|key, _| known.contains_key(key));
    snapshot.insert("evaluation".to_owned(), evaluation.into());
    snapshot.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    toml::to_string(&snapshot).expect("TOML")
}

#[test]
fn a_stored_evaluation_that_this_version_does_not_find_is_reported() {
    let home = Home::new();
    let mut snapshot = snapshot_of_now().parse::<toml::Table>().expect("TOML");
    let evaluation = snapshot["evaluation"].as_table_mut().expect("a table");
    let seconds = evaluation["step_time_s"].as_float().expect("a number");
    evaluation.insert("step_time_s".to_owned(), (seconds / 2.0).into());
    home.write("s.toml", &toml::to_string(&snapshot).expect("TOML"));
    let told = home.run("eval ./s.toml");
    assert_eq!(told.code, Some(0));
    assert_contains(&told.stderr, &["differs from what this same version computes"]);
    assert_contains(&told.stdout, &["stored by shardscope"]);
    let edited = home.run("eval ./s.toml --micro-batch 1");
    assert!(!edited.stderr.contains("not what"), "another scenario has other figures: {}", edited.stderr);
}

#[test]
fn every_stored_evaluation_of_a_set_is_held_against_what_comes_out() {
    let home = Home::new();
    let honest = snapshot_of_now().parse::<toml::Table>().expect("TOML");
    // Another scenario each, so that none stands for another.
    let member = |name: &str, micro_batch: i64, seconds: f64| {
        let mut snapshot = honest.clone();
        snapshot["scenario"]["plan"]
            .as_table_mut()
            .expect("a plan")
            .insert("micro_batch".to_owned(), micro_batch.into());
        snapshot["evaluation"].as_table_mut().expect("a table").insert("step_time_s".to_owned(), seconds.into());
        let member = [("name", toml::Value::from(name)), ("snapshot", snapshot.into())];
        toml::Value::Table(member.map(|(key, value)| (key.to_owned(), value)).into_iter().collect())
    };
    let members = vec![member("one", 1, 1.0), member("two", 2, 2.0), member("four", 4, 4.0)];
    let set = format!("format = 1\nkind = \"set\"\nversion = \"{}\"\n", env!("CARGO_PKG_VERSION"));
    let members = toml::to_string(&toml::Table::from_iter([("members".to_owned(), members.into())])).expect("TOML");
    home.write("set.toml", &(set + &members));
    let told = home.run("eval ./set.toml").stderr;
    assert_eq!(told.matches("differs from what this same version computes").count(), 3, "{told}");
    assert_contains(&told, &["two: the evaluation", "four: the evaluation"]);
}

#[test]
fn a_file_that_cannot_be_read_names_the_version_that_wrote_it() {
    let home = Home::new();
    home.write("s.toml", &file("snapshot.toml").replacen("[model]", "[model]\nwas_known = 1", 1));
    let told = home.run("eval ./s.toml").refused().join("\n");
    assert_contains(&told, &["was_known", "shardscope 0.1.0 wrote this file", "open it with 0.1.0"]);
}

/// What 0.2.0 wrote. Its figures may have moved with the physics: they are still said, and the main ones are near.
mod of_0_2_0 {
    use super::*;

    const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/0.2.0");

    fn file(name: &str) -> String {
        let path = format!("{FOLDER}/{name}");
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn eval_toml(arguments: &str) -> Value {
        let Run { code, stdout, .. } = run(&format!("eval {arguments} --format toml"));
        assert_eq!(code, Some(0), "{arguments}");
        toml(&stdout)
    }

    #[test]
    fn a_snapshot_and_a_set_open() {
        let stored = toml(&file("snapshot.toml"));
        let now = eval_toml(&format!("{FOLDER}/snapshot.toml"));
        evaluates(&stored["evaluation"], &now);
        still("scenario", &stored["scenario"], &now["scenario"]);
        let stored = toml(&file("set.toml"));
        let first = &stored["members"][0]["snapshot"];
        let now = eval_toml(&format!("{FOLDER}/set.toml"));
        evaluates(&first["evaluation"], &now);
        still("scenario", &first["scenario"], &now["scenario"]);
    }

    #[test]
    fn the_last_session_comes_back_with_its_view_and_its_pins() {
        let opened = SessionFile::at(format!("{FOLDER}/last.toml").into()).resume(&shardscope_presets::library());
        let LastSession { opened, .. } = opened.expect("it is there").expect("it opens");
        // 32 nodes were pinned, then 48, at which it was left.
        assert_eq!((opened.view.as_deref(), opened.scenario.devices()), (Some("advice"), 48 * 8));
        let pinned: Vec<u32> = opened.pins.iter().map(|pin| pin.scenario.devices()).collect();
        assert_eq!(pinned, [32 * 8, 48 * 8]);
    }

    #[test]
    fn a_scenario_on_a_cluster_a_model_and_a_calibration_of_ones_own_serves() {
        let printed: Value = serde_json::from_str(&file("evaluation.json")).expect("JSON");
        let arguments = format!("{FOLDER}/scenario.toml --presets {FOLDER}/presets");
        let now = run(&format!("eval {arguments} --format json")).json(0);
        evaluates(&printed, &now);
        still("scenario", &printed["scenario"], &now["scenario"]);
        let printed = toml(&file("evaluation.toml"));
        evaluates(&printed, &eval_toml(&format!("{FOLDER}/evaluation.toml --presets {FOLDER}/presets")));
        // Its posterior, and the table of runs beside it.
        let support = run(&format!("support {arguments} --format json"));
        assert_eq!(support.code, Some(0), "{}", support.stderr);
        let told = run(&format!("eval {arguments} --measured 1s --format json"));
        // The posterior is of the 38 constants of then: what it says of them is not said of today's 46.
        assert_contains(
            &told.refused().join("\n"),
            &["--measured", "`calibrate --prior none` writes a calibration that does"],
        );
    }

    #[test]
    fn a_configuration_is_read() {
        let Run { code, stderr, .. } = run(&format!("eval --config {FOLDER}/config.toml"));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
    }

    #[test]
    fn parts_are_put_together() {
        let parts = |of: &str, form: &str| format!("{FOLDER}/{of}-part0.{form} {FOLDER}/{of}-part1.{form}");
        let whole = run(&format!("merge {}", parts("sweep", "csv")));
        assert_eq!((whole.code, whole.stderr.as_str()), (Some(0), ""));
        let cells = |part: u8| file(&format!("sweep-part{part}.csv")).lines().count() - 2;
        // A header before them, and a seal behind each part.
        assert_eq!((whole.stdout.lines().count(), cells(0) + cells(1)), (7, 6));
        let whole = run(&format!("merge {}", parts("search", "json"))).json(0);
        assert_eq!(whole["plans"].as_array().map(Vec::len), Some(2));
    }
}
