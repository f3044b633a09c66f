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

use super::panel::ViewId;
use super::view::{View, ViewSpec};
use advice::AdviceView;
use compare::CompareView;
use evidence::EvidenceView;
use grid::GridView;
use hardware::HardwareView;
use intensities::IntensitiesView;
use limits::LimitsView;
use plan::PlanView;
use strategies::StrategiesView;
use traffic::TrafficView;
use training::TrainingView;

/// What is known of each before it is shown, in the order of the list of views.
pub const SPECS: [&ViewSpec; 12] = [
    &map::SPEC,
    &compare::SPEC,
    &advice::SPEC,
    &limits::SPEC,
    &grid::SPEC,
    &hardware::SPEC,
    &intensities::SPEC,
    &strategies::SPEC,
    &traffic::SPEC,
    &training::SPEC,
    &plan::SPEC,
    &evidence::SPEC,
];

/// All but the map, which is a panel and no [`View`].
const SHOWN: usize = SPECS.len() - 1;

/// What the views know.
#[derive(Debug, Clone, Default)]
pub struct Views {
    pub(crate) compare: CompareView,
    pub(crate) advice: AdviceView,
    pub(crate) limits: LimitsView,
    pub(crate) grid: GridView,
    pub(crate) hardware: HardwareView,
    pub(crate) intensities: IntensitiesView,
    pub(crate) strategies: StrategiesView,
    pub(crate) traffic: TrafficView,
    pub(crate) training: TrainingView,
    pub(crate) plan: PlanView,
    pub(crate) evidence: EvidenceView,
}

impl Views {
    /// A view; `None` for the map, which the views stand in the place of.
    pub fn get(&self, id: ViewId) -> Option<&dyn View> {
        let all: [(&ViewSpec, &dyn View); SHOWN] = [
            (&compare::SPEC, &self.compare),
            (&advice::SPEC, &self.advice),
            (&limits::SPEC, &self.limits),
            (&grid::SPEC, &self.grid),
            (&hardware::SPEC, &self.hardware),
            (&intensities::SPEC, &self.intensities),
            (&strategies::SPEC, &self.strategies),
            (&traffic::SPEC, &self.traffic),
            (&training::SPEC, &self.training),
            (&plan::SPEC, &self.plan),
            (&evidence::SPEC, &self.evidence),
        ];
        all.into_iter().find(|(spec, _)| spec.id == id).map(|(_, view)| view)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: ViewId) -> Option<&mut dyn View> {
        let all: [(&ViewSpec, &mut dyn View); SHOWN] = [
            (&compare::SPEC, &mut self.compare),
            (&advice::SPEC, &mut self.advice),
            (&limits::SPEC, &mut self.limits),
            (&grid::SPEC, &mut self.grid),
            (&hardware::SPEC, &mut self.hardware),
            (&intensities::SPEC, &mut self.intensities),
            (&strategies::SPEC, &mut self.strategies),
            (&traffic::SPEC, &mut self.traffic),
            (&training::SPEC, &mut self.training),
            (&plan::SPEC, &mut self.plan),
            (&evidence::SPEC, &mut self.evidence),
        ];
        all.into_iter().find(|(spec, _)| spec.id == id).map(|(_, view)| view)
    }
}
