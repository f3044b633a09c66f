//! `validate`: keys, scores, what is skipped and what is refused.

use serde_json::Value;

use super::run::{Home, Run, assert_contains, keys, run};

/// One A100, one layer of width 1024 with 8 heads and 1024 tokens, logits over 1024 words, all at the peak.
const HEADER: &str = "id,cluster,stack,num_gpus,strategy_class,model,layers,hidden,heads,vocab,seq_len,micro_batch,\
                      global_batch,act_ckpt,precision,group,scored,colour,step_time_s,metric_peak_mem_gb,notes";
const RUN: &str = "a100-80gb-dgx,ideal,1,ddp,GPT,1,1024,8,1024,1024,1";

/// Matrices: 6 x (12 + 1) x 2^20 weights x 2^10 tokens; attention's causal half: 7 x 2^30; at 312 TFLOP/s. The
/// embedding moves 5 x 2^20 elements of two bytes at 2.039 TB/s.
const SECONDS: f64 = 85.0 * 1_073_741_824.0 / 312e12 + 10.0 * 1_048_576.0 / 2.039e12;

fn table(rows: &[&str]) -> String {
    format!("{HEADER}\n{}\n", rows.join("\n"))
}

fn validated(rows: &[&str]) -> Run {
    let home = Home::new();
    home.write("rows.csv", &table(rows));
    home.run("validate rows.csv --format json")
}

fn close(value: &Value, expected: f64) {
    let value = value.as_f64().expect("a number");
    assert!((value - expected).abs() < 1e-6 * expected.abs().max(1e-3), "{value} is not {expected}");
}

#[test]
fn errors_and_scores_of_two_runs() {
    // Measured: the prediction itself, and a run of two micro-batches that took four times as long.
    let rows = [
        format!("met,{RUN},1,none,bf16,a,yes,blue,{SECONDS},,"),
        format!("slow,{RUN},2,none,bf16,b,yes,,{},,", 4.0 * SECONDS),
        format!("unscored,{RUN},2,none,bf16,b,no,,1,,"),
    ];
    let report = validated(&rows.each_ref().map(String::as_str)).json(0);
    let [met, slow] = &report["rows"].as_array().expect("rows")[..] else { panic!("two rows in {report}") };
    assert_eq!(
        (met["id"].as_str(), met["group"].as_str(), met["metric"].as_str()),
        (Some("met"), Some("a"), Some("step_time"))
    );
    close(&met["predicted"], SECONDS);
    close(&met["error"], 0.0);
    close(&slow["error"], -0.5);
    let scores = &report["summary"]["step_time"];
    assert_eq!((scores["rows"].as_u64(), scores["groups"].as_u64()), (Some(2), Some(2)));
    close(&scores["mean"], 0.25);
    close(&scores["median"], 0.25);
    close(&scores["p90"], 0.45);
    close(&scores["bias"], -0.25);
    // The null model's constant is the median of measured over ideal, 1 and 2, weighted by 1 and 1/2: 1.
    close(&scores["null_mean"], 0.25);
    close(&scores["skill"], 1.0);
    assert_eq!(report["skipped"][0]["id"], "unscored");
    assert_eq!(report["format"], 1);
    assert_eq!(report["summary"]["memory"]["rows"], 0);
    assert!(report["summary"]["memory"]["mean"].is_null());
}

/// 3 sequences in micro-batches of 2: halfway between one micro-batch and two.
#[test]
fn a_step_does_the_work_of_its_global_batch() {
    let run = RUN.replace(",1024,1024,1", ",1024,1024,2");
    let time = |batch: u32| {
        let report = validated(&[&format!("x,{run},{batch},none,bf16,,yes,,1,,")]).json(0);
        report["rows"][0]["predicted"].as_f64().expect("a number")
    };
    assert!((time(3) - f64::midpoint(time(2), time(4))).abs() < 1e-9);
}

#[test]
fn peaks_of_memory_are_scored_whatever_scored_says() {
    let report = validated(&[
        &format!("one,{RUN},1,none,bf16,,no,,,1,memory from nvidia-smi"),
        &format!("two,{RUN},1,none,bf16,,no,,,1,"),
    ])
    .json(0);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!((rows[0]["metric"].as_str(), rows[0]["reading"].as_str()), (Some("memory"), Some("nvidia-smi")));
    assert_eq!(rows[1]["reading"], "allocator");
    // 1 GiB; 14,702,592 parameters with 16 bytes and activations of some 20 MiB.
    close(&rows[0]["measured"], 1_073_741_824.0);
    assert!((2.2e8..3.5e8).contains(&rows[0]["predicted"].as_f64().expect("bytes")));
    for (key, rows) in [("memory", 2), ("memory_allocator", 1), ("memory_device", 1)] {
        assert_eq!(report["summary"][key]["rows"], rows);
    }
}

#[test]
fn a_bad_cell_names_file_line_and_column() {
    let report = validated(&[
        &format!("good,{RUN},1,none,bf16,,yes,,1,,"),
        &format!("bad,{},1,none,bf16,,yes,,1,,", RUN.replace("GPT,1,", "GPT,several,")),
        "short,a100-80gb-dgx",
        &format!("unknown,{},1,none,bf16,,yes,,1,,", RUN.replace("a100-80gb-dgx", "a100-80gb-dgz")),
        &format!("class,{},1,none,bf16,,yes,,1,,", RUN.replace("ddp", "magic")),
        &format!("layout,{},12,none,bf16,,yes,,1,,", RUN.replace("ideal,1,", "ideal,12,")),
    ])
    .json(0);
    assert_eq!(report["summary"]["step_time"]["rows"], 1);
    let why = |id: &str| {
        let skipped = report["skipped"].as_array().expect("a list");
        let found = skipped.iter().find(|one| one["id"] == id).unwrap_or_else(|| panic!("{id} in {skipped:?}"));
        found["why"].as_str().expect("a reason").to_owned()
    };
    assert_contains(&why("bad"), &["rows.csv:3", "'layers'", "several"]);
    assert_contains(&why("rows.csv:4"), &["line"]);
    assert_contains(&why("unknown"), &["a100-80gb-dgz", "a100-80gb-dgx"]);
    assert_contains(&why("class"), &["magic"]);
    assert_contains(&why("layout"), &["12 devices do not fill nodes of 8"]);
}

#[test]
fn what_stands_for_a_blank_cell_is_named() {
    let blank = RUN.replace("GPT,1,1024,8,1024,1024,1", "GPT,1,1024,,,1024,");
    let report = validated(&[&format!("x,{blank},8,,,,yes,,1,,")]).json(0);
    let assumed = report["assumed"].as_array().expect("a list");
    let value = |column: &str| assumed.iter().find(|one| one["column"] == column).map(|one| one["value"].as_str());
    assert_eq!(value("heads"), Some(Some("8")));
    assert_eq!(value("vocab"), Some(Some("51200")));
    assert_eq!(value("micro_batch"), Some(Some("8")));
    assert_eq!(value("precision"), Some(Some("bf16")));
    assert_eq!(value("act_ckpt"), Some(Some("none")));
}

#[test]
fn files_that_hold_no_runs_are_named() {
    let home = Home::new();
    home.write("rows.csv", &table(&[&format!("good,{RUN},1,none,bf16,,yes,,1,,")]));
    home.write("other.csv", "hidden,time_s\n1,2\n");
    let both = home.run("validate rows.csv other.csv --format csv");
    assert_eq!((both.code, both.stderr.as_str()), (Some(0), ""));
    assert_contains(
        &both.stdout,
        &["id,group,stack,hardware,strategy_class,metric,predicted", "good,good,ideal", "other.csv"],
    );
    assert_contains(&home.run("validate other.csv").refused().join("\n"), &["other.csv", "'id'"]);
    let missing = home.run("validate absent.csv");
    assert_eq!((missing.code, missing.stdout.as_str()), (Some(1), ""));
    assert_contains(&missing.stderr, &["absent.csv"]);
    home.write("empty.csv", "");
    assert_contains(&home.run("validate empty.csv").refused().join("\n"), &["empty.csv", "'id'"]);
    home.write("header.csv", &table(&[]));
    for command in ["validate header.csv", "calibrate header.csv", "--rows header.csv"] {
        assert_contains(home.run(command).refused()[0], &["header.csv: holds no run; write each as a line"]);
    }
}

#[test]
fn without_a_file_the_embedded_rows_are_scored() {
    let text = run("validate");
    assert_eq!((text.code, text.stderr.as_str()), (Some(0), ""));
    let parts =
        ["sc21-t1-1T", "step time", "peak memory", "nvidia-smi", "by stack", "llm-foundry-2024", "skill", "ranking"];
    assert_contains(&text.stdout, &parts);
    let report = run("validate --format json").json(0);
    assert!(report["rows"].as_array().is_some_and(|rows| rows.len() >= 80));
    assert_eq!(keys(&report["summary"]["step_time"]), "rows groups mean median p90 bias null_mean skill");
}

/// Rows for the explorer are read before it opens; without a terminal they change nothing of its report.
#[test]
fn rows_for_the_explorer_are_checked_by_name() {
    let home = Home::new();
    home.write("none.csv", "a,b\n1,2\n");
    assert_contains(&home.run("--rows none.csv eval").refused().join("\n"), &["--rows", "before a command"]);
    let missing = home.run("--rows missing.csv");
    assert_eq!((missing.code, missing.stderr.contains("missing.csv")), (Some(1), true), "{}", missing.stderr);
    assert_contains(&home.run("--rows none.csv").refused().join("\n"), &["none.csv", "no column"]);
}

/// Counts at the most that a cell may hold, and beyond it: each row is skipped with its reason, and none overflows.
#[test]
fn absurd_counts_are_skipped() {
    let header = "id,cluster,stack,num_gpus,tp,strategy_class,model,layers,hidden,vocab,params_b,seq_len,micro_batch,\
                  grad_accum,global_batch,step_time_s";
    let rows = [
        ("ranks", "33554432,33554432,ddp,GPT,1,1024,1024,,1024,1,1,,1", "column 'tp': '33554432' is no count"),
        ("words", "16777216,16777216,ddp,GPT,1,4194304,1024,,1024,1,1,,1", "'vocab' must be at most"),
        ("width", "1,1,ddp,GPT,1,4294967295,1024,,1024,1,1,,1", "column 'hidden'"),
        ("mlp", "1,1,ddp,GPT,1,16777216,1024,,1024,1,1,,1", "'ffn_hidden' must be at most"),
        ("weights", "1,1,ddp,GPT,16384,4194304,1024,7,1024,1,1,,1", "'layers' must make at most"),
        ("product", "1,1,ddp,GPT,1,1024,1024,,1024,16777216,16777216,,1", "micro_batch"),
        ("batch", "1,1,ddp,GPT,1,1024,1024,,1024,1,,1e300,1", "accumulate"),
    ];
    let lines: Vec<String> = rows.iter().map(|(id, rest, _)| format!("{id},a100-80gb-dgx,ideal,{rest}")).collect();
    let home = Home::new();
    home.write("rows.csv", &format!("{header}\n{}\n", lines.join("\n")));
    let validated = home.run("validate rows.csv --format json");
    let told = validated.refused();
    assert_eq!(told.len(), rows.len(), "{told:?}");
    for (id, _, wanted) in rows {
        assert!(told.iter().any(|told| told.contains(&format!("{id}: ")) && told.contains(wanted)), "{id}: {told:?}");
    }
}

/// What is printed can be filled in: it is read back, from a pipe too, and its run is scored.
#[test]
fn the_template_is_validated_as_it_is_printed() {
    let home = Home::new();
    let template = home.run("validate --template");
    assert_eq!((template.code, template.stderr.as_str()), (Some(0), ""));
    assert_contains(&template.stdout, &["# strategy_class (needed): ddp, zero1", "# attn: ", "\nid,cluster,"]);
    home.write("mine.csv", &template.stdout);
    let report = home.run("validate mine.csv --format json").json(0);
    assert_eq!(report["summary"]["step_time"]["rows"], 1);
    assert_eq!(home.run_with_input("validate - --format json", &template.stdout).json(0), report);
    let unreadable = home.run_with_input("validate -", "a,b\n1,2\n");
    assert_contains(&unreadable.refused().join("\n"), &["standard input: its header has no columns 'id', 'cluster'"]);
}

#[test]
fn a_table_without_a_scored_row_is_refused_with_what_would_score_each() {
    let home = Home::new();
    let rows = [format!("kept,{RUN},1,none,bf16,,no,,1,,"), format!("blank,{RUN},1,none,bf16,,yes,,,,")];
    home.write("rows.csv", &table(&rows.each_ref().map(String::as_str)));
    let told = home.run("validate rows.csv").refused().join("\n");
    assert_contains(&told, &["kept: 'scored' is no", "blank: has nothing to compare", "'step_time_s'"]);
}

/// A time or a peak that nobody can have measured, and a cell of thousands of letters, which is not repeated whole.
#[test]
fn what_cannot_have_been_measured_is_refused_in_few_words() {
    let long = "9".repeat(5000);
    let rows = [
        format!("long,{RUN},1,none,bf16,a,yes,,1e308,,"),
        format!("short,{RUN},1,none,bf16,b,yes,,1e-300,,"),
        format!("full,{RUN},1,none,bf16,c,yes,,1,1e300,"),
        format!("wordy,{RUN},1,none,bf16,d,yes,,{long}x,,"),
    ];
    // No row is left to score.
    let skipped = validated(&rows.each_ref().map(String::as_str)).refused().join("\n");
    assert_contains(
        &skipped,
        &["a time of a step from 1 us to 1e6 s", "a peak of memory from 1 B to 1 PB", "99...' is no number"],
    );
    assert!(skipped.len() < 2000, "{skipped}");
}

/// Rows of post-training, told by their columns: one A100 and the layer of [`RUN`] on a stack at the peak.
const METHODS: &str = "id,framework,method,layout,model,layers,hidden,heads,vocab,params_b,gpu,gpus_total,train_backend,stack,\
                       update_batch,seq_len_mean,seq_len_max,reference,rollout_engine,step_s,update_s,mem_gib_per_gpu,notes";
const ROW: &str = "GPT,1,1024,8,1024,,A100-80GB,1,FSDP,ideal,1";

fn validated_methods(rows: &[&str]) -> Run {
    let home = Home::new();
    home.write("rows.csv", &format!("{METHODS}\n{}\n", rows.join("\n")));
    home.run("validate rows.csv --format json")
}

/// DPO passes two sequences forward and backward, and two forward through a reference: of the matrices' 6 flop for each weight and
/// token 2, of causal attention's 7 x 2^30 2 x 2^30, of the embedding's five moves of its rows two. A step of answers as long as
/// the sequence is compared, and so is the peak: 18 bytes for each of 14,702,592 parameters, beside activations of two sequences.
#[test]
fn a_row_of_dpo_is_compared() {
    let forward = 28.0 * 1_073_741_824.0 / 312e12 + 4.0 * 1_048_576.0 / 2.039e12;
    let step = 2.0 * (SECONDS + forward);
    let run = validated_methods(&[
        &format!("pair,TRL,DPO,train only,{ROW},1024,1024,yes,,{step},,1,no recompute; micro-batch 1; nvidia-smi"),
        &format!("pack,TRL,DPO,train only,{ROW},,1024,yes,,{},,,packed; no recompute; micro-batch 1", step / 2.0),
        &format!("ahead,TRL,ORPO,train only,{ROW},1024,1024,,,{},,,no recompute; micro-batch 1", 2.0 * SECONDS),
    ]);
    let report = run.json(0);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[3]["metric"], &rows[3]["reading"]), (4, &"memory".into(), &"nvidia-smi".into()));
    for row in &rows[..3] {
        close(&row["error"], 0.0);
    }
    let activations = rows[3]["predicted"].as_f64().expect("bytes") - 18.0 * 14_702_592.0;
    // 32 numbers of 2 bytes of each channel and token, 128 MiB at most.
    assert!((1e7..1.4e8).contains(&activations), "{activations}");
    assert_eq!(report["skipped"], Value::Array(Vec::new()));
}

/// A row of answers that the model writes is compared by the time of its updates, of the mean length, and by its peak, which an
/// engine of half of 80 GB decides; what cannot be said is refused by row and column.
#[test]
fn rows_of_rollouts_are_compared_by_what_is_said_of_them() {
    let grpo = |id: &str, row: &str, rest: &str| format!("{id},verl,GRPO,colocated,{row},{rest}");
    let row = ROW.replace(",ideal,1", ",ideal,");
    let run = validated_methods(&[
        &grpo("update", &row, &format!("1024,2048,no,vLLM,,{SECONDS},,no recompute; micro-batch 1")),
        &grpo("peak", &row, "1024,2048,no,vLLM,,,41,no recompute; micro-batch 1"),
        &grpo("whole", &row, "1024,2048,no,vLLM,90,,,"),
        &grpo("itself", &row, "1024,2048,no,,,,40,"),
        &grpo("late", &row, "1024,2048,no,vLLM,,,40,").replace("colocated", "split async 1-off"),
        &grpo("student", &row, "1024,2048,no,vLLM,,,40,").replace("GRPO", "on-policy distillation (GKD)"),
        &format!("open,TRL,DPO,train only,{ROW},,1024,yes,,1,,,"),
        &format!("shape,TRL,DPO,train only,{},1024,1024,yes,,1,,,", ROW.replace("GPT,1,1024", "GPT,,")),
        &format!("card,TRL,DPO,train only,{},1024,1024,yes,,1,,,", ROW.replace("A100-80GB", "")),
        &format!("program,TRL,DPO,train only,{},1024,1024,yes,,1,,,", ROW.replace("FSDP", "Colossal")),
    ]);
    let report = run.json(0);
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!((rows.len(), &rows[0]["id"], &rows[1]["id"]), (2, &"update".into(), &"peak".into()));
    close(&rows[0]["error"], 0.0);
    // The engine's half of 79.2 GiB, 42.5e9 bytes, and 16 of each of 14.7e6 parameters.
    let peak = rows[1]["predicted"].as_f64().expect("bytes");
    assert!((42.7e9..42.9e9).contains(&peak), "{peak}");
    let skipped = report["skipped"].as_array().expect("a list");
    for (id, parts) in [
        ("whole", &["'step_s': '90' is of a whole step", "'update_s'"][..]),
        ("itself", &["'rollout_engine' is blank"]),
        ("late", &["'layout': 'split async 1-off'", "colocated, colocated sync, split"]),
        ("student", &["'method': 'on-policy distillation (GKD)'", "grpo"]),
        ("open", &["'seq_len_mean' is blank", "packed"]),
        ("shape", &["'model': 'GPT' is none of", "layers, hidden"]),
        ("card", &["has nothing to compare", "'gpu'"]),
        ("program", &["'train_backend': 'Colossal'", "DeepSpeed ZeRO-1"]),
    ] {
        let why = skipped.iter().find(|one| one["id"] == id).and_then(|one| one["why"].as_str());
        assert_contains(why.unwrap_or_else(|| panic!("{id} in {skipped:?}")), parts);
    }
}
