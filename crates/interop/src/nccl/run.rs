//! One run of a benchmark: its collective, its ranks, and the time of each size. Knows no log format.

use std::collections::BTreeMap;

use serde::Serialize;

/// The collective that a benchmark times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimedCollective {
    /// Every rank gets all parts.
    AllGather,
    /// Each rank gets a part of the sum.
    ReduceScatter,
    /// Every rank gets the whole sum.
    AllReduce,
    /// Each rank sends a different part to each other rank.
    AllToAll,
    /// Each rank sends to the next.
    SendReceive,
    /// Any other: collectives with a root, or other patterns.
    Other,
}

/// The programs of nccl-tests and rccl-tests, with their collective.
const PROGRAMS: [(&str, TimedCollective); 12] = [
    ("all_reduce_perf", TimedCollective::AllReduce),
    ("all_gather_perf", TimedCollective::AllGather),
    ("reduce_scatter_perf", TimedCollective::ReduceScatter),
    ("alltoall_perf", TimedCollective::AllToAll),
    ("alltoallv_perf", TimedCollective::Other),
    ("sendrecv_perf", TimedCollective::SendReceive),
    ("broadcast_perf", TimedCollective::Other),
    ("reduce_perf", TimedCollective::Other),
    ("gather_perf", TimedCollective::Other),
    ("scatter_perf", TimedCollective::Other),
    ("hypercube_perf", TimedCollective::Other),
    ("all_reduce_bias_perf", TimedCollective::Other),
];

impl TimedCollective {
    /// The collective of the last program named in a line.
    pub(crate) fn named_in(line: &str) -> Option<Self> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = line.split(|c| !word(c)).filter(|name| name.ends_with("_perf"));
        names
            .filter_map(|name| PROGRAMS.iter().find(|(known, _)| *known == name))
            .next_back()
            .map(|(_, collective)| *collective)
    }

    /// The name in sentences.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::AllReduce => "all-reduce",
            Self::AllToAll => "all-to-all",
            Self::SendReceive => "send-recv",
            Self::Other => "another collective",
        }
    }

    /// Bus bandwidth over algorithm bandwidth: bytes that cross a link over bytes gathered or reduced (nccl-tests,
    /// `doc/PERFORMANCE.md`).
    pub(crate) fn bus_factor(self, ranks: u32) -> f64 {
        let others = f64::from(ranks.saturating_sub(1)) / f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * others,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => others,
            Self::SendReceive | Self::Other => 1.0,
        }
    }
}

/// Time of one size, out of place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BenchmarkRow {
    /// Line in the file; 0 if the format has no lines.
    pub line: usize,
    /// Size of the whole buffer, in bytes.
    pub size: f64,
    /// Microseconds of one collective.
    pub micros: f64,
    /// Size over time, in GB/s.
    pub algorithm: f64,
    /// Bus bandwidth, in GB/s.
    pub bus: f64,
    /// True if the row names a reduction; `None` if it has no such column.
    pub reduces: Option<bool>,
    /// Whether results were checked, out of place and in place.
    pub checked: [bool; 2],
}

/// A rank that the head of a run lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedRank {
    /// Rank number, from 0.
    pub rank: u32,
    /// Group of ranks that runs its own collective; 0 if there is one group.
    pub group: u32,
    /// The rank's host.
    pub host: String,
    /// The device's name, if given.
    pub device: String,
}

/// One run: a head, if it was kept, and rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BenchmarkRun {
    /// The log file.
    pub file: String,
    /// The collective, if a line names it.
    pub named: Option<TimedCollective>,
    /// Ranks listed in the head.
    pub listed: Vec<ListedRank>,
    /// Times of all sizes.
    pub rows: Vec<BenchmarkRow>,
    /// The first line with wrong results.
    pub wrong: Option<usize>,
    /// First line of the run.
    pub line: usize,
}

/// The spread of one collective's ranks over hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct RankSpread {
    /// Ranks of the whole run.
    pub ranks: u32,
    /// Number of hosts.
    pub hosts: u32,
}

impl RankSpread {
    /// Ranks per host.
    pub(crate) const fn per_host(self) -> u32 {
        self.ranks / self.hosts
    }
}

impl BenchmarkRun {
    /// File and lines, for people.
    pub fn place(&self) -> String {
        let lines = self.rows.iter().map(|row| row.line).filter(|line| *line > 0);
        match (lines.clone().min(), lines.max()) {
            (Some(first), Some(last)) => format!("{}:{first}-{last}", self.file),
            _ if self.line > 0 => format!("{}:{}", self.file, self.line),
            _ => self.file.clone(),
        }
    }

    /// Bus bandwidth over algorithm bandwidth: the bounds that the rows' rounded figures allow.
    pub fn ratio(&self) -> Option<(f64, f64)> {
        // Rates of at least 1.00 have three digits, rounded at the second decimal.
        let exact = self.rows.iter().filter(|row| row.algorithm >= 1.0 && row.bus > 0.0);
        let bounds = exact.map(|row| {
            let half = |rate: f64| if rate >= 1000.0 { 0.5 } else { 0.005 };
            let (bus, algorithm) = (row.bus, row.algorithm);
            ((bus - half(bus)) / (algorithm + half(algorithm)), (bus + half(bus)) / (algorithm - half(algorithm)))
        });
        bounds.reduce(|all, one| (all.0.max(one.0), all.1.min(one.1))).filter(|(least, most)| least <= most)
    }

    /// Ranks and hosts that the head lists, or why they cannot be told.
    pub fn spread(&self) -> Result<Option<RankSpread>, String> {
        let Some(group) = self.listed.first().map(|rank| rank.group) else { return Ok(None) };
        let whole = self.listed.iter().all(|rank| rank.group == group);
        // Groups run side by side and are alike: the first stands for all.
        let here: Vec<&ListedRank> = self.listed.iter().filter(|rank| rank.group == group).collect();
        let mut hosts: Vec<(&str, u32, u32, u32)> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for rank in &here {
            let place = *places.entry(&rank.host).or_insert(hosts.len());
            match hosts.get_mut(place) {
                Some((_, count, first, last)) => {
                    (*count, *first, *last) = (*count + 1, rank.rank.min(*first), rank.rank.max(*last));
                }
                None => hosts.push((&rank.host, 1, rank.rank, rank.rank)),
            }
        }
        let listed = here.len() as u32;
        // The program itself cuts a long list; ranks count from 0.
        let most = here.iter().map(|rank| rank.rank).max().unwrap_or(0).saturating_add(1);
        let ranks = if whole { most.max(listed) } else { listed };
        let each = if ranks == listed {
            let each = hosts[0].1;
            if hosts.iter().any(|(_, count, ..)| *count != each) {
                let counts: Vec<String> = hosts.iter().map(|(host, count, ..)| format!("{count} on {host}")).collect();
                return Err(format!("its hosts have different numbers of ranks ({})", counts.join(", ")));
            }
            each
        } else {
            hosts.iter().map(|(_, _, first, last)| (last - first).saturating_add(1)).max().unwrap_or(1)
        };
        if !ranks.is_multiple_of(each) {
            return Err(format!("its {ranks} ranks do not lie evenly on hosts of {each}"));
        }
        Ok(Some(RankSpread { ranks, hosts: ranks / each }))
    }

    /// The collective: by the program's name, else as far as columns and the ratio of bandwidths tell.
    pub fn collective(&self, said: Option<TimedCollective>) -> Option<TimedCollective> {
        if self.named.is_some() {
            return self.named;
        }
        let (least, most) = self.ratio()?;
        if least > 1.01 {
            return Some(TimedCollective::AllReduce);
        }
        if said.is_some() {
            return said;
        }
        if most > 0.995 && least > 0.985 && self.listed.len() < 64 {
            return Some(TimedCollective::Other);
        }
        let checked = |wanted: [bool; 2]| self.rows.iter().any(|row| row.checked == wanted);
        match self.rows.first()?.reduces {
            Some(true) => Some(TimedCollective::ReduceScatter),
            // No column for the reduction: before 2.11, where only all-gathers lack it and a root.
            None => Some(TimedCollective::AllGather),
            // Only an all-gather is checked in place, an all-to-all never.
            Some(false) if checked([true, false]) => Some(TimedCollective::AllToAll),
            Some(false) if checked([true, true]) => Some(TimedCollective::AllGather),
            Some(false) => None,
        }
    }

    /// Ranks from the ratio of bandwidths alone: 1.875 is an all-reduce of 16.
    pub(crate) fn ranks_of_ratio(&self, collective: TimedCollective) -> Option<u32> {
        let (least, most) = self.ratio()?;
        // 1.875 = 2 x 15 / 16; with many ranks the factors are closer than figures of two decimals can tell.
        let fits = |ranks: &u32| (least..=most).contains(&collective.bus_factor(*ranks));
        let mut fitting = (2..=4096).filter(fits);
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// The row of the largest size.
    pub fn largest(&self) -> Option<&BenchmarkRow> {
        self.rows.iter().max_by(|one, other| one.size.total_cmp(&other.size))
    }
}
