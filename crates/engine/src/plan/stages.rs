//! How the layers of a model are shared out over pipeline stages.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The layers of each pipeline stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StageSizes {
    /// As even as the stack makes them.
    #[default]
    Balanced,
    /// So many in each stage, in the order of forward.
    Layers(Vec<u32>),
}

/// The most stages that may be listed.
const MOST_STAGES: usize = 1 << 14;

impl fmt::Display for StageSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Balanced => f.pad("balanced"),
            Self::Layers(counts) => f.pad(&counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl FromStr for StageSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "balanced" {
            return Ok(Self::Balanced);
        }
        let counts: Option<Vec<u32>> =
            text.split(',').take(MOST_STAGES + 1).map(|count| count.trim().parse().ok()).collect();
        let counts = counts.filter(|counts| counts.len() <= MOST_STAGES);
        counts.map(Self::Layers).ok_or_else(|| "write the layers of each stage, like 7,8,8,7, or balanced".to_owned())
    }
}

impl Serialize for StageSizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
