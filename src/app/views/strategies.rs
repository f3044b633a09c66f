//! The view of the strategies: all of them on the scenario shown, in one table, the best first.

use crate::evaluate::{Summary, Workspace, summary};
use crate::presets::{Kind, Library};
use crate::scenario::{Problem, Scenario};
use crate::search::AxisKind;

use crate::app::App;
use crate::app::action::{Action, Command};
use crate::app::inputs::FIELDS;
use crate::app::work::Work;

/// One strategy on the scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The strategy's id.
    pub id: String,
    /// Its figures, or why it is not possible.
    pub outcome: Result<Summary, Problem>,
}

/// What the table is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The fastest first.
    #[default]
    Throughput,
    /// The least memory first.
    Memory,
    /// The least exposed communication first.
    Exposed,
    /// The fewest bytes on the outermost level first.
    Traffic,
}

impl Order {
    const ALL: [Self; 4] = [Self::Throughput, Self::Memory, Self::Exposed, Self::Traffic];

    /// What it says in the title.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "by throughput",
            Self::Memory => "by memory",
            Self::Exposed => "by exposed communication",
            Self::Traffic => "by outermost traffic",
        }
    }

    /// Where a row belongs: what fits before what does not, then the smaller.
    fn place(self, row: &Row, outermost: usize) -> (u8, f64) {
        let Ok(summary) = &row.outcome else { return (2, 0.0) };
        let value = match self {
            Self::Throughput => -summary.tokens_per_s_per_device,
            Self::Memory => summary.memory.peak.get(),
            Self::Exposed => summary.time.exposed.get(),
            Self::Traffic => summary.traffic[outermost].bytes_per_device.get(),
        };
        (u8::from(!summary.fits), value)
    }
}

/// The table, its order and its cursor.
#[derive(Debug, Clone, Default)]
pub struct Strategies {
    /// What it is sorted by.
    pub order: Order,
    /// The strategy under the cursor.
    chosen: String,
    /// The scenario that was asked about last.
    asked: Option<Scenario>,
    /// Whether the rows are of that scenario.
    complete: bool,
    rows: Vec<Row>,
}

impl Strategies {
    /// Follows the scenario; gives what has to be computed.
    pub fn follow(&mut self, library: &Library, scenario: &Scenario) -> Option<Work> {
        if self.complete && self.asked.as_ref() == Some(scenario) {
            return None;
        }
        self.complete = false;
        self.asked = Some(scenario.clone());
        if self.chosen.is_empty() {
            self.chosen = scenario.strategy.to_string();
        }
        Some(Work::Strategies(candidates(library, scenario)))
    }

    /// Takes the rows over.
    pub fn fill(&mut self, rows: Vec<Row>) {
        (self.rows, self.complete) = (rows, true);
        self.sort();
    }

    /// Whether the rows are of the last scenario.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// The rows, in order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The place of the cursor.
    pub fn cursor(&self) -> usize {
        self.rows.iter().position(|row| row.id == self.chosen).unwrap_or(0)
    }

    /// The scenario of a row.
    pub(in crate::app) fn scenario(&self, row: &Row, library: &Library) -> Option<Scenario> {
        candidate(library, self.asked.as_ref()?, &row.id)
    }

    /// Does what the user asked for.
    pub fn update(&mut self, action: Action) {
        let (cursor, last) = (self.cursor(), self.rows.len().saturating_sub(1));
        let next = match action {
            Action::Up => cursor.saturating_sub(1),
            Action::Down => (cursor + 1).min(last),
            Action::First | Action::PageUp => 0,
            Action::Last | Action::PageDown => last,
            Action::Metric => {
                let at = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
                self.order = Order::ALL[(at + 1) % Order::ALL.len()];
                self.sort();
                return;
            }
            _ => cursor,
        };
        self.go_to(next);
    }

    /// The cursor goes to a row.
    pub(in crate::app) fn go_to(&mut self, row: usize) {
        if let Some(row) = self.rows.get(row) {
            self.chosen.clone_from(&row.id);
        }
    }

    fn sort(&mut self) {
        let outermost = self.asked.as_ref().map_or(0, |scenario| scenario.cluster.levels.len().saturating_sub(1));
        let place = |row: &Row| self.order.place(row, outermost);
        self.rows.sort_by(|a, b| {
            let ((a_group, a), (b_group, b)) = (place(a), place(b));
            a_group.cmp(&b_group).then(a.total_cmp(&b))
        });
    }
}

/// The scenario with each strategy's placement of the state.
fn candidates(library: &Library, scenario: &Scenario) -> Vec<(String, Scenario)> {
    let with = |id: &str| Some((id.to_owned(), candidate(library, scenario, id)?));
    library.entries(Kind::Strategy).filter_map(|entry| with(&entry.id)).collect()
}

/// The scenario with a strategy's placement of the state; with its own it stays as it is.
fn candidate(library: &Library, scenario: &Scenario, id: &str) -> Option<Scenario> {
    let mut candidate = scenario.clone();
    if *id != *scenario.strategy {
        candidate.plan.sharding = library.strategy(id).ok()?.sharding.clone();
        candidate.strategy = id.into();
    }
    Some(candidate)
}

/// Evaluates every candidate.
pub(in crate::app) fn evaluate(candidates: &[(String, Scenario)]) -> Vec<Row> {
    let mut workspace = Workspace::default();
    let outcome = |scenario: &Scenario, workspace: &mut Workspace| {
        summary(scenario, workspace).map_err(|problems| problems.into_iter().next().unwrap_or_else(unknown))
    };
    let mut row =
        |(id, scenario): &(String, Scenario)| Row { id: id.clone(), outcome: outcome(scenario, &mut workspace) };
    candidates.iter().map(&mut row).collect()
}

fn unknown() -> Problem {
    Problem { field: "strategy".to_owned(), what: "is not possible".to_owned(), fix: "choose another".to_owned() }
}

impl App {
    /// The keys of the view of the strategies.
    pub(in crate::app) fn on_strategies(&mut self, action: Action) -> Vec<Command> {
        if action == Action::Take {
            return self.take_strategy();
        }
        self.views.strategies.update(action);
        Vec::new()
    }

    /// The strategy under the cursor becomes the scenario's, on the cell that the screen shows.
    fn take_strategy(&mut self) -> Vec<Command> {
        let strategies = &self.views.strategies;
        let Some(row) = strategies.rows.get(strategies.cursor()) else { return Vec::new() };
        let field = |flag: &str| FIELDS.iter().position(|field| field.flag == flag);
        let own = *row.id == *self.scenario.strategy;
        let mut changes: Vec<(usize, String)> =
            field("strategy").filter(|_| !own).map(|at| (at, row.id.clone())).into_iter().collect();
        if let Some((x, y)) = self.map.values(self.map.cursor).filter(|_| self.looking) {
            let cell = [(self.map.sweep.x.kind, x), (self.map.sweep.y.kind, y)];
            // Another strategy has extents of its own.
            let cell = cell.into_iter().filter(|(kind, _)| own || *kind != AxisKind::Shard);
            changes
                .extend(cell.filter_map(|(kind, value)| Some((field(kind.field().spec().flag)?, value.to_string()))));
        }
        let taken = format!("took {}", row.id);
        let commands = if changes.is_empty() { Vec::new() } else { self.change(&changes) };
        if self.notice.is_none() {
            self.tell(taken);
        }
        commands
    }
}

#[cfg(test)]
mod tests;
