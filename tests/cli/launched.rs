//! Jobs of every architecture and family of software: the first plan of a search runs in a launcher, whose file, read back,
//! is the same plan.

use shardscope_engine::presets::{Kind, PresetFile};

use super::run::{Home, assert_contains, number};

/// Jobs whose search takes seconds.
const JOBS: [&str; 5] = [
    "--model llama-3.1-8b --hardware h100-80gb-dgx --nodes 1 --global-batch 64 --stack torchtitan-2025",
    "--model llama-2-7b --hardware a100-40gb-juwels --nodes 2 --global-batch 64 --stack default --runs-in accelerate",
    "--model llama-3.1-8b --hardware h100-80gb-dgx --nodes 1 --global-batch 64 --stack torchtune-2025",
    "--model mpt-1b --hardware mi250x-lumi --nodes 1 --global-batch 64 --stack default",
    "--model llama-3.1-8b --hardware rtx4090 --stack peft-2025 --train qlora --seq 1024 --global-batch 16",
];

/// What a launcher's file does not say.
const KEPT: [&str; 7] = ["--model", "--hardware", "--stack", "--seq", "--global-batch", "--nodes", "--train"];

#[test]
fn the_first_plan_is_read_back_from_its_launchers_file() {
    for job in JOBS {
        let home = Home::new();
        let found = home.run(&format!("search {job} --top 1 --out best.toml --format json")).json(0);
        let plan = &found["plans"][0];
        let names = plan["runs_in"].as_array().expect("names");
        let mut tools = names.iter().filter_map(|name| name.as_str()).filter(|name| *name != "fsdp2");
        let tool = tools.next().unwrap_or_else(|| panic!("{job}: {names:?}"));
        let exported = home.run(&format!("export best.toml --to {tool} --strict --out ."));
        assert_eq!(exported.code, Some(0), "{job} in {tool}: {}", exported.stderr);
        let file = exported.stdout.split_whitespace().last().unwrap_or_default().to_owned();
        let words: Vec<&str> = job.split(' ').collect();
        let kept: Vec<String> =
            words.chunks(2).filter(|pair| KEPT.contains(&pair[0])).map(|pair| pair.join(" ")).collect();
        // What a training script has to say stands in the file's notes.
        let text = std::fs::read_to_string(home.path().join(&file)).expect("written");
        let noted = |key: &str, flag: &str| {
            let note = format!("# set outside this file: {key} ");
            let value = text.lines().find_map(|line| line.strip_prefix(note.as_str())?.split(':').next());
            value.map_or_else(String::new, |value| format!("{flag} {value} "))
        };
        let script = noted("micro_batch", "--micro-batch") + &noted("reduction", "--reduction");
        let read = home.run(&format!("import plan {file} {} {script}--out read.toml", kept.join(" ")));
        assert_eq!(read.code, Some(0), "{job} from {tool}: {}", read.stderr);
        let again = home.run("eval read.toml --format json").json(0);
        let [one, two] = [&plan["evaluation"], &again].map(|of| number(of, "step_time_s"));
        assert!((one / two - 1.0).abs() < 1e-9, "{job} in {tool}: {one} s and {two} s");
    }
}

/// Each stack whose program some launcher starts has a first plan that runs, though nobody says a format of its state.
#[test]
fn every_stack_that_a_launcher_starts_has_a_plan_that_runs() {
    let (library, home) = (shardscope_presets::library(), Home::new());
    let mut started = 0;
    for PresetFile { id, .. } in library.entries(Kind::Stack) {
        let stack = library.stack(id).expect("a preset");
        let job = format!("--model llama-3.1-8b --hardware h100-80gb-dgx --devices 4 --global-batch 8 --stack {id}");
        let found = home.run(&format!("search {job} --tp 1 --cp 1 --seq 2048 --top 1 --format json")).json(0);
        let names = found["plans"][0]["runs_in"].as_array().expect("names");
        let has_launcher = stack.started_by.as_ref().is_none_or(|words| !words.is_empty());
        assert_eq!(!names.is_empty(), has_launcher, "{id}: {names:?}");
        started += usize::from(has_launcher);
    }
    assert!(started > 20, "{started} stacks");
}

/// torchtune updates weights of 16 bits as they are: what nobody has said is so, and is told; what is said stays.
#[test]
fn formats_that_nobody_has_said_are_as_the_launcher_has_them() {
    let home = Home::new();
    let job = "search --model llama-3.1-8b --hardware h100-80gb-dgx --devices 4 --global-batch 8 --stack torchtune-2025 --tp 1 --cp 1";
    let open = home.run(&format!("{job} --top 1"));
    let told = "as the launcher has it: --moments bf16 (by default fp32), --master-weights none (by default fp32)";
    assert_contains(&open.stdout, &[told, "torchtune", "moments bf16, masters none"]);
    let said = home.run(&format!("{job} --top 1 --moments fp32"));
    assert_contains(
        &said.stdout,
        &["runs in no launcher that is known: torchtune: ", "moments fp32: they have the format of the weights"],
    );
}
