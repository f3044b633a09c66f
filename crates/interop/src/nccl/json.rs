//! JSON that nccl-tests write with `-J` since 2.17.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::run::{BenchmarkRow, BenchmarkRun, ListedRank, TimedCollective};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    args: FirstArgument,
    config: RunSettings,
    #[serde(default)]
    results: TimedSizes,
}

/// The program's name; later arguments are skipped.
#[derive(Default)]
struct FirstArgument(Option<String>);

impl<'de> Deserialize<'de> for FirstArgument {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Self(None))
    }
}

impl<'de> Visitor<'de> for FirstArgument {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of arguments")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        let first = seq.next_element()?;
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self(first))
    }
}

/// The timed sizes; sizes without a time are skipped while reading.
#[derive(Default)]
struct TimedSizes {
    rows: Vec<BenchmarkRow>,
    any_wrong: bool,
}

impl<'de> Deserialize<'de> for TimedSizes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(Self::default())
    }
}

impl<'de> Visitor<'de> for TimedSizes {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of sizes")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Self, A::Error> {
        while let Some(result) = seq.next_element::<SizeResult>()? {
            if let Some((row, wrong)) = result.timed() {
                self.rows.push(row);
                self.any_wrong |= wrong;
            }
        }
        Ok(self)
    }
}

#[derive(Deserialize)]
struct RunSettings {
    #[serde(default = "one")]
    nthreads: u32,
    #[serde(default = "one")]
    ngpus: u32,
    #[serde(default)]
    devices: Vec<Process>,
}

const fn one() -> u32 {
    1
}

/// The first rank of a process; its other ranks are not listed.
#[derive(Deserialize)]
struct Process {
    rank: u32,
    #[serde(default)]
    group: u32,
    hostname: String,
    #[serde(default)]
    device_info: String,
}

#[derive(Deserialize)]
struct SizeResult {
    size: u64,
    #[serde(default)]
    redop: String,
    out_of_place: Option<Body>,
    in_place: Option<Body>,
}

#[derive(Deserialize)]
struct Body {
    time: Option<f64>,
    cpu_time: Option<f64>,
    alg_bw: f64,
    bus_bw: f64,
    nwrong: Option<f64>,
}

impl SizeResult {
    /// The time of one size, and true if results were wrong.
    fn timed(self) -> Option<(BenchmarkRow, bool)> {
        let Self { size, redop, out_of_place, in_place } = self;
        let body = out_of_place?;
        let micros = body.time.or(body.cpu_time).filter(|micros| micros.is_finite() && *micros >= 0.0)?;
        let wrong = [Some(&body), in_place.as_ref()].into_iter().flatten().any(Body::is_wrong);
        let row = BenchmarkRow {
            line: 0,
            size: size as f64,
            micros,
            algorithm: body.alg_bw,
            bus: body.bus_bw,
            reduces: Some(redop != "none"),
            checked: [body.nwrong.is_some(), in_place.is_some_and(|body| body.nwrong.is_some())],
        };
        Some((row, wrong))
    }
}

impl Body {
    fn is_wrong(&self) -> bool {
        self.nwrong.is_some_and(|count| count >= 1.0)
    }
}

/// The most ranks that are listed of a process, and of a run.
const MOST_OF_A_PROCESS: u32 = 64;
const MOST_RANKS: usize = 1 << 18;

/// The runs of a file; `None` if it is not this JSON.
pub fn runs(file: &str, text: &str) -> Option<Vec<BenchmarkRun>> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return None;
    }
    // Documents may follow each other, runs or not; a truncated one ends the file. Each is skipped first, and then read
    // for a run's fields alone: nothing else of it is held.
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(Ok(IgnoredAny)) = documents.next() {
        let end = documents.byte_offset();
        found.extend(serde_json::from_str(&text[start..end]).ok().map(|document| run(file, document)));
        start = end;
    }
    Some(found)
}

fn run(file: &str, document: Document) -> BenchmarkRun {
    let RunSettings { nthreads, ngpus, devices } = document.config;
    let each = nthreads.saturating_mul(ngpus).clamp(1, MOST_OF_A_PROCESS);
    let listed = devices.iter().flat_map(|process| {
        (0..each).map(|more| ListedRank {
            rank: process.rank.saturating_add(more),
            group: process.group,
            host: process.hostname.clone(),
            device: process.device_info.trim().to_owned(),
        })
    });
    let TimedSizes { rows, any_wrong } = document.results;
    BenchmarkRun {
        file: file.to_owned(),
        named: document.args.0.and_then(|program| TimedCollective::named_in(&program)),
        listed: listed.take(MOST_RANKS).collect(),
        rows,
        wrong: any_wrong.then_some(0),
        ..BenchmarkRun::default()
    }
}
