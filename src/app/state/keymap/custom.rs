//! The user's own keys: the `[keys]` of the configuration laid over the table, and the table as such a text.

use std::fmt::Write;

use crossterm::event::{KeyCode, KeyModifiers};
use toml::{Table, Value};

use super::table::TABLE;
use super::{Keymap, places};
use shardscope_engine::problem::Problem;

use crate::app::action::Action;
use crate::app::action::keys::{Binding, KeyLine, KeyPlace, KeyStroke, names};

/// The place of the search in a list, which earlier versions began by an action of its own: now typing filters the list.
/// Files that have keys for either are still read.
const EARLIER_SEARCH: &str = "search-in-a-list";

/// Views that came after 0.2.0: a file of an earlier version may have given their key to something else, which keeps it.
const LATER: [&str; 1] = ["view-lengths"];

/// The key of such a view then.
const INSTEAD: KeyStroke = (KeyCode::Char('a'), KeyModifiers::ALT);

/// One field of the user's.
struct Wish {
    /// Its path: `keys.map.tune`.
    path: String,
    /// Where; everywhere that knows the action without.
    place: Option<KeyPlace>,
    action: String,
    keys: Vec<KeyStroke>,
}

impl Keymap {
    /// The table with the user's own keys, or the fields that are wrong.
    pub fn custom(wanted: &Table) -> Result<Self, Vec<Problem>> {
        let mut keymap = Self::default();
        let wishes = wishes(wanted)?;
        let mut changed = vec![None; bindings(&keymap.lines).count()];
        let mut problems = Vec::new();
        for (at, wish) in wishes.iter().enumerate() {
            if let Err(must) = keymap.grant(wish, &mut changed, at) {
                problems.push(Problem::must(&wish.path, must));
            }
        }
        keymap.make_way(&changed);
        problems.extend(keymap.clashes(&wishes, &changed));
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(keymap)
    }

    /// Binds the keys of a wish; notes which bindings it changed.
    fn grant(&mut self, wish: &Wish, changed: &mut [Option<usize>], at: usize) -> Result<(), String> {
        let mut known = false;
        let bindings = self.lines.iter_mut().flat_map(|KeyLine { place, bindings, .. }| {
            let place = *place;
            bindings.iter_mut().map(move |binding| (place, binding))
        });
        for ((place, binding), changed) in bindings.zip(changed) {
            let here = wish.place.is_none_or(|wanted| wanted == place);
            if !here || binding.action.word() != wish.action {
                continue;
            }
            known = true;
            let text = |key: &KeyStroke| matches!(key, (KeyCode::Char(_), KeyModifiers::NONE)) && place.takes_text();
            let mut keys: Vec<_> = wish.keys.iter().copied().filter(|key| !text(key)).collect();
            if keys.is_empty() && wish.place.is_some() {
                return Err("characters are typed as text here; choose another key".to_owned());
            }
            let interrupt = (KeyCode::Char('c'), KeyModifiers::CONTROL);
            if binding.action == Action::Quit && !keys.contains(&interrupt) && !keys.is_empty() {
                // There is always a way out.
                keys.push(interrupt);
            }
            if !keys.is_empty() {
                (binding.keys, *changed) = (keys, Some(at));
            }
        }
        if known { Ok(()) } else { Err(format!("there is no such action here; use {}", actions(wish.place))) }
    }

    /// Takes keys from later views that are the user's own for something else.
    fn make_way(&mut self, changed: &[Option<usize>]) {
        let own = bindings(&self.lines).zip(changed).filter(|(_, by)| by.is_some());
        let own: Vec<KeyStroke> = own.flat_map(|((_, binding), _)| binding.keys.iter().copied()).collect();
        let bindings = self.lines.iter_mut().flat_map(|line| line.bindings.iter_mut());
        for (binding, _) in bindings.zip(changed).filter(|(_, by)| by.is_none()) {
            let is_later = LATER.iter().any(|later| binding.action.word() == *later);
            if is_later && binding.keys.iter().any(|key| own.contains(key)) {
                binding.keys = vec![INSTEAD];
            }
        }
    }

    /// Keys that now mean two things at one place, or at a place and everywhere.
    fn clashes(&self, wishes: &[Wish], changed: &[Option<usize>]) -> Vec<Problem> {
        let mut problems = Vec::new();
        let now: Vec<_> = bindings(&self.lines).zip(bindings(&TABLE)).zip(changed).collect();
        for (index, (((place, one), (_, was)), by)) in now.iter().enumerate() {
            let Some(wish) = by.map(|at| &wishes[at]) else { continue };
            for (position, (((line, other), (_, other_was)), other_by)) in now.iter().enumerate() {
                let told = position < index && other_by.is_some();
                // What hides something in the table itself may go on doing so.
                let hides = |key| was.keys.contains(key) && other_was.keys.contains(key);
                let shared = one.keys.iter().find(|key| other.keys.contains(key) && !hides(key));
                let meets = one.action != other.action && overlap(place.place, line.place);
                let Some(key) = shared.filter(|_| !told && meets) else { continue };
                let place = place_name(line.place);
                let must = format!("{} already means '{}' ({place})", names::name(*key), line.help);
                problems.push(Problem::must(&wish.path, must));
            }
        }
        problems
    }
}

/// Every binding, with its line.
fn bindings(lines: &[KeyLine]) -> impl Iterator<Item = (&KeyLine, &Binding)> {
    lines.iter().flat_map(|line| line.bindings.iter().map(move |binding| (line, binding)))
}

/// Whether two bindings work at the same time.
fn overlap(one: KeyPlace, other: KeyPlace) -> bool {
    let below = one.is_under_layers() && other.is_under_layers();
    one == other || below && (one == KeyPlace::Panels || other == KeyPlace::Panels)
}

/// The name of a place: its heading in the help.
fn place_name(place: KeyPlace) -> String {
    place.title().to_lowercase().replace(' ', "-")
}

fn wishes(wanted: &Table) -> Result<Vec<Wish>, Vec<Problem>> {
    let mut wishes = Vec::new();
    let mut problems = Vec::new();
    for (name, value) in wanted {
        let (place, fields) = match value {
            Value::Table(fields) => {
                let is_of_search = name == EARLIER_SEARCH;
                let named = |place: &KeyPlace| place_name(*place) == *name || is_of_search && *place == KeyPlace::List;
                let Some(place) = places().find(named) else {
                    let places: Vec<String> = places().map(place_name).collect();
                    let must = format!("there is no such place; use {}", places.join(", "));
                    problems.push(Problem::must(format!("keys.{name}"), must));
                    continue;
                };
                let is_gone = |action: &str| place.takes_text() && action == Action::Search.word();
                (Some(place), fields.iter().filter(|(action, _)| !is_gone(action)).collect())
            }
            value => (None, vec![(name, value)]),
        };
        for (action, value) in fields {
            let path = if place.is_some() { format!("keys.{name}.{action}") } else { format!("keys.{action}") };
            match keys(value) {
                Ok(keys) => wishes.push(Wish { path, place, action: action.clone(), keys }),
                Err(must) => problems.push(Problem::must(path, must)),
            }
        }
    }
    if problems.is_empty() { Ok(wishes) } else { Err(problems) }
}

/// A key, or a list of them.
fn keys(value: &Value) -> Result<Vec<KeyStroke>, String> {
    let wrong = || "write a key or a list of keys, like [\"q\", \"ctrl-c\"]".to_owned();
    let texts: Vec<&str> = match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect::<Result<_, _>>()?,
        _ => return Err(wrong()),
    };
    if texts.is_empty() { Err(wrong()) } else { texts.into_iter().map(names::key).collect() }
}

/// The names of the actions at a place, or of all.
fn actions(place: Option<KeyPlace>) -> String {
    let here = bindings(&TABLE).filter(|(line, _)| place.is_none_or(|place| place == line.place));
    let mut names: Vec<String> = here.map(|(_, binding)| binding.action.word()).collect();
    names.sort();
    names.dedup();
    names.join(", ")
}

/// The table as commented settings that change nothing.
pub fn documented() -> String {
    let mut text = String::from(
        "\n# Keys, by where they work; what stands here replaces all keys of an action. A line right under [keys], like\n\
         # up = [\"up\", \"e\"], changes an action wherever it is known. Ctrl-C always quits.\n# [keys]\n",
    );
    for place in places() {
        let _ = writeln!(text, "\n# [keys.{}]", place_name(place));
        for (_, binding) in bindings(&TABLE).filter(|(line, _)| line.place == place) {
            let keys: Vec<String> = binding.keys.iter().map(|key| format!("{:?}", names::name(*key))).collect();
            let _ = writeln!(text, "# {} = [{}]", binding.action.word(), keys.join(", "));
        }
    }
    text
}

/// The motions that all lists of rows share.
const MOTIONS: [Action; 6] = [Action::Up, Action::Down, Action::First, Action::Last, Action::PageUp, Action::PageDown];

/// The keys of the panels, in Markdown, for the guide.
pub fn panels_markdown() -> String {
    markdown(|place| matches!(place, KeyPlace::Panels | KeyPlace::Panel(_)), |_| true)
}

/// The keys of the other views and of the first start, without the motions of rows.
pub fn views_markdown() -> String {
    let own = |line: &KeyLine| !line.bindings.iter().all(|binding| MOTIONS.contains(&binding.action));
    markdown(|place| matches!(place, KeyPlace::View(_) | KeyPlace::FirstStart), own)
}

fn markdown(places: impl Fn(KeyPlace) -> bool, lines: impl Fn(&KeyLine) -> bool) -> String {
    let mut text = String::from("| Key | Where | What |\n|---|---|---|\n");
    for (place, shown) in Keymap::default().help(KeyPlace::Panels).filter(|(place, _)| places(*place)) {
        for line in shown.into_iter().filter(|line| lines(line)) {
            let key = line.name(false).replace('|', "\\|");
            let _ = writeln!(text, "| `{key}` | {} | {} |", place.title().to_lowercase(), line.text());
        }
    }
    text
}

#[cfg(test)]
mod tests;
