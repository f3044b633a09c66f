//! The scenarios of the gate: families, each a base and axes over it.
//!
//! A family whose axes cross in more points than it may `take` gives points spread evenly over all of them: no random
//! numbers, so that the list is the same on every machine and in every version.

use std::fmt::Write;

use shardscope_engine::plan::{OneOf, Schedule};

/// A key of a scenario file and its value; [`LEFT`] leaves the key to its default.
type Setting = (&'static str, &'static str);

/// A value that is not written.
const LEFT: &str = "-";

/// Keys at the top of a scenario file; all others are the plan's.
const TOP: [&str; 4] = ["cluster", "stack", "model", "strategy"];

/// Scenarios of one kind.
struct Family {
    name: &'static str,
    base: &'static [Setting],
    axes: &'static [(&'static str, &'static [&'static str])],
    /// Points of the product of the axes at most.
    take: usize,
}

/// One scenario, as settings over nothing.
#[derive(Debug, Clone)]
pub struct Question {
    family: &'static str,
    settings: Vec<Setting>,
}

impl Question {
    /// What it is, to be written into a scenario file by hand: `mesh cluster=h100-80gb-dgx ... tensor=2`.
    pub fn id(&self) -> String {
        let settings = self.settings.iter().map(|(key, value)| format!(" {key}={value}"));
        settings.fold(self.family.to_owned(), |id, setting| id + &setting)
    }

    /// Its scenario file.
    pub fn to_toml(&self) -> String {
        let (top, plan): (Vec<&Setting>, Vec<&Setting>) = self.settings.iter().partition(|(key, _)| TOP.contains(key));
        let mut text = "format = 1\n".to_owned();
        let line = |text: &mut String, (key, value): &Setting| {
            let value = if *key == "operators" { placements(value) } else { quoted(value) };
            writeln!(text, "{key} = {value}").expect("memory");
        };
        for setting in top {
            line(&mut text, setting);
        }
        text += "[plan]\n";
        for setting in plan {
            line(&mut text, setting);
        }
        text
    }
}

/// Numbers and switches as they are, words as TOML has them.
fn quoted(value: &str) -> String {
    if value.parse::<f64>().is_ok() || value.parse::<bool>().is_ok() {
        value.to_owned()
    } else {
        format!("\"{value}\"")
    }
}

/// Per-operator sharding, by short names.
fn placements(name: &str) -> String {
    let kept = "extents = { weights = \"device\", gradients = \"device\", optimizer = \"system\" }";
    let of = |rest: &str| format!("[{{ {rest} }}]");
    match name {
        "attention-kept" => of(&format!("operator = \"attention\", {kept}")),
        "mlp-kept" => of(&format!("operator = \"mlp\", {kept}")),
        "some-layers-kept" => of(&format!("layers = \"3-9\", operator = \"layer\", {kept}")),
        "embedding-in-node" => of("operator = \"embedding\", extents = { weights = \"node\" }"),
        "mlp-split-4" => of("operator = \"mlp\", split = 4"),
        "attention-split-2" => of("layers = \"0-5\", operator = \"attention\", split = 2"),
        "head-kept" => of(&format!("operator = \"head\", {kept}")),
        "all-in-node" => of("operator = \"all\", extents = { weights = \"node\", gradients = \"node\" }"),
        other => panic!("{other} names no placement"),
    }
}

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

const SCHEDULES: &[&str] = Schedule::WORDS.all;

const H100: Setting = ("cluster", "h100-80gb-dgx");
const A100: Setting = ("cluster", "a100-80gb-dgx");
const FRONTIER: Setting = ("cluster", "mi250x-frontier");
const DEFAULT: Setting = ("stack", "default");

const FAMILIES: [Family; 20] = [
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
];

/// All of them, in their order.
pub fn all() -> Vec<Question> {
    FAMILIES.iter().flat_map(Family::questions).collect()
}

impl Family {
    fn questions(&self) -> impl Iterator<Item = Question> {
        let points: usize = self.axes.iter().map(|(_, values)| values.len()).product();
        let (take, step) = if points <= self.take { (points, 1) } else { (self.take, stride(points)) };
        (0..take).map(move |index| self.question(index * step % points))
    }

    /// The point of that number, its last axis counting fastest.
    fn question(&self, mut point: usize) -> Question {
        let mut settings = Vec::new();
        for (key, values) in self.axes.iter().rev() {
            let value = values[point % values.len()];
            point /= values.len();
            if value != LEFT {
                settings.push((*key, value));
            }
        }
        settings.extend(self.base.iter().rev());
        settings.reverse();
        Question { family: self.name, settings }
    }
}

/// A stride that meets every point before it meets one twice, near the golden section, which spreads points evenly.
fn stride(points: usize) -> usize {
    let golden = (points as f64 * 0.618_033_988_749_895) as usize;
    (golden..=golden + points)
        .find(|step| common_divisor(*step, points) == 1)
        .expect("some number has no divisor in common with another")
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[test]
fn every_scenario_has_an_id_of_its_own() {
    let mut ids: Vec<String> = all().iter().map(Question::id).collect();
    let number = ids.len();
    assert!(number >= 2000, "{number}");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), number);
}

#[test]
fn a_scenario_is_its_file() {
    let question =
        Question { family: "test", settings: vec![H100, ("nodes", "4"), ("shard", "node"), ("qwz", "true")] };
    assert_eq!(question.id(), "test cluster=h100-80gb-dgx nodes=4 shard=node qwz=true");
    let text = "format = 1\ncluster = \"h100-80gb-dgx\"\n[plan]\nnodes = 4\nshard = \"node\"\nqwz = true\n";
    assert_eq!(question.to_toml(), text);
}
