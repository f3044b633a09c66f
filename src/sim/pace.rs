//! How long a task takes beside others on shared links: its pace under a load, and what that makes of a time.

use crate::program::{Picos, RESOURCES, Task, WHOLE};

/// How much longer than alone a task takes under a load, in units of [`WHOLE`].
pub(super) fn pace(load: &[u32; RESOURCES], task: &Task) -> u32 {
    let needed = load.iter().zip(task.demand).filter(|(_, demand)| *demand > 0);
    needed.map(|(load, _)| *load).max().unwrap_or(0).max(WHOLE)
}

/// `value x WHOLE / pace`, rounded down.
pub(super) fn scaled(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
    // Up to 75 minutes the product fits 64 bits; beyond, it is computed in 128.
    match value.checked_mul(u64::from(WHOLE)) {
        Some(product) => product / u64::from(pace),
        None => (u128::from(value) * u128::from(WHOLE) / u128::from(pace)) as Picos,
    }
}

/// `value x pace / WHOLE`, rounded up.
pub(super) fn scaled_up(value: Picos, pace: u32) -> Picos {
    if pace == WHOLE {
        return value;
    }
    match value.checked_mul(u64::from(pace)) {
        Some(product) => product.div_ceil(u64::from(WHOLE)),
        None => (u128::from(value) * u128::from(pace)).div_ceil(u128::from(WHOLE)) as Picos,
    }
}
