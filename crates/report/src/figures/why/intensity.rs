//! The arithmetic intensities of a plan's transfers against their links [layered B4, B5].

use shardscope_engine::bounds::intensity::{Intensity, TransferKind, TransferLink};

use crate::figures::figure::Figure;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Bytes, Dimension};

use super::facts::{FigureEntry, FormulaFacts, LAYERED, Why, because, count, figure, input};
use super::formula::{Citation, Formula};

/// The unit of an arithmetic intensity.
const PER_BYTE: &str = "flop/B";

/// Each kind of transfer against its link.
pub(super) const FIGURES: &[FigureEntry] = &[
    figure(Figure::Slowdown(0), "slowdown", "{}: slowdown of its arithmetic", Dimension::Of(""))
        .less_is_better()
        .about(
            "How much the transfer stretches the arithmetic it overlaps with, in steady state: 1 if it is fully \
             hidden.",
        )
        .value(|of, at| Some(of.transfer(at)?.slowdown()))
        .why(|facts, at| {
            let ratio = facts.figure(Figure::Threshold(at))? / facts.figure(Figure::Intensity(at))?;
            let source = Citation::paper(LAYERED);
            if facts.evaluation.details.transfers.get(at)?.overlapped {
                return because(Formula::Largest(vec![1.0.into(), ratio]), source);
            }
            let about = "What the transfer adds to the time of the arithmetic that it belongs to: nothing runs beside \
                         it, so that it never hides.";
            Some(Why { formula: Formula::from(1.0) + ratio, about: Some(about.into()), source })
        }),
    figure(Figure::Intensity(0), "intensity", "intensity of {}", Dimension::Of(PER_BYTE))
        .more_is_better()
        .about("Flop that a device computes for each byte that it sends or receives.")
        .value(|of, at| Some(of.transfer(at)?.flop_per_byte()))
        .why(|facts, at| {
            let transfer = facts.evaluation.details.transfers.get(at)?;
            let about = Some([carries(transfer.kind), more(transfer)].concat().into());
            Some(Why { formula: intensity(transfer), about, source: Citation::paper(LAYERED) })
        }),
    figure(Figure::Threshold(0), "threshold", "intensity that {}", Dimension::Of(PER_BYTE))
        .about(
            "The lowest intensity at which the link is fast enough. Bytes in and out are added, and so are the two \
             directions of the link. A ring passes a level at the level's bandwidth times its ranks in each group \
             below, since it goes through the ports of all of them.",
        )
        .value(|of, at| Some(of.transfer(at)?.threshold))
        .why(|facts, at| {
            because(facts.threshold(facts.evaluation.details.transfers.get(at)?), Citation::paper(LAYERED))
        }),
];

impl FormulaFacts<'_> {
    /// The peak over both directions of the link.
    fn threshold(&self, transfer: &Intensity) -> Formula {
        let bandwidth = input(bandwidth(transfer.link, self.scenario), transfer.bandwidth, self.stated());
        self.peak() / (Formula::from(2.0) * bandwidth)
    }
}

/// The bandwidth of a transfer's link, in words: its intensity is held against that.
pub fn bandwidth(link: TransferLink, scenario: &Scenario) -> String {
    match link {
        TransferLink::Level(_) => format!("bandwidth of a ring through {}", link.name(scenario)),
        TransferLink::Host => "bandwidth of the host's link".to_owned(),
    }
}

/// Flop times tokens over bytes of a parameter, or times parameters over bytes of a token.
fn intensity(transfer: &Intensity) -> Formula {
    let it = transfer.formula;
    let per = if it.of == "tokens" { "parameter" } else { "token" };
    let flop = input("flop per parameter and token", count(it.flop, "flop"), Citation::paper(LAYERED));
    let of =
        input(format!("{} that share it", it.of), count(it.count, it.of), Citation::chosen("batch, model and layout"));
    let bytes =
        input(format!("bytes in and out per {per}"), Bytes::new(it.bytes), Citation::chosen("formats and sharding"));
    flop * of / bytes
}

pub const fn carries(kind: TransferKind) -> &'static str {
    match kind {
        TransferKind::DataParallel => "Sums of gradients over replicas",
        TransferKind::PartitionedState => "Gathers of weights, reductions of gradients",
        TransferKind::Pipeline => "Activations and their gradients between stages",
        TransferKind::Tensor => "Sums of activations inside a layer",
        TransferKind::CheckpointOffload => "Inputs of layers to the host and back",
        TransferKind::StateOffload => "Weights and gradients between host and device",
    }
}

/// A further remark.
const fn more(transfer: &Intensity) -> &'static str {
    match transfer.kind {
        TransferKind::DataParallel => ", beside the last backward.",
        TransferKind::PartitionedState | TransferKind::StateOffload if !transfer.overlapped => {
            ": all that moves in a step, of all its arithmetic. Nothing computes meanwhile: a rank's only stage comes \
             before its first pass and goes after its last, interleaved stages take the buffers from each other, and \
             some stacks overlap nothing."
        }
        TransferKind::PartitionedState => {
            ", each for all micro-batches that are visited together; of forward and backward the pass that asks for more."
        }
        TransferKind::Pipeline => ", each in and out.",
        TransferKind::Tensor => ", beside which nothing computes.",
        TransferKind::CheckpointOffload => ", of those that are computed again.",
        TransferKind::StateOffload => ", a rank's share of them.",
    }
}
