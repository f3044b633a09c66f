//! Mutated files of every kind through every command that takes them.

use super::harness::{Attack, Victim, seeds};

/// Files of a kind that are tried where nobody asks for more.
const FILES: usize = 25;

/// Pushes mutated seeds of a kind, each written to `path`, through commands; nothing else appears there.
fn push(kind: &str, path: &str, commands: &[&str]) {
    let (seeds, victim) = (seeds(kind), Victim::new());
    Attack::new(FILES).run(|random, tried| {
        let bytes = random.mutated(&seeds);
        // Printed only where the test fails: the file that did it.
        println!("{kind} {tried}: {:?}", String::from_utf8_lossy(&bytes));
        victim.write(path, &bytes);
        for command in commands {
            let (code, _) = victim.run(&command.split(' ').collect::<Vec<_>>());
            assert_eq!(victim.files(), 1, "{command} left a file behind");
            // What is refused is refused by every command.
            if code == 2 {
                break;
            }
        }
    });
}

/// What is done with a scenario, from wherever it is.
const ASKED: [&str; 6] = [
    "eval ./it.toml",
    "eval ./it.toml --format json",
    "eval ./it.toml --format toml",
    "limits ./it.toml",
    "export ./it.toml --to fsdp2",
    "sweep ./it.toml --x micro-batch=1,2 --y nodes=1,2",
];

#[test]
fn scenarios() {
    push("scenario", "it.toml", &ASKED);
}

#[test]
fn snapshots() {
    push("snapshot", "it.toml", &ASKED);
}

#[test]
fn sets() {
    push("set", "it.toml", &ASKED);
}

#[test]
fn clusters() {
    let eval = "eval h100-7b --hardware mine --presets .";
    push("cluster", "clusters/mine.toml", &[eval, "presets clusters --presets . --show mine"]);
}

#[test]
fn models() {
    let eval = "eval h100-7b --model mine --presets .";
    push("model", "models/mine.toml", &[eval, "presets models --presets . --show mine"]);
}

#[test]
fn models_of_hugging_face() {
    push("hf", "it.json", &["import model it.json", "eval --model ./it.json"]);
}

#[test]
fn stacks() {
    let eval = "eval h100-7b --stack mine --presets .";
    push("stack", "stacks/mine.toml", &[eval, "presets stacks --presets . --show mine"]);
}

#[test]
fn strategies() {
    let eval = "eval h100-7b --strategy mine --presets .";
    push("strategy", "strategies/mine.toml", &[eval, "presets strategies --presets . --show mine"]);
}

#[test]
fn configurations() {
    push("configuration", "config.toml", &["presets strategies --config config.toml"]);
}

#[test]
fn measured_rows() {
    push("rows", "rows.csv", &["validate rows.csv", "validate rows.csv --format csv", "calibrate rows.csv"]);
}

#[test]
fn profiles() {
    let plan = "plan --profile profile.csv --layers 4 --hidden 1024 --memory-limit 8GiB";
    push("profile", "profile.csv", &[plan]);
}

#[test]
fn logs_of_runs() {
    push(
        "logs",
        "it.log",
        &["import run it.log", "import plan it.log --devices 64", "import run it.log --skip 0 --format json"],
    );
}

#[test]
fn logs_of_benchmarks() {
    push("links", "it.log", &["import links it.log --cluster h100-80gb-dgx", "import it.log"]);
}

#[test]
fn outputs_of_tools() {
    let wishes = "--nodes 2 --rate 400GB/s";
    let on = |device| format!("import cluster it.txt {wishes} --device {device}");
    push("topo", "it.txt", &[&on("h100-80gb-dgx"), &on("mi250x-lumi"), "import it.txt"]);
}

#[test]
fn configurations_of_launchers() {
    let flags = "--devices 64 --micro-batch 1 --accumulate 2 --model llama-2-7b --hardware h100-80gb-dgx";
    push("launch", "it.yaml", &[&format!("import plan it.yaml {flags}"), "import it.yaml"]);
}

#[test]
fn traces_of_profilers() {
    push("trace", "it.json", &["import trace it.json", "import it.json", "import trace it.json --nodes 1"]);
}

#[test]
fn parts_of_sweeps() {
    push("part", "part.csv", &["merge part.csv"]);
}

#[test]
fn parts_of_searches() {
    push("part-of-search", "part.json", &["merge part.json"]);
}
