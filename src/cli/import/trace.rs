//! `import trace`: what a profiler recorded of a step, beside the simulated one.

use crate::disk;
use crate::interop::kineto::{self, TraceComparison};

use super::super::args::ImportTraceArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign::path_of;
use super::super::session::{Session, refused};
use super::deliver;

pub(super) fn run(session: &Session, arguments: &ImportTraceArgs) -> Result<Exit, Failure> {
    let ImportTraceArgs { file, output, input } = arguments;
    let scenario = match (&input.scenario, input.flags.is_empty()) {
        (None, true) => None,
        _ => Some(session.open_possible(input)?.scenario),
    };
    let recording = disk::stream(path_of(file)).and_then(kineto::read).map_err(|error| Failure::io(file, &error))?;
    let made = TraceComparison::new(recording, scenario.as_ref()).map_err(|problems| refused(&problems, input))?;
    deliver(&made, &made.made.text(), [file.as_path()], output)
}
