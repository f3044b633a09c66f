//! The limits of fully sharded data parallelism, each number with its formula.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::{Drawing, row};
use crate::app::assumed::Assumption;
use crate::app::views;
use crate::app::views::limits::{LimitsView, NUMBERS};
use crate::app::{App, Panel};
use crate::bounds::fsdp::{self, ZeroStage};
use crate::figures::{BoundForm, Limit, Table, TableCell};
use crate::ui::panels::{frame, outdated, panel_list};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::table::{self, Aligned};
use crate::units::{Bytes, devices};

/// How it is drawn.
pub(super) const DRAWING: Drawing = Drawing {
    id: views::limits::SPEC.id,
    height: |_| HEIGHT,
    render,
    target: |app, _, inside, at| row(row_at(app, inside, at)),
    status: |_, _| String::new(),
};

/// Rows that it takes: frame, assumptions, verdict and machine, numbers with their heading.
const HEIGHT: u16 = 2 + 3 + 2 + 12;

/// Columns of a name, of its number or of the two forms of a bound, and of the words behind them.
const NAMES: Aligned = Aligned::Indented(1, 16);
const NUMBER: Aligned = Aligned::Right(11);
const WORDS: Aligned = Aligned::Indented(2, 0);
const GIVEN_COLUMNS: [Aligned; 3] = [NAMES, NUMBER, WORDS];
const BOUND_COLUMNS: [Aligned; 4] = [NAMES, NUMBER, NUMBER, WORDS];

/// Numbers before the bounds.
const GIVEN: usize = 7;

/// Draws it.
fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let scenario = app.shown.as_ref().unwrap_or(&app.scenario);
    let instead = LimitsView::beside(scenario).map(|other| format!(" instead of {other}")).unwrap_or_default();
    let title = format!("Limits of data parallelism{instead}{}", outdated(app));
    let limits = app.views.limits.assumed.limits(scenario);
    let note = format!("{} on {}", scenario.model.id, devices(limits.devices));
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    list(app, &limits, theme).render(inside, buf);
}

/// The assumption or the number at a place.
fn row_at(app: &App, inside: Rect, at: Position) -> Option<usize> {
    let limits = app.views.limits.assumed.limits(app.shown.as_ref().unwrap_or(&app.scenario));
    list(app, &limits, Theme::default()).row_at(inside, at)
}

/// The assumptions, and under them the numbers with their headings.
fn list(app: &App, limits: &fsdp::FsdpLimits, theme: Theme) -> RowList<'static> {
    let assumed = table::lines(&assumptions(limits), &GIVEN_COLUMNS, theme).into_iter().zip((0..).map(Some));
    let row = |line: usize| (0..NUMBERS.len()).find(|number| line_of(*number) == line);
    let numbers = numbers(limits, theme).into_iter().enumerate();
    let numbers = numbers.map(|(at, line)| (line, row(at).map(|number| Assumption::ALL.len() + number)));
    panel_list(app, theme, assumed.chain(numbers).collect(), app.views.limits.row())
}

/// The line of a number: under the verdict and the machine, and from the first bound on under a heading.
const fn line_of(number: usize) -> usize {
    2 + number + (number >= GIVEN) as usize
}

/// The assumptions that keys change, each with its value and what that means.
fn assumptions(limits: &fsdp::FsdpLimits) -> Table {
    let mut table = Table::new(["", "", ""].map(|heading| ("", heading)));
    table.extend(Assumption::ALL.map(|one| {
        let (value, about) = assumed(one, limits);
        vec![TableCell::aside(one.name()), TableCell::word(value), TableCell::aside(about)]
    }));
    table
}

fn assumed(one: Assumption, limits: &fsdp::FsdpLimits) -> (String, &'static str) {
    match one {
        Assumption::Gamma => (limits.gamma.to_string(), "of the activations are kept; 0 recomputes all"),
        Assumption::Backward => (
            limits.transfers().backward.to_string(),
            match limits.stage {
                ZeroStage::Three => "models moved in backward; 2: gather and reduce",
                _ => "gradients reduced, updated weights gathered",
            },
        ),
        Assumption::Stage => match limits.stage {
            ZeroStage::One => ("1".to_owned(), "the optimizer is sharded"),
            ZeroStage::Two => ("2".to_owned(), "gradients and optimizer are sharded"),
            ZeroStage::Three => ("3".to_owned(), "weights, gradients and optimizer are sharded"),
        },
    }
}

/// All numbers, after the verdict and what the machine has.
fn numbers(limits: &fsdp::FsdpLimits, theme: Theme) -> Vec<Line<'static>> {
    let machine = format!(" memory {}, link {} of a ring, peak {}", limits.memory, limits.link, limits.peak);
    let mut lines = vec![
        Line::styled(format!(" {}", verdict(limits)), theme.style(Role::Title)),
        Line::styled(machine, theme.style(Role::Dim)),
    ];
    let row = |limit: &Limit, forms: &[BoundForm], equals: &str| {
        let values = forms.iter().map(|form| TableCell::word(said(*limit, *form, limits)));
        let formula = format!("{equals}{}", limit.formula(BoundForm::Floor, limits));
        let name = std::iter::once(TableCell::aside(limit.label()));
        name.chain(values).chain([TableCell::aside(formula)]).collect::<Vec<_>>()
    };
    let (given, bounds) = NUMBERS.split_at(GIVEN);
    let mut table = Table::new(["", "", ""].map(|heading| ("", heading)));
    table.extend(given.iter().map(|limit| row(limit, &[BoundForm::Floor], "= ")));
    lines.extend(table::lines(&table, &GIVEN_COLUMNS, theme));

    let names = ["at most", "no exposed", "net floor", "passes hide theirs; transfers alone"];
    let mut table = Table::new(names.map(|heading| ("", heading)));
    table.extend(bounds.iter().map(|limit| row(limit, &[BoundForm::Hidden, BoundForm::Floor], "")));
    let role = |column: usize| if column < BOUND_COLUMNS.len() - 1 { Role::Title } else { Role::Dim };
    lines.push(table::headings(&table, &BOUND_COLUMNS, role, theme));
    lines.extend(table::lines(&table, &BOUND_COLUMNS, theme));
    lines
}

/// A number's text. What the network would allow of more than the peak is a number for `i` alone: the network is not the
/// limit then.
fn said(limit: Limit, form: BoundForm, limits: &fsdp::FsdpLimits) -> String {
    let bound = match form {
        BoundForm::Hidden => limits.hidden(),
        BoundForm::Floor => limits.network_floor(),
    };
    if limit == Limit::Uncapped && bound.hfu > 1.0 { "over 100 %".to_owned() } else { limit.text(form, limits) }
}

/// What it comes to.
fn verdict(limits: &fsdp::FsdpLimits) -> &'static str {
    if limits.free() <= Bytes::ZERO {
        return "the state alone does not fit: no tokens, no throughput";
    }
    match [limits.hidden(), limits.network_floor()].map(|bound| limits.needed(bound) >= 1.0).into() {
        (true, _) => "memory full, the network allows the peak with all communication hidden",
        (false, true) => "memory full, the network allows the peak only with communication exposed",
        (false, false) => "even with memory full, the network keeps it below the peak",
    }
}
