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
use super::view::View;
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

impl Views {
    /// A view; `None` for the map, which the views stand in the place of.
    pub fn get(&self, id: ViewId) -> Option<&dyn View> {
        Some(match id {
            ViewId::Map | ViewId::Advice => return None,
            ViewId::Compare => &self.compare,
            ViewId::Limits => &self.limits,
            ViewId::Grid => &self.grid,
            ViewId::Hardware => &self.hardware,
            ViewId::Intensities => &self.intensities,
            ViewId::Strategies => &self.strategies,
            ViewId::Traffic => &self.traffic,
            ViewId::Training => &self.training,
            ViewId::Plan => &self.planning,
            ViewId::Evidence => &self.evidence,
        })
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, id: ViewId) -> Option<&mut dyn View> {
        Some(match id {
            ViewId::Map | ViewId::Advice => return None,
            ViewId::Compare => &mut self.compare,
            ViewId::Limits => &mut self.limits,
            ViewId::Grid => &mut self.grid,
            ViewId::Hardware => &mut self.hardware,
            ViewId::Intensities => &mut self.intensities,
            ViewId::Strategies => &mut self.strategies,
            ViewId::Traffic => &mut self.traffic,
            ViewId::Training => &mut self.training,
            ViewId::Plan => &mut self.planning,
            ViewId::Evidence => &mut self.evidence,
        })
    }
}
