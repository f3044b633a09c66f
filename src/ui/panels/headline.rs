//! Three lines over everything: what it is and whether it fits; what the whole job takes; how fast, and what limits it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};

use super::{fits, two_sided, words};
use crate::app::{Answer, App};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{draw_line, wrapped};
use shardscope_engine::evaluate::{Evaluation, Summary, chance_of_fitting};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{
    Amount, Seconds, devices, percent, rounded_percent, significant, thousands, whole_percent,
};
use shardscope_report::figures::{self, Figure, Verdict};

/// Rows that it takes on a terminal of so many.
pub(in crate::ui) const fn height(rows: u16) -> u16 {
    if rows < ROOMY { 2 } else { 3 }
}

/// Rows of a terminal from which on what the whole job takes has one.
const ROOMY: u16 = 20;

/// Draws it; `wide` says how the facts are shared between the lines.
pub(in crate::ui) fn render(app: &App, theme: Theme, wide: bool, area: Rect, buf: &mut Buffer) {
    let rows: Vec<Rect> = area.inner(Margin::new(1, 0)).rows().collect();
    let (Some(first), Some(last)) = (rows.first().copied(), rows.last().copied()) else { return };
    match (&app.shown, &app.answer) {
        (Err(problems), _) => {
            let verdict = Span::styled("NOT POSSIBLE", theme.style(Role::Bad));
            two_sided(&title(&app.scenario, wide), &[verdict], true, theme, first, buf);
            let lines = problems.first().map_or_else(Vec::new, |problem| {
                let way_out = app.way_out().unwrap_or_else(|| problem.fix.clone());
                refusal(&problem.what, &way_out, first.width, rows.len() - 1)
            });
            for (line, row) in lines.into_iter().zip(&rows[1..]) {
                draw_line(buf, *row, &Line::from(line), theme);
            }
        }
        (Ok(scenario), None) => {
            let waiting = Span::styled("computing", theme.style(Role::Dim));
            two_sided(&title(scenario, wide), &[waiting], true, theme, first, buf);
        }
        (Ok(_), Some(answer)) => {
            let verdict = verdict(answer, wide, theme);
            let mark = calibrated(app, &answer.scenario, theme).into_iter().chain(cautioned(answer, theme));
            let mark: Vec<Span> = mark.collect();
            let name = |long: bool| title(&answer.scenario, long).into_iter().chain(mark.clone()).collect::<Vec<_>>();
            let name = Some(name(true))
                .filter(|long| wide && fits(long, &verdict, theme, first))
                .unwrap_or_else(|| name(false));
            two_sided(&name, &verdict, true, theme, first, buf);
            if rows.len() > 2 {
                job(answer, theme, rows[1], buf);
            }
            step(app, answer, wide, theme, last, buf);
        }
    }
}

/// A problem and its fix; the fix comes first where there is not room for both.
fn refusal(what: &str, fix: &str, width: u16, rows: usize) -> Vec<String> {
    let [whole, advice] = [format!("{what}; {fix}"), format!("{fix}: {what}")].map(|text| wrapped(&text, width.into()));
    if whole.len() <= rows { whole } else { advice }
}

/// Names the scenario; `long` counts devices as well as nodes.
fn title(scenario: &Scenario, long: bool) -> Vec<Span<'static>> {
    let count = scenario.devices();
    let per_node = scenario.cluster.devices_per_node().max(1);
    let (nodes, whole) = (count / per_node, count.is_multiple_of(per_node));
    let word = if nodes == 1 { "node" } else { "nodes" };
    let size = match (whole, long) {
        (true, true) => format!("{nodes} {word} = {}", devices(count)),
        (true, false) => format!("{nodes} {word}"),
        (false, _) => devices(count),
    };
    let Scenario { cluster, model, strategy, .. } = scenario;
    let machine = [cluster.id.clone()].into_iter().chain(scenario.altered()).collect::<Vec<_>>().join(", ");
    [model.id.clone(), machine, strategy.to_string(), size].map(Span::raw).into()
}

/// That a scenario counts with what a run of the user's own has told.
fn calibrated(app: &App, scenario: &Scenario, theme: Theme) -> Option<Span<'static>> {
    app.inputs.measured.as_ref().filter(|run| run.counts_in(scenario))?;
    Some(Span::styled("by your run", theme.style(Role::Accent)))
}

/// How many caveats there are, which the key `!` lists: `!3`.
fn cautioned(answer: &Answer, theme: Theme) -> Option<Span<'static>> {
    let count = figures::caveats(&answer.scenario, &answer.evaluation.summary).len();
    (count > 0).then(|| Span::styled(format!("!{count}"), theme.style(Role::Warn)))
}

/// The time and cost of the whole job.
const JOB: [Figure; 4] = [Figure::Days, Figure::DeviceHours, Figure::Cost, Figure::TotalTokens];

/// The facts beside the verdict on a wide screen, and the other facts of the step; on a narrow one all are facts of the step.
const WIDE: ([Figure; 2], [Figure; 3]) =
    ([Figure::ModelFlops, Figure::Mfu], [Figure::StepTime, Figure::LostToTransfers, Figure::Bubble]);
const COMPACT: [Figure; 4] = [Figure::ModelFlops, Figure::Mfu, Figure::StepTime, Figure::Bubble];

fn facts(figures: &[Figure], answer: &Answer, wide: bool, theme: Theme) -> Vec<Span<'static>> {
    let fact = |figure: &Figure| {
        let role = if *figure == Figure::ModelFlops { Role::Title } else { Role::Text };
        Span::styled(format_figure(*figure, answer, wide, theme), theme.style(role))
    };
    figures.iter().map(fact).collect()
}

/// Whether it fits, and how fast where there is room.
fn verdict(answer: &Answer, wide: bool, theme: Theme) -> Vec<Span<'static>> {
    let beside: &[Figure] = if wide { &WIDE.0 } else { &[] };
    let verdict = in_memory(answer, wide, theme);
    std::iter::once(verdict).chain(facts(beside, answer, wide, theme)).collect()
}

/// The row of the whole job, with the batch of its steps where there is room beside its figures; the training's tokens too.
fn job(answer: &Answer, theme: Theme, row: Rect, buf: &mut Buffer) {
    let batch = [Span::raw(format!("batch {}", thousands(answer.scenario.sequences())))];
    let forms = [true, false].map(|long| facts(&JOB, answer, long, theme));
    let [_, short] = &forms;
    let beside = forms.iter().find(|figures| fits(figures, &batch, theme, row));
    let (figures, batch) = beside.map_or((short, &[][..]), |figures| (figures, &batch[..]));
    two_sided(figures, batch, true, theme, row, buf);
}

/// The row of the step: how fast, what limits it, and how it differs from what was measured or pinned. What limits it
/// becomes shorter before any of that goes; where even so there is no room, the difference stays.
fn step(app: &App, answer: &Answer, wide: bool, theme: Theme, row: Rect, buf: &mut Buffer) {
    let Answer { scenario, evaluation } = answer;
    let limit = figures::limit(scenario, evaluation);
    let figures = if wide { facts(&WIDE.1, answer, wide, theme) } else { facts(&COMPACT, answer, wide, theme) };
    let difference = measured(app, answer, theme).or_else(|| difference(app, &evaluation.summary, wide, theme));
    let limits = [limit.to_string(), limit.what, limit.short].map(|limit| Some(Span::raw(limit)));
    let forms = limits.into_iter().chain([None]).map(|limit| limit.into_iter().chain(difference.clone()));
    let forms: Vec<Vec<Span>> = forms.map(Iterator::collect).collect();
    let right = forms.iter().find(|right| fits(&figures, right, theme, row)).or(forms.last());
    two_sided(&figures, right.map_or(&[], Vec::as_slice), false, theme, row, buf);
}

/// A figure in the words of the headline; nothing where there is no such figure. What goes with it stands beside it where
/// it is wide: the other utilisation, the tokens of the training, the energy.
fn format_figure(figure: Figure, answer: &Answer, wide: bool, theme: Theme) -> String {
    let Answer { scenario, evaluation } = answer;
    let (summary, subject) = (&evaluation.summary, answer.subject());
    let row = |figure: Figure| figure.amount(&subject).map(Amount::in_row);
    let told = |before: &str| {
        figure.amount(&subject).map_or_else(String::new, |amount| format!("{before}{}", amount.in_words()))
    };
    match figure {
        Figure::ModelFlops => speed(evaluation, theme),
        // How more can be counted than is computed, `i` says.
        Figure::Mfu if summary.mfu > 1.0 => format!("{} {}, not all computed", percent(summary.mfu), figure.label()),
        Figure::Mfu if wide => format!("MFU {:.1}, HFU {}", 100.0 * summary.mfu, percent(summary.hfu)),
        Figure::Mfu => format!("{} {}", percent(summary.mfu), figure.label()),
        Figure::LostToTransfers => {
            words::lost_to_transfers(answer).map_or_else(String::new, |share| format!("transfers {share}"))
        }
        Figure::Bubble => bubble(summary),
        Figure::Days => {
            let trained = scenario.plan.length().filter(|_| wide);
            told(&trained.map_or_else(String::new, |tokens| format!("{} in ", words::count(tokens))))
        }
        Figure::TotalTokens => format!("{} tokens/s", words::count(summary.tokens_per_s())),
        Figure::DeviceHours => told(""),
        Figure::Cost => [Figure::Cost, Figure::Energy].into_iter().filter_map(row).collect::<Vec<_>>().join(", "),
        _ => told("step "),
    }
}

fn in_memory(answer: &Answer, wide: bool, theme: Theme) -> Span<'static> {
    let summary = &answer.evaluation.summary;
    let chance = whole_percent(chance_of_fitting(&answer.scenario, &summary.memory));
    let chance = if wide { format!(", P(fits) {chance}") } else { String::new() };
    let memory = words::of_capacity(summary.memory.peak, summary.memory.capacity);
    let (word, role) = match Verdict::new(summary) {
        Verdict::Fits => ("FITS", Role::Good),
        Verdict::Tight => ("FITS, TIGHT", Role::Warn),
        Verdict::DoesNotFit => ("DOES NOT FIT", Role::Bad),
    };
    Span::styled(format!("{word} {memory}{chance}"), theme.style(role))
}

/// The rate with its band: `412 TFLOP/s 395–430`.
fn speed(evaluation: &Evaluation, theme: Theme) -> String {
    let summary = &evaluation.summary;
    let band = evaluation.error_band.map(|band| {
        let [low, high] = band.model_flops(summary).map(|flops| {
            let tera = flops.get() / 1e12;
            significant(tera, if tera < 100.0 { 2 } else { 3 })
        });
        format!(" {low}{}{high}", theme.glyphs().to)
    });
    format!("{}{}", summary.model_flops, band.unwrap_or_default())
}

/// The share of the step in which compute waits for another pipeline rank, where there is any: `bubble 19 %`.
fn bubble(summary: &Summary) -> String {
    match summary.time.bubble / summary.step_time {
        none if none < 0.0005 => String::new(),
        share => format!("bubble {}", rounded_percent(share)),
    }
}

/// The step, or the peak, that was measured of what is shown: `measured 3.41 s, +13 %`.
fn measured(app: &App, answer: &Answer, theme: Theme) -> Option<Span<'static>> {
    let run = app.inputs.measured.as_ref().filter(|run| run.is_of(&answer.scenario))?;
    let summary = &answer.evaluation.summary;
    let Some(seconds) = run.figure.seconds(summary) else {
        return Some(Span::styled(format!("measured {}", run.figure), theme.style(Role::Accent)));
    };
    let change = words::change(summary.step_time.get(), seconds, theme);
    let inside =
        answer.evaluation.error_band.is_none_or(|band| (band.low..=band.high).contains(&Seconds::new(seconds)));
    let role = if inside { Role::Accent } else { Role::Warn };
    Some(Span::styled(format!("measured {}, {change}", Seconds::new(seconds)), theme.style(role)))
}

/// Against the first pinned scenario: `▸ step −36 %, tokens/s +56 % vs A`; of another size, which takes other steps for the
/// same training, `▸ tokens/s +45 %, per device −3.2 % vs A`; where there is little room only that of all tokens.
fn difference(app: &App, summary: &Summary, wide: bool, theme: Theme) -> Option<Span<'static>> {
    let (_, pinned) = app.pins.reference()?;
    let mark = theme.glyphs().pinned;
    let text = if pinned == summary {
        format!("{mark} pinned")
    } else {
        let change = |of: fn(&Summary) -> f64| words::change(of(pinned), of(summary), theme);
        let tokens = words::change(pinned.tokens_per_s(), summary.tokens_per_s(), theme);
        if !wide {
            format!("{mark} tokens/s {tokens} vs A")
        } else if pinned.devices == summary.devices {
            format!("{mark} step {}, tokens/s {tokens} vs A", change(|summary| summary.step_time.get()))
        } else {
            let each = change(|summary| summary.tokens_per_s_per_device);
            format!("{mark} tokens/s {tokens}, per device {each} vs A")
        }
    };
    Some(Span::styled(text, theme.style(Role::Accent)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_comes_first_where_there_is_not_room_for_both() {
        let [what, fix] = ["1,024 sequences are no multiple of 4,096", "choose 4096 or micro-batch 2"];
        let whole = "1,024 sequences are no multiple of 4,096; choose 4096 or micro-batch 2";
        assert_eq!(refusal(what, fix, 80, 1), [whole]);
        assert!(refusal(what, fix, 40, 1)[0].starts_with("choose 4096 or micro-batch 2:"));
    }
}
