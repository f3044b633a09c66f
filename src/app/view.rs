//! The views: what can stand in the map's place. `CONTRIBUTING.md` says how to add one.
//!
//! Not for what a view knows or computes: each has a module of its own.

use super::action::{Action, Command};
use super::hardware::Hardware;
use super::intensities::Intensities;
use super::limits::Limits;
use super::training::Training;
use super::work::Found;
use super::{App, Panel};

/// What stands in the map's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum View {
    /// A figure over nodes and shard extents.
    #[default]
    Map,
    /// What no schedule beats.
    Limits,
    /// Throughput over memory and bandwidth.
    Hardware,
    /// Which transfers hide behind arithmetic.
    Intensities,
    /// Days against devices for each method.
    Training,
}

impl View {
    /// All of them, in the order of the list of views.
    pub const ALL: [Self; 5] = [Self::Map, Self::Limits, Self::Hardware, Self::Intensities, Self::Training];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Map => "Map",
            Self::Limits => "Limits",
            Self::Hardware => "Hardware",
            Self::Intensities => "Intensities",
            Self::Training => "Training time",
        }
    }

    /// What it shows, for the list of views.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Map => "a figure over nodes and shard extents",
            Self::Limits => "what memory, network and peak allow at best",
            Self::Hardware => "throughput over memory and bandwidth",
            Self::Intensities => "which transfers hide behind arithmetic",
            Self::Training => "the shortest training: days against devices",
        }
    }
}

/// What the views know.
#[derive(Debug, Clone, Default)]
pub struct Views {
    /// Of the limits.
    pub limits: Limits,
    /// Of the hardware.
    pub hardware: Hardware,
    /// Of the intensities.
    pub intensities: Intensities,
    /// Of the training time.
    pub training: Training,
}

impl App {
    /// Shows a view in the map's place and gives it the keys.
    pub(super) fn open_view(&mut self, view: View) -> Vec<Command> {
        (self.view, self.focus) = (view, Panel::Map);
        self.ask_view().into_iter().collect()
    }

    /// What the view has to compute about the scenario shown, if it has no picture of it.
    pub(super) fn ask_view(&mut self) -> Option<Command> {
        let scenario = self.shown.as_ref().ok()?;
        let work = match self.view {
            View::Map | View::Limits | View::Intensities => None,
            View::Hardware => self.views.hardware.follow(scenario),
            View::Training => self.views.training.follow(scenario, &self.library),
        }?;
        self.work += 1;
        Some(Command::Work { generation: self.work, work })
    }

    /// Whether the view waits for what it has to compute.
    pub(super) fn view_is_waiting(&self) -> bool {
        match self.view {
            View::Map | View::Limits | View::Intensities => false,
            View::Hardware => !self.views.hardware.is_complete(),
            View::Training => !self.views.training.is_complete(),
        }
    }

    /// Takes in what was found for a view.
    pub(super) fn hear_view(&mut self, found: Found) {
        match found {
            Found::Hardware(cells) => self.views.hardware.fill(cells),
            Found::Training(index, answer) => self.views.training.fill(index, *answer),
        }
    }

    /// Does what the user asked of the view that has the keys.
    pub(super) fn on_view(&mut self, action: Action) -> Vec<Command> {
        match self.view {
            View::Map => return self.on_map(action),
            View::Training => return self.on_training(action),
            View::Limits => self.views.limits.update(action),
            View::Hardware => self.views.hardware.update(action),
            View::Intensities => self.views.intensities.update(action, self.shown.as_ref().unwrap_or(&self.scenario)),
        }
        Vec::new()
    }
}
