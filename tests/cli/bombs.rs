//! Small inputs that took gigabytes or minutes: each is read or refused within little memory and little of a processor.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use super::run::{Home, Run, assert_contains};

/// What a command may take of memory, in KiB, and of a processor's time, in seconds: where something is wrong it would
/// take ten times as much.
const MOST_KIB: u32 = 400 << 10;
const MOST_SECONDS: u32 = 30;

/// What a launcher's file leaves open.
const PLAN: &str = "--model mpt-7b --hardware h100-80gb-dgx --devices 16";

/// Runs a command within those bounds.
fn bounded(home: &Home, arguments: &str) -> Run {
    let mut command = Command::new("/bin/sh");
    // One limit at a time: that is all that some shells take.
    let limits = format!("ulimit -c 0 && ulimit -v {MOST_KIB} && ulimit -t {MOST_SECONDS} && exec \"$@\"");
    command.args(["-c", &limits, "sh", env!("CARGO_BIN_EXE_shardscope")]).args(arguments.split_whitespace());
    command.env_clear().env("HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
    let run = Run::of(&command.output().expect("a shell"));
    assert!(run.code.is_some_and(|code| (0..=3).contains(&code)), "{arguments}: {:?}: {}", run.code, run.stderr);
    assert!(run.stderr.len() < 200_000, "{arguments}: complains in {} bytes", run.stderr.len());
    run
}

/// A list where an event has a letter: twelve million numbers took 32 bytes each.
#[test]
fn a_list_in_an_event_is_skipped() {
    let home = Home::new();
    home.write("trace.json", &format!("{{\"traceEvents\": [{{\"ph\": [{}0]}}]}}", "0,".repeat(12_000_000)));
    assert_contains(&bounded(&home, "import trace trace.json").refused().join("\n"), &["it has no kernel"]);
}

/// Each setting was named by its path: a name of 100,000 letters for every one of 6,000.
#[test]
fn a_long_name_is_not_repeated_for_every_setting_in_it() {
    let home = Home::new();
    let leaves: Vec<String> = (0..6000).map(|leaf| format!("\"a{leaf}\": 1")).collect();
    let (name, leaves) = ("k".repeat(100_000), leaves.join(","));
    home.write("long.json", &format!("{{\"zero_optimization\": {{\"stage\": 3}}, \"{name}\": {{{leaves}}}}}"));
    assert_eq!(bounded(&home, &format!("import plan long.json {PLAN}")).code, Some(0));
    // So many names of their own are counted, not listed.
    home.write("many.json", &format!("{{\"zero_optimization\": {{\"stage\": 3}}, {leaves}}}"));
    let many = bounded(&home, &format!("import plan many.json {PLAN}"));
    assert_contains(&many.stderr, &["  5500 more: not listed"]);
}

/// Lists of nothing, and names of nothing: trees of a hundred times the text.
#[test]
fn what_would_be_a_tree_beyond_memory_is_refused_by_its_values() {
    let home = Home::new();
    let list = format!("[{}0]", "0,".repeat(1 << 20));
    for (file, text, arguments) in [
        ("list.toml", format!("format = 1\na = {list}\n"), "eval ./list.toml"),
        ("list.json", format!("{{\"zero_optimization\": {list}}}"), "import plan list.json"),
        ("list.yaml", format!("zero_optimization: {list}\n"), "import plan list.yaml"),
        ("dashes.yaml", format!("a:\n{}", "-\n".repeat(1 << 19)), "import plan dashes.yaml"),
        ("slurm.json", format!("{{\"nodes\": {list}}}"), "import cluster slurm.json --device h100-80gb-dgx"),
    ] {
        home.write(file, &text);
        let refused = bounded(&home, arguments);
        assert_contains(&refused.refused().join("\n"), &[file]);
    }
    home.write("part.json", &format!("{{\"plans\": [{}{{}}]}}", "{},".repeat(2 << 20)));
    assert_contains(&bounded(&home, "merge part.json").refused().join("\n"), &["more values than a part of a search"]);
}

/// All missing parts were written out before twenty were kept.
#[test]
fn a_part_of_billions_misses_those_that_can_be_named() {
    let home = Home::new();
    let header = "x,y,metric,value,fits,reason,micro_batch,recompute,accumulate,global_batch\n";
    home.write(
        "part.csv",
        &format!("{header}4,1,throughput,1,true,,1,none,1,1\n# part 0/4294967295 of 6-f5df882a294f5c03\n"),
    );
    let refused = bounded(&home, "merge part.csv").refused().join("\n");
    assert_contains(&refused, &["missing: part 1/4294967295, 2/4294967295", " and 4294967274 more"]);
}

/// Every attribute was compared with all before it.
#[test]
fn an_element_of_many_attributes_is_refused() {
    let home = Home::new();
    let attributes = (0..200_000).map(|number| format!("a{number}=\"\"")).collect::<Vec<_>>().join(" ");
    home.write("many.xml", &format!("<system version=\"1\"><cpu {attributes}/></system>"));
    let import = "import cluster many.xml --device h100-80gb-dgx --rate 50GB/s --nodes 2";
    assert_contains(&bounded(&home, import).refused().join("\n"), &["more than 100 attributes"]);
}

/// Each continued line was looked through from the statement's beginning, and each brace to its end; values that hold
/// one another grew with every line.
#[test]
fn scripts_are_read_in_one_pass() {
    let home = Home::new();
    let run = "--num-layers 2 --hidden-size 64 ";
    for (file, text) in [
        ("backslashes.sh", format!("{run}{}", "\\\n".repeat(1_500_000))),
        ("braces.sh", format!("{run}{}", "${".repeat(1_500_000))),
        ("sums.sh", format!("{run}{}", "$((".repeat(1_000_000))),
        (
            "values.sh",
            format!(
                "A={}\n{}{run}\n",
                "x".repeat(1_000_000),
                "srun $A --num-layers 2 --hidden-size 3\n".repeat(50_000)
            ),
        ),
        ("replaced.sh", format!("A={0}\nB=${{A//x/{0}}}\n{run}\n", "x".repeat(1_000_000))),
    ] {
        home.write(file, &text);
        bounded(&home, &format!("import plan {file} {PLAN}"));
    }
}

/// Lines of nothing took forty bytes each, and rows that say nothing a hundred.
#[test]
fn lines_and_rows_of_nothing_are_not_kept() {
    let home = Home::new();
    home.write("blank.log", &"\n".repeat(30_000_000));
    bounded(&home, "import run blank.log").refused();
    bounded(&home, "import blank.log").refused();
    let header = "id,cluster,stack,num_gpus,strategy_class,layers,hidden,seq_len\n";
    for (file, row) in [("bad.csv", "x\n"), ("blank.csv", ",,,,,,,\n")] {
        home.write(file, &format!("{header}{}", row.repeat(800_000)));
        for command in ["validate", "calibrate"] {
            let refused = bounded(&home, &format!("{command} {file}"));
            assert_contains(&refused.refused().join("\n"), &[file, "more than 10000 rows"]);
        }
    }
    home.write("few.csv", &format!("{header}{}", "x\n".repeat(100)));
    let few = bounded(&home, "validate few.csv");
    let said = few.refused();
    assert_contains(said[20], &["and 80 more like these"]);
    assert_eq!(said.len(), 21, "{said:?}");
}

/// What a benchmark writes in JSON is read for its sizes alone.
#[test]
fn what_a_benchmark_does_not_say_is_not_kept() {
    let home = Home::new();
    let numbers = "0,".repeat(12_000_000);
    home.write("links.json", &format!("{{\"config\": {{}}, \"busbw\": 1, \"other\": [{numbers}0], \"results\": []}}"));
    bounded(&home, "import links links.json --cluster h100-80gb-dgx").refused();
}

/// A scenario that would be simulated for minutes, in gigabytes.
fn deep(ranks: u32, stages: u32, micro_batches: u32) -> String {
    format!(
        "format = 1\nname = \"x\"\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"deep\"\nstrategy = \"zero3\"\n\
         [shape]\nformat = 1\nid = \"deep\"\nname = \"Deep\"\nsource = \"x\"\nlayers = 16384\nhidden = 128\nheads = 1\n\
         kv_heads = 1\nhead_size = 128\nffn_hidden = 128\ngated = true\nvocab = 32000\ntied = false\n\
         positions = \"computed\"\nnorm = \"rms-norm\"\nbias = false\nsequence = 128\n\
         [plan]\nnodes = 1024\npipeline = {ranks}\nschedule = \"interleaved\"\nstages_per_rank = {stages}\n\
         micro_batch = 1\naccumulate = {micro_batches}\n"
    )
}

#[test]
fn a_step_of_more_passes_than_can_be_simulated_is_refused_everywhere() {
    let home = Home::new();
    home.write("deep.toml", &deep(4096, 4, 8192));
    let said = ["4096 ranks x 4 stages x 8192 micro-batches", "262144 at most", "accumulate"];
    for command in ["eval", "limits", "export --to trace --out o", "plan", "explore"] {
        let command = if command == "explore" { "" } else { command };
        let refused = bounded(&home, &format!("{command} ./deep.toml"));
        assert_contains(&refused.refused().join("\n"), &said);
    }
    let sweep = bounded(&home, "sweep ./deep.toml --x accumulate=8192,64 --y pp=4096,8 --format csv");
    assert_contains(&sweep.stdout, &["8192,4096,throughput,,false,\"not possible: 4096 ranks", "262144 at most"]);
    assert_contains(&sweep.stdout, &["\n8192,8,throughput,0.0"]);
}

/// Steps that people run, or plan to: none has too many passes. Published: GPT-3 on 512 A100s; a mixture of experts of 61
/// layers on 16 pipeline ranks, whose 15,360 sequences leave 120 for each of 128; a trillion parameters on 64 ranks.
#[test]
fn steps_that_people_run_are_simulated() {
    let home = Home::new();
    for plan in [
        "--model gpt3-175b --hardware a100-80gb-dgx --nodes 64 --tp 8 --pp 8 --strategy zero1 --accumulate 192",
        "--model llama-3.1-405b --hardware h100-80gb-dgx --nodes 256 --pp 14 --tp 8 --strategy zero1 --devices 1792 --accumulate 120",
        "--model megatron-1t --hardware a100-80gb-dgx --nodes 64 --tp 8 --pp 64 --stages-per-rank 2 --schedule interleaved \
         --accumulate 512 --strategy ddp",
    ] {
        let plan = plan.replace("--nodes 256 ", "");
        let run = home.run(&format!("sweep {plan} --x seq=2048 --y micro-batch=1 --format csv"));
        assert_eq!(run.stderr, "", "{plan}");
        assert!(run.stdout.contains("throughput,") && !run.stdout.contains("not possible"), "{plan}: {}", run.stdout);
    }
    home.write("deep.toml", &deep(16, 8, 512));
    let sweep = home.run("sweep ./deep.toml --x seq=128 --y micro-batch=1 --format csv");
    assert!(!sweep.stdout.contains("not possible"), "{}", sweep.stdout);
    let rows = home.run("validate --format json").json(0);
    let skipped = rows["skipped"].to_string();
    assert!(!skipped.contains("too many passes"), "{skipped}");
}

/// A socket has no path by which it could be opened again.
#[test]
fn the_standard_input_is_read_from_its_descriptor_whatever_it_is() {
    let home = Home::new();
    let config = include_str!("../fixtures/hf/falcon-40b.json");
    for arguments in ["import model -", "import trace -", "import cluster -", "import plan -", "import run -"] {
        let (ours, theirs) = UnixStream::pair().expect("two sockets");
        let mut command = home.command(arguments);
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        let child = command.spawn().expect("it starts");
        drop(command);
        std::io::Write::write_all(&mut &ours, config.as_bytes()).expect("it reads");
        drop(ours);
        let run = Run::of(&child.wait_with_output().expect("it ends"));
        // It was read: whatever is wrong with it is its content.
        let expected = if arguments == "import model -" { 0 } else { 2 };
        assert_eq!(run.code, Some(expected), "{arguments}: {}", run.stderr);
        assert!(!run.stderr.contains("No such device"), "{arguments}: {}", run.stderr);
    }
}

/// Values of every field that a program lacks were multiplied, for fields without any other value too, and all plans held.
#[test]
fn a_plan_that_a_program_lacks_most_of_has_no_nearest_one() {
    let home = Home::new();
    home.write(
        "nearest.toml",
        "format = 1\nname = \"x\"\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"llama-3.1-8b\"\n\
         strategy = \"zero2\"\n[plan]\nnodes = 4\ntensor = 2\nweights_over = \"2\"\ngradients_over = \"4\"\n\
         optimizer_over = \"16\"\ntrain = \"lora\"\npaged_optimizer = true\noffload = \"checkpoints\"\nrecompute = \"full\"\n",
    );
    for target in ["torchtitan", "megatron"] {
        let refused = bounded(&home, &format!("export ./nearest.toml --to {target}"));
        assert_contains(&refused.refused().join("\n"), &["training of adapters"]);
    }
}

/// Each micro-batch of 65,536 was held with all its meshes.
#[test]
fn combinations_beyond_memory_are_refused_by_their_number() {
    let home = Home::new();
    let search = "search --model llama-2-7b --nodes 1";
    let one = bounded(&home, &format!("{search} --over micro-batch=1..65536:1")).refused().join("\n");
    assert_contains(&one, &["--over: 65536 combinations", "at most 4096"]);
    let two =
        bounded(&home, &format!("{search} --over micro-batch=1..128:1 --over seq=128..65536:512")).refused().join("\n");
    assert_contains(&two, &["combinations"]);
}

/// Each of a chain of presets was tried again for every one that it is like.
#[test]
fn a_chain_of_presets_is_refused_beyond_its_bound() {
    let home = Home::new();
    for number in 0..1200 {
        let text = format!("format = 1\nname = \"x\"\nsource = \"x\"\nlike = \"s{:04}\"\n", number + 1);
        home.write(&format!("p/stacks/s{number:04}.toml"), &text);
    }
    let listed = bounded(&home, "presets strategies --presets p");
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
}
