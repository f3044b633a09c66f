//! A list to choose from: a name and a note per row. Not for filtering or moving in it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    HighlightSpacing, List, ListState, Scrollbar, ScrollbarOrientation, ScrollbarState, StatefulWidget, Widget,
};

use super::text::{fit, width};
use crate::ui::theme::{Role, Theme};

/// Rows of a name and a note, one of them under the cursor; scrolls to keep it in view.
///
/// ```text
///   fsdp        weights, gradients and optimizer over all ranks
/// ▸ hsdp        within a node, replicated between nodes
///   zero-topo   weights in the package, gradients in the node
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Picker<'a> {
    theme: Theme,
    items: &'a [(String, String)],
    selected: Option<usize>,
}

impl<'a> Picker<'a> {
    /// A list of names with notes.
    pub const fn new(theme: Theme, items: &'a [(String, String)]) -> Self {
        Self { theme, items, selected: None }
    }

    /// The row under the cursor.
    #[must_use = "method moves the value of self and returns the modified value"]
    pub const fn selected(mut self, row: Option<usize>) -> Self {
        self.selected = row;
        self
    }

    fn rows(&self, room: usize) -> Vec<Line<'static>> {
        let longest = |of: fn(&(String, String)) -> &String| self.items.iter().map(|item| width(of(item))).max();
        // Names may have what the notes leave, at least half.
        let notes = longest(|(_, note)| note).unwrap_or(0);
        let most = room.saturating_sub(notes + 2).max(room / 2);
        let widest = longest(|(name, _)| name).unwrap_or(0).min(most);
        let row = |(name, note): &(String, String)| {
            let name = fit(name, if note.is_empty() { room } else { widest }, self.theme);
            let gap = " ".repeat(widest.saturating_sub(width(&name)) + 2);
            let note = fit(note, room.saturating_sub(widest + 2), self.theme);
            Line::from(vec![Span::raw(name), Span::raw(gap), Span::styled(note, self.theme.style(Role::Dim))])
        };
        self.items.iter().map(row).collect()
    }
}

impl Widget for &Picker<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(buf.area);
        let glyphs = self.theme.glyphs();
        let overflows = self.items.len() > usize::from(area.height);
        let mut state = ListState::default().with_selected(self.selected);
        let list = List::new(self.rows(usize::from(area.width.saturating_sub(2 + u16::from(overflows)))))
            .highlight_symbol(format!("{} ", glyphs.pinned))
            .highlight_spacing(HighlightSpacing::Always)
            .highlight_style(self.theme.style(Role::Cursor));
        let inner = Rect { width: area.width.saturating_sub(u16::from(overflows)), ..area };
        StatefulWidget::render(list, inner, buf, &mut state);
        if overflows {
            scrollbar(self.theme, self.items.len(), state.offset(), area, buf);
        }
    }
}

/// A bar at the right edge that shows which of `rows` rows are in view.
pub(super) fn scrollbar(theme: Theme, rows: usize, offset: usize, area: Rect, buf: &mut Buffer) {
    let glyphs = theme.glyphs();
    let in_view = usize::from(area.height);
    // ratatui counts positions, of which there is one more than rows that can be scrolled away.
    let positions = rows.saturating_sub(in_view) + 1;
    let mut state = ScrollbarState::new(positions).position(offset).viewport_content_length(in_view);
    Scrollbar::new(ScrollbarOrientation::VerticalRight)
        .begin_symbol(None)
        .end_symbol(None)
        .track_symbol(Some(glyphs.limit))
        .thumb_symbol(glyphs.shades[4])
        .style(theme.style(Role::Dim))
        .render(area, buf, &mut state);
}

#[cfg(test)]
mod tests;
