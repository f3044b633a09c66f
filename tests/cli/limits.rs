//! `limits`: bare numbers, scenarios, keys, and what is refused.

use serde_json::Value;

use super::run::{Home, Run, assert_contains, keys, number, run};

/// The machine of the golden values [fsdp A6].
const MACHINE: &str = "--memory 40GB --link 25GB/s --peak 312TFLOP/s --seq 2048 --gamma 0 --n-bwd 1 --stage 3";

fn json(arguments: &str) -> Value {
    run(&format!("limits {arguments} --format json")).json(0)
}

fn assert_close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
}

/// [fsdp A6], row 30B on 64 devices; the cap of the peak: 312e12 / (4 x 67.6e9 flop) by hand.
#[test]
fn bare_numbers_give_the_golden_values() {
    let limits = json(&format!("--model fsdp-30b --devices 64 {MACHINE}"));
    assert_close(number(&limits, "phi"), 29.595e9);
    assert_close(number(&limits, "free_bytes"), 32.601e9);
    assert_eq!((limits["token_capacity"].as_u64(), limits["seq_bound"].as_u64()), (Some(47_376), Some(47_376)));
    assert_close(number(&limits, "transfer_s"), 2.3676);
    assert_close(number(&limits, "hfu_bound_uncapped"), 3.9770);
    assert_close(number(&limits, "tokens_per_s_bound_uncapped"), 5002.6);
    assert_close(number(&limits, "hfu_bound"), 1.0);
    assert_close(number(&limits, "mfu_bound"), 0.75);
    // Forward: 2 x 29.595e9 + 4 x 48 x 7168 x 2048 = 62.0082e9 flop; 312e12 / (4 x 62.0082e9) = 1257.9.
    assert_close(number(&limits, "tokens_per_s_bound"), 1257.9);
    // [fsdp A4 (b)]: twice bound (a) with n_bwd = 1.
    assert_close(number(&limits["network_floor"], "hfu"), 2.0 * 3.9770);
    assert_close(number(&limits["network_floor"], "tokens_per_s"), 2.0 * 5002.6);
}

#[test]
fn the_keys_are_those_promised() {
    let limits = json(&format!("--model fsdp-7b --devices 64 {MACHINE}"));
    let mut found: Vec<String> = keys(&limits).split(' ').map(str::to_owned).collect();
    found.sort();
    assert_eq!(
        found.join(" "),
        "format free_bytes hfu_bound hfu_bound_uncapped mfu_bound network_floor phi seq_bound token_capacity \
         tokens_per_s_bound tokens_per_s_bound_uncapped transfer_s"
    );
    assert_eq!(keys(&limits["network_floor"]), "hfu tokens_per_s");
    assert_eq!(limits["format"], 1);
}

/// [fsdp A6]: 175B on 64 devices lacks 3.49 GB.
#[test]
fn state_that_does_not_fit_leaves_nothing() {
    let arguments = format!("--model fsdp-175b --devices 64 {MACHINE}");
    let limits = json(&arguments);
    assert!((number(&limits, "free_bytes") / 1e9 + 3.49).abs() < 5e-3);
    for key in ["token_capacity", "seq_bound", "hfu_bound", "hfu_bound_uncapped", "mfu_bound", "tokens_per_s_bound"] {
        assert!(number(&limits, key).abs() < f64::MIN_POSITIVE, "{key}");
    }
    assert!(number(&limits["network_floor"], "tokens_per_s").abs() < f64::MIN_POSITIVE);
    let text = run(&format!("limits {arguments}"));
    assert_eq!(text.code, Some(0));
    assert_contains(&text.stdout, &["does not fit", "-3.25 GiB"]);
}

/// Four devices of a machine with more to a node: the bare numbers stand for the machine.
#[test]
fn bare_numbers_need_no_whole_nodes() {
    assert!(number(&json(&format!("--model fsdp-13b --devices 3 {MACHINE}")), "free_bytes") < 0.0);
}

/// A100, 80 GB: 16 nodes of 16 at 200 Gb/s per device, 312 TFLOP/s; 7B at its own sequence of 2048. A ring over them
/// has 16 ports of 25 GB/s between nodes, 400 GB/s, and 300 GB/s inside; the paper's form is one port's.
#[test]
fn a_scenario_gives_what_is_not_given() {
    let own = json("--hardware a100-80gb-nvlink16 --model fsdp-7b --nodes 16");
    let said = json("--model fsdp-7b --devices 256 --memory 80GiB --link 300GB/s --peak 312TFLOP/s --seq 2048 --ring");
    assert_eq!((&own["transfer_s"], &own["token_capacity"]), (&said["transfer_s"], &said["token_capacity"]));
    // The machine's kernel computes half of the scores that the paper counts: 2 phi + 4 L H s / 2 in forward.
    let (phi, square) = (12.0 * 32.0 * 4096.0 * 4096.0, 4.0 * 32.0 * 4096.0 * 2048.0);
    let ratio = number(&own, "tokens_per_s_bound") / number(&said, "tokens_per_s_bound");
    assert_close(ratio, (2.0 * phi + square) / (2.0 * phi + square / 2.0));
    let port = json("--hardware a100-80gb-nvlink16 --model fsdp-7b --nodes 16 --link 25GB/s");
    assert_close(number(&port, "transfer_s") / number(&own, "transfer_s"), 300.0 / 25.0);
    let slow = json("--hardware a100-80gb-nvlink16 --model fsdp-7b --nodes 16 --link 12.5GB/s");
    assert_close(number(&slow, "transfer_s") / number(&port, "transfer_s"), 2.0);
}

/// Eight V100 share four ports of 12.5 GB/s: the network allows 175B on 512 of them no more than a simulated plan
/// reaches.
#[test]
fn no_simulated_plan_passes_the_network_floor() {
    let job = "--hardware v100-32gb-dgx1 --model fsdp-175b --nodes 64";
    let floor = number(&json(&format!("{job} --n-bwd 2 --ring"))["network_floor"], "tokens_per_s");
    let plan = format!("eval {job} --stack ideal --strategy zero3 --micro-batch 2 --recompute full --format json");
    let plan = run(&plan).json(0);
    let reached = number(&plan, "tokens_per_s_per_device");
    assert!(reached <= floor, "{reached} tokens/s beat the floor's {floor}");
}

#[test]
fn the_text_says_each_formula() {
    let run = run(&format!("limits --model fsdp-7b --devices 64 {MACHINE}"));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_contains(&run.stdout, &["64 devices, ZeRO-3", "12 x layers x width x width", "146,443", "515 ms", "71,035"]);
    assert!(run.stdout.lines().all(|line| line.len() <= 100), "{}", run.stdout);
}

#[test]
fn wrong_numbers_are_refused_by_name() {
    let home = Home::new();
    for (wrong, flag) in [
        ("--gamma 1.5", "--gamma"),
        ("--gamma NaN", "--gamma"),
        ("--n-bwd 0", "--n-bwd"),
        ("--stage 4", "--stage"),
        ("--memory 40", "--memory"),
        ("--link 0GB/s", "--link"),
        ("--peak 0TFLOP/s", "--peak"),
        ("--tp 2", "--tp"),
    ] {
        let run: Run = home.run(&format!("limits {wrong}"));
        assert!(run.refused().join("\n").contains(flag), "{wrong}: {}", run.stderr);
    }
    let bare = "--memory 40GB --link 25GB/s --peak 312TFLOP/s";
    for wrong in ["--devices 0", "--seq 0", "--tp 2"] {
        home.run(&format!("limits {bare} {wrong}")).refused();
    }
    home.write(
        "own.toml",
        &home.run("presets scenarios --show default").stdout.replace("nodes = 8", "micro_batch = 2"),
    );
    assert_eq!(home.run("limits own.toml").code, Some(0));
}

/// What the formulas know nothing of is a flag of the scenario all the same: it changes nothing, and that is said.
#[test]
fn flags_that_change_no_limit_are_named() {
    let home = Home::new();
    let plain = home.run("limits --model mpt-7b");
    assert!(plain.stderr.is_empty(), "{}", plain.stderr);
    for (flag, value) in [("strategy", "hsdp"), ("recompute", "full"), ("micro-batch", "2"), ("offload", "all")] {
        let run = home.run(&format!("limits --model mpt-7b --{flag} {value} --log {flag}.log"));
        assert_eq!((run.code, &run.stdout), (Some(0), &plain.stdout), "--{flag}");
        // Notes reach a terminal only, and the log.
        assert!(run.stderr.is_empty(), "{}", run.stderr);
        let log = std::fs::read_to_string(home.path().join(format!("{flag}.log"))).expect("a log");
        assert!(log.contains(&format!("note: --{flag}: changes no limit")), "{log}");
    }
}

/// A number of the text, and the words that say how it is counted.
fn counted<'a>(text: &'a str, section: &str, name: &str) -> (&'a str, &'a str) {
    let lines = text.lines().skip_while(|line| !line.starts_with(section));
    let line = lines.map(str::trim).find(|line| line.starts_with(&format!("{name}  "))).expect("the number");
    let (value, words) = line.split_once(" = ").expect("its formula");
    (value.trim_start_matches(name).trim(), words)
}

/// 7B on 64 devices with gamma 0.5 and replicated weights: the step hides 2 transfers in
/// backward, 2.5 of 3.5 forwards: 3.5 x 2 / 2.5 = 2.8 transfers, the floor is 2.
#[test]
fn the_formula_of_a_stage_gives_its_number() {
    let machine = "--memory 40GB --link 25GB/s --peak 312TFLOP/s --seq 2048 --gamma 0.5";
    for stage in [1, 2] {
        let run = run(&format!("limits --model fsdp-7b --devices 64 {machine} --stage {stage}"));
        let given = |name: &str| run.stdout.split_whitespace().skip_while(|word| *word != name).nth(1);
        assert_eq!((given("n_fwd"), given("n_bwd")), (Some("0"), Some("2")));
        let seconds = |text: &str| match text.split_once(' ').expect("a unit") {
            (value, "ms") => value.parse::<f64>().expect("a number") / 1e3,
            (value, "s") => value.parse().expect("a number"),
            other => panic!("{other:?}"),
        };
        let share = |text: &str| text.strip_suffix(" %").expect("a share").parse::<f64>().expect("a number") / 100.0;
        let number = |section: &str, name: &str| counted(&run.stdout, section, name).0;
        let (transfer, forward) = (seconds(number("time", "transfer")), seconds(number("time", "forward")));
        for (section, transfers) in [("no exposed", 2.8), ("network floor", 2.0)] {
            let step = seconds(number(section, "shortest step"));
            assert!((step / (transfers * transfer) - 1.0).abs() < 5e-3, "{section}: {step} s of {transfer} s");
            let (hfu, words) = counted(&run.stdout, section, "uncapped HFU");
            assert_eq!(words, "(4 - gamma) x forward / shortest step");
            assert!((share(hfu) / (3.5 * forward / step) - 1.0).abs() < 5e-3, "{section}: {hfu}");
        }
    }
}
