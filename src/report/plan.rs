//! Plans as text and JSON. Not for finding them ([`crate::search::planner`]).

mod operators;
mod profile;

pub use operators::PlanReport;
pub use profile::ProfileReport;
