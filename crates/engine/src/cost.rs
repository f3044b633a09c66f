//! Seconds and bytes of one operator, one collective, one buffer: pure functions, each with its
//! formula and source.
//!
//! Nothing here knows what runs before or beside it: order is [`crate::program`]'s, time is
//! [`crate::sim`]'s. Times become whole picoseconds where a task is made.

mod activation;
mod attention;
mod calibrated;
mod collective;
mod device_time;
mod flop;
mod kernel;
mod layer;
mod matmul;
mod rates;

pub use activation::{Activations, SublayerActivations};
pub use calibrated::{Calibrated, own_entries, same_memory};
pub use collective::{
    CollectiveAlgorithm, CollectiveAlgorithms, EndTransfers, Payload, TensorTransfers, Transfer, TransferParts,
    overlapped_share,
};
pub use device_time::{DeviceTime, PassTimes};
pub use flop::{TokenFlop, layers_flop};
pub use kernel::Kernel;
pub use layer::{LayerWork, PerSublayer, Sublayer};
pub use rates::peak;
pub use rates::{Factors, Rates};

#[cfg(test)]
mod tests;
