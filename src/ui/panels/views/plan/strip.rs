//! The operators of a model as a strip: attention and MLP of each layer, embedding and head, each with the mark of
//! where its state lies.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::ui::theme::{Role, Theme, Tone};
use crate::ui::widgets::text::put;
use shardscope_engine::plan::{Extents, Placement, Site};
use shardscope_engine::search::planner::FoundPlan;

/// Rows: attention, MLP, the cursor with the layers' numbers, embedding and head with the legend.
pub(super) const HEIGHT: u16 = 4;

/// Columns of the names.
const NAMES: u16 = 12;

/// The tones of the places in the order in which they first appear.
const TONES: [Tone; 6] = [Tone::Blue, Tone::Ochre, Tone::Violet, Tone::Green, Tone::Rose, Tone::Teal];

/// The placements of operators with their slices, each with its mark.
struct Legend<'a> {
    theme: Theme,
    places: Vec<(&'a Extents, u32)>,
}

impl<'a> Legend<'a> {
    fn new(found: &'a FoundPlan, theme: Theme) -> Self {
        let mut places: Vec<(&Extents, u32)> = Vec::new();
        for placement in &found.operators {
            let place = (&placement.extents, placement.split);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Self { theme, places }
    }

    /// The mark of an entry: a fill, from the fifth on a letter.
    fn mark(&self, placement: &Placement) -> (String, Style) {
        let place = self.places.iter().position(|place| *place == (&placement.extents, placement.split));
        self.nth(place.unwrap_or(0))
    }

    fn nth(&self, place: usize) -> (String, Style) {
        let tone = TONES[place % TONES.len()];
        match self.theme.glyphs().fills.get(place) {
            Some(fill) => ((*fill).to_owned(), self.theme.texture(tone)),
            None => (char::from(b'a' + (place % 26) as u8).to_string(), self.theme.fill(tone)),
        }
    }

    /// As many marks as there is room for, each with what it stands for: `█ system  ▓ node / node / system in 2 slices`.
    fn line(&self, width: u16) -> Line<'static> {
        let mut line = Line::default();
        for (place, (extents, split)) in self.places.iter().enumerate() {
            let (mark, style) = self.nth(place);
            let slices = if *split > 1 { format!(" in {split} slices") } else { String::new() };
            let item = [Span::styled(mark, style), Span::raw(format!(" {}{slices}  ", short(extents)))];
            if line.width() + item.iter().map(Span::width).sum::<usize>() > usize::from(width) + 2 {
                break;
            }
            line.spans.extend(item);
        }
        line
    }
}

/// The three extents, or the one that all of them are.
fn short(extents: &Extents) -> String {
    let [weights, gradients, optimizer] = extents.named().map(|(_, extent)| extent);
    match weights {
        Some(all) if weights == gradients && weights == optimizer => all.to_string(),
        _ => extents.to_string(),
    }
}

/// The operators of a layer, each in a row of its own.
const ROWS: [&str; 2] = ["attention", "mlp"];

/// The operator of a layer in a row.
const fn site(row: usize, layer: u32) -> Site {
    if row == 0 { Site::Attention(layer) } else { Site::Mlp(layer) }
}

/// Columns of all layers: whole ones for each where there is room.
fn columns(found: &FoundPlan, area: Rect) -> u32 {
    let (layers, room) = (found.scenario.model.layers.max(1), u32::from(area.width.saturating_sub(NAMES)));
    if layers <= room { room / layers * layers } else { room }
}

/// The layer of a column.
fn layer(found: &FoundPlan, area: Rect, column: u32) -> u32 {
    column * found.scenario.model.layers.max(1) / columns(found, area).max(1)
}

/// The operators at a place, by their place in the plan.
pub(super) fn operator_at(found: &FoundPlan, area: Rect, at: Position) -> Option<usize> {
    let row = Some(usize::from(at.y - area.y)).filter(|row| *row < ROWS.len())?;
    let column = u32::from((at.x - area.x).checked_sub(NAMES)?);
    let site = (column < columns(found, area)).then(|| site(row, layer(found, area, column)))?;
    found.operators.iter().rposition(|placement| placement.names(site))
}

/// Draws it, with a mark under the operators at a place of the plan.
pub(super) fn render(found: &FoundPlan, cursor: usize, theme: Theme, area: Rect, buf: &mut Buffer) {
    let legend = Legend::new(found, theme);
    let layers = found.scenario.model.layers.max(1);
    let place = |site: Site| found.operators.iter().rposition(|placement| placement.names(site));
    let dim = theme.style(Role::Dim);
    for (row, name) in ROWS.into_iter().enumerate() {
        let y = row as u16;
        buf.set_stringn(area.x + 1, area.y + y, name, usize::from(NAMES), dim);
        for column in 0..columns(found, area) {
            let Some(index) = place(site(row, layer(found, area, column))) else { continue };
            let (mark, style) = legend.mark(&found.operators[index]);
            let x = area.x + NAMES + column as u16;
            put(buf, x, area.y + y, &mark, style);
            if index == cursor {
                put(buf, x, area.y + 2, theme.glyphs().change[0], theme.style(Role::Accent));
            }
        }
    }
    buf.set_stringn(area.x + 1, area.y + 2, format!("layer 0-{}", layers - 1), usize::from(NAMES) - 1, dim);
    let ends = [(Site::Embedding, "embedding"), (Site::Head, "head")].into_iter().filter_map(|(site, name)| {
        let index = place(site)?;
        let style = if index == cursor { theme.style(Role::Cursor) } else { dim };
        let (mark, fill) = legend.mark(&found.operators[index]);
        Some([Span::styled(format!("{name} "), style), Span::styled(format!("{mark}  "), fill)])
    });
    let mut line = Line::from(vec![Span::raw(" ")]);
    line.spans.extend(ends.flatten());
    let left = line.width() as u16;
    buf.set_line(area.x, area.y + 3, &line, area.width);
    let room = area.width.saturating_sub(left);
    buf.set_line(area.x + left.min(area.width), area.y + 3, &legend.line(room), room);
}
