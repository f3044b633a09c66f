use super::*;
use shardscope_evidence::measured::{cases, read};

macro_rules! log {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/logs/", $file)))
    };
}

const GPT2: (&str, &str) = log!("megatron-gpt2-n16-tp4-pp16-v100.out");
const DEEPSPEED: (&str, &str) = log!("megatron-deepspeed-3d-on.out");
const LUMI: (&str, &str) = log!("lumi-175b-16-node.out");
const SUPERBENCH: (&str, &str) = log!("superbench-megatron-deepspeed.log");
const TRAINER: (&str, &str) = log!("hf-deepspeed-gpt2.out");
const TORCHTITAN: (&str, &str) = log!("torchtitan-h100-tps-mfu.log");

const ALONE: RunOptions<'_> = RunOptions { skip: None, given: &[] };

fn given(cells: &[(&str, &str)]) -> Vec<(String, String, String)> {
    cells.iter().map(|(column, value)| ((*column).to_owned(), (*value).to_owned(), "--set".to_owned())).collect()
}

fn imported((file, text): (&str, &str), options: RunOptions<'_>) -> (BTreeMap<String, String>, String) {
    let imported = run(file, text, options).unwrap_or_else(|errors| panic!("{errors:?}"));
    (imported.made.rows[0].clone(), imported.report.text())
}

fn refused(text: &str) -> String {
    let errors = run("a.log", text, ALONE).expect_err("it is refused");
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What each log's own lines say, found apart from this reader: the seconds are the median of the elapsed times after
/// the first.
#[test]
fn a_megatron_log_gives_model_plan_and_measurement() {
    let columns = ["num_gpus", "tp", "pp", "micro_batch", "global_batch", "seq_len", "layers", "hidden", "heads"];
    for (log, cells, class, seconds) in [
        (GPT2, [64, 4, 16, 1, 4, 1024, 64, 9216, 32], "ddp", 2.74005),
        (DEEPSPEED, [64, 4, 16, 4, 1024, 1024, 64, 8192, 32], "ddp", 137.103_55),
        // Stage 0, and yet bf16's optimizer of DeepSpeed divides its state.
        (LUMI, [128, 8, 8, 2, 1024, 2048, 70, 14336, 112], "zero1", 346.67),
        (SUPERBENCH, [16, 1, 1, 2, 2048, 2048, 32, 4096, 32], "zero1", 75.216),
    ] {
        let (row, _) = imported(log, RunOptions { skip: Some(1), ..ALONE });
        for (column, wanted) in columns.into_iter().zip(cells) {
            assert_eq!(row[column], wanted.to_string(), "{}: {column}", log.0);
        }
        assert_eq!(row["strategy_class"], class, "{}", log.0);
        let read: f64 = row["step_time_s"].parse().expect("a number");
        assert!((read / seconds - 1.0).abs() < 1e-4, "{}: {read} for {seconds}", log.0);
    }
}

/// The loss scaler skipped 10, 8 and 1 steps of the first three lines; the median of the six after them is between
/// 2739.0 and 2741.1 ms. 50,257 words are padded to a multiple of 4 x 128 = 512: 99 x 512 = 50,688.
#[test]
fn what_the_loss_scaler_skipped_is_left_out_and_said() {
    let (row, report) = imported(GPT2, ALONE);
    assert_eq!((row["step_time_s"].as_str(), row["vocab"].as_str()), ("2.74005", "50688"));
    assert!(report.contains("3 of 9 lines of steps: start-up, or iterations that the loss scaler skipped"), "{report}");
    assert_eq!((row["act_ckpt"].as_str(), row["precision"].as_str()), ("full", "fp16"));
    assert!(row["notes"].contains("VP=1; sequence parallel=no"), "{row:?}");
}

/// DeepSpeed says 303 samples per second there, eleven times what the batch over the time is. The first rank had
/// 68,581.81 MiB, or 66.9744 GiB, which DeepSpeed's own line has as 66.97.
#[test]
fn deepspeed_is_believed_about_memory_and_not_about_samples() {
    let (row, _) = imported(SUPERBENCH, ALONE);
    let seconds: f64 = row["step_time_s"].parse().expect("a number");
    assert!((2048.0 / seconds - 27.2).abs() < 0.3, "{seconds}");
    assert_eq!(row["metric_peak_mem_gb"], "66.9744");
    let alone = SUPERBENCH.1.lines().filter(|line| line.contains("SamplesPerSec")).collect::<Vec<_>>().join("\n");
    // 2048 sequences, 2 on each of 16 ranks: 64 micro-batches.
    let cells = given(&[("num_gpus", "16"), ("micro_batch", "2"), ("global_batch", "2048")]);
    let (row, _) = imported(("a.log", &alone), RunOptions { skip: Some(0), given: &cells });
    assert_eq!((row["scored"].as_str(), row["metric_peak_mem_gb"].as_str()), ("no", "66.97"));
}

/// The fullest rank that prints: rank 0 with 19,961.07 MiB, or 19.4932 GiB.
#[test]
fn memory_is_that_of_the_fullest_rank() {
    assert_eq!(imported(DEEPSPEED, ALONE).0["metric_peak_mem_gb"], "19.4932");
}

/// 512 sequences of the last configuration at 3.663 a second: 139.776 s.
#[test]
fn the_trainer_prints_samples_per_second() {
    let (row, _) = imported(TRAINER, ALONE);
    let cells = ["num_gpus", "micro_batch", "global_batch", "step_time_s"].map(|column| row[column].as_str());
    assert_eq!(cells, ["64", "8", "512", "139.776"]);
}

/// 32 sequences of 8192 tokens on 4 devices of 6785 tokens a second: 262,144 / 27,140 = 9.65895 s.
#[test]
fn torchtitan_counts_tokens_per_device_and_a_step_of_many_ranks_once() {
    let (row, report) = imported(TORCHTITAN, ALONE);
    assert!(!row.contains_key("step_time_s") && report.contains("--set global_batch=N, seq_len=N"), "{report}");
    assert!(report.contains("median of 1 lines"), "{report}");
    assert_eq!(row["metric_peak_mem_gb"], "68.57");
    let cells = given(&[("global_batch", "32"), ("seq_len", "8192"), ("num_gpus", "4")]);
    assert_eq!(imported(TORCHTITAN, RunOptions { given: &cells, ..ALONE }).0["step_time_s"], "9.65895");
}

/// 128 sequences of 8192 tokens on 64 devices of 6110 tokens a second, the median of the two lines behind the first three:
/// 1,048,576 / (64 x 6115) = 2.67931 s. Shape and count are Llama 3 8B's.
#[test]
fn torchtitan_s_head_gives_model_and_plan() {
    let head = "[titan] INFO - Building 1-D device mesh with ['dp_shard'], [64]\n\
                [titan] INFO - Model llama3 8B \u{1b}[31msize: 8,030,261,248 total parameters\u{1b}[39m\n\
                [titan] INFO - Applied selective activation checkpointing to the model\n\
                [titan] INFO - Trainer is initialized with local batch size 2, global batch size 128, gradient accumulation \
                steps 1, sequence length 8192, total steps 1000 (warmup 200)\n";
    let steps: Vec<String> = [(1, "900"), (10, "6,000"), (20, "6,100"), (30, "6,120"), (40, "6,110")]
        .iter()
        .map(|(step, rate)| {
            format!("[titan] step: {step:2}  loss: 9.1  memory: 48.61GiB(51.75%)  tps: {rate}  mfu: 36.4%\n")
        })
        .collect();
    let steps = steps.concat();
    let columns = [
        "num_gpus",
        "strategy_class",
        "model",
        "layers",
        "kv_heads",
        "vocab",
        "micro_batch",
        "global_batch",
        "seq_len",
        "act_ckpt",
        "precision",
        "step_time_s",
    ];
    let (row, report) = imported(("tt.log", &(head.to_owned() + &steps)), ALONE);
    let cells = columns.map(|column| row.get(column).map_or("", String::as_str));
    assert_eq!(
        cells,
        ["64", "fsdp", "Llama 3.1 8B", "32", "8", "128256", "2", "128", "8192", "selective", "bf16", "2.67931"],
        "{report}"
    );
    // 2 x 4 x 8 ranks, two copies of shards over four; a later version names the degrees that are 1 too.
    for mesh in [
        "Building 3-D device mesh with ['dp_replicate', 'dp_shard', 'tp'], [2, 4, 8]",
        "Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=4, cp=1, tp=8, ep=1, etp=1",
    ] {
        let (row, _) = imported(("tt.log", &(mesh.to_owned() + "\n" + &steps)), ALONE);
        let cells = ["num_gpus", "tp", "strategy_class", "strategy"].map(|column| row[column].as_str());
        assert_eq!(cells, ["64", "8", "hsdp", "sharded over 4"]);
        assert!(!row.contains_key("pp"));
    }
}

/// 128 / (2 x 8) = 8 devices; 128 sequences at 25.62 a second are 4.9961 s, whether the number is between quotation marks
/// or not.
#[test]
fn the_trainer_s_head_gives_batch_and_devices() {
    let head = "***** Running training *****\n  Num examples = 51,760\n  Instantaneous batch size per device = 2\n  Total train \
                batch size (w. parallel, distributed & accumulation) = 128\n  Gradient Accumulation steps = 8\n";
    for rate in ["25.62", "'25.62'"] {
        let text = format!("{head}{{'train_runtime': 6060.5, 'train_samples_per_second': {rate}, 'epoch': 3.0}}\n");
        let (row, _) = imported(("hf.log", &text), ALONE);
        let cells =
            ["num_gpus", "micro_batch", "grad_accum", "global_batch", "step_time_s"].map(|column| row[column].as_str());
        assert_eq!(cells, ["8", "2", "8", "128", "4.9961"]);
    }
}

/// The log of LUMI has no line of `bf16`: `params_dtype` alone says it.
#[test]
fn the_format_of_weights_says_the_precision() {
    assert_eq!(imported(LUMI, ALONE).0["precision"], "bf16");
}

#[test]
fn the_table_reads_back_as_a_measured_run() {
    let cells = given(&[("cluster", "h100-80gb-dgx"), ("stack", "megatron-2024"), ("source", "a, \"b\" # c")]);
    let made = run(DEEPSPEED.0, DEEPSPEED.1, RunOptions { skip: Some(1), given: &cells }).expect("a log").made;
    let (rows, unread) = read("rows.csv", &made.to_csv());
    assert!(unread.is_empty(), "{unread:?}");
    let (cases, skipped) = cases(&rows, &shardscope_presets::library());
    assert!(skipped.is_empty(), "{skipped:?}");
    let plan = &cases[0].scenario().plan;
    // 1024 sequences in micro-batches of 4 on one data rank.
    assert_eq!((plan.tensor, plan.pipeline, plan.micro_batch, plan.accumulate), (4, 16, 4, 256));
    assert_eq!((cases[0].step_time, cases[0].row.text("source")), (Some(137.104), "a, \"b\" # c"));
}

#[test]
fn rows_of_files_with_one_name_are_numbered() {
    let mut made = run(GPT2.0, GPT2.1, ALONE).expect("a log").made;
    made.rows.push(made.rows[0].clone());
    made.tell_apart();
    assert_eq!(made.rows[1]["id"], format!("{}-2", made.rows[0]["id"]));
}

#[test]
fn what_a_row_has_no_words_for_is_refused_with_its_line() {
    let more = |line: &str| {
        let text = GPT2.1.replacen(" bf16 ", &format!(" {line}\n  bf16 "), 1);
        assert_ne!(text, GPT2.1);
        refused(&text)
    };
    let said = more("num_experts ............. 8");
    assert!(said.contains("num_experts: '8' has no column") && said.starts_with("line "), "{said}");
    assert!(more("cpu_optimizer ............ True").contains("cpu_optimizer"));
    assert!(refused("nothing of a run\n").contains("no line of a step of Megatron-LM"));
    let all = RunOptions { skip: Some(9), ..ALONE };
    let errors = run(GPT2.0, GPT2.1, all).expect_err("nothing is left");
    assert!(errors[0].to_string().contains("9 lines of steps, and 9 are left out"), "{errors:?}");
}
