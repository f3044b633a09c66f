//! The presets of one kind by id. A program carries some two hundred and a command uses five: each is read when it is first
//! asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::read::{self, Preset};

/// The presets of one kind by id.
#[derive(Debug, Clone)]
pub(super) struct ById<P> {
    carried: Arc<[Carried<P>]>,
    own: BTreeMap<String, Arc<P>>,
}

/// A preset that the program carries.
#[derive(Debug)]
struct Carried<P> {
    id: &'static str,
    text: &'static str,
    /// `None` where the text cannot be used: the tests of whoever carries it read every one.
    preset: OnceLock<Option<Arc<P>>>,
}

impl<P> Default for ById<P> {
    fn default() -> Self {
        Self { carried: Arc::default(), own: BTreeMap::new() }
    }
}

impl<P: Preset> ById<P> {
    /// Presets that the program carries, by id and text; one may be like any before it.
    pub fn new(carried: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        let carried = carried.map(|(id, text)| Carried { id, text, preset: OnceLock::new() }).collect();
        Self { carried, own: BTreeMap::new() }
    }

    /// The preset of an id, in whatever case.
    pub fn find(&self, id: &str) -> Option<Arc<P>> {
        self.get(id).or_else(|| self.get(self.ids().find(|known| known.eq_ignore_ascii_case(id))?))
    }

    /// The ids of all presets; of one that takes another's place twice.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.own.keys().map(String::as_str).chain(self.carried.iter().map(|preset| preset.id))
    }

    /// Reads a preset of the user's, which takes the place of any with the same id, and returns its name.
    pub fn add(&mut self, id: &str, text: &str) -> Result<String, String> {
        let preset: P = read::preset(id, text, |like| self.get(like))?;
        let name = preset.name().to_owned();
        self.own.insert(id.to_owned(), Arc::new(preset));
        Ok(name)
    }

    fn get(&self, id: &str) -> Option<Arc<P>> {
        self.own.get(id).cloned().or_else(|| carried(&self.carried, id))
    }
}

/// The carried preset of an id, over none but carried ones.
fn carried<P: Preset>(presets: &[Carried<P>], id: &str) -> Option<Arc<P>> {
    let place = presets.iter().position(|preset| preset.id == id)?;
    let Carried { text, preset, .. } = &presets[place];
    let read = || read::preset(id, text, |like| carried(&presets[..place], like)).ok().map(Arc::new);
    preset.get_or_init(read).clone()
}
