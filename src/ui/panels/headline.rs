//! Two lines over everything: what it is, whether it fits, how fast, what it costs, what limits it.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::text::{Line, Span};

use super::{fits, two_sided, words};
use crate::app::{Answer, App};
use crate::evaluate::{Evaluation, Summary};
use crate::figures::{self, Amount, Figure, StepLimit, Verdict};
use crate::scenario::Scenario;
use crate::ui::theme::{Role, Theme};
use crate::units::{devices, significant};

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
            let facts = HeadlineFacts::new(app, answer, theme);
            let (verdict, speed, limit) = if wide { facts.wide() } else { facts.compact() };
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

/// The figures in words.
struct HeadlineFacts {
    verdict: Span<'static>,
    speed: Span<'static>,
    mfu: Span<'static>,
    utilisation: Span<'static>,
    bubble: Span<'static>,
    step: Span<'static>,
    tokens: Span<'static>,
    days: Span<'static>,
    training: [Span<'static>; 3],
    limit: StepLimit,
    difference: Option<Span<'static>>,
}

impl HeadlineFacts {
    fn new(app: &App, answer: &Answer, theme: Theme) -> Self {
        let Answer { scenario, evaluation } = answer;
        let summary = &evaluation.summary;
        let tokens = summary.tokens_per_s();
        let training = scenario.plan.tokens.map_or_else(Default::default, |tokens| training(tokens, answer));
        Self {
            verdict: verdict(summary, theme),
            speed: Span::styled(speed(evaluation, theme), theme.style(Role::Title)),
            mfu: Span::raw(format!("{:.1} % MFU", 100.0 * summary.mfu)),
            utilisation: Span::raw(format!("MFU {:.1}, HFU {:.1} %", 100.0 * summary.mfu, 100.0 * summary.hfu)),
            bubble: Span::raw(bubble(summary)),
            step: Span::raw(format!("step {}", summary.step_time)),
            tokens: Span::raw(format!("{} tokens/s", words::count(tokens))),
            days: Span::raw(days(answer)),
            training: training.map(Span::raw),
            limit: figures::limit(scenario, evaluation),
            difference: difference(app, summary, theme),
        }
    }

    /// The right of the first line, the left and the right of the second.
    fn wide(self) -> (Vec<Span<'static>>, Vec<Span<'static>>, Vec<Span<'static>>) {
        (
            vec![self.verdict, self.speed, self.utilisation],
            [self.step, self.bubble, self.tokens].into_iter().chain(self.training).collect(),
            std::iter::once(Span::raw(self.limit.to_string())).chain(self.difference).collect(),
        )
    }

    /// The same where there is little room: the limit in few words, which the difference to the pinned one replaces.
    fn compact(self) -> (Vec<Span<'static>>, Vec<Span<'static>>, Vec<Span<'static>>) {
        let last = self.difference.unwrap_or_else(|| Span::raw(self.limit.what));
        (vec![self.verdict], vec![self.speed, self.tokens, self.days, self.mfu, self.step, self.bubble], vec![last])
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

/// How long the whole training takes: `3.77 days`.
fn days(answer: &Answer) -> String {
    let days = Figure::Days.amount(&answer.subject());
    days.map_or_else(String::new, |days| format!("{} days", days.in_row()))
}

/// The whole training, and what it takes: `300B in 3.77 days`, `34,790 device-hours`, `86,975 EUR, 24.4 MWh`.
fn training(tokens: f64, answer: &Answer) -> [String; 3] {
    let subject = answer.subject();
    let said = |figure: Figure| figure.amount(&subject).map(Amount::in_row);
    let [days, hours] = [Figure::Days, Figure::DeviceHours].map(|figure| said(figure).unwrap_or_default());
    let spent = [Figure::Cost, Figure::Energy].into_iter().filter_map(said);
    let spent = spent.collect::<Vec<_>>().join(", ");
    [format!("{} in {days} days", words::count(tokens)), format!("{hours} device-hours"), spent]
}

/// Against the first pinned scenario: `▸ step −36 %, speed +56 % vs A`.
fn difference(app: &App, summary: &Summary, theme: Theme) -> Option<Span<'static>> {
    let (_, pinned) = app.pins.reference()?;
    let mark = theme.glyphs().pinned;
    let text = if pinned == summary {
        format!("{mark} pinned")
    } else {
        let step = words::change(pinned.step_time.get(), summary.step_time.get(), theme);
        let speed = words::change(pinned.tokens_per_s_per_device, summary.tokens_per_s_per_device, theme);
        format!("{mark} step {step}, speed {speed} vs A")
    };
    Some(Span::styled(text, theme.style(Role::Accent)))
}
