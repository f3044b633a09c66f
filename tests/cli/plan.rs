//! `plan` of each operator: the contract of its JSON, its exit codes, and what it says.

use serde_json::Value;

use super::run::{Home, Run, assert_contains, keys, run};

/// A small model on one node of the machine of the OSDP profile: 125M parameters in FP32 take 2 GB of state,
/// sharded a quarter of a GB.
const SMALL: &str = "--hardware titan-rtx-pcie --model mpt-125m --seq 512 --precision fp32 --nodes 1";

fn plan(arguments: &str) -> Run {
    run(&format!("plan {SMALL} --memory-limit 4GB --any-plan {arguments}"))
}

fn json(arguments: &str) -> Value {
    plan(&format!("{arguments} --format json")).json(0)
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let found = json("--top 2");
    assert_eq!(keys(&found), "format objective cost_model plans uniform searched seconds");
    assert_eq!((found["objective"].as_str(), found["cost_model"].as_str()), (Some("throughput"), Some("simulator")));
    let plans = found["plans"].as_array().expect("a list");
    assert_eq!(plans.len(), 2);
    for plan in plans {
        assert_eq!(keys(plan), "scenario evaluation gain_over runs_in operators");
        assert_eq!(keys(&plan["gain_over"]), "fsdp ddp uniform two_way");
        assert!(plan["evaluation"]["fits"].as_bool().expect("a verdict"));
        assert_eq!(plan["evaluation"]["memory"]["capacity_bytes"], 4_000_000_000_u64);
        for operator in plan["operators"].as_array().expect("a list") {
            assert_eq!(keys(operator), "layers operator extents split why");
            assert_eq!(keys(&operator["extents"]), "weights gradients optimizer");
        }
    }
    let best = |plan: &Value| plan["evaluation"]["tokens_per_s_per_device"].as_f64().expect("a number");
    assert!(best(&plans[0]) >= best(&plans[1]));
    assert!(plans[0]["gain_over"]["fsdp"].as_f64().expect("FSDP fits") >= 0.0);
}

/// With the paper's two-way choice, and with everything alike in each way: on one node weights, gradients
/// and optimizer state lie on a device or over the node, each at least as wide as the one before, which makes 4 ways.
#[test]
fn a_plan_is_compared_with_every_uniform_strategy() {
    let found = json("");
    let gains = &found["plans"][0]["gain_over"];
    let ways = found["uniform"].as_array().expect("a list");
    let way = |extents: [&str; 3]| {
        let of = |way: &&Value| {
            ["weights", "gradients", "optimizer"].map(|part| way["extents"][part].as_str()) == extents.map(Some)
        };
        ways.iter().find(of).unwrap_or_else(|| panic!("no {extents:?}"))
    };
    assert_eq!(ways.len(), 4);
    let best = found["plans"][0]["evaluation"]["tokens_per_s_per_device"].as_f64().expect("a number");
    for (extents, name) in [(["device"; 3], "ddp"), (["system"; 3], "fsdp")] {
        // What does not fit has no figures, and nothing is gained over it.
        let over = way(extents)["tokens_per_s_per_device"].as_f64().map(|tokens| best / tokens - 1.0);
        let (over, gain) = (over.unwrap_or(-1.0), gains[name].as_f64().unwrap_or(-1.0));
        assert!((over - gain).abs() < 1e-9, "{name}: {over} is not {gain}");
    }
    assert!(way(["system"; 3])["fits"].as_bool().expect("a verdict"));
    let zero1 = way(["device", "device", "system"])["peak_bytes"].as_f64().expect("it fits");
    assert!(zero1 <= 4e9 && gains["two_way"].as_f64().expect("a gain") >= 0.0);
    let text = plan("").stdout;
    assert_contains(
        &text,
        &["over all ranks or not at all", "shards all operators the same way: device / system / system"],
    );
}

/// FSDP2 shards weights, gradients and optimizer state alike, over one device or all, and cuts no operator into slices.
/// Megatron-LM shards the optimizer's state of all operators or none.
#[test]
fn plans_stay_within_what_the_stack_runs() {
    for (stack, alike) in [("default", false), ("megatron-2024", true)] {
        let found = run(&format!("plan {SMALL} --stack {stack} --memory-limit 4GB --top 3 --format json")).json(0);
        let plans = found["plans"].as_array().expect("a list");
        assert!(!plans.is_empty());
        for plan in plans {
            let operators = plan["operators"].as_array().expect("a list");
            let extents: Vec<&Value> = operators.iter().map(|operator| &operator["extents"]).collect();
            assert!(operators.iter().all(|operator| operator["split"] == 1), "{plan}");
            if alike {
                assert!(extents.iter().all(|one| one["weights"] == "device" && *one == extents[0]), "{extents:?}");
            } else {
                // FSDP2 has one extent for all of an operator's state, or keeps its weights within a step.
                let one_extent = |one: &&Value| one["weights"] == one["optimizer"] || one["weights"] == "device";
                assert!(extents.iter().all(one_extent), "{extents:?}");
            }
        }
    }
}

/// The scenario in the answer, written as a file, evaluates to what the answer says.
#[test]
fn a_plan_can_be_evaluated_again() {
    let found = json("--objective memory");
    let plan = &found["plans"][0];
    let scenario: toml::Table = serde_json::from_value(plan["scenario"].clone()).expect("a table");
    let home = Home::new();
    home.write("plan.toml", &toml::to_string(&scenario).expect("TOML"));
    let again = home.run("eval plan.toml --format json").json(0);
    for key in ["step_time_s", "memory", "time"] {
        assert_eq!(again[key], plan["evaluation"][key], "{key}");
    }
}

#[test]
fn the_answer_says_which_costs_it_went_by() {
    let paper = plan("--cost-model paper");
    assert_contains(&paper.stdout, &["by the paper's model, and evaluated by the simulator", "nothing overlaps"]);
    assert_contains(&plan("").stdout, &["chosen by the simulator", "state over", "(FSDP)", "(DDP)", "the same way"]);
    assert!(paper.stdout.lines().all(|line| line.len() <= 120), "{}", paper.stdout);
    assert!(json("--cost-model paper")["plans"][0]["paper_step_time_s"].is_number());
}

#[test]
fn the_fewest_devices_are_searched() {
    let found = run(&format!("plan {SMALL} --memory-limit 5GB --objective devices --format json")).json(0);
    // 16 bytes of state for each of 125M parameters are 2 GB; 512 x 50,368 logits at 14 bytes, 0.36 GB; what the
    // program keeps for itself, 1.6 GB.
    assert_eq!(found["plans"][0]["scenario"]["plan"]["devices"], 1);
}

#[test]
fn nothing_fits_is_told_by_the_exit_code() {
    let found = run(&format!("plan {SMALL} --memory-limit 300MB --format json")).json(3);
    assert_eq!(found["plans"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_cannot_be_planned_is_refused_by_name() {
    for (wrong, parts) in [
        ("--memory-limit 0GB", ["--memory-limit", "above 0"]),
        ("--cost-model paper --tp 2", ["--cost-model", "data parallelism alone"]),
        ("--objective best", ["--objective", "throughput"]),
        ("--top 0", ["--top", "1"]),
        // What only another search asks for.
        ("--devices-max 8", ["--devices-max", "training-time"]),
        ("--objective devices --devices-max 8", ["--devices-max", "training-time"]),
        ("--steps 5", ["--steps", "training-time"]),
        ("--critical-batch kaplan", ["--critical-batch", "training-time"]),
        ("--objective training-time --devices-max 8 --steps 5 --cost-model paper", ["--cost-model", "leave it out"]),
        ("--grid --objective memory", ["--grid", "--objective"]),
        ("--grid --top 3", ["--grid", "--top"]),
        ("--grid --cost-model paper", ["--grid", "--cost-model"]),
        ("--grid --devices-max 8", ["--grid", "--devices-max"]),
    ] {
        let run = run(&format!("plan {SMALL} {wrong}"));
        assert_contains(&run.refused().join("\n"), &parts);
    }
}

/// The 23.65 GiB of a Titan RTX that PyTorch finds, whatever more is allowed: 23.65 x 2^30 = 25,393,994,137.6. The file says so too.
#[test]
fn a_limit_above_the_devices_memory_gives_none() {
    let home = Home::new();
    let run = home.run(&format!("plan {SMALL} --memory-limit 1TiB --out best.toml --format json"));
    let found = run.json(0);
    assert_eq!(found["plans"][0]["evaluation"]["memory"]["capacity_bytes"], 25_393_994_138_u64);
    let text = std::fs::read_to_string(home.path().join("best.toml")).expect("written");
    let file: toml::Table = text.parse().expect("TOML");
    assert_eq!(file["plan"]["memory_factor"].as_float(), Some(1.0));
}

#[test]
fn fewer_plans_than_were_asked_for_are_counted() {
    let few = plan("--top 1000").stdout;
    assert_contains(&few, &[" of the 1000 plans asked for: no more were found"]);
    assert!(!plan("").stdout.contains("asked for"));
}

/// The file holds the plan of the fewest days, whichever method found it.
#[test]
fn the_shortest_training_is_written() {
    let home = Home::new();
    let search = "plan --objective training-time --hardware a100-80gb-nvlink16 --stack ideal --model x-32 \
                  --recompute full --devices-max 8 --critical-batch 100 --steps 1000 --out best.toml --format json";
    let found = home.run(search).json(0);
    let days = |method: &&Value| method["days"].as_f64().expect("days");
    let methods = found["methods"].as_array().expect("a list");
    let best = methods.iter().min_by(|a, b| days(a).total_cmp(&days(b))).expect("a method");
    let eval = home.run("eval best.toml --format json").json(0);
    assert_eq!(eval["step_time_s"], best["step_time_s"]);
    assert_eq!(eval["scenario"]["plan"], best["scenario"]["plan"]);
    let again = home.run(search);
    assert_eq!((again.code, again.stdout.as_str()), (Some(1), ""), "refused before the search");
}

/// What a search prints as JSON that is interrupted as soon as it has begun; it dies by the signal.
fn interrupted(home: &Home, search: &[&str]) -> serde_json::Value {
    let mut command = home.command("plan --log log --format json");
    let child = command.args(search).spawn().expect("the binary runs");
    let started = || std::fs::read_to_string(home.path().join("log")).is_ok_and(|log| log.contains("searching plans"));
    let begin = std::time::Instant::now();
    while !started() && begin.elapsed().as_secs() < 20 {
        std::thread::yield_now();
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill").success());
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(2), "{search:?}");
    assert!(begin.elapsed().as_secs() < 15, "{:?}", begin.elapsed());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn an_interrupted_search_prints_the_best_so_far_and_dies_by_the_signal() {
    let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
    let plan = words(
        "--hardware a100-80gb-dgx --model megatron-1t --strategy zero3 --nodes 16 --tp 4 --cp 4 --offload state \
         --objective memory",
    );
    assert!(interrupted(&Home::new(), &plan)["plans"].is_array());

    let training = words(
        "--objective training-time --hardware a100-80gb-nvlink16 --model megatron-1t --devices-max 65536 --steps 1000",
    );
    assert!(interrupted(&Home::new(), &training)["methods"].is_array());

    // A hundred batches of 64 ways to shard each of 4,096 layers.
    let home = Home::new();
    let rows = (1..=100).flat_map(|batch| (0..64).map(move |way| (batch, way))).map(|(batch, way)| {
        let noise = f64::from((batch * 37 + way * 101) % 97) / 100.0;
        let (time, memory) = (1.0 + f64::from(way) / 100.0 + noise, 10_000.0 - 140.0 * f64::from(way) + 50.0 * noise);
        format!("1024,{batch},{way},{},{}\n", time * f64::from(batch), memory * f64::from(batch) / 100.0)
    });
    home.write("rows.csv", &format!("hidden,batch_index,strategy,time_s,mem_mib\n{}", rows.collect::<String>()));
    let profile = ["--profile", "rows.csv", "--layers", "4096", "--hidden", "1024", "--memory-limit", "20000 GiB"];
    assert!(interrupted(&home, &profile)["plans"].is_array());
}
