//! The limits of fully sharded data parallelism, each number with its formula.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::{Drawing, row};
use crate::app::assumed::Assumption;
use crate::app::views;
use crate::app::views::limits::{LimitsView, NUMBERS};
use crate::app::{App, Panel};
use crate::bounds::fsdp::{self, ZeroStage};
use crate::figures::{BoundForm, Limit};
use crate::ui::panels::{frame, outdated, panel_list};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
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

/// Columns of the names, of one number, and of the two forms of a bound.
const NAMES: usize = 17;
const NUMBER: usize = 11;

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
    let assumed = Assumption::ALL.map(|one| assumption(one, limits, theme)).into_iter().zip((0..).map(Some));
    let row = |line: usize| (0..NUMBERS.len()).find(|number| line_of(*number) == line);
    let numbers = numbers(limits, theme).into_iter().enumerate();
    let numbers = numbers.map(|(at, line)| (line, row(at).map(|number| Assumption::ALL.len() + number)));
    panel_list(app, theme, assumed.chain(numbers).collect(), app.views.limits.row())
}

/// The line of a number: under the verdict and the machine, and from the first bound on under a heading.
const fn line_of(number: usize) -> usize {
    2 + number + (number >= GIVEN) as usize
}

/// An assumption that keys change.
fn assumption(one: Assumption, limits: &fsdp::FsdpLimits, theme: Theme) -> Line<'static> {
    let (value, about) = match one {
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
    };
    Line::from(vec![
        Span::styled(format!(" {:<width$}", one.name(), width = NAMES - 1), theme.style(Role::Dim)),
        Span::raw(format!("{value:>NUMBER$}  ")),
        Span::styled(about, theme.style(Role::Dim)),
    ])
}

/// All numbers, after the verdict and what the machine has.
fn numbers(limits: &fsdp::FsdpLimits, theme: Theme) -> Vec<Line<'static>> {
    let machine = format!(" memory {}, link {} of a ring, peak {}", limits.memory, limits.link, limits.peak);
    let mut lines = vec![
        Line::styled(format!(" {}", verdict(limits)), theme.style(Role::Title)),
        Line::styled(machine, theme.style(Role::Dim)),
    ];
    let (given, bounds) = NUMBERS.split_at(GIVEN);
    let row = |limit: &Limit, forms: &[BoundForm], equals: &str| {
        let values = forms.iter().map(|form| format!("{:>NUMBER$}", limit.text(*form, limits))).collect::<Vec<_>>();
        let formula = limit.formula(BoundForm::Floor, limits);
        Line::from(vec![
            Span::styled(format!(" {:<width$}", limit.label(), width = NAMES - 1), theme.style(Role::Dim)),
            Span::raw(values.concat()),
            Span::styled(format!("  {equals}{formula}"), theme.style(Role::Dim)),
        ])
    };
    lines.extend(given.iter().map(|limit| row(limit, &[BoundForm::Floor], "= ")));
    let (hidden, floor) = ("no exposed", "net floor");
    let heading = format!(" {:<width$}{hidden:>NUMBER$}{floor:>NUMBER$}", "at most", width = NAMES - 1);
    let forms = "  passes hide theirs; transfers alone";
    lines.push(Line::from(vec![
        Span::styled(heading, theme.style(Role::Title)),
        Span::styled(forms, theme.style(Role::Dim)),
    ]));
    lines.extend(bounds.iter().map(|limit| row(limit, &[BoundForm::Hidden, BoundForm::Floor], "")));
    lines
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
