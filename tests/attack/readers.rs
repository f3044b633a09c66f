//! Mutated files of every kind, given to what reads them: read or refused in printable words.
//!
//! Bytes from the keyboard are fuzzed where they are read too, in `src/term/keys`. A new format is one more folder of
//! `tests/corpora`, or of `tests/fixtures` where its files are real ones of others, and one more test of three lines.

use shardscope::app::state::keymap::Keymap;
use shardscope::config::Config;
use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::plan::Strategy;
use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file::{self, FileError, Source};
use shardscope_engine::scenario::{Field, Value};
use shardscope_engine::search::planner::profile::MeasuredProfile;
use shardscope_engine::stack::Stack;
use shardscope_engine::text::is_hidden;
use shardscope_evidence::measured;
use shardscope_interop::huggingface::{self, Families, ImportOptions};
use shardscope_interop::kineto::{self, TraceComparison};
use shardscope_interop::nccl::{self, LinkOptions};
use shardscope_interop::plans::{self, LauncherFile, PlanWishes};
use shardscope_interop::runs::{self, RunOptions};
use shardscope_interop::topology::{self, MachineWishes};
use shardscope_report::snapshot::{SessionFile, Set, Snapshot};

use super::harness::{Attack, seeds};

/// Files of a kind that are tried where nobody asks for more.
const FILES: usize = 2000;

/// Pushes mutated seeds of a kind through `read`, which gives what it said of each.
fn fuzz(kind: &str, read: impl Fn(&str) -> Vec<String>) {
    fuzz_bytes(kind, FILES, |bytes| read(&String::from_utf8_lossy(bytes)));
}

/// The same for what need not be text, or takes longer.
fn fuzz_bytes(kind: &str, times: usize, read: impl Fn(&[u8]) -> Vec<String>) {
    let seeds = seeds(kind);
    Attack::new(times).run(|random, tried| {
        let bytes = if tried < seeds.len() { seeds[tried].clone() } else { random.mutated(&seeds) };
        // Printed only where the test fails: the file that did it.
        println!("{kind} {tried}: {:?}", String::from_utf8_lossy(&bytes));
        for message in read(&bytes) {
            assert!(message.chars().all(|c| c == '\n' || !is_hidden(c)), "{message:?}");
        }
    });
}

fn said<T>(read: Result<T, FileError>) -> Vec<String> {
    read.err().iter().map(ToString::to_string).collect()
}

/// A preset, and what is wrong with its values.
fn preset<P: serde::de::DeserializeOwned>(text: &str, problems: impl Fn(&P) -> Vec<Problem>) -> Vec<String> {
    match file::read::<P>(text, 1) {
        Ok((preset, source)) => vec![source.mistakes(&problems(&preset)).to_string()],
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn scenarios() {
    let library = shardscope_presets::library();
    fuzz("scenario", |text| match file::parse(text).map(|file| library.resolve(&file)) {
        Ok(Ok(scenario)) => scenario.layout().err().iter().flatten().map(ToString::to_string).collect(),
        Ok(Err(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn snapshots() {
    fuzz("snapshot", |text| match Snapshot::parse(text).map(|snapshot| snapshot.scenario()) {
        Ok(Ok(scenario)) => scenario.layout().err().iter().flatten().map(ToString::to_string).collect(),
        Ok(Err(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn sets() {
    fuzz("set", |text| said(Set::parse(text)));
}

#[test]
fn presets() {
    fuzz("cluster", |text| preset(text, Cluster::problems));
    fuzz("model", |text| preset(text, Model::problems));
    fuzz("stack", |text| preset(text, Stack::problems));
    fuzz("strategy", |text| preset(text, |_: &Strategy| Vec::new()));
}

#[test]
fn configurations() {
    fuzz("configuration", |text| match file::read_unversioned::<Config>(text) {
        Ok(config) => match (Keymap::custom(&config.keys), Source::new(text)) {
            (Err(problems), Ok(source)) => vec![source.mistakes(&problems).to_string()],
            _ => Vec::new(),
        },
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn measured_rows() {
    let library = shardscope_presets::library();
    fuzz("rows", |text| {
        let (rows, mut skipped) = measured::read("rows.csv", text);
        skipped.extend(measured::cases(&rows, &library).1);
        skipped.into_iter().flat_map(|one| [one.id, one.why]).collect()
    });
}

#[test]
fn profiles() {
    fuzz("profile", |text| said(MeasuredProfile::parse(text)));
}

#[test]
fn configurations_of_hugging_face() {
    let families = Families::of_library(&shardscope_presets::library()).unwrap();
    fuzz("hf", |text| match huggingface::model(text, &families, ImportOptions::default()) {
        Ok(imported) => vec![imported.report.text()],
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn logs_of_runs() {
    let options = RunOptions { skip: None, given: &[] };
    fuzz("logs", |text| match runs::run("it.log", text, options) {
        Ok(imported) => {
            let (rows, unread) = measured::read("rows.csv", &imported.made.to_csv());
            assert!(rows.len() == 1 && unread.is_empty(), "{unread:?}");
            vec![imported.report.text(), imported.made.to_csv()]
        }
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    });
}

#[test]
fn configurations_of_launchers() {
    let library = shardscope_presets::library();
    let wishes = PlanWishes {
        fields: vec![(Field::Devices, 64.into()), (Field::Cluster, Value::Id("mi250x-lumi".into()))],
        ..PlanWishes::default()
    };
    fuzz("launch", |text| match plans::import(&[LauncherFile { name: "it.yaml", text }], wishes.clone(), &library) {
        Ok(imported) => {
            let written = imported.made.scenario.to_toml().unwrap();
            assert!(file::parse(&written).is_ok(), "{written}");
            vec![imported.report.text(), written]
        }
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    });
}

#[test]
fn logs_of_benchmarks() {
    let library = shardscope_presets::library();
    let base = shardscope_report::snapshot::open("default", &library).expect("the default").scenario;
    fuzz("links", |text| match nccl::links(&[("it.log".to_owned(), text.to_owned())], &base, LinkOptions::default()) {
        Ok(imported) => {
            assert_eq!(imported.made.cluster.problems(), []);
            vec![imported.report.text()]
        }
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    });
}

#[test]
fn outputs_of_tools() {
    let library = shardscope_presets::library();
    fuzz("topo", |text| {
        let wishes = MachineWishes { nodes: Some(2), rate: "400 GB/s".parse().ok(), ..MachineWishes::default() };
        match topology::machine(&[("it.txt".to_owned(), text.to_owned())], &library, wishes) {
            Ok(imported) => {
                assert_eq!(imported.made.cluster.problems(), []);
                vec![imported.report.text()]
            }
            Err(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    });
}

#[test]
fn traces_of_profilers() {
    fuzz_bytes("trace", FILES / 10, |bytes| match kineto::read(bytes) {
        Ok(recording) => {
            let made = TraceComparison::new(recording, None).expect("no scenario is asked for");
            let step = &made.made.measured;
            assert!(step.exposed_communication_s <= step.communication_s && step.idle_s.is_finite(), "{step:?}");
            vec![made.report.text(), made.made.text()]
        }
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn last_sessions() {
    let library = shardscope_presets::library();
    let home = tempfile::tempdir().unwrap();
    let file = SessionFile::at(home.path().join("last.toml"));
    fuzz("last", |text| {
        std::fs::write(file.path(), text).unwrap();
        file.clone().resume(&library).expect("there is one").err().into_iter().collect()
    });
}
