//! Actions: what the user can ask for, what the explorer asks of the rest of the program, and what it hears back.
//!
//! Beside them stand the words that every room below uses: panels, keys as data, effects, cursors, notices, and the
//! context that views may read.

pub mod context;
pub mod cursor;
pub mod effect;
pub mod keys;
pub mod notice;
pub mod panel;

use std::path::PathBuf;
use std::sync::Arc;

use strum::IntoStaticStr;
use tui_input::InputRequest;

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::{CheckedScenario, Problem, Scenario};
use shardscope_engine::search::{Cell, Fixes, Sweep};
use shardscope_library::folders::{Saving, Warning};
use shardscope_report::snapshot::{Listed, Opened};

use crate::app::action::panel::Panel;
use crate::app::action::panel::ViewId;
use crate::app::answers::Answer;
use crate::app::answers::work::{Found, ViewJob};
use crate::app::transfer::exporting::{ExportOutcome, ExportQuestion};
use crate::app::transfer::importing::{Completion, ImportRefusal, ImportedFile};
use crate::app::transfer::{FileTransfer, Transferred};

/// An intent of the user. What a way or a step means is up to the panel or layer that has the keys.
// Without fields but for places: a key in `config.toml` names an action by one word. Users' files have today's words: a
// renamed variant keeps its own by `#[strum(serialize = "...")]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Action {
    /// One to the left: a cell, a span, or the value before.
    Left,
    /// One to the right: a cell, a span, or the value after.
    Right,
    /// One up.
    Up,
    /// One down.
    Down,
    /// To the first item.
    First,
    /// To the last item.
    Last,
    /// A page up; on the timeline a window back.
    PageUp,
    /// A page down; on the timeline a window on.
    PageDown,
    /// The value after, or closer in time.
    More,
    /// The value before, or further out in time.
    Less,
    /// Takes the cell or item.
    Take,
    /// Closes the top layer.
    Close,
    /// The keys go to the next panel.
    NextPanel,
    /// The keys go to previous panel.
    PreviousPanel,
    /// The keys go to this panel.
    Panel(Panel),
    /// This view takes the map's place.
    View(ViewId),
    /// Opens the list of views.
    Views,
    /// The panel that has the keys takes the whole screen, or gives it back.
    Enlarge,
    /// Shows the command lines that give what is shown.
    CommandLines,
    /// The map shows the next metric.
    Metric,
    /// Each cell of the map takes its best batch and recompute, or the scenario's again.
    Tune,
    /// Chooses what runs across the map.
    Across,
    /// Chooses what runs down the map.
    Along,
    /// Draws the memory's contour into the map, or takes it away.
    Contour,
    /// Copies the map or the comparison as CSV.
    Copy,
    /// Writes the map or the comparison as CSV.
    SaveMap,
    /// The map's cursor goes to its best cell.
    Best,
    /// Only what has the next value of a facet is shown.
    Filter(Facet),
    /// The chart shows ratios, or the figures themselves again.
    Ratio,
    /// The scenario's network is slower.
    Slower,
    /// The scenario's network is faster.
    Faster,
    /// The timeline shows the whole step, or its first window again.
    Whole,
    /// The timeline shows one layer.
    Zoom,
    /// A group of rows folds or unfolds; rows and columns of the map without a plan are hidden, or shown again.
    Fold,
    /// The timeline goes from a gather to its use, or back.
    Follow,
    /// The timeline goes to the next stretch of exposed communication.
    NextExposed,
    /// The timeline goes to the stretch of exposed communication before.
    PreviousExposed,
    /// Pins the scenario on the screen, or lets go of it.
    Pin,
    /// Pins the plan under the cursor, or a range of plans.
    PinPlan,
    /// Begins a range at the cursor, or ends it.
    Range,
    /// Other numbers than those of the scenario are searched too.
    Numerics,
    /// Plans that the stack cannot run are searched too.
    AnyPlan,
    /// Only plans that end sooner are searched.
    Deadline,
    /// Only plans that cost less are searched.
    Budget,
    /// Moves the item to the front by one place.
    Earlier,
    /// Moves the item back by one place.
    Later,
    /// Removes the item.
    Remove,
    /// Gives the item another name.
    Rename,
    /// Explains the figure at the cursor.
    Explain,
    /// Makes the scenario possible, or lets it fit, by the change that the screen names.
    Nearest,
    /// Takes the last change back.
    Undo,
    /// Makes the change again that was taken back last.
    Redo,
    /// Opens the list of snapshots and sets.
    Snapshots,
    /// Saves the pinned scenarios as a set.
    SaveSet,
    /// Exports a snapshot of the scenario on the screen.
    Export,
    /// Opens the form of the cluster or of the model.
    Adapt,
    /// Saves the form.
    Save,
    /// Reads the presets again.
    Reload,
    /// Opens the command palette.
    Palette,
    /// Opens a line for the path of another tool's file.
    Import,
    /// Completes the path that is being typed.
    Complete,
    /// Opens the preset scenarios.
    Gallery,
    /// Begins with what is at hand.
    Begin(Beginning),
    /// Opens the list of tools that plans are written for.
    ExportPlan,
    /// Opens the list of keys.
    Help,
    /// Lists the caveats of the figures on the screen.
    Caveats,
    /// Says what was found out about the terminal.
    Diagnostics,
    /// Takes the mouse, or gives it back.
    Mouse,
    /// Opens the list of forms in which the screen can be written.
    Screen,
    /// Searches a list, or the rows of what has the keys.
    Search,
    /// Changes the text that is being typed.
    Type(InputRequest),
    /// Stops the program until the shell continues it.
    Suspend,
    /// Ends the explorer.
    Quit,
}

impl Action {
    /// Its word in `config.toml`: `next-panel`, `view-limits`.
    pub fn word(self) -> String {
        let word: &str = self.into();
        let place = match self {
            Self::Panel(panel) => panel.into(),
            Self::View(view) => view.word,
            Self::Filter(facet) => facet.into_str(),
            Self::Begin(with) => with.into_str(),
            _ => return word.to_owned(),
        };
        format!("{word}-{place}")
    }
}

/// Properties to filter runs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Facet {
    /// The cluster it ran on.
    Hardware,
    /// The class of the strategy.
    Strategy,
    /// How many devices.
    Devices,
}

impl Facet {
    /// Every facet.
    pub const ALL: [Self; 3] = [Self::Hardware, Self::Strategy, Self::Devices];
}

/// What may be at hand when the explorer is started for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum Beginning {
    /// A model's configuration.
    Model,
    /// A cluster.
    Cluster,
    /// A log or a launcher's file.
    Run,
    /// A job that is slow, or out of memory.
    Trouble,
    /// Papers, or samples.
    Papers,
    /// Software.
    Stack,
}

/// In what form the screen is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Plain text.
    Text,
    /// Text with ANSI colours.
    Ansi,
    /// A picture.
    Svg,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Text, Self::Ansi, Self::Svg];

    /// Its name in the list of formats.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Ansi => "ANSI",
            Self::Svg => "SVG",
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Self::Text => "plain text, for a message or a note",
            Self::Ansi => "text with colours, for cat and less -R",
            Self::Svg => "a picture, for a document or a browser",
        }
    }

    /// How its files end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Ansi => "ans",
            Self::Svg => "svg",
        }
    }
}

/// Requests of the explorer to the rest of the program.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Evaluate a scenario in full.
    Evaluate {
        /// Comes back with the answer.
        generation: u64,
        /// The scenario to run.
        scenario: Box<CheckedScenario>,
    },
    /// Run a scenario that is not shown, for one explanation of it.
    Explain {
        /// Comes back with the figures.
        generation: u64,
        /// The scenario to run.
        scenario: Box<Scenario>,
    },
    /// Fill a map.
    Sweep {
        /// Comes back with the cells.
        generation: u64,
        /// The cells to evaluate.
        sweep: Arc<Sweep>,
        /// The cell to begin with.
        from: usize,
    },
    /// Compute something for a view.
    Work {
        /// Comes back with what is found.
        generation: u64,
        job: Arc<dyn ViewJob>,
    },
    /// Stop what is computed for a view: nobody waits for it any more.
    Rest,
    /// Write a snapshot of an answer.
    Export(Box<Answer>),
    /// Write the pinned scenarios as a set of this name.
    SaveSet(String),
    /// Hand a text to the terminal's clipboard, and say what it is.
    Copy {
        /// The text for the clipboard.
        text: String,
        /// The notice that follows.
        said: String,
    },
    /// Find out about the terminal, for [`crate::app::App::diagnose`].
    Diagnose,
    /// Take the mouse, or give it back.
    Mouse(bool),
    /// Write the screen to a file.
    SaveScreen(Format),
    /// Write a table of that name, as CSV, to a file.
    SaveTable(&'static str, String),
    /// Look for snapshots and sets.
    List,
    /// Complete the path at the end of a line.
    Complete(String),
    /// Open, take in or write files that a person waits for.
    Transfer {
        /// Comes back with what is told of it.
        number: u64,
        transfer: FileTransfer,
    },
    /// Stop that: nobody waits for it any more.
    StopTransfer,
    /// Delete a snapshot or a set.
    Delete(PathBuf),
    /// Write a cluster or a model to the user's folder.
    SavePreset(Saving),
    /// Read the presets again.
    Reload,
    /// Stop until the shell continues the program.
    Suspend,
    /// End the explorer.
    Quit,
}

impl Command {
    /// Hands CSV to the terminal's clipboard.
    pub fn copied(text: String) -> Self {
        let count = text.lines().count();
        let said = format!("{count} lines of CSV sent to the terminal's clipboard; Y writes a file");
        Self::Copy { text, said }
    }
}

/// Reports of the jobs. An answer to an older question than the last is dropped.
#[derive(Debug)]
pub enum JobReport {
    /// The answer about a scenario.
    Evaluated {
        /// The number that was asked under.
        generation: u64,
        /// The answer, or why there is none.
        result: Result<Arc<Evaluation>, Vec<Problem>>,
    },
    /// Changes that would make a scenario fit that does not.
    Fixed {
        /// The number that was asked under.
        generation: u64,
        /// The smallest change.
        fix: Fixes,
    },
    /// The figures for an explanation.
    Explained {
        /// The number that the explanation was asked under.
        generation: u64,
        /// The figures, or why there are none.
        result: Result<Box<Evaluation>, Vec<Problem>>,
    },
    /// Some cells of a map.
    Cells {
        /// The number that the map is filled under.
        generation: u64,
        /// Index and content.
        cells: Vec<(usize, Cell)>,
    },
    /// A result that a view asked for, or a part of it.
    Found {
        /// The number that was asked under.
        generation: u64,
        found: Found,
    },
    /// The snapshots and sets that there are.
    Listed(Vec<Listed>),
    /// A line, and how it goes on.
    Completed(String, Completion),
    /// A snapshot or a set, and the path that it was opened under.
    Opened(Box<Opened>, String),
    /// A cluster or a model was saved.
    Saved {
        /// The presets with it.
        library: Box<Library>,
        kind: Kind,
        /// Its id, by which the library knows it from now on.
        id: String,
        /// Where it was written.
        path: String,
    },
    /// The presets were read again, and what was wrong with them.
    Reloaded(Box<Library>, Vec<Warning>),
    /// The result of an import, by the first file's path, or why it failed.
    Imported(Result<Box<ImportedFile>, Box<ImportRefusal>>, String),
    /// The outcome of an export.
    PlanExported(Box<ExportQuestion>, ExportOutcome),
    /// The outcome of a task on files.
    Said(String),
    /// How far files are that a person waits for.
    Transferring {
        /// The number that was asked under.
        number: u64,
        /// How far.
        so_far: Transferred,
    },
    /// The end of that, with what came of it.
    Transferred {
        /// The number that was asked under.
        number: u64,
        report: Box<JobReport>,
    },
    /// A job failed; the next one starts afresh.
    Failed {
        /// The number that was asked under.
        generation: u64,
        /// The job's name (`the map`).
        job: &'static str,
        /// The message of the panic.
        message: String,
    },
}
