//! Fits a level so that the cost model's collectives take as long as the benchmark's.
//!
//! The cost model ([`Rates`]) is evaluated, never copied. Does not read logs.

use std::sync::Arc;

use shardscope_engine::cost::{Factors, Payload, Rates};
use shardscope_engine::hardware::{Group, MeasuredLevel, Ramp};
use shardscope_engine::plan::Format;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::units::{Bytes, BytesPerSecond, Count, Seconds};

use super::run::{BenchmarkRow, RankSpread, TimedCollective};

/// Up to this size, in bytes, a collective takes as long as an empty one.
const SMALL: f64 = 65536.0;

/// From this size on, in bytes, bandwidth sets the time: 256 MiB, less what does not divide among the ranks.
const LARGE: f64 = 268_000_000.0;

/// If no size is that large, the largest counts from here on.
const LARGE_ENOUGH: f64 = 1_048_576.0;

/// Rounds that fit rate and ramp in turn, the other one held.
const ROUNDS: usize = 6;

/// The time of a collective on a machine, as `eval` computes it.
pub(crate) struct CollectiveLaw {
    scenario: Scenario,
    group: Group,
    level: usize,
    all_reduce: bool,
}

/// The fit of a level, and the sizes behind it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FittedLevel {
    /// The fitted figures; their source is set later.
    pub measured: MeasuredLevel,
    /// True if a size was small enough to show the latency.
    pub latency_seen: bool,
    /// Smallest and largest size behind the rate.
    pub rate_sizes: (f64, f64),
    /// Smallest and largest size behind the latency.
    pub latency_sizes: (f64, f64),
    /// The smallest size that reaches half of the rate.
    pub half_rate: Option<f64>,
    /// Relative error over all sizes: mean, and maximum.
    pub residual: (f64, f64),
    /// The size with the maximum error.
    pub worst: f64,
    /// Time of an empty collective, less the hops of this level.
    pub launch: Seconds,
    /// Number of hops on this level.
    pub hops: f64,
}

impl CollectiveLaw {
    /// For ranks spread like this; inner levels may be measured already. `None` if they do not fit the machine.
    pub fn new(scenario: &Scenario, spread: RankSpread, collective: TimedCollective) -> Option<Self> {
        let node = scenario.cluster.devices_per_node();
        let each = spread.per_host();
        let apart = spread.hosts > 1;
        if each > node || (apart && !node.is_multiple_of(each)) {
            return None;
        }
        // Two ranks on each host of eight devices are every fourth device.
        let group = Group::new(if apart { node / each } else { 1 }, spread.ranks);
        let rates = Rates::new(scenario, &Factors::default());
        // The measured level is the outermost that the ranks cross; inner levels keep their earlier fit.
        let level = rates.network.ring(group).iter().rposition(|span| span.edges > 0)?;
        let all_reduce = collective == TimedCollective::AllReduce;
        Some(Self { scenario: scenario.clone(), group, level, all_reduce })
    }

    /// The outermost level that the ranks cross, which is fitted.
    pub const fn level(&self) -> usize {
        self.level
    }

    /// The scenario with this level as measured.
    pub fn with(&self, measured: MeasuredLevel) -> Scenario {
        let mut scenario = self.scenario.clone();
        let cluster = Arc::make_mut(&mut scenario.cluster);
        if let Some(level) = cluster.levels.get_mut(self.level) {
            level.measured = Some(measured);
        }
        scenario
    }

    /// Time of a collective of `bytes` on a level as measured.
    pub fn seconds(&self, measured: MeasuredLevel, bytes: f64) -> Seconds {
        self.on(&self.with(measured), bytes)
    }

    fn on(&self, scenario: &Scenario, bytes: f64) -> Seconds {
        let rates = Rates::new(scenario, &Factors::default());
        let payload = Payload::plain(Count::new(bytes / Format::Fp32.bytes()), Format::Fp32);
        if self.all_reduce {
            rates.all_reduce(payload, self.group).time
        } else {
            rates.gather(payload, self.group).time
        }
    }

    fn probe(&self, bandwidth: f64, latency: f64, ramp: Option<Ramp>, bytes: f64) -> f64 {
        let (bandwidth, latency) = (BytesPerSecond::new(bandwidth), Seconds::new(latency));
        self.seconds(MeasuredLevel { bandwidth, latency, ramp, source: String::new() }, bytes).get()
    }

    /// Latency of one hop, from the cluster's figures and the calibration's factor.
    fn stated_latency(&self) -> f64 {
        let rates = Rates::new(&self.scenario, &Factors::default());
        rates.network.ring(self.group)[self.level].latency.get()
    }

    /// Bytes that cross a device's link in one pass of the collective.
    fn passing(&self, bytes: f64) -> f64 {
        bytes * f64::from(self.group.size - 1) / f64::from(self.group.size)
    }

    /// Fits a level to rows; the error says what they lack.
    pub fn fit(&self, rows: &[BenchmarkRow]) -> Result<FittedLevel, &'static str> {
        let rows: Vec<BenchmarkRow> = rows.iter().copied().filter(|row| row.size > 0.0 && row.micros > 0.0).collect();
        let most = rows.iter().map(|row| row.size).fold(0.0, f64::max);
        if most < LARGE_ENOUGH {
            return Err("holds no size of 1 MiB or more, which a bandwidth needs");
        }
        let small: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.size <= SMALL).collect();
        let large: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.size >= LARGE.min(most / 4.0)).collect();
        // An empty collective takes `launch + hops x latency`.
        let launch = self.probe(1e30, 0.0, None, 4.0);
        let hops = self.probe(1e30, 1.0, None, 4.0) - launch;
        let latency = if small.is_empty() {
            self.stated_latency()
        } else {
            ((median(small.iter().map(|row| row.micros / 1e6)) - launch) / hops).max(0.0)
        };
        let empty = launch + hops * latency;
        // A byte takes `share / rate`: `share` of it crosses the level. At 1 kB/s this level alone sets the time, which
        // gives `share`.
        let share = (self.probe(1e3, latency, None, most) - empty) * 1e3 / most;
        let passes = if self.all_reduce { 2.0 } else { 1.0 };
        let (mut rate, mut ramp) = (0.0, None);
        // The ramp also slows large sizes, so each is fitted with the other one held.
        for _ in 0..ROUNDS {
            let extra = |row: &BenchmarkRow| passes * ramp.map_or(0.0, |ramp| self.ramped(ramp, row));
            // At least a tenth of a row's time is left for the bytes, even if the rest explains it all.
            let left = |row: &BenchmarkRow| (row.micros / 1e6 - empty - extra(row)).max(row.micros / 1e7);
            rate = median(large.iter().map(|row| share * row.size / left(row)));
            ramp = self.ramp(&rows, |row| (row.micros / 1e6 - empty - share * row.size / rate) / passes);
        }
        let measured = MeasuredLevel {
            bandwidth: BytesPerSecond::new(rounded(rate)),
            latency: Seconds::new(rounded(latency)),
            ramp: ramp.map(|Ramp { time, half }| Ramp {
                time: Seconds::new(rounded(time.get())),
                half: Bytes::new(rounded(half.get())),
            }),
            source: String::new(),
        };
        let scenario = self.with(measured.clone());
        let off = |row: &BenchmarkRow| (self.on(&scenario, row.size).get() * 1e6 / row.micros - 1.0).abs();
        let errors: Vec<(f64, f64)> = rows.iter().map(|row| (off(row), row.size)).collect();
        let mean = errors.iter().map(|(off, _)| off).sum::<f64>() / errors.len() as f64;
        let (worst, at) = errors.iter().copied().fold((0.0, 0.0), |most, one| if one.0 > most.0 { one } else { most });
        let full = rows.iter().map(|row| row.size / row.micros).fold(0.0, f64::max);
        // Algorithm bandwidth is size over time, whatever crosses a link.
        let half = rows.iter().filter(|row| row.size / row.micros >= full / 2.0).map(|row| row.size);
        Ok(FittedLevel {
            measured,
            latency_seen: !small.is_empty(),
            rate_sizes: range(large.iter().map(|row| row.size)),
            latency_sizes: range(small.iter().map(|row| row.size)),
            half_rate: half.reduce(f64::min),
            residual: (mean, worst),
            worst: at,
            launch: Seconds::new(launch),
            hops,
        })
    }

    fn ramped(&self, ramp: Ramp, row: &BenchmarkRow) -> f64 {
        ramp.of(Bytes::new(self.passing(row.size))).get()
    }

    /// The ramp that best explains the time `left` of middle sizes: least squares of the relative error, at the best of
    /// 25 sizes from 16 KiB to 64 MiB. A larger one could not be told from a lower rate.
    fn ramp(&self, rows: &[BenchmarkRow], left: impl Fn(&BenchmarkRow) -> f64) -> Option<Ramp> {
        let between: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.size > SMALL && row.size < LARGE).collect();
        if between.len() < 3 {
            return None;
        }
        // Tries the ramp's half in steps of half an octave; least squares give the height, since time is linear in it.
        // Errors are relative: a second at 8 GiB is no worse than a tenth of a microsecond at 8 B.
        let halves = (0..=24).map(|step| 16384.0 * libm::exp2(f64::from(step) / 2.0));
        let fitted = halves.map(|half| {
            let unit = Ramp { time: Seconds::new(1.0), half: Bytes::new(half) };
            let weighed = |row: &&BenchmarkRow| (self.ramped(unit, row) / row.micros, left(row) / row.micros);
            let product: f64 = between.iter().map(weighed).map(|(unit, left)| unit * left).sum();
            let square: f64 = between.iter().map(weighed).map(|(unit, _)| unit * unit).sum();
            let time = (product / square).max(0.0);
            let error: f64 =
                between.iter().map(weighed).map(|(unit, left)| (left - time * unit) * (left - time * unit)).sum();
            (error, Ramp { time: Seconds::new(time), half: Bytes::new(half) })
        });
        let best = fitted.min_by(|one, other| one.0.total_cmp(&other.0))?.1;
        Some(best).filter(|ramp| ramp.time > Seconds::ZERO && ramp.time.get().is_finite())
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[count / 2],
        count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
    }
}

/// Rounds to four digits: more would be false precision.
fn rounded(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let scale = libm::pow(10.0, 3.0 - libm::floor(libm::log10(value)));
    libm::round(value * scale) / scale
}
