//! The layout of a frame: which panel goes where, by the size of the terminal. Not for what is in them.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::text::Line;

use super::caps::Caps;
use super::panels::{breakdown, chrome, headline, inputs, layers, memory, timeline, views};
use super::theme::{Role, Theme};
use crate::app::action::panel::ViewId;
use crate::app::{App, Panel};
use shardscope_engine::text::{REPLACEMENT, is_hidden};

/// Below this nothing can be read.
const SMALLEST: (u16, u16) = (40, 10);

/// From this on all panels are seen at once.
const WIDE: (u16, u16) = (110, 34);

/// From this on the breakdown may stand beside the map, too.
const LARGE: (u16, u16) = (160, 44);

/// Rows that the memory and the timeline keep beside a tall view.
const LEAST_MEMORY: u16 = 6;
const LEAST_TIMELINE: u16 = 8;

/// Panels beside one another share a wall.
const WALL: i32 = -1;

/// Rows of its words that the timeline lends the breakdown beside the memory.
const LENT: u16 = 1;

/// Rows of the legend of the memory, without which its panel says no more than its summary.
const LEGEND: u16 = 2;

/// Draws the explorer.
///
/// ```text
/// compact, one panel at a time       wide, all panels                   large, by need
/// ┌──────────────────────────────┐   ┌──────────────────────────────┐   ┌──────────────────────────────┐
/// │ headline                     │   │ headline                     │   │ headline                     │
/// │ tabs                         │   ├────────┬─────────────────────┤   ├────────┬────────────┬────────┤
/// ├──────────────────────────────┤   │ inputs │ map, or a view      │   │ inputs │ map or view│ break- │
/// │ the panel that has the keys  │   │        ├────────────┬────────┤   │        ├────────────┤ down   │
/// │                              │   │        │ memory     │ break- │   │        │ memory     │        │
/// │                              │   │        │            │ down   │   │        │            │        │
/// ├──────────────────────────────┤   │        ├────────────┴────────┤   │        ├────────────┴────────┤
/// │ memory, exposed              │   │        │ timeline            │   │        │ timeline            │
/// │ status                       │   ├────────┴─────────────────────┤   ├────────┴─────────────────────┤
/// │ footer                       │   │ status, footer               │   │ status, footer               │
/// └──────────────────────────────┘   └──────────────────────────────┘   └──────────────────────────────┘
/// ```
///
/// An enlarged panel has all between headline and status, on any of them.
pub fn draw(app: &App, caps: &Caps, frame: &mut Frame) {
    let theme = Theme::new(*caps);
    let area = frame.area();
    // A cursor outside the screen would move it: some terminals scroll then.
    let cursor = draw_on(app, theme, area, frame.buffer_mut());
    if let Some(cursor) = cursor.filter(|cursor| area.contains(*cursor)) {
        frame.set_cursor_position(cursor);
    }
}

/// The explorer as a picture of this size, for a file.
pub fn picture(app: &App, caps: &Caps, (width, height): (u16, u16)) -> Buffer {
    let mut buf = Buffer::empty(Rect { x: 0, y: 0, width, height });
    draw_on(app, Theme::new(*caps), buf.area, &mut buf);
    buf
}

/// Draws on any rectangle; gives the place of the text cursor, if there is one.
fn draw_on(app: &App, theme: Theme, area: Rect, buf: &mut Buffer) -> Option<Position> {
    let Some(places) = ScreenPlaces::new(app, area) else {
        too_small(theme, area, buf);
        return None;
    };
    headline::render(app, theme, at_least(area, WIDE), places.head, buf);
    if !places.tabs.is_empty() {
        chrome::render_tabs(app, theme, places.tabs, buf);
    }
    // The panel that has the keys comes last: the walls that it shares are its own.
    let (here, others): (Vec<_>, Vec<_>) = places.panels.into_iter().partition(|(panel, _)| *panel == app.focus);
    for (panel, area) in others.into_iter().chain(here) {
        match panel {
            Panel::Inputs => inputs::render(app, theme, area, buf),
            Panel::Map => views::render(app, theme, area, buf),
            Panel::Memory => memory::render(app, theme, area, buf),
            Panel::Timeline => timeline::render(app, theme, area, buf),
            Panel::Time => breakdown::render(app, theme, area, buf),
        }
    }
    chrome::render_strips(app, theme, places.strips, buf);
    let searching = chrome::render_status(app, theme, [places.said, places.keys], buf);
    let typing = layers::render(app, theme, places.body, buf);
    show_what_is_hidden(theme, buf);
    searching.or(typing)
}

/// Puts a mark where foreign text would hide something in a cell: a tag, a joiner, another direction.
fn show_what_is_hidden(theme: Theme, buf: &mut Buffer) {
    let mark = if theme.caps().ascii { '?' } else { REPLACEMENT };
    for cell in &mut buf.content {
        // Nearly all cells hold one letter that anybody can see.
        let plain = matches!(cell.symbol().as_bytes(), [b' '..=b'~']);
        if !plain && cell.symbol().chars().any(is_hidden) {
            cell.set_char(mark);
        }
    }
}

/// The areas of a screen.
pub(super) struct ScreenPlaces {
    head: Rect,
    pub(super) tabs: Rect,
    pub(super) panels: Vec<(Panel, Rect)>,
    strips: Rect,
    /// All between headline and status: where layers are.
    pub(super) body: Rect,
    said: Rect,
    keys: Rect,
}

impl ScreenPlaces {
    /// On a screen; `None` if it is too small.
    pub(super) fn new(app: &App, area: Rect) -> Option<Self> {
        if !at_least(area, SMALLEST) {
            return None;
        }
        let rows = [
            Constraint::Length(headline::height(area.height)),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(1),
        ];
        let [head, body, said, keys] = area.layout(&Layout::vertical(rows));
        if app.enlarged {
            let panels = vec![(app.focus, body)];
            return Some(Self { head, tabs: Rect::ZERO, panels, strips: Rect::ZERO, body, said, keys });
        }
        if at_least(area, WIDE) {
            let panels = all_panels(app, at_least(area, LARGE), body).into();
            return Some(Self { head, tabs: Rect::ZERO, panels, strips: Rect::ZERO, body, said, keys });
        }
        let (tabs, panels, strips) = compact(app, body);
        Some(Self { head, tabs, panels, strips, body, said, keys })
    }
}

/// Rows of a list or of the help that are seen at once on a terminal of this height: all but headline, status, footer
/// and frame.
pub const fn page(height: u16) -> u16 {
    height.saturating_sub(4 + headline::height(height))
}

fn at_least(area: Rect, (width, height): (u16, u16)) -> bool {
    area.width >= width && area.height >= height
}

fn too_small(theme: Theme, area: Rect, buf: &mut Buffer) {
    let (width, height) = SMALLEST;
    let lines = ["terminal too small,".to_owned(), format!("need {width}x{height}")];
    for (row, line) in area.rows().zip(lines) {
        buf.set_line(row.x, row.y, &Line::styled(line, theme.style(Role::Text)), row.width);
    }
}

/// Tabs, the panel that has the keys, and where memory and time go: in a few lines, unless that is the panel or the
/// panel is a view that needs all; in panels of their own under a map or a view that leaves them room.
fn compact(app: &App, area: Rect) -> (Rect, Vec<(Panel, Rect)>, Rect) {
    let [tabs, under] = area.layout(&Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]));
    let spare = under.height.saturating_sub(views::height(app));
    if app.focus == Panel::Map && spare >= LEAST_MEMORY + LEGEND {
        // The memory itself where its summary would leave a hole, and the timeline where that would leave one.
        let memory = spare.min(memory::height(app));
        let timeline = spare - memory;
        let memory = if timeline < LEAST_TIMELINE { spare } else { memory };
        let rows = [Constraint::Fill(1), Constraint::Length(memory), Constraint::Length(spare - memory)];
        let [map, memory, timeline] = under.layout(&Layout::vertical(rows));
        let panels = [(Panel::Map, map), (Panel::Memory, memory), (Panel::Timeline, timeline)];
        return (tabs, panels.into_iter().filter(|(_, area)| !area.is_empty()).collect(), Rect::ZERO);
    }
    // A view needs its rows more than a summary that panels 3 and 5 give in full.
    let takes_all = app.focus == Panel::Memory || app.focus == Panel::Map && app.view != ViewId::MAP;
    let room = area.height >= chrome::STRIPS + 10 && !takes_all;
    let strip = if room { chrome::STRIPS } else { 0 };
    let [panel, strips] = under.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(strip)]));
    (tabs, vec![(app.focus, panel)], strips)
}

/// The inputs on the left, the other panels one under another. The breakdown stands where it shows all of its rows and
/// leaves the fewest blank: under the inputs, beside the memory, beside the map, or beside both.
fn all_panels(app: &App, large: bool, area: Rect) -> [(Panel, Rect); 5] {
    let needed = breakdown::height(app);
    let [left, right] = area.layout(
        &Layout::horizontal([Constraint::Length(inputs::width(area.width, LARGE.0)), Constraint::Fill(1)])
            .spacing(WALL),
    );
    let [top, middle, bottom] = right.layout(&Layout::vertical(heights(app, area.height, needed)).spacing(WALL));
    let [above, below] =
        left.layout(&Layout::vertical([Constraint::Fill(1), Constraint::Length(needed)]).spacing(WALL));
    let across = Layout::horizontal([Constraint::Fill(1), Constraint::Length(breakdown::WIDTH)]).spacing(WALL);
    let [narrow_top, beside_top] = top.layout(&across);
    let [narrow_middle, beside] = middle.layout(&across);
    let (left, top, middle, time) = if left.width >= breakdown::WIDTH && above.height >= inputs::height(app) {
        (above, top, middle, below)
    } else if !large || middle.height >= needed {
        (left, top, narrow_middle, beside)
    } else if top.height >= needed {
        (left, narrow_top, middle, beside_top)
    } else {
        (left, narrow_top, narrow_middle, beside_top.union(beside))
    };
    [(Panel::Inputs, left), (Panel::Map, top), (Panel::Memory, middle), (Panel::Time, time), (Panel::Timeline, bottom)]
}

/// The map or the view in its place takes what it needs, the memory what is left of what it can use, the timeline the
/// rest; both keep what they say least in. The timeline lends a row to a breakdown of so many rows beside the memory.
fn heights(app: &App, height: u16, breakdown: u16) -> [Constraint; 3] {
    let view = views::height(app).min(height.saturating_sub(LEAST_MEMORY + LEAST_TIMELINE));
    let rest = height.saturating_sub(view + timeline::height(app));
    // Rows that neither needs are shared, if the timeline can draw memory over time in its half: the memory's panel does in any.
    let over = rest.saturating_sub(memory::height(app));
    let share = if over / 2 < timeline::HELD { over } else { over / 2 };
    let memory = rest.clamp(LEAST_MEMORY, memory::height(app) + share);
    let memory = if memory + LENT < breakdown { memory } else { memory.max(breakdown) };
    [Constraint::Length(view), Constraint::Length(memory), Constraint::Fill(1)]
}

#[cfg(test)]
mod tests;
