//! The command palette: everything that can be asked for, by name, with its key. Its list is made from the table of
//! keys, from the fields and from the figures of the map; what moves a cursor has no place in it.

use tui_input::Input;

use crate::figures::{Figure, METRICS};
use crate::scenario::Field;

use super::action::Action;
use super::cursor::ListCursor;
use super::keymap::Keymap;
use super::keys::{Binding, KeyLine, KeyPlace, names};

/// The palette on the screen.
#[derive(Debug, Clone)]
pub struct Palette {
    /// Everything, what belongs to the panel that had the keys first.
    items: Vec<Item>,
    /// What is searched for.
    pub search: Input,
    /// Which of the items that are found has the keys.
    pub cursor: ListCursor,
}

/// One line of the palette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it does.
    pub name: String,
    /// The key that does the same; empty where there is none.
    pub key: String,
    /// What is done.
    pub(super) deed: Deed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// An action where it belongs.
    Action(KeyPlace, Action),
    /// Choosing a field's value.
    Field(Field),
    /// Showing a figure on the map.
    Metric(Figure),
}

impl Palette {
    /// Everything, as seen from the panel or view that has the keys.
    pub(super) fn new(keymap: &Keymap, here: KeyPlace, ascii: bool) -> Self {
        let mut lines: Vec<&KeyLine> = keymap.lines().iter().filter(|line| line.place.is_under_layers()).collect();
        lines.sort_by_key(|line| (line.place != here, line.place != KeyPlace::Panels));
        let bindings = lines.into_iter().flat_map(|line| line.bindings.iter().map(move |binding| (line, binding)));
        let acts = bindings.filter(|(_, binding)| !is_motion(binding.action));
        let fields = Field::all().map(|field| Item {
            name: format!("set {}", field.spec().label),
            key: String::new(),
            deed: Deed::Field(field),
        });
        let metrics = METRICS.map(|metric| Item {
            name: format!("Map: {}", metric.word()),
            key: String::new(),
            deed: Deed::Metric(metric),
        });
        let items = acts.map(|(line, binding)| Item::new(line, binding, ascii)).chain(fields).chain(metrics).collect();
        Self { items, search: Input::default(), cursor: ListCursor::default() }
    }

    /// The item that has the keys, of those that are found.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }

    /// The items that match the searched text, the best first.
    pub fn found(&self) -> Vec<&Item> {
        let scored = self.items.iter().filter_map(|item| Some((score(self.search.value(), &item.name)?, item)));
        let mut found: Vec<(u32, &Item)> = scored.collect();
        found.sort_by_key(|(score, _)| *score);
        found.into_iter().map(|(_, item)| item).collect()
    }
}

impl Item {
    fn new(line: &KeyLine, binding: &Binding, ascii: bool) -> Self {
        let place = match line.place {
            KeyPlace::Panels => String::new(),
            place => format!("{}: ", place.title()),
        };
        let name = match binding.action {
            Action::Panel(panel) => format!("go to {}", panel.title()),
            _ => line.help.to_string(),
        };
        let key = binding.keys.first().map_or_else(String::new, |key| names::shown(*key, ascii));
        Self { name: format!("{place}{name}"), key, deed: Deed::Action(line.place, binding.action) }
    }
}

/// Whether an action moves a cursor or a window, or belongs to the layer itself.
fn is_motion(action: Action) -> bool {
    use Action::{
        Close, Down, First, Last, Left, Less, More, NextPanel, PageDown, PageUp, Palette, PreviousPanel, Right, Type,
        Up,
    };
    matches!(
        action,
        Left | Right | Up | Down | First | Last | PageUp | PageDown | More | Less | NextPanel | PreviousPanel
    ) || matches!(action, Close | Palette | Type(_))
}

/// How well a text matches: every word of what is searched for must be in it, in any case. 0 is best: the word begins a
/// word; then it is inside one; then its letters stand in this order, the fewer others between them the better. `None`
/// where a word is not there at all.
fn score(searched: &str, text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    searched.to_lowercase().split_whitespace().map(|word| score_word(word, &text)).sum()
}

fn score_word(word: &str, text: &str) -> Option<u32> {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let mut places = text.match_indices(word).map(|(at, _)| at).peekable();
    if places.peek().is_some() {
        return Some(u32::from(!places.any(begins)));
    }
    // The letters in order, from the first place where they begin.
    let mut rest = text.char_indices();
    let mut places = word.chars().map(|wanted| rest.find(|(_, letter)| *letter == wanted).map(|(at, _)| at));
    let first = places.next()??;
    let last = places.try_fold(first, |_, place| place)?;
    Some(2 + (last - first).saturating_sub(word.len()) as u32)
}

#[cfg(test)]
mod tests;
