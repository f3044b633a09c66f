//! Search with the simulator as the cost model: from good plans, step by step to better ones.
//!
//! The simulator's time is no sum over operators, since transfers hide behind compute, so no search short
//! of all plans is exact. This one starts from the best uniform plan and from the paper's optimum of each batch and
//! recompute, and moves layers from one way to another as long as that helps.

use crate::search::Tuned;

use super::candidate::{Candidate, Slot};
use super::judge::{Judge, Judged};
use super::space::Space;
use super::{Objective, paper};

/// How much faster than the best uniform plan of its batch and recompute, memory aside, a plan may become:
/// batches that are further behind than this are left out.
const HOPE: f64 = 1.03;

/// The best plan of each batch and recompute that fits, best first.
pub(super) fn search(space: &Space<'_>, ways: &[usize], uniform: &[Judged], judge: &mut Judge) -> Vec<Judged> {
    let mut groups: Vec<Vec<&Judged>> = Vec::new();
    for one in uniform.iter().filter(|one| one.candidate.uniform_way().is_some_and(|way| ways.contains(&way))) {
        match groups.last_mut() {
            Some(group) if group[0].tuned == one.tuned => group.push(one),
            _ => groups.push(vec![one]),
        }
    }
    let fastest = |group: &Vec<&Judged>| group.iter().map(|one| speed(one, judge.objective)).fold(0.0, f64::max);
    let mut hopes: Vec<(f64, Vec<&Judged>)> = groups.into_iter().map(|group| (fastest(&group), group)).collect();
    hopes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found: Vec<Judged> = Vec::new();
    for (hope, group) in hopes {
        let reached = found.iter().map(|one| speed(one, judge.objective)).fold(0.0, f64::max);
        if judge.objective != Objective::Memory && hope * HOPE < reached {
            break;
        }
        let climbed = best_of_group(space, &group, judge);
        found.extend(climbed.filter(|one| one.summary.fits));
    }
    found.sort_by(|a, b| judge.order(&a.summary, &b.summary));
    found
}

/// What is best where memory is no limit: tokens per second, or steps.
fn speed(one: &Judged, objective: Objective) -> f64 {
    match objective {
        Objective::Throughput | Objective::Devices => one.summary.tokens_per_s_per_device,
        Objective::StepTime | Objective::Memory => 1.0 / one.summary.step_time.get(),
    }
}

fn best_of_group(space: &Space<'_>, group: &[&Judged], judge: &mut Judge) -> Option<Judged> {
    let tuned = group.first()?.tuned;
    let better =
        |best: Judged, one: Judged, judge: &Judge| if judge.better(&one.summary, &best.summary) { one } else { best };
    let ways = useful(group);
    let start = group.iter().copied().cloned().reduce(|best, one| better(best, one, judge))?;
    let mut best = climb(space, &ways, start, judge);
    let led = paper::Model::of(space, tuned).best(&ways, judge.objective);
    if let Some(led) = led.and_then(|led| judge.judge(space, tuned, led.candidate)) {
        let climbed = climb(space, &ways, led, judge);
        best = better(best, climbed, judge);
    }
    Some(best)
}

/// Ways that no other one beats in both time and memory where all operators take them.
fn useful(group: &[&Judged]) -> Vec<usize> {
    let cost = |one: &Judged| (one.summary.step_time.get(), one.summary.memory.peak.get());
    let beaten = |one: &Judged| {
        let (time, memory) = cost(one);
        group.iter().any(|other| {
            let (other_time, other_memory) = cost(other);
            other_time <= time && other_memory <= memory && (other_time, other_memory) != (time, memory)
        })
    };
    group.iter().filter(|one| !beaten(one)).filter_map(|one| one.candidate.uniform_way()).collect()
}

/// Takes the best step as long as there is one that helps.
fn climb(space: &Space<'_>, ways: &[usize], start: Judged, judge: &mut Judge) -> Judged {
    let mut best = start;
    loop {
        let tuned: Tuned = best.tuned;
        let mut next: Option<Judged> = None;
        for candidate in steps(space, ways, &best.candidate) {
            let Some(one) = judge.judge(space, tuned, candidate) else { continue };
            if judge.better(&one.summary, &next.as_ref().unwrap_or(&best).summary) {
                next = Some(one);
            }
        }
        match next {
            Some(next) => best = next,
            None => return best,
        }
    }
}

/// Every plan that is one step away: some layers of attention, of the MLP or of both go another way, an
/// operator is cut otherwise, embedding or logits go another way.
fn steps(space: &Space<'_>, ways: &[usize], from: &Candidate) -> Vec<Candidate> {
    let mut found = Vec::new();
    let both: &[usize] = &[0, 1];
    for halves in [&both[..1], &both[1..], both] {
        for (slot, layers) in from.slots(halves[0]) {
            let there =
                |half: &usize| from.slots(*half).iter().find(|(other, _)| other == slot).map(|(_, layers)| *layers);
            let Some(most) = halves.iter().map(there).try_fold(*layers, |most, layers| Some(most.min(layers?))) else {
                continue;
            };
            for to in slots(space, ways, *slot) {
                let moved = |layers: u32| {
                    halves.iter().fold(from.clone(), |to_move, half| to_move.moved(*half, *slot, to, layers))
                };
                found.extend(halvings(most).map(moved));
            }
        }
    }
    for (end, now) in from.ends().iter().enumerate() {
        found.extend(ways.iter().filter(|way| *way != now).map(|way| from.with_end(end, *way)));
    }
    found
}

/// Slots that differ from one in their way or in their slices.
fn slots(space: &Space<'_>, ways: &[usize], from: Slot) -> Vec<Slot> {
    let other_ways = ways.iter().map(|way| Slot { way: *way, ..from });
    let other_slices = space.slices.iter().map(|slices| Slot { slices: *slices, ..from });
    other_ways.chain(other_slices).filter(|slot| *slot != from).collect()
}

/// A count, its half, and so on to 1.
fn halvings(most: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(most), |count| Some(count / 2)).take_while(|count| *count > 0)
}
