//! Draws `assets/trace.svg` as Perfetto shows the trace that `export --to trace` writes: `cargo run --example trace_picture`.
//!
//! Nothing but the file's own events is drawn: threads as tracks in their order, spans, flows, and the counter of memory.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::file;
use shardscope_interop::trace::RankTrace;

/// A model of 24 layers on two nodes, sharded over all of them.
const CHANGES: [(&str, &str); 4] =
    [("hardware", "a100-80gb-dgx"), ("model", "mpt-1b"), ("nodes", "2"), ("global-batch", "free")];

const WIDTH: f64 = 1000.0;
const LABEL: f64 = 130.0;
const TRACK: f64 = 30.0;
const AXIS: f64 = 26.0;
const COUNTER: f64 = 70.0;

fn main() -> Result<(), Box<dyn Error>> {
    let library = shardscope_presets::library();
    let mut file = file::parse(&library.scenario_text("default")?.text)?;
    for (field, value) in CHANGES {
        file.set(field, value)?;
    }
    file.set("accumulate", "1")?;
    let scenario = library.resolve(&file).map_err(|problems| format!("{problems:?}"))?;
    let traces = RankTrace::all(&scenario, &mut Workspace::default()).map_err(|problems| format!("{problems:?}"))?;
    let mut text = Vec::new();
    traces.first().ok_or("no rank")?.write(&mut text)?;
    let trace: Value = serde_json::from_slice(&text)?;
    let events = trace["traceEvents"].as_array().ok_or("no events")?;
    std::fs::write("assets/trace.svg", picture(events)?)?;
    println!("assets/trace.svg");
    Ok(())
}

fn number(event: &Value, key: &str) -> f64 {
    event[key].as_f64().unwrap_or(0.0)
}

fn is(event: &Value, kind: &str) -> bool {
    event["ph"] == kind
}

fn picture(events: &[Value]) -> Result<String, Box<dyn Error>> {
    let names = events.iter().filter(|event| event["name"] == "thread_name");
    let threads: BTreeMap<u64, &str> =
        names.filter_map(|event| Some((event["tid"].as_u64()?, event["args"]["name"].as_str()?))).collect();
    let rows: BTreeMap<u64, f64> =
        threads.keys().zip(0..).map(|(thread, row)| (*thread, AXIS + f64::from(row) * TRACK)).collect();
    let row = |event: &Value| event["tid"].as_u64().and_then(|thread| rows.get(&thread)).copied().unwrap_or(AXIS);
    let end = events.iter().map(|event| number(event, "ts") + number(event, "dur")).fold(0.0, f64::max);
    let x = |micros: f64| LABEL + micros / end * (WIDTH - LABEL - 10.0);
    let bottom = AXIS + threads.len() as f64 * TRACK;
    let height = bottom + COUNTER + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"Roboto, 'Helvetica Neue', sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for tenth in 0..=10 {
        let at = end * f64::from(tenth) / 10.0;
        writeln!(svg, "<path d=\"M{0:.1} {AXIS}V{bottom}\" stroke=\"#eceff1\"/>", x(at))?;
        if tenth < 10 {
            writeln!(svg, "<text x=\"{:.1}\" y=\"17\" fill=\"#607d8b\">{:.0} ms</text>", x(at) + 2.0, at / 1e3)?;
        }
    }
    for (thread, name) in &threads {
        let y = rows[thread];
        writeln!(svg, "<text x=\"8\" y=\"{:.0}\" fill=\"#37474f\">{name} {thread}</text>", y + 19.0)?;
        writeln!(svg, "<path d=\"M0 {y}H{WIDTH}\" stroke=\"#cfd8dc\"/>")?;
    }
    for span in events.iter().filter(|event| is(event, "X")) {
        let (name, left, y) = (span["name"].as_str().unwrap_or_default(), x(number(span, "ts")), row(span) + 5.0);
        let wide = (x(number(span, "ts") + number(span, "dur")) - left).max(0.3);
        let fill = colour(name);
        writeln!(
            svg,
            "<rect x=\"{left:.2}\" y=\"{y}\" width=\"{wide:.2}\" height=\"{}\" fill=\"{fill}\"/>",
            TRACK - 10.0
        )?;
        if wide > 7.0 * name.len() as f64 {
            writeln!(svg, "<text x=\"{:.1}\" y=\"{}\" fill=\"#fff\">{name}</text>", left + 4.0, y + 14.0)?;
        }
    }
    let ends: BTreeMap<u64, &Value> =
        events.iter().filter(|event| is(event, "f")).filter_map(|flow| Some((flow["id"].as_u64()?, flow))).collect();
    for flow in events.iter().filter(|event| is(event, "s")) {
        let Some(to) = flow["id"].as_u64().and_then(|id| ends.get(&id)) else { continue };
        let (from, to, y, used) = (x(number(flow, "ts")), x(number(to, "ts")), row(flow) + 5.0, row(to) + TRACK - 5.0);
        writeln!(
            svg,
            "<path d=\"M{from:.2} {y:.1}C{from:.2} {used:.1} {to:.2} {y:.1} {to:.2} {used:.1}\" fill=\"none\" stroke=\"#455a64\" stroke-width=\"0.5\"/>"
        )?;
    }
    counter(&mut svg, events, (bottom, end), x)?;
    svg.push_str("</svg>\n");
    Ok(svg)
}

/// Memory as one area, the sum of its parts.
fn counter(
    svg: &mut String,
    events: &[Value],
    (top, end): (f64, f64),
    x: impl Fn(f64) -> f64,
) -> Result<(), Box<dyn Error>> {
    let sum =
        |event: &Value| event["args"].as_object().into_iter().flatten().filter_map(|(_, part)| part.as_f64()).sum();
    let points: Vec<(f64, f64)> =
        events.iter().filter(|event| is(event, "C")).map(|event| (number(event, "ts"), sum(event))).collect();
    let most = points.iter().map(|(_, gib)| *gib).fold(0.0, f64::max);
    let base = top + COUNTER;
    let y = |gib: f64| base - gib / most * (COUNTER - 14.0);
    let mut path = format!("M{:.1} {base}", x(0.0));
    for (at, gib) in &points {
        write!(path, "H{:.2}V{:.1}", x(*at), y(*gib))?;
    }
    writeln!(svg, "<path d=\"M0 {top}H{WIDTH}\" stroke=\"#cfd8dc\"/>")?;
    writeln!(
        svg,
        "<path d=\"{path}H{:.1}V{base}Z\" fill=\"#90caf9\" stroke=\"#1976d2\" stroke-width=\"0.8\"/>",
        x(end)
    )?;
    writeln!(svg, "<text x=\"8\" y=\"{:.0}\" fill=\"#37474f\">memory, GiB</text>", top + 19.0)?;
    writeln!(svg, "<text x=\"{:.0}\" y=\"{:.0}\" fill=\"#37474f\">{most:.1}</text>", x(0.0) + 3.0, top + 11.0)?;
    Ok(())
}

/// A colour of its own for each name, as Perfetto gives.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("hsl({}, 45%, 52%)", hash.wrapping_mul(2_654_435_761) >> 16 & 0x1ff)
}
