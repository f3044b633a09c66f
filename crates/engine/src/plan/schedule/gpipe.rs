//! `GPipe` (Huang et al., arXiv 1811.06965): all forwards, then all backwards.

use super::{ScheduleRules, breadth_first};

/// Breadth first with a single stage on each rank.
pub(super) const RULES: ScheduleRules = ScheduleRules { virtual_stages: false, ..breadth_first::RULES };
