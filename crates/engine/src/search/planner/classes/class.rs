//! Operators that are alike, the ways to treat them, and an assignment of one to the other.

/// One way to treat an operator: what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionCost {
    /// Time, in any unit that the classes share.
    pub time: u64,
    /// Memory, in the unit of the limit.
    pub memory: u64,
}

/// Operators that are alike, and the ways to treat each of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorClass {
    /// How many there are.
    pub copies: u32,
    /// At least one way.
    pub choices: Vec<OptionCost>,
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

impl Assignment {
    /// With its costs summed up.
    pub(super) fn new(classes: &[OperatorClass], counts: Vec<Vec<u32>>) -> Self {
        let sum = |cost: fn(&OptionCost) -> u64| {
            let of_class = |(class, counts): (&OperatorClass, &Vec<u32>)| {
                class.choices.iter().zip(counts).map(|(choice, count)| u64::from(*count) * cost(choice)).sum::<u64>()
            };
            classes.iter().zip(&counts).map(of_class).sum()
        };
        Self { time: sum(|choice| choice.time), memory: sum(|choice| choice.memory), counts }
    }
}

/// A choice that no other one beats in both time and memory, and its index in the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EfficientChoice {
    pub index: usize,
    pub cost: OptionCost,
}

impl OperatorClass {
    /// The useful choices, fastest first, so that memory falls as time grows.
    pub(super) fn efficient(&self) -> Vec<EfficientChoice> {
        let mut choices: Vec<EfficientChoice> =
            self.choices.iter().enumerate().map(|(index, cost)| EfficientChoice { index, cost: *cost }).collect();
        choices.sort_by_key(|choice| (choice.cost.time, choice.cost.memory));
        // Of (3 s, 9 GiB), (4 s, 9 GiB) and (5 s, 6 GiB) the second is slower for the same memory: the first and the
        // last stay.
        let mut least = u64::MAX;
        choices.retain(|choice| {
            let useful = choice.cost.memory < least;
            least = least.min(choice.cost.memory);
            useful
        });
        choices
    }
}
