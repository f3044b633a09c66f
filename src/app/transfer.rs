//! Files that a person waits for, one at a time: opened, taken in, or written for another tool. How far it is stands in
//! the status line, and Esc stops it. Not for reading and writing ([`crate::app::jobs::files`]).

pub mod exporting;
pub mod importing;

use std::path::{Path, PathBuf};

use shardscope_engine::text::printable;
use shardscope_engine::units::Bytes;

use crate::app::transfer::exporting::ExportQuestion;
use crate::app::transfer::importing::ImportQuestion;

/// Something that takes as long as a file is, or as its writer takes.
#[derive(Debug, Clone, PartialEq)]
pub enum FileTransfer {
    /// Open a snapshot or a set.
    Open(PathBuf),
    /// Take in other tools' files.
    Import(Box<ImportQuestion>),
    /// Write a plan for another tool.
    Export(Box<ExportQuestion>),
}

/// How far one is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transferred {
    /// Whole seconds since it began.
    pub seconds: u64,
    /// The bytes of the file in hand that were read or written.
    pub bytes: Bytes,
}

/// The one that runs.
#[derive(Debug)]
pub(crate) struct Underway {
    /// Its reports carry this.
    pub(crate) number: u64,
    /// The task in words.
    pub(crate) name: String,
    /// How far it is, once that is known.
    pub(crate) so_far: Option<Transferred>,
}

impl FileTransfer {
    /// The task in words.
    pub(crate) fn name(&self) -> String {
        let shown = |path: &Path| printable(&path.display().to_string());
        match self {
            Self::Open(path) => format!("reading {}", shown(path)),
            Self::Import(question) => {
                let files: Vec<String> = question.words.files.iter().map(|path| shown(path)).collect();
                format!("reading {}", files.join(", "))
            }
            Self::Export(question) => format!("exporting {}", question.form.name()),
        }
    }
}

impl Underway {
    /// The text of the status line.
    pub(crate) fn said(&self) -> String {
        let so_far = self
            .so_far
            .map_or_else(String::new, |Transferred { seconds, bytes }| format!(": {bytes} after {seconds} s"));
        format!("{}{so_far}; Esc stops it", self.name)
    }
}
