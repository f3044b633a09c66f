//! How long a task takes beside others on shared links: its pace under a load, and what that makes of a time.

use crate::program::{FULL_DEMAND, Picos, RESOURCES, Task};

/// How much longer than alone a task takes under a load, in units of [`FULL_DEMAND`].
pub(super) fn slowdown(load: &[u32; RESOURCES], task: &Task) -> u32 {
    let needed = load.iter().zip(task.demand).filter(|(_, demand)| *demand > 0);
    needed.map(|(load, _)| *load).max().unwrap_or(0).max(FULL_DEMAND)
}

/// `value x FULL_DEMAND / pace`, rounded down.
pub(super) fn work_done(value: Picos, slowdown: u32) -> Picos {
    if slowdown == FULL_DEMAND {
        return value;
    }
    // Up to 75 minutes the product fits 64 bits; beyond, it is computed in 128.
    match value.checked_mul(u64::from(FULL_DEMAND)) {
        Some(product) => product / u64::from(slowdown),
        None => (u128::from(value) * u128::from(FULL_DEMAND) / u128::from(slowdown)) as Picos,
    }
}

/// `value x pace / FULL_DEMAND`, rounded up.
pub(super) fn time_for(value: Picos, slowdown: u32) -> Picos {
    if slowdown == FULL_DEMAND {
        return value;
    }
    match value.checked_mul(u64::from(slowdown)) {
        Some(product) => product.div_ceil(u64::from(FULL_DEMAND)),
        None => (u128::from(value) * u128::from(slowdown)).div_ceil(u128::from(FULL_DEMAND)) as Picos,
    }
}
