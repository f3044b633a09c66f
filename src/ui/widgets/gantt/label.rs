//! What is written into a span: as much as fits.

use shardscope_engine::evaluate::{Activity, ModelPart, TaskKind};

/// The labels of an activity, longest first, with its micro-batch where `turns` asks for it, and with the kind of its layer
/// where that is said; a letter alone would say nothing.
pub(super) fn labels(activity: Activity, turns: bool, kind: Option<&str>) -> Vec<String> {
    let (long, short, letter) = names(activity.kind);
    let Activity { part, layer, micro_batch, .. } = activity;
    let half = |name: &str| {
        vec![format!("{long} {name} {layer}"), format!("{short} {name} {layer}"), format!("{letter}{layer}")]
    };
    let mut labels = match part {
        ModelPart::Layer => vec![format!("{long} {layer}"), format!("{short} {layer}"), format!("{letter}{layer}")],
        ModelPart::Attention => half("attention"),
        ModelPart::Mlp => half("MLP"),
        ModelPart::Embedding => vec![format!("{long} embedding"), format!("{short} emb"), short.to_owned()],
        ModelPart::Head => vec![format!("{long} head"), format!("{short} head"), short.to_owned()],
        ModelPart::Model => vec![long.to_owned(), short.to_owned()],
    };
    if let (Some(kind), ModelPart::Layer | ModelPart::Attention | ModelPart::Mlp) = (kind, part) {
        let with = [format!("{} ({kind})", labels[0]), format!("{} ({kind})", labels[1])];
        labels.splice(0..0, with);
    }
    if turns && activity.kind.computes_layers() {
        let numbered =
            [format!("{}, micro-batch {micro_batch}", labels[0]), format!("{}, mb {micro_batch}", labels[1])];
        labels.splice(0..0, numbered);
    }
    labels
}

/// Which way compute goes, where there is room for no more: without colours nothing else would tell.
pub(super) const fn way(kind: TaskKind) -> Option<&'static str> {
    if kind.computes_layers() { Some(names(kind).2) } else { None }
}

/// The names of a kind, longest first.
pub(super) const fn names(kind: TaskKind) -> (&'static str, &'static str, &'static str) {
    match kind {
        TaskKind::Forward => ("forward", "fwd", "f"),
        TaskKind::Backward => ("backward", "bwd", "b"),
        TaskKind::BackwardInputs => ("backward, inputs", "bwd-in", "b"),
        TaskKind::BackwardWeights => ("backward, weights", "bwd-w", "w"),
        TaskKind::Optimizer => ("optimizer", "opt", "o"),
        TaskKind::AllGather => ("all-gather", "gather", "g"),
        TaskKind::ReduceScatter => ("reduce-scatter", "reduce", "r"),
        TaskKind::AllReduce => ("all-reduce", "all-red", "ar"),
        TaskKind::AllToAll => ("all-to-all", "a2a", "a2a"),
        TaskKind::PointToPoint => ("point-to-point", "p2p", "p"),
        TaskKind::Copy => ("copy", "copy", "c"),
        TaskKind::Host => ("host", "host", "h"),
    }
}
