//! `plan --profile`: the paper's search on measured operators.

use crate::cli::args::Plan;
use crate::cli::{Exit, Failure};

pub fn run(_arguments: &Plan) -> Result<Exit, Failure> {
    Err(Failure::Input(vec!["plan: planning from a profile is not built yet".to_owned()]))
}
