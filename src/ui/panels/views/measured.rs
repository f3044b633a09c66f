//! A run of the user's own beside its prediction, and what may explain the gap.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::{Drawing, row};
use crate::app::answers::own_run::OwnRun;
use crate::app::views::measured::SPEC;
use crate::app::{App, Panel};
use crate::ui::panels::{frame, panel_list};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::{columns, draw_line};
use shardscope_engine::units::{Seconds, percent};
use shardscope_evidence::calibrate::{Attribution, Cause};
use shardscope_report::figures::{CellTone, Table, band_words, cause_cells};

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: SPEC.id,
    height: |app| 2 + SAID + 2 + columns(app.views.measured.causes().len()).max(1),
    render,
    target: |app, theme, inside, at| row(list(app, theme).row_at(places(inside)[2], at)),
    status: |app, _| meaning_of_cause(app),
};

/// Lines over the causes.
const SAID: u16 = 3;

/// Lines of the meaning of a cause, and how high the view is at most where they would take the place of causes.
const MEANING: u16 = 3;
const FULL: u16 = 12;

/// The share of the gap, the cause, what it would be, how far that is, and what it means.
const SET: [Aligned; 5] =
    [Aligned::Right(8), Aligned::Indented(2, 24), Aligned::Right(9), Aligned::Right(12), Aligned::Indented(2, 38)];

/// What is to be done where nothing was typed.
const HOW: &str = "Enter: type what a step of this job takes on your machine, like 3.4 s, or the model flop utilisation \
                   that it reaches, like 38 %. The scenario must say what ran.";

fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let view = &app.views.measured;
    let stale = if app.inputs.measured.is_some() && view.told().is_none() { ", computing" } else { "" };
    let title = format!("Measured run{stale}");
    let inside = frame(app, theme, Panel::Map, &title, "your own step beside the prediction", area, buf);
    let paragraph = |text: &str, buf: &mut Buffer| {
        Paragraph::new(text.to_owned()).wrap(Wrap { trim: true }).render(inside, buf);
    };
    match (&app.inputs.measured, view.told()) {
        (None, _) => paragraph(HOW, buf),
        (Some(_), Some(Err(why))) => paragraph(why, buf),
        (Some(_), None) => {}
        (Some(run), Some(Ok(told))) => {
            let [said, head, causes, rest, meaning] = places(inside);
            for (line, row) in lines(app, run, told, theme).into_iter().zip(said.rows()) {
                draw_line(buf, row, &line, theme);
            }
            draw_line(buf, head, &table::headings(&compared(&[]), &SET, |_| Role::Title, theme), theme);
            list(app, theme).render(causes, buf);
            let left = format!("{:>9}  unexplained by any constant", percent(told.unexplained));
            draw_line(buf, rest, &Line::styled(left, theme.style(Role::Dim)), theme);
            let text = meaning_of_cause(app);
            Paragraph::new(text).wrap(Wrap { trim: true }).style(theme.style(Role::Dim)).render(meaning, buf);
        }
    }
}

/// Where what is said, the heading, the causes, the rest of the gap and the meaning of a cause are.
fn places(inside: Rect) -> [Rect; 5] {
    let meaning = if inside.height > FULL { MEANING } else { 0 };
    inside.layout(&Layout::vertical([
        Constraint::Length(SAID),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
        Constraint::Length(meaning),
    ]))
}

fn list(app: &App, theme: Theme) -> RowList<'static> {
    let lines = table::lines(&compared(app.views.measured.causes()), &SET, theme);
    panel_list(app, theme, lines.into_iter().zip((0..).map(Some)).collect(), app.views.measured.row())
}

fn compared(causes: &[Cause]) -> Table {
    let mut table = Table::headed(["of gap", "cause", "would be", "that is", "meaning"]);
    table.extend(causes.iter().map(|cause| {
        let [share, name, value, shift, meaning] = cause_cells(cause);
        vec![share, name, value, shift, meaning.toned(CellTone::Aside)]
    }));
    table
}

/// The gap; the bands; whether the run is of what the screen shows.
fn lines(app: &App, run: &OwnRun, told: &Attribution, theme: Theme) -> Vec<Line<'static>> {
    let measured = Seconds::new(told.step_time);
    let place = told.band_before.map_or("", |band| {
        if (band.low..=band.high).contains(&measured) { ", inside the 80 % band" } else { ", outside the 80 % band" }
    });
    let way = if told.gap < 0.0 { "shorter" } else { "longer" };
    let gap = format!(
        " measured {measured}, predicted {}: {} {way}{place}",
        measured / (1.0 + told.gap),
        percent(told.gap.abs())
    );
    let bands = format!(" {}", band_words(told));
    let of = if app.shown.as_deref().is_ok_and(|shown| *shown == run.scenario) {
        " of the scenario shown".to_owned()
    } else {
        format!(" of the scenario as it was: {}; Enter measures the one shown", run.name())
    };
    vec![Line::styled(gap, theme.style(Role::Title)), Line::raw(bands), Line::styled(of, theme.style(Role::Dim))]
}

/// What the cause under the cursor means, in full: the column and the status line have the beginning.
fn meaning_of_cause(app: &App) -> String {
    let view = &app.views.measured;
    let Some(cause) = view.causes().get(view.row()) else { return String::new() };
    format!("{}: {}", cause.constant.name, cause.constant.meaning)
}
