//! The files that a command line names to be read. Nothing is written over them.
//!
//! Presets of folders are none of them: a new one may be written there over an old one.

use std::path::PathBuf;

use crate::config::Place;
use shardscope_engine::scenario::Field;

use super::args::{Cli, CliCommand, ImportArgs, ImportKind, ScenarioArgs, ScenarioFlags};
use super::{cluster, model};

impl Cli {
    /// All of them, and the configuration, wherever that lies.
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
        match &self.kind {
            None => self.file.iter().cloned().collect(),
            Some(ImportKind::Model(model)) => vec![model.file.clone()],
            Some(ImportKind::Run(run)) => run.files.clone(),
            Some(ImportKind::Plan(plan)) => [plan.files.clone(), plan.flags.files()].concat(),
            Some(ImportKind::Cluster(cluster)) => cluster.files.clone(),
            Some(ImportKind::Links(links)) => {
                let cluster = Some(&links.cluster).filter(|name| cluster::is_file(name)).map(PathBuf::from);
                links.files.iter().cloned().chain(cluster).collect()
            }
            Some(ImportKind::Oom(oom)) => [vec![oom.file.clone()], oom.input.files()].concat(),
            Some(ImportKind::Trace(trace)) => [vec![trace.file.clone()], trace.input.files()].concat(),
        }
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
            Field::Model => model::is_file(text),
            Field::Cluster => cluster::is_file(text),
            _ => false,
        };
        self.given().filter(|(field, text)| is_file(*field, text)).map(|(_, text)| text.into()).collect()
    }
}
