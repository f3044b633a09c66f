//! `plan --objective training-time`: the contract of its JSON, and that its parts add up.

use serde_json::Value;

use super::run::{keys, number, run};

/// A small model on half a node.
const SEARCH: &str = "plan --objective training-time --hardware a100-80gb-nvlink16 --stack ideal --model x-32 \
                      --recompute full --devices-max 8 --critical-batch 100 --steps 1000";

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().expect("a list")
}

/// Checks that an object has these keys; it may have more.
fn has(value: &Value, promised: &str) {
    let found = keys(value);
    let found: Vec<&str> = found.split(' ').collect();
    let missing: Vec<&str> = promised.split(' ').filter(|key| !found.contains(key)).collect();
    assert!(missing.is_empty(), "{missing:?} are not in {found:?}");
}

#[test]
fn json_has_the_keys_of_the_contract() {
    let found = run(&format!("{SEARCH} --format json")).json(0);
    has(&found, "format methods curve");
    let methods = list(&found, "methods");
    assert_eq!(methods.len(), 5, "every method fits somewhere");
    for method in methods {
        has(method, "method days devices tp pp dp micro_batch accumulate efficiency memory");
        let sizes = ["tp", "pp", "dp"].map(|key| method[key].as_u64().expect("a count"));
        assert_eq!(method["devices"].as_u64(), Some(sizes.iter().product()));
        assert!((0.0..1.0).contains(&number(method, "efficiency")));
        let memory = &method["memory"];
        has(memory, "capacity_bytes peak_bytes parts stages");
        // Memory is that of the fullest stage; there is one for each pipeline rank.
        let stages = list(memory, "stages").iter().map(|stage| stage["peak_bytes"].as_u64().expect("bytes"));
        assert_eq!(stages.clone().count() as u64, sizes[1]);
        assert_eq!(stages.max(), memory["peak_bytes"].as_u64());
    }
    // 1, 2, 4 and 8 devices of each method; a pipeline has at least two ranks.
    let curve = list(&found, "curve");
    assert!((4 * 5 - 2..=4 * 5).contains(&curve.len()), "{}", curve.len());
    for point in curve {
        has(point, "method devices days");
    }
}

/// S steps of a batch at the critical one; (1 + 100 / b) / 2 times as many of a batch b [layered B3]. The parts of the
/// days sum to them.
#[test]
fn days_are_steps_times_their_time_and_the_sum_of_their_parts() {
    let found = run(&format!("{SEARCH} --format json")).json(0);
    for method in list(&found, "methods") {
        let (days, batch) = (number(method, "days"), number(method, "batch"));
        let steps = 1000.0 * (1.0 + 100.0 / batch) / 2.0;
        assert!((number(method, "step_time_s") * steps / 86_400.0 / days - 1.0).abs() < 1e-9, "{method}");
        let parts: f64 = list(method, "days_by_part").iter().map(|part| number(part, "days")).sum();
        assert!((parts / days - 1.0).abs() < 1e-9, "{parts} of {days} days");
    }
}

/// The digits of the parts are those of the days, however short the training: ten parts of three digits are off by 5 in
/// the third at most.
#[test]
fn the_parts_of_a_short_training_have_digits() {
    let text = run(&SEARCH.replace("--steps 1000", "--steps 10")).stdout;
    let cells = |line: &str| -> Vec<f64> { line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect() };
    let lines: Vec<&str> = text.lines().collect();
    let days = lines.iter().skip_while(|line| !line.contains("micro-batches")).skip(1).take(5);
    let days: Vec<f64> = days.map(|line| cells(line)[0]).collect();
    let parts = lines.iter().skip_while(|line| !line.starts_with("days by part")).skip(2).take(10);
    let parts: Vec<Vec<f64>> = parts.map(|line| cells(line)).collect();
    assert!(days[0] < 0.01, "{text}");
    for (method, days) in days.iter().enumerate() {
        let sum: f64 = parts.iter().map(|part| part[method]).sum();
        assert!((sum / days - 1.0).abs() < 0.05, "{sum} of {days} days: {text}");
    }
}
