//! Recognises other tools' files by content and lists the options of each kind's import. Does not read them
//! ([`super::import`]).

use shardscope_library::disk::InputKind;

use super::huggingface;
use super::kineto;
use super::out_of_memory;
use super::plans;
use super::runs::{self, RunOptions};
use super::topology;

/// A kind of another tool's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignKind {
    /// A model's configuration.
    Model,
    /// A benchmark of a cluster's links.
    Links,
    /// The log of a training run.
    Run,
    /// An out-of-memory message of PyTorch.
    OutOfMemory,
    /// A launcher's configuration.
    Plan,
    /// Output of a cluster's tools.
    Cluster,
    /// A profiler's trace.
    Trace,
}

/// An option of an import, on the command line and on the explorer's line.
#[derive(Debug, Clone, Copy)]
pub struct ImportOption {
    /// The option's name, without dashes.
    pub name: &'static str,
    /// Placeholder for the value in help texts.
    pub value_name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The accepted words; empty if the value is free text.
    pub words: &'static [&'static str],
    /// True if the option may be repeated.
    pub repeats: bool,
}

/// A kind's names, help texts and options.
#[derive(Debug, Clone, Copy)]
pub struct KindSpec {
    /// Subcommand of `import`.
    pub word: &'static str,
    /// The kind's name in a sentence.
    pub name: &'static str,
    /// One line on what the import makes.
    pub about: &'static str,
    /// Placeholder for the files in help texts.
    pub file_name: &'static str,
    /// One line of help on the files.
    pub file_help: &'static str,
    /// True if one import reads several files.
    pub several: bool,
    /// Input kind, which limits how much of a file is read.
    pub input: InputKind,
    /// Options of this kind alone.
    pub options: &'static [ImportOption],
    /// True if the import also takes the flags of a scenario.
    pub takes_fields: bool,
}

const fn option(name: &'static str, value_name: &'static str, help: &'static str) -> ImportOption {
    ImportOption { name, value_name, help, words: &[], repeats: false }
}

const MODEL: KindSpec = KindSpec {
    word: "model",
    name: "a model's configuration",
    about: "A model from a Hugging Face config.json",
    file_name: "CONFIG.json",
    file_help: "Hugging Face configuration; `-` is standard input",
    several: false,
    input: InputKind::ModelConfiguration,
    options: &[
        option("name", "NAME", "Name of the model; by default the one in the file, or the file's own"),
        option("like", "TYPE", "Known `model_type` as which to read an unknown one"),
    ],
    takes_fields: false,
};

const LINKS: KindSpec = KindSpec {
    word: "links",
    name: "a log of nccl-tests",
    about: "A cluster's bandwidths and latencies from logs of nccl-tests or rccl-tests",
    file_name: "LOG",
    file_help: "Logs of nccl-tests or rccl-tests, or their JSON (-J); `-` is standard input",
    several: true,
    input: InputKind::LinkLog,
    options: &[
        option("cluster", "ID", "Cluster whose links they measured, as `presets clusters` lists it, or its file"),
        ImportOption {
            words: &["all-gather", "reduce-scatter", "all-reduce"],
            ..option(
                "collective",
                "COLLECTIVE",
                "Collective, where the log does not name it; of several kinds of runs this one counts",
            )
        },
        option("name", "NAME", "Name of the cluster with its links as measured"),
    ],
    takes_fields: false,
};

const RUN: KindSpec = KindSpec {
    word: "run",
    name: "the log of a run",
    about: "Rows for `validate` and `calibrate` from logs of Megatron-LM, torchtitan, DeepSpeed or HF Trainer",
    file_name: "LOG",
    file_help: "Logs, one row for each; `-` is standard input",
    several: true,
    input: InputKind::RunLog,
    options: &[
        option("skip", "N", "Lines of steps to leave out at the head; by default 3, and those with skipped iterations"),
        option("hardware", "ID", "Machine that ran it, as `presets clusters` lists it"),
        option("stack", "ID", "Software that ran it, as `presets stacks` lists it"),
        ImportOption {
            repeats: true,
            ..option(
                "set",
                "COLUMN=VALUE",
                "A cell that the log does not say, or says wrongly; `validate --template` explains the columns",
            )
        },
    ],
    takes_fields: false,
};

const OUT_OF_MEMORY: KindSpec = KindSpec {
    word: "oom",
    name: "an out-of-memory message of PyTorch",
    about: "What PyTorch says where memory ran out: what was held and asked for, and what would fit of a scenario",
    file_name: "TEXT",
    file_help: "Text with the message, or the log that ends with it; `-` is standard input",
    several: false,
    input: InputKind::RunLog,
    options: &[],
    takes_fields: true,
};

const PLAN: KindSpec = KindSpec {
    word: "plan",
    name: "a launcher's configuration",
    about: "A scenario from a launcher's configuration: Accelerate, HF Trainer, DeepSpeed, Megatron-LM, torchtitan or torchtune",
    file_name: "FILE",
    file_help: "Configuration, with the DeepSpeed file that it refers to; a Megatron-LM script or log; `-` is standard \
                input",
    several: true,
    input: InputKind::Launcher,
    options: &[],
    takes_fields: true,
};

const CLUSTER: KindSpec = KindSpec {
    word: "cluster",
    name: "what a cluster's tools print",
    about: "A cluster from sinfo, scontrol, nvidia-smi, rocm-smi, ibstat, `ibv_devinfo`, or a topology file of NCCL, one \
            or several",
    file_name: "FILE",
    file_help: "What the tools print, told apart by content; `-` is standard input",
    several: true,
    input: InputKind::Machine,
    options: &[
        option("name", "NAME", "Name of the cluster"),
        option("nodes", "NODES", "Nodes of the machine, where no file says so"),
        option("rate", "RATE", "What a node sends to others, all its ports together, like \"400 GB/s\""),
        option(
            "node-bandwidth",
            "RATE",
            "What a device sends to others of its node, where the preset's links are not there",
        ),
        option("device", "ID", "Preset whose device and whose links inside a node it has"),
    ],
    takes_fields: false,
};

const TRACE: KindSpec = KindSpec {
    word: "trace",
    name: "what a profiler recorded",
    about: "What PyTorch's profiler recorded of a step: kernels, collectives, what was exposed, beside a simulated step",
    file_name: "TRACE",
    file_help: "Chrome trace of one rank, .json or .json.gz, as `export_chrome_trace` or `export --to trace` writes it; \
                `-` is standard input",
    several: false,
    input: InputKind::Trace,
    options: &[],
    takes_fields: true,
};

impl ForeignKind {
    /// All kinds, in the order in which they are tried: a model's configuration may share keys with a launcher's, and a
    /// run's log holds its arguments.
    pub const ALL: [Self; 7] =
        [Self::Model, Self::Links, Self::Run, Self::OutOfMemory, Self::Plan, Self::Cluster, Self::Trace];

    /// Recognises a file's kind by its name and text.
    pub fn recognise(name: &str, text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.matches(name, text))
    }

    /// This kind's names, help texts and options.
    pub const fn spec(self) -> &'static KindSpec {
        match self {
            Self::Model => &MODEL,
            Self::Links => &LINKS,
            Self::Run => &RUN,
            Self::OutOfMemory => &OUT_OF_MEMORY,
            Self::Plan => &PLAN,
            Self::Cluster => &CLUSTER,
            Self::Trace => &TRACE,
        }
    }

    fn matches(self, name: &str, text: &str) -> bool {
        if self.spec().input.check(text).is_err() {
            return false;
        }
        match self {
            Self::Model => huggingface::is_config(text),
            Self::Links => text.contains("busbw") || text.contains("\"bus_bw\""),
            Self::Run => runs::run(name, text, RunOptions { skip: Some(0), given: &[] }).is_ok(),
            Self::OutOfMemory => out_of_memory::is_message(text),
            Self::Plan => plans::is_plan(name, text),
            Self::Cluster => topology::is_machine(name, text),
            Self::Trace => kineto::is_trace(text.as_bytes()),
        }
    }
}
