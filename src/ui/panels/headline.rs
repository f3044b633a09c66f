//! Two lines over everything: what it is, whether it fits, how fast, what it costs, what limits it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};

use super::{fits, two_sided, words};
use crate::app::{Answer, App};
use crate::evaluate::{Evaluation, Summary};
use crate::figures::{self, Amount, Figure, Verdict};
use crate::scenario::Scenario;
use crate::ui::theme::{Role, Theme};
use crate::units::{Seconds, devices, significant};

/// Draws it; `wide` says how the facts are shared between the lines.
pub(in crate::ui) fn render(app: &App, theme: Theme, wide: bool, area: Rect, buf: &mut Buffer) {
    let mut rows = area.inner(Margin::new(1, 0)).rows();
    let (Some(first), Some(second)) = (rows.next(), rows.next()) else { return };
    match (&app.shown, &app.answer) {
        (Err(problems), _) => {
            let verdict = Span::styled("NOT POSSIBLE", theme.style(Role::Bad));
            two_sided(&title(&app.scenario, wide), &[verdict], true, theme, first, buf);
            let why = problems.first().map_or_else(String::new, |problem| problem.what.clone());
            buf.set_line(second.x, second.y, &Line::from(why), second.width);
        }
        (Ok(scenario), None) => {
            let waiting = Span::styled("computing", theme.style(Role::Dim));
            two_sided(&title(scenario, wide), &[waiting], true, theme, first, buf);
        }
        (Ok(_), Some(answer)) => {
            let [verdict, speed, limit] = facts(app, answer, wide, theme);
            let long = title(&answer.scenario, true);
            let name = if wide && fits(&long, &verdict, theme, first) { long } else { title(&answer.scenario, false) };
            two_sided(&name, &verdict, true, theme, first, buf);
            two_sided(&speed, &limit, false, theme, second, buf);
        }
    }
}

/// What the scenario is; `long` counts devices as well as nodes.
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

/// What stands beside the verdict, and under it on the left, where there is room for all; and what does where there is
/// little.
const WIDE: ([Figure; 2], [Figure; 6]) = (
    [Figure::ModelFlops, Figure::Mfu],
    [Figure::StepTime, Figure::Bubble, Figure::TotalTokens, Figure::Days, Figure::DeviceHours, Figure::Cost],
);
const COMPACT: [Figure; 6] =
    [Figure::ModelFlops, Figure::TotalTokens, Figure::Days, Figure::Mfu, Figure::StepTime, Figure::Bubble];

/// The right of the first line, the left and the right of the second. Where there is little room, the difference to the
/// pinned scenario replaces the limit, which is given in few words.
fn facts(app: &App, answer: &Answer, wide: bool, theme: Theme) -> [Vec<Span<'static>>; 3] {
    let Answer { scenario, evaluation } = answer;
    let verdict = verdict(&evaluation.summary, theme);
    let said = |figure: &Figure| {
        let role = if *figure == Figure::ModelFlops { Role::Title } else { Role::Text };
        Span::styled(said(*figure, answer, wide, theme), theme.style(role))
    };
    let limit = figures::limit(scenario, evaluation);
    let difference = measured(app, answer, theme).or_else(|| difference(app, &evaluation.summary, wide, theme));
    if wide {
        let (beside, under) = (WIDE.0.iter().map(said), WIDE.1.iter().map(said));
        let last = std::iter::once(Span::raw(limit.to_string())).chain(difference);
        return [std::iter::once(verdict).chain(beside).collect(), under.collect(), last.collect()];
    }
    let last = difference.unwrap_or_else(|| Span::raw(limit.short));
    [vec![verdict], COMPACT.iter().map(said).collect(), vec![last]]
}

/// A figure in the words of the headline; nothing where there is no such figure. What goes with it stands beside it where
/// it is wide: the other utilisation, the tokens of the training, the energy.
fn said(figure: Figure, answer: &Answer, wide: bool, theme: Theme) -> String {
    let Answer { scenario, evaluation } = answer;
    let (summary, subject) = (&evaluation.summary, answer.subject());
    let row = |figure: Figure| figure.amount(&subject).map(Amount::in_row);
    let with = |before: &str, after: &str| row(figure).map_or_else(String::new, |row| format!("{before}{row}{after}"));
    match figure {
        Figure::ModelFlops => speed(evaluation, theme),
        Figure::Mfu if wide => format!("MFU {:.1}, HFU {:.1} %", 100.0 * summary.mfu, 100.0 * summary.hfu),
        Figure::Mfu => format!("{:.1} % MFU", 100.0 * summary.mfu),
        Figure::Bubble => bubble(summary),
        Figure::TotalTokens => format!("{} tokens/s", words::count(summary.tokens_per_s())),
        Figure::Days => {
            let trained = scenario.plan.tokens.filter(|_| wide);
            with(&trained.map_or_else(String::new, |tokens| format!("{} in ", words::count(tokens))), " days")
        }
        Figure::DeviceHours => with("", " device-hours"),
        Figure::Cost => [Figure::Cost, Figure::Energy].into_iter().filter_map(row).collect::<Vec<_>>().join(", "),
        _ => with("step ", ""),
    }
}

fn verdict(summary: &Summary, theme: Theme) -> Span<'static> {
    let memory = words::of_capacity(summary.memory.peak, summary.memory.capacity);
    let (word, role) = match Verdict::new(summary) {
        Verdict::Fits => ("FITS", Role::Good),
        Verdict::Tight => ("FITS, TIGHT", Role::Warn),
        Verdict::DoesNotFit => ("DOES NOT FIT", Role::Bad),
    };
    Span::styled(format!("{word} {memory}"), theme.style(role))
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
    match 100.0 * (summary.time.bubble / summary.step_time) {
        none if none < 0.05 => String::new(),
        small if small < 9.95 => format!("bubble {small:.1} %"),
        large => format!("bubble {large:.0} %"),
    }
}

/// The step that was measured of what is shown: `measured 3.41 s, +13 %`.
fn measured(app: &App, answer: &Answer, theme: Theme) -> Option<Span<'static>> {
    let run = app.inputs.measured.as_ref().filter(|run| run.scenario == answer.scenario)?;
    let summary = &answer.evaluation.summary;
    let seconds = run.figure.seconds(summary);
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
