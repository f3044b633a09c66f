//! Why a figure is what it is: formula, the same in numbers, its inputs, what it is and who says so.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Margin, Position, Rect};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Widget;

use super::in_view;
use super::layers::{middle, over};
use crate::app::explaining::{Explaining, Page};
use crate::app::pointing::Target;
use crate::figures::Input;
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::text::{fit, wrapped};

/// Columns that it takes, as far as there is room.
const WIDTH: u16 = 100;

/// Columns of an input's value.
const VALUE: usize = 14;

/// Draws it.
pub(super) fn render(theme: Theme, explaining: &Explaining, area: Rect, buf: &mut Buffer) {
    let (Some(page), Some(title)) = (explaining.page(), explaining.title()) else { return };
    let way: Vec<&str> = explaining.way().collect();
    let trail = way.iter().rev().skip(1).rev().copied().collect::<Vec<_>>().join(" / ");
    let inside = over(theme, (WIDTH, area.height), &title, &trail, area, buf);
    let [body, _] = inside.layout(&Layout::horizontal([Constraint::Fill(1), Constraint::Length(1)]));
    let lines = in_sight(page, theme, inside).into_iter().map(|(line, _)| line);
    Text::from(lines.collect::<Vec<_>>()).render(body, buf);
}

/// What of it is at a place.
pub(super) fn target(explaining: &Explaining, area: Rect, at: Position) -> Target {
    let outside = middle((WIDTH, area.height), area);
    let inside = outside.inner(Margin::new(1, 1));
    let lines = explaining.page().map(|page| in_sight(page, Theme::default(), inside)).unwrap_or_default();
    let under = inside.contains(at).then(|| lines.get(usize::from(at.y - inside.y))).flatten();
    match under {
        Some((_, Some(row))) => Target::Item(*row),
        _ if outside.contains(at) => Target::Layer,
        _ => Target::Nothing,
    }
}

/// The lines from the first that is seen on, each with the row that it belongs to.
fn in_sight(page: &Page, theme: Theme, inside: Rect) -> Vec<(Line<'static>, Option<usize>)> {
    let width = usize::from(inside.width.saturating_sub(2));
    let mut lines: Vec<_> = head(page, theme, width).into_iter().map(|line| (line, None)).collect();
    let mut ends = vec![lines.len()];
    let inputs = page.explanation.formula.inputs();
    for (index, input) in inputs.iter().enumerate() {
        lines.extend(row(input, page.row() == index, theme, width).into_iter().map(|line| (line, Some(index))));
        ends.push(lines.len());
    }
    for (at, text) in [page.explanation.about.to_string(), page.explanation.source.to_string()].into_iter().enumerate()
    {
        let row = inputs.len() + at;
        lines.push((Line::default(), None));
        let said = wrapped(&text, width).into_iter();
        lines.extend(said.map(|line| (marked(&line, page.row() == row, theme), Some(row))));
        ends.push(lines.len());
    }
    // From the top as long as the cursor is on the first input.
    let last = ends.get(page.row() + 1).copied().unwrap_or(lines.len()).max(1) - 1;
    let first = if page.row() == 0 { 0 } else { in_view(last, lines.len(), usize::from(inside.height)).start };
    lines.split_off(first)
}

/// The figure, its formula, and the formula in numbers.
fn head(page: &Page, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let explanation = &page.explanation;
    let formula = wrapped(&format!("= {}", explanation.formula), width);
    let numbers = wrapped(&format!("= {}", explanation.formula.in_numbers()), width);
    let mut lines =
        vec![Line::styled(format!(" {} {}", explanation.name, explanation.amount), theme.style(Role::Title))];
    lines.extend(formula.into_iter().map(|row| Line::raw(format!(" {row}"))));
    lines.extend(numbers.into_iter().map(|row| Line::styled(format!(" {row}"), theme.style(Role::Dim))));
    lines.push(Line::default());
    lines
}

/// An input: what it is, how much, and, where the cursor is, who says so.
fn row(input: &Input, here: bool, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let mark = if here { theme.glyphs().pinned } else { " " };
    let follows = if input.figure.is_some() { theme.glyphs().more[1] } else { " " };
    let room = width.saturating_sub(VALUE + 3);
    let name = format!("{mark}{:<room$} ", fit(&input.name, room, theme));
    let style = theme.style(if here { Role::Cursor } else { Role::Text });
    let value = Span::styled(format!("{:>VALUE$}", input.amount.to_string()), style);
    let mut lines = vec![Line::from(vec![Span::styled(name, style), value, Span::raw(format!(" {follows}"))])];
    if here {
        let source = if input.figure.is_some() { "Enter explains it".to_owned() } else { input.source.to_string() };
        let said = wrapped(&source, width.saturating_sub(3));
        lines.extend(said.into_iter().map(|row| Line::styled(format!("   {row}"), theme.style(Role::Dim))));
    }
    lines
}

fn marked(text: &str, here: bool, theme: Theme) -> Line<'static> {
    let mark = if here { theme.glyphs().pinned } else { " " };
    Line::styled(format!("{mark}{text}"), theme.style(if here { Role::Text } else { Role::Dim }))
}
