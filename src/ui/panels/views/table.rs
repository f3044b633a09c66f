//! A view that is a table with words over and under it: its frame, its parts, and the row under the mouse.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget, Wrap};

use crate::app::{App, Panel};
use crate::ui::panels::{frame, panel_list, roomiest};
use crate::ui::theme::Theme;
use crate::ui::widgets::table::{self, Aligned};
use crate::ui::widgets::text::{columns, draw_lines};
use crate::ui::widgets::{RowList, list};
use shardscope_report::figures::Table;

/// Rows that a list keeps, whatever stands under it.
const LEAST_ROWS: u16 = 3;

/// A table with words over and under it.
///
/// ```text
/// ┌ 2 Strategies by throughput ──── against the current one ┐  title, note
/// │  strategy          days TFLOP/s against     GiB  exposed│  over
/// │▸★fsdp ◂             188     390  +0.0 %    67.1   3.01 s│  list
/// │  zero1              137     535   +37 %   × 309   449 ms│
/// │  ◂ current  ★ fastest  × does not fit                   │  under
/// │  Weights, gradients and optimizer state are sharded ... │  rest
/// └─────────────────────────────────────────────────────────┘
/// ```
#[derive(Default)]
pub(super) struct TableView {
    pub title: String,
    /// Forms of the note beside the title, the fullest first.
    pub notes: Vec<String>,
    pub over: Vec<Line<'static>>,
    pub list: RowList<'static>,
    /// A sentence in place of the list, if there is none.
    pub instead: Option<String>,
    pub under: Vec<Line<'static>>,
    /// Rows that are kept for the rest, if the list still has `LEAST_ROWS`.
    pub kept: u16,
    pub rest: Option<fn(&App, Theme, Rect, &mut Buffer)>,
}

impl TableView {
    pub fn render(&self, app: &App, theme: Theme, area: Rect, buf: &mut Buffer) {
        let note = roomiest(self.notes.iter().cloned(), &self.title, area);
        let inside = frame(app, theme, Panel::Map, &self.title, &note, area, buf);
        let [over, rows, under, rest] = self.places(inside);
        draw_lines(buf, over, &self.over, theme);
        if let Some(instead) = &self.instead {
            let below = Rect { height: inside.bottom().saturating_sub(rows.y), ..rows };
            return Paragraph::new(instead.as_str()).wrap(Wrap { trim: true }).render(below, buf);
        }
        self.list.render(rows, buf);
        draw_lines(buf, under, &self.under, theme);
        if let Some(draw) = self.rest {
            draw(app, theme, rest, buf);
        }
    }

    pub fn row_at(&self, inside: Rect, at: Position) -> Option<usize> {
        let [_, rows, ..] = self.places(inside);
        self.list.row_at(rows, at)
    }

    /// The areas of the words over the list, the list, the words under it, and the rest.
    fn places(&self, inside: Rect) -> [Rect; 4] {
        let [over, under] = [&self.over, &self.under].map(|lines| columns(lines.len()));
        let room = inside.height.saturating_sub(over + under);
        let kept = if room >= self.kept + LEAST_ROWS { self.kept } else { 0 };
        let rows = columns(self.list.lines.len()).min(room - kept);
        let lengths = [over, rows, under].map(Constraint::Length);
        inside.layout(&Layout::vertical(lengths.into_iter().chain([Constraint::Fill(1)])))
    }
}

/// The rows of a table as the list of the view in the map's place.
pub(super) fn rows(app: &App, theme: Theme, table: &Table, columns: &[Aligned], cursor: usize) -> RowList<'static> {
    panel_list(app, theme, list::numbered(table::lines(table, columns, theme)), cursor)
}
