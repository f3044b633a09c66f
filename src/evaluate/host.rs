//! What crosses the link to the host's memory in a step.

use crate::program::{Code, Lane, Script};
use crate::units::{Bytes, Seconds};

use super::summary::seconds;

/// A way of the link to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// To the host.
    Out,
    /// From the host.
    In,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Out, Self::In];

    /// The line of the timeline that its copies run on.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Out => Lane::HostOut,
            Self::In => Lane::HostIn,
        }
    }
}

/// What crosses the link to the host's memory in a step; each way has the link's bandwidth for itself.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostTraffic {
    /// What goes there.
    pub to: Copies,
    /// What comes from there.
    pub from: Copies,
    /// Time during which compute stands still for a copy.
    pub exposed: Seconds,
}

/// What one device copies one way.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Copies {
    /// Bytes, of the rank that ends last.
    pub bytes: Bytes,
    /// Time during which that way would be busy if each copy had it alone.
    pub busy: Seconds,
}

impl HostTraffic {
    /// One way.
    pub const fn way(&self, way: Way) -> Copies {
        match way {
            Way::Out => self.to,
            Way::In => self.from,
        }
    }

    /// Whether anything crosses it.
    pub fn any(&self) -> bool {
        Way::ALL.iter().any(|way| self.way(*way).bytes > Bytes::ZERO)
    }

    /// What one rank copies; `exposed` is how long its compute stands still for that.
    pub(super) fn of(script: &Script, code: &Code, exposed: Seconds) -> Self {
        let mut host = Self { exposed, ..Self::default() };
        for (routine, runs) in code.routines.iter().zip(runs(script, code)) {
            for block in &code.blocks[routine.blocks.start as usize..routine.blocks.end as usize] {
                let times = runs as f64 * f64::from(block.repeat);
                for task in &code.tasks[block.tasks.start as usize..block.tasks.end as usize] {
                    let copies = match task.label.lane {
                        Lane::HostOut => &mut host.to,
                        Lane::HostIn => &mut host.from,
                        _ => continue,
                    };
                    copies.bytes += Bytes::new(task.label.bytes as f64 * times);
                    copies.busy += seconds(task.duration) * times;
                }
            }
        }
        host
    }
}

/// How often a rank runs each routine.
fn runs(script: &Script, code: &Code) -> Vec<u64> {
    let mut runs = vec![0; code.routines.len()];
    for round in &script.rounds {
        for section in &script.sections[round.sections.start as usize..round.sections.end as usize] {
            for slot in &script.slots[section.slots.start as usize..section.slots.end as usize] {
                runs[slot.routine as usize] += u64::from(round.repeat) * u64::from(section.repeat);
            }
        }
    }
    runs
}
