//! Primus's configurations, which say arguments of Megatron-LM or sections of torchtitan over files of its own.

use super::super::run::assert_contains;
use super::{imported, refused};

/// As its examples write one for the `framework`, with what is said over its own files.
fn config(framework: &str, overrides: &str) -> String {
    format!(
        "work_group: ${{PRIMUS_TEAM:amd}}\nexp_name: e\nworkspace: ./output\nmodules:\n  pre_trainer:\n    \
         framework: {framework}\n    config: pre_trainer.yaml\n    model: llama3.1_8B.yaml\n    overrides:\n{overrides}"
    )
}

const MEGATRON: &str = "      stderr_sink_level: DEBUG\n      train_iters: 50\n      micro_batch_size: 2\n      \
                        global_batch_size: 128\n      seq_length: ${PRIMUS_SEQ_LENGTH:8192}\n      \
                        tensor_model_parallel_size: ${PRIMUS_TP:2}\n      overlap_grad_reduce: true\n      load: null\n      \
                        enable_primus_turbo: true\n      use_turbo_attention: false\n";

const ON_MI300X: &str = "--model llama-3.1-8b --hardware mi300x --devices 16";

/// Variables that are not set have what stands behind them; bf16 and the distributed optimizer are its own defaults, and a kernel
/// that is on may change figures.
#[test]
fn arguments_of_megatron_over_its_own_files() {
    let run = imported(&[("e.yaml", &config("megatron", MEGATRON))], &format!("{ON_MI300X} --strict"));
    assert_contains(
        &run.stdout,
        &[
            "strategy = \"zero1\"",
            "tensor = 2",
            "micro_batch = 2",
            "global_batch = 128",
            "sequence = 8192",
            "precision = \"bf16\"",
            "stack = \"primus-megatron-2025\"",
        ],
    );
    assert_contains(&run.stderr, &["Primus's default"]);
    let on = MEGATRON.replace("use_turbo_attention: false", "use_turbo_attention: true");
    let run = imported(&[("e.yaml", &config("megatron", &on))], ON_MI300X);
    assert_contains(&run.stdout, &["[[unknown]]", "use_turbo_attention"]);
    let asked = refused(&[("e.yaml", &config("megatron", MEGATRON))], "--hardware mi300x --devices 16");
    assert_contains(&asked, &["'llama3.1_8B' is a model's name", "--model"]);
}

#[test]
fn sections_of_torchtitan_over_its_own_files() {
    let sections = "      sink_level: null\n      metrics:\n        log_freq: 1\n      training:\n        local_batch_size: 4\n        \
                    seq_len: 8192\n        mock_data: false\n        steps: 50\n      activation_checkpoint:\n        \
                    mode: \"full\"\n      primus_turbo:\n        enable_primus_turbo: true\n        \
                    enable_attention_float8: false\n";
    let run = imported(&[("e.yaml", &config("torchtitan", sections))], &format!("{ON_MI300X} --strict"));
    assert_contains(
        &run.stdout,
        &["micro_batch = 4", "sequence = 8192", "recompute = \"full\"", "stack = \"torchtitan\""],
    );
    let other = refused(&[("e.yaml", &config("maxtext", sections))], ON_MI300X);
    assert_contains(&other, &["modules.pre_trainer.framework", "'maxtext' is not read"]);
}
