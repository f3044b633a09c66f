//! Logs of nccl-tests and rccl-tests: fits the bandwidth and latency of a cluster's levels.
//!
//! Takes the text of logs. Opens no files, and changes nothing of a cluster but its links.

mod fit;
mod json;
mod run;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use shardscope_engine::hardware::{Cluster, MeasuredLevel};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::text::{name, printable};
use shardscope_engine::units::{Bytes, Seconds, percent, whole_percent};

use super::report::{ImportReport, Imported};
use shardscope_engine::problem::Problem;

use fit::{CollectiveLaw, FittedLevel};
use run::{BenchmarkRow, BenchmarkRun, RankSpread};

pub use run::TimedCollective;

/// A cluster with measured links.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredLinks {
    /// The cluster, as in a preset.
    pub cluster: Cluster,
    /// Every run in the logs.
    pub runs: Vec<RunFacts>,
}

/// Summary of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// The file and its lines.
    pub place: String,
    /// The collective that the run times, if known.
    pub collective: Option<TimedCollective>,
    /// The run's ranks, and their hosts.
    #[serde(flatten)]
    pub spread: Option<RankSpread>,
    /// Number of message sizes.
    pub rows: usize,
    /// The largest message size, in bytes.
    pub largest_bytes: Option<f64>,
    /// Time of the largest size, in microseconds.
    pub largest_us: Option<f64>,
    /// Bus bandwidth of the largest size, in GB/s.
    pub largest_busbw: Option<f64>,
    /// True if a level was fitted to this run.
    pub used: bool,
}

/// Options for reading logs.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkOptions<'a> {
    /// The collective of logs that do not name it; of several kinds of runs, only this one counts.
    pub collective: Option<TimedCollective>,
    /// The cluster's name.
    pub name: Option<&'a str>,
}

impl MeasuredLinks {
    /// The file of a preset, without the id: the file's name gives it.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        let mut table = toml::Table::try_from(&self.cluster)?;
        table.remove("id");
        toml::to_string(&table)
    }
}

/// A run that a level may be fitted to.
struct FittableRun {
    run: BenchmarkRun,
    collective: TimedCollective,
    spread: RankSpread,
}

/// Runs that are fitted together, by level; those of a level have equally many ranks and hosts.
type Pools = BTreeMap<usize, Vec<FittableRun>>;

/// The most runs in a file.
const MOST_RUNS: usize = 1_000;

/// Fits the links of `base`'s cluster to `logs`, each a name and a text. `base` also gives the stack and calibration
/// with which the model is to reproduce the times.
pub fn links(
    logs: &[(String, String)],
    base: &Scenario,
    options: LinkOptions<'_>,
) -> Result<Imported<MeasuredLinks>, Vec<Problem>> {
    let mut report = ImportReport::default();
    // All files are read before anything is refused, so that one call names every mistake.
    let (mut candidates, mut facts, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (file, text) in logs {
        let file = printable(file);
        let runs = json::runs(&file, text).unwrap_or_else(|| text::runs(&file, text));
        if runs.is_empty() {
            let what = "holds no row of nccl-tests or rccl-tests";
            errors.push(Problem::new(&file, what, "give what all_gather_perf or reduce_scatter_perf prints"));
        }
        if runs.len() > MOST_RUNS {
            let what = format!("holds more than {MOST_RUNS} runs");
            errors.push(Problem::new(&file, what, "give those of one machine and level"));
            continue;
        }
        for run in runs {
            match take_run(run, base, options, &mut report, &mut facts) {
                Ok(candidate) => candidates.extend(candidate),
                Err(error) => errors.push(error),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if candidates.is_empty() {
        return Err(vec![nothing(&facts, options)]);
    }
    let pools = pooled(candidates, base, &mut report)?;
    // From the inside out: the fit of an outer level builds on the inner ones.
    let mut scenario = base.clone();
    for (level, runs) in &pools {
        scenario = fitted(&scenario, *level, runs, &mut report)?;
        let used: BTreeSet<String> = runs.iter().map(|one| one.run.place()).collect();
        for fact in &mut facts {
            fact.used |= used.contains(&fact.place);
        }
    }
    note_runs(&facts, &mut report);
    let mut cluster = (*scenario.cluster).clone();
    let names: Vec<&str> = logs.iter().map(|(file, _)| file.as_str()).collect();
    cluster.source = printable(&format!(
        "imported from {} (nccl-tests), over {}: {}",
        names.join(", "),
        base.cluster.id,
        cluster.source
    ));
    cluster.name =
        name(&options.name.map_or_else(|| format!("{}, links as measured", cluster.name), ToOwned::to_owned));
    report.take("name", &cluster.name, if options.name.is_some() { "--name" } else { "the cluster's own" });
    report.take("device", &cluster.device.name, format!("--cluster {}", base.cluster.id));
    if let Some(other) = pools.values().flatten().find_map(|one| other_device(&one.run, &cluster.device.name)) {
        let why = format!("the log's ranks run on '{other}'; name the cluster that ran it with --cluster");
        report.assume("device", &cluster.device.name, why);
    }
    report.ignore("in-place times", "out-of-place times are fitted, as programs gather and reduce");
    report.ignore("Avg bus bandwidth", "it is the mean over all sizes, small ones too");
    Ok(Imported { made: MeasuredLinks { cluster, runs: facts }, report })
}

/// The device that a log names, if the cluster's is another product: `A100` of `A100-SXM4-40GB` is in no H100's name.
fn other_device<'a>(run: &'a BenchmarkRun, name: &str) -> Option<&'a str> {
    let device = run.listed.iter().map(|rank| rank.device.as_str()).find(|device| !device.is_empty())?;
    let is_model = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.contains(|c: char| c.is_ascii_digit())
    };
    let model = device.split(|c: char| !c.is_ascii_alphanumeric()).find(is_model)?;
    (!name.to_lowercase().contains(&model.to_lowercase())).then_some(device)
}

/// Checks a run; `None` if it is left out of the fit.
fn take_run(
    run: BenchmarkRun,
    base: &Scenario,
    options: LinkOptions<'_>,
    report: &mut ImportReport,
    facts: &mut Vec<RunFacts>,
) -> Result<Option<FittableRun>, Problem> {
    let wrong = |what: String, fix: &str| Err(Problem::new(run.place(), what, fix));
    if let Some(line) = run.wrong {
        return wrong(format!("line {line} counts wrong results"), "repair the machine before its links are measured");
    }
    let collective = run.collective(options.collective);
    // A log may lack its head, which lists the ranks. The two bandwidths of each row still tell their number: bus over
    // algorithm bandwidth is (n - 1) / n.
    let spread = match run.spread() {
        Ok(Some(spread)) => Some(spread),
        Ok(None) => collective.and_then(|collective| supposed(&run, collective, base, report)),
        Err(what) => return wrong(what, "give runs with as many ranks on each host"),
    };
    let largest = run.largest();
    facts.push(RunFacts {
        place: run.place(),
        collective,
        spread,
        rows: run.rows.len(),
        largest_bytes: largest.map(|row| row.size),
        largest_us: largest.map(|row| row.micros),
        largest_busbw: largest.map(|row| row.bus),
        used: false,
    });
    if run.rows.is_empty() {
        report.ignore(&run.place(), "its head alone is there, and no row");
        return Ok(None);
    }
    if spread.is_some_and(|spread| spread.ranks < 2) {
        let what = "one rank alone sends nothing".to_owned();
        return wrong(what, "build nccl-tests with MPI=1, or start it with -g for all devices of a node");
    }
    // Ring all-gathers and reduce-scatters run at the speed of the link. Switches may sum all-reduces, which then
    // overstate it, so that these count only on request.
    let fits = |collective| match options.collective {
        Some(only) => collective == only,
        None => matches!(collective, TimedCollective::AllGather | TimedCollective::ReduceScatter),
    };
    match (collective, spread) {
        (None, _) => {
            wrong("does not say which collective it times".to_owned(), "say so with --collective, like all-gather")
        }
        (Some(collective), _) if !fits(collective) => {
            report.ignore(&run.place(), left_out(collective));
            Ok(None)
        }
        (Some(_), None) => {
            let what = "lists no ranks, and its figures do not tell how many there were".to_owned();
            wrong(what, "keep the lines that begin with '# Rank'")
        }
        (Some(collective), Some(spread)) => Ok(Some(FittableRun { run, collective, spread })),
    }
}

fn left_out(collective: TimedCollective) -> String {
    let why = match collective {
        TimedCollective::AllReduce => {
            "switches that add up pass more than links carry; --collective all-reduce takes it"
        }
        TimedCollective::SendReceive => "it is one hop between two ranks, not what a level carries",
        TimedCollective::AllToAll => "all pairs at once are not a ring",
        _ => "only all-gathers and reduce-scatters are fitted",
    };
    format!("{}: {why}", collective.word())
}

/// Ranks and hosts of a run without its head: ranks from the ratio of its bandwidths, on as few nodes as hold them.
fn supposed(
    run: &BenchmarkRun,
    collective: TimedCollective,
    base: &Scenario,
    report: &mut ImportReport,
) -> Option<RankSpread> {
    let ranks = run.ranks_of_ratio(collective)?;
    let node = base.cluster.devices_per_node().max(1);
    let hosts = ranks.div_ceil(node);
    let spread = RankSpread { ranks, hosts };
    ranks.is_multiple_of(hosts).then(|| {
        let ratio = collective.bus_factor(ranks);
        report.take("ranks", ranks, format!("{}, busbw is {ratio:.4} of algbw", run.place()));
        let why = format!("{} lists no ranks; {ranks} are on as few nodes of {node} as hold them", run.place());
        report.assume("hosts", hosts, why);
        spread
    })
}

fn nothing(facts: &[RunFacts], options: LinkOptions<'_>) -> Problem {
    let words = |fact: &RunFacts| fact.collective.map_or("a collective that is not named", TimedCollective::word);
    let mut found: Vec<&str> = facts.iter().map(words).collect();
    found.dedup();
    let wanted = options.collective.map_or("all-gather or reduce-scatter", TimedCollective::word);
    let what = format!("no run of {wanted} with rows among {} ({})", facts.len(), found.join(", "));
    let reduces = facts.iter().any(|fact| fact.collective == Some(TimedCollective::AllReduce));
    let fix = if reduces && options.collective.is_none() {
        "give one, or take the all-reduces with --collective all-reduce"
    } else {
        "give what all_gather_perf or reduce_scatter_perf prints, with -b 8 -e 8G -f 2"
    };
    Problem::new("", what, fix)
}

/// Groups runs by the level that they measure, and keeps those with the most ranks and the same ranks per host.
fn pooled(candidates: Vec<FittableRun>, base: &Scenario, report: &mut ImportReport) -> Result<Pools, Vec<Problem>> {
    let mut pools = Pools::new();
    for one in candidates {
        let Some(law) = CollectiveLaw::new(base, one.spread, one.collective) else {
            let node = base.cluster.devices_per_node();
            let what = format!("{} ranks on each host do not fit the {node} devices of a node", one.spread.per_host());
            return Err(vec![Problem::new(one.run.place(), what, "name the cluster that ran it with --cluster")]);
        };
        // A run measures the outermost level that its ranks span: 8 ranks on one host measure the node, one rank on
        // each of 8 hosts the network.
        pools.entry(law.level()).or_default().push(one);
    }
    for runs in pools.values_mut() {
        // Few ranks do not fill a level.
        let most = runs.iter().map(|one| (one.spread.ranks, one.spread.per_host())).max();
        runs.retain(|one| {
            let kept = Some((one.spread.ranks, one.spread.per_host())) == most;
            if !kept {
                report
                    .ignore(&one.run.place(), format!("{} ranks: a run of the same level has more", one.spread.ranks));
            }
            kept
        });
    }
    Ok(pools)
}

/// The scenario with one more measured level.
fn fitted(
    scenario: &Scenario,
    level: usize,
    runs: &[FittableRun],
    report: &mut ImportReport,
) -> Result<Scenario, Vec<Problem>> {
    let (Some(first), Some(stated)) = (runs.first(), scenario.cluster.levels.get(level)) else {
        return Ok(scenario.clone());
    };
    let places: Vec<String> = runs.iter().map(|one| one.run.place()).collect();
    let law = CollectiveLaw::new(scenario, first.spread, first.collective);
    let rows: Vec<BenchmarkRow> = runs.iter().flat_map(|one| one.run.rows.iter().copied()).collect();
    let lacks = |what: &str| vec![Problem::new(places.join(", "), what, "run it with -b 8 -e 8G -f 2")];
    let Some(law) = law else { return Ok(scenario.clone()) };
    let mut fitted = law.fit(&rows).map_err(lacks)?;
    let mut kinds: Vec<&str> = runs.iter().map(|one| one.collective.word()).collect();
    kinds.dedup();
    let RankSpread { ranks, hosts } = first.spread;
    let plural = if hosts == 1 { "" } else { "s" };
    let of = format!("{} of {ranks} ranks on {hosts} host{plural}", kinds.join(" and "));
    fitted.measured.source = explained(&fitted, &places, &of);
    note(&fitted, &stated.name, &format!("{}, {of}", places.join(", ")), report);
    if first.spread.per_host() > 1 && hosts > 1 {
        shared(first.spread, &rows, &stated.name, report);
    } else if hosts > 1 && scenario.cluster.devices_per_node() > 1 {
        let why = "one rank of each host ran; the others would share what ports they share";
        report.assume(&format!("{}.measured", stated.name), "the same for all devices of a node at once", why);
    }
    Ok(law.with(fitted.measured))
}

/// The source of each figure, for the level's file.
fn explained(fitted: &FittedLevel, places: &[String], of: &str) -> String {
    let FittedLevel { rate_sizes, latency_sizes, half_rate, residual, launch, hops, .. } = fitted;
    let sizes = |(least, most): (f64, f64)| format!("{} to {}", Bytes::new(least), Bytes::new(most));
    let latency = if fitted.latency_seen {
        format!("latency: sizes {}, less {launch} to start, over {hops:.0} hops", sizes(*latency_sizes))
    } else {
        "latency: the cluster's own, since no size is at most 64 KiB".to_owned()
    };
    let half =
        half_rate.map_or_else(String::new, |half| format!("; half of the most is reached at {}", Bytes::new(half)));
    format!(
        "{}, {of}: bandwidth from sizes {}{half}; {latency}; ramp from sizes between; times come out again {} off on \
         the mean, {} at most, at {}",
        places.join(", "),
        sizes(*rate_sizes),
        percent(residual.0),
        whole_percent(residual.1),
        Bytes::new(fitted.worst),
    )
}

fn note(fitted: &FittedLevel, level: &str, place: &str, report: &mut ImportReport) {
    let field = |name: &str| format!("{level}.measured.{name}");
    let MeasuredLevel { bandwidth, latency, ramp, source: _ } = &fitted.measured;
    let (least, most) = fitted.rate_sizes;
    let sizes = format!("{place}, sizes {} to {}", Bytes::new(least), Bytes::new(most));
    report.take(&field("bandwidth"), bandwidth, sizes);
    if fitted.latency_seen {
        report.take(&field("latency"), latency, format!("{place}, sizes up to 64 KiB"));
        let why = format!(
            "{} for starting, which the calibration has, is taken off; the rest are {:.0} hops",
            fitted.launch, fitted.hops
        );
        report.assume(&field("latency"), latency, why);
    } else {
        report.assume(&field("latency"), latency, "no size is at most 64 KiB; the cluster's own, as eval uses it");
    }
    if let Some(ramp) = ramp {
        let text = format!("{}, half of it at {}", ramp.time, ramp.half);
        report.take(&field("ramp"), text, format!("{place}, sizes between 64 KiB and 256 MiB"));
    }
    if *latency == Seconds::ZERO {
        let why = "an empty collective takes no longer than the calibration's start of one";
        report.assume(&field("latency"), "0 s", why);
    }
}

/// With all ranks of several hosts, bus bandwidth exceeds a link's, since each device's port carries a part.
fn shared(spread: RankSpread, rows: &[BenchmarkRow], level: &str, report: &mut ImportReport) {
    let Some(row) = rows.iter().max_by(|one, other| one.size.total_cmp(&other.size)) else { return };
    let (each, hosts) = (f64::from(spread.per_host()), f64::from(spread.hosts));
    let least = row.size * (hosts - 1.0) / hosts / each / row.micros / 1e3;
    let ring = row.bus / each;
    let why = format!(
        "rings through all {each} devices of a node carry a part of busbw {} each; by whatever algorithm at least S (k - 1) / \
         k / g / t = {least:.1} GB/s leave each device; compare with its port",
        row.bus,
    );
    report.assume(
        &format!("{level}.measured.bandwidth"),
        format!("busbw / {each} = {ring:.1} GB/s at the largest size"),
        why,
    );
}

fn note_runs(facts: &[RunFacts], report: &mut ImportReport) {
    for fact in facts.iter().filter(|fact| fact.used) {
        if let (Some(collective), Some(spread), Some(bytes), Some(micros), Some(bus)) =
            (fact.collective, fact.spread, fact.largest_bytes, fact.largest_us, fact.largest_busbw)
        {
            let RankSpread { ranks, hosts } = spread;
            let plural = if hosts == 1 { "" } else { "s" };
            let text = format!("{} of {ranks} ranks on {hosts} host{plural}, {} rows", collective.word(), fact.rows);
            report.take("run", text, format!("{}, {bytes} B in {micros} us, busbw {bus}", fact.place));
        }
    }
}

#[cfg(test)]
mod tests;
