//! Times a program anew on another network: the same tasks, whose transfers between devices are asked for once more where they
//! were asked for when it was built. So what is timed anew is what a new build would be, bit for bit.

use std::sync::Arc;

use crate::cost::{Factors, Parameters, Rates, Transfer};
use crate::scenario::{Layout, Scenario};
use crate::units::Bytes;

use super::Program;
use super::boundary;
use super::network_transfer::{GraphTransfer, NetworkTransfer, ReductionPart, TransferSource};
use super::operator_layouts::OperatorLayouts;
use super::rank_program::Code;
use super::state::ParameterGroup;
use super::task::{TaskClass, seconds};
use super::unit_costs::UnitCosts;

impl UnitCosts<'_> {
    /// A transfer between devices.
    fn transfer(&self, of: NetworkTransfer) -> Option<Transfer> {
        let moved = match of {
            NetworkTransfer::Exchange(id) => return Some(self.exchange(Some(id))?.transfer),
            NetworkTransfer::TiedGradients => return self.tied_gradient_sum(),
            NetworkTransfer::Send { level } => return Some(self.send(level)),
            NetworkTransfer::Gather { elements, parts, pass } => self.gather(elements, parts, pass),
            NetworkTransfer::Reduction { elements, scope, parts, part } => {
                let reduction = self.reduction(elements, scope, parts);
                match part {
                    ReductionPart::Reduce => reduction.reduce,
                    ReductionPart::Replicas => reduction.replicas,
                    ReductionPart::InTurn => reduction.in_turn(),
                }
            }
            NetworkTransfer::WholeMatrices(muon) => self.whole_matrices(muon),
            NetworkTransfer::UpdatedWeights { trained, place } => {
                let group = ParameterGroup { costs: self, parameters: Parameters { trained, ..Parameters::NONE } };
                boundary::weight_gathers(&group, true).nth(place)
            }
        };
        Some(moved?.transfer)
    }
}

impl Program {
    /// Makes it the program of a scenario that differs from the one that it was built for in the network's bandwidths and
    /// latencies alone. `None` where it has to be built: it is not to be run then.
    pub(crate) fn retime(&mut self, scenario: &Scenario, layout: &Layout, factors: &Factors) -> Option<()> {
        // Transfers of a model beside are not told from those of the trained one.
        if scenario.plan.passes_beside() {
            return None;
        }
        let rates = Rates::new(scenario, factors).with_ring(layout.gradient_group());
        let work = self.work.as_mut()?;
        // What others share stays as it is.
        Arc::get_mut(work)?.retime(&rates, layout)?;
        let layouts = OperatorLayouts::new(scenario, layout);
        let costs = layouts.costs_with(&rates, scenario.plan.staged(), work);
        self.code.retime(&costs)
    }

    /// Moves so many bytes of the optimizer's pages to the host of each rank: those that its device has no room for. What goes
    /// is what came longest ago, which the next update needs first, so that where some have no room all of them cross the
    /// link, out and in.
    pub(crate) fn move_pages(&mut self, gone: Bytes, rates: &Rates<'_>) {
        let mut crossing = Bytes::ZERO;
        for state in &mut self.states {
            state.host.pages = gone.min(state.pages);
            crossing = if gone > Bytes::ZERO { state.pages } else { Bytes::ZERO };
        }
        let copy = Transfer { time: rates.host_copy(crossing), received: crossing, ..Transfer::default() };
        for index in &self.code.pages {
            self.code.transfers[*index].transfer = copy;
        }
        self.code.take_transfers();
    }
}

impl Code {
    fn retime(&mut self, costs: &[UnitCosts<'_>]) -> Option<()> {
        for index in 0..self.transfers.len() {
            let (before, rest) = self.transfers.split_at_mut(index);
            let own = rest.first_mut()?;
            if let Some(TransferSource { layout, of }) = own.source {
                let same = before.iter().find(|other| other.source == own.source).map(|other| other.transfer);
                own.transfer = same.or_else(|| costs[layout].transfer(of))?;
            }
        }
        self.take_transfers();
        Some(())
    }

    /// Lets tasks and totals take their transfers anew.
    fn take_transfers(&mut self) {
        for graph in &mut self.graphs {
            graph.volume.clear_transfers();
        }
        // In the order in which they were made, as sums of rounded numbers depend on it.
        for GraphTransfer { transfer, lane, graph, repeat, .. } in &self.transfers {
            self.graphs[*graph].volume.add_transfer(transfer, *lane, *repeat);
        }
        for graph in &mut self.graphs {
            for body in &self.task_loops[graph.task_loops.start as usize..graph.task_loops.end as usize] {
                for task in &mut self.tasks[body.tasks.start as usize..body.tasks.end as usize] {
                    if task.class == TaskClass::Transfer {
                        let GraphTransfer { transfer, contention, .. } = &self.transfers[task.transfer as usize];
                        task.take(transfer, *contention);
                    }
                    graph.volume.serial += seconds(task.duration) * f64::from(body.repeat);
                }
            }
        }
    }
}
