//! What each action does on the list of snapshots and sets.

use crate::app::action::{Action, Command};
use crate::app::browser::Browser;
use crate::app::layer::Layer;
use crate::app::list::{Entry, Subject};
use crate::app::state::App;
use crate::snapshot::{Listed, Opened};

impl App {
    /// Opens the list, which is looked for behind the screen.
    pub(crate) fn open_browser(&mut self) -> Vec<Command> {
        self.layer = Some(Layer::Browser(Browser::default()));
        vec![Command::List]
    }

    /// The files that were found.
    pub(crate) fn take_list(&mut self, files: Vec<Listed>) {
        if let Some(Layer::Browser(browser)) = &mut self.layer {
            browser.files = Some(files);
        }
    }

    pub(crate) fn on_browser(&mut self, mut browser: Browser, action: Action) -> Vec<Command> {
        let mut commands = Vec::new();
        let path = browser.file().map(|file| file.path.clone());
        if browser.search(action) {
            self.layer = Some(Layer::Browser(browser));
            return commands;
        }
        match (browser.asking, action) {
            (true, Action::Take) => {
                browser.asking = false;
                commands.extend(path.map(Command::Delete));
                commands.push(Command::List);
            }
            (true, _) => browser.asking = false,
            (false, Action::Close) => return commands,
            (false, Action::Take) => match (browser.file().map(|file| file.holds.is_err()), path) {
                (Some(false), Some(path)) => return vec![Command::Open(path)],
                (Some(true), _) => self.tell("it cannot be opened as it is: the reason is shown with it".to_owned()),
                _ => {}
            },
            (false, Action::Remove) => browser.asking = path.is_some(),
            (false, Action::Export) => {
                commands.extend(self.export());
                commands.push(Command::List);
            }
            (false, Action::SaveSet) => {
                if self.ask_set_name() {
                    return commands;
                }
            }
            (false, _) => {
                browser.cursor.go(action, browser.found().len(), self.page);
            }
        }
        self.layer = Some(Layer::Browser(browser));
        commands
    }

    /// Asks under which name the pinned scenarios are to be saved; whether there are any.
    fn ask_set_name(&mut self) -> bool {
        if self.pins.all().is_empty() {
            self.tell("nothing is pinned: p pins the scenario shown, then a set can be saved".to_owned());
            return false;
        }
        if self.pins.are_waiting() {
            self.tell("still computing: save the set when the figures are there".to_owned());
            return false;
        }
        self.layer = Some(Layer::Entry(Entry::new(Subject::Set, "set".to_owned())));
        true
    }

    /// A file was opened: its scenario is the one in hand, a set's are pinned.
    pub(crate) fn opened(&mut self, opened: Opened, path: &str) -> Vec<Command> {
        let Opened { file, scenario, stored, pins, .. } = opened;
        if let Err(problems) = scenario.layout() {
            self.tell(format!("{path}: {}", problems[0]));
            return Vec::new();
        }
        let pinned = pins.len();
        self.pin_all(pins);
        let pinned = if pinned == 0 { String::new() } else { format!(", {pinned} pinned: c compares") };
        // First, so that what its answer tells replaces it: that may be known at once.
        self.tell(format!("opened {path}{pinned}"));
        self.stored = stored.map(|stored| (scenario.clone(), stored));
        self.adopt(file, scenario)
    }

    /// Pins the scenarios of a set beside those that are pinned already.
    pub(crate) fn pin_all(&mut self, pins: Vec<(String, crate::scenario::Scenario)>) {
        for (name, scenario) in pins {
            if self.pins.position(&scenario).is_none() {
                self.pins.add(name, scenario, None);
            }
        }
    }
}
