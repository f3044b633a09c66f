//! The rows of the scenario panel: the fields of the table by what they are of. Groups that are seldom changed are folded
//! away, each under a row that opens.

mod groups;

use std::sync::Arc;

use shardscope_engine::plan::Extent;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::ScenarioFile;
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

pub use groups::FieldGroup;

/// A row of the panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputRow {
    /// A field.
    Field(Field),
    /// A group, of which fields are folded away.
    Group(FieldGroup),
    /// A measured run of the user's own.
    Measured,
}

impl InputRow {
    /// Its name on the screen.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Field(field) => field.spec().label,
            Self::Group(group) => group.name(),
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
    /// The groups that are not as they open: folded, or unfolded.
    turned: Vec<FieldGroup>,
    /// The sample, from which what is set is told.
    sample: Option<Box<ScenarioFile>>,
    /// The fields that say something else than the sample, and than what holds where nothing is said.
    pub set: Vec<Field>,
    /// Whether the model has no experts.
    dense: bool,
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
    /// The rows of a scenario that is told from a sample.
    pub fn beside(sample: Option<ScenarioFile>) -> Self {
        Self { sample: sample.map(Box::new), ..Self::default() }
    }

    /// Notes what a scenario says that is shown, and what of it has no effect.
    pub(crate) fn follow(&mut self, file: &ScenarioFile, scenario: &Scenario) {
        self.idle = Idle::all(&scenario.plan);
        self.dense = scenario.model.experts.is_none();
        let sample = |field| self.sample.as_ref().and_then(|sample| sample.value(field));
        let is_set = |field: &Field| {
            let said = file.value(*field);
            said.is_some() && said.as_ref() != field.usual() && said != sample(*field)
        };
        self.set = Field::all().filter(is_set).collect();
    }

    /// The rows that can be seen, in order: of a group that is folded those that are set.
    pub fn rows(&self) -> impl Iterator<Item = InputRow> {
        let of = move |group: FieldGroup| {
            let open = self.is_open(group);
            let head = (!open || !group.opens()).then_some(InputRow::Group(group));
            head.into_iter()
                .chain(group.fields().filter(move |field| open || self.stands_out(*field)).map(InputRow::Field))
        };
        FieldGroup::ALL.into_iter().flat_map(of).chain([InputRow::Measured])
    }

    /// Whether a field is seen where its group is folded.
    fn stands_out(&self, field: Field) -> bool {
        self.set.contains(&field) || self.changed.contains(&field) || self.wrong(field).is_some()
    }

    /// Whether all fields of a group are seen.
    fn is_open(&self, group: FieldGroup) -> bool {
        group.opens() != self.turned.contains(&group) && !self.is_void(group)
    }

    /// Whether a group says nothing of the model in hand.
    fn is_void(&self, group: FieldGroup) -> bool {
        group == FieldGroup::Experts && self.dense
    }

    /// Unfolds a group (`true`), or folds it; the row that had the keys keeps them, or its group has.
    fn turn(&mut self, group: FieldGroup, open: bool) {
        let row = self.row();
        self.turned.retain(|turned| *turned != group);
        if open != group.opens() {
            self.turned.push(group);
        }
        let place = |row: InputRow| self.rows().position(|other| other == row);
        self.cursor = place(row).or_else(|| place(InputRow::Group(group))).map_or(self.cursor, ListCursor::at);
    }

    /// The group of the row that has the keys, which is folded or unfolded.
    fn fold(&mut self) {
        let group = match self.row() {
            InputRow::Field(field) => FieldGroup::holding(field),
            InputRow::Group(group) => group,
            InputRow::Measured => return,
        };
        self.turn(group, !self.is_open(group));
    }

    /// The place of the row that has the keys.
    pub fn place(&self) -> usize {
        self.cursor.row(self.rows().count())
    }

    /// The row that has the keys.
    pub fn row(&self) -> InputRow {
        self.rows().nth(self.place()).unwrap_or(InputRow::Measured)
    }

    /// The field that has the keys.
    pub fn field(&self) -> Option<Field> {
        match self.row() {
            InputRow::Field(field) => Some(field),
            InputRow::Group(_) | InputRow::Measured => None,
        }
    }

    /// Gives a field the keys; one that is folded away comes in sight.
    pub fn choose(&mut self, field: Field) {
        let place = |inputs: &Self| inputs.rows().position(|row| row == InputRow::Field(field));
        if place(self).is_none() {
            self.turn(FieldGroup::holding(field), true);
        }
        self.cursor = place(self).map_or(self.cursor, ListCursor::at);
    }

    /// Brings fields in sight that have a text in their names, where no row that can be seen has it.
    pub fn unfold_for(&mut self, text: &str) {
        let has = |group: &FieldGroup| group.fields().any(|field| field.spec().label.to_lowercase().contains(text));
        for group in FieldGroup::ALL.into_iter().filter(has) {
            self.turn(group, true);
        }
    }

    /// Notes which fields an edit changed; they come in sight.
    pub fn mark(&mut self, changed: impl IntoIterator<Item = Field>) {
        self.changed = changed.into_iter().collect();
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
            InputRow::Group(group) if self.is_void(group) => "dense model".to_owned(),
            InputRow::Group(group) if self.is_open(group) => "z folds them".to_owned(),
            InputRow::Group(group) => match group.fields().filter(|field| !self.stands_out(*field)).count() {
                hidden if group.opens() => format!("{hidden} folded"),
                hidden => format!("{hidden} at default"),
            },
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
            (_, Action::Fold) | (InputRow::Group(_), Action::Take) => {
                self.fold();
                return Vec::new();
            }
            (InputRow::Group(group), Action::Left | Action::Less | Action::Right | Action::More) => {
                self.turn(group, matches!(action, Action::Right | Action::More));
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
