//! Snapshots out and in, on disk and as text.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use crate::figures::Figures;
use crate::figures::report::tests::{evaluation, scenario};
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::presets::{self, Library};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::full;
use shardscope_engine::units::{Bytes, Seconds, Watts};
use shardscope_library::folders::with_folders;

use super::write::write_to_first;
use super::*;

fn text() -> String {
    let scenario = scenario();
    Snapshot::new(&scenario, &evaluation(&scenario)).to_toml().expect("text")
}

#[test]
fn a_snapshot_reads_back_to_the_last_bit() {
    let mut scenario = scenario();
    let mut cluster = Cluster::clone(&scenario.cluster);
    // Neither is a round number of any unit.
    cluster.device.memory = Bytes::new(80e9 / 3.0);
    cluster.levels[0].latency = Seconds::new(1e-6 / 7.0);
    cluster.price_per_device_hour = "3.3333333333333335 EUR".parse().ok();
    cluster.watts_per_device = Some(Watts::new(1000.0 / 3.0));
    scenario.cluster = Arc::new(cluster);
    scenario.plan.bandwidth_factor = 1.0 / 3.0;
    let snapshot = Snapshot::new(&scenario, &evaluation(&scenario));
    let back = Snapshot::parse(&snapshot.to_toml().expect("text")).expect("valid");
    assert_eq!(back, snapshot);
    assert_eq!(back.scenario(), Ok(scenario));
}

/// Every preset scenario, and those that lean on what few do: link maps, levels, formats on the wire.
fn scenarios(library: &Library) -> Vec<Scenario> {
    let presets = library.entries(presets::Kind::Scenario);
    let mut all: Vec<Scenario> = presets.map(|entry| open(&entry.id, library).expect(&entry.id).scenario).collect();
    for (cluster, stack, model, strategy) in [
        ("mi250x-frontier", "deepspeed-zero3-2022", "gpt-neox-20b", "zero-topo"),
        ("mi250x-frontier", "deepspeed-zero3-2022", "gpt-neox-20b", "zeropp"),
        ("a100-40gb-juwels", "default", "llama-2-13b", "hsdp"),
        ("v100-32gb-dgx2", "ideal", "x-32", "ddp"),
    ] {
        let mut file = ScenarioFile::of(&scenario());
        for (flag, id) in [("hardware", cluster), ("stack", stack), ("model", model), ("strategy", strategy)] {
            file.set(flag, id).expect(id);
        }
        file.set("precision", "fp16").expect("precision");
        all.push(library.resolve(&file).expect(cluster));
    }
    all
}

#[test]
fn a_snapshot_evaluates_to_the_last_bit() {
    let mut workspace = Workspace::default();
    for scenario in scenarios(&shardscope_presets::library()) {
        let evaluation = full(&scenario, &mut workspace).expect(&scenario.name);
        let snapshot = Snapshot::new(&scenario, &evaluation);
        let back = Snapshot::parse(&snapshot.to_toml().expect("text")).expect("valid");
        let again = back.scenario().expect("scenario");
        assert_eq!(full(&again, &mut workspace), Ok(evaluation), "{}", scenario.name);
        assert_eq!(back.evaluation, snapshot.evaluation, "{}", scenario.name);
    }
}

#[test]
fn what_a_snapshot_holds_wins_over_ids() {
    let memory = scenario().cluster.device.memory.exact();
    let changed = text().replace(&format!("\"{memory}\""), "\"7 GB\"").replace("\"fsdp\"", "\"my-own\"");
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("changed.toml");
    fs::write(&path, changed).expect("write");
    let opened = open(&path.display().to_string(), &shardscope_presets::library()).expect("opened");
    assert_eq!(opened.scenario.cluster.device.memory, Bytes::new(7e9));
    assert_eq!(opened.scenario.cluster.id, "h100-80gb-dgx");
    assert_eq!(&*opened.scenario.strategy, "my-own");
    let stored = opened.stored.expect("stored");
    assert_eq!(stored.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(stored.figures, Figures::new(&scenario(), &evaluation(&scenario())));
}

#[test]
fn a_mistake_in_a_snapshot_is_said_where_it_stands() {
    let library = shardscope_presets::library();
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("changed.toml");
    for (from, to, message) in [
        ("compute_units = ", "compute_units = 0 # ", "cluster.device.compute_units: must be above 0"),
        (
            "matmul_fp8 = ",
            "matmul_fp8 = 7.0 # ",
            "calibration.architectures.ampere.matmul_fp8: must be above 0 and at most 1.25",
        ),
        (
            "reserve = ",
            "reserve = 1e9 # ",
            "calibration.allocator.reserve: invalid type: floating point `1000000000.0`, expected a size",
        ),
        ("micro_batch = 4", "micro_batch = 0", "scenario.plan.micro_batch: 0 is out of range; choose"),
        ("tensor = 1", "tensor = 64", "scenario.plan.tensor: 64 does not divide the 32 heads of MPT-7B; choose"),
        ("gated = ", "gate = ", "model.gate: unknown field `gate`, expected one of `format`"),
        ("[scenario.plan.sharding", "[scenario.plan.shardin", "scenario.plan.shardin: unknown field `shardin`"),
    ] {
        let text = text();
        let at = text.find(from).expect(from);
        fs::write(&path, text.replacen(from, to, 1)).expect("write");
        let error = match open(&path.display().to_string(), &library) {
            Ok(opened) => opened.mistakes(&opened.scenario.layout().expect_err(to)),
            Err(OpenError::File(error)) => error,
            Err(other) => panic!("{other}"),
        };
        let line = text[..at].matches('\n').count() + 1;
        assert_eq!((error.mistakes.len(), error.mistakes[0].line), (1, line), "{error}");
        assert!(error.mistakes[0].message.starts_with(message), "{error}");
    }
}

#[test]
fn presets_and_scenario_files_open_alike() {
    let directory = tempfile::tempdir().expect("directory");
    let path = directory.path().join("scenarios/mine.toml");
    fs::create_dir_all(path.parent().expect("parent")).expect("create");
    let mut file = ScenarioFile::of(&scenario());
    file.plan.sharding = None;
    fs::write(&path, file.to_toml().expect("text")).expect("write");
    let (library, warnings) = with_folders(shardscope_presets::library(), None, &[directory.path().to_owned()]);
    assert!(warnings.is_empty(), "{warnings:?}");
    let preset = open("mine", &library).expect("preset");
    let opened = open(&path.display().to_string(), &library).expect("file");
    assert_eq!((&preset.scenario, &opened.scenario), (&scenario(), &scenario()));
    assert_eq!((opened.file, opened.stored), (file, None));
    let problem = Problem { field: "cluster".to_owned(), what: "is".to_owned(), fix: "fix".to_owned() };
    let place = format!("{}:3:1: cluster: is; fix", path.display());
    assert_eq!(preset.mistakes(&[problem]).to_string(), place);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let library = shardscope_presets::library();
    let directory = tempfile::tempdir().expect("directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("large.toml"), " ".repeat((2 << 20) + 1)).expect("write");
    fs::write(path("binary.toml"), [0xff, 0xfe]).expect("write");
    for (name, what) in [
        (path("none.toml"), "none.toml: No such file"),
        (path("large.toml"), "large.toml: it is larger than 2 MiB"),
        (path("binary.toml"), "binary.toml: it is not text in UTF-8"),
        (path("."), "cannot read "),
        ("no-such-preset".to_owned(), "no-such-preset"),
    ] {
        let message = open(&name, &library).expect_err(what).to_string();
        assert!(message.contains(what), "{message}");
    }
}

#[test]
fn a_file_is_written_whole_under_a_name_of_its_own() {
    let directory = tempfile::tempdir().expect("directory");
    let scenario = scenario();
    let first = write(directory.path(), &scenario, "one").expect("first");
    let second = write(directory.path(), &scenario, "two").expect("second");
    assert_eq!(first, directory.path().join("mpt-7b-h100-80gb-dgx-fsdp-64.toml"));
    assert_eq!(second, directory.path().join("mpt-7b-h100-80gb-dgx-fsdp-64-2.toml"));
    assert_eq!(fs::read_to_string(first).expect("read"), "one");
    assert_eq!(fs::read_to_string(second).expect("read"), "two");
    assert_eq!(fs::read_dir(directory.path()).expect("list").count(), 2, "no temporary file is left");
}

#[test]
fn a_name_leads_out_of_no_directory() {
    let directory = tempfile::tempdir().expect("directory");
    let mut scenario = scenario();
    scenario.strategy = "../../\u{1b}[2J é/x".into();
    let mut model = Model::clone(&scenario.model);
    model.id = "../..".to_owned();
    scenario.model = Arc::new(model);
    let path = write(directory.path(), &scenario, "text").expect("written");
    assert_eq!(path.parent(), Some(directory.path()));
}

#[test]
fn the_next_directory_takes_what_the_first_cannot() {
    let directory = tempfile::tempdir().expect("directory");
    // A file stands where the directory would be: no user may write in it, root included.
    let blocked = directory.path().join("blocked");
    fs::write(&blocked, "").expect("write");
    let data = directory.path().join("data/shardscope");
    let path = write_to_first([blocked.clone(), data.clone()], &scenario(), "text").expect("written");
    assert_eq!(path.parent(), Some(data.as_path()));
    let error = write_to_first([blocked.clone(), blocked.join("below")], &scenario(), "text").expect_err("blocked");
    assert_eq!(error.0.len(), 2);
    let message = error.to_string();
    assert!(message.contains("cannot create the directory") && message.contains("blocked/below"), "{message}");
}

#[cfg(unix)]
#[test]
fn a_snapshot_can_be_read_by_whom_the_mask_allows() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("directory");
    let plain = directory.path().join("plain");
    fs::write(&plain, "").expect("write");
    let mode = |path: &Path| fs::metadata(path).expect("metadata").permissions().mode();
    let path = write(directory.path(), &scenario(), "text").expect("written");
    assert_eq!(mode(&path), mode(&plain));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_mutated_snapshot_is_read_or_refused(at in 0.0..1.0_f64, length in 0_usize..40, put in "[ -~\n]{0,6}") {
        let text = text();
        let at = (at * text.len() as f64) as usize;
        let mutated = format!("{}{put}{}", &text[..at], &text[(at + length).min(text.len())..]);
        if let Ok(snapshot) = Snapshot::parse(&mutated) {
            let _ = snapshot.scenario().map(|scenario| scenario.layout());
        }
    }
}
