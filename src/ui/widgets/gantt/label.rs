//! What is written into a span: as much as fits.

use crate::evaluate::{Activity, Kind, Part};

/// The labels of an activity, longest first; a letter alone would say nothing.
pub(super) fn labels(activity: Activity) -> [String; 3] {
    let (long, short, letter) = names(activity.kind);
    let layer = activity.layer;
    let half =
        |name: &str| [format!("{long} {name} {layer}"), format!("{short} {name} {layer}"), format!("{letter}{layer}")];
    match activity.part {
        Part::Layer => [format!("{long} {layer}"), format!("{short} {layer}"), format!("{letter}{layer}")],
        Part::Attention => half("attention"),
        Part::Mlp => half("MLP"),
        Part::Embedding => [format!("{long} embedding"), format!("{short} emb"), short.to_string()],
        Part::Head => [format!("{long} head"), format!("{short} head"), short.to_string()],
        Part::Model => [long.to_string(), short.to_string(), short.to_string()],
    }
}

/// The names of a kind, longest first.
pub(super) const fn names(kind: Kind) -> (&'static str, &'static str, &'static str) {
    match kind {
        Kind::Forward => ("forward", "fwd", "f"),
        Kind::Backward => ("backward", "bwd", "b"),
        Kind::Optimizer => ("optimizer", "opt", "o"),
        Kind::AllGather => ("all-gather", "gather", "g"),
        Kind::ReduceScatter => ("reduce-scatter", "reduce", "r"),
        Kind::AllReduce => ("all-reduce", "all-red", "ar"),
        Kind::AllToAll => ("all-to-all", "a2a", "a2a"),
        Kind::PointToPoint => ("point-to-point", "p2p", "p"),
        Kind::Copy => ("copy", "copy", "c"),
        Kind::Host => ("host", "host", "h"),
    }
}
