//! A list to choose from, which what is typed filters. What becomes of an item that is taken stands in the item.

use tui_input::{Input, InputRequest};

use crate::app::action::Action;
use crate::app::action::context::Context;
use crate::app::action::cursor::ListCursor;
use crate::app::action::effect::{Effect, Opening};
use crate::app::views::{View, measured};
use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library, PresetFile};
use shardscope_engine::scenario::{Field, file};
use shardscope_engine::units::{counted, short, thousands};
use shardscope_interop::import::ImportWords;

/// One line of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The name of the choice.
    pub name: String,
    /// A note behind the name: a description, or its key.
    pub note: String,
    /// Sentences that stand under the list while the item has the cursor.
    pub about: String,
    /// Other texts that it is found by, each as whole as its name: a label, an id, a synonym.
    pub words: Vec<String>,
    /// The effect of choosing it.
    pub effect: Effect,
}

impl Item {
    /// An item of which the note says all.
    pub fn new(name: impl Into<String>, note: impl Into<String>, effect: Effect) -> Self {
        Self { name: name.into(), note: note.into(), about: String::new(), words: Vec::new(), effect }
    }

    /// The same, found by other words too.
    #[must_use]
    pub fn called<T: Into<String>>(self, words: impl IntoIterator<Item = T>) -> Self {
        Self { words: words.into_iter().map(Into::into).collect(), ..self }
    }

    /// How near one of its words is to what is typed, in small letters: the same, a longer one that begins so, or none.
    fn nearness(&self, typed: &str) -> WordMatch {
        let near = |word: &String| match word.to_lowercase() {
            word if word == typed => WordMatch::Same,
            word if !typed.is_empty() && word.starts_with(typed) => WordMatch::Begins,
            _ => WordMatch::None,
        };
        self.words.iter().map(near).min().unwrap_or(WordMatch::None)
    }
}

/// What nodes send, and by which ports.
const RATES: [(&str, &str); 6] = [
    ("25 GB/s", "a port of 200 Gb/s: HDR, or 200G Ethernet"),
    ("50 GB/s", "a port of 400 Gb/s (NDR), or two of 200"),
    ("100 GB/s", "four ports of 200 Gb/s, or two of 400"),
    ("200 GB/s", "eight ports of 200 Gb/s, or four of 400"),
    ("400 GB/s", "eight ports of 400 Gb/s"),
    ("12.5 GB/s", "a port of 100 Gb/s: EDR, or 100G Ethernet"),
];

/// How near a word is to what is typed, the nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum WordMatch {
    Same,
    Begins,
    None,
}

/// The text typed into a list, which leaves out what does not match.
#[derive(Debug, Clone, Default)]
pub struct Filter(pub Input);

impl Filter {
    /// The typed text.
    pub fn text(&self) -> &str {
        self.0.value()
    }

    /// How well a name with a note matches, as [`score`] has it.
    pub fn score(&self, name: &str, note: &str) -> Option<u32> {
        score(self.text(), name, note)
    }

    /// Changes the text; what is found then begins at its first item.
    pub fn change(&mut self, request: InputRequest, cursor: &mut ListCursor) {
        if self.0.handle(request).is_some_and(|changed| changed.value) {
            *cursor = ListCursor::default();
        }
    }
}

/// What a value is for that is typed into a list.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedValue {
    /// A field.
    Field(Field),
    /// An option of an import, which its files leave open.
    ImportOption(ImportWords, &'static str),
    /// The path of a file to import.
    File,
}

impl TypedValue {
    /// The effect of a text.
    fn effect(&self, text: &str) -> Effect {
        match self {
            Self::Field(field) => Effect::Give(*field, text.to_owned()),
            Self::ImportOption(words, option) => Effect::ImportWith(answered(words, option, text)),
            Self::File => Effect::Import(text.to_owned()),
        }
    }
}

/// The words of an import with one more option.
fn answered(words: &ImportWords, option: &str, value: &str) -> ImportWords {
    let mut words = words.clone();
    words.options.push((option.to_owned(), value.to_owned()));
    words
}

/// A list to choose from.
#[derive(Debug, Clone)]
pub struct List {
    /// The title of the list.
    pub title: &'static str,
    /// Whether it is of commands, which may take text behind their word.
    pub commands: bool,
    /// All items.
    pub(crate) items: Vec<Item>,
    /// Which of the items that are found has the keys.
    cursor: ListCursor,
    /// The text that filters it.
    pub filter: Filter,
    /// What becomes of a value that is typed, where others are taken than those that it offers.
    pub typed: Option<TypedValue>,
    /// The command that gives a field the value that is typed behind its name.
    given: Option<Box<Item>>,
}

impl List {
    /// A list with the cursor on an item.
    pub fn new(title: &'static str, items: Vec<Item>, current: &str) -> Self {
        let cursor = ListCursor::at(items.iter().position(|item| item.name == current).unwrap_or(0));
        Self { title, commands: false, items, cursor, filter: Filter::default(), typed: None, given: None }
    }

    /// The value that is typed, and its effect: a text that begins with a digit, or that no item holds.
    pub fn typed_value(&self) -> Option<(Effect, &str)> {
        let text = self.filter.text().trim();
        let named = self.items.iter().any(|item| item.name == text);
        let is_value = text.starts_with(|first: char| first.is_ascii_digit()) || self.found().is_empty();
        let typed = self.typed.as_ref().filter(|_| !text.is_empty() && !named && is_value)?;
        Some((typed.effect(text), text))
    }

    /// All commands.
    pub fn of_commands(items: Vec<Item>) -> Self {
        Self { commands: true, ..Self::new("Commands", items, "") }
    }

    /// The preset scenarios, each with what it is for and what to look at.
    pub fn of_scenarios(library: &Library) -> Self {
        let item = |entry: &PresetFile| {
            let file = file::parse(&entry.text).ok();
            let words = file.map(|file| [file.about, file.look].into_iter().flatten().collect::<Vec<_>>().join(" "));
            let open = Effect::OpenPreset(entry.id.clone());
            Item { about: words.unwrap_or_default(), ..Item::new(&entry.id, entry.name(), open) }
        };
        Self::new("Gallery", library.entries(Kind::Scenario).map(item).collect(), "")
    }

    /// What a machine's files leave open, to be chosen: presets for its device, those first that the refusal names, or what
    /// a node sends.
    pub fn of_answers(words: &ImportWords, option: &'static str, why: &str, library: &Library) -> Self {
        let item =
            |value: &str, note: String| Item::new(value, note, Effect::ImportWith(answered(words, option, value)));
        if option == "rate" {
            let items = RATES.map(|(rate, ports)| item(rate, ports.to_owned()));
            let typed = Some(TypedValue::ImportOption(words.clone(), option));
            return Self { typed, ..Self::new("What does a node send, all its ports together?", items.into(), "") };
        }
        let mut clusters: Vec<&PresetFile> = library.entries(Kind::Cluster).collect();
        clusters.sort_by_key(|entry| !why.contains(&*entry.id));
        let note = |id: &str| preset_words(library, Field::Cluster, id).map_or_else(String::new, |(note, _)| note);
        let items = clusters.into_iter().map(|entry| item(&entry.id, note(&entry.id))).collect();
        Self::new("Which preset has its GPUs?", items, "")
    }

    /// What may have run that is slow or ran out of memory: a file tells, or it is a preset, or what lies behind.
    pub fn of_runs(library: &Library) -> Self {
        let then = |first: Option<Effect>| {
            let after = [Effect::Show(measured::SPEC.id), Effect::Open(Opening::OwnFigure)];
            Effect::Each(first.into_iter().chain(after).collect())
        };
        let file = Item::new(
            "a file of it",
            "its log, PyTorch's message, or the launcher's configuration",
            Effect::Open(Opening::ImportPath),
        );
        let behind = Item::new("the scenario behind this box", "type what was measured of it", then(None));
        let presets = library
            .entries(Kind::Scenario)
            .map(|entry| Item::new(&entry.id, entry.name(), then(Some(Effect::OpenPreset(entry.id.clone())))));
        let items = [file, behind].into_iter().chain(presets).collect();
        Self { typed: Some(TypedValue::File), ..Self::new("What ran?", items, "") }
    }

    /// The items that match the typed text, the best first.
    pub fn found(&self) -> Vec<&Item> {
        let text = self.filter.text();
        if let Some(item) = self.items.iter().find(|item| item.effect.with_text(text).is_some()) {
            return vec![item];
        }
        if self.commands {
            return self.given.as_deref().into_iter().chain(self.commands(text)).collect();
        }
        ranked(self.items.iter(), |item| self.filter.score(&item.name, &format!("{} {}", item.note, item.about)))
    }

    /// The commands that match: those that are called exactly so, those whose word begins so, then those whose name has
    /// every word that is typed. Where there are none, those that have the first word: it is the thing, the others say
    /// what of it.
    fn commands(&self, text: &str) -> Vec<&Item> {
        let typed = text.trim().to_lowercase();
        let called = typed.strip_prefix(GIVES).unwrap_or(&typed);
        let found = |words: &str| {
            // A field goes before a view of the same name.
            let rank = |item: &Item| u32::from(!matches!(item.effect, Effect::Choose(_)));
            ranked(self.items.iter(), |item| match item.nearness(called) {
                // The note of a command is its key or its kind, which many have in common.
                WordMatch::None => Some((WordMatch::None, score(words, &item.name, &item.about)?)),
                near => Some((near, rank(item))),
            })
        };
        match (found(&typed), typed.split_once(' ')) {
            (all, Some((first, _))) if all.is_empty() => found(first),
            (all, _) => all,
        }
    }

    /// The command for a field's name with a value behind it: `nodes 8`, `set nodes to 8`.
    fn giving(&self) -> Option<Item> {
        let typed = self.filter.text().trim();
        let typed = typed.strip_prefix(GIVES).unwrap_or(typed);
        let behind = |word: &String| {
            let rest = typed
                .get(..word.len())
                .filter(|start| start.eq_ignore_ascii_case(word))
                .and(typed.get(word.len()..))?;
            let value = rest.strip_prefix(" to ").or_else(|| rest.strip_prefix([' ', '=']))?;
            Some(value.trim()).filter(|value| !value.is_empty())
        };
        let given = |item: &Item| {
            let Effect::Choose(field) = item.effect else { return None };
            let value = item.words.iter().find_map(behind)?;
            // An id is found among the presets.
            let read = field.read(value).ok().flatten().filter(|_| field.preset().is_none())?;
            let name = format!("{GIVES}{} to {}", field.spec().label, field.spec().takes.show(&read));
            Some(Item::new(name, &item.note, Effect::Give(field, value.to_owned())))
        };
        self.items.iter().find_map(given)
    }

    /// Which of the items that are found has the keys.
    pub fn row(&self) -> usize {
        self.cursor.row(self.found().len())
    }
}

impl View for List {
    fn update(&mut self, action: Action, _: &Context) -> Vec<Effect> {
        match action {
            Action::Close => vec![Effect::Close],
            Action::Type(request) => {
                self.filter.change(request, &mut self.cursor);
                self.given = if self.commands { self.giving().map(Box::new) } else { None };
                Vec::new()
            }
            Action::Take => {
                if let Some((effect, _)) = self.typed_value() {
                    return vec![Effect::Close, effect];
                }
                let text = self.filter.text();
                let with_text = |effect: &Effect| effect.with_text(text).filter(|_| self.commands);
                let chosen = self.found().get(self.row()).map(|item| &item.effect);
                let chosen = chosen.map(|effect| with_text(effect).unwrap_or_else(|| effect.clone()));
                chosen.map_or_else(Vec::new, |effect| vec![Effect::Close, effect])
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

/// What the name of a command begins with that gives a field a value.
pub const GIVES: &str = "set ";

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

/// What has a score, the best first; of equal ones each stays where it is.
pub fn ranked<'a, T, S: Ord>(all: impl Iterator<Item = &'a T>, score: impl Fn(&T) -> Option<S>) -> Vec<&'a T> {
    let mut found: Vec<(S, &T)> = all.filter_map(|one| Some((score(one)?, one))).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found.into_iter().map(|(_, one)| one).collect()
}

/// How well an item matches: every word of what is typed must be in its name, or a synonym of it, or begin a word of its
/// note, in any case. 0 is best: the word begins a word of the name; then it is inside one; then it begins a word of the
/// note; then its letters stand in this order in one word that begins with the first of them, the fewer others between
/// them the better. `None` where a word is not there at all.
pub fn score(typed: &str, name: &str, note: &str) -> Option<u32> {
    let [typed, name, note] = [typed, name, note].map(str::to_lowercase);
    let in_note = |word| begins_word(word, &note).filter(|begins| *begins).map(|_| 2);
    typed.split_whitespace().map(|word| score_word(word, &name).into_iter().chain(in_note(word)).min()).sum()
}

fn score_word(word: &str, text: &str) -> Option<u32> {
    if let Some(begins) = begins_word(word, text) {
        return Some(u32::from(!begins));
    }
    if let Some((_, meant)) = SYNONYMS.iter().find(|(typed, meant)| *typed == word && text.contains(meant)) {
        return score_word(meant, text);
    }
    text.split_whitespace().filter_map(|whole| scattered(word, whole)).min()
}

/// Whether a text that holds a word has one that begins with it.
fn begins_word(word: &str, text: &str) -> Option<bool> {
    let mut places = text.match_indices(word).map(|(at, _)| at).peekable();
    places.peek()?;
    Some(places.any(|at| !text[..at].ends_with(char::is_alphanumeric)))
}

/// The score of a word whose letters stand in order in a longer one.
fn scattered(word: &str, whole: &str) -> Option<u32> {
    let mut rest = whole.char_indices();
    let mut places = word.chars().map(|wanted| rest.find(|(_, letter)| *letter == wanted).map(|(at, _)| at));
    places.next()?.filter(|first| *first == 0)?;
    let last = places.try_fold(0, |_, place| place)?;
    Some(2 + (last + 1).saturating_sub(word.len()) as u32)
}

/// What to choose a preset by: its figures or its name, and what it is. Memory, devices and network of a cluster, size
/// and sequence of a model.
pub fn preset_words(library: &Library, field: Field, id: &str) -> Option<(String, String)> {
    let name = library.title(field, id)?.to_owned();
    match Kind::from_field(field)? {
        Kind::Cluster => library.cluster(id).ok().map(|cluster| (cluster_note(&cluster), name)),
        Kind::Model => library.model(id).ok().map(|model| {
            let sequence = thousands(f64::from(model.sequence));
            (format!("{} parameters, sequences of {sequence}", counted(model.parameters() as f64)), name)
        }),
        Kind::Stack => library.stack(id).ok().map(|stack| (name, stack.about.clone())),
        Kind::Strategy => library.strategy(id).ok().map(|strategy| (name, strategy.about.clone())),
        Kind::Calibration | Kind::Scenario | Kind::Tool => Some((name, String::new())),
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
    use crate::app::layer::Layer;
    use crate::app::tests::{explorer, press};

    #[test]
    fn a_list_says_what_decides() {
        let library = explorer().library;
        let note = |field, id| preset_words(&library, field, id).unwrap().0;
        // A DGX A100 of 8 GPUs, each with its own HDR port.
        assert_eq!(note(Field::Cluster, "a100-80gb-dgx"), "8 x 80.0 GiB, 25.0 GB/s between nodes");
        // Frontier: 8 GCDs, which share 4 ports of 25 GB/s.
        assert_eq!(note(Field::Cluster, "mi250x-frontier"), "8 x 64.0 GiB, 25.0 GB/s per 2 GPUs between nodes");
        assert!(note(Field::Model, "gpt-neox-20b").starts_with("20.6B parameters"));
        assert_eq!(preset_words(&library, Field::Stack, "default").unwrap().0, "PyTorch FSDP2 at its best");
        assert!(preset_words(&library, Field::Stack, "default").unwrap().1.contains("flash attention"));
    }

    /// Each scenario says what to look at, in a sentence that the status line has room for; each paper has one.
    #[test]
    fn the_gallery_has_every_paper_and_says_what_to_look_at() {
        let mut app = explorer();
        press(&mut app, "K");
        let Some(Layer::List(gallery)) = &app.layer else { panic!("no gallery") };
        assert_eq!(gallery.found().len(), app.library.entries(Kind::Scenario).count());
        for entry in app.library.entries(Kind::Scenario) {
            let look = file::parse(&entry.text).unwrap().look.expect(&entry.id);
            assert!(look.ends_with('.') && look.len() <= 120, "{}: {look}", entry.id);
        }
        for (typed, id) in [
            ("2501.04266", "frontier-20b-384"),
            ("2504.03655", "fsdp-limits-13b"),
            ("2106.02679", "layered-x-160"),
            ("osdp", "osdp-48x1536"),
            ("layered", "layered-x-160"),
            ("modular", "modular-gpt3-175b"),
        ] {
            let mut app = explorer();
            press(&mut app, &format!("K{typed}"));
            let Some(Layer::List(gallery)) = &app.layer else { panic!("no gallery") };
            assert!(gallery.found().iter().any(|item| item.name == id), "{typed}");
        }
        press(&mut app, "osdp<ret>");
        assert_eq!(app.scenario.cluster.id, "titan-rtx-pcie");
        assert!(app.notice.as_deref().is_some_and(|said| said.contains("Operators (P)")), "{:?}", app.notice);
    }
}
