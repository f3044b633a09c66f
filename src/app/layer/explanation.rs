//! The explanation on the screen: which figure, what its cursor is on, and the way that led there.

use shardscope_engine::bounds::fsdp;
use shardscope_engine::scenario::Scenario;
use shardscope_report::figures::run::TrainingRun;
use shardscope_report::figures::{BoundForm, Explanation, Figure, Limit, RunFigure, explain, figures, limits, run};

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::answers::Answer;
use crate::app::views::View;

/// An explanation that waits for its scenario to be run.
#[derive(Debug, Clone)]
pub struct Awaited {
    pub(crate) whose: String,
    pub(crate) figure: Figure,
    pub(crate) scenario: Box<Scenario>,
}

/// An explanation and the way to it.
#[derive(Debug, Clone)]
pub struct Explaining {
    subject: Explained,
    /// The name of the figures' scenario, where it is not the one shown: `zero3`.
    whose: Option<String>,
    /// The explanations that led here, the one on the screen last.
    way: Vec<Page>,
    /// All figures that there are of the same, once one has turned to the next.
    all: Vec<Figure>,
}

/// The scenario of the figures.
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
    /// The text of the explanation.
    pub explanation: Explanation,
    /// The input that the cursor is on; behind the last one what the figure is, and its source.
    cursor: ListCursor,
}

impl Page {
    /// Where the cursor can be: on each input, on what the figure is, and on its source.
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
        Some(Self { subject, whose, way: vec![page], all: Vec::new() })
    }

    /// The title: `step time`, or `step time, zero3` of something else than the scenario shown.
    pub fn title(&self) -> Option<String> {
        let name = &self.page()?.explanation.name;
        Some(self.whose.as_ref().map_or_else(|| name.clone(), |whose| format!("{name}, {whose}")))
    }

    /// The figure on the screen.
    pub fn page(&self) -> Option<&Page> {
        self.way.last()
    }

    /// The names of the figures that led here, from the first.
    pub fn way(&self) -> impl Iterator<Item = &str> {
        self.way.iter().map(|page| page.explanation.name.as_str())
    }

    /// Goes on to the input under the cursor, if it is a figure.
    fn follow(&mut self) {
        let inputs = |page: &Page| page.explanation.formula.inputs().get(page.row()).and_then(|input| input.figure);
        let Some(figure) = self.page().and_then(inputs) else { return };
        self.way.extend(self.subject.explain(figure));
    }

    /// To the next figure in the order of the reports, or the one before.
    fn turn(&mut self, by: isize) {
        let Some(now) = self.page().map(|page| page.explanation.figure) else { return };
        // Listed once: each kernel's figure needs all kernels of the layer.
        if self.all.is_empty() {
            self.all = self.subject.figures();
        }
        let Some(at) = self.all.iter().position(|figure| *figure == now) else { return };
        let next = (at.cast_signed() + by).rem_euclid(self.all.len().cast_signed()).cast_unsigned();
        if let Some(page) = self.subject.explain(self.all[next]) {
            self.way = vec![page];
        }
    }
}

impl View for Explaining {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match action {
            Action::Close => return vec![Effect::Close],
            Action::Take | Action::Right => self.follow(),
            Action::Left if self.way.len() > 1 => drop(self.way.pop()),
            Action::NextPanel => self.turn(1),
            Action::PreviousPanel => self.turn(-1),
            _ => {}
        }
        Vec::new()
    }

    fn rows(&self, _: &Context) -> Option<Vec<String>> {
        let explanation = &self.page()?.explanation;
        let inputs = explanation.formula.inputs();
        let inputs = inputs.iter().map(|input| input.name.clone());
        Some(inputs.chain([explanation.about.to_string(), explanation.source.to_string()]).collect())
    }

    fn cursor(&self, _: &Context) -> usize {
        self.page().map_or(0, Page::row)
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.way.last_mut()?.cursor)
    }
}

#[cfg(test)]
mod tests;
