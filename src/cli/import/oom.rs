//! `import oom`: what PyTorch says where memory ran out, and what would fit.

use serde::Serialize;

use shardscope_engine::disk::InputKind;
use shardscope_interop::out_of_memory::{self, OutOfMemory};
use shardscope_interop::report::Imported;
use shardscope_report::figures::{self, MeasuredReport};

use super::super::args::ImportOomArgs;
use super::super::eval;
use super::super::exit::{Exit, Failure};
use super::super::foreign::{ReadText, refused};
use super::super::session::Session;
use super::{deliver, scenario_beside};

/// The message, and what it tells of a scenario where one is named.
#[derive(Serialize)]
struct OomReport {
    #[serde(flatten)]
    message: OutOfMemory,
    measured: Option<MeasuredReport>,
}

pub(super) fn run(session: &Session, arguments: &ImportOomArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let ImportOomArgs { file, output, input } = arguments;
    let text = read(file, InputKind::RunLog)?;
    let Imported { made: message, report } = out_of_memory::read(&text).map_err(|errors| refused(file, &errors))?;
    let scenario = scenario_beside(session, input)?;
    let told = scenario.map(|scenario| eval::told(session, message.figure(), &scenario)).transpose()?;
    let hint =
        "with the flags of its scenario this says what would fit: --hardware, --model, --nodes, ...\n".to_owned();
    let text = message.text() + &told.as_ref().map_or(hint, figures::measured);
    let measured = told.as_ref().map(MeasuredReport::new);
    deliver(&Imported { made: OomReport { message, measured }, report }, &text, &session.inputs, output)
}
