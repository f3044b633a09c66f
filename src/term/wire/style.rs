//! The style that the terminal writes in, and the shortest way to another one (ECMA-48, "select graphic rendition").

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

use crate::ui::theme::sgr::{MODIFIERS, color_code};

/// The style that the terminal writes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl From<&Cell> for Pen {
    fn from(cell: &Cell) -> Self {
        Self { fg: cell.fg, bg: cell.bg, modifier: cell.modifier }
    }
}

impl Pen {
    /// Whether it writes a cell as it is; of a blank only the ground is seen.
    pub(super) fn is(self, cell: &Cell) -> bool {
        let blank = cell.symbol() == " " && self.modifier.is_empty() && cell.modifier.is_empty();
        self == Self { fg: if blank { self.fg } else { cell.fg }, ..Self::from(cell) }
    }

    /// Becomes a cell's style; gives what to write for it.
    pub(super) fn change(&mut self, cell: &Cell) -> String {
        if self.is(cell) { String::new() } else { self.become_(Self::from(cell)) }
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
                codes.push(color_code(to, base));
            }
        }
    }
}
