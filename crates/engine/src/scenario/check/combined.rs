//! Plans beside which a program cannot hide experts' exchanges in passes that are forward of one micro-batch and backward of
//! another. Not for how long such passes take.

use crate::plan::{Plan, Recompute};
use crate::scenario::{Field, Problem};
use crate::stack::Runs;

/// What such a program refuses (Megatron-LM, `transformer_config.py`, `__post_init__`); nothing where it hides none, or hides
/// them in some other way.
pub(in crate::scenario) fn refused(plan: &Plan, name: &str, runs: &Runs) -> impl Iterator<Item = Problem> {
    let combines = plan.experts.hides_exchanges() && runs.combined_passes == Some(true);
    let again = matches!(plan.recompute, Recompute::Full | Recompute::Share(_));
    let stages = plan.pipeline > 1 && plan.virtual_stages() == 1;
    let problem = |lacks: &str, fix: &str| {
        let what = format!("{name} hides exchanges in passes of two micro-batches, which have no {lacks}");
        Problem::new(Field::ExpertOverlap.path(), what, format!("choose {fix}, or off"))
    };
    let found = [
        again.then(|| problem("layers that are computed again whole", "recompute selective or none")),
        plan.experts.shared_overlap.then(|| problem("shared expert beside the dispatch", "shared-expert-overlap off")),
        stages.then(|| {
            problem("pipeline of one stage on each rank", "schedule interleaved with 2 or more stages per rank")
        }),
    ];
    found.into_iter().flatten().filter(move |_| combines)
}
