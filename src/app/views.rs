//! Views: what can stand in the map's place, and the panels beside it. `CONTRIBUTING.md` says how to add one.
//!
//! Not for what a view knows or computes: each has a module of its own.

pub mod advice;
pub mod best;
pub mod compare;
pub mod evidence;
pub mod failures;
pub mod grid;
pub mod hardware;
pub mod inputs;
pub mod intensities;
pub mod limits;
pub mod map;
pub mod measured;
pub mod panels;
pub mod plan;
pub mod sequences;
pub mod strategies;
pub mod traffic;
pub mod training;

use std::sync::Arc;

use map::Map;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::keys::{KeyLines, KeyPlace};
use crate::app::action::notice::{Asked, NOTHING, Notice};
use crate::app::action::panel::{Panel, ViewId};
use crate::app::answers::work::{Found, ViewJob};

/// Declares the specifications and the state of all views, from the module and the type of each view but the map.
macro_rules! views {
    ($($module:ident: $view:ident,)*) => {
        /// The specification of each view, in the order of the list of views.
        pub const SPECS: [&ViewSpec; 1 + [$(stringify!($module)),*].len()] = [&map::SPEC, $(&$module::SPEC),*];

        /// The state of the views.
        #[derive(Debug, Clone)]
        pub struct Views {
            /// The map around the scenario, which is there whatever stands in its place.
            pub map: Map,
            $(pub(crate) $module: $module::$view,)*
        }

        impl Views {
            /// The map, and the others before anything was asked of them.
            pub(crate) fn new(map: Map) -> Self {
                Self { map, $($module: $module::$view::default(),)* }
            }

            /// The view of an id; the map where no other has it.
            pub fn get(&self, id: ViewId) -> &dyn View {
                $(if id == $module::SPEC.id {
                    return &self.$module;
                })*
                &self.map
            }

            /// The view, to be changed.
            pub fn get_mut(&mut self, id: ViewId) -> &mut dyn View {
                $(if id == $module::SPEC.id {
                    return &mut self.$module;
                })*
                &mut self.map
            }
        }
    };
}

views! {
    compare: CompareView,
    advice: AdviceView,
    limits: LimitsView,
    grid: GridView,
    hardware: HardwareView,
    intensities: IntensitiesView,
    strategies: StrategiesView,
    traffic: TrafficView,
    best: BestView,
    sequences: SequencesView,
    training: TrainingView,
    failures: FailuresView,
    plan: PlanView,
    evidence: EvidenceView,
    measured: MeasuredView,
}

/// The help of the key that lifts what the stack can run, in the views that search plans.
pub const ANY_PLAN: &str = "plans that the stack can run, or plans that it lacks too";

/// Says whether plans are searched that the stack lacks.
pub fn say_any_plan(any: bool) -> Effect {
    let said = if any { "any plan: x keeps to what the stack runs" } else { "plans that the stack runs: x lifts that" };
    Effect::Tell(said.into())
}

/// A view's specification: its name, its key and the keys in it.
#[derive(Debug)]
pub struct ViewSpec {
    pub id: ViewId,
    /// The key that shows it, as the configuration writes keys.
    pub opens: &'static str,
    /// One word for that key in the footer; empty for what the footer leaves to the help.
    pub hint: &'static str,
    /// Its own keys.
    pub keys: fn(KeyLines) -> KeyLines,
}

impl ViewSpec {
    /// Where its keys work: those of the map in its panel, as long as no other view stands there.
    pub fn place(&self) -> KeyPlace {
        if self.id == ViewId::MAP { KeyPlace::Panel(Panel::Map) } else { KeyPlace::View(self.id) }
    }
}

/// A view, a panel or a layer that can have the keys. The default of each method is for one without that feature.
pub trait View {
    /// Answers a key that moves no cursor of a list.
    fn update(&mut self, _: Action, _: &Context) -> Vec<Effect> {
        Vec::new()
    }

    /// The cursor of its list, where it has one that keys move now: all motions are the cursor's own.
    fn list(&mut self) -> Option<&mut ListCursor> {
        None
    }

    /// How many rows the list has.
    fn count(&self, context: &Context) -> usize {
        self.rows(context).map_or(0, |rows| rows.len())
    }

    /// Answers any key: a motion moves the list's cursor, everything else is the view's to answer.
    fn answer(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let count = self.count(context);
        let moved = self.list().is_some_and(|list| list.go(action, count, context.page));
        if moved { Vec::new() } else { self.update(action, context) }
    }

    /// The figure under the cursor, which `i` explains, or why there is none.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Err(NOTHING)
    }

    /// The command line that asks what it asks, and what that gives.
    fn command_line(&self, _: &Context) -> Option<(&'static str, String)> {
        None
    }

    /// The texts of its rows, for `/`; `None` where it has none.
    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        None
    }

    /// The row that has the cursor.
    fn cursor(&self, _: &Context) -> usize {
        0
    }

    /// Gives a row the cursor.
    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        *self.list()? = ListCursor::at(row);
        None
    }

    /// The place of its chart that has the cursor, where it has a chart.
    fn place(&self, _: &Context) -> Option<usize> {
        None
    }

    /// Gives a place of its chart the cursor.
    fn go_to_place(&mut self, _place: usize, _: &Context) -> Option<Effect> {
        None
    }

    /// Follows the scenario shown; gives what to compute in the background, unless its picture is of that already.
    fn follow(&mut self, _: &Context) -> Option<Arc<dyn ViewJob>> {
        None
    }

    /// Works out its picture anew when the scenario shown, its figures or the pins have changed: drawing only reads it.
    fn renew(&mut self, _: &Context) {}

    /// Whether a part of its picture is still to come.
    fn is_waiting(&self, _: &Context) -> bool {
        false
    }

    /// Takes in what was found.
    fn receive(&mut self, _: Found, _: &Context) -> Vec<Effect> {
        Vec::new()
    }

    /// Whether what it takes changes the current scenario, so that it is about nothing else.
    fn is_of_current(&self) -> bool {
        false
    }
}
