//! What the commands share: settings and presets, and opening a scenario over them.

use std::io::ErrorKind;
use std::sync::Arc;

use crate::app::Options;
use crate::app::keymap::Keymap;
use crate::config::{self, Config, Place};
use crate::presets::Library;
use crate::scenario::Problem;
use crate::snapshot::{self, OpenError, Opened};

use super::args::{Everywhere, ScenarioFlags};
use super::{Failure, output};

/// One run of the program.
pub(super) struct Session {
    /// Everything that can be chosen.
    pub(super) library: Arc<Library>,
    /// How to show and how to compute it.
    pub(super) options: Options,
}

impl Session {
    /// Reads settings and presets. What the user did not name may be missing or unreadable.
    pub(super) fn start(everywhere: &Everywhere) -> Result<Self, Failure> {
        let place = Place::find(everywhere.config.as_deref());
        let config = match &place {
            Some(place) => settings(place, everywhere.config.is_some())?,
            None => Config::default(),
        };
        for folder in &everywhere.presets {
            std::fs::read_dir(folder).map_err(|error| Failure::io(folder, &error))?;
        }
        let keymap = Keymap::custom(&config.keys).map_err(|musts| {
            let place = place.as_ref().map_or_else(String::new, |place| config::unmet(place, &musts));
            Failure::Input(vec![place])
        })?;
        let file = place.as_ref().map(|place| place.file.clone());
        let (library, warnings) = Library::open(place.map(|place| place.folder), &everywhere.presets);
        for warning in &warnings {
            output::warning(warning);
        }
        Ok(Self {
            library: Arc::new(library),
            options: Options { keymap, config: file, ..options(everywhere, &config) },
        })
    }

    /// The scenario that the arguments name, with their flags over it; whether it can be laid out is not asked.
    pub(super) fn open(&self, scenario: Option<&str>, flags: &ScenarioFlags) -> Result<Opened, Failure> {
        let mut opened = snapshot::open(scenario.unwrap_or("default"), &self.library).map_err(unopened)?;
        let mut problems: Vec<Problem> =
            flags.given().filter_map(|(flag, text)| opened.file.set(flag, text).err()).collect();
        if flags.given().next().is_some() {
            match self.library.resolve_over(&opened.file, Some(&opened.scenario)) {
                Ok(scenario) => opened.scenario = scenario,
                Err(more) => problems.extend(more),
            }
        }
        if problems.is_empty() { Ok(opened) } else { Err(refused(&problems, flags)) }
    }

    /// The same, for a scenario that must be possible as it is.
    pub(super) fn open_possible(&self, scenario: Option<&str>, flags: &ScenarioFlags) -> Result<Opened, Failure> {
        let opened = self.open(scenario, flags)?;
        match opened.scenario.layout() {
            Ok(_) => Ok(opened),
            Err(problems) if flags.given().next().is_some() => Err(refused(&problems, flags)),
            Err(problems) => Err(Failure::Input(vec![opened.mistakes(&problems).to_string()])),
        }
    }
}

fn unopened(error: OpenError) -> Failure {
    match error {
        OpenError::Io { error: ref reason, .. } if reason.kind() != ErrorKind::InvalidData => {
            Failure::Io(error.to_string())
        }
        // The word may as well have been meant as a command.
        OpenError::Unknown(unknown) => Failure::Input(vec![format!("{unknown}, `shardscope help` the commands")]),
        error => Failure::Input(vec![error.to_string()]),
    }
}

/// Problems, each under the flag that set its field, if one did.
pub(super) fn refused(problems: &[Problem], flags: &ScenarioFlags) -> Failure {
    let line = |problem: &Problem| match flags.of(&problem.field) {
        Some(flag) => format!("--{flag}: {}; {}", problem.what, problem.mend),
        None => problem.to_string(),
    };
    let mut lines: Vec<String> = problems.iter().map(line).collect();
    // `--shard` moves up to three extents: what is wrong with all of them is said once.
    lines.dedup();
    Failure::Input(lines)
}

/// What the configuration says. Only the command line can insist on a file; elsewhere the defaults serve.
fn settings(place: &Place, insisted: bool) -> Result<Config, Failure> {
    let without = |message: String| {
        if insisted {
            return Err(Failure::Io(message));
        }
        output::warning(&format!("{message}; the defaults are used"));
        Ok(Config::default())
    };
    match place.read() {
        Ok(Some(config)) => Ok(config),
        Ok(None) if place.named => without(format!("{}: there is no such file", place.file.display())),
        Ok(None) => Ok(Config::default()),
        Err(config::Error::Read(error)) => without(format!("{}: {error}", place.file.display())),
        Err(config::Error::Wrong(error)) => Err(Failure::Input(vec![error.to_string()])),
    }
}

fn options(everywhere: &Everywhere, config: &Config) -> Options {
    let variable = std::env::var("RAYON_NUM_THREADS").ok();
    Options {
        threads: threads(everywhere.threads, variable.as_deref(), config.threads),
        palette: everywhere.palette.unwrap_or(config.terminal.palette),
        theme: config.terminal.theme,
        ascii: everywhere.ascii || config.terminal.ascii,
        markers: config.terminal.markers,
        mouse: config.terminal.mouse,
        low_bandwidth: everywhere.low_bandwidth || config.terminal.low_bandwidth,
        ..Options::default()
    }
}

/// The flag, else the variable as rayon reads it (0 and nonsense stand for the default), else the file.
fn threads(flag: Option<u16>, variable: Option<&str>, file: Option<usize>) -> Option<usize> {
    let variable = || variable?.parse().ok().filter(|threads| *threads > 0);
    flag.map(usize::from).or_else(variable).or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_come_from_the_flag_then_the_variable_then_the_file() {
        assert_eq!(threads(Some(1), Some("2"), Some(3)), Some(1));
        assert_eq!(threads(None, Some("2"), Some(3)), Some(2));
        assert_eq!(threads(None, Some("0"), Some(3)), Some(3));
        assert_eq!(threads(None, Some("many"), None), None);
    }
}
