//! The views: what can stand in the map's place. `CONTRIBUTING.md` says how to add one.
//!
//! Not for what a view knows or computes: each has a module of its own.

pub mod advice;
pub mod compare;
pub mod evidence;
pub mod grid;
pub mod hardware;
pub mod intensities;
pub mod limits;
pub mod map;
pub mod plan;
pub mod strategies;
pub mod traffic;
pub mod training;

use super::App;
use super::action::{Action, Command};
use super::panel::{Panel, View};
use super::work::{Found, Work};
use advice::Advice;
use compare::Compare;
use evidence::Evidence;
use grid::Grid;
use hardware::Hardware;
use intensities::Intensities;
use limits::Limits;
use plan::Planning;
use strategies::Strategies;
use traffic::Traffic;
use training::Training;

/// What the views know.
#[derive(Debug, Clone, Default)]
pub struct Views {
    /// Of the comparison.
    pub compare: Compare,
    /// Of the advice.
    pub advice: Advice,
    /// Of the limits.
    pub limits: Limits,
    /// Of the grid.
    pub grid: Grid,
    /// Of the hardware.
    pub hardware: Hardware,
    /// Of the intensities.
    pub intensities: Intensities,
    /// Of the strategies.
    pub strategies: Strategies,
    /// Of the traffic.
    pub traffic: Traffic,
    /// Of the training time.
    pub training: Training,
    /// Of the plan.
    pub planning: Planning,
    /// Of the evidence.
    pub evidence: Evidence,
}

impl App {
    /// Shows a view in the map's place and gives it the keys.
    pub(super) fn open_view(&mut self, view: View) -> Vec<Command> {
        (self.view, self.focus) = (view, Panel::Map);
        if matches!(view, View::Advice | View::Hardware | View::Training | View::Grid) && self.looking {
            // What is taken there changes the scenario in hand.
            return self.go_home();
        }
        self.ask_view().into_iter().collect()
    }

    /// The map is in its place again.
    pub(super) fn close_view(&mut self) -> Vec<Command> {
        self.view = View::Map;
        self.ask_view().into_iter().collect()
    }

    /// What the view has to compute about the scenario shown, or about the last possible one, if it has no picture of
    /// it; before it, the pinned scenarios that wait for their evaluation. Where there is nothing to compute, what was
    /// asked for before stops.
    pub(super) fn ask_view(&mut self) -> Option<Command> {
        self.follow_grid();
        let missing = self.pins.missing();
        let of_view = self.view_work();
        let work = if missing.is_empty() { of_view } else { Some(Work::Pins(missing, of_view.map(Box::new))) };
        let before = std::mem::replace(&mut self.works_for, work.is_some().then_some(self.view));
        if work.is_none() && !before.is_some_and(|view| self.is_waiting_for(view)) {
            return None;
        }
        self.work += 1;
        let generation = self.work;
        Some(work.map_or(Command::Rest, |work| Command::Work { generation, work }))
    }

    fn view_work(&mut self) -> Option<Work> {
        let scenario = self.shown.as_ref().unwrap_or(&self.scenario).clone();
        match self.view {
            View::Map | View::Limits | View::Grid | View::Intensities | View::Traffic | View::Compare => None,
            View::Advice => self.ask_advice(),
            View::Hardware => self.views.hardware.follow(&scenario),
            View::Strategies => self.views.strategies.follow(&self.library, &scenario),
            View::Training => self.views.training.follow(&scenario, &self.library),
            View::Plan => self.views.planning.follow(&scenario),
            View::Evidence => self.views.evidence.ask(&self.library),
        }
    }

    /// Whether the view waits for what it has to compute.
    pub(super) fn view_is_waiting(&self) -> bool {
        self.is_waiting_for(self.view)
    }

    /// Whether a view lacks a part of its picture.
    fn is_waiting_for(&self, view: View) -> bool {
        match view {
            View::Map | View::Limits | View::Grid | View::Intensities | View::Traffic | View::Compare => false,
            View::Advice => self.shown.is_ok() && !self.views.advice.is_complete(),
            View::Hardware => !self.views.hardware.is_complete(),
            View::Strategies => !self.views.strategies.is_complete(),
            View::Training => !self.views.training.is_complete(),
            View::Plan => !self.views.planning.is_complete(),
            View::Evidence => self.views.evidence.picture.is_none(),
        }
    }

    /// Takes in what was found for a view; gives what is to be computed then.
    pub(super) fn hear_view(&mut self, found: Found) -> Vec<Command> {
        match found {
            Found::Hardware(cells) => self.views.hardware.fill(cells),
            Found::Strategies(rows) => self.views.strategies.fill(rows),
            Found::Advice(figures) => return self.hear_advice(figures).into_iter().collect(),
            Found::Pin(id, result) => self.hear_pin(id, result),
            Found::Training(index, answer) => self.hear_training(index, *answer),
            Found::Plan(place, planned) => self.hear_plan(place, *planned),
            Found::Evidence(picture) => self.views.evidence.fill(*picture),
        }
        Vec::new()
    }

    /// Does what the user asked of the view that has the keys.
    pub(super) fn on_view(&mut self, action: Action) -> Vec<Command> {
        match self.view {
            View::Map => return self.on_map(action),
            View::Compare => return self.on_compare(action),
            View::Advice => return self.on_advice(action),
            View::Hardware => return self.on_hardware(action),
            View::Strategies => return self.on_strategies(action),
            View::Traffic => self.on_traffic(action),
            View::Training => return self.on_training(action),
            View::Plan => return self.on_plan(action),
            View::Evidence => return self.on_evidence(action),
            View::Grid => return self.on_grid(action),
            View::Limits => self.views.limits.update(action),
            View::Intensities => self.views.intensities.update(action, self.shown.as_ref().unwrap_or(&self.scenario)),
        }
        Vec::new()
    }
}
