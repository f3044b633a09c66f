//! Closed forms: what holds whatever the schedule. Not for anything that depends on order in time.

pub mod fsdp;
pub mod goodput;
pub mod intensity;
pub mod layered;
pub mod osdp;
pub mod pipeline;

use crate::scenario::{Layout, Scenario};
use crate::units::Bytes;

/// Model state per parameter on one device: `w / dw + g / dg + k / do + q / ds`, with the bytes of
/// weights, gradients, optimizer state and second copy over the ranks that share each [frontier D3]; what is on the host does
/// not count. Activations, gathered units and buffers come on top.
pub(crate) fn state_per_parameter(scenario: &Scenario, layout: &Layout) -> Bytes {
    let plan = &scenario.plan;
    let storage = plan.precision.storage();
    let shared = |bytes: f64, ranks: u32, on_host: f64| bytes / f64::from(ranks) * (1.0 - on_host);
    let second = match (&plan.sharding.secondary, layout.secondary) {
        (Some(secondary), Some(ranks)) => shared(secondary.format.bytes(), ranks, 0.0),
        _ => 0.0,
    };
    let gradient = scenario.gradient_format();
    let on_host = if plan.offload.state() { 1.0 } else { 0.0 };
    Bytes::new(
        shared(storage.bytes(), layout.weights, on_host)
            + shared(gradient.bytes(), layout.gradients, on_host)
            + shared(plan.optimizer_state(), layout.optimizer, plan.optimizer_on_host())
            + second,
    )
}

#[cfg(test)]
mod tests;
