//! Mutated files of every kind: read or refused in printable words, never a panic.
//!
//! Each kind has a folder of seeds, `tests/corpora/KIND`; a file that once broke something goes there and stays. A run
//! takes some tenths of a second for each kind; `SHARDSCOPE_FUZZ=600 cargo test --release --test fuzz` takes 600 seconds
//! for each, and other files every time. Bytes from the keyboard are fuzzed where they are read, in `src/term/keys`.
//!
//! A new format is one more folder and one more test of three lines.

#![expect(clippy::unwrap_used, reason = "a helper of tests ends the test")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shardscope::app::keymap::Keymap;
use shardscope::config::Config;
use shardscope::hardware::Cluster;
use shardscope::measured;
use shardscope::model::Model;
use shardscope::plan::Strategy;
use shardscope::presets::Library;
use shardscope::scenario::file::{self, FileError, Source};
use shardscope::search::planner::profile::MeasuredProfile;
use shardscope::snapshot::{Set, Snapshot};
use shardscope::stack::Stack;
use shardscope::text::is_hidden;

/// Files of a kind that are tried where nobody asks for more.
const FILES: usize = 2000;

/// What is put into a file: ends of ranges, what TOML and CSV mean something by, what a terminal obeys.
const WORDS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"1e308",
    b"nan",
    b"4294967296",
    b"18446744073709551616",
    b"\"",
    b"'''",
    b"[[",
    b"= {",
    b",",
    b"\n",
    b"\x1b]52;c;eA==\x07",
    b"\xe2\x80\xae",
    b"\xff",
    b"\\u202e",
];

/// Pushes mutated seeds of a kind through `read`, which gives what it said of each.
fn fuzz(kind: &str, read: impl Fn(&str) -> Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpora").join(kind);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    let seconds = std::env::var("SHARDSCOPE_FUZZ").ok().and_then(|seconds| seconds.parse().ok());
    let mut entropy = [7; 32];
    if seconds.is_some() {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        entropy[..16].copy_from_slice(&now.to_le_bytes());
    }
    let mut random = Random(TestRng::from_seed(RngAlgorithm::ChaCha, &entropy));
    let (start, limit) = (Instant::now(), seconds.map(Duration::from_secs));
    let mut tried = 0;
    while limit.map_or(tried < FILES, |limit| start.elapsed() < limit) {
        let bytes = if tried < seeds.len() { seeds[tried].clone() } else { random.mutated(&seeds) };
        let text = String::from_utf8_lossy(&bytes);
        // Printed only where the test fails: the file that did it.
        println!("{kind} {tried}: {text:?}");
        for message in read(&text) {
            assert!(message.chars().all(|c| c == '\n' || !is_hidden(c)), "{message:?}");
        }
        tried += 1;
    }
}

struct Random(TestRng);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0.next_u64() as usize % end.max(1)
    }

    fn range(&mut self, len: usize) -> std::ops::Range<usize> {
        let start = self.below(len + 1);
        start..(start + self.below(24)).min(len)
    }

    /// A seed after one to eight changes.
    fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(8) {
            let place = self.range(bytes.len());
            let new = match self.below(5) {
                0 => Vec::new(),
                1 => WORDS[self.below(WORDS.len())].to_vec(),
                2 => vec![self.below(256) as u8],
                3 => {
                    let other = &seeds[self.below(seeds.len())];
                    other[self.range(other.len())].to_vec()
                }
                _ => bytes[place.clone()].repeat(2),
            };
            bytes.splice(place, new);
        }
        bytes
    }
}

fn said<T>(read: Result<T, FileError>) -> Vec<String> {
    read.err().iter().map(ToString::to_string).collect()
}

/// A preset, and what is wrong with its values.
fn preset<P: serde::de::DeserializeOwned>(text: &str, problems: impl Fn(&P) -> Vec<(String, String)>) -> Vec<String> {
    match file::read::<P>(text, 1) {
        Ok((preset, source)) => vec![source.unmet(&problems(&preset)).to_string()],
        Err(error) => vec![error.to_string()],
    }
}

#[test]
fn scenarios() {
    let library = Library::embedded();
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
            (Err(musts), Ok(source)) => vec![source.unmet(&musts).to_string()],
            _ => Vec::new(),
        },
        Err(error) => vec![error.to_string()],
    });
}

#[test]
fn measured_rows() {
    let library = Library::embedded();
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
