//! Reports on files that were found, opened, saved or read again.

use std::sync::Arc;

use crate::app::action::Command;
use crate::app::answers::pins::{MOST, Pin};
use crate::app::answers::resolve;
use crate::app::layer::Layer;
use crate::app::state::App;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_library::folders::Warning;
use shardscope_report::snapshot::{Listed, Opened, StoredPin};

impl App {
    /// The files that were found.
    pub(crate) fn take_list(&mut self, files: Vec<Listed>) {
        if let Some(Layer::Browser(browser)) = &mut self.layer {
            browser.files = Some(files);
        }
    }

    /// A file was opened: its scenario is the one in hand, a set's are pinned.
    pub(crate) fn take_opened(&mut self, opened: Opened, path: &str) -> Vec<Command> {
        let Opened { file, scenario, stored, pins, .. } = opened;
        let scenario = match scenario.into_checked() {
            Ok(scenario) => scenario,
            Err(problems) => {
                self.tell(format!("{path}: {}", problems[0]));
                return Vec::new();
            }
        };
        self.record(None, |app| {
            let pinned = app.pin_all(pins);
            // First, so that what its answer tells replaces it: that may be known at once.
            app.tell(format!("opened {path}{pinned}"));
            app.stored.expect(Scenario::clone(&scenario), stored);
            app.check_pins();
            app.take_up(file, scenario)
        })
    }

    /// Pins the scenarios of a set beside those that are pinned already, as far as there is a place; says how many.
    pub(crate) fn pin_all(&mut self, pins: Vec<StoredPin>) -> String {
        let all = pins.len();
        let mut pinned = 0;
        for StoredPin { name, scenario, stored } in pins {
            if self.pins.position(&scenario).is_none() {
                self.pins.add(name.clone(), scenario.clone(), None);
            }
            if self.pins.position(&scenario).is_some() {
                pinned += 1;
                if let Some(stored) = stored {
                    self.stored.expect_pin(name, scenario, stored);
                }
            }
        }
        match all - pinned {
            _ if all == 0 => String::new(),
            0 => format!(", {pinned} pinned: c compares"),
            left => format!(", {pinned} pinned, {left} left out: there is room for {MOST}"),
        }
    }

    /// Holds what files say of the pins against what is known of these.
    fn check_pins(&mut self) {
        let known = |pin: &Pin| Some((pin.scenario.clone(), pin.evaluation.clone()?));
        let known: Vec<_> = self.pins.all().iter().filter_map(known).collect();
        for (scenario, evaluation) in known {
            self.check_stored(&scenario, &evaluation);
        }
    }

    /// A form was saved: the scenario switches to it.
    pub(crate) fn take_saved(&mut self, library: Library, kind: Kind, id: &str, path: &str) -> Vec<Command> {
        self.library = Arc::new(library);
        self.layer.take_if(|layer| matches!(layer, Layer::Form(_)));
        let (mut file, mut scenario) = (self.file.clone(), self.scenario.clone());
        if kind == Kind::Cluster {
            id.clone_into(&mut file.cluster);
            scenario.cluster = self.library.cluster(id).unwrap_or(scenario.cluster);
        } else {
            id.clone_into(&mut file.model);
            scenario.model = self.library.model(id).unwrap_or(scenario.model);
        }
        file.forget_words();
        let commands = self.switch(file, &scenario);
        self.inputs.mark(Field::all().filter(|field| Kind::from_field(*field) == Some(kind)));
        let then = self.notice.take().unwrap_or_else(|| "u undoes it".into());
        self.tell(format!("saved to {path}; {}", &*then));
        commands
    }

    /// The presets were read again: what the scenario has of them follows.
    pub(crate) fn take_reloaded(&mut self, library: Library, warnings: &[Warning]) -> Vec<Command> {
        let old = std::mem::replace(&mut self.library, Arc::new(library));
        let mut scenario = self.scenario.clone();
        macro_rules! follow {
            ($fact:ident) => {
                let id = &scenario.$fact.id;
                if old.$fact(id).is_ok_and(|known| known == scenario.$fact) {
                    scenario.$fact = self.library.$fact(id).unwrap_or(scenario.$fact);
                }
            };
        }
        follow!(cluster);
        follow!(stack);
        follow!(calibration);
        follow!(model);
        let changed = self.library.difference(&old);
        let commands = self.switch(self.file.clone(), &scenario);
        if self.notice.is_none() {
            self.tell(match warnings {
                [] if changed == 0 => "presets reloaded: nothing has changed".to_owned(),
                [] => format!("presets reloaded: {changed} changed"),
                [first] => format!("{first}; the old version stays in use"),
                [first, more @ ..] => {
                    format!("{first}; {} more wrong; the old versions stay in use", more.len())
                }
            });
        }
        commands
    }

    /// The file with other facts becomes the scenario, if it can be; else what was there stays.
    fn switch(&mut self, file: ScenarioFile, facts: &Scenario) -> Vec<Command> {
        match resolve(&self.library, &file, facts) {
            Ok(scenario) if file == self.file && *scenario == self.scenario => Vec::new(),
            Ok(scenario) => self.adopt(file, scenario),
            Err(problems) => {
                self.refuse_scenario(&problems);
                Vec::new()
            }
        }
    }
}
