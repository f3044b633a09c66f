//! `export --to trace`: the simulated step as Chrome traces, a file for each pipeline rank.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::args::ExportArgs;
use crate::cli::exit::{Exit, Failure};
use crate::cli::session::Session;
use crate::cli::{files, output};
use shardscope_engine::disk;
use shardscope_interop::trace::RankTrace;

/// Writes the files, or prints the only one.
pub(super) fn hand_over(session: &Session, traces: &[RankTrace], arguments: &ExportArgs) -> Result<Exit, Failure> {
    let Some(out) = &arguments.out else {
        let [trace] = traces else {
            let ranks = traces.len();
            return Err(Failure::input(format!(
                "--out: is missing; the step has {ranks} pipeline ranks, a file for each"
            )));
        };
        let mut text = Vec::new();
        trace.write(&mut text).map_err(Failure::unwritten)?;
        return output::result(&String::from_utf8_lossy(&text)).map(|()| Exit::Done);
    };
    let named: Vec<(PathBuf, &RankTrace)> =
        traces.iter().enumerate().map(|(rank, trace)| (name(out, rank), trace)).collect();
    for (file, _) in &named {
        files::refuse_taken(file, arguments.force, &session.inputs)?;
        if let Some(folder) = file.parent() {
            disk::create_folder(folder).map_err(|error| Failure::io(folder, &error))?;
        }
    }
    for (file, trace) in &named {
        write(file, arguments.force, trace)?;
    }
    let lines: Vec<String> = named.iter().map(|(file, _)| format!("{}\n", file.display())).collect();
    output::result(&lines.concat()).map(|()| Exit::Done)
}

/// `DIR/rank0.json` in a folder; `DIR/NAME0.json.gz` where `DIR/NAME.json.gz` is asked for.
fn name(out: &Path, rank: usize) -> PathBuf {
    let file = out.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let suffix = [".json.gz", ".json"].into_iter().find_map(|suffix| Some((file.strip_suffix(suffix)?, suffix)));
    match suffix {
        Some((stem, suffix)) => out.with_file_name(format!("{stem}{rank}{suffix}")),
        None => out.join(format!("rank{rank}.json")),
    }
}

fn write(file: &Path, force: bool, trace: &RankTrace) -> Result<(), Failure> {
    let failed = |error| Failure::io(file, &error);
    files::write_as_it_comes(file, force, |staged| {
        if file.extension().is_some_and(|extension| extension == "gz") {
            let mut packed = BufWriter::new(GzEncoder::new(staged, Compression::default()));
            trace.write(&mut packed).map_err(failed)?;
            let packed = packed.into_inner().map_err(|error| failed(error.into_error()))?;
            return packed.finish().map(drop).map_err(failed);
        }
        let mut plain = BufWriter::new(staged);
        trace.write(&mut plain).and_then(|()| plain.flush()).map_err(failed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_stands_in_the_name_and_the_suffix_packs() {
        assert_eq!(name(Path::new("traces"), 3), Path::new("traces/rank3.json"));
        assert_eq!(name(Path::new("a/step.json.gz"), 12), Path::new("a/step12.json.gz"));
        assert_eq!(name(Path::new("step.json"), 0), Path::new("step0.json"));
    }
}
