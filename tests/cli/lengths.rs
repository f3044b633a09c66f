//! `search --objective sequence`, as a script runs it.

use serde_json::Value;

use super::run::{Home, assert_contains, number, run};

/// 8 billion parameters on 8 H100s: how long, how fast.
const LENGTHS: &str = "search --hardware h100-80gb-dgx --model llama-3.1-8b --devices 8 --objective sequence";

fn lengths(json: &Value) -> &[Value] {
    json["lengths"].as_array().expect("lengths")
}

#[test]
fn one_command_says_how_long_and_how_fast() {
    let json = run(&format!("{LENGTHS} --format json")).json(0);
    assert_eq!((&json["objective"], &json["exact"], &json["format"]), (&"sequence".into(), &true.into(), &1.into()));
    let found = lengths(&json);
    let sequences: Vec<f64> = found.iter().map(|length| number(length, "sequence")).collect();
    let (last, doubled) = sequences.split_last().expect("a length");
    assert!(
        doubled.len() > 6 && doubled.windows(2).all(|pair| pair[1].to_bits() == (2.0 * pair[0]).to_bits()),
        "{sequences:?}"
    );
    assert_eq!((number(&json, "longest"), *doubled.first().unwrap_or(&0.0)), (*last, 8192.0));
    assert!(number(&json, "too_long") > *last);
    let rates: Vec<f64> = found.iter().map(|length| number(length, "tokens_per_s")).collect();
    assert!(rates.is_sorted_by(|a, b| a > b), "{rates:?}");
    let change = number(&found[1], "change");
    assert!((change - (rates[1] / rates[0] - 1.0)).abs() < 1e-12, "{change}");
    for length in found {
        assert!(number(length, "p_fits") >= 0.9, "{length}");
        // 1,024 sequences of 8,192 tokens.
        let batch = &length["scenario"]["plan"]["global_batch"];
        assert_eq!(batch.as_f64(), Some((8_388_608.0 / number(length, "sequence")).round().max(1.0)), "{length}");
    }
    assert_eq!(found[0]["needs"], serde_json::json!([]));
    let needs = found[doubled.len()]["needs"].to_string();
    assert_contains(&needs, &["cp", "recompute", "loss", "offload"]);
    // The command of a length gives it again.
    let command = found[5]["command"].as_str().expect("a command").strip_prefix("shardscope ").expect("the program");
    let again = run(&format!("{command} --format json")).json(0);
    assert_eq!(again["step_time_s"], found[5]["step_time_s"]);
    assert_eq!(json["plans"][0]["scenario"], found[doubled.len()]["scenario"]);
}

#[test]
fn a_rate_ends_the_lengths_and_the_longest_is_written() {
    let home = Home::new();
    let csv = home.run(&format!("{LENGTHS} --tokens-per-s-min 5k --format csv --out longest.toml"));
    assert_eq!(csv.code, Some(0), "{}", csv.stderr);
    let mut lines = csv.stdout.lines();
    assert_contains(
        lines.next().unwrap_or_default(),
        &["sequence,tokens_per_s,change,step_time_s,mfu,peak_bytes,p_fits,needs"],
    );
    let cell =
        |line: &str, at: usize| line.split(',').nth(at).and_then(|cell| cell.parse::<f64>().ok()).expect("a number");
    let rows: Vec<(f64, f64)> = lines.map(|line| (cell(line, 0), cell(line, 1))).collect();
    assert!(rows.len() > 4 && rows.iter().all(|(_, rate)| *rate >= 5000.0), "{rows:?}");
    let written = home.run("eval longest.toml --format json").json(0);
    let tokens = number(&written["batch"], "tokens") / number(&written["batch"], "sequences");
    assert_eq!(rows.last().map(|(length, _)| *length), Some(tokens));
}

#[test]
fn what_makes_no_sense_beside_lengths_is_refused() {
    for (arguments, part) in [
        ("--tokens-per-s-min 5000", "--tokens-per-s-min: holds for lengths of a sequence; add --objective sequence"),
        ("--objective sequence --tokens-per-s-min 0", "a rate is a number of tokens a second above 0"),
        ("--objective sequence --over seq=1024,2048", "--over seq: the objective sequence tries lengths itself"),
        ("--objective sequence --top 3", "--top: each length has one best plan"),
        ("--objective sequence --tokens 1B --pareto days,devices", "--pareto: each length has one best plan"),
        ("--objective sequence --part 0/2 --format json", "--part: a search for lengths is not divided"),
    ] {
        let run = run(&format!("search --model mpt-1b {arguments}"));
        assert_contains(&run.refused().join("\n"), &[part]);
    }
    let nothing = run(&format!("{LENGTHS} --memory-factor 0.01 --format json"));
    assert_eq!(nothing.json(3)["longest"], Value::Null);
}

/// The text for people: the verdict, the table, and the command line of the longest.
#[test]
fn the_text_says_what_each_step_takes() {
    let text = run(LENGTHS).stdout;
    assert_contains(
        &text,
        &["how long a context fits, and how fast it trains", "8,388,608 tokens a step at every length"],
    );
    assert_contains(&text, &["longest ", " do not fit", "needs: no plan of this length fits without", "--seq "]);
}

/// What ran fits:
/// - Llama 3 405B trained at 131,072 tokens on 16,384 H100s with tp 8, cp 16, pp 16 and 16M tokens a step (arXiv 2407.21783,
///   table 4);
/// - Qwen3-8B trained one sequence of 1,048,576 tokens on 8 H100s: FSDP2, cp 8, checkpoints on the host, the loss in chunks
///   (huggingface/trl, pull request 6846);
/// - Llama 2 7B trained at 1,048,576 tokens on 32 A100s, 16 ranks a sequence (`InternLM/xtuner@b934f4620`,
///   `docs/zh_cn/legacy/acceleration/benchmark.rst`);
/// - Llama 8B trained at 500,000 tokens on one H100, 3.7 million on 8 and 15 million on 32: Ulysses, loss and MLP in tiles,
///   checkpoints and optimizer on the host (ALST, arXiv 2506.13996).
#[test]
fn published_lengths_fit() {
    let longest = |arguments: &str| number(&run(&format!("search {arguments} --format json")).json(0), "longest");
    let llama = "--hardware h100-80gb-dgx --stack megatron-2024 --model llama-3.1-405b --nodes 2048 --tp 8 --cp 16 --pp 16 \
                 --seq 131072 --global-batch 128 --objective sequence";
    assert!(longest(llama) >= 131_072.0);
    let trl = "--hardware h100-80gb-dgx --stack accelerate --model qwen3-8b --devices 8 --objective sequence";
    assert!(longest(trl) >= 1_048_576.0);
    let trl = "eval --hardware h100-80gb-dgx --stack accelerate --model qwen3-8b --devices 8 --cp 8 --seq 1048576 \
               --global-batch free --recompute full --loss chunked --offload checkpoints";
    assert_eq!(run(trl).code, Some(0));
    let xtuner = "eval --hardware a100-80gb-dgx --stack xtuner-2025 --strategy zero3 --model llama-2-7b --nodes 4 --cp 16 \
                  --seq 1048576 --accumulate 16 --global-batch free --recompute full";
    assert_eq!(run(xtuner).code, Some(0));
    for (size, cp, tokens) in [("--devices 1", 1, 500_000), ("--nodes 1", 8, 3_700_000), ("--nodes 4", 32, 15_000_000)]
    {
        let alst = format!(
            "eval --hardware h100-80gb-dgx --stack hf-deepspeed-2024 --strategy zero3 --model llama-3.1-8b {size} --cp {cp} \
             --seq {tokens} --global-batch free --recompute full --loss chunked --offload all"
        );
        assert_eq!(run(&format!("{alst} --mlp-tiles 64")).code, Some(0), "{tokens}");
        // What is in tiles is what makes room.
        assert_eq!(run(&alst).code, Some(3), "{tokens}");
    }
}
