//! `export`: the files that it writes, Python that compiles, and what is refused.

use std::process::Command;

use serde_json::{Value, json};

use super::run::{Home, assert_contains, run};

const SMALL: &str = "--hardware titan-rtx-pcie --model mpt-125m --seq 512 --precision fp32 --nodes 1";

#[test]
fn a_plan_goes_from_the_search_to_fsdp2() {
    let home = Home::new();
    let plan = home.run(&format!("plan {SMALL} --memory-limit 4GB --out plan.toml"));
    assert_eq!((plan.code, plan.stderr.as_str()), (Some(0), ""));
    let export = home.run("export ./plan.toml --to fsdp2 --out pytorch");
    assert_eq!((export.code, export.stderr.as_str()), (Some(0), ""));
    assert_contains(&export.stdout, &["fsdp2.json", "fsdp2.py"]);
    let text = std::fs::read_to_string(home.path().join("pytorch/fsdp2.json")).expect("written");
    let spec: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((spec["format"].as_u64(), spec["ranks"].as_u64()), (Some(1), Some(8)));
    let modules = spec["modules"].as_array().expect("a list");
    assert!(modules.iter().any(|module| module["path"] == "tok_embeddings"));
    // Neither command writes over a file, and a plan is not searched for one.
    for again in ["export ./plan.toml --to fsdp2 --out pytorch", &format!("plan {SMALL} --out plan.toml")] {
        let run = home.run(again);
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{again}");
        assert_contains(&run.stderr, &["already exists; choose another name"]);
    }
}

/// Both files or neither, also where one of the names is taken or the disk has no room for the other.
#[test]
fn files_are_written_whole_or_not_at_all() {
    let home = Home::new();
    home.write("taken/fsdp2.py", "mine");
    let export = format!("export {SMALL} --to fsdp2 --out");
    let run = home.run(&format!("{export} taken"));
    assert_eq!(run.code, Some(1));
    assert_contains(&run.stderr, &["taken/fsdp2.py: already exists"]);
    let names = |folder: &str| {
        let entries = std::fs::read_dir(home.path().join(folder)).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
        names.filter(|name| !name.starts_with('.')).collect::<Vec<_>>()
    };
    assert_eq!(names("taken"), ["fsdp2.py"]);
    let mut full = Command::new("sh");
    let script = format!("ulimit -f 1; exec {} {export} full", env!("CARGO_BIN_EXE_shardscope"));
    assert!(!full.args(["-c", &script]).current_dir(home.path()).status().expect("a shell").success());
    assert_eq!(names("full"), [""; 0]);
    assert_eq!(home.run(&format!("{export} full")).code, Some(0));
}

#[test]
fn without_a_folder_the_specification_is_printed() {
    let printed = run(&format!("export {SMALL} --to fsdp2"));
    let spec: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!((printed.code, spec["modules"][0]["shard"].as_u64()), (Some(0), Some(8)));
}

/// The loader is Python that compiles; where there is no Python, that is said, and CI has one.
#[test]
fn the_loader_compiles() {
    let home = Home::new();
    assert_eq!(home.run(&format!("export {SMALL} --to fsdp2 --out here")).code, Some(0));
    let python = Command::new("python3").args(["-m", "py_compile", "here/fsdp2.py"]).current_dir(home.path()).output();
    match python {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("not compiled: python3: {error}");
            assert!(std::env::var_os("CI").is_none(), "CI compiles it");
        }
    }
}

/// The first two of 12 layers replicated, the MLPs of the last two in four slices, half of the layers computed again.
const APART: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "mpt-125m"
strategy = "fsdp"
[plan]
nodes = 1
accumulate = 2
recompute = "0.5"
[[plan.operators]]
layers = "0-1"
operator = "layer"
extents = { weights = "device", gradients = "device", optimizer = "device" }
[[plan.operators]]
layers = "10-11"
operator = "mlp"
extents = { weights = "system", gradients = "system", optimizer = "system" }
split = 4
"#;

/// What the loader does to a model, with stand-ins for PyTorch: each layer is sharded once, its parts and their slices
/// before it, on a mesh of the ranks that share it; where there is no Python, that is said.
#[test]
fn the_loader_does_what_the_plan_says() {
    let home = Home::new();
    home.write("apart.toml", APART);
    assert_eq!(home.run("export ./apart.toml --to fsdp2 --out here").code, Some(0));
    home.write("here/check.py", include_str!("../fixtures/fsdp2_loader_check.py"));
    let python = Command::new("python3").arg("check.py").current_dir(home.path().join("here")).output();
    let output = match python {
        Ok(output) => output,
        Err(error) => {
            eprintln!("not run: python3: {error}");
            assert!(std::env::var_os("CI").is_none(), "CI runs it");
            return;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a list");
    let of = |kind: &str| done.iter().filter(|one| one[0] == kind).cloned().collect::<Vec<Value>>();
    let sharded = of("shard");
    let layer = |index: u32| sharded.iter().filter(|one| one[1] == format!("layers.{index}")).collect::<Vec<_>>();
    for index in 0..12 {
        // FSDP2 replicates over a mesh of 8 groups of one.
        let (mesh, drops) = if index < 2 { (json!([8, 1]), false) } else { (json!([8]), true) };
        assert_eq!(layer(index), [&json!(["shard", format!("layers.{index}"), mesh, drops])]);
    }
    let inside = |path: &str| {
        let named = |one: &&Value| one[1].as_str().is_some_and(|name| name.starts_with(path));
        sharded.iter().filter(named).count()
    };
    assert_eq!(inside("layers.10.feed_forward.w1.slices."), 4);
    assert_eq!(inside("layers.9."), 0, "a whole layer is one piece");
    let at = |path: &str| sharded.iter().position(|one| one[1] == path).expect("sharded");
    let inner = ["layers.10.feed_forward.w1.slices.3", "layers.10.feed_forward", "layers.10", ""];
    assert!(inner.map(at).is_sorted(), "from the inside to the whole model");
    let again: Vec<Value> = (0..6).map(|index| json!(["checkpoint", format!("layers.{index}"), []])).collect();
    assert_eq!(of("checkpoint"), again);
    // Two micro-batches: what is replicated is reduced at the last one, what is sharded at both.
    let synced =
        |path: &str| of("sync").iter().filter(|one| one[1] == path).map(|one| one[2] == true).collect::<Vec<_>>();
    assert_eq!((synced("layers.0"), synced("layers.10.attention")), (vec![false, true], vec![true, true]));
}

/// On four ranks: what is replicated, sharded over half of them, kept over half of them after forward, kept whole, and cut.
const KINDS: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "mpt-125m"
strategy = "fsdp"
[plan]
devices = 4
accumulate = 2
precision = "fp32"
recompute = "0.5"
operators = [
  { layers = "0-1", operator = "layer", extents = { weights = "device", gradients = "device", optimizer = "device" } },
  { layers = "2-3", operator = "attention", extents = { weights = "2", gradients = "2", optimizer = "2" } },
  { layers = "5", operator = "mlp", split = 4 },
  { layers = "6-7", operator = "layer", extents = { weights = "2", gradients = "system", optimizer = "system" } },
  { layers = "8", operator = "layer", extents = { weights = "device", gradients = "system", optimizer = "system" } },
  { layers = "10-11", operator = "mlp", split = 4 },
]
"#;

/// Selective recompute of layers in one piece and in slices, and logits that are no embedding.
const SELECTIVE: &str = r#"
format = 1
cluster = "a100-80gb-dgx"
stack = "default"
model = "llama-2-7b"
strategy = "zero2"
[plan]
devices = 4
accumulate = 2
precision = "fp32"
recompute = "selective"
operators = [{ layers = "5", operator = "layer", split = 2 }]
"#;

/// What PyTorch makes of specifications: a small model trains as it does in one piece, and each rank holds what it should.
/// A minute on two cores, with PyTorch 2.6 or newer: `PATH=VENV/bin:$PATH cargo test --test integration pytorch -- --ignored`.
#[test]
#[ignore = "needs PyTorch, as the python3 on the path has it"]
fn pytorch_does_what_the_plan_says() {
    for plan in [KINDS, SELECTIVE] {
        let home = Home::new();
        home.write("plan.toml", plan);
        assert_eq!(home.run("export ./plan.toml --to fsdp2 --out here").code, Some(0));
        home.write("here/check.py", include_str!("../fixtures/fsdp2_on_pytorch.py"));
        let python = Command::new("python3").arg("check.py").current_dir(home.path().join("here")).output();
        let output = python.expect("python3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_contains(&String::from_utf8_lossy(&output.stdout), &["4 ranks", "2 steps"]);
    }
}

/// 3 ranks of tensor parallelism divide neither 8 devices nor 32 heads: nothing is written.
#[test]
fn what_cannot_be_is_refused() {
    let home = Home::new();
    let run = home.run("export --to fsdp2 --hardware a100-80gb-dgx --model mpt-7b --nodes 1 --tp 3 --out folder");
    assert_contains(&run.refused().join("\n"), &["--tp"]);
    assert!(!home.path().join("folder").exists());
}

#[test]
fn what_fsdp2_has_no_part_in_is_refused() {
    let lines = run("export --to fsdp2 --hardware a100-80gb-dgx --model mpt-7b --tp 2 --nodes 1");
    assert_contains(&lines.refused().join("\n"), &["--tp", "data-parallel ranks alone", "tensor 2 -> 1"]);
    assert_contains(&run("export").refused().join("\n"), &["--to"]);
}
