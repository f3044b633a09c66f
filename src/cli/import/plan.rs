//! `import plan`: a scenario from what a launcher reads.

use std::path::{Path, PathBuf};

use shardscope_engine::disk::InputKind;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Field;
use shardscope_interop::plans::{self, LauncherFile, PlanWishes};

use super::super::args::{ImportPlanArgs, ScenarioFlags};
use super::super::exit::{Exit, Failure};
use super::super::foreign::ReadText;
use super::super::session::Session;
use super::super::{cluster, model};
use super::{called, deliver};

pub(super) fn run(session: &Session, arguments: &ImportPlanArgs, read: ReadText<'_>) -> Result<Exit, Failure> {
    let ImportPlanArgs { files, output, flags } = arguments;
    let library = &session.library;
    let texts = texts(files, read)?;
    let named: Vec<LauncherFile> = texts.iter().map(|(name, text)| LauncherFile { name, text }).collect();
    let imported = plans::import(&named, wishes(library, flags)?, library)?;
    // The file that the first refers to is read too.
    let inputs: Vec<PathBuf> =
        session.inputs.iter().cloned().chain(named.iter().map(|file| file.name.into())).collect();
    let text = imported.made.scenario.to_toml().map_err(Failure::unwritten)?;
    deliver(&imported, &text, &inputs, output)
}

/// Names and texts of the files, and of the one that the first refers to, where it lies beside it.
fn texts(files: &[PathBuf], read: ReadText<'_>) -> Result<Vec<(String, String)>, Failure> {
    let mut texts = Vec::new();
    for file in files {
        texts.push((called(file), read(file, InputKind::Launcher)?));
    }
    if let ([file], [(_, text)]) = (files, &texts[..])
        && let Some(beside) = plans::referred(text).map(|name| file.with_file_name(name)).filter(|file| file.is_file())
    {
        texts.push((called(&beside), read(&beside, InputKind::Launcher)?));
    }
    Ok(texts)
}

/// What the command line says of the scenario.
fn wishes(library: &Library, flags: &ScenarioFlags) -> Result<PlanWishes, Failure> {
    let mut wishes = PlanWishes::default();
    for (field, text) in flags.given() {
        if field == Field::Model && model::is_file(text) {
            wishes.model = Some(model::read(library, Path::new(text))?.made.model);
        } else if field == Field::Cluster && cluster::is_file(text) {
            wishes.machine = Some(cluster::read(library, Path::new(text))?);
        } else {
            let value = field
                .read(text)
                .map_err(|problem| Failure::input(format!("--{field}: {}; {}", problem.what, problem.fix)))?;
            wishes.fields.extend(value.map(|value| (field, value)));
        }
    }
    Ok(wishes)
}
