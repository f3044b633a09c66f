//! A list to choose from, and the search in it. What becomes of an item that is taken stands in the item.

use tui_input::Input;

use shardscope_engine::scenario::Field;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::layer::matching::score;
use crate::app::views::view::View;

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// What is chosen.
    pub name: String,
    /// What stands behind the name: what it is, or the key that does the same.
    pub note: String,
    /// What taking it does.
    pub effect: Effect,
}

/// The search in a list, which leaves out what does not match.
#[derive(Debug, Clone, Default)]
pub struct ItemSearch {
    /// What is searched for.
    pub text: Input,
    /// Whether keys are text of it.
    pub typing: bool,
}

impl ItemSearch {
    /// Whether there is anything of it to be seen.
    pub fn is_used(&self) -> bool {
        self.typing || !self.text.value().is_empty()
    }

    /// Whether a text holds what is searched for, in any case.
    pub fn holds(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.text.value().to_lowercase())
    }

    /// Does what the user asked of the search; says whether that was all. What is found begins at its first item.
    pub fn update(&mut self, action: Action, cursor: &mut ListCursor) -> bool {
        match action {
            Action::Search => self.typing = true,
            Action::Close if self.typing => self.typing = false,
            Action::Type(request) => {
                // A digit begins the search in a list, where letters are keys.
                self.typing = true;
                if self.text.handle(request).is_some_and(|changed| changed.value) {
                    *cursor = ListCursor::default();
                }
            }
            _ => return false,
        }
        true
    }
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct List {
    /// What it chooses.
    pub title: &'static str,
    /// Whether it is of commands: keys are text from the first on, and what matches best comes first.
    pub commands: bool,
    /// All items.
    pub(crate) items: Vec<Item>,
    /// Which of the items that are found has the keys.
    cursor: ListCursor,
    /// What is searched for.
    pub search: ItemSearch,
    /// The field whose values it offers, where that takes others too, as they are typed.
    pub typed: Option<Field>,
}

impl List {
    /// A list with the cursor on an item.
    pub fn new(title: &'static str, items: Vec<Item>, current: &str) -> Self {
        let cursor = ListCursor::at(items.iter().position(|item| item.name == current).unwrap_or(0));
        Self { title, commands: false, items, cursor, search: ItemSearch::default(), typed: None }
    }

    /// What is typed into its search as a value of its field: what begins with a digit, and what no item holds.
    pub fn typed_value(&self) -> Option<(Field, &str)> {
        let text = self.search.text.value().trim();
        let named = self.items.iter().any(|item| item.name == text);
        let is_value = text.starts_with(|first: char| first.is_ascii_digit()) || self.found().is_empty();
        self.typed.filter(|_| !text.is_empty() && !named && is_value).map(|field| (field, text))
    }

    /// All commands.
    pub fn of_commands(items: Vec<Item>) -> Self {
        let search = ItemSearch { typing: true, ..ItemSearch::default() };
        Self { commands: true, search, ..Self::new("Commands", items, "") }
    }

    /// The items that match the searched text.
    pub fn found(&self) -> Vec<&Item> {
        if !self.commands {
            return self.items.iter().filter(|item| self.search.holds(&item.name)).collect();
        }
        let text = self.search.text.value();
        if let Some(item) = self.items.iter().find(|item| item.effect.with_text(text).is_some()) {
            return vec![item];
        }
        let scored = self.items.iter().filter_map(|item| Some((score(text, &item.name)?, item)));
        let mut found: Vec<(u32, &Item)> = scored.collect();
        found.sort_by_key(|(score, _)| *score);
        found.into_iter().map(|(_, item)| item).collect()
    }

    /// Which of the items that are found has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }
}

impl View for List {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        let closes = action == Action::Close && self.commands;
        if !closes && self.search.update(action, &mut self.cursor) {
            return Vec::new();
        }
        match action {
            Action::Close => vec![Effect::Close],
            Action::Take => {
                if let Some((field, text)) = self.typed_value() {
                    return vec![Effect::Close, Effect::Give(field, text.to_owned())];
                }
                let text = self.search.text.value();
                let with_text = |effect: &Effect| effect.with_text(text).filter(|_| self.commands);
                let chosen = self.found().get(self.row()).map(|item| &item.effect);
                let chosen = chosen.map(|effect| with_text(effect).unwrap_or_else(|| effect.clone()));
                chosen.map_or_else(Vec::new, |effect| vec![Effect::Close, effect])
            }
            // The key that shows a view, in the list of views.
            Action::View(view) => {
                let shown = self.items.iter().find(|item| item.effect == Effect::Show(view));
                shown.map_or_else(Vec::new, |item| vec![Effect::Close, item.effect.clone()])
            }
            _ => Vec::new(),
        }
    }

    fn count(&self, _: &Context) -> usize {
        self.found().len()
    }

    fn cursor(&self, _: &Context) -> usize {
        self.row()
    }

    fn list(&mut self) -> Option<&mut ListCursor> {
        Some(&mut self.cursor)
    }
}
