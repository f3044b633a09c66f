//! What another tool's file is, by what is in it: the kinds, in the order in which they are asked. Not for reading any of
//! them, but for traces of profilers, which may be packed and are known by their first bytes ([`super::kineto`]).

use shardscope_engine::disk::InputKind;

use super::huggingface;
use super::out_of_memory;
use super::plans;
use super::runs::{self, RunOptions};
use super::topology;

/// What a file of another tool can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignKind {
    /// A model's configuration.
    Model,
    /// A benchmark of a cluster's links.
    Links,
    /// The log of a training run.
    Run,
    /// What PyTorch says where memory ran out.
    OutOfMemory,
    /// What a launcher reads.
    Plan,
    /// What a cluster's tools print.
    Cluster,
}

impl ForeignKind {
    /// All of them: a model's configuration may have words of a launcher's in it, and a log of a run its arguments.
    pub const ALL: [Self; 6] = [Self::Model, Self::Links, Self::Run, Self::OutOfMemory, Self::Plan, Self::Cluster];

    /// The kind of a text, which a file of this name holds.
    pub fn recognise(name: &str, text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.is_of(name, text))
    }

    /// How much of it is read.
    pub const fn input(self) -> InputKind {
        match self {
            Self::Model => InputKind::ModelConfiguration,
            Self::Links => InputKind::LinkLog,
            Self::Run | Self::OutOfMemory => InputKind::RunLog,
            Self::Plan => InputKind::Launcher,
            Self::Cluster => InputKind::Machine,
        }
    }

    /// Its word on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Links => "links",
            Self::Run => "run",
            Self::OutOfMemory => "oom",
            Self::Plan => "plan",
            Self::Cluster => "cluster",
        }
    }

    /// What it is called in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "a model's configuration",
            Self::Links => "a log of nccl-tests",
            Self::Run => "the log of a run",
            Self::OutOfMemory => "an out-of-memory message of PyTorch",
            Self::Plan => "a launcher's configuration",
            Self::Cluster => "what a cluster's tools print",
        }
    }

    fn is_of(self, name: &str, text: &str) -> bool {
        if self.input().check(text).is_err() {
            return false;
        }
        match self {
            Self::Model => huggingface::is_config(text),
            Self::Links => text.contains("busbw") || text.contains("\"bus_bw\""),
            Self::Run => runs::run(name, text, RunOptions { skip: Some(0), given: &[] }).is_ok(),
            Self::OutOfMemory => out_of_memory::is_message(text),
            Self::Plan => plans::is_plan(name, text),
            Self::Cluster => topology::is_machine(name, text),
        }
    }
}
