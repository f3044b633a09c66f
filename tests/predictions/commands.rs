//! What the commands answer as JSON: limits, sweeps, plans, training times, measured rows.

use std::process::{Command, Stdio};

use rayon::prelude::*;
use serde_json::Value;

use super::table::{BETWEEN, Table};

/// The commands whose answers are compared, each with its name in the table; without `--format json`.
const COMMANDS: [(&str, &str); 30] = [
    ("validate", "validate"),
    ("sweep-batch", "sweep h100-7b --x nodes=1..64 --y micro-batch=1,2,4,8"),
    ("sweep-batch-tuned", "sweep h100-7b --x nodes=1..64 --y micro-batch=1,2,4,8 --tune"),
    ("sweep-memory", "sweep --x nodes=1..16 --y shard=device,8,node,system --metric memory"),
    ("sweep-mesh", "sweep --x tp=1,2,4,8 --y pp=1,2,4,8 --metric step-time --accumulate 8"),
    ("sweep-what-if", "sweep --x bandwidth=0.25,1,4 --y memory=0.5,1,2 --metric mfu --tune"),
    ("sweep-exposed", "sweep frontier-20b --x nodes=8..64 --y shard=innermost,node,system --metric exposed"),
    ("sweep-share", "sweep frontier-20b --x seq=1024,2048,4096 --y accumulate=1,4,16 --metric share-of-limit"),
    (
        "sweep-headroom",
        "sweep --hardware a100-40gb-dgx --model llama-2-7b --x seq=512..8192 --y nodes=1,4,16 --metric headroom --tune",
    ),
    (
        "sweep-limit",
        "sweep --hardware v100-32gb-dgx2 --strategy zeropp --model mpt-7b --x nodes=1,4,16 --y micro-batch=1,2,4 \
         --metric limit",
    ),
    ("sweep-hours", "sweep h100-7b --x nodes=1,8,64 --y accumulate=1,4 --metric device-hours"),
    ("plan-osdp", "plan osdp-48x1536 --any-plan"),
    ("plan-osdp-paper", "plan osdp-48x1536 --cost-model paper --objective step-time"),
    ("plan-osdp-memory", "plan osdp-48x1536 --memory-limit 8GiB --objective memory --top 2 --any-plan"),
    ("plan-throughput", "plan h100-7b --nodes 2 --model mpt-1b --objective throughput --any-plan"),
    ("plan-devices", "plan h100-7b --nodes 2 --model mpt-1b --objective devices --any-plan"),
    ("grid", "plan --grid"),
    ("grid-a100", "plan --grid --hardware a100-40gb-juwels --model fsdp-13b --nodes 16"),
    (
        "grid-bare",
        "plan --grid --alpha 0.5 --model fsdp-7b --devices 512 --memory 40GB --link 25GB/s --peak 312TFLOP/s",
    ),
    (
        "training-steps",
        "plan --objective training-time --hardware a100-80gb-nvlink16 --stack ideal --model x-32 --recompute full \
         --devices-max 64 --critical-batch 100 --steps 1000",
    ),
    (
        "training-kaplan",
        "plan --objective training-time --hardware a100-80gb-nvlink16 --model x-32 --devices-max 32 \
         --critical-batch kaplan --tokens 1e9",
    ),
    (
        "training-layered",
        "plan --objective training-time --hardware h100-80gb-dgx --model mpt-125m --devices-max 16 \
         --critical-batch layered --steps 5000",
    ),
    ("profile-8", "plan --profile tests/fixtures/osdp_profile.csv --layers 48 --hidden 1024 --memory-limit 8GiB"),
    (
        "profile-16",
        "plan --profile tests/fixtures/osdp_profile.csv --layers 48 --hidden 1536 --memory-limit 16GiB --reserve 0GiB",
    ),
    (
        "limits-175b",
        "limits --model fsdp-175b --devices 512 --memory 40GB --link 25GB/s --peak 312TFLOP/s --seq 2048 --gamma 0 \
         --stage 3",
    ),
    (
        "limits-13b",
        "limits --model fsdp-13b --devices 64 --memory 40GB --link 12.5GB/s --peak 312TFLOP/s --seq 4096 --gamma 0.5 \
         --n-bwd 2",
    ),
    (
        "limits-310b",
        "limits --model fsdp-310b --devices 8 --memory 16GB --link 25GB/s --peak 312TFLOP/s --seq 512 --stage 2",
    ),
    ("calibrate", "calibrate presets/measured/fsdp.csv"),
    ("sweep-cost", "sweep lora-70b --x packing=500,1000,4000 --y nodes=1,2 --price 2.50EUR --metric cost"),
    ("eval-cost", "eval lora-70b --packing 900 --epochs 2 --price 2.50EUR"),
];

/// What `limits` is asked of: each cluster with each of a few models, jobs and strategies.
const LIMITS: [(&str, &[&str]); 4] = [
    (
        "hardware",
        &["a100-40gb-juwels", "a100-80gb-dgx", "gh200-96gb-alps", "h100-80gb-dgx", "mi250x-frontier", "v100-32gb-dgx2"],
    ),
    ("model", &["fsdp-7b", "llama-2-13b", "gpt3-175b"]),
    ("nodes", &["4", "128"]),
    ("recompute", &["none", "0.4", "full"]),
];

/// Keys whose values are prose, differ from run to run, or repeat a row's name.
const LEFT_OUT: [&str; 16] = [
    "about",
    "command",
    "command_note",
    "format",
    "formula",
    "group",
    "id",
    "meaning",
    "name",
    "note",
    "reason",
    "seconds",
    "source",
    "text",
    "title",
    "why",
];

/// Every figure of every answer: a row for each object in it, named by command and path.
pub fn answers() -> Table {
    let mut commands = COMMANDS.map(|(name, command)| (name.to_owned(), command.to_owned())).to_vec();
    commands.extend(limits());
    let rows = commands.par_iter().flat_map_iter(|(name, command)| {
        let (mut answer, mut objects) = (answer(command), Vec::new());
        // What was asked; in lists it is what was found.
        answer.as_object_mut().and_then(|answer| answer.remove("scenario"));
        flatten(&answer, &format!("{name} :"), &mut objects);
        objects.into_iter().map(|(path, figures)| (path, vec![figures.join(BETWEEN)]))
    });
    Table::new(&["figures"], rows.collect())
}

/// `limits` of every combination, named by its values.
fn limits() -> Vec<(String, String)> {
    LIMITS.iter().fold(vec![("limits".to_owned(), "limits".to_owned())], |commands, (flag, values)| {
        let longer = |(name, command): &(String, String)| {
            let (name, command) = (name.clone(), command.clone());
            values.iter().map(move |value| (format!("{name} {value}"), format!("{command} --{flag} {value}")))
        };
        commands.iter().flat_map(longer).collect()
    })
}

/// The JSON that a command prints; nothing fits (3) is an answer too.
fn answer(command: &str) -> Value {
    let mut process = Command::new(env!("CARGO_BIN_EXE_shardscope"));
    process.args(command.split_whitespace()).args(["--format", "json"]).stdin(Stdio::null());
    process.env_clear().env("HOME", env!("CARGO_TARGET_TMPDIR")).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = process.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{command}: {said}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command}: {error}"))
}

/// Adds a row for what is no list of objects and no object, and rows for those below.
fn flatten(json: &Value, path: &str, rows: &mut Vec<(String, Vec<String>)>) {
    let below: Vec<(String, &Value)> = match json {
        Value::Object(all) => all.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(all) => (0..).zip(all).map(|(index, value)| (entry(index, value), value)).collect(),
        _ => return,
    };
    let below = below.into_iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str()));
    let (figures, further): (Vec<_>, Vec<_>) = below.partition(|(_, value)| figure(value).is_some());
    if !figures.is_empty() {
        let figures = figures.iter().filter_map(|(key, value)| Some(format!("{key}={}", figure(value)?)));
        rows.push((path.to_owned(), figures.collect()));
    }
    for (key, value) in further {
        flatten(value, &format!("{path} {key}"), rows);
    }
}

/// The name of an entry of a list: its id, with what is measured where several rows are of one run; or its place.
fn entry(index: usize, value: &Value) -> String {
    let named = value["id"].as_str().map(|id| [id].into_iter().chain(value["metric"].as_str()).collect::<Vec<_>>());
    named.map_or_else(|| index.to_string(), |words| words.join(" "))
}

/// A value as it stands in a row; `None` where it has rows of its own.
fn figure(value: &Value) -> Option<String> {
    match value {
        Value::Object(_) => None,
        Value::Array(all) => all.iter().map(figure).collect::<Option<Vec<_>>>().map(|all| all.join(" ")),
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}
