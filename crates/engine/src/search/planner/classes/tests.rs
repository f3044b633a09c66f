//! Both methods against each other and against trying everything.

use proptest::prelude::*;

use super::*;

fn choice(time: u64, memory: u64) -> OptionCost {
    OptionCost { time, memory }
}

fn deep(classes: &[OperatorClass], limit: u64) -> Option<Assignment> {
    depth_first(classes, limit).expect("few enough nodes")
}

/// Time and memory of the best assignment of all there are, operator by operator.
fn brute_force(classes: &[OperatorClass], limit: u64) -> Option<(u64, u64)> {
    let mut sums = vec![(0, 0)];
    for class in classes {
        for _ in 0..class.copies {
            let with = |(time, memory): &(u64, u64), one: &OptionCost| (time + one.time, memory + one.memory);
            sums = sums.iter().flat_map(|sum| class.choices.iter().map(move |one| with(sum, one))).collect();
        }
    }
    sums.into_iter().filter(|(_, memory)| *memory <= limit).min()
}

#[test]
fn memory_goes_where_it_saves_most() {
    // The first saves 10 for 10 of memory, each of the others 9 for 5; beside the smallest forms, 2 + 1 + 1,
    // ten are left.
    let classes = [
        OperatorClass { copies: 1, choices: vec![choice(0, 12), choice(10, 2)] },
        OperatorClass { copies: 2, choices: vec![choice(0, 6), choice(9, 1)] },
    ];
    for best in [deep(&classes, 14), dynamic(&classes, 14, &Cancel::default())] {
        assert_eq!(best, Some(Assignment { counts: vec![vec![0, 1], vec![2, 0]], time: 10, memory: 14 }));
    }
}

#[test]
fn nothing_fits_where_the_smallest_does_not() {
    let classes = [OperatorClass { copies: 3, choices: vec![choice(1, 5), choice(2, 4)] }];
    assert_eq!((deep(&classes, 11), dynamic(&classes, 11, &Cancel::default())), (None, None));
    assert_eq!(deep(&classes, 12).expect("fits").counts, [[0, 3]]);
}

#[test]
fn no_operator_is_an_assignment_too() {
    let empty = Some(Assignment { counts: vec![], time: 0, memory: 0 });
    assert_eq!((deep(&[], 0), dynamic(&[], 0, &Cancel::default())), (empty.clone(), empty));
}

#[test]
fn a_search_among_equals_is_handed_to_the_programme() {
    // What is saved is what is spent, so any assignment that fills the limit is as good as another, and
    // sizes in multiples of 5 leave 4 of this limit unused.
    let class = |index: u64| {
        let size = 10 * (50 + index);
        OperatorClass { copies: 10, choices: vec![choice(0, size), choice(size / 2, size / 2), choice(size, 0)] }
    };
    let classes: Vec<OperatorClass> = (0..8).map(class).collect();
    assert_eq!(depth_first(&classes, 13_219), Err(super::depth::NodeLimitReached));
    let best = fastest(&classes, 13_219, &Cancel::default()).expect("fits");
    let all: u64 = (0..8).map(|index| 10 * 10 * (50 + index)).sum();
    assert_eq!((best.memory, best.time), (13_215, all - 13_215));
}

prop_compose! {
    fn classes(most: u64, copies: u32)(classes in prop::collection::vec(
        (1..=copies, prop::collection::vec((0..most, 0..most), 1..=4)), 1..=3)) -> Vec<OperatorClass> {
        let class = |(copies, choices): (u32, Vec<(u64, u64)>)| {
            OperatorClass { copies, choices: choices.into_iter().map(|(time, memory)| choice(time, memory)).collect() }
        };
        classes.into_iter().map(class).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn small_ones_agree_with_brute_force(classes in classes(12, 3), limit in 0..80_u64) {
        let expected = brute_force(&classes, limit);
        let costs = |found: Option<Assignment>| found.map(|best| (best.time, best.memory));
        prop_assert_eq!(costs(deep(&classes, limit)), expected);
        prop_assert_eq!(costs(dynamic(&classes, limit, &Cancel::default())), expected);
    }

    #[test]
    fn both_methods_agree(classes in classes(500, 30), share in 0.0..1.0_f64) {
        let most: u64 = classes.iter().map(|class| u64::from(class.copies) * 500).sum();
        let limit = (share * most as f64) as u64;
        let (deep, dynamic) = (deep(&classes, limit), dynamic(&classes, limit, &Cancel::default()));
        let costs = |found: &Option<Assignment>| found.as_ref().map(|best| (best.time, best.memory));
        prop_assert_eq!(costs(&deep), costs(&dynamic));
        prop_assert!(deep.as_ref().is_none_or(|best| relaxed(&classes, limit) <= best.time));
        for best in deep.iter().chain(&dynamic) {
            prop_assert!(best.memory <= limit);
            for (class, counts) in classes.iter().zip(&best.counts) {
                prop_assert_eq!(counts.iter().sum::<u32>(), class.copies);
            }
        }
    }
}
