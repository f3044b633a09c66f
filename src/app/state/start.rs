//! The start of the explorer, as the command line asks for it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::app::state::keymap::Keymap;
use crate::config::Terminal;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_report::snapshot::{SessionFile, Stored, StoredPin};

/// The scenario, pins and options that the explorer opens with.
#[derive(Debug, Clone)]
pub struct Start {
    /// Everything that can be chosen.
    pub library: Arc<Library>,
    /// The scenario as its file says it: what edits change.
    pub file: ScenarioFile,
    /// The scenario, resolved.
    pub scenario: Scenario,
    /// The figures that its snapshot stores.
    pub stored: Option<Stored>,
    /// The scenarios of a set, to compare with.
    pub pins: Vec<StoredPin>,
    /// The view to show first, by its word; the map where it is none or unknown.
    pub view: Option<String>,
    /// Whether it is the first start, which asks what is at hand.
    pub is_first: bool,
    /// How to show it.
    pub options: Options,
}

impl Start {
    /// A scenario and nothing else.
    pub fn new(library: Arc<Library>, file: ScenarioFile, scenario: Scenario) -> Self {
        let options = Options::default();
        Self { library, file, scenario, stored: None, pins: Vec::new(), view: None, is_first: false, options }
    }
}

/// Options of the explorer, from the command line.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Threads of a sweep; `None` for the default of a shared machine.
    pub threads: Option<usize>,
    /// The terminal, as the configuration and the flags say.
    pub terminal: Terminal,
    /// The table of keys, with the user's own in it.
    pub keymap: Keymap,
    /// The configuration file, if there is a place for one.
    pub config: Option<PathBuf>,
    /// Where what the session ends with is kept; without a place nothing is.
    pub session: Option<SessionFile>,
    /// The first notice of the status line.
    pub notice: Option<String>,
    /// Another tool's file to take in first.
    pub import: Option<PathBuf>,
    /// Tables of measured runs, each with its name; the program's own where there is none.
    pub rows: Vec<(String, String)>,
}
