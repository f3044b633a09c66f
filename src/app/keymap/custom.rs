//! The user's own keys: the `[keys]` of the configuration laid over the table, and the table as such a text.

use std::borrow::Cow;
use std::fmt::Write;

use crossterm::event::{KeyCode, KeyModifiers};
use toml::{Table, Value};

use super::binding::{Binding, Place};
use super::lookup::Keymap;
use super::names;
use super::table::BINDINGS;
use crate::app::action::Action;

/// A field that is wrong, and what it must be.
type Must = (String, String);

/// One field of the user's.
struct Wish {
    /// Its path: `keys.map.tune`.
    path: String,
    /// Where; everywhere that knows the action without.
    place: Option<Place>,
    action: String,
    keys: Vec<(KeyCode, KeyModifiers)>,
}

impl Keymap {
    /// The table with the user's own keys; or what each wrong field must be.
    pub fn custom(wanted: &Table) -> Result<Self, Vec<Must>> {
        let mut keymap = Self::default();
        let wishes = wishes(wanted)?;
        let mut changed = vec![None; keymap.bindings.len()];
        let mut musts = Vec::new();
        for (at, wish) in wishes.iter().enumerate() {
            if let Err(must) = keymap.grant(wish, &mut changed, at) {
                musts.push((wish.path.clone(), must));
            }
        }
        musts.extend(keymap.clashes(&wishes, &changed));
        if !musts.is_empty() {
            return Err(musts);
        }
        keymap.reword(&changed);
        Ok(keymap)
    }

    /// Binds the keys of a wish; notes which bindings it changed.
    fn grant(&mut self, wish: &Wish, changed: &mut [Option<usize>], at: usize) -> Result<(), String> {
        let mut known = false;
        for (binding, changed) in self.bindings.iter_mut().zip(changed) {
            let here = wish.place.is_none_or(|place| place == binding.place);
            if !here || names::action(binding.action) != wish.action {
                continue;
            }
            known = true;
            let text = |key: &(KeyCode, KeyModifiers)| {
                matches!(key, (KeyCode::Char(_), KeyModifiers::NONE)) && binding.place.takes_text()
            };
            let mut keys: Vec<_> = wish.keys.iter().copied().filter(|key| !text(key)).collect();
            if keys.is_empty() && wish.place.is_some() {
                return Err("characters are text here; take another key".to_owned());
            }
            let interrupt = (KeyCode::Char('c'), KeyModifiers::CONTROL);
            if binding.action == Action::Quit && !keys.contains(&interrupt) && !keys.is_empty() {
                // There is always a way out.
                keys.push(interrupt);
            }
            if !keys.is_empty() {
                (binding.keys, *changed) = (keys.into(), Some(at));
            }
        }
        if known { Ok(()) } else { Err(format!("there is no such action here; use {}", actions(wish.place))) }
    }

    /// Keys that now mean two things at one place, or at a place and everywhere.
    fn clashes(&self, wishes: &[Wish], changed: &[Option<usize>]) -> Vec<Must> {
        let mut musts = Vec::new();
        for (index, one) in self.bindings.iter().enumerate() {
            let Some(wish) = changed[index].map(|at| &wishes[at]) else { continue };
            for (position, other) in self.bindings.iter().enumerate() {
                let told = position < index && changed[position].is_some();
                // What hides something in the table itself may go on doing so.
                let told = told || one.keys == BINDINGS[index].keys && other.keys == BINDINGS[position].keys;
                let shared = one.keys.iter().find(|key| other.keys.contains(key));
                let Some(key) = shared.filter(|_| !told && one.action != other.action && meet(one, other)) else {
                    continue;
                };
                let words = if other.help.is_empty() { names::action(other.action) } else { other.help.to_string() };
                let place = names::place(other.place);
                musts.push((wish.path.clone(), format!("{} already means '{words}' ({place})", names::name(*key))));
            }
        }
        musts
    }

    /// Gives bindings that were changed, and those that speak for them, the words of their keys.
    fn reword(&mut self, changed: &[Option<usize>]) {
        let mut from = 0;
        while from < self.bindings.len() {
            let silent = |binding: &&Binding| binding.help.is_empty();
            let to = from + 1 + self.bindings[from + 1..].iter().take_while(silent).count();
            if changed[from..to].iter().any(Option::is_some) {
                let (shown, also) = words(&self.bindings[from..to]);
                let speaker = &mut self.bindings[from];
                let help = speaker.help.split(" (also").next().unwrap_or_default();
                let also = if also.is_empty() { String::new() } else { format!(" (also {})", also.join(", ")) };
                speaker.help = format!("{help}{also}").into();
                speaker.shown = shown;
            }
            from = to;
        }
    }
}

/// Whether two bindings work at the same time.
fn meet(one: &Binding, other: &Binding) -> bool {
    let everywhere = |binding: &Binding| binding.place == Place::Panels;
    let below = one.place.is_under_layers() && other.place.is_under_layers();
    one.place == other.place || below && (everywhere(one) || everywhere(other))
}

/// The first keys of some bindings in words, and the names of the others.
fn words(group: &[Binding]) -> ((Cow<'static, str>, Cow<'static, str>), Vec<String>) {
    let firsts = |ascii| {
        let keys = group.iter().filter_map(|binding| binding.keys.first());
        keys.map(|key| names::shown(*key, ascii)).collect::<Vec<_>>().join(" ").into()
    };
    let others = group.iter().flat_map(|binding| binding.keys.iter().skip(1));
    ((firsts(false), firsts(true)), others.map(|key| names::shown(*key, true)).collect())
}

fn wishes(wanted: &Table) -> Result<Vec<Wish>, Vec<Must>> {
    let mut wishes = Vec::new();
    let mut musts = Vec::new();
    for (name, value) in wanted {
        let (place, fields) = match value {
            Value::Table(fields) => {
                let Some(place) = places().find(|place| names::place(*place) == *name) else {
                    let places: Vec<String> = places().map(names::place).collect();
                    musts.push((format!("keys.{name}"), format!("there is no such place; use {}", places.join(", "))));
                    continue;
                };
                (Some(place), fields.iter().collect())
            }
            value => (None, vec![(name, value)]),
        };
        for (action, value) in fields {
            let path = if place.is_some() { format!("keys.{name}.{action}") } else { format!("keys.{action}") };
            match keys(value) {
                Ok(keys) => wishes.push(Wish { path, place, action: action.clone(), keys }),
                Err(must) => musts.push((path, must)),
            }
        }
    }
    if musts.is_empty() { Ok(wishes) } else { Err(musts) }
}

/// The places that have keys.
fn places() -> impl Iterator<Item = Place> {
    Place::all().filter(|place| BINDINGS.iter().any(|binding| binding.place == *place))
}

/// A key, or a list of them.
fn keys(value: &Value) -> Result<Vec<(KeyCode, KeyModifiers)>, String> {
    let wrong = || "write a key or a list of keys, like [\"q\", \"ctrl-c\"]".to_owned();
    let texts: Vec<&str> = match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().map(|item| item.as_str().ok_or_else(wrong)).collect::<Result<_, _>>()?,
        _ => return Err(wrong()),
    };
    if texts.is_empty() { Err(wrong()) } else { texts.into_iter().map(names::key).collect() }
}

/// The names of the actions at a place, or of all.
fn actions(place: Option<Place>) -> String {
    let here = BINDINGS.iter().filter(|binding| place.is_none_or(|place| place == binding.place));
    let mut names: Vec<String> = here.map(|binding| names::action(binding.action)).collect();
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
        let _ = writeln!(text, "\n# [keys.{}]", names::place(place));
        for binding in BINDINGS.iter().filter(|binding| binding.place == place) {
            let keys: Vec<String> = binding.keys.iter().map(|key| format!("{:?}", names::name(*key))).collect();
            let _ = writeln!(text, "# {} = [{}]", names::action(binding.action), keys.join(", "));
        }
    }
    text
}

/// What works on the panels, in Markdown, for the README.
pub fn markdown() -> String {
    let mut text = String::from("| Key | Where | What |\n|---|---|---|\n");
    let panels = |place: &Place| matches!(place, Place::Panels | Place::Panel(_));
    for (place, bindings) in Keymap::default().help(Place::Panels).filter(|(place, _)| panels(place)) {
        for binding in bindings {
            let key = binding.shown.0.replace('|', "\\|");
            let _ = writeln!(text, "| `{key}` | {} | {} |", place.title().to_lowercase(), binding.help);
        }
    }
    text
}

#[cfg(test)]
mod tests;
