//! Which levels a group of ranks crosses, against a count over its ranks.

use std::collections::BTreeSet;

use super::*;
use crate::presets::Library;
use crate::testing;

/// The toy's cluster with nodes of so many devices, in packages of which some hold several.
fn nodes(package: u32, packages: u32) -> Cluster {
    let mut cluster = testing::cluster();
    let inner = Level { name: "package".to_owned(), members: Some(package), ..cluster.levels[0].clone() };
    cluster.levels[0].members = Some(packages);
    cluster.levels.insert(0, inner);
    cluster
}

fn network(cluster: &Cluster) -> Network<'_> {
    Network::new(cluster, [1.0; MAX_LEVELS], [1.0; MAX_LEVELS])
}

fn divisors(number: u32) -> impl Iterator<Item = u32> {
    (1..=number).filter(move |count| number.is_multiple_of(*count))
}

/// Ranks of every group of a shape, as they are numbered.
fn groups(group: Group) -> impl Iterator<Item = Vec<u32>> {
    let Group { stride, size, beside, among } = group;
    let rows = (0..among).step_by((stride * (size - 1) + beside) as usize);
    rows.flat_map(move |row| (0..beside).map(move |first| (0..size).map(|rank| row + first + rank * stride).collect()))
}

/// Every shape of groups that fill a job, and the two ends of those, for jobs inside one node and on several.
fn shapes(node: u32) -> impl Iterator<Item = Group> {
    let jobs = (1..=node).chain([2, 3, 4, 5, 6, 7, 8, 12].map(|nodes| nodes * node));
    jobs.flat_map(|among| {
        let rows = divisors(among).flat_map(|row| divisors(row).map(move |stride| (stride, row / stride)));
        rows.flat_map(move |(stride, size)| {
            let whole = Group { among, ..Group::new(stride, size) };
            let ends = Group { among, beside: stride, ..Group::new(stride * (size - 1), 2) };
            std::iter::once(whole).chain((size > 1).then_some(ends))
        })
    })
}

/// A ring crosses a level where the ranks of a group lie in several groups of the level below; of groups that lie otherwise,
/// the one in most counts.
#[test]
fn a_ring_crosses_the_levels_that_its_ranks_lie_in() {
    let mut checked = 0;
    for (package, packages) in [(1, 2), (1, 3), (2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (5, 2), (4, 3), (4, 4), (8, 2)]
    {
        let cluster = nodes(package, packages);
        let network = network(&cluster);
        for group in shapes(package * packages) {
            let places = |devices: u32| {
                let distinct = |ranks: Vec<u32>| ranks.iter().map(|rank| rank / devices).collect::<BTreeSet<_>>().len();
                groups(group).map(distinct).max().unwrap_or(1) as u32
            };
            let lies_in = [places(package), places(package * packages), 1];
            let spans = network.ring(group);
            let mut below = group.size;
            for (level, here) in lies_in.into_iter().enumerate() {
                let what = format!("{group:?} at level {level} of {package} x {packages}");
                assert_eq!(spans[level].hops, below - here, "{what}");
                assert_eq!(spans[level].edges > 0, below > here, "{what}");
                assert_eq!(spans[level].members, group.size.div_ceil(here), "{what}");
                below = here;
            }
            checked += 1;
        }
    }
    // A change of the loops above must not leave the property without cases.
    assert!(checked > 5000, "{checked}");
}

/// Neighbours and ends of every row of groups, against the outermost level that any of them needs.
#[test]
fn the_level_that_joins_two_ranks_holds_both_in_every_group() {
    for (package, packages) in [(1, 4), (2, 3), (3, 2), (4, 2)] {
        let cluster = nodes(package, packages);
        let network = network(&cluster);
        // Pipelines are one row: their ranks are as far apart as all else that runs is wide.
        for group in
            shapes(package * packages).filter(|group| group.size > 1 && group.among == group.stride * group.size)
        {
            for (one, other) in (1..group.size).map(|rank| (rank - 1, rank)).chain([(group.size - 1, 0)]) {
                let inside = |devices: u32| {
                    groups(group).all(|ranks| ranks[one as usize] / devices == ranks[other as usize] / devices)
                };
                let expected = [package, package * packages].into_iter().position(inside).unwrap_or(2);
                assert_eq!(network.joining(group, one, other), expected, "{group:?} {one} {other}");
            }
        }
    }
}

/// By hand. The ends of a pipeline of 4 stages on a node of 8: ranks 0 and 6, 1 and 7. On two nodes of 8: 0 and 12. Of groups of 3
/// that fill three nodes of 8, the third is ranks 6, 7 and 8. Every fifth of 40 ranks: from 4 on 4, 9, 14, ... 39, in all five
/// nodes, two of them at most in each.
#[test]
fn groups_that_do_not_fill_nodes() {
    let cluster = Library::embedded().cluster("h100-80gb-dgx").expect("a preset");
    let network = network(&cluster);
    let crosses = |group: Group| network.ring(group)[1].edges > 0;
    let ends = |stride: u32| Group { beside: stride, among: 4 * stride, ..Group::new(3 * stride, 2) };
    assert_eq!([ends(2), ends(4)].map(crosses), [false, true]);
    let threes = |among: u32| Group { among, ..Group::new(1, 3) };
    assert_eq!([threes(6), threes(24)].map(crosses), [false, true]);
    let fifths = network.ring(Group::new(5, 8));
    assert_eq!((fifths[0].hops, fifths[0].members, fifths[1].hops), (3, 2, 4));
}

/// Which trays a job has is up to a scheduler: of 128 devices 64 lie in each of two racks of 72, and a group of 64 in one.
#[test]
fn groups_lie_in_racks_where_they_have_room() {
    let cluster = Library::embedded().cluster("gb200-nvl72").expect("a preset");
    let network = network(&cluster);
    let ring = |size: u32| network.ring(Group { among: 128, ..Group::new(1, size) });
    assert_eq!([64, 128].map(|size| ring(size)[2].edges), [0, 2]);
    assert_eq!(ring(128)[1].members, 64);
}
