//! The answers over everything: what it is, then whether it fits, how long the whole job takes, how fast a step is, and
//! what would help.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::{Line, Span};

use super::{fits, two_sided, words};
use crate::app::action::Action;
use crate::app::views::{advice, best};
use crate::app::{Answer, App};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{self, draw_line, wrapped};
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::plan::{Extent, Sharding};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Amount, Seconds, devices, percent, rounded_percent, significant, thousands};
use shardscope_report::figures::{self, Figure, Verdict};

/// Rows that it takes on a terminal of so many.
pub(in crate::ui) const fn height(rows: u16) -> u16 {
    match rows {
        0..ROOMY => 2,
        ROOMY..TILED => 3,
        TILED..TALL => 4,
        TALL.. => 5,
    }
}

/// Rows of a terminal from which on what the whole job takes has one.
const ROOMY: u16 = 20;

/// Rows of a terminal from which on the questions of the tiles have one.
const TILED: u16 = 34;

/// Rows of a terminal from which on what belongs to their answers has two.
const TALL: u16 = 40;

/// Draws it; `wide` says how the facts are shared between the lines.
pub(in crate::ui) fn render(app: &App, theme: Theme, wide: bool, area: Rect, buf: &mut Buffer) {
    let rows: Vec<Rect> = area.inner(Margin::new(1, 0)).rows().collect();
    let Some(first) = rows.first().copied() else { return };
    match (&app.shown, &app.answer) {
        (Err(problems), _) => {
            let verdict = Span::styled("NOT POSSIBLE", theme.style(Role::Bad));
            two_sided(&title(&app.scenario, &app.scenario.strategy, wide), &[verdict], true, theme, first, buf);
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
            two_sided(&title(scenario, &scenario.strategy, wide), &[waiting], true, theme, first, buf);
        }
        (Ok(_), Some(answer)) => {
            let mark = calibrated(app, &answer.scenario, theme).into_iter().chain(cautioned(answer, theme));
            let mark: Vec<Span> = mark.collect();
            let shards = shards(app, answer);
            let name =
                |long: bool| title(&answer.scenario, &shards, long).into_iter().chain(mark.clone()).collect::<Vec<_>>();
            let batch = Span::raw(format!("batch {}", thousands(answer.scenario.sequences())));
            let difference = measured(app, answer, theme);
            let difference = difference.or_else(|| difference_to_pin(app, &answer.evaluation.summary, wide, theme));
            let differs = difference.is_some();
            let beside: Vec<Span> = difference.into_iter().chain([batch]).collect();
            let name = Some(name(true))
                .filter(|long| wide && fits(long, &beside, theme, first))
                .unwrap_or_else(|| name(false));
            two_sided(&name, &beside, wide || !differs, theme, first, buf);
            draw_tiles(&tiles(app, answer, theme), theme, &rows[1..], buf);
        }
    }
}

/// An answer to one of the questions that people come with.
struct Tile {
    /// What is asked, in a few words.
    label: &'static str,
    role: Role,
    /// The answer, the longest form first.
    answer: Vec<String>,
    /// What else belongs to it, the most wanted first.
    beside: Vec<String>,
}

/// Columns of a screen from which on all tiles stand beside one another.
const ABREAST: u16 = 108;

/// Columns between two tiles.
const BETWEEN: u16 = 2;

/// Four tiles beside one another, each under its question; on a narrow screen two and two, the question before the answer.
/// What else belongs to them has the last rows, if there are any.
fn draw_tiles(tiles: &[Tile; 4], theme: Theme, rows: &[Rect], buf: &mut Buffer) {
    let Some(first) = rows.first() else { return };
    let abreast = if first.width >= ABREAST { 4 } else { 2 };
    let columns = |row: Rect| Layout::horizontal(vec![Constraint::Fill(1); abreast]).spacing(BETWEEN).split(row);
    // In a row alone there is no room for what comes next: the headline says it where the map does not.
    let [fits, long, fast, next] = tiles;
    let order = if rows.len() == 1 && abreast == 2 { [fits, fast, long, next] } else { [fits, long, fast, next] };
    let labelled = abreast == 4 && rows.len() > 2;
    let answers = if labelled { &rows[1..] } else { rows };
    if labelled {
        for (tile, place) in order.iter().zip(columns(rows[0]).iter()) {
            draw_line(buf, *place, &Line::styled(tile.label, theme.style(Role::Dim)), theme);
        }
    }
    for (tiles, row) in order.chunks(abreast).zip(answers) {
        for (tile, place) in tiles.iter().zip(columns(*row).iter()) {
            draw_line(buf, *place, &tile.line(!labelled, place.width, theme), theme);
        }
    }
    let below = answers.get(4 / abreast..).unwrap_or_default();
    if abreast == 4 {
        let places: Vec<_> = below.iter().map(|row| columns(*row)).collect();
        for (at, tile) in order.iter().enumerate() {
            let places: Vec<Rect> = places.iter().map(|row| row[at]).collect();
            tile.draw_beside(theme, &places, buf);
        }
        return;
    }
    for (tiles, row) in [[long, fast], [fits, next]].into_iter().zip(below) {
        for (tile, place) in tiles.iter().zip(columns(*row).iter()) {
            tile.draw_beside(theme, &[*place], buf);
        }
    }
}

impl Tile {
    /// The answer in the longest form that has room, behind the question where that has no row of its own.
    fn line(&self, labelled: bool, width: u16, theme: Theme) -> Line<'static> {
        let label = if labelled && !self.label.is_empty() { format!("{} ", self.label) } else { String::new() };
        let room = usize::from(width).saturating_sub(label.len());
        let form = self.answer.iter().find(|form| text::width(form) <= room).or(self.answer.last());
        let answer = Span::styled(form.cloned().unwrap_or_default(), theme.style(self.role));
        // The verdict is the word for its question.
        let asked = if self.role == Role::Title { label } else { String::new() };
        Line::from(vec![Span::styled(asked, theme.style(Role::Dim)), answer])
    }
}

impl Tile {
    /// Draws what belongs to the answer, whole parts on each row; what the answer has said in its longest form is not said again.
    fn draw_beside(&self, theme: Theme, rows: &[Rect], buf: &mut Buffer) {
        let Some(width) = rows.first().map(|row| row.width) else { return };
        let said = self.line(false, width, theme).to_string();
        let mut parts = self.beside.iter().filter(|part| !part.is_empty() && !said.contains(part.as_str())).peekable();
        for row in rows {
            let mut line = Line::default();
            while let Some(part) = parts.peek() {
                let between = if line.spans.is_empty() { "" } else { SEPARATOR };
                if !line.spans.is_empty() && line.width() + between.len() + text::width(part) > usize::from(width) {
                    break;
                }
                line.push_span(Span::styled(between, theme.style(Role::Dim)));
                line.push_span(Span::styled((*part).clone(), theme.style(Role::Text)));
                parts.next();
            }
            draw_line(buf, *row, &line, theme);
        }
    }
}

/// Between parts of a row of a tile.
const SEPARATOR: &str = ", ";

/// Whether it fits, how long the training takes, how fast a step is, and what would help.
fn tiles(app: &App, answer: &Answer, theme: Theme) -> [Tile; 4] {
    let figure = |figure: Figure| format_figure(figure, answer, false, theme);
    [
        fit_tile(answer, theme),
        time_tile(answer, theme),
        Tile {
            label: "How fast",
            role: Role::Title,
            answer: vec![figure(Figure::ModelFlops), answer.evaluation.summary.model_flops.to_string()],
            beside: [Figure::Mfu, Figure::StepTime, Figure::TotalTokens].map(figure).into(),
        },
        next_tile(app, answer, theme),
    ]
}

fn fit_tile(answer: &Answer, theme: Theme) -> Tile {
    let memory = &answer.evaluation.summary.memory;
    let (verdict, role) = in_memory(&answer.evaluation.summary);
    let chance = Figure::FitChance.amount(&answer.subject()).map(|chance| {
        let count = (chance.value * 100.0).round();
        (format!("{verdict}, {count} in 100"), format!("{count} in 100"))
    });
    let share = (memory.peak / memory.capacity * BAR).round().clamp(0.0, BAR) as usize;
    let glyphs = theme.glyphs();
    let bar = format!("{}{}", glyphs.fills[0].repeat(share), glyphs.shades[1].repeat(BAR as usize - share));
    let (long, beside) = chance.map_or((None, "chance not known".to_owned()), |(long, beside)| (Some(long), beside));
    Tile { label: "Does it fit", role, answer: long.into_iter().chain([verdict]).collect(), beside: vec![beside, bar] }
}

/// Columns of the bar of the memory.
const BAR: f64 = 8.0;

/// The days of the training with their interval; of a job without length those of a step.
fn time_tile(answer: &Answer, theme: Theme) -> Tile {
    let (subject, summary) = (answer.subject(), &answer.evaluation.summary);
    let days = Figure::Days.amount(&subject);
    let is_training = days.is_some();
    let Some(amount) = days.or_else(|| Figure::StepTime.amount(&subject)) else {
        return Tile { label: "How long", role: Role::Title, answer: Vec::new(), beside: Vec::new() };
    };
    let measured = answer.evaluation.error_band.is_some();
    let words = if measured { amount.in_words() } else { amount.in_rough_words() };
    let said = if is_training { words } else { format!("{words} a step") };
    let ends = answer.evaluation.error_band.map(|band| {
        let [low, high] = [band.low, band.high]
            .map(|time| Amount { value: amount.value * (time / summary.step_time), ..amount }.in_words());
        // The unit is said once, where both ends have it.
        let unit = amount.in_words().split_once(' ').map_or_else(String::new, |(_, unit)| format!(" {unit}"));
        let short = low.strip_suffix(&unit).zip(high.strip_suffix(&unit));
        let (low, high) = short.unwrap_or((&low, &high));
        format!("{said}  {low}{}{high}", theme.glyphs().to)
    });
    let further = [Figure::DeviceHours, Figure::Cost].map(|figure| format_figure(figure, answer, false, theme));
    let further = if is_training { further.into() } else { vec!["tokens say how long it trains".to_owned()] };
    let unsure = ends.is_none().then(|| "no measured run like this".to_owned());
    let beside = unsure.into_iter().chain(further).collect();
    Tile { label: "How long", role: Role::Title, answer: ends.into_iter().chain([said]).collect(), beside }
}

/// What would let it fit, or what limits it; beside that what the step loses.
fn next_tile(app: &App, answer: &Answer, theme: Theme) -> Tile {
    let Answer { scenario, evaluation } = answer;
    let key = |action: Action| app.keymap.key_of(action, theme.caps().ascii);
    let limit = figures::limit(scenario, evaluation);
    let forms = match &app.fix {
        Some(fix) if !evaluation.summary.fits => vec![format!("{fix} would fit: {}", key(Action::Nearest))],
        _ => vec![
            limit.to_string(),
            limit.gain.clone().map_or(limit.short.clone(), |gain| format!("{}: {gain}", limit.short)),
            limit.short,
        ],
    };
    let lost = [Figure::LostToTransfers, Figure::Bubble].map(|figure| format_figure(figure, answer, false, theme));
    let asks = [(best::SPEC.id, "best plans"), (advice::SPEC.id, "advice")];
    let asks = asks.map(|(view, name)| format!("{} {name}", key(Action::View(view))));
    let gain = limit.gain.filter(|_| evaluation.summary.fits);
    Tile { label: "Next", role: Role::Title, answer: forms, beside: gain.into_iter().chain(lost).chain(asks).collect() }
}

/// A problem and its fix; the fix comes first where there is not room for both.
fn refusal(what: &str, fix: &str, width: u16, rows: usize) -> Vec<String> {
    let [whole, advice] = [format!("{what}; {fix}"), format!("{fix}: {what}")].map(|text| wrapped(&text, width.into()));
    if whole.len() <= rows { whole } else { advice }
}

/// The strategy by its name; where other ranks share weights, gradients or optimizer than it says, as a search may find, these:
/// `shards 1/1/8`; or that each operator has its own.
fn shards(app: &App, answer: &Answer) -> String {
    let Answer { scenario, evaluation } = answer;
    if !scenario.plan.operators.is_empty() {
        return "by operator".to_owned();
    }
    let own = extents(&scenario.plan.sharding);
    match app.library.strategy(&scenario.strategy) {
        Ok(preset) if extents(&preset.sharding) != own => {
            format!("shards {}", figures::extent_words(&evaluation.details.layout, "+"))
        }
        _ => scenario.strategy.to_string(),
    }
}

/// Over what weights, gradients and optimizer are sharded.
const fn extents(of: &Sharding) -> [&Extent; 3] {
    [&of.weights, &of.gradients, &of.optimizer]
}

/// Names the scenario, with such words for its sharding; `long` counts devices as well as nodes.
fn title(scenario: &Scenario, shards: &str, long: bool) -> Vec<Span<'static>> {
    let count = scenario.devices();
    let per_node = scenario.cluster.devices_per_node().max(1);
    let (nodes, whole) = (count / per_node, count.is_multiple_of(per_node));
    let word = if nodes == 1 { "node" } else { "nodes" };
    let size = match (whole, long) {
        (true, true) => format!("{nodes} {word} = {}", devices(count)),
        (true, false) => format!("{nodes} {word}"),
        (false, _) => devices(count),
    };
    let Scenario { cluster, model, .. } = scenario;
    let machine = [cluster.id.clone()].into_iter().chain(scenario.altered()).collect::<Vec<_>>().join(", ");
    [model.id.clone(), machine, shards.to_owned(), size].map(Span::raw).into()
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

fn in_memory(summary: &Summary) -> (String, Role) {
    let memory = words::of_capacity(summary.memory.peak, summary.memory.capacity);
    let (word, role) = match Verdict::new(summary) {
        Verdict::Fits => ("FITS", Role::Good),
        Verdict::Tight => ("FITS, TIGHT", Role::Warn),
        Verdict::DoesNotFit => ("DOES NOT FIT", Role::Bad),
    };
    (format!("{word} {memory}"), role)
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
fn difference_to_pin(app: &App, summary: &Summary, wide: bool, theme: Theme) -> Option<Span<'static>> {
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
