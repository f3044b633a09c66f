//! A run of the user's own beside its prediction, and what may explain the gap.

use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::table::{TableView, rows};
use super::{Content, Drawing};
use crate::app::App;
use crate::app::answers::own_run::OwnRun;
use crate::app::views::measured::SPEC;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::columns;
use shardscope_engine::units::{Seconds, percent};
use shardscope_evidence::calibrate::{Attribution, Cause};
use shardscope_report::figures::{CellTone, Table, band_words, cause_cells};

pub(super) const DRAWING: Drawing = Drawing {
    id: SPEC.id,
    height: |app| 2 + SAID + 2 + columns(app.views.measured.causes().len()).max(1),
    content: Content::Table(view),
    status: |app, _| meaning_of_cause(app),
};

/// Lines over the causes.
const SAID: u16 = 3;

/// Lines of the meaning of a cause.
const MEANING: u16 = 3;

/// The share of the gap, the cause, what it would be, how far that is, and what it means.
const SET: [Aligned; 5] =
    [Aligned::Right(8), Aligned::Indented(2, 24), Aligned::Right(9), Aligned::Right(12), Aligned::Indented(2, 38)];

/// Instructions before anything was typed.
const HOW: &str = "Enter: type what a step of this job takes on your machine, like 3.4 s, or the model flop utilisation \
                   that it reaches, like 38 %. The scenario must say what ran.";

fn view(app: &App, theme: Theme, _: Rect) -> TableView {
    let view = &app.views.measured;
    let stale = if app.inputs.measured.is_some() && view.told().is_none() { ", computing" } else { "" };
    let framed = TableView {
        title: format!("Measured run{stale}"),
        notes: vec!["your own step beside the prediction".to_owned()],
        ..TableView::default()
    };
    let (run, told) = match (&app.inputs.measured, view.told()) {
        (None, _) => return TableView { instead: Some(HOW.to_owned()), ..framed },
        (Some(_), Some(Err(why))) => return TableView { instead: Some(why.clone()), ..framed },
        (Some(_), None) => return framed,
        (Some(run), Some(Ok(told))) => (run, told),
    };
    let causes = compared(view.causes());
    let mut over = lines(app, run, told, theme);
    over.push(table::headings(&causes, &SET, |_| Role::Title, theme));
    let left = format!("{:>9}  unexplained by any constant", percent(told.unexplained));
    TableView {
        over,
        list: rows(app, theme, &causes, &SET, view.row()),
        under: vec![Line::styled(left, theme.style(Role::Dim))],
        kept: MEANING,
        rest: Some(|app, theme, area, buf| {
            let meaning = Paragraph::new(meaning_of_cause(app)).wrap(Wrap { trim: true });
            meaning.style(theme.style(Role::Dim)).render(area, buf);
        }),
        ..framed
    }
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

/// The meaning of the cause under the cursor in full: the column and the status line have its beginning.
fn meaning_of_cause(app: &App) -> String {
    let view = &app.views.measured;
    let Some(cause) = view.causes().get(view.row()) else { return String::new() };
    format!("{}: {}", cause.constant.name, cause.constant.meaning)
}
