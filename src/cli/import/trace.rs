//! `import trace`: what a profiler recorded of a step, beside the simulated one.

use std::io::Read;
use std::path::Path;

use shardscope_engine::disk::InputKind;
use shardscope_interop::kineto::{self, TraceComparison};

use super::super::args::ImportTraceArgs;
use super::super::exit::{Exit, Failure};
use super::super::foreign;
use super::super::progress;
use super::super::session::{Session, refused};
use super::{deliver, scenario_beside};

pub(super) fn run(session: &Session, arguments: &ImportTraceArgs) -> Result<Exit, Failure> {
    let file = &arguments.file;
    compare(session, arguments, foreign::open(file, InputKind::Trace)?.stream())
}

/// The same of a trace that is already open.
pub(super) fn compare(session: &Session, arguments: &ImportTraceArgs, trace: impl Read) -> Result<Exit, Failure> {
    let ImportTraceArgs { file, output, input } = arguments;
    let scenario = scenario_beside(session, input)?;
    let waiting = progress::waiting("reading the trace", &session.options);
    let recording = kineto::read(trace).map_err(|error| Failure::io(Path::new(&foreign::called(file)), &error))?;
    waiting.finish_and_clear();
    let made = TraceComparison::new(recording, scenario.as_ref()).map_err(|problems| refused(&problems, input))?;
    deliver(&made, &made.made.text(), &session.inputs, output)
}
