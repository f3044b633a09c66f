//! Configuration, log, and homes that are not there.

use std::fs::File;

use super::run::{Home, Run, assert_contains};

const QUICK: &str = "presets strategies";

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
    home.write("log", "before\n");
    assert_eq!(home.run(&format!("{QUICK} --log log")).code, Some(0));
    home.run("eval --model mpt7b --log log");
    let log = std::fs::read_to_string(home.path().join("log")).expect("a log");
    assert!(log.starts_with("before\n"));
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
    assert!(std::process::Command::new("mkfifo").arg(home.path().join("pipe.toml")).status().is_ok());
    let silent = home.run("eval ./pipe.toml");
    assert_eq!(silent.code, Some(1));
    assert_contains(&silent.stderr, &["pipe.toml", "nothing arrived for 10 s"]);
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
