//! Snapshots: a scenario with everything that it stands on by value, so that it can be reopened anywhere.
//!
//! Cluster, stack, calibration, model and the placement of the state are in the file and win over
//! their ids. The evaluation in it is for show and never an input. Also reads scenario files, told
//! apart by `kind`; several snapshots together are a set. Not for the layout of presets on disk.

mod content;
mod last;
mod list;
mod open;
mod set;
mod stored;
mod write;

pub use content::{FORMAT, Snapshot};
pub use last::{LastSession, SessionFile, SessionState};
pub use list::{HeldSnapshot, Listed, delete, list, places, remember};
pub use open::{OpenError, Opened, is_path, open, open_text, open_watched};
pub use set::Member;
pub use set::Set;
pub use stored::{Stored, StoredPin};
pub use write::Attempt;
pub use write::{WriteError, write, write_set, write_text};

#[cfg(test)]
mod tests;
