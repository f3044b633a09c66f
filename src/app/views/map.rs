//! The map: one figure over two axes, filled while the user moves on it.

use std::sync::Arc;

use shardscope_engine::scenario::{Edit, Field, Problem, Scenario, Value};
use shardscope_engine::search::{Axis, Candidate, Cell, Sweep, Tuned};
use shardscope_library::command;
use shardscope_report::figures::{Figure, METRICS, SweepReport};

use crate::app::action::context::Context;
use crate::app::action::cursor::GridCursor;
use crate::app::action::effect::{Effect, Opening, say};
use crate::app::action::notice::Asked;
use crate::app::action::notice::Notice;
use crate::app::action::panel::ViewId;
use crate::app::action::{Action, Command};
use crate::app::answers::axes::{self, LookedUp};
use crate::app::answers::launchers::RUNS_IN;
use crate::app::views::{View, ViewSpec};

/// Its name, its key and the keys in it.
pub const SPEC: ViewSpec = ViewSpec {
    id: ViewId::MAP,
    opens: "M",
    hint: "",
    keys: |keys| {
        keys.around("move; the other panels follow")
            .key("enter", Action::Take, "apply", "apply the cell to the scenario")
            .ends("first and last column")
            .pages("first and last row")
            .key("t", Action::Tune, "tune", "tune batch and recompute per cell, or keep the scenario's")
            .key("x", Action::Across, "", "choose the horizontal axis")
            .key("X", Action::Along, "", "choose the vertical axis")
            .key("z", Action::Fold, "", "hide rows and columns without a plan, or show them")
            .key("o", Action::Contour, "", "show or hide the memory contour")
            .key("y", Action::Copy, "", "copy the map as CSV, through the terminal")
            .key("Y", Action::SaveMap, "", "write the map as CSV to a file")
    },
};

/// The notice where the cell under the cursor is the scenario already.
pub(crate) const NOTHING_TO_TAKE: &str = "this is the current scenario: nothing to apply";

/// A map, its cursor, and how far it is filled.
#[derive(Debug, Clone)]
pub struct Map {
    /// The sweep that fills it.
    pub sweep: Arc<Sweep>,
    /// The user's own axes across and down.
    wanted: Option<[Field; 2]>,
    /// The figure that it shows.
    metric: Figure,
    /// Where the cursor is.
    pub cursor: usize,
    /// The cell that the panels around it are about: they follow the cursor once there is an answer.
    pub settled: usize,
    /// Where the scenario itself is, if it is on the map.
    pub home: Option<usize>,
    /// Where the first pinned scenario is, if it is on the map.
    pub pinned: Option<usize>,
    /// Whether the memory's contour is drawn.
    pub contour: bool,
    /// Whether rows and columns without a plan are hidden.
    pub compact: bool,
    /// The number of the sweep that fills it.
    pub generation: u64,
    /// The known cells, row by row: of this sweep, or still of the one before.
    cells: Vec<Option<Cell>>,
    /// Which cells are of this sweep.
    fresh: Vec<bool>,
    /// The figure of each cell that fits, as it is drawn.
    figures: Vec<Option<f64>>,
}

impl Map {
    /// An empty map around a scenario.
    pub fn around(base: &Scenario, scenario: &Scenario) -> Self {
        let sweep = sweep(base, scenario, axes::usual(scenario), false, &|_| Vec::new());
        let home = home(&sweep, scenario);
        Self::new(sweep, home)
    }

    /// An empty map, and where the scenario is on it.
    pub fn new(sweep: Sweep, home: Option<usize>) -> Self {
        Self {
            wanted: None,
            metric: Figure::ModelFlops,
            cursor: home.unwrap_or(0),
            settled: home.unwrap_or(0),
            home,
            pinned: None,
            contour: false,
            compact: false,
            generation: 0,
            cells: vec![None; sweep.len()],
            fresh: vec![false; sweep.len()],
            figures: vec![None; sweep.len()],
            sweep: Arc::new(sweep),
        }
    }

    /// The figure that it shows.
    pub const fn metric(&self) -> Figure {
        self.metric
    }

    /// Shows another figure.
    pub fn show(&mut self, metric: Figure) {
        self.metric = metric;
        self.figures = (0..self.cells.len()).map(|index| self.plotted(index)).collect();
    }

    /// Follows the scenario; says whether the cells have to be computed anew. A map that shows it already stays.
    pub fn follow(&mut self, base: &Scenario, scenario: &Scenario, presets: &LookedUp<'_>) -> bool {
        // The map stays as long as the scenario is one of its cells: a step along an axis moves the cursor and computes
        // nothing. Any other change makes other cells.
        let kinds = self.kinds(scenario);
        let other = [self.sweep.x.field, self.sweep.y.field] != kinds;
        let changed = other || self.sweep.base != *base || home(&self.sweep, scenario).is_none();
        if changed {
            let sweep = sweep(base, scenario, kinds, self.sweep.tune, presets);
            let home = home(&sweep, scenario);
            self.replace(sweep, home);
        }
        if self.metric.lacks(base).is_some() {
            self.show(Figure::ModelFlops);
        }
        self.home = home(&self.sweep, scenario);
        self.cursor = self.home.unwrap_or(self.cursor);
        changed
    }

    /// The fields across and down.
    pub fn kinds(&self, scenario: &Scenario) -> [Field; 2] {
        self.wanted.unwrap_or_else(|| axes::usual(scenario))
    }

    /// Lets something run across (0) or down (1); what ran there changes places with it, if it was on the map.
    pub fn want(&mut self, at: usize, kind: Field, scenario: &Scenario) {
        let mut kinds = self.kinds(scenario);
        // One field on both axes would be a diagonal: choosing the other axis' field turns the map over.
        if kinds[1 - at] == kind {
            kinds.swap(0, 1);
        } else {
            kinds[at] = kind;
        }
        self.wanted = Some(kinds).filter(|kinds| *kinds != axes::usual(scenario));
    }

    /// Becomes another map; what it has in common with the last one keeps its picture until it is filled.
    pub fn replace(&mut self, sweep: Sweep, home: Option<usize>) {
        // Asked again with nothing changed, as after most keys: what is computed stays fresh.
        if *self.sweep == sweep && self.home == home {
            return;
        }
        // Old figures go where their cell went, marked as stale, until the new ones come: the map never goes blank.
        let (columns, rows) = (last_places(&self.sweep.x, &sweep.x), last_places(&self.sweep.y, &sweep.y));
        let width = self.width();
        let last =
            |(row, column): (&Option<usize>, &Option<usize>)| self.cells.get((*row)? * width + (*column)?)?.clone();
        self.cells = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column))).map(last).collect();
        self.fresh = vec![false; sweep.len()];
        self.sweep = Arc::new(sweep);
        self.home = home;
        self.cursor = home.unwrap_or(self.cursor.min(self.cells.len().saturating_sub(1)));
        self.settled = self.cursor;
        self.show(self.metric);
    }

    /// Takes cells over.
    pub fn fill(&mut self, cells: Vec<(usize, Cell)>) {
        for (index, cell) in cells {
            // A report on its way may name a cell that a smaller map lacks.
            if let (Some(slot), Some(fresh)) = (self.cells.get_mut(index), self.fresh.get_mut(index)) {
                (*slot, *fresh) = (Some(cell), true);
                self.figures[index] = self.plotted(index);
            }
        }
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.sweep.x.values.len().max(1)
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.sweep.y.values.len()
    }

    /// The known cells, row by row.
    pub fn cells(&self) -> &[Option<Cell>] {
        &self.cells
    }

    /// A cell, if it is known.
    pub fn cell(&self, index: usize) -> Option<&Cell> {
        self.cells.get(index)?.as_ref()
    }

    /// Cells of this sweep that are there, and all of them.
    pub fn progress(&self) -> (usize, usize) {
        (self.fresh.iter().filter(|fresh| **fresh).count(), self.cells.len())
    }

    /// Whether a cell is of this sweep.
    pub fn is_fresh(&self, index: usize) -> bool {
        self.fresh.get(index).is_some_and(|fresh| *fresh)
    }

    /// Whether each cell is of this sweep.
    pub fn is_complete(&self) -> bool {
        self.fresh.iter().all(|fresh| *fresh)
    }

    /// The figure of a cell that fits.
    pub fn figure(&self, index: usize) -> Option<f64> {
        *self.figures.get(index)?
    }

    fn plotted(&self, index: usize) -> Option<f64> {
        match self.cell(index)? {
            Cell::Possible { summary, .. } if summary.fits => self.metric.mapped(summary, &self.sweep, index),
            _ => None,
        }
    }

    /// The best of the cells that fit; among equals the scenario's own, else the first.
    pub fn best(&self) -> Option<usize> {
        let better = |a: f64, b: f64| if self.metric.more_is_better() { a > b } else { a < b };
        let figures =
            self.home.into_iter().chain(0..self.cells.len()).filter_map(|index| Some((index, self.figure(index)?)));
        // Only what is better replaces: the first of equals stays, and the scenario's own cell is looked at first.
        figures.reduce(|best, next| if better(next.1, best.1) { next } else { best }).map(|(index, _)| index)
    }

    /// Each cell takes its best batch and recompute, or those of the scenario again; the cursor stays.
    pub fn toggle_tuned(&mut self) {
        // Tuning changes what cells settle on, not where they are.
        let cursor = self.cursor;
        let sweep = Sweep { tune: !self.sweep.tune, ..Sweep::clone(&self.sweep) };
        self.replace(sweep, self.home);
        self.cursor = cursor;
    }

    /// The settled choice of a cell of a tuned map.
    pub fn tuned(&self, index: usize) -> Option<Tuned> {
        match self.cell(index)? {
            // A stale cell's choice was made for another scenario.
            Cell::Possible { choice, .. } if self.sweep.tune && self.fresh[index] => Some(*choice),
            _ => None,
        }
    }

    /// The launchers that run the plan on which a cell of a tuned map settled, in words.
    pub fn runs_in(&self, index: usize) -> Option<String> {
        self.tuned(index)?;
        Some(RUNS_IN.words(&self.scenario(index).ok()?))
    }

    /// Whether the cursor is on the scenario itself, and what the cell settled on is what it has.
    pub fn is_home(&self, scenario: &Scenario) -> bool {
        self.home == Some(self.cursor) && self.tuned(self.cursor).is_none_or(|choice| choice == Tuned::from(scenario))
    }

    /// The edits that make a cell of the map's base, its settled choice included.
    pub fn edits(&self, index: usize) -> Vec<Edit> {
        // First the values of the two axes, then what tuning chose on top of them: the order in which the cell was
        // computed.
        let settled = self.tuned(index).zip(self.sweep.untuned(index).ok());
        let settled = settled.map(|(choice, scenario)| choice.edits(&scenario));
        self.sweep.edits(index).into_iter().chain(settled.into_iter().flatten()).collect()
    }

    /// The scenario of a cell, with what it settled on.
    pub fn scenario(&self, index: usize) -> Result<Scenario, Problem> {
        Candidate::new(&self.sweep.base, self.edits(index)).map(|cell| cell.scenario)
    }

    /// Finds out where the first pinned scenario is now. Its values on the axes lead to one cell only, whose scenario
    /// may still differ from it in anything else.
    pub fn find_pinned(&mut self, pinned: Option<&Scenario>) {
        let cell = |pinned: &Scenario| home(&self.sweep, pinned).filter(|index| self.is_cell(*index, pinned));
        self.pinned = pinned.and_then(cell);
    }

    fn is_cell(&self, index: usize, scenario: &Scenario) -> bool {
        self.sweep.scenario(index).is_ok_and(|cell| cell == *scenario)
    }

    /// How full a cell is: its memory over what the device has.
    pub fn fullness(&self, index: usize) -> Option<f64> {
        match self.cell(index)? {
            Cell::Possible { summary, .. } => Some(summary.memory.peak / summary.memory.capacity),
            Cell::Impossible(_) => None,
        }
    }

    /// The map as CSV, as the command line writes it.
    fn csv(&self) -> String {
        let fresh = |(cell, fresh): (&Option<Cell>, &bool)| cell.clone().filter(|_| *fresh);
        let cells: Vec<Option<Cell>> = self.cells.iter().zip(&self.fresh).map(fresh).collect();
        SweepReport { sweep: &self.sweep, metric: self.metric, cells: &cells, runs_in: RUNS_IN }.csv()
    }

    /// Moves the cursor as the keys of a map do; says whether it moved.
    pub fn go(&mut self, action: Action) -> bool {
        let (width, [columns, rows]) = (self.width(), self.seen());
        let place = |seen: &[usize], at: usize| seen.iter().position(|one| *one == at).unwrap_or(0);
        let mut cell =
            GridCursor { column: place(&columns, self.cursor % width), row: place(&rows, self.cursor / width) };
        let moved = cell.go(action, columns.len(), rows.len());
        if let (Some(column), Some(row)) = (columns.get(cell.column), rows.get(cell.row)) {
            self.cursor = row * width + column;
        }
        moved
    }

    /// The columns and the rows that are seen: all, or those with a plan that fits or is not known yet, and the cursor's.
    pub fn seen(&self) -> [Vec<usize>; 2] {
        let all = [self.width(), self.height()];
        if !self.compact {
            return all.map(|count| (0..count).collect());
        }
        let here = [self.cursor % self.width(), self.cursor / self.width()];
        let shows = |at: usize, is_row: bool| at == here[usize::from(is_row)] || self.has_plan(at, is_row);
        [(0..all[0]).filter(|at| shows(*at, false)).collect(), (0..all[1]).filter(|at| shows(*at, true)).collect()]
    }

    /// How many columns and rows have no plan that fits.
    pub fn empty(&self) -> [usize; 2] {
        let empty = |count: usize, is_row: bool| (0..count).filter(|at| !self.has_plan(*at, is_row)).count();
        [empty(self.width(), false), empty(self.height(), true)]
    }

    /// Whether a column or a row has a cell that fits, or one that is not known yet.
    fn has_plan(&self, at: usize, is_row: bool) -> bool {
        let width = self.width();
        let cell = |other: usize| if is_row { at * width + other } else { other * width + at };
        let count = if is_row { width } else { self.height() };
        (0..count).map(cell).any(|cell| self.cell(cell).is_none() || self.figure(cell).is_some())
    }

    /// The values of a cell's column and row.
    pub fn values(&self, index: usize) -> Option<(&Value, &Value)> {
        let width = self.width();
        Some((self.sweep.x.values.get(index % width)?, self.sweep.y.values.get(index / width)?))
    }

    /// The next metric that the cluster has.
    pub fn next_metric(&mut self) {
        let at = METRICS.iter().position(|metric| *metric == self.metric).unwrap_or(0);
        let following = METRICS.into_iter().cycle().skip(at + 1).take(METRICS.len());
        let next = following.into_iter().find(|metric| metric.lacks(&self.sweep.base).is_none());
        self.show(next.unwrap_or(self.metric));
    }
}

impl Map {
    /// The cell under the cursor becomes the scenario.
    fn take(&self, context: &Context) -> Vec<Effect> {
        if context.fields_agree && self.is_home(context.scenario) {
            return say(NOTHING_TO_TAKE);
        }
        let edits = self.edits(self.cursor);
        let said = |edit: &Edit| {
            format!("{} {}", edit.field.spec().label, axes::label(edit.field, &edit.value, context.scenario))
        };
        let taken: Vec<String> = edits.iter().map(said).collect();
        vec![Effect::Edit(edits, format!("applied {}: u undoes it", taken.join(", ")))]
    }

    /// Hands the map over as CSV: to the terminal's clipboard, or to a file.
    fn copied(&self, to: fn(String) -> Command) -> Vec<Effect> {
        let (done, all) = self.progress();
        let lacks = format!("{done} of {all} cells are computed; the others are left empty");
        let lacks = (done < all).then_some(Effect::Tell(lacks.into()));
        lacks.into_iter().chain([Effect::Run(to(self.csv()))]).collect()
    }
}

impl View for Map {
    fn command_line(&self, context: &Context) -> Option<(&'static str, String)> {
        let Sweep { base, x, y, tune } = &*self.sweep;
        // A level may be called what no list of values can hold.
        let is_read_again = |axis: &Axis| axis.to_string().parse().as_ref() == Ok(axis);
        let line = command::sweep(context.library, base).filter(|_| is_read_again(x) && is_read_again(y))?;
        let line = line.option("x", x).option("y", y);
        let line = if *tune { line.switch("tune") } else { line };
        Some(("the map", line.option("metric", self.metric.word()).line().ok()?))
    }

    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        match action {
            Action::Take => return self.take(context),
            Action::Across => return vec![Effect::Open(Opening::Axis(0))],
            Action::Along => return vec![Effect::Open(Opening::Axis(1))],
            Action::Copy => {
                return self.copied(Command::copied);
            }
            Action::SaveMap => return self.copied(|text| Command::SaveTable("map", text)),
            Action::Tune => {
                self.toggle_tuned();
                return vec![Effect::Fill];
            }
            Action::Metric => self.next_metric(),
            Action::Contour => self.contour = !self.contour,
            Action::Fold => self.compact = !self.compact,
            _ if self.go(action) => return vec![Effect::Look],
            _ => {}
        }
        Vec::new()
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Ok(Asked::Shown(self.metric))
    }

    fn place(&self, _: &Context) -> Option<usize> {
        Some(self.cursor)
    }

    fn go_to_place(&mut self, place: usize, _: &Context) -> Option<Effect> {
        let other = place != self.cursor && place < self.cells.len();
        self.cursor = if other { place } else { self.cursor };
        other.then_some(Effect::Look)
    }
}

/// The sweep around a scenario. What its axes set is taken from `base`, so that moving along them changes no cell.
fn sweep(base: &Scenario, scenario: &Scenario, [x, y]: [Field; 2], tune: bool, presets: &LookedUp<'_>) -> Sweep {
    Sweep { base: base.clone(), x: axes::axis(x, scenario, presets), y: axes::axis(y, scenario, presets), tune }
}

/// Where each value of an axis stood on the last one: a step along an axis may add a column, and every other one has
/// moved.
fn last_places(last: &Axis, now: &Axis) -> Vec<Option<usize>> {
    let place = |value| last.values.iter().position(|other| last.field == now.field && other == value);
    now.values.iter().map(place).collect()
}

fn home(sweep: &Sweep, scenario: &Scenario) -> Option<usize> {
    let (x, y) = (axes::position(&sweep.x, scenario)?, axes::position(&sweep.y, scenario)?);
    Some(y * sweep.x.values.len() + x)
}

#[cfg(test)]
mod tests;
