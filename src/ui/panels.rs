//! The panels: one file each, drawn from the state on any rectangle. Not for where they go ([`super::screen`]).

pub(super) mod breakdown;
mod browser;
pub(super) mod chrome;
mod form;
pub(super) mod headline;
pub(super) mod inputs;
pub(super) mod layers;
pub(super) mod memory;
mod overlay;
pub(super) mod timeline;
pub(super) mod views;
mod words;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::merge::MergeStrategy;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Widget};

use super::theme::{Role, Theme};
use super::widgets::RowList;
use super::widgets::list::ListLine;
use crate::app::{App, Panel};

/// A panel's frame, marked if the panel has the keys; gives what is inside.
fn frame(app: &App, theme: Theme, panel: Panel, title: &str, note: &str, area: Rect, buf: &mut Buffer) -> Rect {
    let number = panel as usize + 1;
    boxed(theme, has_keys(app, panel), &format!("{number} {title}"), note, area, buf)
}

/// Added to a title where the fields as they stand are not possible.
const LAST_POSSIBLE: &str = ", last possible scenario";

/// Says in a view's title that it shows an earlier scenario, since the present one is not possible.
fn outdated(app: &App) -> &'static str {
    if app.shown.is_ok() && app.inputs.are_possible() { "" } else { LAST_POSSIBLE }
}

/// Says in a panel's title that its picture is of an earlier scenario.
fn staleness(app: &App) -> &'static str {
    match (&app.shown, app.stale) {
        (Err(_), _) => LAST_POSSIBLE,
        (Ok(_), true) => ", computing",
        (Ok(_), false) => "",
    }
}

/// A frame with a title on the left and a note on the right; gives what is inside.
fn boxed(theme: Theme, focused: bool, title: &str, note: &str, area: Rect, buf: &mut Buffer) -> Rect {
    let role = if focused { Role::Accent } else { Role::Dim };
    let title_role = if focused { Role::Accent } else { Role::Title };
    let mut block = Block::bordered()
        .border_set(theme.glyphs().border)
        .merge_borders(MergeStrategy::Exact)
        .border_style(theme.style(role))
        .title_top(Line::styled(format!(" {title} "), theme.style(title_role)));
    if !note.is_empty() && has_room(title, note, area) {
        block = block.title_top(Line::styled(format!(" {note} "), theme.style(Role::Text)).right_aligned());
    }
    let inside = block.inner(area);
    (&block).render(area, buf);
    inside
}

/// Whether a panel has the keys.
fn has_keys(app: &App, panel: Panel) -> bool {
    app.focus == panel && app.layer.is_none()
}

/// The list of the view in the map's place, its cursor highlighted where it has the keys.
fn panel_list<'a>(app: &App, theme: Theme, lines: Vec<ListLine<'a>>, cursor: usize) -> RowList<'a> {
    let focused = has_keys(app, Panel::Map);
    RowList { theme, lines, cursor: Some(cursor), focused, marked: true, ..RowList::default() }
}

/// Progress of a computation as the note beside a title: in words, if there is room, or as a ratio.
fn progress(before: &str, (done, all): (usize, usize), after: &str, title: &str, area: Rect) -> String {
    let short = format!("computing {done} of {all}");
    roomiest([format!("{before}{short}{after}"), short, format!("{done}/{all}")], title, area)
}

/// The first of some notes that stands beside a title of the map's place.
fn roomiest(notes: impl IntoIterator<Item = String>, title: &str, area: Rect) -> String {
    let title = format!("{} {title}", Panel::Map as usize + 1);
    notes.into_iter().find(|note| has_room(&title, note, area)).unwrap_or_default()
}

/// Whether a note stands beside a title in the frame around an area.
fn has_room(title: &str, note: &str, area: Rect) -> bool {
    Span::raw(title).width() + Span::raw(note).width() + 9 <= usize::from(area.width)
}

/// As many parts as fit, from the first on, with a mark between them.
fn joined<'a>(parts: impl IntoIterator<Item = Span<'a>>, theme: Theme, width: u16) -> Line<'a> {
    let mark = format!(" {} ", theme.glyphs().hidden);
    let mut line = Line::default();
    for part in parts.into_iter().filter(|part| !part.content.is_empty()) {
        let between = if line.spans.is_empty() { 0 } else { Span::raw(&mark).width() };
        if !line.spans.is_empty() {
            if line.width() + between + part.width() > usize::from(width) {
                break;
            }
            line.push_span(Span::styled(mark.clone(), theme.style(Role::Dim)));
        }
        line.push_span(part);
    }
    line
}

/// Columns between facts on the left and facts on the right.
const GAP: u16 = 2;

/// Columns of facts, if there were room for all.
fn columns(parts: &[Span], theme: Theme) -> u16 {
    u16::try_from(joined(parts.iter().cloned(), theme, u16::MAX).width()).unwrap_or(u16::MAX)
}

/// Whether all facts have room on one row.
fn fits(left: &[Span], right: &[Span], theme: Theme, row: Rect) -> bool {
    columns(left, theme).saturating_add(columns(right, theme)).saturating_add(GAP) <= row.width
}

/// Facts on the left and on the right of one row, as many as fit; `left_first` says which side gives way.
fn two_sided(left: &[Span], right: &[Span], left_first: bool, theme: Theme, row: Rect, buf: &mut Buffer) {
    let room = if left_first { row.width.saturating_sub(columns(left, theme).saturating_add(GAP)) } else { row.width };
    let right = joined(right.iter().cloned(), theme, room);
    // The side that gives way is measured last, with what the other left.
    let taken = u16::try_from(right.width()).unwrap_or(u16::MAX).min(row.width);
    let room = if taken > 0 { row.width.saturating_sub(taken + GAP) } else { row.width };
    let left = joined(left.iter().cloned(), theme, room);
    buf.set_line(row.x, row.y, &left, room);
    buf.set_line(row.right() - taken, row.y, &right, taken);
}
