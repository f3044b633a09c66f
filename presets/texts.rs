//! The text of every preset, in the order in which lists show them.

use shardscope_engine::presets::PresetTexts;

macro_rules! embedded {
    ($($folder:literal [$($id:literal),* $(,)?])+) => {
        const PRESETS: &[(&str, &str, &str)] = &[$($(
            ($folder, $id, include_str!(concat!($folder, "/", $id, ".toml"))),
        )*)+];
    };
}

embedded! {
    "clusters" [
        "h100-80gb-dgx",
        "h200-141gb-dgx",
        "h100-96gb-hbm2e",
        "h800-80gb",
        "gh200-96gb-alps",
        "a100-80gb-dgx",
        "a100-40gb-dgx",
        "a100-80gb-jeanzay",
        "a100-40gb-juwels",
        "a100-40gb-perlmutter",
        "a100-80gb-nvlink16",
        "a800-80gb",
        "v100-32gb-dgx2",
        "v100-32gb-dgx1",
        "mi250x-frontier",
        "mi250x-lumi",
        "mi250-mosaic",
        "titan-rtx-pcie",
    ]
    "stacks" [
        "default",
        "ideal",
        "torchtitan",
        "fms-fsdp",
        "llm-foundry-2024",
        "llm-foundry-2023",
        "mosaic-2023",
        "deepspeed-zero3-2022",
        "deepspeed-zeropp-2023",
        "deepspeed-zero3-2021",
        "megatron-bridge-2025",
        "megatron-2024",
        "megatron-2022",
        "megatron-2021",
        "megatron-deepspeed-2023",
        "megatron-deepspeed-2022",
        "megatron-lumi-2023",
        "megatron-kwai",
        "nemo-2025",
        "nemo-2024",
        "nanotron",
        "internevo",
        "maxtext-2024",
        "jax-xla-2025",
        "jax-xla-2024",
        "mi250x-various",
        "various",
    ]
    "calibration" [
        "measured",
        "ideal",
    ]
    "models" [
        "mpt-125m",
        "mpt-350m",
        "mpt-760m",
        "mpt-1b",
        "mpt-3b",
        "mpt-7b",
        "mpt-13b",
        "mpt-30b",
        "mpt-70b",
        "llama-2-7b",
        "llama-2-13b",
        "llama-2-34b",
        "llama-2-70b",
        "llama-3.1-8b",
        "llama-3.1-70b",
        "llama-3.1-405b",
        "mixtral-8x7b",
        "deepseek-v3",
        "gemma3-27b",
        "gpt-48x1536",
        "gpt-neox-10b",
        "gpt-18b-zeropp",
        "gpt-neox-20b",
        "opt-30b",
        "gpt3-175b",
        "megatron-1.7b",
        "megatron-3.6b",
        "megatron-7.5b",
        "megatron-18b",
        "megatron-39b",
        "megatron-76b",
        "megatron-145b",
        "megatron-310b",
        "megatron-530b",
        "megatron-1t",
        "fsdp-1.3b",
        "fsdp-7b",
        "fsdp-13b",
        "fsdp-30b",
        "fsdp-66b",
        "fsdp-175b",
        "fsdp-310b",
        "x-32",
        "x-108",
        "x-160",
    ]
    "strategies" [
        "ddp",
        "zero1",
        "zero1-hier",
        "zero2",
        "zero3",
        "fsdp",
        "hsdp",
        "mics",
        "zeropp",
        "zero-topo",
    ]
    "scenarios" [
        "default", "h100-7b", "zeropp-18b-v100", "frontier-20b-384",
        "frontier-20b", "osdp-48x1536", "fsdp-limits-13b",
        "layered-x-160", "modular-gpt3-175b",
    ]
}

/// The presets, and the tables of runs that `calibrate --out` writes beside a fitted calibration.
pub const TEXTS: PresetTexts =
    PresetTexts { presets: PRESETS, evidence: &[("measured", include_str!("calibration/measured.csv"))] };
