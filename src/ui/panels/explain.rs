//! Why a figure is what it is: formula, the same in numbers, its inputs, what it is and its source.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::overlay::{Overlay, room};
use crate::app::layer::explanation::{Explaining, Page};
use crate::ui::theme::{Role, Theme};
use crate::ui::widgets::RowList;
use crate::ui::widgets::list::ListLine;
use crate::ui::widgets::text::{fit, wrapped};
use shardscope_report::figures::FormulaInput;

/// Columns that it takes, as far as there is room.
const WIDTH: u16 = 100;

/// Columns of an input's value.
const VALUE: usize = 14;

/// The page on top of those that led to it.
pub(super) fn overlay(theme: Theme, explaining: &Explaining, area: Rect) -> Option<Overlay<'_>> {
    let (page, title) = (explaining.page()?, explaining.title()?);
    let way: Vec<&str> = explaining.way().collect();
    let note = way.split_last().map_or_else(String::new, |(_, before)| before.join(" / "));
    let size = (WIDTH, area.height);
    let lines = lines(page, theme, room(size, area).0.saturating_sub(2));
    let list = RowList { theme, lines, cursor: Some(page.row()), ..RowList::default() };
    Some(Overlay { theme, size, title, note, list, ..Overlay::default() })
}

/// What the figure is, a row for each input, what it is about, and its source.
fn lines(page: &Page, theme: Theme, width: usize) -> Vec<ListLine<'static>> {
    let mut lines: Vec<_> = head(page, theme, width).into_iter().map(|line| (line, None)).collect();
    let inputs = page.explanation.formula.inputs();
    for (index, input) in inputs.iter().enumerate() {
        lines.extend(row(input, page.row() == index, theme, width).into_iter().map(|line| (line, Some(index))));
    }
    let texts = [page.explanation.about.to_string(), page.explanation.source.to_string()];
    for (text, row) in texts.iter().zip(inputs.len()..) {
        // Each line of a text is marked, where of an input only the first is.
        let (mark, role) = if page.row() == row { (theme.glyphs().pinned, Role::Text) } else { (" ", Role::Dim) };
        let said = wrapped(text, width).into_iter();
        lines.push((Line::default(), None));
        lines.extend(said.map(|line| (Line::styled(format!("{mark}{line}"), theme.style(role)), Some(row))));
    }
    lines
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

/// An input: what it is, how much, and, where the cursor is, its source.
fn row(input: &FormulaInput, here: bool, theme: Theme, width: usize) -> Vec<Line<'static>> {
    let follows = if input.figure.is_some() { theme.glyphs().more[1] } else { " " };
    let room = width.saturating_sub(VALUE + 3);
    let mark = if here { theme.glyphs().pinned } else { " " };
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
