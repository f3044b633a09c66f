//! The families of the gate, each with what it is there for: first what a job always says, then what is rarely said, and
//! such things together, since they go wrong where they meet.

use shardscope_engine::plan::{OneOf, Schedule};

use super::scenarios::{Family, LEFT, Setting};

const CLUSTERS: &[&str] = &[
    "a100-40gb-dgx",
    "a100-40gb-juwels",
    "a100-40gb-perlmutter",
    "a100-80gb-dgx",
    "a100-80gb-jeanzay",
    "a100-80gb-nvlink16",
    "a800-80gb",
    "gh200-96gb-alps",
    "h100-80gb-dgx",
    "h100-96gb-hbm2e",
    "h200-141gb-dgx",
    "h800-80gb",
    "mi250-mosaic",
    "mi250x-frontier",
    "mi250x-lumi",
    "titan-rtx-pcie",
    "v100-32gb-dgx1",
    "v100-32gb-dgx2",
];

const STRATEGIES: &[&str] =
    &["ddp", "fsdp", "hsdp", "mics", "zero-topo", "zero1", "zero1-hier", "zero2", "zero3", "zeropp"];

const STACKS: &[&str] = &[
    "deepspeed-zero3-2021",
    "deepspeed-zero3-2022",
    "deepspeed-zeropp-2023",
    "default",
    "fms-fsdp",
    "ideal",
    "internevo",
    "jax-xla-2024",
    "jax-xla-2025",
    "llm-foundry-2023",
    "llm-foundry-2024",
    "megatron-2021",
    "megatron-2022",
    "megatron-2024",
    "megatron-bridge-2025",
    "megatron-deepspeed-2022",
    "megatron-deepspeed-2023",
    "megatron-kwai",
    "mi250x-various",
    "mosaic-2023",
    "nanotron",
    "nemo-2024",
    "torchtitan",
    "various",
];

/// Models that data parallelism alone trains.
const SMALL_MODELS: &[&str] = &[
    "fsdp-1.3b",
    "fsdp-7b",
    "fsdp-13b",
    "gpt-48x1536",
    "gpt-neox-10b",
    "gpt-neox-20b",
    "gpt-18b-zeropp",
    "llama-2-13b",
    "llama-2-7b",
    "llama-3.1-8b",
    "megatron-1.7b",
    "megatron-3.6b",
    "megatron-7.5b",
    "mpt-125m",
    "mpt-350m",
    "mpt-760m",
    "mpt-1b",
    "mpt-3b",
    "mpt-7b",
    "mpt-13b",
    "x-32",
];

/// Models that want tensor or pipeline parallelism.
const LARGE_MODELS: &[&str] = &[
    "fsdp-30b",
    "fsdp-66b",
    "fsdp-175b",
    "fsdp-310b",
    "gpt3-175b",
    "llama-2-34b",
    "llama-2-70b",
    "llama-3.1-70b",
    "llama-3.1-405b",
    "megatron-18b",
    "megatron-39b",
    "megatron-76b",
    "megatron-145b",
    "megatron-310b",
    "megatron-530b",
    "megatron-1t",
    "mixtral-8x7b",
    "mpt-30b",
    "mpt-70b",
    "opt-30b",
    "x-108",
    "x-160",
];

/// Stacks that came after those above.
const NEWER_STACKS: &[&str] = &[
    "accelerate",
    "automodel-2026",
    "hai-llm-2024",
    "hf-deepspeed-2024",
    "hf-trainer-2024",
    "litgpt-2024",
    "maxtext-2024",
    "megatron-core-2026",
    "megatron-lumi-2023",
    "mlperf-nemo-v5.0",
    "mlperf-nemo-v5.1",
    "mlperf-nemo-v6.0",
    "mlperf-rocm",
    "nemo-2025",
    "peft-2025",
    "primus-megatron-2025",
    "torchtitan-2025",
    "torchtitan-2026",
    "torchtune-2025",
    "xtuner-2025",
];

/// Clusters that came after those above.
const NEWER_CLUSTERS: &[&str] = &[
    "a100-pcie-80gb",
    "a10g-24gb",
    "a30",
    "a6000-48gb",
    "b200-dgx",
    "b300-dgx",
    "gb200-nvl72",
    "gb300-nvl72",
    "gh200-96gb-jupiter",
    "h100-nvl-94gb",
    "h100-pcie-80gb",
    "h200-141gb-4node",
    "h200-nvl-141gb",
    "l4",
    "l40s",
    "mi300x",
    "mi325x",
    "mi350x",
    "mi355x",
    "pvc-aurora",
    "rtx-pro-6000-server",
    "rtx3090",
    "rtx4090",
    "rtx5090",
];

/// Models that came after those above.
const NEWER_MODELS: &[&str] = &[
    "deepseek-v2",
    "deepseek-v2-lite",
    "gemma3-12b",
    "gemma3-1b",
    "gemma3-4b",
    "gemma4-26b-a4b",
    "glm-4.5",
    "glm-4.5-air",
    "glm-4.7",
    "gpt-8x7168",
    "gpt-oss-120b",
    "gpt-oss-20b",
    "grok-1",
    "kimi-k2",
    "ling-1t",
    "llama2-7b",
    "llama3-70b",
    "llama3-8b",
    "llama3.1-405b",
    "llama3.1-70b",
    "llama3.1-8b",
    "llama4-maverick",
    "llama4-scout",
    "mimo-v2-flash",
    "minimax-m2.5",
    "mixtral-8x22b",
    "mixtral-8x22b-g8t8",
    "olmoe3-8l-32e",
    "olmoe3-8l-48e",
    "olmoe3-large-128e",
    "olmoe3-medium-128e",
    "olmoe3-medium-64e",
    "olmoe3-medium-96e",
    "olmoe3-small-64e",
    "olmoe3-tiny-64e",
    "olmoe3-ultra-128e",
    "olmoe3-ultra-256e",
    "qwen2-57b-a14b",
    "qwen3-235b-a22b",
    "qwen3-30b-a3b",
    "qwen3-32b",
    "qwen3-8b",
    "qwen3-coder-480b-a35b",
    "step-3.7-flash",
];

/// Models with a state space, a delta net or an indexer: layers of several kinds.
const HYBRIDS: &[&str] = &[
    "deepseek-v3.2",
    "glm-5",
    "kimi-linear-48b-a3b",
    "nemotron-3-nano",
    "nemotron-3-super",
    "nemotron-3-ultra",
    "nemotron-3.5-lightning",
    "nemotron-h-56b",
    "nemotron-h-8b",
    "qwen3-next-80b-a3b",
    "qwen3.5-122b-a10b",
    "qwen3.5-27b",
    "qwen3.5-35b-a3b",
    "qwen3.5-397b-a17b",
];

/// Models with experts, small enough for a few nodes: all layers alike, many small experts, and a shared one behind latent
/// attention.
const MIXTURES: &[&str] = &["mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite"];

const SCHEDULES: &[&str] = Schedule::WORDS.all;

const H100: Setting = ("cluster", "h100-80gb-dgx");
const A100: Setting = ("cluster", "a100-80gb-dgx");
const FRONTIER: Setting = ("cluster", "mi250x-frontier");
const DEFAULT: Setting = ("stack", "default");
const MEGATRON: Setting = ("stack", "megatron-core-2026");

pub(super) const FAMILIES: &[Family] = &[
    // Each machine under each strategy.
    Family {
        name: "clusters",
        base: &[DEFAULT, ("recompute", "full")],
        axes: &[
            ("cluster", CLUSTERS),
            ("strategy", STRATEGIES),
            ("nodes", &["1", "4", "32"]),
            ("model", &["mpt-1b", "llama-2-7b"]),
        ],
        take: 300,
    },
    // Each stack of software, on machines that it ran on.
    Family {
        name: "stacks",
        base: &[("accumulate", "2")],
        axes: &[
            ("stack", STACKS),
            ("cluster", &["a100-80gb-dgx", "h100-80gb-dgx", "mi250x-frontier", "v100-32gb-dgx2"]),
            ("strategy", &["fsdp", "ddp", "zeropp"]),
            ("model", &["mpt-3b", "llama-2-7b"]),
            ("nodes", &["1", "8"]),
        ],
        take: 250,
    },
    // Models that data parallelism alone trains.
    Family {
        name: "small-models",
        base: &[DEFAULT],
        axes: &[
            ("model", SMALL_MODELS),
            ("cluster", &["h100-80gb-dgx", "a100-40gb-juwels", "mi250x-lumi"]),
            ("nodes", &["2", "16"]),
            ("strategy", &["zero3", "zero1", "hsdp"]),
            ("micro_batch", &["1", "4"]),
            ("recompute", &["none", "selective"]),
        ],
        take: 130,
    },
    // Models that want tensor and pipeline parallelism.
    Family {
        name: "large-models",
        base: &[("stack", "megatron-2022"), ("strategy", "zero1"), ("recompute", "selective")],
        axes: &[
            ("model", LARGE_MODELS),
            ("cluster", &["a100-80gb-dgx", "h100-80gb-dgx"]),
            ("nodes", &["64", "128"]),
            ("tensor", &["4", "8"]),
            ("pipeline", &["1", "2", "4", "8", "16"]),
            ("accumulate", &["8", "32"]),
        ],
        take: 150,
    },
    // Schedules, stages and orders of accumulation.
    Family {
        name: "pipelines",
        base: &[A100, DEFAULT, ("model", "megatron-7.5b"), ("nodes", "8")],
        axes: &[
            ("schedule", SCHEDULES),
            ("pipeline", &["2", "4", "6", "8"]),
            ("stages_per_rank", &["1", "2", "3"]),
            ("accumulate", &["1", "4", "8", "12"]),
            ("strategy", &["ddp", "zero1", "zero2", "fsdp"]),
            ("accumulation", &["standard", "layered"]),
            ("recompute", &["none", "full"]),
        ],
        take: 300,
    },
    // Layered accumulation with the state on the host or in a pipeline.
    Family {
        name: "layered",
        base: &[("cluster", "a100-80gb-nvlink16"), ("strategy", "fsdp"), ("accumulation", "layered")],
        axes: &[
            ("model", &["x-32", "x-108", "x-160"]),
            ("stack", &["ideal", "default"]),
            ("nodes", &["2", "8", "32"]),
            ("tensor", &["1", "4", "16"]),
            ("pipeline", &["1", "2", "4", "8"]),
            ("accumulate", &["1", "4", "8"]),
            ("offload", &["none", "state", "checkpoints"]),
            ("recompute", &["full", "none"]),
        ],
        take: 120,
    },
    // Precision, optimizer, recompute and offload of a dense model.
    Family {
        name: "formats",
        base: &[H100, DEFAULT, ("model", "llama-2-7b"), ("nodes", "4")],
        axes: &[
            ("precision", &["bf16", "fp16", "fp8", "fp32"]),
            ("optimizer", &["adam", "adam8bit", "sgd-momentum", "muon"]),
            ("recompute", &["none", "selective", "full", "0.3"]),
            ("offload", &["none", "optimizer", "state", "checkpoints", "all"]),
            ("strategy", &["fsdp", "zero2", "ddp", "zeropp"]),
            ("accumulate", &["1", "3"]),
        ],
        take: 250,
    },
    // What runs beside compute: gathers ahead, reductions, weights that stay.
    Family {
        name: "overlap",
        base: &[("model", "mpt-7b"), DEFAULT],
        axes: &[
            ("cluster", &["a100-40gb-perlmutter", "v100-32gb-dgx1", "gh200-96gb-alps"]),
            ("strategy", STRATEGIES),
            ("reduction", &["default", "micro-batch", "step"]),
            ("prefetch", &["0", "1", "2", "4"]),
            ("reshard_after_forward", &["true", "false"]),
            ("accumulate", &["1", "4"]),
            ("nodes", &["2", "12"]),
        ],
        take: 200,
    },
    // Tensor, context and pipeline ranks over lengths of sequences.
    Family {
        name: "mesh",
        base: &[H100, DEFAULT, ("recompute", "selective")],
        axes: &[
            ("model", &["llama-3.1-8b", "llama-2-34b", "mixtral-8x7b"]),
            ("tensor", &["1", "2", "4", "8"]),
            ("context", &["1", "2", "4", "8"]),
            ("pipeline", &["1", "2", "4"]),
            ("sequence", &["4096", "16384", "65536"]),
            ("strategy", &["fsdp", "zero1", "hsdp"]),
            ("nodes", &["8", "16"]),
            ("accumulate", &["1", "8"]),
        ],
        take: 200,
    },
    // What context ranks send one another, with each kernel of attention.
    Family {
        name: "context-kinds",
        base: &[H100, ("strategy", "zero1"), ("nodes", "4")],
        axes: &[
            ("context_kind", &["usp", "ulysses", "all-gather", "zigzag", "ring"]),
            ("context", &["8", "4", "16"]),
            ("context_heads", &["2", LEFT, "4"]),
            ("attention_kernel", &[LEFT, "plain", "flash2", "flash3", "cudnn"]),
            ("model", &["llama-3.1-8b", "deepseek-v2-lite", "gpt-oss-20b", "nemotron-h-8b"]),
            ("stack", &["megatron-core-2026", "default", "xtuner-2025"]),
            ("tensor", &["1", "2"]),
            ("recompute", &["full", "selective", "none"]),
            ("sequence", &["16384", "131072"]),
        ],
        take: 150,
    },
    // ZeRO++: quantised transfers and a second copy of the weights.
    Family {
        name: "quantised",
        base: &[("recompute", "full"), ("model", "gpt-neox-10b")],
        axes: &[
            ("cluster", &["mi250x-frontier", "v100-32gb-dgx2", "h100-80gb-dgx"]),
            ("stack", &["default", "deepspeed-zeropp-2023"]),
            ("strategy", &["zero3", "zeropp", "zero-topo"]),
            ("qwz", &["true", "false"]),
            ("hpz", &["device", "innermost", "node", "4"]),
            ("qgz", &["true", "false"]),
            ("nodes", &["2", "16"]),
        ],
        take: 100,
    },
    // Shards over each level of a machine with three, and over counts of ranks.
    Family {
        name: "extents",
        base: &[FRONTIER, ("stack", "deepspeed-zeropp-2023"), ("model", "mpt-3b")],
        axes: &[
            ("shard", &["device", "innermost", "node", "system", "2", "16", "7"]),
            ("strategy", &["fsdp", "zero1", "zero-topo", "hsdp", "ddp"]),
            ("devices", &["4", "8", "64", "12"]),
            ("micro_batch", &["1", "2"]),
        ],
        take: 80,
    },
    // Operators that are placed one by one.
    Family {
        name: "operators",
        base: &[DEFAULT, ("model", "gpt-48x1536")],
        axes: &[
            (
                "operators",
                &[
                    "attention-kept",
                    "mlp-kept",
                    "some-layers-kept",
                    "embedding-in-node",
                    "mlp-split-4",
                    "attention-split-2",
                    "head-kept",
                    "all-in-node",
                ],
            ),
            ("cluster", &["titan-rtx-pcie", "a100-40gb-dgx"]),
            ("strategy", &["fsdp", "zero2", "zeropp"]),
            ("nodes", &["1", "4"]),
            ("accumulate", &["1", "2"]),
            ("pipeline", &["1", "2"]),
            ("recompute", &["none", "full"]),
        ],
        take: 100,
    },
    // Factors on the network and on the memory; lengths of training.
    Family {
        name: "what-if",
        base: &[DEFAULT, ("strategy", "hsdp"), ("model", "llama-2-13b"), ("nodes", "16")],
        axes: &[
            ("cluster", CLUSTERS),
            ("bandwidth_factor", &["0.125", "1", "3"]),
            ("memory_factor", &["0.5", "2"]),
            ("tokens", &[LEFT, "3e11", "2e12"]),
            ("flop_count", &["parameters", "matrices"]),
            ("micro_batch", &["1", "2", "16"]),
        ],
        take: 80,
    },
    // Layers of several kinds in stages.
    Family {
        name: "kinds",
        base: &[H100, DEFAULT, ("nodes", "64"), ("recompute", "full")],
        axes: &[
            ("model", &["deepseek-v3", "gemma3-27b"]),
            ("pipeline", &["1", "4", "8", "16"]),
            ("stages_per_rank", &["1", "3"]),
            ("schedule", SCHEDULES),
            ("tensor", &["1", "8"]),
            ("strategy", &["zero1", "fsdp"]),
            ("sequence", &["4096", "16384"]),
            ("accumulate", &["1", "16"]),
        ],
        take: 100,
    },
    // State on a node's drives.
    Family {
        name: "drives",
        base: &[
            H100,
            ("stack", "deepspeed-zeropp-2023"),
            ("model", "llama-2-13b"),
            ("strategy", "fsdp"),
            ("recompute", "full"),
        ],
        axes: &[
            ("offload", &["optimizer-nvme", "state-nvme", "all-nvme"]),
            ("nodes", &["1", "4"]),
            ("offload_ratio", &["0.4", "1.0"]),
            ("host_threads", &["1", "8"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 48,
    },
    // Activations on the host.
    Family {
        name: "activations",
        base: &[H100, ("model", "mpt-1b"), ("strategy", "fsdp"), ("offload", "activations")],
        axes: &[
            ("stack", &["default", "hf-trainer-2024", "nemo-2025"]),
            ("recompute", &["none", "selective", "0.5", "full"]),
            ("nodes", &["1", "4"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 48,
    },
    // First layers and ends of a model that stay as they are.
    Family {
        name: "frozen",
        base: &[H100, ("stack", "hf-trainer-2024"), ("model", "llama-3.1-8b")],
        axes: &[
            ("strategy", &["ddp", "fsdp"]),
            ("frozen_layers", &["16", "32"]),
            ("frozen_ends", &["none", "embedding", "head"]),
            ("recompute", &["none", "full"]),
        ],
        take: 24,
    },
    // Copies to the host and back, pinned or not, beside its update or not.
    Family {
        name: "host",
        base: &[H100, ("model", "llama-2-7b"), ("nodes", "2")],
        axes: &[
            ("stack", &["default", "deepspeed-zeropp-2023"]),
            ("strategy", &["zero2", "fsdp"]),
            ("offload", &["optimizer", "state"]),
            ("offload_overlap", &["false", "true"]),
            ("host_pinned", &["true", "false"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 64,
    },
    // An optimizer in pages on a device without room.
    Family {
        name: "pages",
        base: &[
            ("cluster", "rtx4090"),
            ("model", "mpt-1b"),
            ("strategy", "ddp"),
            ("devices", "1"),
            ("paged_optimizer", "true"),
        ],
        axes: &[
            ("stack", &["default", "hf-trainer-2024"]),
            ("optimizer", &["adam", "adam8bit", "sgd-momentum"]),
            ("recompute", &["none", "full"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 24,
    },
    // Averages of weights, on the device or on the host.
    Family {
        name: "averages",
        base: &[H100, DEFAULT, ("model", "llama-2-7b"), ("nodes", "2")],
        axes: &[
            ("strategy", &["zero1", "fsdp"]),
            ("clip_norm", &["true", "false"]),
            ("ema", &["none", "device", "host"]),
            ("offload", &["none", "optimizer"]),
        ],
        take: 24,
    },
    // Stacks that came later, on devices that came later.
    Family {
        name: "newer-stacks",
        base: &[("accumulate", "2")],
        axes: &[
            ("stack", NEWER_STACKS),
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b"]),
            ("cluster", &["h100-80gb-dgx", "b200-dgx", "mi300x"]),
            ("strategy", &["fsdp", "zero1"]),
            ("nodes", &["2", "8"]),
            ("recompute", &["none", "full"]),
        ],
        take: 80,
    },
    // Machines that came later, most of them with fp8.
    Family {
        name: "newer-clusters",
        base: &[DEFAULT, ("recompute", "full")],
        axes: &[
            ("cluster", NEWER_CLUSTERS),
            ("model", &["qwen3-8b", "gpt-oss-20b"]),
            ("precision", &[LEFT, "fp8", "mxfp8"]),
            ("strategy", &["fsdp", "zero1"]),
            ("nodes", &["1", "4"]),
        ],
        take: 72,
    },
    // Models that came later, most of them with experts.
    Family {
        name: "newer-models",
        base: &[DEFAULT, ("recompute", "full")],
        axes: &[
            ("model", NEWER_MODELS),
            ("cluster", &["h200-141gb-dgx", "gb200-nvl72"]),
            ("strategy", &["fsdp", "zero1"]),
            ("nodes", &["8", "32"]),
            ("tensor", &["1", "2"]),
        ],
        take: 90,
    },
    // Experts with a mesh of their own, whose state is sharded otherwise than the rest and may lie on the host.
    Family {
        name: "experts",
        base: &[H100, ("recompute", "full"), ("accumulate", "2")],
        axes: &[
            ("model", MIXTURES),
            ("stack", &["default", "megatron-core-2026"]),
            ("experts", &["1", "2", "4", "8"]),
            ("expert_tensor", &[LEFT, "1", "2"]),
            ("tensor", &["1", "2"]),
            ("strategy", &["ddp", "zero1", "fsdp", "hsdp"]),
            ("offload", &["none", "optimizer", "state", "checkpoints"]),
            ("nodes", &["4", "8"]),
        ],
        take: 200,
    },
    // Experts in the stages of a pipeline, their exchanges beside another micro-batch's compute or not.
    Family {
        name: "experts-in-stages",
        base: &[("cluster", "h200-141gb-dgx"), MEGATRON, ("strategy", "zero1"), ("nodes", "8")],
        axes: &[
            ("model", MIXTURES),
            ("pipeline", &["1", "2", "4"]),
            ("schedule", &["interleaved", "1f1b"]),
            ("stages_per_rank", &["2", "3"]),
            ("experts", &["4", "8"]),
            ("ep_overlap", &["true", "false"]),
            ("recompute", &["none", "selective", "full"]),
            ("accumulate", &["8", "16"]),
        ],
        take: 90,
    },
    // How tokens reach experts: the library, the formats, the busiest rank, and what an expert takes.
    Family {
        name: "dispatch",
        base: &[H100, MEGATRON, ("strategy", "zero1"), ("recompute", "0.5"), ("nodes", "4")],
        axes: &[
            ("model", &["deepseek-v2-lite", "qwen3-30b-a3b", "qwen2-57b-a14b"]),
            ("experts", &["4", "8", "16"]),
            ("dispatcher", &["alltoall", "deepep", "hybridep"]),
            ("capacity", &["none", "1.0", "1.25"]),
            ("imbalance", &["usual", "balanced", "1.3"]),
            ("dispatch_format", &[LEFT, "fp8", "fp8+bf16+fp8+bf16"]),
            ("shared_expert_overlap", &["true", "false"]),
            ("tensor", &["1", "2"]),
        ],
        take: 120,
    },
    // Number formats of experts' products and of their exchanges.
    Family {
        name: "formats-of-experts",
        base: &[("strategy", "zero1"), ("nodes", "4"), ("recompute", "full")],
        axes: &[
            ("cluster", &["b200-dgx", "h100-80gb-dgx", "mi355x"]),
            ("stack", &["megatron-bridge-2025", "hai-llm-2024", "torchtitan-2026"]),
            ("model", &["qwen3-30b-a3b", "deepseek-v2-lite", "gpt-oss-20b"]),
            ("precision", &["fp8", "fp8-delayed", "fp8-current", "fp8-block", "mxfp8", "nvfp4"]),
            ("experts", &["1", "8"]),
            ("dispatch_format", &[LEFT, "fp8"]),
            ("tensor", &["1", "2"]),
        ],
        take: 100,
    },
    // Formats of what an optimizer keeps, on the device and on the host.
    Family {
        name: "formats-of-state",
        base: &[H100, DEFAULT, ("model", "llama-2-7b"), ("recompute", "full")],
        axes: &[
            ("moments", &["fp32", "bf16"]),
            ("master_weights", &["fp32", "none"]),
            ("gradient_format", &[LEFT, "fp32", "bf16"]),
            ("optimizer", &["adam", "muon", "sgd-momentum"]),
            ("strategy", &["fsdp", "zero1", "zero2"]),
            ("offload", &["none", "optimizer", "state"]),
            ("accumulate", &["1", "4"]),
            ("nodes", &["1", "4"]),
        ],
        take: 120,
    },
    // Adapters beside frozen weights, which an offload takes along, in stages and on every kind of matrix.
    Family {
        name: "adapters",
        base: &[H100, ("accumulate", "4")],
        axes: &[
            ("train", &["lora", "qlora"]),
            ("model", &["llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite"]),
            ("stack", &["peft-2025", "torchtune-2025", "nemo-2025"]),
            ("strategy", &["ddp", "fsdp", "zero2"]),
            ("offload", &["none", "optimizer", "state", "all", "activations"]),
            ("pipeline", &["1", "2"]),
            ("lora_rank", &[LEFT, "8", "64"]),
            ("lora_targets", &[LEFT, "attention", "o,up,down"]),
            ("frozen_format", &[LEFT, "fp8", "int8", "nf4"]),
            ("recompute", &["none", "full"]),
            ("nodes", &["1", "2"]),
        ],
        take: 180,
    },
    // Frozen layers and ends, whose weights and checkpoints an offload moves or leaves out.
    Family {
        name: "frozen-offload",
        base: &[H100, ("stack", "accelerate"), ("nodes", "2")],
        axes: &[
            ("model", &["llama-3.1-8b", "mpt-7b", "mixtral-8x7b"]),
            ("strategy", &["fsdp", "ddp", "zero2"]),
            ("offload", &["optimizer", "state", "checkpoints", "all", "activations", "state-nvme"]),
            ("frozen_layers", &["8", "20"]),
            ("frozen_ends", &[LEFT, "none", "head", "both"]),
            ("recompute", &["none", "full"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 100,
    },
    // Layers of several kinds, of whose modules selective recompute repeats some.
    Family {
        name: "hybrids",
        base: &[("cluster", "b200-dgx"), MEGATRON, ("strategy", "zero1"), ("nodes", "32"), ("recompute", "selective")],
        axes: &[
            ("model", HYBRIDS),
            (
                "recompute_modules",
                &["stack", "core_attn", "layernorm+moe_act", "mlp", "moe", "mla_up_proj+core_attn", "shared_experts"],
            ),
            ("tensor", &["1", "2", "8"]),
            ("pipeline", &["1", "4"]),
            ("experts", &["1", "8"]),
            ("accumulate", &["4", "8"]),
        ],
        take: 140,
    },
    // Layers that predict further tokens, where a pipeline ends.
    Family {
        name: "further-tokens",
        base: &[("cluster", "h200-141gb-dgx"), MEGATRON, ("strategy", "zero1"), ("nodes", "16")],
        axes: &[
            ("model", &["llama-3.1-8b", "glm-4.5-air", "mpt-1b"]),
            ("mtp_layers", &["1", "2"]),
            ("pipeline", &["1", "2", "4"]),
            ("schedule", &["1f1b", "interleaved", "gpipe"]),
            ("stages_per_rank", &["1", "2"]),
            ("tensor", &["1", "4"]),
            ("recompute", &["none", "full"]),
            ("accumulate", &["8", "16"]),
        ],
        take: 80,
    },
    // Layers of stages that are given one by one.
    Family {
        name: "stages",
        base: &[A100, ("model", "llama-2-7b"), ("pipeline", "4"), ("nodes", "4")],
        axes: &[
            ("stack", &["default", "megatron-2022"]),
            ("stage_layers", &["7,9,9,7", "8,8,8,8", "10,10,10,2", "9,8,8,7"]),
            ("strategy", &["ddp", "zero1", "fsdp"]),
            ("schedule", &["1f1b", "gpipe"]),
            ("recompute", &["none", "full"]),
            ("accumulate", &["4", "12"]),
        ],
        take: 40,
    },
    // What spares the host its launches, and tensor parallelism its waits.
    Family {
        name: "launches",
        base: &[H100, ("accumulate", "2"), ("recompute", "selective")],
        axes: &[
            ("stack", &["default", "torchtitan", "megatron-bridge-2025", "llm-foundry-2024"]),
            ("model", &["mpt-1b", "llama-3.1-8b", "qwen3-30b-a3b"]),
            ("cuda_graphs", &["none", "layer", "full"]),
            ("compile", &["off", "layer", "on"]),
            ("tensor", &["1", "2", "8"]),
            ("tp_overlap", &["true", "false"]),
            ("strategy", &["fsdp", "zero1"]),
            ("nodes", &["1", "4"]),
        ],
        take: 120,
    },
    // Extents of each part of the state by itself.
    Family {
        name: "parts-of-the-state",
        base: &[FRONTIER, ("model", "mpt-7b"), ("strategy", "zero-topo"), ("nodes", "4")],
        axes: &[
            ("stack", &["deepspeed-zeropp-2023", "ideal"]),
            ("weights_over", &[LEFT, "device", "node", "4"]),
            ("gradients_over", &[LEFT, "node", "16"]),
            ("optimizer_over", &[LEFT, "node", "32", "system"]),
            ("offload", &["none", "optimizer"]),
            ("accumulate", &["1", "4"]),
            ("recompute", &["none", "full"]),
        ],
        take: 60,
    },
    // Logits and loss: whole, divided, fused and in chunks.
    Family {
        name: "losses",
        base: &[H100, ("strategy", "fsdp"), ("recompute", "full"), ("sequence", "8192")],
        axes: &[
            ("loss", &["stack", "whole", "vocab-parallel", "fused", "chunked"]),
            ("stack", &["default", "torchtune-2025", "hf-trainer-2024", "torchtitan-2026", "megatron-core-2026"]),
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b", "gemma3-1b"]),
            ("tensor", &["1", "4"]),
            ("compile", &["off", "on"]),
            ("train", &["full", "lora"]),
            ("micro_batch", &["1", "2"]),
            ("nodes", &["1", "2"]),
        ],
        take: 80,
    },
    // Chunks of any size, in either format.
    Family {
        name: "loss-chunks",
        base: &[H100, ("strategy", "fsdp"), ("recompute", "full"), ("sequence", "8192"), ("loss", "chunked")],
        axes: &[
            ("loss_chunk", &[LEFT, "256", "2048"]),
            ("loss_format", &[LEFT, "fp32", "bf16"]),
            ("stack", &["default", "torchtune-2025", "hf-trainer-2024", "torchtitan-2026"]),
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b", "gemma3-1b"]),
            ("tensor", &["1", "4"]),
            ("train", &["full", "lora"]),
            ("micro_batch", &["1", "2"]),
            ("nodes", &["1", "2"]),
        ],
        take: 80,
    },
    // A pipeline whose last stage has the loss, and layers for further tokens.
    Family {
        name: "losses-in-stages",
        base: &[H100, ("model", "llama-3.1-8b"), ("strategy", "zero1"), ("nodes", "4"), ("accumulate", "8")],
        axes: &[
            ("loss", &["stack", "whole", "fused", "chunked"]),
            ("stack", &["default", "torchtitan-2026", "megatron-core-2026"]),
            ("pipeline", &["1", "4"]),
            ("schedule", &["1f1b", "gpipe"]),
            ("mtp_layers", &["0", "1"]),
            ("loss_chunk", &[LEFT, "512"]),
            ("tensor", &["1", "2"]),
            ("recompute", &["none", "full"]),
        ],
        take: 60,
    },
    // An MLP in tiles, beside what else is computed again and divided.
    Family {
        name: "mlp-tiles",
        base: &[H100, ("stack", "default"), ("strategy", "fsdp"), ("sequence", "32768")],
        axes: &[
            ("mlp_tiles", &["1", "4", "32"]),
            ("recompute", &["none", "selective", "full"]),
            ("model", &["llama-3.1-8b", "mpt-7b", "gemma3-1b"]),
            ("tensor", &["1", "4"]),
            ("loss", &["stack", "chunked"]),
            ("train", &["full", "lora"]),
            ("nodes", &["1", "2"]),
        ],
        take: 40,
    },
    // Inputs of modules on the host, beside stages, experts and what is computed again.
    Family {
        name: "host-modules",
        base: &[("cluster", "h100-80gb-dgx"), ("stack", "megatron-core-2026"), ("strategy", "zero1"), ("nodes", "8")],
        axes: &[
            (
                "offload_modules",
                &[
                    "none",
                    "core_attn+attn_proj",
                    "layernorm",
                    "qkv_linear+mlp_norm",
                    "layernorm+core_attn+attn_proj+qkv_linear",
                ],
            ),
            ("recompute", &["none", "selective", "0.5"]),
            ("model", &["llama-3.1-8b", "mixtral-8x7b", "deepseek-v3", "nemotron-h-8b"]),
            ("tensor", &["1", "4"]),
            ("pipeline", &["1", "4"]),
            ("accumulate", &["1", "8"]),
        ],
        take: 60,
    },
    Family {
        name: "experts-on-host",
        base: &[("cluster", "h100-80gb-dgx"), ("stack", "megatron-core-2026"), ("strategy", "zero1"), ("nodes", "8")],
        axes: &[
            ("offload_modules", &["expert_fc1", "moe_act", "expert_fc1+moe_act", "moe", "moe+mlp_norm"]),
            ("recompute", &["none", "selective"]),
            ("recompute_modules", &["stack", "moe_act", "layernorm"]),
            ("model", &["mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v3"]),
            ("experts", &["1", "8"]),
            ("accumulate", &["1", "8"]),
        ],
        take: 40,
    },
    // Frozen weights in fp32, cast for each product.
    Family {
        name: "frozen-in-fp32",
        base: &[H100, ("train", "lora"), ("frozen_format", "fp32")],
        axes: &[
            ("stack", &["hf-trainer-2024", "peft-2025", "litgpt-2024", "megatron-bridge-2025"]),
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b"]),
            ("strategy", &["ddp", "zero1"]),
            ("recompute", &["none", "full"]),
            ("tensor", &["1", "2"]),
            ("nodes", &["1", "2"]),
        ],
        take: 24,
    },
    // Adapters that drop a part of their input, each its own copy.
    Family {
        name: "adapters-drop",
        base: &[H100, ("accumulate", "4"), ("strategy", "ddp")],
        axes: &[
            ("lora_dropout", &["0.05", LEFT]),
            ("train", &["lora", "qlora"]),
            ("stack", &["peft-2025", "litgpt-2024", "torchtune-2025"]),
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b"]),
            ("lora_targets", &[LEFT, "q,v"]),
            ("frozen_format", &[LEFT, "nf4-single"]),
            ("recompute", &["none", "full"]),
        ],
        take: 24,
    },
    // A batch that is held, from which accumulation follows.
    Family {
        name: "batches",
        base: &[H100, DEFAULT, ("model", "llama-3.1-8b"), ("recompute", "full")],
        axes: &[
            ("global_batch", &["64", "512", "2Mtokens", "free"]),
            ("micro_batch", &["1", "2"]),
            ("nodes", &["2", "8"]),
            ("pipeline", &["1", "4"]),
            ("sequence", &["4096", "8192"]),
            ("strategy", &["fsdp", "zero1"]),
        ],
        take: 40,
    },
    // What a fine-tuning run takes and costs: examples, epochs, packing, a price.
    Family {
        name: "runs",
        base: &[H100, ("stack", "peft-2025"), ("model", "llama-3.1-8b"), ("strategy", "fsdp"), ("recompute", "full")],
        axes: &[
            ("train", &["lora", "full"]),
            ("examples", &["20000", "1000000"]),
            ("epochs", &["1", "3"]),
            ("packing", &[LEFT, "300", "1000"]),
            ("price", &[LEFT, "2.50EUR"]),
            ("sequence", &["2048", "8192"]),
            ("nodes", &["1", "4"]),
            ("flop_count", &["parameters", "causal"]),
        ],
        take: 60,
    },
    // Packed examples that attention keeps apart, over context ranks, with a window and with experts.
    Family {
        name: "examples-apart",
        base: &[H100, ("strategy", "zero1"), ("recompute", "full"), ("examples_apart", "true")],
        axes: &[
            ("packing", &["4096", "512", LEFT]),
            ("model", &["llama-3.1-8b", "gpt-oss-20b", "qwen3-next-80b-a3b", "nemotron-h-8b"]),
            ("context", &["1", "4"]),
            ("context_kind", &[LEFT, "ulysses", "all-gather"]),
            ("stack", &["megatron-core-2026", "default"]),
            ("sequence", &["32768", "131072"]),
            ("nodes", &["4"]),
        ],
        take: 40,
    },
    // Averages of weights beside experts, stages, a frozen end and an offload.
    Family {
        name: "averages-beside",
        base: &[H100, ("nodes", "4"), ("accumulate", "4"), ("recompute", "full")],
        axes: &[
            ("ema", &["device", "host"]),
            ("model", &["mixtral-8x7b", "qwen3-30b-a3b"]),
            ("stack", &["default", "megatron-core-2026"]),
            ("strategy", &["zero1", "fsdp", "hsdp"]),
            ("experts", &["1", "8"]),
            ("pipeline", &["1", "2"]),
            ("offload", &["none", "optimizer", "state"]),
            ("frozen_ends", &["none", "embedding"]),
            ("clip_norm", &["true", "false"]),
            ("host_threads", &[LEFT, "8"]),
        ],
        take: 100,
    },
    // Pages of an optimizer that is sharded, of experts, of frozen parts and of adapters.
    Family {
        name: "pages-beside",
        base: &[("stack", "accelerate"), ("paged_optimizer", "true")],
        axes: &[
            ("cluster", &["rtx4090", "a6000-48gb", "h100-80gb-dgx"]),
            ("model", &["gemma3-1b", "mpt-3b", "qwen3-8b"]),
            ("strategy", &["ddp", "fsdp", "zero1"]),
            ("train", &["full", "qlora"]),
            ("frozen_layers", &["0", "12"]),
            ("offload", &["none", "optimizer", "checkpoints"]),
            ("offload_ratio", &["1", "0.5"]),
            ("optimizer", &["adam", "adam8bit"]),
            ("ema", &["none", "device"]),
            ("nodes", &["1", "2"]),
        ],
        take: 80,
    },
    // An optimizer of which the host keeps a share, or the drives.
    Family {
        name: "shares-on-host",
        base: &[H100, ("stack", "deepspeed-zeropp-2023"), ("recompute", "full"), ("nodes", "2")],
        axes: &[
            ("model", &["llama-2-13b", "mixtral-8x7b"]),
            ("offload", &["optimizer", "state", "all", "optimizer-nvme", "all-nvme"]),
            ("offload_ratio", &["0.25", "0.75", "1"]),
            ("optimizer", &["adam", "muon"]),
            ("strategy", &["zero1", "zero2", "zero3"]),
            ("offload_overlap", &["true", "false"]),
            ("pipeline", &["1", "2"]),
            ("tensor", &["1", "2"]),
            ("accumulate", &["1", "4"]),
        ],
        take: 100,
    },
    // Methods of post-training with a reference, beside what is trained and how it is sharded.
    Family {
        name: "post-training",
        base: &[H100, DEFAULT, ("model", "llama-3.1-8b"), ("sequence", "2048"), ("nodes", "2")],
        axes: &[
            ("method", &["dpo", "kto", "orpo", "reward"]),
            ("reference", &[LEFT, "resident", "host", "precomputed", "qwen3-8b"]),
            ("reference_over", &[LEFT, "device", "node"]),
            ("padding", &[LEFT, "packed"]),
            ("train", &["full", "lora"]),
            ("strategy", &["fsdp", "zero1"]),
            ("tensor", &["1", "2"]),
            ("pipeline", &["1", "2"]),
            ("recompute", &["none", "full"]),
            ("accumulate", &["2", "4"]),
        ],
        take: 160,
    },
    // A teacher, whole or by its largest logits.
    Family {
        name: "distillation",
        base: &[H100, DEFAULT, ("method", "distill"), ("sequence", "2048"), ("nodes", "2")],
        axes: &[
            ("model", &["llama-3.1-8b", "qwen3-30b-a3b"]),
            ("teacher", &["resident", "host", "llama-3.1-70b", "precomputed"]),
            ("teacher_over", &[LEFT, "node", "device"]),
            ("top_k", &[LEFT, "64"]),
            ("strategy", &["fsdp", "zero1"]),
            ("experts", &["1", "4"]),
            ("pipeline", &["1", "2"]),
            ("accumulate", &["2", "4"]),
        ],
        take: 100,
    },
    // Logits of answers alone, beside how many there are and how their loss is computed.
    Family {
        name: "logits of answers",
        base: &[H100, DEFAULT, ("model", "llama-3.1-8b"), ("sequence", "4096"), ("nodes", "1")],
        axes: &[
            ("logits", &["completions", "all"]),
            ("response_max", &["512", "1024", "3072"]),
            ("method", &["dpo", "kto", "sft", "grpo"]),
            ("loss", &[LEFT, "whole", "chunked"]),
            ("strategy", &["fsdp", "zero1"]),
            ("tensor", &["1", "2"]),
            ("pipeline", &["1", "2"]),
            ("micro_batch", &["1", "2"]),
        ],
        take: 60,
    },
    // Models that people fine-tune most.
    Family {
        name: "fine-tuned",
        base: &[H100, DEFAULT, ("sequence", "2048"), ("nodes", "1")],
        axes: &[
            ("model", &["qwen2.5-7b", "qwen2.5-14b", "qwen3-4b"]),
            ("method", &[LEFT, "dpo"]),
            ("strategy", &["fsdp", "zero1"]),
        ],
        take: 12,
    },
    // Answers that the model writes: the engine, and what of the trainer waits meanwhile.
    Family {
        name: "rollouts",
        base: &[H100, DEFAULT, ("model", "llama-3.1-8b"), ("sequence", "2048"), ("nodes", "2"), ("accumulate", "64")],
        axes: &[
            ("method", &["grpo", "ppo"]),
            ("critic", &[LEFT, "qwen3-8b"]),
            ("reward_model", &[LEFT, "resident", "qwen3-8b"]),
            ("reference", &[LEFT, "host", "none"]),
            ("group", &[LEFT, "4"]),
            ("updates", &[LEFT, "2"]),
            ("update_epochs", &[LEFT, "2"]),
            ("layout", &[LEFT, "split"]),
            ("rollout_devices", &[LEFT, "8"]),
            ("rollout_tp", &[LEFT, "2", "4"]),
            ("rollout_share", &[LEFT, "0.4"]),
            ("rollout_slots", &[LEFT, "64", "16"]),
            ("rollout_format", &[LEFT, "fp8"]),
            ("cache_format", &[LEFT, "fp8"]),
            ("sleep", &[LEFT, "0", "2"]),
            ("trainer_offload", &[LEFT, "optimizer", "all"]),
            ("entropy", &[LEFT, "true"]),
            ("strategy", &["fsdp", "zero1"]),
            ("pipeline", &["1", "2"]),
        ],
        take: 240,
    },
];
