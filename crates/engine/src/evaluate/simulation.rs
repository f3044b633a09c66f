//! Runs a program, and says why one does not end. Not for figures of a run ([`super::summary()`]).

use crate::program::Program;
use crate::scenario::Problem;
use crate::sim::{Deadlock, Observer, Simulator};

/// Runs the program that was built last.
pub(super) fn simulate(
    program: &Program,
    simulator: &mut Simulator,
    fold: bool,
    observer: &mut impl Observer,
) -> Result<(), Vec<Problem>> {
    simulator.run(&program.code, &program.ranks, fold, observer).map_err(stuck)
}

/// The problem of a program whose tasks wait for ever.
pub(super) fn stuck(Deadlock { rank, task }: Deadlock) -> Vec<Problem> {
    vec![Problem::bug("plan", format!("the program of rank {rank} is stuck at task {task:?}"))]
}
