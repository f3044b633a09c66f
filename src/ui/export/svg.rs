//! A screen as a picture: self-contained SVG, in a monospace font and the colours that a terminal would show.
//!
//! Blocks and frames are drawn as shapes, since fonts leave gaps between rows.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Modifier;

use super::xml::XmlText;
use super::{columns, rows, trimmed};
use crate::ui::theme::rgb;

/// A cell's size in pixels: what a 14 px monospace font takes.
const CELL: (f64, f64) = (8.4, 17.0);
/// Around the screen.
const MARGIN: f64 = 10.0;
/// From the top of a cell to the line that letters stand on.
const BASELINE: f64 = 13.0;

/// The screen as an SVG picture on a dark or a light ground.
pub fn svg(buf: &Buffer, light: bool) -> String {
    let ground = Ground::new(light);
    let (width, height) =
        (f64::from(buf.area.width) * CELL.0 + 2.0 * MARGIN, f64::from(buf.area.height) * CELL.1 + 2.0 * MARGIN);
    let mut out = XmlText::default();
    out.code(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" font-size=\"14\" shape-rendering=\"crispEdges\" \
         font-family=\"'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace\"",
    );
    let view = format!("0 0 {width:.1} {height:.1}");
    out.attributes(&[("width", &format!("{width:.0}")), ("height", &format!("{height:.0}")), ("viewBox", &view)]);
    out.code(">\n<rect width=\"100%\" height=\"100%\" rx=\"6\"");
    out.attributes(&[("fill", &hex(ground.paper))]);
    out.code("/>\n");
    for (row, y) in rows(buf).iter().zip(0u16..) {
        let top = MARGIN + f64::from(y) * CELL.1;
        for run in runs(trimmed(row)) {
            draw(&mut out, run, top, ground);
        }
    }
    out.code("</svg>\n");
    out.finish()
}

/// The terminal's own colours: text and background.
#[derive(Clone, Copy)]
struct Ground {
    ink: [u8; 3],
    paper: [u8; 3],
}

impl Ground {
    const fn new(light: bool) -> Self {
        let (dark, bright) = ([0x12, 0x14, 0x18], [0xd8, 0xdc, 0xe2]);
        if light {
            Self { ink: [0x1c, 0x20, 0x26], paper: [0xfb, 0xfb, 0xfa] }
        } else {
            Self { ink: bright, paper: dark }
        }
    }

    /// Text and background of a cell as they show, reversed and dimmed where it says so.
    fn inks(self, cell: &Cell) -> ([u8; 3], [u8; 3]) {
        let mut ink = rgb(cell.fg).unwrap_or(self.ink);
        let mut paper = rgb(cell.bg).unwrap_or(self.paper);
        if cell.modifier.contains(Modifier::REVERSED) {
            std::mem::swap(&mut ink, &mut paper);
        }
        if cell.modifier.contains(Modifier::DIM) {
            ink = std::array::from_fn(|i| u8::midpoint(ink[i], paper[i]));
        }
        (ink, paper)
    }
}

/// Stretches of cells in one style; every glyph that is drawn as a shape stands alone with its repeats.
fn runs<'a, 'b>(row: &'a [(u16, &'b Cell)]) -> impl Iterator<Item = &'a [(u16, &'b Cell)]> {
    row.chunk_by(|(_, one), (_, other)| {
        let same = one.fg == other.fg && one.bg == other.bg && one.modifier == other.modifier;
        let drawn = shape(one.symbol()).is_some() || shape(other.symbol()).is_some();
        same && (!drawn || one.symbol() == other.symbol())
    })
}

fn draw(out: &mut XmlText, run: &[(u16, &Cell)], top: f64, ground: Ground) {
    let [(start, cell), ..] = run else { return };
    let (ink, paper) = ground.inks(cell);
    let x = MARGIN + f64::from(*start) * CELL.0;
    let width = width_of(run);
    if paper != ground.paper {
        rect(out, [x, top, width, CELL.1], paper, 1.0);
    }
    if let Some(parts) = shape(cell.symbol()) {
        // A glyph that fills the whole width of its cells is one shape, others repeat cell by cell.
        let whole = parts.iter().all(|part| part.width >= 1.0);
        let (count, step) = if whole { (1, width) } else { (run.len(), CELL.0) };
        for index in 0..count {
            for part in &parts {
                let left = x + index as f64 * step;
                let place = [left + part.x * step, top + part.y * CELL.1, part.width * step, part.height * CELL.1];
                rect(out, place, ink, part.opacity);
            }
        }
        return;
    }
    let weight = if cell.modifier.contains(Modifier::BOLD) { " font-weight=\"bold\"" } else { "" };
    let line = if cell.modifier.contains(Modifier::UNDERLINED) { " text-decoration=\"underline\"" } else { "" };
    // Word by word, so that no font's own width moves what follows.
    for word in run.split(|(_, cell)| cell.symbol().trim().is_empty()) {
        let [(start, _), ..] = word else { continue };
        let text: String = word.iter().map(|(_, cell)| cell.symbol()).collect();
        let [x, y, length] = [MARGIN + f64::from(*start) * CELL.0, top + BASELINE, width_of(word)].map(pixels);
        out.code("<text");
        out.attributes(&[("x", &x), ("y", &y), ("textLength", &length), ("fill", &hex(ink))]);
        out.code(weight);
        out.code(line);
        out.code(">");
        out.text(&text);
        out.code("</text>\n");
    }
}

/// Pixels that a stretch of cells takes.
fn width_of(run: &[(u16, &Cell)]) -> f64 {
    run.iter().map(|(_, cell)| f64::from(columns(cell).max(1))).sum::<f64>() * CELL.0
}

/// A rectangle of a glyph, in shares of its cell.
#[derive(Clone, Copy)]
struct GlyphPart {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    opacity: f64,
}

/// The shape of a block or of a piece of a frame; `None` for what the font draws.
fn shape(symbol: &str) -> Option<Vec<GlyphPart>> {
    const BARS: &str = "▁▂▃▄▅▆▇";
    let part = |x, y, width, height| GlyphPart { x, y, width, height, opacity: 1.0 };
    let shade = |opacity| vec![GlyphPart { opacity, ..part(0.0, 0.0, 1.0, 1.0) }];
    // Lines of a frame: one pixel or so, meeting in the middle of the cell.
    let (thin, flat) = (0.12, 0.06);
    let (middle, centre) = (0.5 - thin / 2.0, 0.5 - flat / 2.0);
    let (left, right) = (part(0.0, centre, 0.5, flat), part(middle, centre, 1.0 - middle, flat));
    let (up, down) = (part(middle, 0.0, thin, 0.5), part(middle, centre, thin, 1.0 - centre));
    Some(match symbol {
        "█" => vec![part(0.0, 0.0, 1.0, 1.0)],
        "▓" => shade(0.75),
        "▒" => shade(0.5),
        "░" => shade(0.25),
        "▌" => vec![part(0.0, 0.0, 0.5, 1.0)],
        "▐" => vec![part(0.5, 0.0, 0.5, 1.0)],
        "▏" => vec![part(0.0, 0.0, 0.125, 1.0)],
        "▕" => vec![part(0.875, 0.0, 0.125, 1.0)],
        "─" => vec![part(0.0, centre, 1.0, flat)],
        "│" => vec![part(middle, 0.0, thin, 1.0)],
        "┌" => vec![right, down],
        "┐" => vec![left, part(middle, centre, thin, 1.0 - centre)],
        "└" => vec![up, right],
        "├" => vec![part(middle, 0.0, thin, 1.0), right],
        "┤" => vec![part(middle, 0.0, thin, 1.0), left],
        "┬" => vec![part(0.0, centre, 1.0, flat), down],
        "┴" => vec![part(0.0, centre, 1.0, flat), up],
        "┼" => vec![part(0.0, centre, 1.0, flat), part(middle, 0.0, thin, 1.0)],
        "┘" => vec![up, part(0.0, centre, middle + thin, flat)],
        "╵" => vec![up],
        _ => {
            let eighths = BARS.chars().position(|bar| symbol.chars().eq([bar]))? as f64 + 1.0;
            vec![part(0.0, 1.0 - eighths / 8.0, 1.0, eighths / 8.0)]
        }
    })
}

fn rect(out: &mut XmlText, place: [f64; 4], color: [u8; 3], opacity: f64) {
    let [x, y, width, height] = place.map(pixels);
    out.code("<rect");
    out.attributes(&[("x", &x), ("y", &y), ("width", &width), ("height", &height), ("fill", &hex(color))]);
    if opacity < 1.0 {
        out.attributes(&[("fill-opacity", &opacity)]);
    }
    out.code("/>\n");
}

fn pixels(length: f64) -> String {
    format!("{length:.1}")
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use ratatui::style::Color;

    use super::*;

    #[test]
    fn dimmed_is_halfway_to_the_ground() {
        let mut cell = Cell::default();
        cell.set_fg(Color::Rgb(100, 100, 100)).set_bg(Color::Rgb(0, 0, 0)).modifier = Modifier::DIM;
        assert_eq!(Ground::new(false).inks(&cell), ([50; 3], [0; 3]));
    }
}
