//! What an import did not understand of another tool's file.

use serde::{Deserialize, Serialize};

/// A setting of another tool that no table of it knows: it may change size, time or memory, so that figures beside it have no
/// error band.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnknownSetting {
    /// Whose settings they are, as imports name the tool.
    pub tool: String,
    /// Which of the files that were imported has it.
    pub file: String,
    /// Its line, from 1; 0 where the file has none.
    #[serde(default)]
    pub line: u32,
    /// How the tool calls it, with the objects around it before dots.
    pub key: String,
    /// The text that it is set to, cut where it is long.
    #[serde(default)]
    pub value: String,
}
