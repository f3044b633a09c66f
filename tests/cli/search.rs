//! `search`, as a script runs it.

use super::run::{Home, Run, assert_contains, number, run};

/// 1B parameters on one node, with few values of what costs time.
const SMALL: &str = "search --hardware a100-80gb-dgx --model mpt-1b --nodes 1 --global-batch 64 --tp 1 --cp 1 \
                     --over micro-batch=1,2,4,8 --over recompute=none,0.5,full";

#[test]
fn json_has_the_keys_of_the_contract_and_the_command_gives_the_plan_again() {
    let json = run(&format!("{SMALL} --tokens 20B --any-plan --format json")).json(0);
    assert_eq!((&json["objective"], &json["exact"], &json["format"]), (&"throughput".into(), &true.into(), &1.into()));
    let [plans, impossible, bounded, simulated] =
        ["plans", "impossible", "bounded", "simulated"].map(|key| number(&json["space"], key));
    assert!(simulated > 0.0 && (plans - impossible - bounded - simulated).abs() < 0.5, "{}", json["space"]);
    let found = json["plans"].as_array().expect("plans");
    assert_eq!((found.len(), &found[0]["rank"]), (10, &1.into()));
    let rates: Vec<f64> = found.iter().map(|plan| number(&plan["evaluation"], "tokens_per_s")).collect();
    assert!(rates.is_sorted_by(|a, b| a >= b), "{rates:?}");
    let command = found[0]["command"].as_str().expect("a command").strip_prefix("shardscope ").expect("the program");
    let again = run(&format!("{command} --format json")).json(0);
    assert_eq!(again["step_time_s"], found[0]["evaluation"]["step_time_s"]);
    assert_eq!(again["batch"]["sequences"], 64);
}

#[test]
fn the_best_plan_is_written_and_never_over_another_file() {
    let home = Home::new();
    let search = format!("{SMALL} --out best.toml --format csv");
    let first = home.run(&search);
    assert!(
        first.stdout.starts_with("rank,tokens_per_s,mfu,days,cost,energy_kwh,devices,peak_bytes,tp,"),
        "{}",
        first.stdout
    );
    assert_eq!(home.run("eval best.toml").code, Some(0));
    assert_eq!(home.run(&search).code, Some(1), "the file is there");
}

#[test]
fn a_range_of_nodes_has_a_front_and_limits_are_kept() {
    let search = SMALL.replace("--nodes 1", "--nodes 1..4");
    let json = run(&format!("{search} --tokens 20B --pareto days,devices --top 1 --format json")).json(0);
    let front = json["pareto"].as_array().expect("a front");
    let devices: Vec<u64> = front.iter().filter_map(|plan| plan["devices"].as_u64()).collect();
    let days: Vec<f64> = front.iter().map(|plan| number(plan, "days")).collect();
    assert_eq!(devices, [8, 16, 32]);
    assert!(days.is_sorted_by(|a, b| a > b), "{days:?}");
    // A little more than what two nodes take: the fewest devices that keep it are two nodes.
    let deadline = format!("--deadline {}days --objective devices", 1.01 * days[1]);
    let kept = run(&format!("{search} --tokens 20B {deadline} --top 1 --format json")).json(0);
    assert_eq!(kept["plans"][0]["evaluation"]["batch"]["data_ranks"], 16);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    for (arguments, part) in [
        ("--deadline 30d", "--tokens: is missing"),
        ("--objective cost", "price_per_device_hour"),
        ("--pareto days,devices", "--tokens: is missing"),
        ("--tokens 1B --pareto days,cost", "price_per_device_hour"),
        ("--budget 5eur --tokens 1B", "--budget"),
        ("--over colour=1", "an axis is one of"),
        ("--fix colour", "a field is one of"),
        ("--margin 2", "a share of the memory"),
        ("--nodes 4..2", "--nodes: the range 4..2 is empty"),
    ] {
        let run = run(&format!("search --model mpt-1b {arguments}"));
        assert_contains(&run.refused().join("\n"), &[part]);
    }
    let nothing = run(&format!("{SMALL} --memory-factor 0.01 --format json"));
    let json = nothing.json(3);
    assert!(json["plans"].as_array().is_some_and(Vec::is_empty), "{json}");
}

/// Two clusters that differ in what a device-hour costs alone, 4 USD and 1. The same plans are as fast on both: what costs
/// least is on the cheap one, and takes 20e9 tokens / (tokens a second) x 8 devices / 3600 USD; for twice that nothing can
/// be had on the dear one.
#[test]
fn money_is_compared_across_clusters() {
    let home = Home::new();
    let cluster = home.run("presets clusters --show a100-80gb-dgx").stdout;
    let priced = |name: &str, price: &str| {
        let text = cluster.replacen("format = 1", &format!("format = 1\nprice_per_device_hour = \"{price}\""), 1);
        home.write(&format!("own/clusters/{name}.toml"), &text);
    };
    priced("dear", "4 USD");
    priced("cheap", "1 USD");
    let search = format!("{SMALL} --presets own --over hardware=dear,cheap --tokens 20B --top 3 --format json");
    let on = |json: &serde_json::Value| json["plans"][0]["scenario"]["cluster"].as_str().map(str::to_owned);
    let least = home.run(&format!("{search} --objective cost")).json(0);
    let best = &least["plans"][0]["evaluation"];
    let cost = number(&best["training"], "cost");
    let hand = 20e9 / number(best, "tokens_per_s") * 8.0 / 3600.0;
    assert_eq!(on(&least).as_deref(), Some("cheap"));
    assert!((cost / hand - 1.0).abs() < 1e-9, "{cost} is not {hand}");
    // Of two plans that are as fast the first stays first, unless it costs too much.
    assert_eq!(on(&home.run(&search).json(0)).as_deref(), Some("dear"));
    let within = |amount: f64| {
        Run::of(&home.command(&search).arg(format!("--budget={amount} USD")).output().expect("the binary runs"))
    };
    let kept = within(2.0 * cost).json(0);
    assert_eq!(on(&kept).as_deref(), Some("cheap"));
    for plan in kept["plans"].as_array().expect("plans") {
        assert!(number(&plan["evaluation"]["training"], "cost") <= 2.0 * cost, "{}", plan["scenario"]);
    }
    assert_eq!(within(0.9 * cost).json(3)["plans"], serde_json::json!([]));
    priced("cheap", "1 EUR");
    let refused = home.run(&format!("{search} --objective cost"));
    assert_contains(&refused.refused().join("\n"), &["--over", "4.00 USD", "1.00 EUR", "one currency"]);
}

/// 1.3 billion parameters in 10 GiB a device: some layers can stay whole, not all of them.
#[test]
fn a_choice_for_each_operator_is_what_is_written_where_it_is_better() {
    let home = Home::new();
    let search = "search --hardware a100-80gb-dgx --model mpt-1b --nodes 2 --global-batch 64 --tp 1 --cp 1 --pp 1 \
                  --over micro-batch=1,2 --over recompute=none,full --memory-factor 0.13 --out best.toml --format json";
    let json = home.run(search).json(0);
    let (best, placed) = (&json["plans"][0]["evaluation"], &json["per_operator"]);
    let gain = number(best, "step_time_s") / number(placed, "step_time_s") - 1.0;
    assert!(gain > 1e-3 && (number(placed, "gain") - gain).abs() < 1e-9, "{gain} in {placed}");
    let again = home.run("eval best.toml --format json").json(0);
    assert_eq!(again["step_time_s"], placed["step_time_s"]);
    // The file has the operators in another order, and sums of bytes are rounded by it.
    assert!((number(&again["memory"], "peak_bytes") - number(placed, "peak_bytes")).abs() <= 1.0, "{placed}");
    let operators = |scenario: &serde_json::Value| scenario["plan"]["operators"].as_array().map_or(0, Vec::len);
    assert!(operators(&again["scenario"]) > 1, "{}", again["scenario"]);
    assert_eq!((&again["fits"], operators(&json["plans"][0]["scenario"])), (&true.into(), 0));
}

/// The first plan runs in a launcher, whose export of it needs nothing changed; what is better runs in none, and says what is
/// missing.
#[test]
fn the_first_plan_is_one_that_a_launcher_takes() {
    let home = Home::new();
    let json = home.run(&format!("{SMALL} --out best.toml --format json")).json(0);
    let names = json["plans"][0]["runs_in"].as_array().expect("names");
    let tool = names.iter().filter_map(|name| name.as_str()).find(|name| *name != "fsdp2").expect("a launcher");
    let exported = home.run(&format!("export best.toml --to {tool} --strict"));
    assert_eq!(exported.code, Some(0), "{tool}: {}", exported.stderr);
    for better in json["beyond"].as_array().expect("better plans") {
        assert!(number(better, "gain") > 0.0 && better["runs_in"].as_array().is_some_and(Vec::is_empty), "{better}");
        assert!(better["missing"].as_str().is_some_and(|missing| missing.contains(": ")), "{better}");
    }
    let one = run(&format!("{SMALL} --runs-in accelerate --top 1 --format json")).json(0);
    let names = one["plans"][0]["runs_in"].as_array().expect("names");
    assert!(names.contains(&"accelerate".into()), "{names:?}");
    assert_contains(&run(&format!("{SMALL} --runs-in slurm")).refused().join("\n"), &["any", "torchtitan"]);
}

/// Layered accumulation is in no launcher. Whoever holds it gets the best of such plans, and hears of that.
#[test]
fn what_is_held_is_kept_where_no_launcher_takes_it() {
    let text = run(&format!("{SMALL} --accumulation layered --any-plan --top 1"));
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    let held = run(&format!("{SMALL} --accumulation layered --top 1"));
    assert_contains(&held.stdout, &["runs in no launcher that is known", "layered"]);
}

/// A launcher that is named holds the answer to what it takes: torchtune has no schedule of accumulation, so that nothing is listed,
/// and the nearest plan says what torchtune lacks.
#[test]
fn a_launcher_that_is_named_takes_all_plans_or_none_is_listed() {
    let none = run(&format!("{SMALL} --accumulation layered --runs-in torchtune --top 1"));
    assert_eq!(none.code, Some(3), "{}", none.stderr);
    assert_contains(&none.stdout, &["nothing that the launcher takes fits", "nearest: ", "(without --runs-in)"]);
    let json = run(&format!("{SMALL} --accumulation layered --runs-in torchtune --format json")).json(3);
    assert!(json["plans"].as_array().is_some_and(Vec::is_empty), "{json}");
}

/// `GeForce` cards stand alone: a job that does not say how many has one.
#[test]
fn a_cluster_of_single_cards_begins_with_one() {
    let of = |flags: &str| run(&format!("eval --hardware rtx4090 --model mpt-125m {flags} --format json")).json(0);
    assert_eq!(of("")["batch"]["data_ranks"], 1);
    assert_eq!(of("--nodes 2")["batch"]["data_ranks"], 8);
}
