//! The effects of a view or a layer on what is not its own: the explorer alone performs them.

use std::path::PathBuf;

use shardscope_engine::presets::Kind;
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Edit, Field, Scenario, Value};
use shardscope_engine::stack::Calibration;
use shardscope_engine::units::Seconds;
use shardscope_interop::export::ExportForm;
use shardscope_interop::import::ImportWords;
use shardscope_report::figures::Figure;

use crate::app::action::keys::KeyPlace;
use crate::app::action::notice::Notice;
use crate::app::action::panel::ViewId;
use crate::app::action::{Action, Command};
use crate::app::transfer::exporting::ExportConsent;

/// Something that the explorer is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The rest of the program does this.
    Run(Command),
    /// The status line says this.
    Tell(Notice),
    /// The top layer closes.
    Close,
    /// A layer lies over the panels, instead of the one that may be there.
    Open(Opening),
    /// A field gets a value.
    Set(Field, Value),
    /// A field gets what was typed, if that is one of its values; no text stands for its default.
    Give(Field, String),
    /// A field gets the nearest possible value after its own (`true`) or before it.
    Step(Field, bool),
    /// The scenario gets these edits, if it can be that way; then this is said.
    Edit(Vec<Edit>, String),
    /// Edits over what the screen shows, which may be a cell of the map.
    EditShown(Vec<Edit>, String),
    /// The scenario becomes what this file says, if it can be; then this is said.
    Revise(Box<ScenarioFile>, String),
    /// Another scenario becomes the current one, and this is said.
    Adopt(Box<Scenario>, String),
    /// A preset scenario becomes the current one, if it can be.
    OpenPreset(String),
    /// A field's row gets the keys, as if its value were to be chosen.
    Choose(Field),
    /// Moves the keys to a panel, which performs the action.
    Do(KeyPlace, Action),
    /// A view takes the map's place.
    Show(ViewId),
    /// The map shows this figure.
    Metric(Figure),
    /// A field runs across the map (0) or down (1).
    Axis(usize, Field),
    /// The map is filled anew.
    Fill,
    /// The map's cursor is on another cell.
    Look,
    /// A scenario is pinned, where it is not and there is a place.
    Pin(Box<Scenario>),
    /// A pinned scenario is let go of.
    Unpin(usize),
    /// A pinned scenario moves by so many places.
    ShiftPin(usize, isize),
    /// A pinned scenario is called something else.
    RenamePin(usize, String),
    /// A pipeline rank is looked at.
    Rank(usize),
    /// The timeline shows this moment, and gets the keys.
    Moment(Seconds),
    /// The scenario shown is exported as a snapshot.
    Export,
    /// The measured step time of the scenario shown; an empty text removes it.
    Measure(String),
    /// Calibrates the scenario shown to the measured run.
    Learn(Box<Calibration>),
    /// A snapshot or a set is opened.
    OpenFile(PathBuf),
    /// Files are taken in, as they are named on a line.
    Import(String),
    /// Files are taken in, with an option that they left open.
    ImportWith(ImportWords),
    /// Each of these, one after another.
    Each(Vec<Effect>),
    /// The plan shown is written for another tool into a folder.
    ExportPlan(ExportForm, PathBuf, ExportConsent),
    /// The figure under the cursor is explained.
    Explain,
    /// The view asks for something else than before.
    Follow,
    /// The awaited result under the cursor is there.
    Arrived,
}

/// The word of the command that takes a path.
const IMPORT: &str = "import";

impl Effect {
    /// A command with the text that is typed behind its word: `import PATH`.
    pub fn with_text(&self, text: &str) -> Option<Self> {
        let (word, rest) = text.trim_start().split_once(' ')?;
        let imports = *self == Self::Do(KeyPlace::Panels, Action::Import);
        (imports && word == IMPORT && !rest.trim().is_empty()).then(|| Self::Import(rest.trim().to_owned()))
    }
}

/// A layer that is to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// The values of a field, or a line to type one on; with the text that it has now.
    Field(Field, String),
    /// The views that can stand in the map's place.
    Views,
    /// In what format the screen is written.
    Formats,
    /// The field across the map (0) or down (1).
    Axis(usize),
    /// A line for the name of a pinned scenario; the pin by its place.
    PinName(usize),
    /// A line for the name of a set.
    SetName,
    /// The fields of the cluster or the model.
    Form(Kind),
    /// All commands by their names.
    Commands,
    /// The command lines that give what is shown.
    CommandLines,
    /// A line for what was measured of a run.
    OwnFigure,
    /// A line for the path of another tool's file.
    ImportPath,
    /// The tools that plans are written for.
    ExportForms,
    /// A line for the folder that a plan is written into.
    ExportFolder(ExportForm),
    /// Whether files in the way of a plan are replaced; one of them.
    ExportOver(ExportForm, PathBuf, ExportConsent, String),
    /// Whether the nearest plan that a tool has is written; in words what it lacks, and the nearest.
    ExportNearest(ExportForm, PathBuf, ExportConsent, [String; 2]),
    /// The list of keys.
    Help,
    /// The snapshots and sets on disk.
    Files,
    /// The preset scenarios.
    Gallery,
    /// What may have run that is slow, or out of memory.
    Runs,
}

/// The status line says this, and nothing else happens.
pub fn say(what: impl Into<Notice>) -> Vec<Effect> {
    vec![Effect::Tell(what.into())]
}
