//! Plans as text and JSON. Not for finding them ([`shardscope_engine::search::planner`]).

mod grid;
mod operators;
mod profile;

pub use grid::GridReport;
pub use operators::PlanReport;
pub use profile::ProfileReport;
