//! The dynamic programme: operator by operator, the least time for each amount of memory worth having.

use super::{Assignment, Choice, Class};

/// The least time within `limit`, then the least memory; `None` if nothing fits.
pub fn dynamic(classes: &[Class], limit: u64) -> Option<Assignment> {
    let order: Vec<usize> =
        classes.iter().enumerate().flat_map(|(class, of)| (0..of.copies).map(move |_| class)).collect();
    let least = |class: usize| classes[class].choices.iter().map(|choice| choice.memory).min();
    // What those still to come need at least is no room for this one.
    let mut after = order.iter().map(|class| least(*class)).sum::<Option<u64>>()?;
    let mut fronts = vec![vec![Choice { time: 0, memory: 0 }]];
    for class in &order {
        after -= least(*class)?;
        let front = extended(fronts.last()?, &classes[*class].choices, limit.checked_sub(after)?);
        fronts.push(front);
    }
    let mut at = *fronts.last()?.last()?;
    let mut counts: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.choices.len()]).collect();
    for (class, before) in order.into_iter().zip(&fronts).rev() {
        let (choice, from) = step_back(&classes[class].choices, before, at)?;
        counts[class][choice] += 1;
        at = from;
    }
    Some(Assignment::of(classes, counts))
}

/// A front with one more operator: the sums that are within `room` and that no other one beats in both
/// memory and time, memory rising and time falling.
fn extended(front: &[Choice], choices: &[Choice], room: u64) -> Vec<Choice> {
    let with = |sum: &Choice, one: &Choice| Choice { time: sum.time + one.time, memory: sum.memory + one.memory };
    let sums = front.iter().flat_map(|sum| choices.iter().map(move |one| with(sum, one)));
    let mut sums: Vec<Choice> = sums.filter(|sum| sum.memory <= room).collect();
    sums.sort_unstable_by_key(|sum| (sum.memory, sum.time));
    let mut fastest = u64::MAX;
    sums.retain(|sum| {
        let useful = sum.time < fastest;
        fastest = fastest.min(sum.time);
        useful
    });
    sums
}

/// A choice of the last operator that leads to a sum, and the sum before it.
fn step_back(choices: &[Choice], before: &[Choice], at: Choice) -> Option<(usize, Choice)> {
    choices.iter().enumerate().find_map(|(index, choice)| {
        let memory = at.memory.checked_sub(choice.memory)?;
        let found = before[before.binary_search_by_key(&memory, |sum| sum.memory).ok()?];
        (found.time + choice.time == at.time).then_some((index, found))
    })
}
