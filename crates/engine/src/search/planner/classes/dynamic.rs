//! The dynamic programme: operator by operator, the least time within each limit up to the one asked for.
//!
//! Its time and memory grow with the limit: count memory in units that are worth telling apart.

use crate::search::evaluator::Cancel;

use super::class::{Assignment, EfficientChoice, OperatorClass};

/// No assignment.
const NEVER: u64 = u64::MAX;

/// The least time within `limit`, then the least memory; `None` if nothing fits, or if it was cancelled.
pub(crate) fn dynamic(classes: &[OperatorClass], limit: u64, cancel: &Cancel) -> Option<Assignment> {
    let efficient: Vec<Vec<EfficientChoice>> = classes.iter().map(OperatorClass::efficient).collect();
    let order: Vec<usize> =
        classes.iter().enumerate().flat_map(|(class, of)| (0..of.copies).map(move |_| class)).collect();
    // Nobody spends more than all operators in the way that takes most.
    let most = |class: &OperatorClass| class.choices.iter().map(|choice| choice.memory).max().unwrap_or(0);
    let all = classes
        .iter()
        .fold(0_u64, |sum, class| sum.saturating_add(u64::from(class.copies).saturating_mul(most(class))));
    let size = usize::try_from(limit.min(all)).ok()?.checked_add(1)?;
    // By memory spent, exactly.
    let mut times = vec![NEVER; size];
    times[0] = 0;
    let mut taken = Vec::with_capacity(order.len());
    for class in &order {
        if cancel.is_cancelled() {
            return None;
        }
        let (next, choices) = extended(&times, &efficient[*class]);
        times = next;
        taken.push(choices);
    }
    // The first of equal times is the one with least memory.
    let (mut memory, _) = times.iter().enumerate().filter(|(_, time)| **time < NEVER).min_by_key(|(_, time)| **time)?;
    let mut counts: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.choices.len()]).collect();
    // Back from the end: what was taken for the last operator says how much memory the others had.
    for (class, choices) in order.into_iter().zip(taken).rev() {
        let choice = efficient[class].get(usize::from(choices[memory]))?;
        counts[class][choice.index] += 1;
        memory -= choice.cost.memory as usize;
    }
    Some(Assignment::new(classes, counts))
}

/// The least times with one more operator, and the choice for it, by memory spent.
fn extended(times: &[u64], choices: &[EfficientChoice]) -> (Vec<u64>, Vec<u8>) {
    // The knapsack's recurrence: next[m] = min over choices of times[m - memory] + time.
    let mut next = vec![NEVER; times.len()];
    let mut taken = vec![0; times.len()];
    for (index, choice) in (0_u8..=u8::MAX).zip(choices) {
        let Some(reached) = usize::try_from(choice.cost.memory).ok().and_then(|memory| next.get_mut(memory..)) else {
            continue;
        };
        let from = taken.len() - reached.len();
        for ((best, taken), time) in reached.iter_mut().zip(&mut taken[from..]).zip(times) {
            let time = time.saturating_add(choice.cost.time);
            if time < *best {
                (*best, *taken) = (time, index);
            }
        }
    }
    (next, taken)
}
