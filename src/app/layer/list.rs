//! A list to choose from, and the search in it. What becomes of an item that is taken stands in the item.

use tui_input::Input;

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::Effect;
use crate::app::views::View;
use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::Field;
use shardscope_engine::units::{counted, short, thousands};

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The name of the choice.
    pub name: String,
    /// A note behind the name: a description, or its key.
    pub note: String,
    /// The effect of choosing it.
    pub effect: Effect,
}

/// The search in a list, which leaves out what does not match.
#[derive(Debug, Clone, Default)]
pub struct ItemSearch {
    /// The text to search for.
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
    /// The title of the list.
    pub title: &'static str,
    /// Whether it is of commands: keys are text from the first on, and what matches best comes first.
    pub commands: bool,
    /// All items.
    pub(crate) items: Vec<Item>,
    /// Which of the items that are found has the keys.
    cursor: ListCursor,
    /// The text to search for.
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

    /// The value that its search holds for its field: a text that begins with a digit, or that no item holds.
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

    /// The items that match the searched text, the best first.
    pub fn found(&self) -> Vec<&Item> {
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

/// Words that people type, and the word that the explorer has for each.
const SYNONYMS: [(&str, &str); 9] = [
    ("oom", "memory"),
    ("ram", "memory"),
    ("vram", "memory"),
    ("gpu", "device"),
    ("gpus", "devices"),
    ("checkpointing", "recompute"),
    ("zero", "strategy"),
    ("tp", "tensor"),
    ("slow", "measured"),
];

/// How well a text matches: every word of what is searched for must be in it, or a synonym of it, in any case. 0 is best:
/// the word begins a word; then it is inside one; then its letters stand in this order in one word that begins with the
/// first of them, the fewer others between them the better. `None` where a word is not there at all.
pub fn score(searched: &str, text: &str) -> Option<u32> {
    let text = text.to_lowercase();
    searched.to_lowercase().split_whitespace().map(|word| score_word(word, &text)).sum()
}

fn score_word(word: &str, text: &str) -> Option<u32> {
    let begins = |at: usize| !text[..at].ends_with(char::is_alphanumeric);
    let mut places = text.match_indices(word).map(|(at, _)| at).peekable();
    if places.peek().is_some() {
        return Some(u32::from(!places.any(begins)));
    }
    if let Some((_, meant)) = SYNONYMS.iter().find(|(typed, meant)| *typed == word && text.contains(meant)) {
        return score_word(meant, text);
    }
    text.split_whitespace().filter_map(|whole| scattered(word, whole)).min()
}

/// The score of a word whose letters stand in order in a longer one.
fn scattered(word: &str, whole: &str) -> Option<u32> {
    let mut rest = whole.char_indices();
    let mut places = word.chars().map(|wanted| rest.find(|(_, letter)| *letter == wanted).map(|(at, _)| at));
    places.next()?.filter(|first| *first == 0)?;
    let last = places.try_fold(0, |_, place| place)?;
    Some(2 + (last + 1).saturating_sub(word.len()) as u32)
}

/// The figures to choose a preset by: memory, devices and network of a cluster, size and sequence of a model.
pub fn preset_note(library: &Library, field: Field, id: &str) -> Option<String> {
    match Kind::from_field(field)? {
        Kind::Cluster => library.cluster(id).ok().map(|cluster| cluster_note(&cluster)),
        Kind::Model => library.model(id).ok().map(|model| {
            let sequence = thousands(f64::from(model.sequence));
            format!("{} parameters, sequences of {sequence}", counted(model.parameters() as f64))
        }),
        Kind::Stack => library.stack(id).ok().map(|stack| stack.about.clone()),
        _ => library.title(field, id).map(str::to_owned),
    }
}

/// `8 x 64.0 GiB, 25.0 GB/s per 2 GPUs between nodes`.
fn cluster_note(cluster: &Cluster) -> String {
    let inside = format!("{} x {}", cluster.devices_per_node(), cluster.device.memory);
    let Some(outermost) = cluster.levels.len().checked_sub(1) else { return inside };
    let shared = match cluster.sharing(outermost) {
        shared if shared > 1.0 => format!(" per {} GPUs", short(shared, 2)),
        _ => String::new(),
    };
    format!("{inside}, {}{shared} {}", cluster.levels[outermost].bandwidth, cluster.place(outermost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::explorer;

    #[test]
    fn a_list_says_what_decides() {
        let library = explorer().library;
        let note = |field, id| preset_note(&library, field, id).unwrap();
        // A DGX A100 of 8 GPUs, each with its own HDR port.
        assert_eq!(note(Field::Cluster, "a100-80gb-dgx"), "8 x 80.0 GiB, 25.0 GB/s between nodes");
        // Frontier: 8 GCDs, which share 4 ports of 25 GB/s.
        assert_eq!(note(Field::Cluster, "mi250x-frontier"), "8 x 64.0 GiB, 25.0 GB/s per 2 GPUs between nodes");
        assert!(note(Field::Model, "gpt-neox-20b").starts_with("20.6B parameters"));
    }
}
