//! Rings through a group whose links are not all alike: as many at once as the links hold.
//!
//! Collectives divide their data among rings that share no link, since a ring alone leaves links idle: RCCL's table of
//! machines (`src/graph/rome_models.cc`) runs four over the eight GCDs of Frontier's node.

use std::sync::OnceLock;

use crate::units::BytesPerSecond;

use super::Cluster;

/// The most devices of a group with a link map.
pub(super) const MOST_DEVICES: u32 = 12;

/// Ring rates of a cluster's link maps, found once and kept.
#[derive(Debug, Clone, Default)]
pub struct Rings(OnceLock<Vec<[[Option<BytesPerSecond>; WIDTH]; WIDTH]>>);

/// Strides and counts of members, from 0.
const WIDTH: usize = MOST_DEVICES as usize + 1;

/// They follow from the cluster, so that they play no part in comparing two clusters.
impl PartialEq for Rings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Rings {
    /// The rate of all rings at once over `members` devices, `stride` apart, at `level`.
    pub(super) fn rate(&self, cluster: &Cluster, level: usize, stride: u32, members: u32) -> BytesPerSecond {
        let known = self.0.get_or_init(|| all(cluster));
        let found = known[level].get(stride as usize).and_then(|rates| rates.get(members as usize).copied().flatten());
        found.unwrap_or(cluster.levels[level].bandwidth)
    }
}

/// Every regular group inside every level that has a link map: by level, stride and members.
fn all(cluster: &Cluster) -> Vec<[[Option<BytesPerSecond>; WIDTH]; WIDTH]> {
    let mut rings = vec![[[None; WIDTH]; WIDTH]; cluster.levels.len()];
    for (level, facts) in cluster.levels.iter().enumerate() {
        let devices = cluster.devices_in(level).unwrap_or(0).min(MOST_DEVICES);
        if facts.links.is_empty() {
            continue;
        }
        let links = links(cluster, level, devices as usize);
        for stride in 1..=devices {
            for members in 2..=(devices - 1) / stride + 1 {
                // Groups of one shape run at once, so the slowest placement sets the pace.
                let placements = (0..devices - stride * (members - 1)).filter(|start| aligned(*start, stride, members));
                let rate =
                    placements.map(|start| rings_rate(&links, start, stride, members)).fold(f64::INFINITY, f64::min);
                rings[level][stride as usize][members as usize] = Some(BytesPerSecond::new(rate));
            }
        }
    }
    rings
}

/// Whether a group of this shape starts here when groups fill the devices in order.
fn aligned(start: u32, stride: u32, members: u32) -> bool {
    start % (stride * members) < stride
}

/// Bandwidth of the link from each device to each other.
type Links = Vec<Vec<f64>>;

/// The links of a level and of those inside it.
fn links(cluster: &Cluster, level: usize, devices: usize) -> Links {
    let mut links = vec![vec![0.0_f64; devices]; devices];
    for link in cluster.levels[..=level].iter().flat_map(|inner| &inner.links) {
        for (a, b) in [(link.a as usize, link.b as usize), (link.b as usize, link.a as usize)] {
            if a < devices && b < devices {
                links[a][b] = links[a][b].max(link.bandwidth.get());
            }
        }
    }
    links
}

/// Between each two devices, the bandwidth of the path whose slowest link is fastest: Floyd and Warshall's passes, with
/// the slower of two links in place of their sum, since data may be passed on.
fn widest_paths(links: &Links) -> Links {
    let mut widest = links.clone();
    let devices = links.len();
    for via in 0..devices {
        for a in 0..devices {
            for b in 0..devices {
                widest[a][b] = widest[a][b].max(widest[a][via].min(widest[via][b]));
            }
        }
    }
    widest
}

/// The sum of the rates of rings over a group that share no link.
///
/// The fastest ring is taken first, of equals the one on the widest links, and what it uses is taken off its links. A
/// group that its own links do not join has one ring, over the paths through other devices.
fn rings_rate(links: &Links, start: u32, stride: u32, members: u32) -> f64 {
    let devices: Vec<usize> = (0..members).map(|member| (start + stride * member) as usize).collect();
    let among = |links: &Links| devices.iter().map(|a| devices.iter().map(|b| links[*a][*b]).collect()).collect();
    let mut left: Links = among(links);
    let mut sum = 0.0;
    while let rate = fastest(&left)
        && rate > 0.0
    {
        sum += rate;
        for (from, to) in widest_ring(&left, rate) {
            left[from][to] -= rate;
        }
    }
    if sum > 0.0 { sum } else { fastest(&among(&widest_paths(links))) }
}

/// The rate of the slowest hop of the fastest ring over all of these devices.
fn fastest(links: &Links) -> f64 {
    let (rate, _) = best_ring(links, f64::INFINITY, f64::min);
    rate
}

/// The hops of the ring on the widest links, none of them slower than `rate`: the one with the least sum of times per byte.
fn widest_ring(links: &Links, rate: f64) -> Vec<(usize, usize)> {
    let negative_time = |reached: f64, hop: f64| if hop < rate { f64::NEG_INFINITY } else { reached - hop.recip() };
    let (_, ring) = best_ring(links, 0.0, negative_time);
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1)).collect()
}

/// The closed ring over all of these devices whose value is largest, and its devices in order, by dynamic programming
/// over the devices visited: a path begins with a value, and `extend` says what a hop over a link makes of it.
fn best_ring(links: &Links, begin: f64, extend: impl Fn(f64, f64) -> f64) -> (f64, Vec<usize>) {
    let members = links.len();
    // `best[visited][last]`: the best path from device 0 that visits the devices of a bit set and ends at `last`, and the
    // device before; 2^12 sets of 12 devices are few enough to list.
    let mut best = vec![vec![(f64::NEG_INFINITY, 0); members]; 1 << members];
    best[1][0] = (begin, 0);
    for visited in 1_usize..1 << members {
        for last in 0..members {
            let (reached, _) = best[visited][last];
            for next in (1..members).filter(|next| visited & (1 << next) == 0) {
                let value = extend(reached, links[last][next]);
                let slot = &mut best[visited | 1 << next][next];
                if value > slot.0 {
                    *slot = (value, last);
                }
            }
        }
    }
    let mut visited = (1 << members) - 1;
    let closed = |last: usize| extend(best[visited][last].0, links[last][0]);
    let mut last = (1..members).fold(1, |one, other| if closed(other) > closed(one) { other } else { one });
    let value = closed(last);
    let mut ring = vec![0; members];
    for place in (1..members).rev() {
        ring[place] = last;
        (visited, last) = (visited & !(1 << last), best[visited][last].1);
    }
    (value, ring)
}
