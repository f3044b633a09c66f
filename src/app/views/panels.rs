//! The panels of the memory and of the time: where the bytes and the seconds of a step go.

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::notice::{Asked, Notice};
use crate::app::answers::Answer;
use crate::app::views::View;
use shardscope_engine::evaluate::{Evaluation, HostDirection};
use shardscope_report::figures::{self, Figure, FigureSubject, TIME_PARTS};

/// The rank that is looked at is the timeline's; the panel has nothing of its own.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryPanel;

impl View for MemoryPanel {
    fn update(&mut self, action: Action, context: &Context) -> Vec<Effect> {
        let Some(answer) = context.answer else { return Vec::new() };
        let stages = &answer.evaluation.stages;
        if let (Action::Take, Some(peak)) = (action, stages.get(context.rank)) {
            return vec![Effect::Moment(peak.moment)];
        }
        let mut rank = ListCursor::at(context.rank);
        let count = answer.evaluation.trace.ranks() as usize;
        rank.go(action, count, context.page);
        vec![Effect::Rank(rank.row(count))]
    }

    fn figure(&self, _: &Context) -> Result<Asked, Notice> {
        Ok(Asked::Shown(Figure::Peak))
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        let ranks = context.answer?.evaluation.trace.ranks();
        (ranks > 1).then(|| (0..ranks).map(|rank| format!("rank {rank}")).collect())
    }

    fn cursor(&self, context: &Context) -> usize {
        context.rank
    }

    fn go_to(&mut self, row: usize, _: &Context) -> Option<Effect> {
        Some(Effect::Rank(row))
    }
}

/// The row that has the keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimePanel(ListCursor);

impl View for TimePanel {
    fn figure(&self, context: &Context) -> Result<Asked, Notice> {
        let figure = breakdown(context.answer).get(self.cursor(context)).copied();
        Ok(Asked::Shown(figure.unwrap_or(Figure::StepTime)))
    }

    fn rows(&self, context: &Context) -> Option<Vec<String>> {
        context.names(breakdown(context.answer))
    }

    fn cursor(&self, context: &Context) -> usize {
        self.0.row(breakdown(context.answer).len())
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.0)
    }
}

/// The figures of the panel of the time, in the order of its rows: parts that anything goes into, what the whole
/// training takes, levels that anything is sent into, what is copied to the host and from it, and what more of each
/// resource would give.
pub fn breakdown(answer: Option<&Answer>) -> Vec<Figure> {
    let Some(Answer { scenario, evaluation }) = answer else { return Vec::new() };
    let summary = &evaluation.summary;
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let share = |figure: &Figure| figure.amount(&subject).map_or(0.0, |part| part.value / summary.step_time.get());
    let spent = TIME_PARTS.into_iter().flat_map(with_its_part).filter(|figure| share(figure) >= SEEN);
    let levels = scenario.cluster.levels.iter().zip(&summary.traffic).enumerate();
    let used = levels.filter(|(_, (_, traffic))| traffic.bytes_per_device.get() > 0.0);
    spent
        .chain(figures::training(scenario))
        .chain(used.map(|(level, _)| Figure::Traffic(level)))
        .chain(HostDirection::ALL.into_iter().filter(|_| summary.host.any()).map(Figure::Copied))
        .chain(gains(evaluation).map(|(index, _)| Figure::Elasticity(index)))
        .collect()
}

/// A part of the step, and under compute what of it transfers cost.
fn with_its_part(figure: Figure) -> impl Iterator<Item = Figure> {
    std::iter::once(figure).chain((figure == Figure::Compute).then_some(Figure::Slowed))
}

/// Gains from 10 % of each resource that are worth a row, by its place among the elasticities: the ranking of what limits
/// the step, then more memory.
pub fn gains(evaluation: &Evaluation) -> impl Iterator<Item = (usize, f64)> {
    let all = evaluation.ranking().chain(evaluation.more_memory());
    all.map(|(index, one)| (index, one.gain)).filter(|(_, gain)| *gain >= SEEN)
}

/// The smallest share of the step, and the smallest gain, that is worth a row.
const SEEN: f64 = 0.000_5;
