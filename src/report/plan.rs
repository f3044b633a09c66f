//! Plans as text and JSON. Not for finding them ([`crate::search::planner`]).

mod profile;

pub use profile::ProfileReport;
