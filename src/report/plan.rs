//! Plans as text and JSON. Not for finding them ([`crate::search::planner`]).

mod grid;
mod profile;

pub use grid::GridReport;
pub use profile::ProfileReport;
