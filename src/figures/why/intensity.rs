//! The arithmetic intensities of a plan's transfers against their links [layered B4, B5].

use crate::bounds::intensity::{Intensity, Kind, Link};
use crate::units::Bytes;

use super::facts::{Facts, count, input};
use super::{Figure, Formula, LAYERED, Source, Why};

impl Facts<'_> {
    pub(super) fn transfer(&self, figure: Figure) -> Option<Why> {
        let (formula, about) = match figure {
            Figure::Slowdown(index) => {
                let overlapped = self.transfers.get(index)?.overlapped;
                let ratio = self.figure(Figure::Threshold(index))? / self.figure(Figure::Intensity(index))?;
                if overlapped {
                    (
                        Formula::Largest(vec![1.0.into(), ratio]),
                        "What the transfer makes of the time of the arithmetic beside which it runs, in steady state: 1 \
                         where that hides it.",
                    )
                } else {
                    (
                        Formula::from(1.0) + ratio,
                        "What the transfer adds to the time of the arithmetic that it belongs to: nothing runs beside \
                         it, so that it never hides.",
                    )
                }
            }
            Figure::Intensity(index) => (intensity(self.transfers.get(index)?), about(self.transfers.get(index)?)),
            Figure::Threshold(index) => (
                self.threshold(self.transfers.get(index)?),
                "The intensity from which the link is fast enough. Bytes in and out are added, and so are the two \
                 directions of the link. A ring passes a level at the level's bandwidth times its ranks in each group \
                 below, since it goes through the ports of all of them.",
            ),
            _ => return None,
        };
        Some(Why { formula, about: about.into(), source: Source::paper(LAYERED) })
    }

    /// The peak over both directions of the link.
    fn threshold(&self, transfer: &Intensity) -> Formula {
        let link = transfer.link.name(self.scenario);
        let name = match transfer.link {
            Link::Level(_) => format!("bandwidth of a ring through {link}"),
            Link::Host => "bandwidth of the host's link".to_owned(),
        };
        self.peak() / (Formula::from(2.0) * input(name, transfer.bandwidth, self.stated()))
    }
}

/// Flop times tokens over bytes of a parameter, or times parameters over bytes of a token.
fn intensity(transfer: &Intensity) -> Formula {
    let it = transfer.formula;
    let per = if it.of == "tokens" { "parameter" } else { "token" };
    let flop = input("flop per parameter and token", count(it.flop, "flop"), Source::paper(LAYERED));
    let of =
        input(format!("{} that share it", it.of), count(it.count, it.of), Source::chosen("batch, model and layout"));
    let bytes =
        input(format!("bytes in and out per {per}"), Bytes::new(it.bytes), Source::chosen("formats and sharding"));
    flop * of / bytes
}

const fn about(transfer: &Intensity) -> &'static str {
    match transfer.kind {
        Kind::DataParallel => "Sums of gradients over the ranks that hold the same weights, beside the last backward.",
        Kind::PartitionedState | Kind::StateOffload if !transfer.overlapped => {
            "All that weights and gradients move in a step, of all its arithmetic. Nothing computes meanwhile: a rank's \
             only stage comes before its first pass and goes after its last, interleaved stages take the buffers from \
             each other, and some stacks overlap nothing."
        }
        Kind::PartitionedState => {
            "Gathers of weights and reductions of gradients, each for all micro-batches that are visited together; of \
             forward and backward the pass that asks for more."
        }
        Kind::Pipeline => "Activations and their gradients between stages, each in and out.",
        Kind::Tensor => "Sums of activations inside a layer, beside which nothing computes.",
        Kind::CheckpointOffload => "Inputs of layers that are computed again, to the host in forward and back.",
        Kind::StateOffload => "A rank's share of weights and gradients, between the host and the device.",
    }
}
