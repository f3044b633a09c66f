//! The limiting factor of a machine, read off a map over its memory and its bandwidth. Not for filling the map
//! ([`super::Sweep`]), nor for small changes, which are the elasticities.

use crate::scenario::Value;

use super::sweep::{Cell, Sweep};

/// A gain from twice as much of something that is worth naming.
const NOTICEABLE: f64 = 0.05;

/// The resource that limits a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitingFactor {
    /// Twice the memory or twice the bandwidth gives less than 5 %.
    Compute,
    /// Twice the memory gives most.
    Memory,
    /// Twice the bandwidth gives most.
    Network,
}

impl LimitingFactor {
    /// Every factor.
    pub const ALL: [Self; 3] = [Self::Compute, Self::Memory, Self::Network];

    /// Its name, which begins with its letter.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Network => "network",
        }
    }
}

/// Gains from twice as much of the current hardware, as shares of the throughput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gains {
    /// From memory; `None` where the job does not fit as it is.
    pub memory: Option<f64>,
    /// From bandwidth of the network.
    pub bandwidth: Option<f64>,
}

/// The limiting factor of a cell in a map with bandwidth across and memory down, once it and its neighbours are known.
pub fn limiting(sweep: &Sweep, cells: &[Option<Cell>], index: usize) -> Option<LimitingFactor> {
    if matches!(cells.get(index)?.as_ref()?, Cell::Possible { summary, .. } if !summary.fits) {
        return Some(LimitingFactor::Memory);
    }
    let [memory, network] = [Way::Memory, Way::Bandwidth].map(|way| gain(sweep, cells, index, way));
    let (memory, network) = (memory?, network?);
    Some(match memory >= network {
        _ if memory.max(network) < NOTICEABLE => LimitingFactor::Compute,
        true => LimitingFactor::Memory,
        false => LimitingFactor::Network,
    })
}

/// The gains at a cell, once they are known.
pub fn gains(sweep: &Sweep, cells: &[Option<Cell>], index: usize) -> Option<Gains> {
    cells.get(index)?.as_ref()?;
    let [memory, bandwidth] = [Way::Memory, Way::Bandwidth].map(|way| gain(sweep, cells, index, way));
    Some(Gains { memory, bandwidth })
}

/// The resource that is doubled.
#[derive(Debug, Clone, Copy)]
enum Way {
    Memory,
    Bandwidth,
}

/// The gain in throughput of twice as much; where the axis ends before that, of the last doubling.
fn gain(sweep: &Sweep, cells: &[Option<Cell>], index: usize, way: Way) -> Option<f64> {
    let width = sweep.x.values.len();
    let (x, y) = (index % width, index / width);
    let (axis, place) = match way {
        Way::Memory => (&sweep.y, y),
        Way::Bandwidth => (&sweep.x, x),
    };
    let Value::Number(here) = axis.values[place] else { return None };
    let at = |factor: f64| {
        let place = axis.values.iter().position(|value| *value == Value::Number(factor))?;
        Some(match way {
            Way::Memory => place * width + x,
            Way::Bandwidth => y * width + place,
        })
    };
    let (before, after) = match at(2.0 * here) {
        Some(more) => (index, more),
        None => (at(here / 2.0)?, index),
    };
    let throughput = |index: usize| match cells.get(index)?.as_ref()? {
        Cell::Possible { summary, .. } => Some(if summary.fits { summary.tokens_per_s_per_device } else { 0.0 }),
        Cell::Impossible(_) => None,
    };
    Some(throughput(after)? / throughput(before)? - 1.0).filter(|gain| !gain.is_nan())
}
