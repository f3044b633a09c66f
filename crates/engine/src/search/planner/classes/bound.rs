//! What no assignment beats: memory and time of the classes that are still open.

use super::class::{EfficientChoice, OperatorClass};

/// A price of memory in time, as a fraction of whole numbers: exact, so that a bound never cuts off the
/// optimum.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryPrice {
    time: u64,
    memory: u64,
}

/// What a class has left to choose from, and bounds on what follows it.
#[derive(Debug)]
pub(super) struct UndecidedClass {
    /// The class's index.
    pub class: usize,
    pub copies: u64,
    pub choices: Vec<EfficientChoice>,
    /// For each choice the least that it or one behind it takes, memory at the price; asked for at every node of a search.
    pub priced: Vec<u128>,
    /// The least of the classes after this one: memory, time, and both together at the price.
    pub memory_after: u64,
    pub time_after: u64,
    pub priced_after: u128,
}

impl MemoryPrice {
    /// Time and memory of one operator together.
    pub fn total(self, choice: &EfficientChoice) -> u128 {
        self.time(choice.cost.time) + self.spent(choice.cost.memory)
    }

    pub fn time(self, time: u64) -> u128 {
        u128::from(time) * u128::from(self.memory)
    }

    pub fn spent(self, memory: u64) -> u128 {
        u128::from(memory) * u128::from(self.time)
    }

    /// What the last bytes that fit are worth: the slope at which the limit cuts the best way to spend
    /// memory, fractions of an operator allowed. With it the bound is that of the linear relaxation; with
    /// any other it would hold too, but cut off less.
    pub fn at(classes: &[OperatorClass], limit: u64) -> Self {
        // Every operator takes its smallest form first; what is left of the limit is spent on faster ones.
        let mut left = limit;
        let mut steps: Vec<HullStep> = Vec::new();
        for class in classes {
            let choices = class.efficient();
            let least = choices.last().map_or(0, |choice| choice.cost.memory);
            left = left.saturating_sub(least.saturating_mul(u64::from(class.copies)));
            steps.extend(hull(&choices).map(|step| HullStep { copies: u64::from(class.copies), ..step }));
        }
        steps.sort_by(|a, b| b.worth_against(a).cmp(&a.worth_against(b)));
        // Spend on the best steps first; the step that no longer fits whole is the one whose worth is the price.
        for HullStep { time, memory, copies } in steps {
            let spent = memory.saturating_mul(copies);
            if spent > left {
                return Self { time, memory };
            }
            left -= spent;
        }
        Self { time: 0, memory: 1 }
    }
}

/// A time that no assignment within `limit` beats: that of the best way to spend memory if operators could
/// be treated in fractions. Quick; says nothing of whether anything fits.
pub(crate) fn relaxed(classes: &[OperatorClass], limit: u64) -> u64 {
    let price = MemoryPrice::at(classes, limit);
    let least = |class: &OperatorClass| class.efficient().iter().map(|choice| price.total(choice)).min().unwrap_or(0);
    let priced: u128 = classes.iter().map(|class| u128::from(class.copies) * least(class)).sum();
    // Any assignment within the limit has time x memory' + memory x time' >= priced, so its time is at least what is
    // left when the whole limit is taken as spent; rounded up, since times are whole.
    let time = priced.saturating_sub(price.spent(limit)).div_ceil(u128::from(price.memory.max(1)));
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// A step from a choice to a faster, larger one: what it saves and what it costs, so many times.
#[derive(Debug, Clone, Copy)]
struct HullStep {
    time: u64,
    memory: u64,
    copies: u64,
}

impl HullStep {
    fn between(from: &EfficientChoice, to: &EfficientChoice) -> Self {
        Self { time: from.cost.time - to.cost.time, memory: to.cost.memory - from.cost.memory, copies: 1 }
    }

    /// Time saved per memory, multiplied by both steps' memory: comparable with the other's.
    fn worth_against(&self, other: &Self) -> u128 {
        u128::from(self.time) * u128::from(other.memory)
    }
}

/// Steps along the lower hull of a class's choices from the smallest to the fastest, the best ones first.
fn hull(choices: &[EfficientChoice]) -> impl Iterator<Item = HullStep> {
    let mut corners: Vec<&EfficientChoice> = Vec::new();
    for choice in choices.iter().rev() {
        while let [.., before, last] = corners[..] {
            let (to, from) = (HullStep::between(before, last), HullStep::between(last, choice));
            if to.worth_against(&from) > from.worth_against(&to) {
                break;
            }
            // From (memory 1, time 9), a step to (2, 8) saves 1 per unit and one on to (3, 4) saves 4: the direct step
            // to (3, 4) saves 2.5 per unit, so that the choice between is never the best.
            corners.pop();
        }
        corners.push(choice);
    }
    let steps: Vec<HullStep> = corners.windows(2).map(|pair| HullStep::between(pair[0], pair[1])).collect();
    steps.into_iter()
}

/// The classes in the order of the search, largest operators first [osdp C4], with the bounds on what
/// follows each.
pub(super) fn open(classes: &[OperatorClass], price: MemoryPrice) -> Vec<UndecidedClass> {
    let of = |(class, of): (usize, &OperatorClass)| {
        let choices = of.efficient();
        let mut priced: Vec<u128> = choices.iter().map(|choice| price.total(choice)).collect();
        for choice in (1..priced.len()).rev() {
            priced[choice - 1] = priced[choice - 1].min(priced[choice]);
        }
        let copies = u64::from(of.copies);
        UndecidedClass { class, copies, choices, priced, memory_after: 0, time_after: 0, priced_after: 0 }
    };
    let mut open: Vec<UndecidedClass> = classes.iter().enumerate().map(of).collect();
    let largest = |open: &UndecidedClass| open.choices.first().map_or(0, |choice| choice.cost.memory);
    open.sort_by_key(|open| std::cmp::Reverse(largest(open)));
    let (mut memory, mut time, mut priced) = (0, 0, 0);
    // From the last class to the first, so that each knows the sums of those behind it.
    for class in open.iter_mut().rev() {
        (class.memory_after, class.time_after, class.priced_after) = (memory, time, priced);
        memory += class.copies * class.choices.last().map_or(0, |choice| choice.cost.memory);
        time += class.copies * class.choices.first().map_or(0, |choice| choice.cost.time);
        priced += u128::from(class.copies) * class.priced.first().copied().unwrap_or(0);
    }
    open
}
