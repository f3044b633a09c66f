//! The style that the terminal writes in, and the shortest way to another one (ECMA-48, "select graphic rendition").

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

/// Modifiers with their codes on and off; bold and dim share theirs off.
const MODIFIERS: [(Modifier, u8, u8); 5] = [
    (Modifier::BOLD, 1, 22),
    (Modifier::DIM, 2, 22),
    (Modifier::ITALIC, 3, 23),
    (Modifier::UNDERLINED, 4, 24),
    (Modifier::REVERSED, 7, 27),
];

/// The style that the terminal writes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Pen {
    /// The style of a cell.
    pub(super) fn of(cell: &Cell) -> Self {
        Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
    }

    /// Whether it writes a cell as it is; of a blank only the ground is seen.
    pub(super) fn is(self, cell: &Cell) -> bool {
        let blank = cell.symbol() == " " && self.modifier.is_empty() && cell.modifier.is_empty();
        self == Self { fg: if blank { self.fg } else { cell.fg }, ..Self::of(cell) }
    }

    /// Becomes a cell's style; gives what to write for it.
    pub(super) fn change(&mut self, cell: &Cell) -> String {
        if self.is(cell) { String::new() } else { self.become_(Self::of(cell)) }
    }

    /// Becomes the terminal's own style as far as clearing needs it.
    pub(super) fn plain_ground(&mut self) -> String {
        self.become_(Self { fg: self.fg, ..Self::default() })
    }

    /// Becomes the terminal's own style.
    pub(super) fn rest(&mut self) -> String {
        self.become_(Self::default())
    }

    fn become_(&mut self, to: Self) -> String {
        let from = std::mem::replace(self, to);
        if from == to {
            return String::new();
        }
        let mut anew = vec![String::new()];
        Self::default().codes(to, &mut anew);
        let mut changes = Vec::new();
        from.codes(to, &mut changes);
        let [anew, changes] = [anew, changes].map(|codes| format!("\x1b[{}m", codes.join(";")));
        if anew.len() < changes.len() { anew } else { changes }
    }

    /// The codes that lead to another style.
    fn codes(self, to: Self, codes: &mut Vec<String>) {
        let mut on = self.modifier;
        for (modifier, _, off) in MODIFIERS {
            if on.contains(modifier) && !to.modifier.contains(modifier) {
                codes.push(off.to_string());
                let taken = MODIFIERS.iter().filter(|other| other.2 == off);
                taken.for_each(|other| on.remove(other.0));
            }
        }
        for (modifier, code, _) in MODIFIERS {
            if to.modifier.contains(modifier) && !on.contains(modifier) {
                codes.push(code.to_string());
            }
        }
        for (from, to, base) in [(self.fg, to.fg, 30), (self.bg, to.bg, 40)] {
            if from != to {
                codes.push(color(to, base));
            }
        }
    }
}

/// The code of a colour; the base is 30 for text, 40 for the ground.
fn color(color: Color, base: u8) -> String {
    let index = match color {
        Color::Reset => return (base + 9).to_string(),
        Color::Rgb(r, g, b) => return format!("{};2;{r};{g};{b}", base + 8),
        Color::Indexed(index) => return format!("{};5;{index}", base + 8),
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 60,
        Color::LightRed => 61,
        Color::LightGreen => 62,
        Color::LightYellow => 63,
        Color::LightBlue => 64,
        Color::LightMagenta => 65,
        Color::LightCyan => 66,
        Color::White => 67,
    };
    (base + index).to_string()
}
