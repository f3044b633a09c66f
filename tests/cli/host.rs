//! Offloaded updates as they were measured, with the threads that are assumed of each.

use super::run::Home;

fn step(flags: &str) -> f64 {
    let run = Home::new().run(&format!("eval {flags} --format json"));
    let json: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    json["step_time_s"].as_f64().expect("a step time")
}

fn within_a_third(what: &str, predicted: f64, measured: f64) {
    assert!((predicted / measured - 1.0).abs() < 0.35, "{what}: {predicted:.2} s predicted, {measured:.2} s measured");
}

/// Seconds that an optimizer on the host adds to a step, per 1e9 parameters and node:
/// - DeepSpeed issue 6834: 72B on 4 nodes of 8 A100, 10 s x 4 / 72;
/// - gist chenyaofo/d4cd6a20: 7B on 8 A800, 64 sequences at 2.05 a second, at 4.45 without, 16.8 s / 6.74;
/// - DeepSpeed issue 6695: 1.2B, Adam of 1.5 s / 1.2;
/// - DeepSpeed issue 1635: 1.35B beside an RTX 3090, 22.9 s / 1.35.
#[test]
fn updates_take_what_published_runs_took() {
    for (what, flags, threads, parameters, nodes, measured) in [
        ("6834", "--hardware a100-80gb-dgx --model llama-2-70b --strategy zero3 --nodes 4", 4, 68.98, 4.0, 0.555),
        (
            "7B on 8 A800",
            "--hardware a800-80gb --model llama-2-7b --strategy zero3 --nodes 1 --micro-batch 2 --global-batch 64",
            1,
            6.738,
            1.0,
            2.49,
        ),
        (
            "6695",
            "--hardware a100-80gb-dgx --model mpt-1b --strategy zero2 --devices 1 --seq 128",
            16,
            1.316,
            1.0,
            1.25,
        ),
        ("1635", "--hardware rtx3090 --model mpt-1b --strategy zero2 --devices 1 --seq 128", 1, 1.316, 1.0, 16.96),
    ] {
        let flags = format!("{flags} --recompute full --stack deepspeed-zeropp-2023");
        let offloaded = step(&format!("{flags} --offload optimizer --host-threads {threads}"));
        within_a_third(what, (offloaded - step(&flags)) * nodes / parameters, measured);
    }
}

/// `tatsu-lab/stanford_alpaca` issue 280: `LLaMA` 7B on four A100 with FSDP's offload, started by torchrun: 52,002 examples three
/// times over in 58 hours, 2 x 4 x 8 a step, 85.7 s each. One thread a rank moves 6.74e9 / 4 x 80 B at 1.5 GB/s in 89.8 s.
#[test]
fn an_unfused_adam_takes_what_a_published_run_took() {
    let flags = "--hardware a100-40gb-dgx --stack default --model llama-2-7b --strategy fsdp --devices 4 --seq 512 \
                 --recompute none --micro-batch 2 --accumulate 8 --offload state";
    within_a_third("7B on 4 A100", step(flags), 85.7);
}
