//! What is written into a span: as much as fits.

use crate::evaluate::{Activity, Kind, Part};

/// The labels of an activity, longest first, with its micro-batch where `turns` asks for it; a letter alone would say
/// nothing.
pub(super) fn labels(activity: Activity, turns: bool) -> Vec<String> {
    let (long, short, letter) = names(activity.kind);
    let Activity { part, layer, micro_batch, .. } = activity;
    let computes = matches!(activity.kind, Kind::Forward | Kind::Backward);
    let half = |name: &str| {
        vec![format!("{long} {name} {layer}"), format!("{short} {name} {layer}"), format!("{letter}{layer}")]
    };
    let mut labels = match part {
        Part::Layer => vec![format!("{long} {layer}"), format!("{short} {layer}"), format!("{letter}{layer}")],
        Part::Attention => half("attention"),
        Part::Mlp => half("MLP"),
        Part::Embedding => vec![format!("{long} embedding"), format!("{short} emb"), short.to_owned()],
        Part::Head => vec![format!("{long} head"), format!("{short} head"), short.to_owned()],
        Part::Model => vec![long.to_owned(), short.to_owned()],
    };
    if turns && computes {
        let numbered =
            [format!("{}, micro-batch {micro_batch}", labels[0]), format!("{}, mb {micro_batch}", labels[1])];
        labels.splice(0..0, numbered);
    }
    labels
}

/// Which way compute goes, where there is room for no more: without colours nothing else would tell.
pub(super) const fn way(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Forward | Kind::Backward => Some(names(kind).2),
        _ => None,
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
