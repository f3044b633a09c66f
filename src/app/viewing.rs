//! How the explorer deals with the view in the map's place: it opens, answers keys, asks for what it lacks, and hears it.

use std::mem;

use super::action::{Action, Command};
use super::context::Context;
use super::layer::Layer;
use super::list::{List, Subject};
use super::panel::{Panel, ViewId};
use super::state::App;
use super::view::View;
use super::views::SPECS;
use super::work::{Found, Work};

impl App {
    /// What views and layers may read.
    pub fn context(&self) -> Context<'_> {
        Context {
            library: &self.library,
            file: &self.file,
            scenario: &self.scenario,
            shown: self.shown.as_ref().unwrap_or(&self.scenario),
            is_possible: self.shown.is_ok(),
            fields_agree: self.inputs.are_possible(),
            answer: self.answer.as_ref(),
            stale: self.stale,
            pins: &self.pins,
            metric: self.map.metric,
            cell: if self.looking { self.map.edits(self.map.cursor) } else { Vec::new() },
            assumed: self.views.limits.assumed,
            page: self.page,
        }
    }

    /// Has the view in the map's place do something; `None` where that is the map itself.
    pub(super) fn with_view<T>(&mut self, does: impl FnOnce(&mut dyn View, &Context) -> T) -> Option<T> {
        let assumed = self.views.limits.assumed;
        // The views are taken out meanwhile, so that the context can borrow all the rest.
        let mut views = mem::take(&mut self.views);
        let context = Context { assumed, ..self.context() };
        let done = views.get_mut(self.view).map(|view| does(view, &context));
        self.views = views;
        done
    }

    /// Does what the user asked of the view that has the keys.
    pub(super) fn on_view(&mut self, action: Action) -> Vec<Command> {
        match self.with_view(|view, context| view.update(action, context)) {
            Some(effects) => self.perform(effects),
            None => self.on_map(action),
        }
    }

    /// Shows a view in the map's place and gives it the keys.
    pub(super) fn open_view(&mut self, id: ViewId) -> Vec<Command> {
        (self.view, self.focus) = (id, Panel::Map);
        if self.looking && self.views.get(id).is_some_and(View::is_of_current) {
            return self.go_home();
        }
        self.ask_view().into_iter().collect()
    }

    /// Opens the list of views, with the cursor on the one that is shown.
    pub(super) fn open_list_of_views(&mut self) {
        let names = SPECS.iter().map(|spec| spec.id.name.to_owned()).collect();
        self.layer = Some(Layer::List(List::new(Subject::Views, names, self.view.name)));
    }

    /// The map is in its place again.
    pub(super) fn close_view(&mut self) -> Vec<Command> {
        self.view = ViewId::MAP;
        self.ask_view().into_iter().collect()
    }

    /// What the view has to compute about the scenario shown, or about the last possible one, if it has no picture of
    /// it; before it, the pinned scenarios that wait for their evaluation. Where there is nothing to compute, what was
    /// asked for before stops.
    pub(super) fn ask_view(&mut self) -> Option<Command> {
        let missing = self.pins.missing();
        let of_view = self.with_view(|view, context| view.follow(context)).flatten();
        let work = if missing.is_empty() { of_view } else { Some(Work::Pins(missing, of_view.map(Box::new))) };
        let before = mem::replace(&mut self.works_for, work.is_some().then_some(self.view));
        if work.is_none() && !before.is_some_and(|id| self.is_waiting_for(id)) {
            return None;
        }
        self.work += 1;
        let generation = self.work;
        Some(work.map_or(Command::Rest, |work| Command::Work { generation, work }))
    }

    /// Whether the view waits for what it has to compute.
    pub(super) fn view_is_waiting(&self) -> bool {
        self.is_waiting_for(self.view)
    }

    /// Whether a view lacks a part of its picture.
    fn is_waiting_for(&self, id: ViewId) -> bool {
        self.views.get(id).is_some_and(|view| view.is_waiting(&self.context()))
    }

    /// Takes in what was found for the view that asked for it; gives what is to be computed then.
    pub(super) fn hear_view(&mut self, found: Found) -> Vec<Command> {
        let effects = self.with_view(|view, context| view.hear(found, context));
        self.perform(effects.unwrap_or_default())
    }
}
