//! Configuration, log, and homes that are not there.

use std::fs::File;
use std::time::{Duration, Instant};

use super::run::{Home, Run, assert_contains};

const QUICK: &str = "presets strategies";

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

#[test]
fn a_missing_home_never_stops_the_start() {
    let home = Home::new();
    let mut command = home.command(QUICK);
    command.env("HOME", "/nonexistent/home").env("XDG_CONFIG_HOME", "/nonexistent/xdg");
    let run = Run::of(&command.output().expect("the binary runs"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_contains(&run.stdout, &["zero-topo"]);
}

#[test]
fn an_environment_without_a_home_never_stops_the_start() {
    let home = Home::new();
    let run = Run::of(&home.command(QUICK).env_remove("HOME").output().expect("the binary runs"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn a_bad_configuration_is_refused_with_file_line_and_valid_names() {
    let home = Home::new();
    home.write("xdg/shardscope/config.toml", "[terminal]\ncolour = 1\n");
    let mut command = home.command(QUICK);
    command.env("XDG_CONFIG_HOME", home.path().join("xdg"));
    let run = Run::of(&command.output().expect("the binary runs"));
    assert_contains(&run.refused().join("\n"), &["shardscope/config.toml:2:1", "terminal.colour", "`palette`"]);
}

#[test]
fn the_command_line_wins_over_the_environment_and_the_environment_over_the_home() {
    let home = Home::new();
    home.write(".config/shardscope/config.toml", "home = 1");
    home.write("env.toml", "env = 1");
    home.write("flag.toml", "flag = 1");
    let stderr = |command: &mut std::process::Command| Run::of(&command.output().expect("the binary runs")).stderr;
    assert_contains(&stderr(&mut home.command(QUICK)), &["`home`"]);
    assert_contains(&stderr(home.command(QUICK).env("SHARDSCOPE_CONFIG", "env.toml")), &["`env`"]);
    let mut flagged = home.command(&format!("{QUICK} --config flag.toml"));
    assert_contains(&stderr(flagged.env("SHARDSCOPE_CONFIG", "env.toml")), &["`flag`"]);
}

#[test]
fn a_named_configuration_must_be_there_but_the_environments_need_not() {
    let home = Home::new();
    let flag = home.run(&format!("{QUICK} --config absent.toml"));
    assert_eq!((flag.code, flag.stdout.as_str()), (Some(1), ""));
    assert_contains(&flag.stderr, &["absent.toml"]);
    let mut command = home.command(QUICK);
    let run = Run::of(&command.env("SHARDSCOPE_CONFIG", "absent.toml").output().expect("the binary runs"));
    assert_eq!(run.code, Some(0));
    assert_contains(&run.stderr, &["warning", "absent.toml"]);
}

#[test]
fn a_folder_of_presets_is_read_and_must_be_there() {
    let home = Home::new();
    let strategy = home.run("presets strategies --show zero3").stdout;
    home.write("more/strategies/own.toml", &strategy);
    assert_contains(&home.run("presets strategies --presets more").stdout, &["own"]);
    let missing = home.run("presets strategies --presets absent");
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
}

#[test]
fn a_broken_preset_of_the_user_is_a_warning() {
    let home = Home::new();
    home.write(".config/shardscope/models/broken.toml", "format = 1\ncolour = \"\\u001b[31m\"\n");
    let run = home.run("presets models");
    assert_eq!(run.code, Some(0));
    assert_contains(&run.stderr, &["warning", "broken.toml"]);
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn the_log_is_appended_to_and_must_be_writable() {
    let home = Home::new();
    home.write("log", "1700000000.000 before\n");
    assert_eq!(home.run(&format!("{QUICK} --log log")).code, Some(0));
    home.run("eval --model mpt7b --log log");
    let log = std::fs::read_to_string(home.path().join("log")).expect("a log");
    assert!(log.starts_with("1700000000.000 before\n"));
    assert_contains(&log, &[concat!("shardscope ", env!("CARGO_PKG_VERSION")), QUICK, "error: ", "mpt7b"]);
    // A line break in an argument begins no entry.
    home.command("eval --log log --model").arg("x\n0.000 forged").output().expect("the binary runs");
    let log = std::fs::read_to_string(home.path().join("log")).expect("a log");
    assert!(!log.lines().any(|entry| entry.starts_with("0.000 forged")), "{log}");
    let refused = home.run(&format!("{QUICK} --log absent/log"));
    assert_eq!(refused.code, Some(1));
    assert_contains(&refused.stderr, &["absent/log"]);
}

#[test]
fn a_full_disk_is_an_io_failure() {
    let home = Home::new();
    let full = File::options().write(true).open("/dev/full").expect("/dev/full");
    let run = Run::of(&home.command(QUICK).stdout(full).output().expect("the binary runs"));
    assert_eq!(run.code, Some(1));
    assert_contains(&run.stderr, &["stdout"]);
}

#[test]
fn arguments_cannot_command_the_terminal() {
    let home = Home::new();
    let mut command = home.command("eval --model");
    let run = Run::of(&command.arg("\u{1b}[2Jmpt").output().expect("the binary runs"));
    assert_eq!(run.code, Some(2));
    assert!(!run.stderr.contains('\u{1b}'));
}

#[test]
fn floods_and_silence_are_refused_wherever_a_file_is_named() {
    let home = Home::new();
    let refused = |arguments: &str| {
        let run = home.run(arguments);
        assert_eq!(run.stdout, "", "{arguments}");
        assert_contains(&run.stderr, &["/dev/zero", "larger than", "MiB"]);
        run.code
    };
    assert_eq!(refused("validate /dev/zero"), Some(2));
    assert_eq!(refused("calibrate /dev/zero"), Some(2));
    assert_eq!(refused("--rows /dev/zero"), Some(2));
    assert_eq!(refused("eval /dev/zero"), Some(2));
    assert_eq!(refused("plan --profile /dev/zero --layers 1 --hidden 1 --memory-limit 1GiB"), Some(2));
    assert_eq!(refused(&format!("{QUICK} --config /dev/zero")), Some(1));
    pipe(&home, "pipe.toml");
    for arguments in ["eval ./pipe.toml", "import pipe.toml"] {
        let start = Instant::now();
        let silent = home.run(arguments);
        assert_eq!(silent.code, Some(1), "{arguments}");
        assert_contains(&silent.stderr, &["pipe.toml", "timed out, after 10 s"]);
        // Once, whatever the file may be.
        assert!(start.elapsed() < Duration::from_secs(18), "{arguments}: {:?}", start.elapsed());
    }
}

/// Makes a pipe with a name.
pub fn pipe(home: &Home, name: &str) {
    let path = home.path().join(name);
    assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_pipe_among_presets_holds_no_command_up() {
    let home = Home::new();
    for kind in ["clusters", "models", "scenarios"] {
        home.write(&format!("more/{kind}/none.txt"), "");
        pipe(&home, &format!("more/{kind}/pipe.toml"));
    }
    let start = Instant::now();
    let run = home.run("presets strategies --presets more");
    assert!(start.elapsed() < Duration::from_secs(9), "{:?}", start.elapsed());
    assert_eq!((run.code, run.stderr.matches("pipe.toml: is no regular file").count()), (Some(0), 3), "{}", run.stderr);
}

#[test]
fn what_a_pipe_holds_is_found_out_and_read_at_once() {
    for (fixture, what) in [
        ("hf/smollm-135m.json", "a model's configuration"),
        ("trace/kineto-nccl-parser-cut.json.gz", "what a profiler recorded"),
    ] {
        let home = Home::new();
        pipe(&home, "pipe");
        let bytes = std::fs::read(format!("{FIXTURES}/{fixture}")).expect("it is there");
        let path = home.path().join("pipe");
        let writer = std::thread::spawn(move || std::fs::write(path, bytes));
        let run = home.run("import pipe");
        assert_contains(&run.stderr, &[what]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        writer.join().expect("it writes").expect("all of it is read");
    }
}

#[test]
fn a_configuration_is_not_read_beyond_any_real_length() {
    let home = Home::new();
    home.write("config.json", &format!("{{\"model_type\": \"llama\", \"x\": [{}0]}}", "0,".repeat(3 << 20)));
    for (arguments, most) in [
        ("import model config.json", "1 MiB"),
        ("eval --model ./config.json", "1 MiB"),
        ("import plan config.json", "4 MiB"),
    ] {
        assert_contains(&home.run(arguments).refused().join("\n"), &["config.json", "larger than", most]);
    }
    assert_contains(&home.run("import config.json").refused().join("\n"), &["config.json"]);
}

/// The folders of what is written are made; one that cannot be is named as it was asked for.
#[test]
fn what_is_written_gets_its_folder() {
    let home = Home::new();
    let eval = "eval h100-7b --measured 4s --out";
    let run = home.run(&format!("{eval} own/calibration/mine.toml"));
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(home.path().join("own/calibration/mine.toml").is_file());
    home.write("file", "");
    let refused = home.run(&format!("{eval} file/mine.toml"));
    assert_eq!(refused.code, Some(1));
    assert_contains(&refused.stderr, &["file/mine.toml: "]);
    assert!(!refused.stderr.contains(".shardscope-"), "{}", refused.stderr);
}

#[test]
fn no_command_replaces_what_it_reads() {
    let home = Home::new();
    let fixture = |name: &str| std::fs::read_to_string(format!("{FIXTURES}/{name}")).expect("it is there");
    home.write("cluster.toml", &home.run("presets clusters --show a100-80gb-dgx").stdout);
    home.write("s.toml", &home.run("presets scenarios --show h100-7b").stdout);
    home.write("settings.toml", "threads = 1\n");
    home.write("part.json", "{}");
    home.write("rows.csv", &fixture("0.2.0/presets/calibration/measured.csv"));
    home.write("links.log", &fixture("links/a100-g8-allgather-old.log"));
    // The names that exports give: of a folder's file, and of a rank's.
    for model in ["config.json", "fsdp2.json", "step0.json"] {
        home.write(model, &fixture("hf/smollm-135m.json"));
    }
    for (file, line) in [
        ("cluster.toml", "plan --hardware ./cluster.toml --out cluster.toml --force"),
        ("config.json", "plan --model ./config.json --out config.json --force"),
        ("settings.toml", "plan --config settings.toml --out settings.toml --force"),
        ("s.toml", "search ./s.toml --out s.toml --force"),
        ("part.json", "search --part 0/2 --format json --known part.json --out part.json --force"),
        ("fsdp2.json", "export --to fsdp2 --model ./fsdp2.json --out . --force"),
        ("step0.json", "export --to trace --model ./step0.json --out step.json --force"),
        ("config.json", "import config.json --out config.json --force"),
        ("settings.toml", "import model config.json --config settings.toml --out settings.toml --force"),
        ("cluster.toml", "import links links.log --cluster ./cluster.toml --out cluster.toml --force"),
        ("part.json", "merge part.json --out part.json --force"),
        ("rows.csv", "calibrate rows.csv --out rows.toml --force"),
        ("s.toml", "eval ./s.toml --log s.toml"),
        ("config.json", "eval --model ./config.json --log config.json"),
        ("settings.toml", "eval --config settings.toml --log settings.toml"),
        ("rows.csv", "--rows rows.csv --log rows.csv"),
    ] {
        let before = std::fs::read(home.path().join(file)).expect("it is there");
        let said = home.run(line).refused().join("\n");
        assert_contains(&said, &[&format!("{file}: is an input")]);
        assert_eq!(std::fs::read(home.path().join(file)).expect("it is there"), before, "{line}");
    }
}

#[test]
fn only_a_log_is_gone_on_with() {
    let home = Home::new();
    home.write("notes.txt", "1. a list of my own\n");
    assert_contains(&home.run(&format!("{QUICK} --log notes.txt")).refused().join("\n"), &["is no log of shardscope"]);
    assert_eq!(std::fs::read_to_string(home.path().join("notes.txt")).expect("text"), "1. a list of my own\n");
    home.write("log", "");
    let sizes = [(); 2].map(|()| {
        assert_eq!(home.run(&format!("{QUICK} --log log")).code, Some(0));
        std::fs::metadata(home.path().join("log")).expect("a log").len()
    });
    assert!(0 < sizes[0] && sizes[0] < sizes[1], "{sizes:?}");
    // Nothing else is written over it, not even by the command that it is the log of.
    let over = home.run("plan --micro-batch 1 --log log --out log --force").refused().join("\n");
    assert_contains(&over, &["log: is an input or the log"]);
    let log = std::fs::read_to_string(home.path().join("log")).expect("text");
    assert_contains(&log, &["--out log --force"]);
}

#[test]
fn a_plan_and_an_export_replace_what_is_there_only_where_that_is_insisted_on() {
    let home = Home::new();
    home.write("own.toml", &home.run("presets scenarios --show h100-7b").stdout);
    let own = "plan ./own.toml --micro-batch 1 --out own.toml --force";
    assert_contains(&home.run(own).refused().join("\n"), &["own.toml: is an input"]);
    assert_eq!(home.run("export h100-7b --to fsdp2 --out there").code, Some(0));
    assert_eq!(home.run("export h100-7b --to fsdp2 --out there").code, Some(1));
    assert_eq!(home.run("export h100-7b --to fsdp2 --out there --force").code, Some(0));
}

/// `-` is standard input elsewhere; a file of that name is asked for as `./-`.
#[test]
fn nothing_is_written_to_a_file_that_is_called_as_a_stream() {
    let home = Home::new();
    for arguments in [
        "eval --nodes 1 --measured 3s --out -",
        "search --nodes 1 --out -",
        "export --nodes 1 --to torchtitan --out -",
        "import plan x.yaml --out -",
        "merge a.json --out -",
        "plan --out -",
        "calibrate rows.csv --out -",
    ] {
        assert_contains(&home.run(arguments).refused().join("\n"), &["'-' for '--out", "./-"]);
    }
    assert!(!home.path().join("-").exists());
}

/// Every command refuses a name that is no text alike, in words.
#[test]
fn names_that_are_no_text_are_refused_by_all_commands() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let (home, name) = (Home::new(), OsStr::from_bytes(b"./bad\xff.toml"));
    for arguments in
        ["", "eval", "eval --packing", "search --out", "import plan", "presets --presets", "validate", "merge"]
    {
        let run = Run::of(&home.command(arguments).arg(name).output().expect("the binary runs"));
        assert_contains(&run.refused().join("\n"), &["is not text in UTF-8; rename the file"]);
    }
}

/// Where no file can be made, it is said so: the kernel's word is no entity.
#[test]
fn a_place_for_no_file_is_named() {
    let home = Home::new();
    let run = home.run("import cluster -");
    assert_ne!(run.code, Some(0));
    let written = home.run("search --model mpt-1b --nodes 1 --fix tp --fix pp --fix cp --fix micro-batch --fix recompute --out /proc/x.toml");
    assert_eq!(written.code, Some(1), "{}", written.stderr);
    assert!(!written.stderr.contains("entity"), "{}", written.stderr);
    assert_contains(&written.stderr, &["/proc/x.toml: no file can be made there"]);
}
