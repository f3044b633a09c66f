//! Files with one mistake each: what is said of them, in full, in one place for reading.
//!
//! `tests/bad_files/KIND-MISTAKE.toml` is opened as a user would open it; the messages are in
//! `tests/snapshots/`.

#![expect(clippy::unwrap_used, reason = "a helper of tests ends the test")]

use std::fs;
use std::path::{Path, PathBuf};

use shardscope::app::state::keymap::Keymap;
use shardscope::config::{self, Place};
use shardscope_engine::hardware::Cluster;
use shardscope_engine::scenario::file;
use shardscope_report::snapshot;

/// The files of one kind, by name.
fn files(kind: &str) -> Vec<(String, PathBuf)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad_files");
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let named = paths.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    let mut files: Vec<_> = named.filter(|(name, _)| name.starts_with(kind)).collect();
    files.sort();
    files
}

/// What opening a scenario or a snapshot and laying it out says.
fn opening(path: &str) -> String {
    let opened = match snapshot::open(path, &shardscope_presets::library()) {
        Ok(opened) => opened,
        Err(error) => return error.to_string(),
    };
    match opened.scenario.layout() {
        Ok(_) => "no mistake was found".to_owned(),
        Err(problems) => opened.mistakes(&problems).to_string(),
    }
}

/// What reading a cluster says.
fn reading(path: &str) -> String {
    let text = fs::read_to_string(path).unwrap();
    let error = match file::read::<Cluster>(&text, 1) {
        Err(error) => error,
        Ok((cluster, source)) => source.mistakes(&cluster.problems()),
    };
    error.in_file(path).to_string()
}

/// What reading a configuration says.
fn configuring(path: &str) -> String {
    let place = Place::find(Some(Path::new(path))).unwrap();
    match place.read() {
        Err(config::Error::Wrong(error)) => error.to_string(),
        Err(config::Error::Read(error)) => error.to_string(),
        Ok(config) => match Keymap::custom(&config.unwrap().keys) {
            Ok(_) => "no mistake was found".to_owned(),
            Err(problems) => config::mistakes(&place, &problems),
        },
    }
}

/// All messages, each under its file; one mistake each, in one printable line that names the file.
fn messages(kind: &str, message: impl Fn(&str) -> String) -> String {
    let directory = format!("{}/tests/bad_files/", env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    for (name, path) in files(kind) {
        let message = message(&path.display().to_string()).replace(&directory, "");
        assert!(!message.chars().any(char::is_control), "{name}: {message:?}");
        assert!(message.contains(&name), "{name}: {message}");
        text.push_str(&message);
        text.push('\n');
    }
    text
}

#[test]
fn scenarios_with_a_mistake() {
    insta::assert_snapshot!(messages("scenario-", opening));
}

#[test]
fn snapshots_with_a_mistake() {
    insta::assert_snapshot!(messages("snapshot-", opening));
}

#[test]
fn clusters_with_a_mistake() {
    insta::assert_snapshot!(messages("cluster-", reading));
}

#[test]
fn configurations_with_a_mistake() {
    insta::assert_snapshot!(messages("config-", configuring));
}
