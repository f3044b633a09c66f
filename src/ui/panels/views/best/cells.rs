//! The cells of the table of plans, in as many columns as there is room for.

use crate::app::App;
use crate::app::views::best::{PlanColumn, PlanRow};
use crate::ui::panels::words;
use crate::ui::theme::Theme;
use crate::ui::widgets::table::Aligned;
use shardscope_engine::evaluate::chance_of_fitting;
use shardscope_engine::search::plans::EvaluatedPlan;
use shardscope_engine::units::{Amount, thousands};
use shardscope_report::figures::{CellTone, Figure, FigureSubject, Table, TableCell, extent_words};

/// The columns that have room.
pub(super) fn shown(app: &App, width: usize) -> Vec<PlanColumn> {
    let mut shown = PlanColumn::ALL.to_vec();
    let base = app.views.best.asked().map(|search| &search.base);
    if base.is_none_or(|base| base.plan.tokens.is_none() || Figure::Cost.lacks(base).is_some()) {
        shown.retain(|column| *column != PlanColumn::Cost);
    }
    // Those that give way first; plans of one size all have as many devices.
    let alike = if app.views.best.question.sizes_differ() { PlanColumn::Against } else { PlanColumn::Devices };
    for rare in
        [PlanColumn::Cost, PlanColumn::Step, PlanColumn::Context, alike, PlanColumn::Again, PlanColumn::Pipeline]
    {
        if set(&shown).into_iter().map(Aligned::width).sum::<usize>() <= width {
            break;
        }
        // What the rows are sorted by stays in sight.
        shown.retain(|column| *column != rare || *column == app.views.best.sort);
    }
    shown
}

/// How the columns are set.
pub(super) fn set(shown: &[PlanColumn]) -> Vec<Aligned> {
    let set = |column: &PlanColumn| match column {
        PlanColumn::Rank | PlanColumn::Tensor | PlanColumn::Context => Aligned::Right(4),
        PlanColumn::Over => Aligned::Left(16),
        PlanColumn::Micro => Aligned::Right(6),
        PlanColumn::Again => Aligned::Right(10),
        PlanColumn::Pipeline | PlanColumn::Spare => Aligned::Right(7),
        PlanColumn::Cost | PlanColumn::Against => Aligned::Right(12),
        PlanColumn::Speed | PlanColumn::Devices | PlanColumn::Step => Aligned::Right(9),
    };
    shown.iter().map(set).collect()
}

/// The plans in the order of the table.
pub(super) fn compared(app: &App, theme: Theme, shown: &[PlanColumn]) -> Table {
    let best = &app.views.best;
    let timed = best.asked().is_some_and(|search| search.base.plan.tokens.is_some());
    let mut table = Table::headed(shown.iter().map(|column| heading(*column, timed)));
    let (first, last) = best.range();
    for (place, row) in best.plans().iter().enumerate() {
        let marked = first < last && (first..=last).contains(&place);
        let mark = if marked { "+" } else { "" };
        table.push(shown.iter().map(|column| cell(*column, (mark, row), timed, app, theme)).collect());
    }
    table
}

fn heading(column: PlanColumn, timed: bool) -> &'static str {
    match column {
        PlanColumn::Rank => "#",
        PlanColumn::Speed if timed => "days",
        PlanColumn::Speed => "tokens/s",
        PlanColumn::Against => "vs current",
        PlanColumn::Cost => "cost",
        PlanColumn::Devices => "devices",
        PlanColumn::Tensor => "tp",
        PlanColumn::Pipeline => "pp",
        PlanColumn::Context => "cp",
        PlanColumn::Over => "  shard W/G/O",
        PlanColumn::Micro => "micro",
        PlanColumn::Again => "recompute",
        PlanColumn::Spare => "spare",
        PlanColumn::Step => "step",
    }
}

fn cell(column: PlanColumn, (mark, row): (&str, &PlanRow), timed: bool, app: &App, theme: Theme) -> TableCell {
    let PlanRow { rank, found: EvaluatedPlan { scenario, summary, layout } } = row;
    let plan = &scenario.plan;
    let figure = |figure: Figure| {
        let amount = figure.amount(&FigureSubject::new(scenario, summary));
        TableCell::word(amount.map_or_else(String::new, Amount::in_row))
    };
    let count = |count: u32| TableCell::word(thousands(f64::from(count)));
    match column {
        PlanColumn::Rank => TableCell::word(format!("{mark}{rank}")),
        PlanColumn::Speed if timed => figure(Figure::Days),
        PlanColumn::Speed => TableCell::word(words::count(summary.tokens_per_s())),
        PlanColumn::Against => {
            let of_shown = app.answer.as_ref().map(|answer| answer.evaluation.summary.tokens_per_s());
            let change = of_shown.map(|shown| words::change(shown, summary.tokens_per_s(), theme));
            TableCell::word(change.unwrap_or_default()).toned(CellTone::Aside)
        }
        PlanColumn::Cost => figure(Figure::Cost),
        PlanColumn::Devices => count(summary.devices),
        PlanColumn::Tensor => count(plan.tensor),
        // Plans may differ in their virtual stages alone.
        PlanColumn::Pipeline if plan.virtual_stages() > 1 => {
            TableCell::word(format!("{} x {}", plan.pipeline, plan.virtual_stages()))
        }
        PlanColumn::Pipeline => count(plan.pipeline),
        PlanColumn::Context => count(plan.context),
        PlanColumn::Over if !plan.operators.is_empty() => TableCell::word("  by operator"),
        PlanColumn::Over => TableCell::word(format!("  {}", extent_words(layout, "+"))),
        PlanColumn::Micro => count(plan.micro_batch),
        PlanColumn::Again => TableCell::word(plan.recompute.to_string()),
        PlanColumn::Spare => {
            let spare = TableCell::word((summary.memory.capacity - summary.memory.peak).in_gib());
            match chance_of_fitting(scenario, &summary.memory) {
                Some(chance) if chance >= 0.9 => spare.toned(CellTone::Good),
                Some(chance) if chance < 0.5 => spare.toned(CellTone::Bad),
                _ => spare,
            }
        }
        PlanColumn::Step => TableCell::word(summary.step_time.to_string()),
    }
}
