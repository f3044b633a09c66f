//! What an import did not understand of another tool's file.

use serde::{Deserialize, Serialize};

/// A setting of another tool that no table of it knows: it may change size, time or memory, so that figures beside it have no
/// error band.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnknownSetting {
    /// The tool whose file it stands in.
    pub tool: String,
    /// The file.
    pub file: String,
    /// Its line, from 1; 0 where the file has none.
    #[serde(default)]
    pub line: u32,
    /// The setting's name.
    pub key: String,
    /// What it is set to.
    #[serde(default)]
    pub value: String,
}
