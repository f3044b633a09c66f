//! The fastest way to treat many operators within a memory limit, exactly.
//!
//! Operators that are alike form a class: only how many of them are treated in each way matters, not
//! which [osdp C4]. Two independent methods: depth first with prunings, and a dynamic programme. Whole
//! numbers throughout, so both give the same optimum to the bit. Not for where the costs come from.

mod bound;
mod class;
mod depth;
mod dynamic;

use crate::search::evaluator::Cancel;

pub(crate) use bound::relaxed;
pub use class::Assignment;
pub use class::OperatorClass;
pub use class::OptionCost;
pub(crate) use depth::depth_first;
pub(crate) use dynamic::dynamic;

/// The least time within `limit`, and of equally fast assignments the one with least memory; `None` if
/// nothing fits, or if it was cancelled. Depth first, or by the dynamic programme where too many branches are nearly alike: then the
/// time grows with the limit.
pub fn fastest(classes: &[OperatorClass], limit: u64, cancel: &Cancel) -> Option<Assignment> {
    depth_first(classes, limit).unwrap_or_else(|_| dynamic(classes, limit, cancel))
}

#[cfg(test)]
mod tests;
