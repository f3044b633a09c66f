//! What the explorer makes of the files that a person waits for.

use crate::app::action::{Command, JobReport};
use crate::app::state::App;
use crate::app::transfer::{FileTransfer, Transferred, Underway};

impl App {
    /// Has files read or written that take their time; one after the other, so that Esc says which it stops.
    pub(crate) fn transfer(&mut self, transfer: FileTransfer) -> Vec<Command> {
        if let Some(underway) = &self.underway {
            self.tell(format!("not yet: still {}", underway.said()));
            return Vec::new();
        }
        self.transfers += 1;
        let number = self.transfers;
        self.underway = Some(Underway { number, name: transfer.name(), so_far: None });
        vec![Command::Transfer { number, transfer }]
    }

    /// Nobody waits for them any more: what is still told of them carries an old number.
    pub(crate) fn stop_transfer(&mut self) -> Vec<Command> {
        let Some(underway) = self.underway.take() else { return Vec::new() };
        self.tell(format!("stopped {}", underway.name));
        vec![Command::StopTransfer]
    }

    /// They are so far.
    pub(crate) fn transferring(&mut self, number: u64, so_far: Transferred) {
        if let Some(underway) = self.underway.as_mut().filter(|underway| underway.number == number) {
            underway.so_far = Some(so_far);
        }
    }

    /// They are done, or it is said why not.
    pub(crate) fn transferred(&mut self, number: u64, report: JobReport) -> Vec<Command> {
        match self.underway.take_if(|underway| underway.number == number) {
            Some(_) => self.take_in(report),
            None => Vec::new(),
        }
    }
}
