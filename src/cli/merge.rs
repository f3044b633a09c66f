//! `merge`: the parts of a sweep or of a search as the whole again.

pub(super) mod seal;
pub(super) mod search;
mod sweep;

use std::io::Write;
use std::iter::{once, repeat_with, zip};
use std::path::PathBuf;

use crate::app::Options;
use shardscope_engine::text::{escaped, visible};
use shardscope_library::disk::{InputKind, OpenInput};

use super::args::MergeArgs;
use super::exit::{Exit, Failure};

use super::{files, output, progress};
use search::SearchPart;

pub(super) fn run(arguments: &MergeArgs, inputs: &[PathBuf]) -> Result<Exit, Failure> {
    if let Some(out) = &arguments.out {
        files::refuse_taken(out, arguments.force, inputs)?;
    }
    let Some(first) = arguments.parts.first() else { return merge_sweep(arguments) };
    let failed = |error| Failure::io(first, &error);
    let mut input = OpenInput::open(first, InputKind::SearchPart).map_err(failed)?;
    // A part of a search is JSON; a pipe that holds one cannot be read again.
    if input.head(1).map_err(failed)? == b"{" { merge_search(arguments, input) } else { merge_sweep(arguments) }
}

fn merge_search(arguments: &MergeArgs, first: OpenInput) -> Result<Exit, Failure> {
    let mut parts = Vec::new();
    for (file, opened) in zip(&arguments.parts, once(Some(first)).chain(repeat_with(|| None))) {
        parts.push(SearchPart::read(file, opened)?);
    }
    // Of two plans that are as good that of the earlier part stays first.
    parts.sort_by_key(SearchPart::index);
    let (whole, exit) = SearchPart::merged(&parts)?;
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
