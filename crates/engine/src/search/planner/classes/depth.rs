//! Depth first over the counts of each class, fastest choice first.
//!
//! A branch is left when what remains cannot fit even in its smallest form, or cannot beat the best
//! assignment so far even in its fastest [osdp C4]; the second test is made again with memory at its
//! price, which makes the bound that of the linear relaxation.

use super::bound::{MemoryPrice, UndecidedClass, open};
use super::class::{Assignment, OperatorClass};

/// Nodes after which the search gives up: a few milliseconds.
const MOST_NODES: u64 = 100_000;

/// The search has visited too many nodes: too many branches differ too little to be cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NodeLimitReached;

/// A search under way.
struct DepthFirst<'a> {
    open: &'a [UndecidedClass],
    price: MemoryPrice,
    limit: u64,
    /// Counts on the branch at hand, by class and useful choice in the order of the search.
    counts: Vec<Vec<u32>>,
    best: Option<Incumbent>,
    nodes: u64,
}

struct Incumbent {
    time: u64,
    memory: u64,
    counts: Vec<Vec<u32>>,
}

/// Where a branch stands: the class and the choice to count next, what is left of the class, what is spent.
#[derive(Clone, Copy)]
struct Node {
    place: usize,
    choice: usize,
    left: u64,
    time: u64,
    memory: u64,
}

/// The least time within `limit`, then the least memory; `None` if nothing fits.
pub(crate) fn depth_first(classes: &[OperatorClass], limit: u64) -> Result<Option<Assignment>, NodeLimitReached> {
    let price = MemoryPrice::at(classes, limit);
    let open = open(classes, price);
    let counts = open.iter().map(|class| vec![0; class.choices.len()]).collect();
    let mut search = DepthFirst { open: &open, price, limit, counts, best: None, nodes: 0 };
    search.class(0, 0, 0)?;
    Ok(search.best.map(|best| {
        let mut counts: Vec<Vec<u32>> = classes.iter().map(|class| vec![0; class.choices.len()]).collect();
        for (class, found) in open.iter().zip(best.counts) {
            for (choice, count) in class.choices.iter().zip(found) {
                counts[class.class][choice.index] = count;
            }
        }
        Assignment::new(classes, counts)
    }))
}

impl DepthFirst<'_> {
    /// Continues with the class at `place`; behind the last one an assignment is complete, and better than those before
    /// it.
    fn class(&mut self, place: usize, time: u64, memory: u64) -> Result<(), NodeLimitReached> {
        if let Some(class) = self.open.get(place) {
            return self.count(class, Node { place, choice: 0, left: class.copies, time, memory });
        }
        self.best = Some(Incumbent { time, memory, counts: self.counts.clone() });
        Ok(())
    }

    /// Tries every count of one choice, the largest first; the last choice takes what is left.
    fn count(&mut self, class: &UndecidedClass, node: Node) -> Result<(), NodeLimitReached> {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            return Err(NodeLimitReached);
        }
        let Some(choice) = class.choices.get(node.choice) else { return Ok(()) };
        let last = node.choice + 1 == class.choices.len();
        let fewest = if last { node.left } else { 0 };
        // Fastest choice first and as many of it as there are: good incumbents come early and cut off more.
        for count in (fewest..=node.left).rev() {
            self.counts[node.place][node.choice] = count as u32;
            let spent = Node {
                left: node.left - count,
                choice: node.choice + 1,
                time: node.time + count * choice.cost.time,
                memory: node.memory + count * choice.cost.memory,
                ..node
            };
            if self.can_prune(class, spent) {
                continue;
            }
            if last {
                self.class(node.place + 1, spent.time, spent.memory)?;
            } else {
                self.count(class, spent)?;
            }
        }
        Ok(())
    }

    /// Whether a branch cannot fit, or cannot be better than the best so far.
    fn can_prune(&self, class: &UndecidedClass, node: Node) -> bool {
        let rest = &class.choices[node.choice..];
        let smallest = rest.last().map_or(0, |choice| node.left * choice.cost.memory) + class.memory_after;
        if node.memory + smallest > self.limit {
            return true;
        }
        let Some(best) = &self.best else { return false };
        let fastest = rest.first().map_or(0, |choice| node.left * choice.cost.time) + class.time_after;
        if (node.time + fastest, node.memory + smallest) >= (best.time, best.memory) {
            return true;
        }
        // The linear relaxation: memory counts at its price, fractions allowed. The limit's worth is added on the other
        // side so that no subtraction can go below zero.
        let priced = class.priced.get(node.choice).copied().unwrap_or(0);
        let spent = self.price.time(node.time) + self.price.spent(node.memory);
        let least = spent + u128::from(node.left) * priced + class.priced_after;
        least > self.price.time(best.time) + self.price.spent(self.limit)
    }
}
