//! The best ring through a group whose links are not all alike: the one whose slowest hop is fastest.

use std::sync::OnceLock;

use crate::units::BytesPerSecond;

use super::Cluster;

/// The most devices of a group with a link map.
pub(super) const MOST_DEVICES: u32 = 12;

/// Ring rates of a cluster's link maps, found once and kept.
#[derive(Debug, Clone, Default)]
pub struct Rings(OnceLock<Vec<RingRate>>);

#[derive(Debug, Clone, Copy)]
struct RingRate {
    level: usize,
    stride: u32,
    members: u32,
    rate: BytesPerSecond,
}

/// They follow from the cluster, so that they play no part in comparing two clusters.
impl PartialEq for Rings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Rings {
    /// The rate of the best ring over `members` devices, `stride` apart, at `level`.
    pub(super) fn rate(&self, cluster: &Cluster, level: usize, stride: u32, members: u32) -> BytesPerSecond {
        let known = self.0.get_or_init(|| all(cluster));
        let found = known.iter().find(|ring| (ring.level, ring.stride, ring.members) == (level, stride, members));
        found.map_or(cluster.levels[level].bandwidth, |ring| ring.rate)
    }
}

/// Every regular group inside every level that has a link map.
fn all(cluster: &Cluster) -> Vec<RingRate> {
    let mut rings = Vec::new();
    for (level, facts) in cluster.levels.iter().enumerate() {
        let devices = cluster.devices_in(level).unwrap_or(0).min(MOST_DEVICES);
        if facts.links.is_empty() {
            continue;
        }
        let widest = widest_paths(cluster, level, devices as usize);
        for stride in 1..=devices {
            for members in 2..=devices / stride {
                // Groups of one shape run at once, so the slowest placement sets the pace.
                let placements = (0..devices - stride * (members - 1)).filter(|start| aligned(*start, stride, members));
                let rate =
                    placements.map(|start| best_ring(&widest, start, stride, members)).fold(f64::INFINITY, f64::min);
                rings.push(RingRate { level, stride, members, rate: BytesPerSecond::new(rate) });
            }
        }
    }
    rings
}

/// Whether a group of this shape starts here when groups fill the devices in order.
fn aligned(start: u32, stride: u32, members: u32) -> bool {
    start % (stride * members) < stride
}

/// Between each two devices, the bandwidth of the path whose slowest link is fastest.
fn widest_paths(cluster: &Cluster, level: usize, devices: usize) -> Vec<Vec<f64>> {
    let mut widest = vec![vec![0.0_f64; devices]; devices];
    for inner in &cluster.levels[..=level] {
        for link in &inner.links {
            for (a, b) in [(link.a as usize, link.b as usize), (link.b as usize, link.a as usize)] {
                if a < devices && b < devices {
                    widest[a][b] = widest[a][b].max(link.bandwidth.get());
                }
            }
        }
    }
    // Floyd and Warshall's passes, with the slower of two links in place of their sum: data may be passed on.
    for via in 0..devices {
        for a in 0..devices {
            for b in 0..devices {
                widest[a][b] = widest[a][b].max(widest[a][via].min(widest[via][b]));
            }
        }
    }
    widest
}

/// The rate of the slowest hop of the best closed ring over the group, by dynamic programming over the members
/// visited.
fn best_ring(widest: &[Vec<f64>], start: u32, stride: u32, members: u32) -> f64 {
    let device = |member: usize| (start + stride * member as u32) as usize;
    let hop = |a: usize, b: usize| widest[device(a)][device(b)];
    let members = members as usize;
    // `best[visited][last]`: the fastest slowest hop of a path from member 0 that visits the members of a bit set and
    // ends at `last`; 2^12 sets of 12 members are few enough to list.
    let mut best = vec![vec![0.0_f64; members]; 1 << members];
    best[1][0] = f64::INFINITY;
    for visited in 1_usize..1 << members {
        for last in 0..members {
            let reached = best[visited][last];
            for next in (1..members).filter(|next| visited & (1 << next) == 0) {
                let slot = &mut best[visited | 1 << next][next];
                *slot = slot.max(reached.min(hop(last, next)));
            }
        }
    }
    (1..members).map(|last| best[(1 << members) - 1][last].min(hop(last, 0))).fold(0.0, f64::max)
}
