//! The explanation on the screen: which figure, what its cursor is on, and the way that led there.

use crate::bounds::fsdp;
use crate::evaluate::HostDirection;
use crate::figures::run::TrainingRun;
use crate::figures::{
    self, BoundForm, Explanation, Figure, FigureSubject, Limit, RunFigure, TIME_PARTS, explain, figures, limits, run,
};
use crate::scenario::{Field, Scenario};

use super::action::Action;
use super::answers::Answer;
use super::cursor::ListCursor;

/// What is said where there is no figure.
pub(super) const NOTHING: &str = "there is no figure here yet";

/// What is said where it is still computed.
pub(super) const LATER: &str = "still computing: there is no figure yet";

/// What is to be explained.
#[derive(Debug, Clone)]
pub enum Asked {
    /// A figure of what the screen shows.
    Shown(Figure),
    /// A figure of something else that is evaluated, with its name.
    Evaluated(String, Figure, Box<Answer>),
    /// A figure of a scenario that is still to be run for that, with its name.
    Other(String, Figure, Box<Scenario>),
    /// A figure of the limits of the machine.
    Limit(Limit, Box<fsdp::FsdpLimits>),
    /// The days of a training.
    Training(Box<TrainingRun>),
}

/// An explanation that waits for its scenario to be run.
#[derive(Debug, Clone)]
pub struct Awaited {
    pub(super) whose: String,
    pub(super) figure: Figure,
    pub(super) scenario: Box<Scenario>,
}

/// An explanation and the way to it.
#[derive(Debug, Clone)]
pub struct Explaining {
    subject: Explained,
    /// What else than the scenario shown the figures are of: `zero3`.
    whose: Option<String>,
    /// The explanations that led here, the one on the screen last.
    way: Vec<Page>,
}

/// What the figures are of.
#[derive(Debug, Clone)]
enum Explained {
    /// An evaluated step.
    Step(Box<Answer>),
    /// The limits of the machine.
    Limits(Box<fsdp::FsdpLimits>),
    /// A plan for the shortest training.
    Run(Box<TrainingRun>),
}

impl Explained {
    fn explain(&self, figure: Figure) -> Option<Page> {
        let explanation = match (self, figure) {
            (Self::Step(answer), _) => explain(figure, &answer.scenario, &answer.evaluation),
            (Self::Limits(limits), Figure::Limits(which, form)) => limits::explain(which, form, limits),
            (Self::Run(run), Figure::Run(which)) => Some(run::explain(which, run)),
            _ => None,
        };
        explanation.map(|explanation| Page { explanation, cursor: ListCursor::default() })
    }

    /// All that there are, in the order in which one turns from one to the next.
    fn figures(&self) -> Vec<Figure> {
        match self {
            Self::Step(answer) => figures(&answer.scenario, &answer.evaluation),
            Self::Limits(_) => limits::all().map(|(which, form)| Figure::Limits(which, form)).collect(),
            Self::Run(_) => run::ALL.map(Figure::Run).into(),
        }
    }
}

/// One explanation.
#[derive(Debug, Clone)]
pub struct Page {
    /// What it says.
    pub explanation: Explanation,
    /// The input that the cursor is on; behind the last one what the figure is, and who says so.
    cursor: ListCursor,
}

impl Page {
    /// Where the cursor can be: on each input, on what the figure is, and on who says so.
    fn stops(&self) -> usize {
        self.explanation.formula.inputs().len() + 2
    }

    /// Where the cursor is: on an input, or behind the last one.
    pub fn row(&self) -> usize {
        self.cursor.row(self.stops())
    }
}

impl Explaining {
    /// The explanation of a figure of an answer, and whose it is where that is not what the screen shows.
    pub fn new(figure: Figure, answer: &Answer, whose: Option<String>) -> Option<Self> {
        Self::about(figure, Explained::Step(Box::new(answer.clone())), whose)
    }

    /// The explanation of one of the limits, of a bound as the network floor.
    pub fn limit(which: Limit, limits: Box<fsdp::FsdpLimits>) -> Option<Self> {
        Self::about(Figure::Limits(which, BoundForm::Floor), Explained::Limits(limits), None)
    }

    /// The explanation of a training's days.
    pub fn training(run: Box<TrainingRun>) -> Option<Self> {
        Self::about(Figure::Run(RunFigure::Days), Explained::Run(run), None)
    }

    fn about(figure: Figure, subject: Explained, whose: Option<String>) -> Option<Self> {
        let page = subject.explain(figure)?;
        Some(Self { subject, whose, way: vec![page] })
    }

    /// What is explained: `step time`, or `step time, zero3` of something else than the scenario shown.
    pub fn title(&self) -> Option<String> {
        let name = &self.page()?.explanation.name;
        Some(self.whose.as_ref().map_or_else(|| name.clone(), |whose| format!("{name}, {whose}")))
    }

    /// What is on the screen.
    pub fn page(&self) -> Option<&Page> {
        self.way.last()
    }

    /// The names of the figures that led here, from the first.
    pub fn way(&self) -> impl Iterator<Item = &str> {
        self.way.iter().map(|page| page.explanation.name.as_str())
    }

    /// Does what the user asked for.
    pub fn update(&mut self, action: Action, rows: usize) {
        match action {
            Action::Take | Action::Right => self.follow(),
            Action::Left if self.way.len() > 1 => drop(self.way.pop()),
            Action::NextPanel => self.turn(1),
            Action::PreviousPanel => self.turn(-1),
            _ => {
                if let Some(page) = self.way.last_mut() {
                    page.cursor.go(action, page.stops(), rows);
                }
            }
        }
    }

    /// The cursor goes to an input, or to what stands under them.
    pub(super) fn go_to(&mut self, row: usize) {
        if let Some(page) = self.way.last_mut() {
            page.cursor = ListCursor::at(row);
        }
    }

    /// Goes on to the input under the cursor, if it is a figure.
    fn follow(&mut self) {
        let inputs = |page: &Page| page.explanation.formula.inputs().get(page.row()).and_then(|input| input.figure);
        let Some(figure) = self.page().and_then(inputs) else { return };
        self.way.extend(self.subject.explain(figure));
    }

    /// To the next figure in the order of the reports, or the one before.
    fn turn(&mut self, by: isize) {
        let Some(page) = self.page() else { return };
        let all = self.subject.figures();
        let Some(at) = all.iter().position(|figure| *figure == page.explanation.figure) else { return };
        let next = (at.cast_signed() + by).rem_euclid(all.len().cast_signed()).cast_unsigned();
        if let Some(page) = self.subject.explain(all[next]) {
            self.way = vec![page];
        }
    }
}

/// The figures of the panel of the time, in the order of its rows: parts that anything goes into, levels that
/// anything is sent into, what is copied to the host and from it, resources that matter, the strongest first.
pub fn breakdown(answer: Option<&Answer>) -> Vec<Figure> {
    let Some(Answer { scenario, evaluation }) = answer else { return Vec::new() };
    let summary = &evaluation.summary;
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let share = |figure: &Figure| figure.amount(&subject).map_or(0.0, |part| part.value / summary.step_time.get());
    let spent = TIME_PARTS.into_iter().filter(|figure| share(figure) >= SEEN);
    let levels = scenario.cluster.levels.iter().zip(&summary.traffic).enumerate();
    let used = levels.filter(|(_, (_, traffic))| traffic.bytes_per_device.get() > 0.0);
    let mut felt: Vec<usize> = (0..evaluation.elasticity.len()).collect();
    felt.retain(|index| evaluation.elasticity[*index].value.abs() >= FELT);
    let strength = |index: &usize| evaluation.elasticity[*index].value.abs();
    felt.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
    spent
        .chain(used.map(|(level, _)| Figure::Traffic(level)))
        .chain(HostDirection::ALL.into_iter().filter(|_| summary.host.any()).map(Figure::Copied))
        .chain(felt.into_iter().map(Figure::Elasticity))
        .chain(figures::training(scenario))
        .collect()
}

/// The smallest share of the step that is worth a row.
const SEEN: f64 = 0.000_5;

/// The smallest elasticity that is worth a row.
const FELT: f64 = 0.005;

/// The figure that a field changes most plainly.
pub(super) const fn of_field(field: Field) -> Figure {
    match field {
        Field::Nodes | Field::Devices => Figure::TokensPerSecond,
        Field::Bandwidth => Figure::Exposed,
        Field::Memory => Figure::Capacity,
        Field::Strategy | Field::Shard | Field::WeightsOver => Figure::Weights,
        Field::MicroBatch | Field::Accumulate | Field::Sequence => Figure::TokensPerStep,
        Field::Recompute => Figure::Recomputed,
        Field::Precision | Field::Model | Field::FlopCount => Figure::Mfu,
        Field::Optimizer | Field::OptimizerOver => Figure::OptimizerState,
        Field::Offload | Field::Cluster => Figure::Peak,
        Field::Pipeline | Field::Schedule | Field::StagesPerRank => Figure::Bubble,
        Field::Tokens => Figure::Days,
        _ => Figure::StepTime,
    }
}

#[cfg(test)]
mod tests;
