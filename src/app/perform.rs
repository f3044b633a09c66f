//! What views and layers want done: the explorer does it.

use crate::scenario::file::ScenarioFile;

use super::action::Command;
use super::effect::Effect;
use super::layer::Layer;
use super::state::App;

impl App {
    /// Does all of it, in order; gives what is to be computed or done elsewhere.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) -> Vec<Command> {
        let mut commands = Vec::new();
        for effect in effects {
            commands.extend(self.perform_one(effect));
        }
        commands
    }

    fn perform_one(&mut self, effect: Effect) -> Vec<Command> {
        match effect {
            Effect::Run(command) => return vec![command],
            Effect::Tell(what) => self.tell(what),
            Effect::Choose(list) => self.layer = Some(Layer::List(list)),
            Effect::Ask(entry) => self.layer = Some(Layer::Entry(entry)),
            Effect::Edit(edits, said) => {
                let commands = self.edit(&edits);
                self.tell_unless_refused(said);
                return commands;
            }
            Effect::Revise(file, said) => {
                let commands = self.revise(*file);
                self.tell_unless_refused(said);
                return commands;
            }
            Effect::Adopt(scenario, said) => {
                let commands = self.adopt(ScenarioFile::of(&scenario), *scenario);
                self.tell(said);
                return commands;
            }
            Effect::Unpin(pin) => self.pins.remove(pin),
            Effect::ShiftPin(pin, by) => {
                self.pins.shift(pin, by);
            }
            Effect::Explain => return self.explain(),
            Effect::Follow => return self.ask_view().into_iter().collect(),
            Effect::Arrived => self.computed(),
        }
        Vec::new()
    }

    /// What was done, where nothing was said of why it was not.
    fn tell_unless_refused(&mut self, said: String) {
        if self.notice.is_none() {
            self.tell(said);
        }
    }
}
