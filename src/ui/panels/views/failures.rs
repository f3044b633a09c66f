//! The time that is lost to checkpoints and failures over the work between two checkpoints.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Content, Drawing};
use crate::app::state::pointing::PointerTarget;
use crate::app::views::failures::{FailurePicture, INTERVALS, SPEC};
use crate::app::{App, Panel};
use crate::ui::panels::{frame, joined, staleness};
use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::LogLog;
use crate::ui::widgets::loglog::Curve;
use crate::ui::widgets::text::draw_line;
use shardscope_engine::bounds::goodput::TimeShares;
use shardscope_engine::units::{Amount, Seconds, precise_percent};
use shardscope_report::figures::Figure;

pub(super) const DRAWING: Drawing = Drawing {
    id: SPEC.id,
    height: |_| HEIGHT,
    content: Content::Picture { render, target },
    status: |_, _| String::new(),
};

/// Rows that it wants: frame, what goes wrong, the chart, what is said of it.
const HEIGHT: u16 = 2 + 1 + 13 + SAID;

/// Rows under the chart: the interval under the cursor, the rules, the training.
const SAID: u16 = 3;

/// The least share of the time that is drawn, in percent.
const LEAST: f64 = 0.01;

/// A curve of the chart.
struct LossCurve {
    mark: char,
    tone: Tone,
    name: &'static str,
    /// The share that it shows.
    share: fn(TimeShares) -> f64,
}

const CURVES: [LossCurve; 3] = [
    LossCurve { mark: 'c', tone: Tone::Ochre, name: "checkpoints", share: |shares| shares.writing },
    LossCurve { mark: 'f', tone: Tone::Violet, name: "failures", share: |shares| shares.failing },
    LossCurve { mark: 'l', tone: Tone::Teal, name: "lost together", share: |shares| 1.0 - shares.useful },
];

/// Draws what failures cost.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let title = format!("Failures{}", staleness(app));
    let inside = frame(app, theme, Panel::Map, &title, "time lost by checkpoint interval", area, buf);
    let Some(answer) = &app.answer else { return };
    let Some(picture) = &app.views.failures.picture else {
        let unknown = Figure::Goodput.lacks(&answer.scenario).map_or_else(String::new, |problem| problem.to_string());
        Paragraph::new(unknown).wrap(Wrap { trim: true }).render(inside, buf);
        return;
    };
    let [wrong, plot, said] = areas(inside);
    draw_line(buf, wrong, &what_goes_wrong(picture, theme, wrong.width), theme);
    chart(app, picture, theme).render(plot, buf);
    for (line, row) in lines(app, picture, theme, said.width).into_iter().zip(said.rows()) {
        draw_line(buf, row, &line, theme);
    }
}

/// The interval at a place.
fn target(app: &App, theme: Theme, inside: Rect, at: Position) -> Option<PointerTarget> {
    let picture = app.views.failures.picture.as_ref()?;
    let [_, plot, _] = areas(inside);
    chart(app, picture, theme).place_at(plot, at).map(PointerTarget::Cell)
}

fn areas(inside: Rect) -> [Rect; 3] {
    inside.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1), Constraint::Length(SAID)]))
}

fn chart(app: &App, picture: &FailurePicture, theme: Theme) -> LogLog {
    let curves = CURVES.map(|LossCurve { mark, tone, name, share }| {
        let points = INTERVALS.into_iter().zip(picture.shares.map(|shares| 100.0 * share(shares)));
        Curve { mark, tone, name, points: points.filter(|(_, lost)| (LEAST..=100.0).contains(lost)).collect() }
    });
    LogLog {
        theme,
        curves: curves.into(),
        chosen: CURVES.len() - 1,
        places: INTERVALS.into(),
        cursor: app.views.failures.place(),
        title: "% lost",
        across: "over interval, s".to_owned(),
        ..LogLog::default()
    }
}

fn what_goes_wrong(picture: &FailurePicture, theme: Theme, width: u16) -> Line<'static> {
    let interruptions = picture.forecast.interruptions;
    let size = picture.checkpoint.map_or_else(String::new, Amount::in_row);
    let said = [
        format!(" one stop in {}", interruptions.between),
        format!("{} to restart", interruptions.restart),
        format!("{size} saved in {}", interruptions.write),
    ];
    joined(said.map(Span::raw), theme, width)
}

fn lines(app: &App, picture: &FailurePicture, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let place = app.views.failures.place();
    let (interval, shares) = (Seconds::new(INTERVALS[place]), picture.shares[place]);
    let here =
        CURVES.map(|LossCurve { name, share, .. }| Span::raw(format!("{name} {}", precise_percent(share(shares)))));
    let goodput = format!("every {interval}: {:.2} % goodput", 100.0 * shares.useful);
    let rules = picture.best.map(|(law, interval)| format!("{} {interval}", law.name()));
    let rules = std::iter::once("best by".to_owned()).chain(rules).map(Span::raw);
    let training = match picture.days.map(|days| days.map(Amount::in_row)) {
        Some([without, with]) => format!("training {without} days, with failures {with}"),
        None => "tokens of the training are not stated: no days".to_owned(),
    };
    let goodput = [Span::styled(goodput, theme.style(Role::Title))];
    vec![
        joined(goodput.into_iter().chain(here), theme, width),
        joined(rules, theme, width),
        Line::styled(training, theme.style(Role::Dim)),
    ]
}
