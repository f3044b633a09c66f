//! The fastest way to treat many operators within a memory limit, exactly.
//!
//! Operators that are alike form a class: only how many of them are treated in each way matters, not
//! which [osdp C4]. Two independent methods: depth first with prunings, and a dynamic programme. Whole
//! numbers throughout, so both give the same optimum to the bit. Not for where the costs come from.

mod bound;
mod depth;
mod dynamic;

pub use bound::relaxed;
pub use depth::depth_first;
pub use dynamic::dynamic;

/// One way to treat an operator: what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Time, in any unit that the classes share.
    pub time: u64,
    /// Memory, in the unit of the limit.
    pub memory: u64,
}

/// Operators that are alike, and the ways to treat each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Class {
    /// How many there are.
    pub copies: u32,
    /// At least one way.
    pub choices: Vec<Choice>,
}

/// How many operators of each class are treated in each way, and what that costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// By class and choice.
    pub counts: Vec<Vec<u32>>,
    /// The sum of all times.
    pub time: u64,
    /// The sum of all memory.
    pub memory: u64,
}

/// The least time within `limit`, and of equally fast assignments the one with least memory; `None` if
/// nothing fits. Depth first, or by the dynamic programme where too many branches are nearly alike: then the
/// time grows with the limit.
pub fn fastest(classes: &[Class], limit: u64) -> Option<Assignment> {
    depth_first(classes, limit).unwrap_or_else(|_| dynamic(classes, limit))
}

impl Assignment {
    fn of(classes: &[Class], counts: Vec<Vec<u32>>) -> Self {
        let sum = |cost: fn(&Choice) -> u64| {
            let of_class = |(class, counts): (&Class, &Vec<u32>)| {
                class.choices.iter().zip(counts).map(|(choice, count)| u64::from(*count) * cost(choice)).sum::<u64>()
            };
            classes.iter().zip(&counts).map(of_class).sum()
        };
        Self { time: sum(|choice| choice.time), memory: sum(|choice| choice.memory), counts }
    }
}

/// A choice that no other one beats in both time and memory, and its index in the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Useful {
    index: usize,
    cost: Choice,
}

impl Class {
    /// The useful choices, fastest first, so that memory falls as time grows.
    fn useful(&self) -> Vec<Useful> {
        let mut choices: Vec<Useful> =
            self.choices.iter().enumerate().map(|(index, cost)| Useful { index, cost: *cost }).collect();
        choices.sort_by_key(|choice| (choice.cost.time, choice.cost.memory));
        let mut least = u64::MAX;
        choices.retain(|choice| {
            let useful = choice.cost.memory < least;
            least = least.min(choice.cost.memory);
            useful
        });
        choices
    }
}

#[cfg(test)]
mod tests;
