//! The command palette: everything that can be asked for, by name, with its key. Its list is made from the table of
//! keys, from the fields and from the figures of the map; what moves a cursor has no place in it.

use tui_input::Input;

use crate::figures::{Figure, METRICS};

use super::App;
use super::action::{Action, Command};
use super::cursor::ListCursor;
use super::inputs::FIELDS;
use super::keymap::{Binding, Keymap, Place};
use super::layer::Layer;
use super::panel::Panel;
use super::panel::ViewId;

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
    /// Its key.
    pub key: String,
    /// What is done.
    deed: Deed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// An action where it belongs.
    Action(Place, Action),
    /// Choosing a field's value.
    Field(usize),
    /// Showing a figure on the map.
    Metric(Figure),
}

impl Palette {
    /// Everything, as seen from the panel or view that has the keys.
    fn of(keymap: &Keymap, here: Place, ascii: bool) -> Self {
        let acts = |binding: &&Binding| !is_motion(binding.action) && binding.place.is_under_layers();
        let mut bindings: Vec<&Binding> = keymap.bindings().iter().filter(acts).collect();
        bindings.sort_by_key(|binding| (binding.place != here, binding.place != Place::Panels));
        let fields = FIELDS.iter().enumerate().map(|(index, field)| Item {
            name: format!("set {}", field.label),
            key: String::new(),
            deed: Deed::Field(index),
        });
        let metrics = METRICS.map(|metric| Item {
            name: format!("Map: {}", metric.word()),
            key: String::new(),
            deed: Deed::Metric(metric),
        });
        let bindings = bindings.into_iter().map(|binding| Item::of(binding, ascii));
        let items = bindings.chain(fields).chain(metrics).collect();
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
    fn of(binding: &Binding, ascii: bool) -> Self {
        let place = match binding.place {
            Place::Panels => String::new(),
            place => format!("{}: ", place.title()),
        };
        let name = match binding.action {
            Action::Panel(panel) => format!("go to {}", panel.title()),
            _ => binding.help.to_string(),
        };
        Self {
            name: format!("{place}{name}"),
            key: binding.key(ascii),
            deed: Deed::Action(binding.place, binding.action),
        }
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

impl App {
    /// Opens the palette.
    pub(super) fn open_palette(&mut self) {
        self.layer = Some(Layer::Palette(Palette::of(&self.keymap, self.panel_place(), false)));
    }

    pub(super) fn on_palette(&mut self, mut palette: Palette, action: Action) -> Vec<Command> {
        match action {
            Action::Close => return Vec::new(),
            Action::Take => {
                let Some(deed) = palette.found().get(palette.row()).map(|item| item.deed) else {
                    self.layer = Some(Layer::Palette(palette));
                    return Vec::new();
                };
                return self.act(deed);
            }
            Action::Type(request) => {
                if palette.search.handle(request).is_some_and(|changed| changed.value) {
                    palette.cursor = ListCursor::default();
                }
            }
            _ => {
                palette.cursor.go(action, palette.found().len(), self.page);
            }
        }
        self.layer = Some(Layer::Palette(palette));
        Vec::new()
    }

    fn act(&mut self, deed: Deed) -> Vec<Command> {
        let mut commands = Vec::new();
        match deed {
            Deed::Field(field) => {
                (self.focus, self.inputs.cursor) = (Panel::Inputs, field);
                commands.extend(self.update(Action::Take));
            }
            Deed::Metric(metric) => {
                (self.view, self.focus) = (ViewId::Map, Panel::Map);
                match metric.lacks(&self.map.sweep.base) {
                    Some(problem) => self.tell(problem.to_string()),
                    None => self.map.metric = metric,
                }
            }
            Deed::Action(place, action) => {
                match place {
                    Place::Panel(panel) => {
                        self.view = if panel == Panel::Map { ViewId::Map } else { self.view };
                        self.focus = panel;
                    }
                    Place::View(view) => commands.extend(self.open_view(view)),
                    _ => {}
                }
                commands.extend(self.update(action));
            }
        }
        commands
    }
}

#[cfg(test)]
mod tests;
