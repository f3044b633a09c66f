//! `export --to sbatch --sweep`: the job array of a sweep.

use std::path::Path;

use super::word;
use crate::cli::args::{Everywhere, ExportArgs, SweepArgs, TableForm};
use crate::cli::exit::Failure;
use crate::cli::session::Session;
use crate::cli::sweep;
use shardscope_interop::FileText;
use shardscope_interop::job_array::JobArray;

/// How the script is called.
pub(super) const FILE: &str = "sweep.sbatch";

/// The script, of a sweep that can be computed.
pub(super) fn script(session: &Session, everywhere: &Everywhere, arguments: &ExportArgs) -> Result<FileText, Failure> {
    let asked = &arguments.array;
    let (Some(x), Some(y)) = (&asked.x, &asked.y) else {
        return Err(Failure::input("--sweep: a sweep has two axes; give --x and --y"));
    };
    let read = |axis: &str| axis.parse().map_err(|why: String| Failure::input(why));
    let question = sweep::question(
        session,
        &SweepArgs {
            x: read(x)?,
            y: read(y)?,
            metric: asked.metric,
            tune: asked.tune,
            part: None,
            format: TableForm::Csv,
            input: arguments.input.clone(),
        },
    )?;
    let cells = question.len();
    let partition = word("--partition", arguments.partition.as_deref())?.map(|name| ("partition", name));
    let account = word("--account", arguments.account.as_deref())?.map(|name| ("account", name));
    let options = partition.into_iter().chain(account).collect();
    let array = JobArray {
        command: command(everywhere, arguments, [x, y]),
        parts: asked.parts.unwrap_or_else(|| JobArray::parts(cells, asked.tune)),
        at_once: asked.at_once,
        cells,
        options,
    };
    array.script().map_err(|error| Failure::input(format!("no script can say it: {error}")))
}

/// The command line of the sweep: as it was given here.
fn command(everywhere: &Everywhere, arguments: &ExportArgs, [x, y]: [&str; 2]) -> Vec<String> {
    let mut words = vec!["sweep".to_owned()];
    // A file whose name begins with a dash is none of the options.
    let file = |scenario: &String| if scenario.starts_with('-') { format!("./{scenario}") } else { scenario.clone() };
    words.extend(arguments.input.scenario.as_ref().map(file));
    let mut flag = |name: &str, value: &str| words.push(format!("--{name}={value}"));
    let text = |path: &Path| path.to_string_lossy().into_owned();
    everywhere.config.iter().for_each(|file| flag("config", &text(file)));
    everywhere.presets.iter().for_each(|folder| flag("presets", &text(folder)));
    for (field, value) in arguments.input.flags.given() {
        flag(field.spec().flag, value);
    }
    flag("x", x);
    flag("y", y);
    flag("metric", arguments.array.metric.word());
    if arguments.array.tune {
        words.push("--tune".to_owned());
    }
    words
}
