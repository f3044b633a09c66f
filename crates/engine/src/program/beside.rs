//! Models beside the one that is trained, as a step passes them: units that go forward alone, by costs of their own.

use std::sync::Arc;

use crate::cost::{Factors, Rates};
use crate::plan::pass::Pass;
use crate::scenario::{Layout, ModelBeside};

use super::operator_layouts::{OperatorLayouts, StageParameters};
use super::state::{ModelState, ParameterGroup};
use super::unit_costs::UnitCosts;
use super::unit_order::UnitList;
use super::unit_work::UnitWork;

/// A model beside the one that is trained, with what its passes cost.
pub(super) struct PassedModel<'a> {
    model: &'a ModelBeside,
    pub rates: Rates<'a>,
    pub layout: Layout,
    pub layouts: OperatorLayouts<'a>,
    pub work: Arc<UnitWork>,
}

impl<'a> PassedModel<'a> {
    /// A model beside that of a checked scenario, on hardware with what-if factors.
    pub fn new(model: &'a ModelBeside, factors: &Factors) -> Self {
        let layout = model.layout();
        let rates = Rates::new(&model.scenario, factors).with_ring(layout.gradient_group());
        let layouts = OperatorLayouts::plain(&model.scenario, &layout);
        let work = Arc::new(UnitWork::new(&rates, &layout));
        Self { model, rates, layout, layouts, work }
    }

    /// How often each micro-batch passes it.
    pub fn forwards(&self) -> u32 {
        self.model.forwards
    }

    /// Costs of its units, layout by layout.
    pub fn costs(&self) -> Vec<UnitCosts<'_>> {
        self.layouts.costs_with(&self.rates, false, &self.work)
    }

    /// Appends its passes for a micro-batch, as those of the model at a place.
    pub fn list(&self, costs: &[UnitCosts<'_>], place: usize, list: &mut UnitList) {
        let (whole, first) = (self.layouts.whole_model(0), list.runs.len());
        for _ in 0..self.model.forwards {
            self.layouts.list(costs, &whole, Pass::Forward, list);
        }
        for run in &mut list.runs[first..] {
            run.beside = place;
        }
    }

    /// A rank's state with the weights that it has of this model, where all layers pass it.
    pub fn joins(&self, state: ModelState, costs: &[UnitCosts<'_>]) -> ModelState {
        let held = self.layouts.holdings(&self.work, &self.layouts.whole_model(0));
        let group = |held: &StageParameters| ParameterGroup::new(&costs[held.layout], held.parameters);
        let groups: Vec<ParameterGroup<'_>> = held.iter().map(group).collect();
        self.with_weights(state, &ModelState::of_groups(&groups))
    }

    /// A rank's state with weights of this model, if these are its own.
    pub fn with_weights(&self, state: ModelState, own: &ModelState) -> ModelState {
        if self.model.has_weights && !self.model.waits { state.beside(own) } else { state }
    }
}
