//! Settings of a file in any language: a text under each dotted name, and its place.
//!
//! A reader takes away the settings that it understands; the rest was not understood. Does not interpret them.

use std::collections::BTreeMap;

use serde_json::Value;

use shardscope_engine::text::printable;

/// The longest name of an object that is flattened, longer than any tool's: each setting in it repeats it.
const LONGEST_NAME: usize = 100;

/// A file's settings, under names like `zero_optimization.stage`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolSettings {
    /// The file's name in messages.
    pub file: String,
    values: BTreeMap<String, Setting>,
    /// Names that a command removes from the accompanying file.
    removed: Vec<String>,
}

/// One setting's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The value as in the file; `true` and `false` for switches.
    pub text: String,
    /// File and name, for messages.
    pub place: String,
}

impl ToolSettings {
    /// No settings.
    pub fn new(file: &str) -> Self {
        Self { file: printable(file), ..Self::default() }
    }

    /// The settings of an object, with dotted names for nested objects. Null counts as absent.
    pub(crate) fn from_object(file: &str, object: &Value) -> Self {
        let mut settings = Self::new(file);
        settings.flatten("", object);
        settings
    }

    fn flatten(&mut self, name: &str, value: &Value) {
        // `{"bf16": {"enabled": true}}` is `bf16.enabled`. A list stays one text, and so does an object whose name is
        // too long.
        match value {
            Value::Null => {}
            Value::Object(object) if name.len() <= LONGEST_NAME => {
                for (key, value) in object {
                    let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                    self.flatten(&name, value);
                }
            }
            Value::String(text) => self.put(name, text.trim(), name),
            other => self.put(name, &other.to_string(), name),
        }
    }

    /// Adds a setting, called `shown` in messages; the last one of a name counts.
    pub fn put(&mut self, name: &str, text: &str, shown: &str) {
        let setting = Setting { text: text.to_owned(), place: format!("{}: {}", self.file, printable(shown)) };
        self.values.insert(name.to_owned(), setting);
    }

    /// Adds `name=value`, with the value read as YAML; null removes the name from the accompanying file.
    pub(crate) fn assign(&mut self, name: &str, value: &str) {
        match serde_saphyr::from_str(value) {
            Ok(Value::Null) => self.remove(name),
            Ok(value) => self.flatten(name, &value),
            Err(_) => self.put(name, value, name),
        }
    }

    /// Removes a name from the accompanying file, with everything inside an object of that name.
    pub(crate) fn remove(&mut self, name: &str) {
        self.removed.push(name.to_owned());
    }

    /// The text of a setting, which stays.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|setting| setting.text.as_str())
    }

    /// A positive integer, which stays.
    pub fn count(&self, name: &str) -> Option<u32> {
        self.text(name)?.parse().ok().filter(|count| *count > 0)
    }

    /// True if a setting has this name, or lies inside an object of this name.
    pub fn has(&self, name: &str) -> bool {
        // A whole section counts too: `fsdp_config.version` is enough for `fsdp_config`.
        let inside = format!("{name}.");
        self.values.keys().any(|key| key == name || key.starts_with(&inside))
    }

    /// Moves the settings inside a section out of it.
    pub fn lift(&mut self, section: &str) {
        let inside = self.take_inside(section);
        for (name, setting) in inside.rest() {
            self.put(name, &setting.text, &setting.place);
        }
    }

    /// Takes a setting away.
    pub fn take(&mut self, name: &str) -> Option<Setting> {
        self.values.remove(name)
    }

    /// Takes away a switch that is on; returns true if it was.
    pub(crate) fn take_on(&mut self, name: &str) -> bool {
        let on = self.text(name) == Some("true");
        if on {
            self.take(name);
        }
        on
    }

    /// Adds others' settings whose names are absent here, except removed names and those inside removed objects.
    pub(crate) fn fall_back(&mut self, others: Self) {
        let removed = std::mem::take(&mut self.removed);
        let is_in = |name: &str, outer: &String| {
            name.strip_prefix(outer).is_some_and(|rest| matches!(rest.as_bytes(), [] | [b'.', ..]))
        };
        for (name, setting) in others.values {
            if !removed.iter().any(|outer| is_in(&name, outer)) {
                self.values.entry(name).or_insert(setting);
            }
        }
    }

    /// Renames a setting, unless the new name is present; messages keep the old name.
    pub(crate) fn call(&mut self, name: &str, other: &str) {
        if let Some(setting) = self.values.remove(name) {
            self.values.entry(other.to_owned()).or_insert(setting);
        }
    }

    /// All settings under other names; messages keep the old names.
    pub(crate) fn renamed(self, name: impl Fn(&str) -> String) -> Self {
        let values = self.values.into_iter().map(|(key, setting)| (name(&key), setting)).collect();
        Self { values, ..self }
    }

    /// Takes all settings that match a pattern: a name, or a prefix before a `*`.
    pub(crate) fn take_all(&mut self, pattern: &str) -> Vec<Setting> {
        self.take_named(pattern).into_iter().map(|(_, setting)| setting).collect()
    }

    /// As `take_all`, with the names.
    pub(crate) fn take_named(&mut self, pattern: &str) -> Vec<(String, Setting)> {
        let fits = |name: &String| pattern.strip_suffix('*').map_or(name == pattern, |start| name.starts_with(start));
        let names: Vec<String> = self.values.keys().filter(|name| fits(name)).cloned().collect();
        names.iter().filter_map(|name| self.values.remove_entry(name)).collect()
    }

    /// Takes all settings whose text is one of these.
    pub(crate) fn take_off(&mut self, texts: &[&str]) -> Vec<Setting> {
        let all = std::mem::take(&mut self.values);
        let (off, left) = all.into_iter().partition(|(_, setting)| texts.contains(&setting.text.as_str()));
        self.values = left;
        let off: BTreeMap<String, Setting> = off;
        off.into_values().collect()
    }

    /// Takes all settings inside an object, under their names in it.
    pub(crate) fn take_inside(&mut self, name: &str) -> Self {
        let inside = format!("{name}.");
        let names: Vec<String> = self.values.keys().filter(|key| key.starts_with(&inside)).cloned().collect();
        let mut found = Self::new(&self.file);
        for key in names {
            let value = self.values.remove(&key);
            found.values.extend(value.map(|value| (key[inside.len()..].to_owned(), value)));
        }
        found
    }

    /// True if no settings are left.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The settings left: names and values.
    pub fn rest(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.values.iter().map(|(name, setting)| (name.as_str(), setting))
    }
}
