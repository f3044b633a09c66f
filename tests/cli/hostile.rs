//! Hostile text in every field of every kind of input: no byte of it reaches stdout or stderr as it is.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use toml::{Table, Value};

use super::run::{Home, Run};

/// What must not come out: a clipboard written by OSC 52, a CSI of one byte, DEL, a carriage return, directions turned,
/// no width, a joiner, a line end of Unicode, a byte order mark, a letter of no width, a tag and a variation.
const COMMANDS: &str = "\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{9d}\u{7f}\r\u{8}";
const HIDDEN: &str = "\u{202e}\u{2066}\u{61c}\u{200b}\u{200d}\u{2028}\u{feff}\u{3164}\u{e0041}\u{fe0f}\u{ad}";

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// Runs a command; nothing that it says or writes may hold what is hostile. Line ends are ours.
fn survives(home: &Home, arguments: &[&str]) -> Run {
    let output = home.command("").args(arguments).output().expect("the binary runs");
    let written = written(&home.path().join("out"));
    for text in [&output.stdout, &output.stderr].into_iter().chain(&written) {
        let text = std::str::from_utf8(text).expect("UTF-8");
        let found = text.chars().find(|c| *c != '\n' && (c.is_control() || HIDDEN.contains(*c)));
        assert_eq!(found, None, "{arguments:?}: {text:?}");
    }
    let run = Run::of(&output);
    assert!(matches!(run.code, Some(0..=3)), "{arguments:?}: {}", run.stderr);
    run
}

/// What a command wrote to `out`, a file or a folder of files; it is gone afterwards.
fn written(out: &Path) -> Vec<Vec<u8>> {
    let Ok(facts) = out.metadata() else { return Vec::new() };
    if facts.is_file() {
        let text = fs::read(out).expect("a readable file");
        fs::remove_file(out).expect("a file of ours");
        return vec![text];
    }
    let files = fs::read_dir(out).expect("a readable folder");
    let texts = files.map(|file| fs::read(file.expect("an entry").path()).expect("a readable file")).collect();
    fs::remove_dir_all(out).expect("a folder of ours");
    texts
}

/// Puts hostile text behind the text of this number, the first key of each table counted as one.
fn change(value: &mut Value, number: usize, hostile: &str, count: &mut usize) {
    match value {
        Value::String(text) => {
            if *count == number {
                text.push_str(hostile);
            }
            *count += 1;
        }
        Value::Array(values) => values.iter_mut().for_each(|value| change(value, number, hostile, count)),
        Value::Table(table) => {
            let keys: Vec<String> = table.keys().cloned().collect();
            for (at, key) in keys.into_iter().enumerate() {
                let Some(mut inner) = table.remove(&key) else { continue };
                change(&mut inner, number, hostile, count);
                // An unknown key is refused in the same way anywhere: the first of each table will do.
                let hostile = if at == 0 && *count == number { hostile } else { "" };
                *count += usize::from(at == 0);
                table.insert(key + hostile, inner);
            }
        }
        _ => {}
    }
}

/// Every way to make one text of a file hostile.
fn variants(text: &str) -> Vec<String> {
    let file: Table = text.parse().expect("TOML");
    let mut count = 0;
    change(&mut Value::Table(file.clone()), usize::MAX, "", &mut count);
    let variant = |number: usize, hostile: &str| {
        let mut file = Value::Table(file.clone());
        change(&mut file, number, hostile, &mut 0);
        toml::to_string(&file).expect("TOML")
    };
    // Of a long file each text gets one of both, in turn.
    let both = |number: usize| [COMMANDS, HIDDEN].into_iter().skip(if count > 60 { number % 2 } else { 0 });
    let some = if count > 60 { 1 } else { 2 };
    (0..count)
        .flat_map(|number| both(number).take(some).map(move |hostile| (number, hostile)))
        .map(|(number, hostile)| variant(number, hostile))
        .collect()
}

/// Pushes each variant of a file through commands, several at once.
fn push(path: &str, text: &str, commands: &[&str]) {
    let variants = variants(text);
    assert!(variants.len() > 4, "{path} has too few texts");
    let next = AtomicUsize::new(0);
    let worker = || {
        let home = Home::new();
        while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
            home.write(path, variant);
            for command in commands {
                // What is refused is refused by every command.
                if survives(&home, &command.split(' ').collect::<Vec<_>>()).code == Some(2) {
                    break;
                }
            }
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
}

fn fixture(name: &str) -> String {
    let path = format!("{FOLDER}/{name}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn corpus(name: &str) -> String {
    fixture(&format!("../corpora/{name}"))
}

fn preset(kind: &str, id: &str) -> String {
    Home::new().run(&format!("presets {kind} --show {id}")).stdout
}

/// All outputs of a scenario.
const EVAL: [&str; 3] = ["eval ./s.toml", "eval ./s.toml --format json", "eval ./s.toml --format toml"];

#[test]
fn of_scenarios_snapshots_and_sets() {
    let most = [EVAL.as_slice(), &["limits ./s.toml", "export ./s.toml --to fsdp2"]].concat();
    push("s.toml", &fixture("0.1.0/scenario.toml"), &most);
    push("s.toml", &fixture("0.1.0/snapshot.toml"), &EVAL[..1]);
    push("s.toml", &fixture("0.1.0/set.toml"), &EVAL[..1]);
}

#[test]
fn of_presets() {
    let eval = |kind: &str, id: &str, format: &str| format!("eval h100-7b --{kind} {id} --presets . --format {format}");
    for (kind, flag, id) in
        [("clusters", "hardware", "a100-80gb-dgx"), ("models", "model", "mpt-7b"), ("strategies", "strategy", "hsdp")]
    {
        let list = format!("presets {kind} --presets .");
        let show = format!("presets {kind} --show mine --presets .");
        let [text, json] = ["text", "json"].map(|format| eval(flag, "mine", format));
        push(&format!("{kind}/mine.toml"), &preset(kind, id), &[&text, &json, &list, &show]);
    }
    let [text, json] = ["text", "json"].map(|format| eval("stack", "mine", format));
    push("stacks/mine.toml", &preset("stacks", "default"), &[&text, &json, "presets stacks --presets ."]);
    let calibration = fixture("0.1.0/presets/calibration/measured.toml");
    push("calibration/measured.toml", &calibration, &["eval h100-7b --presets ."]);
}

#[test]
fn of_configurations() {
    push("config.toml", &fixture("0.1.0/config.toml"), &["presets strategies --config config.toml"]);
}

/// Pushes a file of another tool through commands, with hostile text behind some of its words.
fn sprinkle(path: &str, text: &str, commands: &[&str]) {
    let home = Home::new();
    let ends: Vec<usize> = text
        .char_indices()
        .zip(text.char_indices().skip(1))
        .filter(|((_, c), (_, next))| c.is_alphanumeric() && !next.is_alphanumeric())
        .map(|(_, (at, _))| at)
        .collect();
    assert!(ends.len() > 4, "{path} has too few words");
    for at in ends.iter().step_by(ends.len().div_ceil(10)) {
        for hostile in [COMMANDS, HIDDEN] {
            home.write(path, &[&text[..*at], hostile, &text[*at..]].concat());
            for command in commands {
                survives(&home, &command.split(' ').collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn of_other_tools_files() {
    let model = ["import model ./f --out out", "import ./f", "eval --model ./f"];
    sprinkle("f", &fixture("hf/mixtral-8x7b.json"), &model);
    let links = ["import links ./f --cluster h100-80gb-dgx --out out", "import links ./f --cluster h100-80gb-dgx"];
    sprinkle("f", &fixture("links/h100-n1-g8-ar-ag-rs.log"), &links);
    let cluster = ["import cluster ./f --device h100-80gb-dgx --rate 50GB/s --nodes 2 --out out", "import ./f"];
    for file in ["slurm22-sinfo-o.txt", "nvidia-smi-topo-m-h100.txt", "nccl-topo-ndv5-h100.xml"] {
        sprinkle("f", &fixture(&format!("topo/{file}")), &cluster);
    }
    let run = ["import run ./f --hardware h100-80gb-dgx --stack default --out out", "import ./f"];
    sprinkle("f", &fixture("logs/torchtitan-h100-tps-mfu.log"), &run);
    let plan = ["import plan ./f --model mpt-7b --hardware h100-80gb-dgx --devices 16 --out out", "import ./f"];
    for file in ["accelerate-tp-hsdp.yaml", "ds-zero3-offload.json", "torchtitan-llama3-8b-frontier.toml"] {
        sprinkle("f", &fixture(&format!("launch/{file}")), &plan);
    }
    sprinkle("f", &corpus("trace/events.json"), &["import trace ./f", "import trace ./f --nodes 1 --format json"]);
}

#[test]
fn of_parts_and_of_the_last_session() {
    sprinkle("p.csv", &corpus("part/whole.csv"), &["merge p.csv", "merge p.csv --out out"]);
    sprinkle("p.json", &corpus("part-of-search/whole.json"), &["merge p.json", "search --nodes 1 --known p.json"]);
    push("s.toml", &corpus("last/with-a-pin.toml"), &EVAL[..1]);
}

/// Names that a preset gives stand in whatever is printed or written of a scenario with it.
#[test]
fn of_names_in_every_output() {
    let home = Home::new();
    // A name of several lines is refused.
    let hidden = HIDDEN.replace('\u{2028}', "");
    for (kind, id) in [("clusters", "a100-80gb-dgx"), ("models", "mpt-1b"), ("strategies", "hsdp")] {
        let mut preset: Table = preset(kind, id).parse().expect("TOML");
        for key in ["name", "source", "about"] {
            if let Some(Value::String(text)) = preset.get_mut(key) {
                *text += &hidden;
            }
        }
        home.write(&format!("{kind}/mine.toml"), &toml::to_string(&preset).expect("TOML"));
    }
    let scenario = "--hardware mine --model mine --strategy mine --nodes 1 --global-batch 64 --presets .";
    let commands = [
        "eval --log out",
        "eval --format json",
        "limits",
        "support",
        "sweep --x nodes=1,2 --y micro-batch=1,2",
        "sweep --x nodes=1,2 --y micro-batch=1,2 --format csv",
        "search --fix strategy --tp 1 --pp 1 --cp 1 --recompute full",
        "search --fix strategy --tp 1 --pp 1 --cp 1 --recompute full --format json",
        "search --fix strategy --tp 1 --pp 1 --cp 1 --recompute full --out out",
        "plan --recompute full",
        "plan --recompute full --out out",
        "export --to sbatch --out out",
        "export --to accelerate --out out",
        "export --to hf-trainer --out out",
        "export --to deepspeed --out out",
        "export --to megatron --out out",
        "export --to fsdp2 --out out",
        "export --to trace --out out",
    ];
    for command in commands {
        let line = format!("{command} {scenario}");
        let run = survives(&home, &line.split(' ').collect::<Vec<_>>());
        assert!(matches!(run.code, Some(0 | 3)), "{line}: {}", run.stderr);
    }
}

const HEADER: [&str; 19] = [
    "id",
    "cluster",
    "stack",
    "num_gpus",
    "strategy_class",
    "model",
    "layers",
    "hidden",
    "heads",
    "vocab",
    "seq_len",
    "micro_batch",
    "global_batch",
    "act_ckpt",
    "precision",
    "group",
    "scored",
    "source",
    "step_time_s",
];
const ROW: [&str; 19] = [
    "one",
    "a100-80gb-dgx",
    "ideal",
    "1",
    "ddp",
    "GPT",
    "1",
    "1024",
    "8",
    "1024",
    "1024",
    "1",
    "1",
    "none",
    "bf16",
    "a",
    "yes",
    "here",
    "0.001",
];

#[test]
fn of_measured_rows() {
    let home = Home::new();
    for hostile in [COMMANDS, HIDDEN] {
        for column in 0..2 * HEADER.len() {
            let mut lines = [HEADER, ROW].map(|cells| cells.map(str::to_owned));
            lines[column / HEADER.len()][column % HEADER.len()].push_str(hostile);
            let lines = lines.map(|cells| cells.map(|cell| format!("\"{cell}\"")).join(","));
            let good = ROW.join(",");
            home.write("rows.csv", &format!("{}\n{}\n{good}\n", lines[0], lines[1]));
            for format in ["text", "csv", "json"] {
                survives(&home, &["validate", "rows.csv", "--format", format]);
            }
            survives(&home, &["calibrate", "rows.csv"]);
        }
    }
}

#[test]
fn of_profiles() {
    let home = Home::new();
    let profile = fixture("osdp_profile.csv");
    let (header, rows) = profile.split_once("hidden,").expect("a header");
    let good = format!("hidden,{rows}");
    for hostile in [COMMANDS, HIDDEN] {
        for at in good.match_indices([',', '\n']).take(12).map(|(at, _)| at) {
            let text = [header, &good[..at], hostile, &good[at..]].concat();
            home.write("profile.csv", &text);
            let plan =
                ["plan", "--profile", "profile.csv", "--layers", "4", "--hidden", "1024", "--memory-limit", "8 GiB"];
            survives(&home, &plan);
        }
    }
}

#[test]
fn of_flags_and_names_of_files() {
    let home = Home::new();
    for hostile in [COMMANDS, HIDDEN] {
        let word = format!("x{hostile}");
        let flags = [
            "--hardware",
            "--stack",
            "--model",
            "--strategy",
            "--nodes",
            "--precision",
            "--recompute",
            "--shard",
            "--schedule",
            "--tokens",
            "--global-batch",
            "--presets",
            "--config",
            "--log",
            "--format",
            "--palette",
            "--threads",
            "--bandwidth",
            "--measured",
        ];
        let directory = format!("--log=no/{word}");
        for flag in flags {
            if flag != "--log" {
                survives(&home, &["eval", flag, &word]);
            }
            survives(&home, &["eval", &format!("{flag}{hostile}"), "1"]);
        }
        survives(&home, &["eval", &directory]);
        survives(&home, &[&word]);
        survives(&home, &["eval", &word]);
        survives(&home, &["eval", &format!("./{word}.toml")]);
        survives(&home, &["sweep", "--x", &word, "--y", &word]);
        survives(&home, &["sweep", "--x", &format!("nodes={word}"), "--y", "seq=1"]);
        survives(&home, &["presets", "--show", &word]);
        survives(&home, &["presets", &word]);
        survives(&home, &["export", "--to", "fsdp2", "--out", &word]);
        survives(&home, &["export", "--to", "fsdp2", "--out", &word]);
        for command in ["validate", "calibrate", "--rows"] {
            let csv = format!("{word}.csv");
            home.write(&csv, "id,a\n1,2\n");
            survives(&home, &[command, &csv]);
        }
    }
}
