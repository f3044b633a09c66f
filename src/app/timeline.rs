//! The timeline: which rows and which part of the step it shows, what is chosen on it, and where its keys lead.

mod follow;
mod shown;

pub use follow::counterpart;
pub use shown::{ShownStep, Timeline, TrackRow, Window};
