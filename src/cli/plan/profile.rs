//! `plan --profile`: the paper's search on measured operators.

use std::path::Path;

use crate::cli::args::PlanArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::Session;
use crate::cli::{interrupt, log, output, progress};
use shardscope_engine::disk::{self, InputKind};
use shardscope_engine::search::Cancel;
use shardscope_engine::search::planner::profile::{MeasuredProfile, ProfileRequest};
use shardscope_engine::units::Bytes;
use shardscope_report::figures::ProfileReport;

/// What the authors' search keeps free of each device's memory: 800 of its MB, which are MiB [osdp C5].
const RESERVE: Bytes = Bytes::new(800.0 * Bytes::MIB.get());

/// The most layers that are planned: far above any model.
const MOST_LAYERS: u32 = 4096;

pub fn run(session: &Session, arguments: &PlanArgs) -> Result<Exit, Failure> {
    let wanted = &arguments.profile;
    // The command line has made sure that these are there.
    let (Some(file), Some(layers), Some(hidden), Some(limit)) =
        (&wanted.file, wanted.layers, wanted.hidden, arguments.memory_limit)
    else {
        return Err(Failure::input("--profile: needs --layers, --hidden and --memory-limit"));
    };
    if let Some(foreign) = arguments.input.first() {
        return Err(Failure::input(format!("{foreign}: the profile is planned by itself; leave it out")));
    }
    let profile = read(file)?;
    check(&profile, arguments)?;
    let reserve = wanted.reserve.unwrap_or(RESERVE);
    let room_mib = ((limit / Bytes::MIB).floor() - (reserve / Bytes::MIB).ceil()).max(0.0) as u64;
    let request = ProfileRequest { layers, hidden, room_mib, batch_index: wanted.batch_index };
    let cancel = Cancel::default();
    interrupt::cancels(&cancel);
    log::line("searching plans");
    let waiting = progress::waiting("planning; Ctrl-C prints the batches so far", &session.options);
    let plans = profile.plan(request, &cancel);
    waiting.finish_and_clear();
    if cancel.is_cancelled() {
        output::warning(&"interrupted: larger batches were not planned");
    }
    let report = ProfileReport { layers, hidden, limit, reserve, plans: &plans };
    output::report(arguments.format, || report.text(), || report.json())?;
    interrupt::ends(&cancel);
    Ok(if plans.plans.is_empty() { Exit::DoesNotFit } else { Exit::Done })
}

fn read(file: &Path) -> Result<MeasuredProfile, Failure> {
    let text = disk::read_text(file, InputKind::Profile).map_err(|error| Failure::io(file, &error))?;
    let name = file.display().to_string();
    MeasuredProfile::parse(&text).map_err(|error| Failure::input(error.in_file(&name).to_string()))
}

/// Refuses what the profile has no rows for.
fn check(profile: &MeasuredProfile, arguments: &PlanArgs) -> Result<(), Failure> {
    let wanted = &arguments.profile;
    let list = |numbers: &[u32]| numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if !wanted.layers.is_some_and(|layers| (1..=MOST_LAYERS).contains(&layers)) {
        return Err(Failure::input(format!("--layers: choose 1 to {MOST_LAYERS}")));
    }
    let hidden = wanted.hidden.unwrap_or_default();
    let widths = profile.widths();
    if !widths.contains(&hidden) {
        let line = format!("--hidden: the profile has no rows of width {hidden}; choose one of {}", list(&widths));
        return Err(Failure::input(line));
    }
    let batches = profile.batches(hidden);
    match wanted.batch_index {
        Some(batch) if !batches.contains(&batch) => {
            let line = format!("--batch-index: no rows of batch {batch}; choose one of {}", list(&batches));
            Err(Failure::input(line))
        }
        _ => Ok(()),
    }
}
