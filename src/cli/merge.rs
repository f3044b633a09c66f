//! `merge`: the parts of a sweep or of a search as the whole again.

mod sweep;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::app::Options;
use crate::disk;
use crate::text::{escaped, visible};

use super::args::MergeArgs;
use super::exit::{Exit, Failure};
use super::parts::search::SearchPart;
use super::{files, output, progress};

pub(super) fn run(arguments: &MergeArgs, inputs: &[PathBuf]) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::vacant(out, arguments.force, inputs)?;
    }
    match arguments.parts.first() {
        Some(first) if is_json(first)? => merge_search(arguments),
        _ => merge_sweep(arguments),
    }
}

/// Whether a file begins as JSON does.
fn is_json(file: &Path) -> Result<bool, Failure> {
    let failed = |error| Failure::io(file, &error);
    let mut first = [0];
    let read = disk::stream(file).and_then(|mut stream| stream.read(&mut first)).map_err(failed)?;
    Ok(read == 1 && first == *b"{")
}

fn merge_search(arguments: &MergeArgs) -> Result<Exit, Failure> {
    let (whole, exit) = SearchPart::merged(&SearchPart::read_all(&arguments.parts)?)?;
    match &arguments.out {
        None => output::json(&whole)?,
        Some(out) => files::write(&[(out.clone(), &format!("{}\n", escaped(&whole)))], arguments.force)?,
    }
    Ok(exit)
}

fn merge_sweep(arguments: &MergeArgs) -> Result<Exit, Failure> {
    let whole = sweep::Whole::gather(&arguments.parts)?;
    let fits = match &arguments.out {
        None => whole.write(&mut output::piece)?,
        Some(out) => {
            let waiting = progress::waiting("putting the parts together", &Options::default());
            let fits = files::write_as_it_comes(out, arguments.force, |staged| {
                whole.write(&mut |text| {
                    staged.write_all(visible(text).as_bytes()).map_err(|error| Failure::io(out, &error)).map(|()| true)
                })
            })?;
            waiting.finish_and_clear();
            fits
        }
    };
    Ok(if fits { Exit::Done } else { Exit::DoesNotFit })
}
