//! What a plan needs of its links so that its transfers hide.

use crate::scenario::{Checked, Scenario};
use crate::units::BytesPerSecond;

use super::{Intensity, TransferLink, transfers};

/// A factor on the outermost level with which it is the slowest that a transfer crosses, so that its need is told of
/// every transfer that crosses it; the need is the same at any factor.
const CRAWLING: f64 = 1e-6;

/// What a plan needs of one link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkNeed {
    /// This bandwidth hides all that can be hidden.
    Rate(BytesPerSecond),
    /// A transfer never hides: its arithmetic takes so many times as long.
    NeverHidden(f64),
}

/// What a plan needs of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkNeeds {
    /// Its transfers, and what each needs and has of its link; the tightest first, and before all else what runs beside
    /// no arithmetic.
    pub transfers: Vec<(Intensity, Option<BytesPerSecond>, BytesPerSecond)>,
    /// What it needs of the outermost level.
    pub outermost: LinkNeed,
}

impl LinkNeeds {
    /// Those of a scenario's plan.
    pub fn new(scenario: &Checked) -> Self {
        let present = transfers(scenario);
        let outermost = outermost(scenario, &present);
        let needs = |it: Intensity| (it, it.needed(scenario), it.link.bandwidth(scenario));
        let mut transfers: Vec<_> = present.into_iter().map(needs).collect();
        let share = |needed: Option<BytesPerSecond>, has| needed.map_or(f64::INFINITY, |needed| needed / has);
        transfers.sort_by(|a, b| share(b.1, b.2).total_cmp(&share(a.1, a.2)));
        Self { transfers, outermost }
    }
}

/// The present network decides what is exposed; a crawling one, which transfers cross the level at all.
fn outermost(scenario: &Checked, present: &[Intensity]) -> LinkNeed {
    let level = TransferLink::Level(scenario.cluster.levels.len().saturating_sub(1));
    let mut slow = Scenario::clone(scenario);
    slow.plan.bandwidth_factor = CRAWLING;
    // Checked as well: no rule asks how fast a network is.
    let crawling = slow.checked().map(|slow| transfers(&slow)).unwrap_or_default();
    let crossing = || crawling.iter().filter(|it| it.link == level);
    let never = present.iter().filter(|it| crossing().any(|slow| slow.kind == it.kind && !slow.overlapped));
    let most = crossing().filter_map(|it| it.needed(&slow)).reduce(BytesPerSecond::max);
    never
        .map(Intensity::slowdown)
        .reduce(f64::max)
        .map_or(LinkNeed::Rate(most.unwrap_or(BytesPerSecond::ZERO)), LinkNeed::NeverHidden)
}
