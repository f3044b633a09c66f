//! The files that a command line names: read with limits, and written whole or not at all, never over one that is read,
//! and over another one only by force.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::config::Place;
use shardscope_engine::scenario::Field;
use shardscope_interop::import::{STANDARD_INPUT, is_cluster_file, is_model_file, name_of};
use shardscope_library::disk::{self, InputKind, OpenInput, Staged};

use super::args::{Cli, CliCommand, ImportArgs, ScenarioArgs, ScenarioFlags};
use super::exit::Failure;

/// Opens a file; `-` is standard input, which is read from its descriptor: a socket has no path.
pub(super) fn open(file: &Path, kind: InputKind) -> io::Result<OpenInput> {
    if file == Path::new(STANDARD_INPUT) { Ok(OpenInput::standard(kind)) } else { OpenInput::open(file, kind) }
}

/// The text of a file. A byte that is no text is replaced, since one bad name should not hide a table.
pub(super) fn read_lossy(file: &Path, kind: InputKind) -> Result<String, Failure> {
    let bytes = open(file, kind).and_then(OpenInput::bytes);
    let bytes = bytes.map_err(|error| Failure::io(Path::new(&name_of(file)), &error))?;
    Ok(String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Whether the value of `--packing` names a file of lengths, not their mean: a fraction is a wrong mean.
pub(super) fn holds_lengths(name: &str) -> bool {
    name.contains(['/', '.']) && name.parse::<f64>().is_err()
}

/// Refuses a name, before the work whose result is to go there: that of an input, or of any file unless it may be
/// replaced.
pub(super) fn refuse_taken(file: &Path, force: bool, inputs: &[PathBuf]) -> Result<(), Failure> {
    refuse_input(file, inputs)?;
    match file.symlink_metadata() {
        Ok(_) if !force => Err(Failure::io(file, &ErrorKind::AlreadyExists.into())),
        _ => Ok(()),
    }
}

/// Refuses to write to what is read.
pub(super) fn refuse_input(file: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    if inputs.iter().any(|input| disk::is_same(file, input)) {
        let file = file.display();
        return Err(Failure::input(format!("{file}: is an input or the log; choose another name for what is written")));
    }
    Ok(())
}

/// Writes a file piece by piece, as `fill` does: whole or not at all, as [`write()`].
pub(super) fn write_as_it_comes<T>(
    file: &Path,
    force: bool,
    fill: impl FnOnce(&mut Staged) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error: io::Error| Failure::io(file, &error);
    let mut staged = Staged::beside(file, force).map_err(failed)?;
    let filled = fill(&mut staged)?;
    staged.finish(file, force).map(|()| filled).map_err(failed)
}

/// Writes files: new ones all or none, or each in the place of what is there. Folders that are missing are made: a new
/// user has none for presets yet.
pub(super) fn write(files: &[(PathBuf, &str)], force: bool) -> Result<(), Failure> {
    for (file, _) in files {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.map_or(Ok(()), disk::create_folder).map_err(|error| Failure::io(file, &error))?;
    }
    disk::write(files, force).map_err(|(file, error)| Failure::io(file, &error))
}

impl Cli {
    /// The files that it names to be read, and the configuration, wherever that lies. Presets in folders are not among
    /// them: a new one may be written over an old one.
    pub(super) fn inputs(&self) -> Vec<PathBuf> {
        let place = Place::find(self.everywhere.config.as_deref());
        let mut inputs: Vec<PathBuf> = place.into_iter().map(|place| place.file).chain(self.rows.clone()).collect();
        inputs.extend(self.input.files());
        inputs.extend(self.command.iter().flat_map(CliCommand::inputs));
        inputs
    }
}

impl CliCommand {
    fn inputs(&self) -> Vec<PathBuf> {
        match self {
            Self::Eval(eval) => eval.input.files(),
            Self::Sweep(sweep) => sweep.input.files(),
            Self::Merge(merge) => merge.parts.clone(),
            Self::Plan(plan) => [plan.input.files(), plan.profile.file.iter().cloned().collect()].concat(),
            Self::Search(search) => [search.input.files(), search.known.clone()].concat(),
            Self::Limits(limits) => limits.input.files(),
            Self::Export(export) => export.input.files(),
            Self::Import(import) => import.inputs(),
            Self::Validate(validate) => validate.rows.clone(),
            Self::Support(support) => support.input.files(),
            Self::Calibrate(calibrate) => calibrate.rows.clone(),
            Self::Presets(_) | Self::Guide(_) | Self::Config(_) | Self::Completions { .. } | Self::Man => Vec::new(),
        }
    }
}

impl ImportArgs {
    fn inputs(&self) -> Vec<PathBuf> {
        let cluster = self.words.options.iter().filter(|(option, value)| option == "cluster" && is_cluster_file(value));
        let cluster = cluster.map(|(_, file)| PathBuf::from(file));
        self.words.files.iter().cloned().chain(cluster).chain(self.scenario.files()).collect()
    }
}

impl ScenarioArgs {
    fn files(&self) -> Vec<PathBuf> {
        self.file().map(PathBuf::from).into_iter().chain(self.flags.files()).collect()
    }
}

impl ScenarioFlags {
    fn files(&self) -> Vec<PathBuf> {
        let is_file = |field, text: &str| match field {
            Field::Model => is_model_file(text),
            Field::Cluster => is_cluster_file(text),
            Field::Packing => holds_lengths(text),
            _ => false,
        };
        self.given().filter(|(field, text)| is_file(*field, text)).map(|(_, text)| text.into()).collect()
    }
}
