//! The rows of the scenario panel: one for each field of the table, in its order. Those that are seldom changed
//! are folded away under a row that opens.

use std::sync::Arc;

use shardscope_engine::plan::Extent;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::{Field, Idle, Problem, Scenario, Value};
use shardscope_engine::units::{counted, devices, short};
use shardscope_report::figures::Figure;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening};
use crate::app::action::notice::Asked;
use crate::app::action::notice::Notice;
use crate::app::answers::own_run::OwnRun;
use crate::app::views::View;

/// A row of the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputRow {
    /// A field.
    Field(Field),
    /// The row that the rare fields are folded under.
    Fold,
    /// A measured run of the user's own.
    Measured,
}

impl InputRow {
    /// Its name on the screen.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Field(field) => field.spec().label,
            Self::Fold => "more",
            Self::Measured => "measured",
        }
    }
}

/// A value that the scenario cannot take, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Whose value it is.
    pub field: Field,
    /// The text as it was typed.
    pub text: String,
    /// The mistake and its fix.
    pub why: String,
    /// Whether the file holds it; text that cannot be read never gets there.
    pub in_file: bool,
}

/// The cursor among the rows, and what became of the last edit.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    cursor: ListCursor,
    /// Whether the rare fields are shown.
    pub unfolded: bool,
    /// Rows that the terminal has; rare fields are folded away only where these end.
    room: usize,
    /// The fields that the last edit changed.
    pub changed: Vec<Field>,
    /// Values that cannot be.
    pub wrong: Vec<Wrong>,
    /// The choices that the plan in hand does not follow.
    pub idle: Vec<Idle>,
    /// A run of the user's own.
    pub measured: Option<Arc<OwnRun>>,
}

impl Inputs {
    /// The rows that can be seen, in order.
    pub fn rows(&self) -> impl Iterator<Item = InputRow> {
        let common = Field::all().filter(|field| !field.spec().rare);
        let (seen, folded) = (rare().take(self.seen()), rare().skip(self.seen()));
        common
            .chain(seen)
            .map(InputRow::Field)
            .chain((self.seen() < rare().count()).then_some(InputRow::Fold))
            // Behind the row that opens them, so that opening moves nothing above it.
            .chain(folded.filter(|_| self.unfolded).map(InputRow::Field))
            .chain([InputRow::Measured])
    }

    /// Counts the rare fields that have a row where they are folded.
    fn seen(&self) -> usize {
        // The run of the user's own has a row, and so has the fold, if there is one.
        let free = (self.room + rare().count()).saturating_sub(Field::all().count() + 1);
        if free < rare().count() { free.saturating_sub(1) } else { rare().count() }
    }

    /// Notes for how many rows the terminal has room; the row that has the keys keeps them.
    pub fn make_room(&mut self, rows: usize) {
        let row = self.row();
        self.room = rows;
        let place = self.rows().position(|other| other == row);
        self.cursor = place.map_or_else(ListCursor::default, ListCursor::at);
    }

    /// The place of the row that has the keys.
    pub fn place(&self) -> usize {
        self.cursor.row(self.rows().count())
    }

    /// The row that has the keys.
    pub fn row(&self) -> InputRow {
        self.rows().nth(self.place()).unwrap_or(InputRow::Fold)
    }

    /// The field that has the keys.
    pub fn field(&self) -> Option<Field> {
        match self.row() {
            InputRow::Field(field) => Some(field),
            InputRow::Fold | InputRow::Measured => None,
        }
    }

    /// Gives a field the keys; a rare one comes in sight.
    pub fn choose(&mut self, field: Field) {
        self.unfolded |= field.spec().rare;
        let place = self.rows().position(|row| row == InputRow::Field(field));
        self.cursor = place.map_or(self.cursor, ListCursor::at);
    }

    /// Brings rare fields in sight where one of them has a text in its name and no row that can be seen has.
    pub fn unfold_for(&mut self, text: &str) {
        self.unfolded |= rare().any(|field| field.spec().label.to_lowercase().contains(text));
    }

    /// Notes which fields an edit changed; a rare one comes in sight.
    pub fn mark(&mut self, changed: impl IntoIterator<Item = Field>) {
        self.changed = changed.into_iter().collect();
        self.unfolded |= self.changed.iter().any(|field| field.spec().rare);
    }

    /// Whether the fields as they stand make a scenario; a text that is none of a field's values changes none.
    pub fn are_possible(&self) -> bool {
        !self.wrong.iter().any(|wrong| wrong.in_file)
    }

    /// The mistake in a field.
    pub fn wrong(&self, field: Field) -> Option<&Wrong> {
        self.wrong.iter().find(|wrong| wrong.field == field)
    }

    /// Why the plan does not follow what a field says, where it does not.
    pub fn idle(&self, field: Field) -> Option<&Idle> {
        self.idle.iter().find(|idle| idle.field == field)
    }

    /// Whether the plan does not use a field's value, which is one.
    fn is_unused(&self, field: Field) -> bool {
        self.idle(field).is_some() && self.wrong(field).is_none()
    }

    /// A field's text: what was given, where that cannot be, else its value.
    pub fn text(&self, field: Field, scenario: &Scenario) -> String {
        self.wrong(field).map_or_else(|| field.text(scenario), |wrong| wrong.text.clone())
    }

    /// A row's text: a field's, or how many fields are folded.
    pub fn row_text(&self, row: InputRow, scenario: &Scenario) -> String {
        match row {
            // What the plan does not follow stands beside it.
            InputRow::Field(field) if self.is_unused(field) => "-".to_owned(),
            InputRow::Field(field @ (Field::Bandwidth | Field::Memory)) if self.wrong(field).is_none() => {
                format!("x{}", field.text(scenario))
            }
            InputRow::Field(field) => self.text(field, scenario),
            InputRow::Fold if self.unfolded => "fewer fields".to_owned(),
            InputRow::Fold => format!("{} fields", rare().count() - self.seen()),
            InputRow::Measured => {
                self.measured.as_ref().map_or_else(|| "no run".to_owned(), |run| run.figure.to_string())
            }
        }
    }
}

impl View for Inputs {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let effect = match (self.row(), action) {
            (InputRow::Field(Field::Model), Action::Adapt) => Effect::Open(Opening::Form(Kind::Model)),
            (_, Action::Adapt) => Effect::Open(Opening::Form(Kind::Cluster)),
            (InputRow::Field(field), Action::Right | Action::More) => Effect::Step(field, true),
            (InputRow::Field(field), Action::Left | Action::Less) => Effect::Step(field, false),
            (InputRow::Field(field), Action::Take) => {
                Effect::Open(Opening::Field(field, self.text(field, context.scenario)))
            }
            (InputRow::Measured, Action::Take) => Effect::Open(Opening::OwnFigure),
            (InputRow::Fold, Action::Take | Action::Left | Action::Less | Action::Right | Action::More) => {
                let more = matches!(action, Action::Right | Action::More);
                self.unfolded = more || action == Action::Take && !self.unfolded;
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        vec![effect]
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Ok(Asked::Shown(self.field().map_or(Figure::StepTime, changed_by)))
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        let text = |row: InputRow| format!("{} {}", row.label(), self.row_text(row, context.scenario));
        Some(Self::rows(self).map(text).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.place()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }
}

fn rare() -> impl Iterator<Item = Field> {
    Field::all().filter(|field| field.spec().rare)
}

/// A note on a field for the status line: what its value leaves unsaid, or why it has no effect.
pub fn about(field: Field, idle: Option<&Idle>, scenario: &Scenario) -> Option<String> {
    if let Some(Idle { why, fix, .. }) = idle {
        return Some(format!("{} has no effect; {fix}: {why}", field.spec().label));
    }
    if field == Field::GlobalBatch {
        let Problem { what, fix, .. } = scenario.divides_batch().err()?;
        return Some(format!("a step takes {} sequences; {fix}: {what}", counted(scenario.sequences())));
    }
    let network = || scenario.cluster.levels.last().map_or("network", |level| &level.name);
    let of = match field {
        Field::Bandwidth if scenario.note().is_some() => return scenario.note(),
        Field::Bandwidth => format!("the {} level's bandwidth", network()),
        Field::Memory => "a device's memory".to_owned(),
        Field::Price if scenario.price().is_none() => {
            return Some(
                "Enter takes the price of a device-hour, like 2.50 EUR: then the training has a cost".to_owned(),
            );
        }
        _ => return None,
    };
    Some(format!("a factor on {of}; 1 leaves the machine unchanged"))
}

/// Notes beside a field's value, the fullest form first: its unit, or what it comes to; or the value that the plan does
/// not use.
pub fn asides(field: Field, idle: Option<&Idle>, scenario: &Scenario, library: &Library) -> Vec<String> {
    if field == Field::Bandwidth && idle.is_none() {
        return network(scenario);
    }
    vec![aside(field, idle, scenario, library)]
}

/// The bandwidth of the outermost level, and who shares it: `25.0 GB/s per NIC, shared by 2 GPUs`.
fn network(scenario: &Scenario) -> Vec<String> {
    let cluster = &scenario.cluster;
    let Some(level) = cluster.levels.last() else { return Vec::new() };
    let rate = level.bandwidth * scenario.plan.bandwidth_factor;
    match cluster.sharing(cluster.levels.len() - 1) {
        shared if shared > 1.0 => {
            let shared = short(shared, 2);
            vec![
                format!("{rate} per NIC, shared by {shared} GPUs"),
                format!("{rate} / {shared} GPUs"),
                rate.to_string(),
            ]
        }
        _ => vec![format!("{rate} per GPU"), rate.to_string()],
    }
}

fn aside(field: Field, idle: Option<&Idle>, scenario: &Scenario, library: &Library) -> String {
    let plan = &scenario.plan;
    let value = field.meant(scenario);
    match (field, &value) {
        _ if idle.is_some() => format!("{} not used", field.text(scenario)),
        (Field::GlobalBatch, _) if scenario.divides_batch().is_err() => {
            format!("runs {}", counted(scenario.sequences()))
        }
        (Field::Nodes, _) => format!("= {}", devices(scenario.devices())),
        (Field::Memory, _) => format!("= {}", scenario.capacity()),
        (Field::Price, Some(_)) => "a device-hour".to_owned(),
        (Field::Price, None) => scenario.price().map_or_else(String::new, |price| format!("{price}, the cluster's")),
        (Field::Strategy, _) if !plan.operators.is_empty() => "operators sharded apart".to_owned(),
        (Field::Qwz, Some(Value::Switch(true))) => "weights quantised".to_owned(),
        (Field::Qgz, Some(Value::Switch(true))) => "gradients quantised".to_owned(),
        (Field::Hpz, Some(Value::Extent(Extent::Device))) => "no second copy".to_owned(),
        (Field::Hpz, _) => "second copy".to_owned(),
        (_, Some(Value::Extent(Extent::System))) => "all GPUs".to_owned(),
        // What was adapted or imported may have no other name.
        (_, Some(Value::Id(id))) => {
            library.title(field, id).filter(|title| *title != &**id).unwrap_or_default().to_owned()
        }
        (_, Some(Value::Count(count))) => {
            field.spec().unit.map_or("", |[one, several]| if *count == 1 { one } else { several }).to_owned()
        }
        _ => String::new(),
    }
}

/// The figure that a field changes most plainly.
const fn changed_by(field: Field) -> Figure {
    match field {
        Field::Nodes | Field::Devices => Figure::TokensPerSecond,
        Field::Memory => Figure::Capacity,
        Field::Strategy | Field::Shard | Field::WeightsOver => Figure::Weights,
        Field::MicroBatch | Field::Accumulate | Field::Sequence => Figure::TokensPerStep,
        Field::Recompute => Figure::Recomputed,
        Field::Precision | Field::Model | Field::FlopCount | Field::MtpLayers => Figure::Mfu,
        Field::GradientFormat => Figure::Gradients,
        Field::Bandwidth | Field::Dispatcher | Field::DispatchFormat | Field::ExpertOverlap | Field::SharedOverlap => {
            Figure::Exposed
        }
        Field::Capacity | Field::Imbalance => Figure::Compute,
        Field::Optimizer | Field::OptimizerOver => Figure::OptimizerState,
        Field::Offload | Field::Cluster => Figure::Peak,
        Field::Pipeline | Field::Schedule | Field::StagesPerRank => Figure::Bubble,
        Field::Tokens => Figure::Days,
        Field::Price => Figure::Cost,
        _ => Figure::StepTime,
    }
}
