//! Reports of the jobs: answers to older questions than the last are dropped.

use std::sync::Arc;

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{Cell, Fixes};

use crate::app::action::{Command, JobReport};
use crate::app::answers::Answer;
use crate::app::answers::work::PinFound;
use crate::app::state::App;

mod files;
mod foreign;

impl App {
    /// Takes in what a job says; an answer to an older question is dropped. Gives what is to be computed then.
    pub fn receive(&mut self, report: JobReport) -> Vec<Command> {
        // Numbers only grow. Question 7 is asked while 6 still runs; what 6 reports then carries a 6 and finds no arm
        // below. So nothing has to be recalled, and no order of arrival can show an older answer over a newer one.
        let commands = self.take_in(report);
        self.mark_pinned();
        if !self.is_asking() && !self.pins.are_waiting() {
            self.computed();
        }
        commands
    }

    pub(crate) fn take_in(&mut self, report: JobReport) -> Vec<Command> {
        match report {
            JobReport::Evaluated { generation, result } if generation == self.question => {
                return self.take_answer(result);
            }
            JobReport::Explained { generation, result } if generation == self.explanation => {
                self.take_explained(result);
            }
            JobReport::Fixed { generation, fix } if generation == self.question => self.take_fix(fix),
            JobReport::Cells { generation, cells } if generation == self.views.map.generation => self.take_cells(cells),
            JobReport::Found { generation, found } => match found.take() {
                // A pin's figures are its own, whatever has been asked for since.
                Ok(PinFound(id, result)) => self.take_pin(id, result),
                Err(found) if generation == self.work => return self.take_found(found),
                Err(_) => {}
            },
            JobReport::Listed(files) => self.take_list(files),
            JobReport::Completed(typed, completion) => self.take_completion(&typed, completion),
            JobReport::Opened(opened, path) => return self.take_opened(*opened, &path),
            JobReport::Saved { library, kind, id, path } => return self.take_saved(*library, kind, &id, &path),
            JobReport::Reloaded(library, warnings) => return self.take_reloaded(*library, &warnings),
            JobReport::Imported(result, path) => return self.take_imported(result, &path),
            JobReport::PlanExported(question, outcome) => return self.take_exported(&question, outcome),
            JobReport::Said(said) => self.tell(said),
            JobReport::Transferring { number, so_far } => self.take_progress(number, so_far),
            JobReport::Transferred { number, report } => return self.take_transferred(number, *report),
            JobReport::Failed { generation, job, message }
                if [self.question, self.views.map.generation, self.explanation, self.work].contains(&generation) =>
            {
                self.tell(format!("{job} failed: {message}; this is a bug, please report it"));
            }
            _ => {}
        }
        Vec::new()
    }

    fn take_answer(&mut self, result: Result<Arc<Evaluation>, Vec<Problem>>) -> Vec<Command> {
        match (result, &self.shown) {
            (Ok(evaluation), Ok(scenario)) => {
                let answer = Answer { scenario: Scenario::clone(scenario), evaluation };
                self.pins.answered(&answer);
                self.answers.keep(answer.clone());
                self.show(answer);
            }
            (Err(problems), shown) => {
                let refused = shown.as_ref().ok().and_then(|scenario| self.pins.waiting(scenario));
                self.shown = Err(problems.clone());
                if let Some(id) = refused {
                    self.take_pin(id, Err(problems));
                }
                return self.ask_view().into_iter().collect();
            }
            // The fields have become impossible meanwhile: the refusal stays on the screen.
            (Ok(_), Err(_)) => {}
        }
        Vec::new()
    }

    /// Cells of the map are there; what the cursor is on may have settled on another batch.
    fn take_cells(&mut self, cells: Vec<(usize, Cell)>) {
        self.views.map.fill(cells);
        // A tuned cell may settle on another micro-batch than the one that is shown: then the panels follow it.
        let settled = self.looking && self.views.map.tuned(self.views.map.cursor).is_some();
        if settled && self.views.map.scenario(self.views.map.cursor).ok().as_ref() != self.shown.as_deref().ok() {
            self.look();
        }
    }

    fn take_fix(&mut self, fix: Fixes) {
        if let Ok(scenario) = &self.shown {
            self.answers.fix(scenario, &fix);
        }
        self.fix = Some(fix);
    }

    /// A pinned scenario was evaluated, or cannot be.
    pub(crate) fn take_pin(&mut self, id: u64, result: Result<Arc<Evaluation>, Vec<Problem>>) {
        let pinned = self.pins.all().iter().find(|pin| pin.id == id).map(|pin| pin.scenario.clone());
        if let (Some(scenario), Ok(evaluation)) = (pinned, &result) {
            self.check_stored(&scenario, evaluation);
        }
        let why = result.as_ref().err().and_then(|problems| problems.first()).map(ToString::to_string);
        if let (Some(pin), Some(why)) = (self.pins.evaluated(id, result.ok()), why) {
            self.tell(format!("unpinned {}, which is not possible: {why}", pin.name));
        }
        self.with_view(|view, context| view.renew(context));
    }
}
