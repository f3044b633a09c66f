//! Hill climbing with the simulator as the cost model: from good plans, move by move, to better ones. Not guaranteed
//! optimal.
//!
//! The simulator's time is no sum over operators, since transfers hide behind compute, so that only a search over all
//! plans would be exact. This one starts from the best uniform plan and from the paper's optimum of each batch and
//! recompute, and moves layers from one sharding to another as long as that helps.

use crate::units::Bytes;

use super::candidate::{OperatorChoice, OperatorPlan};
use super::judge::{Judge, JudgedPlan, side_by_side};
use super::paper;
use super::request::PlannerObjective;
use super::space::Space;

/// Margin on the estimate of what a batch and recompute can reach: those that are further behind the best plan so far
/// are left out.
const MARGIN: f64 = 1.03;

/// The best plan of each batch and recompute that fits, best first: where memory is what counts, of those that may be
/// among the `top` best, and else of those that are hoped to come near the speed that is `reached` already.
pub(super) fn search(
    space: &Space<'_>,
    ways: &[usize],
    uniform: &[JudgedPlan],
    judge: &Judge<'_>,
    top: usize,
    reached: f64,
) -> Vec<JudgedPlan> {
    let mut groups: Vec<Vec<&JudgedPlan>> = Vec::new();
    for one in uniform.iter().filter(|one| one.candidate.uniform_way().is_some_and(|way| ways.contains(&way))) {
        match groups.last_mut() {
            Some(group) if group[0].batch == one.batch => group.push(one),
            _ => groups.push(vec![one]),
        }
    }
    let mut hopes: Vec<(f64, Vec<&JudgedPlan>)> =
        groups.into_iter().map(|group| (optimistic_speed(&group, judge.objective), group)).collect();
    hopes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = if judge.objective == PlannerObjective::Memory {
        smallest(space, ways, hopes.into_iter().map(|(_, group)| group), judge, top)
    } else {
        fastest(space, hopes, judge, reached)
    };
    found.sort_by(|a, b| judge.order(&a.summary, &b.summary));
    found
}

/// The best plan of each group that is hoped to come near the fastest.
fn fastest(space: &Space<'_>, hopes: Vec<(f64, Vec<&JudgedPlan>)>, judge: &Judge<'_>, reached: f64) -> Vec<JudgedPlan> {
    let mut found: Vec<JudgedPlan> = Vec::new();
    for (hope, group) in hopes {
        let reached = found.iter().map(|one| speed(one, judge.objective)).fold(reached, f64::max);
        // Hopes come descending: from here on no batch is hoped to come near what is reached.
        if hope * MARGIN < reached {
            break;
        }
        let climbed = best_of_group(space, &group, judge);
        found.extend(climbed.filter(|one| one.summary.fits));
    }
    found
}

/// The best plan of each group that may be among the `top` smallest, in the order of the groups. No group is left out
/// that could have one of them: its least memory is above theirs.
fn smallest<'a>(
    space: &Space<'_>,
    ways: &[usize],
    groups: impl Iterator<Item = Vec<&'a JudgedPlan>>,
    judge: &Judge<'_>,
    top: usize,
) -> Vec<JudgedPlan> {
    let mut bounded: Vec<(Bytes, usize, Vec<&JudgedPlan>)> = groups
        .enumerate()
        .filter_map(|(place, group)| Some((space.least_memory(ways, group.first()?.batch), place, group)))
        .collect();
    bounded.sort_by(|one, other| one.0.get().total_cmp(&other.0.get()));
    let mut found: Vec<(usize, JudgedPlan)> = Vec::new();
    for (least, place, group) in bounded {
        let mut reached: Vec<f64> = found.iter().map(|(_, one)| one.summary.memory.peak.get()).collect();
        reached.sort_by(f64::total_cmp);
        // Plans of one memory may be one plan.
        reached.dedup();
        if top.checked_sub(1).and_then(|last| reached.get(last)).is_some_and(|most| least.get() > *most) {
            break;
        }
        let climbed = best_of_group(space, &group, judge).filter(|one| one.summary.fits);
        found.extend(climbed.map(|one| (place, one)));
    }
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, one)| one).collect()
}

/// The rate to be maximised where memory is no limit: tokens per second, or steps per second.
fn speed(one: &JudgedPlan, objective: PlannerObjective) -> f64 {
    match objective {
        PlannerObjective::Throughput | PlannerObjective::Devices => one.summary.tokens_per_s_per_device,
        PlannerObjective::StepTime | PlannerObjective::Memory => 1.0 / one.summary.step_time.get(),
    }
}

/// The speed of the fastest mix of uniform plans within the memory, if time and memory were sums over the layers and
/// slices made the gathered weights vanish; where no mix fits, that of the smallest plan.
fn optimistic_speed(group: &[&JudgedPlan], objective: PlannerObjective) -> f64 {
    let cost = |one: &JudgedPlan| {
        let memory = &one.summary.memory;
        ((memory.peak - memory.parts.gathered - memory.capacity).get(), one.summary.step_time.get())
    };
    let costs: Vec<(f64, f64)> = group.iter().map(|one| cost(one)).collect();
    let (inside, beyond): (Vec<_>, Vec<_>) = costs.iter().copied().partition(|(over, _)| *over <= 0.0);
    // A plan 4 GB inside the limit takes 10 s, one 8 GB beyond it 7 s: a third of the layers in the second one's way
    // fills the memory, and takes 10 - 3 / 3 = 9 s. Inside, the distance to the limit is negative.
    let mixed = |(room, slow): (f64, f64)| {
        let with = move |(over, fast): &(f64, f64)| slow + (fast - slow) * room / (room - over);
        beyond.iter().map(with).fold(slow, f64::min)
    };
    let fastest = inside.iter().copied().map(mixed).reduce(f64::min);
    let smallest = costs.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, time)| time);
    let at = |time: f64| group.first().map(|one| speed(one, objective) * one.summary.step_time.get() / time);
    fastest.or(smallest).and_then(at).unwrap_or(0.0)
}

fn best_of_group(space: &Space<'_>, group: &[&JudgedPlan], judge: &Judge<'_>) -> Option<JudgedPlan> {
    let batch = group.first()?.batch;
    let better = |best: JudgedPlan, one: JudgedPlan, judge: &Judge<'_>| {
        if judge.better(&one.summary, &best.summary) { one } else { best }
    };
    let ways = non_dominated(group);
    let start = group.iter().copied().cloned().reduce(|best, one| better(best, one, judge))?;
    let climb = |start: JudgedPlan| climb(space, &ways, start, judge);
    let led = || paper::PaperModel::new(space, space.batches[batch]).best(&ways, judge.objective);
    let climbed = side_by_side(2, |place| match place {
        0 => Some(climb(start.clone())),
        _ => led().and_then(|led| judge.judge(space, batch, led.candidate)).map(climb),
    });
    climbed.into_iter().flatten().reduce(|best, one| better(best, one, judge))
}

/// Ways that no other one beats in both time and memory where all operators take them.
fn non_dominated(group: &[&JudgedPlan]) -> Vec<usize> {
    let cost = |one: &JudgedPlan| (one.summary.step_time.get(), one.summary.memory.peak.get());
    let beaten = |one: &JudgedPlan| {
        let (time, memory) = cost(one);
        group.iter().any(|other| {
            let (other_time, other_memory) = cost(other);
            other_time <= time && other_memory <= memory && (other_time, other_memory) != (time, memory)
        })
    };
    group.iter().filter(|one| !beaten(one)).filter_map(|one| one.candidate.uniform_way()).collect()
}

/// Takes the best step as long as there is one that helps.
fn climb(space: &Space<'_>, ways: &[usize], start: JudgedPlan, judge: &Judge<'_>) -> JudgedPlan {
    let mut best = start;
    while let Some(next) = best_step(space, ways, &best, judge) {
        best = next;
    }
    best
}

/// The best step, if there is one that helps; of equals the first.
fn best_step(space: &Space<'_>, ways: &[usize], from: &JudgedPlan, judge: &Judge<'_>) -> Option<JudgedPlan> {
    let steps = steps(space, ways, &from.candidate);
    let found = side_by_side(steps.len(), |step| best_step_size(space, from, &steps[step], judge));
    let better = |next: JudgedPlan, one: JudgedPlan| if judge.better(&one.summary, &next.summary) { one } else { next };
    found.into_iter().flatten().reduce(better)
}

/// A change that can be made to so many layers, or to all there is.
struct Move<'a> {
    most: u32,
    make: Box<dyn Fn(u32) -> OperatorPlan + Sync + 'a>,
}

/// A move for the best number of layers. All layers, if that helps; if not, often for lack of memory, as many as help;
/// where nothing fitted before, as few as make it fit. Bisection finds the number.
fn best_step_size(space: &Space<'_>, from: &JudgedPlan, step: &Move<'_>, judge: &Judge<'_>) -> Option<JudgedPlan> {
    let helps =
        |layers: u32, than: &JudgedPlan| judge.better_candidate(space, from.batch, (step.make)(layers), &than.summary);
    let (mut best, mut good, mut bad) = match helps(step.most, from) {
        Some(all) if from.summary.fits || !all.summary.fits => return Some(all),
        Some(all) => (all, step.most, 0),
        None => (helps(1, from)?, 1, step.most),
    };
    // Invariant: `good` layers help and `bad` do not, or do more than is needed, so one of the counts between them is
    // the last that helps.
    while good.abs_diff(bad) > 1 {
        let layers = good.midpoint(bad);
        match helps(layers, &best) {
            Some(one) => (best, good) = (one, layers),
            None => bad = layers,
        }
    }
    Some(best)
}

/// Every step: layers of some equal attentions or MLPs, or of all, go another way or are cut otherwise, embedding or
/// logits go another way.
fn steps<'a>(space: &Space<'_>, ways: &[usize], from: &'a OperatorPlan) -> Vec<Move<'a>> {
    let mut found: Vec<Move> = Vec::new();
    let all = space.sublayers.len();
    for alike in (0..all).map(|one| one..one + 1).chain(std::iter::once(0..all)) {
        for (slot, _) in from.slots(alike.start) {
            let there = |one: usize| from.slots(one).iter().find(|(other, _)| other == slot).map(|(_, here)| *here);
            let Some(most) = alike.clone().map(there).reduce(|a, b| Some(a?.min(b?))).flatten() else { continue };
            for to in slots(space, ways, *slot) {
                let alike = alike.clone();
                let make = move |layers: u32| {
                    alike.clone().fold(from.clone(), |moved, one| moved.moved(one, *slot, to, layers))
                };
                found.push(Move { most, make: Box::new(make) });
            }
        }
    }
    for (end, now) in from.ends().iter().enumerate() {
        for way in ways.iter().copied().filter(|way| way != now) {
            found.push(Move { most: 1, make: Box::new(move |_| from.with_end(end, way)) });
        }
    }
    found
}

/// Slots that differ from one in their way or in their slices.
fn slots(space: &Space<'_>, ways: &[usize], from: OperatorChoice) -> Vec<OperatorChoice> {
    let other_ways = ways.iter().map(|way| OperatorChoice { way: *way, ..from });
    let other_slices = space.slices.iter().map(|slices| OperatorChoice { slices: *slices, ..from });
    other_ways.chain(other_slices).filter(|slot| *slot != from).collect()
}
