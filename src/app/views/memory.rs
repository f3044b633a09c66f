//! The panel of the memory: it shows the pipeline rank that the timeline is at.

use crate::app::action::Action;
use crate::app::action::asked::Asked;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::action::notice::Notice;
use crate::app::views::view::View;
use shardscope_report::figures::Figure;

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
