//! The limits of fully sharded data parallelism, each number with its formula.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::table::TableView;
use super::{Content, Drawing};
use crate::app::App;
use crate::app::answers::assumed::Assumption;
use crate::app::views;
use crate::app::views::limits::{GIVEN, LimitNumber, LimitsPicture, LimitsView, NUMBERS};
use crate::ui::panels::{outdated, panel_list};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::table::{self, Aligned};
use shardscope_engine::units::devices;
use shardscope_report::figures::{Limit, Table, TableCell};

pub(super) const DRAWING: Drawing = Drawing {
    id: views::limits::SPEC.id,
    height: |_| HEIGHT,
    content: Content::Table(view),
    status: |app, _| status(app),
};

/// Rows that it takes: frame, assumptions, verdict and machine, numbers with their heading.
const HEIGHT: u16 = 2 + 3 + 2 + 12;

/// Columns of a name, of its number or of the two forms of a bound, and of the words behind them.
const NAMES: Aligned = Aligned::Indented(1, 16);
const NUMBER: Aligned = Aligned::Right(11);
const WORDS: Aligned = Aligned::Indented(2, 0);
const GIVEN_COLUMNS: [Aligned; 3] = [NAMES, NUMBER, WORDS];
const BOUND_COLUMNS: [Aligned; 4] = [NAMES, NUMBER, NUMBER, WORDS];

fn view(app: &App, theme: Theme, _: Rect) -> TableView {
    let scenario = app.on_screen();
    let instead = LimitsView::beside(scenario).map(|other| format!(" instead of {other}")).unwrap_or_default();
    let picture = app.views.limits.picture.as_deref();
    let note = |picture: &LimitsPicture| format!("{} on {}", scenario.model.id, devices(picture.limits.devices));
    TableView {
        title: format!("Limits of data parallelism{instead}{}", outdated(app)),
        notes: picture.map(note).into_iter().collect(),
        list: picture.map(|picture| list(app, picture, theme)).unwrap_or_default(),
        ..TableView::default()
    }
}

/// The assumptions, and under them the numbers with their headings.
fn list(app: &App, picture: &LimitsPicture, theme: Theme) -> RowList<'static> {
    let assumed = table::lines(&assumptions(picture), &GIVEN_COLUMNS, theme).into_iter().zip((0..).map(Some));
    let row = |line: usize| (0..NUMBERS.len()).find(|number| line_of(*number) == line);
    let numbers = numbers(picture, theme).into_iter().enumerate();
    let numbers = numbers.map(|(at, line)| (line, row(at).map(|number| Assumption::ALL.len() + number)));
    panel_list(app, theme, assumed.chain(numbers).collect(), app.views.limits.row())
}

/// The line of a number: under the verdict and the machine, and from the first bound on under a heading.
const fn line_of(number: usize) -> usize {
    2 + number + NUMBERS[number].is_bound() as usize
}

/// The assumptions that keys change, each with its value and what that means.
fn assumptions(picture: &LimitsPicture) -> Table {
    let mut table = Table::headed(["", "", ""]);
    table.extend(Assumption::ALL.iter().zip(&picture.assumed).map(|(one, (value, about))| {
        vec![TableCell::aside(one.name()), TableCell::word(value.clone()), TableCell::aside(*about)]
    }));
    table
}

/// All numbers, after the verdict and what the machine has.
fn numbers(LimitsPicture { limits, verdict, numbers, .. }: &LimitsPicture, theme: Theme) -> Vec<Line<'static>> {
    let machine = format!(" memory {} whole, link {} of a ring, peak {}", limits.memory, limits.link, limits.peak);
    let mut lines = vec![
        Line::styled(format!(" {verdict}"), theme.style(Role::Title)),
        Line::styled(machine, theme.style(Role::Dim)),
    ];
    let row = |(limit, number): (&Limit, &LimitNumber), equals: &str| {
        let values = number.values.iter().map(|value| TableCell::word(value.clone()));
        let formula = TableCell::aside(format!("{equals}{}", number.formula));
        std::iter::once(TableCell::aside(limit.label())).chain(values).chain([formula]).collect::<Vec<_>>()
    };
    let mut table = Table::headed(["", "", ""]);
    table.extend(NUMBERS.iter().zip(numbers).take(GIVEN).map(|number| row(number, "= ")));
    lines.extend(table::lines(&table, &GIVEN_COLUMNS, theme));

    let names = ["at most", "no exposed", "net floor", "passes hide theirs; transfers alone"];
    let mut table = Table::headed(names);
    table.extend(NUMBERS.iter().zip(numbers).skip(GIVEN).map(|number| row(number, "")));
    let role = |column: usize| if column < BOUND_COLUMNS.len() - 1 { Role::Title } else { Role::Dim };
    lines.push(table::headings(&table, &BOUND_COLUMNS, role, theme));
    lines.extend(table::lines(&table, &BOUND_COLUMNS, theme));
    lines
}

/// The formula of the number under the cursor in full: its column cuts a long one.
fn status(app: &App) -> String {
    let chosen = app.views.limits.row().checked_sub(Assumption::ALL.len());
    let number = chosen.and_then(|number| Some((NUMBERS[number], app.views.limits.picture.as_ref()?, number)));
    number.map_or_else(String::new, |(limit, picture, number)| {
        let scores = match limit {
            Limit::Hfu => "; all scores count, of which causal kernels skip half: it may pass 100 %",
            _ => "",
        };
        format!("{} = {}{scores}", limit.label(), picture.numbers[number].formula)
    })
}
