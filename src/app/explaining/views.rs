//! The figure at the cursor of each view. What is explained of a plan that is not shown is run once for that.

use std::sync::Arc;

use crate::bounds::intensity;
use crate::evaluate::Workspace;
use crate::figures::{Figure, RunFigure};
use crate::measured::Metric;
use crate::scenario::Scenario;
use crate::search;
use crate::search::planner::Objective;

use super::{Explaining, LATER, NOTHING, Subject};
use crate::app::App;
use crate::app::answers::Answer;
use crate::app::panel::View;
use crate::app::views::advice::Row;
use crate::app::views::strategies::Order;

/// An explanation, or why there is none.
type Found = Result<Explaining, &'static str>;

impl App {
    /// The explanation of the figure that the view's cursor is on.
    pub(super) fn explain_view(&self) -> Found {
        match self.view {
            View::Map => self.of_answer(self.map.metric),
            View::Compare => self.explain_compared(),
            View::Advice => self.explain_advice(),
            View::Limits => self.explain_limit(),
            View::Grid => Err("the limits behind these points are explained in their view, L"),
            View::Hardware => self.explain_hardware(),
            // What counts there is the scenario; the answer may be that of another one.
            View::Intensities if self.stale => Err(LATER),
            View::Intensities => {
                let count = intensity::of(self.shown.as_ref().unwrap_or(&self.scenario)).len();
                if count == 0 {
                    return Err("nothing is transferred: there is no figure to explain");
                }
                self.of_answer(Figure::Slowdown(self.views.intensities.cursor(count)))
            }
            View::Strategies => self.explain_strategy(),
            View::Traffic => {
                let figures = self.carried();
                let chosen = figures.get(self.views.traffic.cursor(figures.len()));
                self.of_answer(*chosen.ok_or(NOTHING)?)
            }
            View::Training => {
                let run = self.views.training.run().map(Box::new).map(Subject::Run);
                let found = run.and_then(|run| Explaining::about(Figure::Run(RunFigure::Days), run));
                found.ok_or("there is no plan here to explain")
            }
            View::Plan => self.explain_plan(),
            View::Evidence => self.explain_run(),
        }
    }

    /// The map's figure of the column.
    fn explain_compared(&self) -> Found {
        let columns = self.columns();
        let column = columns.get(self.views.compare.cursor(columns.len())).ok_or(NOTHING)?;
        let evaluation = Arc::clone(column.evaluation.ok_or(LATER)?);
        let answer = Answer { scenario: column.scenario.clone(), evaluation };
        Explaining::of_other(column.name, self.map.metric, &answer).ok_or(NOTHING)
    }

    fn explain_advice(&self) -> Found {
        let rows = self.advice_rows();
        match rows.get(self.advice_cursor(rows.len())).ok_or(NOTHING)? {
            Row::Resource(index, _) => self.of_answer(Figure::Elasticity(*index)),
            Row::Change(_) => Err("a change of the plan is no figure to explain: Enter takes it"),
        }
    }

    fn explain_limit(&self) -> Found {
        let limits = &self.views.limits;
        let of = limits.of(self.shown.as_ref().unwrap_or(&self.scenario));
        let found = Explaining::about(Figure::Limits(limits.figure()), Subject::Limits(Box::new(of)));
        found.ok_or("the state alone does not fit: this figure means nothing here")
    }

    /// The figure of the cell.
    fn explain_hardware(&self) -> Found {
        let map = self.views.hardware.map.as_ref().ok_or(LATER)?;
        if !map.is_fresh(map.cursor) {
            return Err(LATER);
        }
        let scenario = map.scenario(map.cursor).map_err(|_| "this cell is not possible: it has no figures")?;
        let whose = scenario.altered().unwrap_or_else(|| "the machine as it is".to_owned());
        self.explain_other(&whose, map.metric, &scenario)
    }

    /// What the table is sorted by, of the strategy.
    fn explain_strategy(&self) -> Found {
        let strategies = &self.views.strategies;
        if !strategies.is_complete() {
            return Err(LATER);
        }
        let row = strategies.rows().get(strategies.cursor()).ok_or(NOTHING)?;
        let scenario = strategies.scenario(row, &self.library).ok_or(NOTHING)?;
        let outermost = scenario.cluster.levels.len().saturating_sub(1);
        let figure = match strategies.order {
            Order::Throughput => Figure::ModelFlops,
            Order::Memory => Figure::Peak,
            Order::Exposed => Figure::Exposed,
            Order::Traffic => Figure::Traffic(outermost),
        };
        row.outcome.as_ref().map_err(|_| "this strategy is not possible here: it has no figures")?;
        self.explain_other(&row.id, figure, &scenario)
    }

    /// What the plan within the limit is the best in.
    fn explain_plan(&self) -> Found {
        let planning = &self.views.planning;
        if !planning.picture.as_ref().is_some_and(|picture| picture.is_fresh(planning.place())) {
            return Err(LATER);
        }
        let found = planning.chosen().ok_or("no plan fits within this limit: there is nothing to explain")?;
        let figure = match planning.objective() {
            Objective::StepTime => Figure::StepTime,
            Objective::Memory => Figure::Peak,
            Objective::Throughput | Objective::Devices => Figure::ModelFlops,
        };
        self.explain_other(&format!("within {}", found.summary.memory.capacity), figure, &found.scenario)
    }

    /// What is compared, of the run; of two runs between which it lies that with fewer micro-batches.
    fn explain_run(&self) -> Found {
        let (residual, run) = self.views.evidence.chosen().ok_or(NOTHING)?;
        let figure = match residual.metric {
            Metric::StepTime => Figure::StepTime,
            Metric::Memory => Figure::Peak,
        };
        self.explain_other(&residual.id, figure, &run.scenario)
    }

    /// Of a scenario that is not shown: it is run once, here and now.
    fn explain_other(&self, whose: &str, figure: Figure, scenario: &Scenario) -> Found {
        let shown = self.answer.as_ref().filter(|answer| answer.scenario == *scenario);
        let answer = if let Some(answer) = shown {
            answer.clone()
        } else {
            let evaluation = search::once(scenario, &mut Workspace::default()).map_err(|_| NOTHING)?;
            Answer { scenario: scenario.clone(), evaluation: Arc::new(evaluation) }
        };
        Explaining::of_other(whose, figure, &answer).ok_or(NOTHING)
    }
}
