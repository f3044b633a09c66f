//! How the explorer deals with what has the keys: it answers keys, and the view in the map's place opens, asks for what
//! it lacks, and hears it.

use std::mem;
use std::sync::Arc;

use crate::app::action::context::Context;
use crate::app::action::effect::Effect;
use crate::app::action::panel::{Panel, ViewId};
use crate::app::action::{Action, Command};
use crate::app::answers::work::{Found, PinsFirst};
use crate::app::state::App;
use crate::app::timeline::ShownStep;
use crate::app::views::View;

/// The context of views and layers. It borrows only what it names, so that a view can be changed beside it.
macro_rules! context {
    ($app:expr) => {
        Context {
            library: &$app.library,
            file: &$app.file,
            scenario: &$app.scenario,
            shown: $app.shown.as_deref().unwrap_or(&$app.scenario),
            is_possible: $app.shown.is_ok(),
            fields_agree: $app.inputs.are_possible(),
            answer: $app.answer.as_ref(),
            stale: $app.stale,
            pins: &$app.pins,
            metric: $app.views.map.metric(),
            measured: $app.inputs.measured.clone(),
            assumed: $app.views.limits.assumed,
            rank: $app.rank(),
            page: $app.page,
        }
    };
}

impl App {
    /// The context of views and layers.
    pub fn context(&self) -> Context<'_> {
        context!(self)
    }

    /// The pipeline rank that the timeline is at.
    fn rank(&self) -> usize {
        let rank = self.answer.as_ref().map(|answer| self.timeline.rank(ShownStep::new(&answer.evaluation)));
        rank.unwrap_or(0) as usize
    }

    /// The owner of the keys: the top layer, else a panel, which in the map's place is a view.
    pub(crate) fn keyed(&self) -> &dyn View {
        match (&self.layer, self.focus) {
            (Some(layer), _) => layer.view(),
            (None, Panel::Inputs) => &self.inputs,
            (None, Panel::Map) => self.views.get(self.view),
            (None, Panel::Memory) => &self.memory,
            (None, Panel::Timeline) => &self.timeline,
            (None, Panel::Time) => &self.time,
        }
    }

    /// Has it do something.
    pub(crate) fn with_keys<T>(&mut self, does: impl FnOnce(&mut dyn View, &Context) -> T) -> T {
        let context = context!(self);
        let keyed: &mut dyn View = match (&mut self.layer, self.focus) {
            (Some(layer), _) => layer.view_mut(),
            (None, Panel::Inputs) => &mut self.inputs,
            (None, Panel::Map) => self.views.get_mut(self.view),
            (None, Panel::Memory) => &mut self.memory,
            (None, Panel::Timeline) => &mut self.timeline,
            (None, Panel::Time) => &mut self.time,
        };
        does(keyed, &context)
    }

    /// Has the view in the map's place do something, whatever has the keys.
    pub(crate) fn with_view<T>(&mut self, does: impl FnOnce(&mut dyn View, &Context) -> T) -> T {
        let context = context!(self);
        does(self.views.get_mut(self.view), &context)
    }

    /// Does what the user asked of what has the keys.
    pub(crate) fn on_keyed(&mut self, action: Action) -> Vec<Command> {
        let effects = self.with_keys(|view, context| view.answer(action, context));
        self.perform(effects)
    }

    /// Does what the user asked of the view in the map's place.
    pub(crate) fn on_view(&mut self, action: Action) -> Vec<Command> {
        let effects = self.with_view(|view, context| view.answer(action, context));
        self.perform(effects)
    }

    /// Gives a row of what has the keys the cursor.
    pub(crate) fn go_to_row(&mut self, row: usize) {
        let effect: Option<Effect> = self.with_keys(|view, context| view.go_to(row, context));
        self.perform(effect.into_iter().collect());
    }

    /// Shows a view in the map's place and gives it the keys.
    pub(crate) fn open_view(&mut self, id: ViewId) -> Vec<Command> {
        (self.view, self.focus) = (id, Panel::Map);
        if self.looking && self.views.get(id).is_of_current() {
            return self.go_home();
        }
        self.ask_view().into_iter().collect()
    }

    /// The map is in its place again.
    pub(crate) fn close_view(&mut self) -> Vec<Command> {
        self.view = ViewId::MAP;
        self.ask_view().into_iter().collect()
    }

    /// The work that the view needs for the scenario shown, or for the last possible one, if it has no picture of it;
    /// before it, the pinned scenarios that wait for their evaluation. Where there is nothing to compute, what was
    /// asked for before stops.
    pub(crate) fn ask_view(&mut self) -> Option<Command> {
        let missing = self.pins.missing();
        let of_view = self.with_view(|view, context| {
            let job = view.follow(context);
            view.renew(context);
            job
        });
        // One job at a time: the pins go first, and what the view asked for goes along with them.
        let job = if missing.is_empty() { of_view } else { Some(Arc::new(PinsFirst(missing, of_view)) as _) };
        let before = mem::replace(&mut self.works_for, job.is_some().then_some(self.view));
        // Nothing to compute, and nothing under way that could be stopped: no number is spent.
        if job.is_none() && !before.is_some_and(|id| self.is_waiting_for(id)) {
            return None;
        }
        // From here on all that runs for a view is of an older question, also where the new answer is to rest.
        self.work += 1;
        let generation = self.work;
        Some(job.map_or(Command::Rest, |job| Command::Work { generation, job }))
    }

    /// Whether the view waits for what it has to compute.
    pub(crate) fn view_is_waiting(&self) -> bool {
        self.is_waiting_for(self.view)
    }

    /// Whether a view lacks a part of its picture.
    fn is_waiting_for(&self, id: ViewId) -> bool {
        self.views.get(id).is_waiting(&self.context())
    }

    /// Takes in what was found for the view that asked for it; gives what is to be computed then.
    pub(crate) fn take_found(&mut self, found: Found) -> Vec<Command> {
        let effects = self.with_view(|view, context| view.receive(found, context));
        self.perform(effects)
    }
}
