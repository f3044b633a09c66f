//! The limits of fully sharded data parallelism, each number with its formula.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::{frame, staleness};
use crate::app::limits::{Assumption, Limits};
use crate::app::{App, Panel};
use crate::bounds::fsdp::{self, Stage};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::draw_line;
use crate::units::{Bytes, significant, thousands};

/// Rows that it takes: frame, assumptions, numbers.
pub(super) const HEIGHT: u16 = 2 + 3 + 13;

/// Columns of the names, of one number, and of the two forms of a bound.
const NAMES: usize = 17;
const NUMBER: usize = 11;

/// Draws it.
pub(super) fn render(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
    let scenario = app.shown.as_ref().unwrap_or(&app.scenario);
    let instead = Limits::beside(scenario).map(|other| format!(" instead of {other}")).unwrap_or_default();
    let title = format!("Limits of data parallelism{instead}{}", if app.shown.is_err() { staleness(app) } else { "" });
    let limits = app.views.limits.of(scenario);
    let note = format!("{} on {} devices", scenario.model.id, thousands(f64::from(limits.devices)));
    let inside = frame(app, theme, Panel::Map, &title, &note, area, buf);
    let mut rows = inside.rows();
    for (index, row) in (0..Assumption::ALL.len()).zip(rows.by_ref()) {
        assumption(app, theme, index, &limits, row, buf);
    }
    for (line, row) in numbers(&limits, theme).into_iter().zip(rows) {
        draw_line(buf, row, &line, theme);
    }
}

/// The assumption at a place.
pub(super) fn row_at(inside: Rect, at: Position) -> Option<usize> {
    Some(usize::from(at.y - inside.y)).filter(|row| *row < Assumption::ALL.len())
}

/// An assumption that keys change.
fn assumption(app: &App, theme: Theme, index: usize, limits: &fsdp::Limits, row: Rect, buf: &mut Buffer) {
    let here = app.views.limits.cursor == index;
    let one = Assumption::ALL[index];
    let (value, about) = match one {
        Assumption::Gamma => (limits.gamma.to_string(), "of the activations are kept; 0 recomputes all"),
        Assumption::Backward => (limits.n_bwd.to_string(), "models moved in backward; 2: gather and reduce"),
        Assumption::Stage => match limits.stage {
            Stage::One => ("1".to_owned(), "the optimizer is sharded"),
            Stage::Two => ("2".to_owned(), "gradients and optimizer are sharded"),
            Stage::Three => ("3".to_owned(), "weights, gradients and optimizer are sharded"),
        },
    };
    let has_keys = here && app.focus == Panel::Map && app.layer.is_none();
    buf.set_style(row, if has_keys { theme.style(Role::Cursor) } else { Style::new() });
    let line = Line::from(vec![
        Span::raw(if here { theme.glyphs().pinned } else { " " }),
        Span::styled(format!("{:<width$}", one.name(), width = NAMES - 1), theme.style(Role::Dim)),
        Span::raw(format!("{value:>NUMBER$}  ")),
        Span::styled(about, theme.style(Role::Dim)),
    ]);
    draw_line(buf, row, &line, theme);
}

/// All numbers, the verdict first.
fn numbers(limits: &fsdp::Limits, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(format!(" {}", verdict(limits)), theme.style(Role::Title))];
    lines.extend(given(limits).into_iter().map(|[name, value, formula]| {
        Line::from(vec![
            Span::styled(format!(" {name:<width$}", width = NAMES - 1), theme.style(Role::Dim)),
            Span::raw(format!("{value:>NUMBER$}")),
            Span::styled(format!("  = {formula}"), theme.style(Role::Dim)),
        ])
    }));
    let (hidden, floor) = ("no exposed", "net floor");
    let heading = format!(" {:<width$}{hidden:>NUMBER$}{floor:>NUMBER$}", "at most", width = NAMES - 1);
    let forms = "  passes hide theirs; transfers alone";
    lines.push(Line::from(vec![
        Span::styled(heading, theme.style(Role::Title)),
        Span::styled(forms, theme.style(Role::Dim)),
    ]));
    lines.extend(bounds(limits).into_iter().map(|(name, [hidden, floor], formula)| {
        Line::from(vec![
            Span::styled(format!(" {name:<width$}", width = NAMES - 1), theme.style(Role::Dim)),
            Span::raw(format!("{hidden:>NUMBER$}{floor:>NUMBER$}")),
            Span::styled(format!("  {formula}"), theme.style(Role::Dim)),
        ])
    }));
    lines
}

/// What it comes to.
fn verdict(limits: &fsdp::Limits) -> &'static str {
    if limits.free() <= Bytes::ZERO {
        return "the state alone does not fit: no tokens, no throughput";
    }
    match (limits.hidden().hfu >= 1.0, limits.network_floor().hfu >= 1.0) {
        (true, _) => "memory full, the network allows the peak with all communication hidden",
        (false, true) => "memory full, the network allows the peak only with communication exposed",
        (false, false) => "the network keeps it below the peak, however full the memory",
    }
}

/// Memory, transfer and overlap.
fn given(limits: &fsdp::Limits) -> [[String; 3]; 7] {
    let row = |name: &str, value: String, formula: String| [name.to_owned(), value, formula];
    let free = limits.free();
    let free = if free < Bytes::ZERO { format!("-{}", -free) } else { free.to_string() };
    let tokens = thousands(limits.token_capacity().floor());
    let (gradients, optimizer) = (limits.element, limits.optimizer);
    let devices = limits.devices;
    let state = match limits.stage {
        Stage::One => format!("phi x ({} + {gradients} + {optimizer} / {devices})", limits.element),
        Stage::Two => format!("phi x ({} + ({gradients} + {optimizer}) / {devices})", limits.element),
        Stage::Three => format!("phi x {} / {devices}", limits.element + gradients + optimizer),
    };
    // Without sharded weights a step reduces gradients and gathers what it updated, whatever n_bwd says.
    let moved = if limits.stage == Stage::Three { "n_bwd" } else { "2" };
    let [forward, backward] = limits.overlap(limits.token_capacity(), 1.0).map(ratio);
    [
        row("parameters phi", format!("{} B", significant(limits.parameters / 1e9, 4)), limits.counted()),
        row("free memory", free, format!("{} - {state}", limits.memory)),
        row("token capacity", tokens.clone(), format!("free memory / {} of activations a token", limits.activation())),
        row("longest sequence", tokens, "token capacity, one sequence a device".to_owned()),
        row("transfer", limits.transfer().to_string(), format!("phi x {} / {} of a ring", limits.element, limits.link)),
        row("overlap forward", forward, "transfer / forward at peak; up to 1 it hides".to_owned()),
        row("overlap backward", backward, format!("{moved} transfers / (3 - gamma) forwards")),
    ]
}

/// Both forms of each bound: no exposed communication, and the network's floor.
fn bounds(limits: &fsdp::Limits) -> [(&'static str, [String; 2], &'static str); 4] {
    let both = [limits.hidden(), limits.network_floor()];
    let capped = both.map(|bound| limits.capped(bound));
    let percent = |share: f64| format!("{} %", significant(100.0 * share, 3));
    [
        ("HFU", capped.map(|bound| percent(bound.hfu)), "flop / (peak x transfers' time)"),
        ("HFU, uncapped", both.map(|bound| percent(bound.hfu)), "the same, above the peak too"),
        ("MFU", capped.map(|bound| percent(bound.mfu)), "3 / (4 - gamma) of HFU"),
        ("tokens/s, device", capped.map(|bound| thousands(bound.tokens_per_s)), "HFU x peak / flop of a token"),
    ]
}

fn ratio(ratio: f64) -> String {
    if ratio.is_finite() { significant(ratio, 3) } else { "-".to_owned() }
}
