//! Views: what can stand in the map's place, and the panels beside it. `CONTRIBUTING.md` says how to add one.
//!
//! Not for what a view knows or computes: each has a module of its own.

pub mod inputs;
pub mod memory;
pub mod time;
pub mod view;

pub mod advice;
pub mod best;
pub mod compare;
pub mod evidence;
pub mod failures;
pub mod grid;
pub mod hardware;
pub mod intensities;
pub mod limits;
pub mod map;
pub mod measured;
pub mod plan;
pub mod strategies;
pub mod traffic;
pub mod training;

use crate::app::action::panel::ViewId;
use crate::app::views::view::{View, ViewSpec};
use map::Map;

/// Makes of each view but the map, by its module, what the explorer has of all of them.
macro_rules! views {
    ($($module:ident: $view:ident,)*) => {
        /// What is known of each before it is shown, in the order of the list of views.
        pub const SPECS: [&ViewSpec; 1 + [$(stringify!($module)),*].len()] = [&map::SPEC, $(&$module::SPEC),*];

        /// What the views know.
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

            /// A view; the map where it is no other.
            pub fn get(&self, id: ViewId) -> &dyn View {
                $(if id == $module::SPEC.id {
                    return &self.$module;
                })*
                &self.map
            }

            /// The same, to be changed.
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
    training: TrainingView,
    failures: FailuresView,
    plan: PlanView,
    evidence: EvidenceView,
    measured: MeasuredView,
}
