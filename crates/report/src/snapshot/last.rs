//! What sessions of the explorer ended with: sets in files of the user's state, in each of which the first member is the
//! scenario in hand and the others are pinned.
//!
//! The last one is `last.toml`. A session that ends takes the place of the one that it went on from, and moves any other
//! aside, to `previous.toml`, `previous-2.toml` and so on; of those the latest nine are kept. No step of it waits
//! for another process, none writes over what another one may have written meanwhile, and nothing is removed before what
//! takes its place is there.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_library::disk::{self, Staged};

use super::open::{OpenError, Opened, open, read};
use super::set::Set;

/// The most earlier sessions that are kept beside the last one.
const MOST_PREVIOUS: usize = 9;

/// The names that are tried for one, and how often it is tried to be the last session, while others end too.
const TRIES: usize = 100;

/// Where a session is kept, and what it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionFile {
    path: PathBuf,
    /// The text of the session that it goes on from.
    began_with: Option<String>,
}

/// State that the next session begins with, if it is given nothing else.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// The view shown, by its word.
    pub view: &'static str,
    /// The scenario in hand, and after it what is pinned, each with its name.
    pub scenarios: Vec<(String, Scenario)>,
    /// Whether anything was edited or pinned.
    pub has_changed: bool,
}

impl SessionState {
    /// The text of the file.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        Set::unevaluated(self.view, &self.scenarios).to_toml()
    }
}

impl SessionFile {
    /// `$XDG_STATE_HOME/shardscope/last.toml`; `None` without a home.
    pub fn of_user() -> Option<Self> {
        let folders = disk::own_folders()?;
        Some(Self::at(folders.state_dir().unwrap_or(folders.data_local_dir()).join("last.toml")))
    }

    /// That of a session that goes on from none.
    pub fn at(path: PathBuf) -> Self {
        Self { path, began_with: None }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the folders are remembered in which snapshots were written.
    pub fn folders(&self) -> PathBuf {
        self.path.with_file_name("folders.txt")
    }

    /// Opens what the last session ended with, from where this one goes on if it can be opened; `None` where no session
    /// has ended yet.
    pub fn resume(&mut self, library: &Library) -> Option<Result<LastSession, String>> {
        let mut opened = self.open_last(library);
        if opened.is_none() {
            // A session that died while it took the place of another one has moved that aside.
            opened = Self::at(self.previous().pop()?).open_last(library);
        }
        if let Some(Ok(session)) = &opened {
            self.began_with = Some(session.opened.text().to_owned());
        }
        opened
    }

    fn open_last(&self, library: &Library) -> Option<Result<LastSession, String>> {
        // A pipe would be waited for before anything is on the screen.
        if self.path.metadata().is_ok_and(|facts| !facts.is_file()) {
            return Some(Err(format!("{}: it is no regular file; take it away", self.path.display())));
        }
        let opened = match open(&self.path.display().to_string(), library) {
            Err(OpenError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => return None,
            opened => opened.map_err(|error| error.to_string()),
        };
        Some(opened.and_then(|mut opened| {
            let is_renewed = renew(&mut opened, library);
            opened.scenario.layout().map_err(|problems| opened.mistakes(&problems).to_string())?;
            Ok(LastSession { opened, is_renewed })
        }))
    }

    /// Writes what a session ends with, whole or not at all. Says whether it was written: a session that changed nothing
    /// replaces nothing but what it went on from.
    pub fn keep(&self, left: &SessionState) -> io::Result<bool> {
        if !left.has_changed && self.path.exists() && !self.is_what_it_began_with(&self.path) {
            return Ok(false);
        }
        let text = left.to_toml().map_err(io::Error::other)?;
        self.path.parent().map_or(Ok(()), disk::create_private_folder)?;
        let mut staged = Staged::private(&self.path, &text)?;
        let mut moved = Vec::new();
        for _ in 0..TRIES {
            match staged.create(&self.path) {
                Ok(()) => {
                    self.tidy(&moved);
                    return Ok(true);
                }
                Err((again, error)) if error.kind() == ErrorKind::AlreadyExists => staged = again,
                Err((_, error)) => return Err(error),
            }
            moved.extend(self.move_last_aside()?);
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "other sessions took its place again and again"))
    }

    /// Gives what was kept last another name, unless another session has just done that.
    fn move_last_aside(&self) -> io::Result<Option<PathBuf>> {
        let place = self.reserve()?;
        let Err(error) = fs::rename(&self.path, &place) else { return Ok(Some(place)) };
        fs::remove_file(&place)?;
        if error.kind() == ErrorKind::NotFound { Ok(None) } else { Err(error) }
    }

    /// Removes what this session went on from, and the oldest of all. What cannot be removed is kept.
    fn tidy(&self, moved: &[PathBuf]) {
        for path in moved.iter().filter(|path| self.is_what_it_began_with(path)) {
            let _ = fs::remove_file(path);
        }
        let previous = self.previous();
        for path in &previous[..previous.len().saturating_sub(MOST_PREVIOUS)] {
            let _ = fs::remove_file(path);
        }
    }

    /// Makes an empty file of a name for an earlier session: a name that no other session can take now.
    fn reserve(&self) -> io::Result<PathBuf> {
        for count in 1..=TRIES {
            let name = if count == 1 { "previous.toml".to_owned() } else { format!("previous-{count}.toml") };
            let path = self.path.with_file_name(name);
            match disk::reserve(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::AlreadyExists, "all names of earlier sessions are taken"))
    }

    fn is_what_it_began_with(&self, path: &Path) -> bool {
        self.began_with.is_some() && read(path).ok() == self.began_with
    }

    /// The earlier sessions that are kept beside the last one, the oldest first.
    pub fn previous(&self) -> Vec<PathBuf> {
        let entries = self.path.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let session = |entry: fs::DirEntry| {
            let path = entry.path();
            let count = path.file_stem()?.to_str()?.strip_prefix("previous")?;
            let is_named = count.is_empty() || count.strip_prefix('-')?.parse::<usize>().is_ok();
            let is_session = is_named && path.extension()? == "toml";
            let facts = entry.metadata().ok().filter(|facts| is_session && facts.is_file() && facts.len() > 0)?;
            Some((facts.modified().ok()?, path))
        };
        let mut found: Vec<_> = entries.filter_map(session).collect();
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }
}

/// State that the last session ended with.
#[derive(Debug)]
pub struct LastSession {
    /// The scenario in hand, and the pins.
    pub opened: Opened,
    /// Whether the library has other facts today than that session had.
    pub is_renewed: bool,
}

/// Takes facts from today's library, where it has them: a session goes on from version to version, what software reaches
/// is known better each time, and whoever changes a preset means it. What the file says came out then says nothing of it
/// any more. Says whether anything differs.
fn renew(opened: &mut Opened, library: &Library) -> bool {
    let mut is_renewed = false;
    if renew_facts(&mut opened.scenario, library) {
        (opened.stored, is_renewed) = (None, true);
    }
    for pin in &mut opened.pins {
        if renew_facts(&mut pin.scenario, library) {
            (pin.stored, is_renewed) = (None, true);
        }
    }
    // A machine or model that has become a preset since is no longer said in full.
    let file = &mut opened.file;
    file.machine.take_if(|_| library.cluster(&file.cluster).is_ok());
    file.shape.take_if(|_| library.model(&file.model).is_ok());
    is_renewed
}

/// Says whether anything differs.
fn renew_facts(scenario: &mut Scenario, library: &Library) -> bool {
    let before = scenario.clone();
    if let Ok(cluster) = library.cluster(&scenario.cluster.id) {
        scenario.cluster = cluster;
    }
    if let Ok(model) = library.model(&scenario.model.id) {
        scenario.model = model;
    }
    // Constants belong to software: of another version they are never taken alone.
    if let Ok(stack) = library.stack(&scenario.stack.id)
        && let Ok(calibration) = library.calibration(&stack.calibration)
    {
        (scenario.stack, scenario.calibration) = (stack, calibration);
    }
    *scenario != before
}

#[cfg(test)]
mod tests;
