//! Seconds and bytes of one operator, one collective, one buffer: pure functions, each with its
//! formula and source.
//!
//! Nothing here knows what runs before or beside it: order is [`crate::program`]'s, time is
//! [`crate::sim`]'s. Times become whole picoseconds where a task is made.

mod activation;
mod adapters;
mod attention;
mod calibrated;
mod collective;
mod context;
mod device_time;
mod engine;
mod experts;
mod flash;
mod flop;
mod host;
mod indexer;
mod kept;
mod kernel;
mod layer;
mod loss;
mod matmul;
mod operator;
mod piece;
mod rates;
mod recurrence;
mod repeats;
mod router;

pub use activation::PieceActivations;
pub use adapters::{Parameters, trained_parameters};

pub use activation::Activations;
pub(crate) use calibrated::own_entries;
pub use calibrated::{Calibrated, same_memory};
pub use collective::CollectiveAlgorithm;
pub use collective::CollectiveAlgorithms;
pub use collective::EndTransfers;
pub use collective::{Payload, Transfer, TransferParts};
pub(crate) use collective::{TensorTransfers, overlapped_share};
pub(crate) use context::ContextTransfers;
pub use device_time::DeviceTime;
pub use device_time::PassTimes;
pub use engine::EngineMemory;
pub use experts::ExpertTransfers;
pub(crate) use flop::layers_flop;
pub use flop::{TokenFlop, adapters_flop, flop_per_weight, frozen_flop, unmet_logits_flop};
pub use host::{DriveRates, SwappedBytes};
pub use kept::{Home, KeptOf, KeptPart, StatePart};
pub use kernel::Kernel;
pub use layer::LayerWork;
pub use loss::HeadBytes;
pub use piece::{PerPiece, Piece};
pub use rates::peak;
pub use rates::{FUSED_SOFTMAX_BATCH, Factors, Rates};

#[cfg(test)]
mod tests;
