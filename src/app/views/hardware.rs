//! The view of the hardware: throughput where the device had more or less memory, and the network more or less
//! bandwidth; each cell with its own best micro-batch, accumulation and recompute.

use std::sync::Arc;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::effect::{Effect, say};
use crate::app::action::notice::Notice;
use crate::app::action::notice::{Asked, LATER};
use crate::app::answers::axes;
use crate::app::answers::work::{Batch, Found, JobContext, ViewJob};
use crate::app::views::{View, ViewSpec};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::{Field, Value};
use shardscope_engine::search::limiting_factor::{Gains, LimitingFactor, gains, limiting};
use shardscope_engine::search::{Axis, Cell, Sweep};

use super::map::{Map, NOTHING_TO_TAKE};
use crate::app::action::panel::ViewId;

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId { word: "hardware", name: "Hardware", about: "throughput over memory and bandwidth" },
    opens: "H",
    hint: "",
    keys: |keys| {
        keys.around("move")
            .key("enter", Action::Take, "apply", "apply the cell's hardware and batch to the scenario")
            .key("m", Action::Metric, "metric", "next metric")
            .ends("least and most bandwidth")
            .pages("most and least memory")
    },
};

/// The map over both axes, once it has been asked for, and what is read off it.
#[derive(Debug, Clone, Default)]
pub struct HardwareView {
    /// Bandwidth across, memory down, most memory first.
    pub map: Option<Map>,
    limiting: Vec<Option<LimitingFactor>>,
    gains: Option<Gains>,
}

impl HardwareView {
    /// The bottleneck of a cell, once it and its neighbours are known.
    pub fn limiting(&self, index: usize) -> Option<LimitingFactor> {
        *self.limiting.get(index)?
    }

    /// The gain of twice as much where the scenario is, once that is known.
    pub const fn gains(&self) -> Option<Gains> {
        self.gains
    }

    /// Reads off the map what limits its cells.
    fn judge(&mut self) {
        let Some(map) = &self.map else { return };
        self.limiting = (0..map.cells().len()).map(|index| limiting(&map.sweep, map.cells(), index)).collect();
        self.gains = map.home.and_then(|home| gains(&map.sweep, map.cells(), home));
    }
}

/// Both axes around a scenario.
fn sweep(scenario: &Scenario) -> Sweep {
    let x = factors(Field::Bandwidth, scenario.plan.bandwidth_factor, scenario);
    let mut y = factors(Field::Memory, scenario.plan.memory_factor, scenario);
    y.values.reverse();
    let mut base = scenario.clone();
    (base.plan.bandwidth_factor, base.plan.memory_factor) = (1.0, 1.0);
    Sweep { base, x, y, tune: true }
}

/// Factors with the scenario's own among them, and twice that where it would stand alone: there would be no doubling
/// to judge it by.
fn factors(kind: Field, own: f64, scenario: &Scenario) -> Axis {
    let mut axis = axes::plan_axis(kind, scenario);
    let twice = Value::Number(2.0 * own);
    if !axis.values.contains(&twice) && !axis.values.contains(&Value::Number(own / 2.0)) {
        let above = |value: &Value| matches!(value, Value::Number(factor) if *factor > 2.0 * own);
        let place = axis.values.iter().position(above).unwrap_or(axis.values.len());
        axis.values.insert(place, twice);
    }
    axis
}

/// Throughput over memory and bandwidth, beginning with a cell.
#[derive(Debug)]
pub struct HardwareFill {
    pub sweep: Arc<Sweep>,
    pub from: usize,
}

impl ViewJob for HardwareFill {
    fn work(&self, job: &JobContext) {
        let tell = |cells: Vec<(usize, Cell)>| job.tell(cells);
        let batch = Batch::new(job.pause, &tell);
        self.sweep.run(&job.evaluator(), self.from, &|index, cell| batch.add(index, cell));
        batch.send();
    }
}

impl View for HardwareView {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let Some(map) = &mut self.map else { return Vec::new() };
        match action {
            Action::Take if context.fields_agree && map.is_home(context.scenario) => {
                return say(NOTHING_TO_TAKE);
            }
            Action::Take => {
                let said = "applied the hardware of the cell: u undoes it".to_owned();
                return vec![Effect::Edit(map.edits(map.cursor), said)];
            }
            Action::Metric => map.next_metric(),
            _ => {
                map.go(action);
            }
        }
        Vec::new()
    }

    /// The figure of the cell.
    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        let map = self.map.as_ref().ok_or(LATER)?;
        if !map.is_fresh(map.cursor) {
            return Err(LATER);
        }
        let scenario = map.scenario(map.cursor).map_err(|_| "this cell is not possible: it has no figures")?;
        let whose = scenario.altered().unwrap_or_else(|| "the machine as it is".to_owned());
        Ok(Asked::Other(whose, map.metric(), Box::new(scenario)))
    }

    fn place(&self, _: &Context) -> Option<usize> {
        self.map.as_ref().map(|map| map.cursor)
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        if let Some(map) = self.map.as_mut().filter(|map| place < map.progress().1) {
            map.cursor = place;
        }
        None
    }

    fn follow(&mut self, context: &Context) -> Option<Arc<dyn ViewJob>> {
        let sweep = sweep(context.shown);
        let (x, y) = (axes::position(&sweep.x, context.shown), axes::position(&sweep.y, context.shown));
        let home = x.zip(y).map(|(x, y)| y * sweep.x.values.len() + x);
        let map = match &mut self.map {
            Some(map) => {
                map.replace(sweep, home);
                map
            }
            none => none.insert(Map::new(sweep, home)),
        };
        let fill = HardwareFill { sweep: Arc::clone(&map.sweep), from: map.home.unwrap_or(0) };
        let job = (!map.is_complete()).then(|| Arc::new(fill) as _);
        self.judge();
        job
    }

    fn is_waiting(&self, _: &Context) -> bool {
        self.map.as_ref().is_some_and(|map| !map.is_complete())
    }

    fn receive(&mut self, found: Found, _: &Context) -> Vec<Effect> {
        if let (Ok(cells), Some(map)) = (found.take(), &mut self.map) {
            map.fill(cells);
        }
        self.judge();
        Vec::new()
    }

    fn is_of_current(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
