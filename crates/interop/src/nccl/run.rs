//! One run of a benchmark: which collective, over which ranks, and what each size took. Not for how it is written down.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a benchmark times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimedCollective {
    /// Every rank's part to all.
    AllGather,
    /// The sum of all, a part to each rank.
    ReduceScatter,
    /// The sum of all to all.
    AllReduce,
    /// Each rank's own part to each other rank.
    AllToAll,
    /// One rank to the next.
    SendReceive,
    /// Whatever else the programs time: of one root, or of a pattern of its own.
    Other,
}

/// The programs of nccl-tests and rccl-tests, and what each times.
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
    /// What the program times whose name stands last in a line.
    pub(crate) fn named_in(line: &str) -> Option<Self> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let names = line.split(|c| !word(c)).filter(|name| name.ends_with("_perf"));
        names
            .filter_map(|name| PROGRAMS.iter().find(|(known, _)| *known == name))
            .next_back()
            .map(|(_, collective)| *collective)
    }

    /// Its name in sentences.
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

    /// Bus bandwidth over algorithm bandwidth for so many ranks: what passes a link over what is gathered or reduced
    /// (nccl-tests, `doc/PERFORMANCE.md`).
    pub(crate) fn bus_factor(self, ranks: u32) -> f64 {
        let others = f64::from(ranks.saturating_sub(1)) / f64::from(ranks.max(1));
        match self {
            Self::AllReduce => 2.0 * others,
            Self::AllGather | Self::ReduceScatter | Self::AllToAll => others,
            Self::SendReceive | Self::Other => 1.0,
        }
    }
}

/// What one size took, out of place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BenchmarkRow {
    /// Its line in the file; 0 where a file has none.
    pub line: usize,
    /// The whole buffer, in bytes.
    pub size: f64,
    /// Microseconds of one collective.
    pub micros: f64,
    /// Size over time, in GB/s.
    pub algorithm: f64,
    /// What passes a link, in GB/s.
    pub bus: f64,
    /// The word of the reduction, where the row has one.
    pub reduces: Option<bool>,
    /// Whether both results were compared, or the one out of place alone.
    pub checked: [bool; 2],
}

/// A rank that the head of a run lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedRank {
    /// Its place among all ranks, from 0.
    pub rank: u32,
    /// The group of ranks that run a collective of their own; 0 where there is one alone.
    pub group: u32,
    /// The host that it runs on.
    pub host: String,
    /// The device's name, where it is given.
    pub device: String,
}

/// One run: a head, if it was kept, and rows.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BenchmarkRun {
    /// The file that it stands in.
    pub file: String,
    /// What it times, where a line says so.
    pub named: Option<TimedCollective>,
    /// The ranks that its head lists.
    pub listed: Vec<ListedRank>,
    /// What each size took.
    pub rows: Vec<BenchmarkRow>,
    /// The first line with wrong results.
    pub wrong: Option<usize>,
    /// Its first line.
    pub line: usize,
}

/// How the ranks of one collective lie on hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct RankSpread {
    /// Ranks of the whole run.
    pub ranks: u32,
    /// Hosts that they lie on.
    pub hosts: u32,
}

impl RankSpread {
    /// Ranks of one host.
    pub(crate) const fn per_host(self) -> u32 {
        self.ranks / self.hosts
    }
}

impl BenchmarkRun {
    /// Where it stands, for people.
    pub fn place(&self) -> String {
        let lines = self.rows.iter().map(|row| row.line).filter(|line| *line > 0);
        match (lines.clone().min(), lines.max()) {
            (Some(first), Some(last)) => format!("{}:{first}-{last}", self.file),
            _ if self.line > 0 => format!("{}:{}", self.file, self.line),
            _ => self.file.clone(),
        }
    }

    /// Bus bandwidth over algorithm bandwidth: least and most that the rounded figures of its rows allow.
    pub fn ratio(&self) -> Option<(f64, f64)> {
        // Both have at least three digits, rounded in the last of two places.
        let exact = self.rows.iter().filter(|row| row.algorithm >= 1.0 && row.bus > 0.0);
        let bounds = exact.map(|row| {
            let half = |rate: f64| if rate >= 1000.0 { 0.5 } else { 0.005 };
            let (bus, algorithm) = (row.bus, row.algorithm);
            ((bus - half(bus)) / (algorithm + half(algorithm)), (bus + half(bus)) / (algorithm - half(algorithm)))
        });
        bounds.reduce(|all, one| (all.0.max(one.0), all.1.min(one.1))).filter(|(least, most)| least <= most)
    }

    /// How many ranks and hosts its head lists, or why that cannot be told.
    pub fn spread(&self) -> Result<Option<RankSpread>, String> {
        let Some(group) = self.listed.first().map(|rank| rank.group) else { return Ok(None) };
        let whole = self.listed.iter().all(|rank| rank.group == group);
        // Groups run side by side and alike: the first stands for all.
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
        // A long list is cut by the program itself; ranks are numbered from 0.
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

    /// What it times: by the program's name, or else as far as its columns and its ratio of bandwidths tell.
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
            // Without a column of the reduction: before 2.11, where all-gathers alone have none and no root.
            None => Some(TimedCollective::AllGather),
            // In place an all-to-all is never compared, an all-gather is.
            Some(false) if checked([true, false]) => Some(TimedCollective::AllToAll),
            Some(false) if checked([true, true]) => Some(TimedCollective::AllGather),
            Some(false) => None,
        }
    }

    /// Ranks that follow from the ratio of bandwidths alone: 1.875 is an all-reduce of 16.
    pub(crate) fn ranks_of_ratio(&self, collective: TimedCollective) -> Option<u32> {
        let (least, most) = self.ratio()?;
        // 1.875 = 2 x 15 / 16; of many ranks the factors lie closer than figures of two places tell.
        let fits = |ranks: &u32| (least..=most).contains(&collective.bus_factor(*ranks));
        let mut fitting = (2..=4096).filter(fits);
        fitting.next().filter(|_| fitting.next().is_none())
    }

    /// Its largest row.
    pub fn largest(&self) -> Option<&BenchmarkRow> {
        self.rows.iter().max_by(|one, other| one.size.total_cmp(&other.size))
    }
}
