//! `plan`: the search of the FSDP limits.

use crate::cli::args::Plan;
use crate::cli::session::Session;
use crate::cli::{Exit, Failure};

pub fn run(_session: &Session, _arguments: &Plan) -> Result<Exit, Failure> {
    Err(Failure::Input(vec!["plan: the search of the FSDP limits is not built yet".to_owned()]))
}
