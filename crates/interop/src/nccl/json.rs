//! The JSON that the programs write with `-J` since 2.17.

use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::run::{BenchmarkRow, BenchmarkRun, ListedRank, TimedCollective};

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    args: Vec<String>,
    config: RunSettings,
    #[serde(default)]
    results: Vec<SizeResult>,
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

/// The first rank of a process: of several, the others are not listed.
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

impl Body {
    fn is_wrong(&self) -> bool {
        self.nwrong.is_some_and(|count| count >= 1.0)
    }
}

/// The most ranks of a process that are listed out.
const MOST_OF_A_PROCESS: u32 = 64;

/// The runs of a file, if it is that JSON.
pub fn runs(file: &str, text: &str) -> Option<Vec<BenchmarkRun>> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if !text.starts_with('{') {
        return None;
    }
    let documents = Deserializer::from_str(text).into_iter::<Value>();
    // Several runs may stand one after the other; one that was cut short ends the file.
    let found = documents.map_while(Result::ok).filter_map(|value| serde_json::from_value(value).ok());
    Some(found.map(|document| run(file, document)).collect())
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
    let mut found = BenchmarkRun {
        file: file.to_owned(),
        named: document.args.first().and_then(|program| TimedCollective::named_in(program)),
        listed: listed.collect(),
        ..BenchmarkRun::default()
    };
    for SizeResult { size, redop, out_of_place, in_place } in document.results {
        let Some(body) = out_of_place else { continue };
        let Some(micros) = body.time.or(body.cpu_time).filter(|micros| micros.is_finite() && *micros >= 0.0) else {
            continue;
        };
        if [Some(&body), in_place.as_ref()].into_iter().flatten().any(Body::is_wrong) {
            found.wrong = Some(0);
        }
        found.rows.push(BenchmarkRow {
            line: 0,
            size: size as f64,
            micros,
            algorithm: body.alg_bw,
            bus: body.bus_bw,
            reduces: Some(redop != "none"),
            checked: [body.nwrong.is_some(), in_place.is_some_and(|body| body.nwrong.is_some())],
        });
    }
    found
}
