//! The linear report: verdict first, then speed, limit, memory, time and traffic, one fact per line.

use std::fmt;

use crate::evaluate::{Evaluation, Expense, HostDirection, Phases, Property, Resource, Summary, evidence};
use crate::plan::{Accumulation, FlopCount, Offload, Plan};
use crate::scenario::Scenario;
use crate::scenario::file::printable;
use crate::search::Fixes;
use crate::units::{Bytes, Seconds, devices, significant, thousands};

use crate::figures::table::percent;

use super::figures::Figures;
use super::intensity;

/// Share of the capacity above which a job that fits is called tight.
const TIGHT: f64 = 0.92;

/// Whether a job fits, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// With memory to spare.
    Fits,
    /// With more than 92 % of the memory in use.
    Tight,
    /// Not at all.
    DoesNotFit,
}

impl Verdict {
    /// Of a summary.
    pub fn of(summary: &Summary) -> Self {
        match summary.fits {
            false => Self::DoesNotFit,
            true if summary.memory.peak > TIGHT * summary.memory.capacity => Self::Tight,
            true => Self::Fits,
        }
    }

    /// Its words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::Tight => "tight",
            Self::DoesNotFit => "does not fit",
        }
    }
}

/// The report of an evaluation: every line ends in a line end, nothing is drawn.
/// What would let a scenario fit that does not stands under the verdict.
pub fn text(scenario: &Scenario, evaluation: &Evaluation, fix: Option<&Fixes>) -> String {
    let summary = &evaluation.summary;
    let mut lines = Lines(String::new());
    lines.line(&title(scenario, summary));
    if let Some(changed) = changed(scenario) {
        lines.line(&changed);
    }
    lines.line(&verdict(summary));
    if let Some(fix) = fix {
        lines.line(&format!("would fit with {fix}"));
    }
    lines.line(&limit(scenario, evaluation).to_string());
    lines.line(&step(&scenario.plan));
    lines.section("speed", &speed(scenario, evaluation));
    lines.section("memory of the fullest device", &memory(summary));
    lines.section("time of a step", &time(summary));
    lines.section("traffic per device and step", &traffic(scenario, summary));
    let intensities = intensity::rows(scenario, &evaluation.details.transfers);
    if !intensities.is_empty() {
        lines.section(intensity::TITLE, &intensities);
    }
    lines.0
}

/// What a snapshot stored beside what comes out now, where another version of shardscope wrote it.
pub fn beside(version: &str, stored: &Figures, now: &Figures) -> String {
    let row = |name: &str, stored: Option<f64>, now: Option<f64>, unit: &str| {
        let show = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| significant(value, 4));
        let change = stored.zip(now).map_or(f64::NAN, |(stored, now)| 100.0 * (now / stored - 1.0));
        (name.to_owned(), format!("{} {unit} then, {} now ({change:+.1} %)", show(stored), show(now)))
    };
    let gib = |figures: &Figures| Some(Bytes::new(figures.memory.peak_bytes as f64).gib());
    let rows = [
        row("step time", stored.step_time_s, now.step_time_s, "s"),
        row("model flop", stored.model_tflops_per_device, now.model_tflops_per_device, "TFLOP/s per device"),
        row("peak memory", gib(stored), gib(now), "GiB"),
    ];
    let mut lines = Lines(String::new());
    lines.section(&format!("stored by shardscope {}", printable(version)), &rows);
    lines.0
}

/// What limits a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepLimit {
    /// In words: `limited by node bandwidth`.
    pub what: String,
    /// What a change of it would give: `+10 % gives +3.1 %`.
    pub gain: Option<String>,
}

impl fmt::Display for StepLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.gain.iter().try_for_each(|gain| write!(f, ": {gain}"))
    }
}

/// What limits a step: `limited by node bandwidth: +10 % gives +3.1 %`.
pub fn limit(scenario: &Scenario, evaluation: &Evaluation) -> StepLimit {
    let resource = evaluation.bottleneck();
    let name = printable(resource.name(scenario));
    let found = |property: Property| evaluation.elasticity.iter().find(|one| one.property == property);
    let strength = |property: Property| found(property).map_or(0.0, |one| one.value.abs());
    let (what, change, property) = match resource {
        Resource::Compute => ("compute".to_owned(), "+10 % peak", Property::PeakFlop),
        Resource::Memory => ("memory bandwidth".to_owned(), "+10 %", Property::MemoryBandwidth),
        Resource::Level(level) => {
            let (bandwidth, latency) = (Property::LevelBandwidth(level), Property::LevelLatency(level));
            if strength(latency) > strength(bandwidth) {
                (format!("{name} latency"), "-10 %", latency)
            } else {
                (format!("{name} bandwidth"), "+10 %", bandwidth)
            }
        }
        Resource::HostLink => ("the link to the host".to_owned(), "+10 %", Property::HostBandwidth),
        Resource::Bubble => return StepLimit { what: "limited by the pipeline bubble".to_owned(), gain: None },
        Resource::Host => {
            return StepLimit { what: "limited by the host, which launches the work".to_owned(), gain: None };
        }
    };
    let gain = found(property).filter(|one| one.value.is_finite());
    let gain = gain.map(|one| format!("{change} gives {:+.1} %", 100.0 * one.gain()));
    StepLimit { what: format!("limited by {what}"), gain }
}

fn title(scenario: &Scenario, summary: &Summary) -> String {
    let devices = devices(summary.devices);
    let Scenario { cluster, stack, model, strategy, .. } = scenario;
    let what = format!("{} on {devices} of {}, strategy {strategy}, stack {}", model.name, cluster.name, stack.id);
    printable(&what)
}

/// In what the hardware differs from the cluster's, if anything: `changed: memory x 0.5 = 39.8 GiB`.
pub fn changed(scenario: &Scenario) -> Option<String> {
    scenario.altered_in_full().map(|altered| format!("changed: {altered}"))
}

/// What a step is, as it is run: what was not asked for can be seen here.
fn step(plan: &Plan) -> String {
    let order = if plan.accumulation == Accumulation::Layered { ", layer by layer" } else { "" };
    let mut parts = vec![format!(
        "a step: {} micro-batch{} of {} x {} tokens{order}",
        thousands(f64::from(plan.accumulate)),
        if plan.accumulate == 1 { "" } else { "es" },
        thousands(f64::from(plan.micro_batch)),
        thousands(f64::from(plan.sequence)),
    )];
    let ranks = [("tp", plan.tensor), ("cp", plan.context)];
    parts.extend(ranks.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} {ranks}")));
    if plan.pipeline > 1 {
        let schedule = plan.effective_schedule();
        let looped = schedule.rules().virtual_stages;
        let plural = if plan.stages_per_rank == 1 { "" } else { "s" };
        let stages = if looped { format!(", {} stage{plural} a rank", plan.stages_per_rank) } else { String::new() };
        parts.push(format!("pp {} {schedule}{stages}", plan.pipeline));
    }
    parts.push(format!("recompute {}", plan.recompute));
    if plan.offload != Offload::None {
        parts.push(format!("{} on the host", on_host(plan)));
    }
    parts.join("; ")
}

/// What lives in the host's memory.
fn on_host(plan: &Plan) -> &'static str {
    let checkpoints = plan.offload.checkpoints() && plan.recompute.layers() > 0.0;
    match plan.offload {
        Offload::None => "nothing",
        Offload::Optimizer => "optimizer state",
        Offload::Checkpoints if checkpoints => "checkpoints",
        Offload::All if checkpoints => "state and checkpoints",
        Offload::Checkpoints => "no checkpoints",
        Offload::State | Offload::All => "state",
    }
}

fn verdict(summary: &Summary) -> String {
    let (peak, capacity) = (summary.memory.peak, summary.memory.capacity);
    let used = format!("{peak} of {capacity}, {:.0} %", 100.0 * (peak / capacity));
    match Verdict::of(summary) {
        Verdict::Fits => format!("fits: {used}"),
        Verdict::Tight => format!("fits, tight: {used}, {} left", capacity - peak),
        Verdict::DoesNotFit => format!("does not fit: needs {peak}, {} more than {capacity}", peak - capacity),
    }
}

fn speed(scenario: &Scenario, evaluation: &Evaluation) -> Vec<(String, String)> {
    let summary = &evaluation.summary;
    let (tokens, devices) = (summary.tokens_per_s_per_device, f64::from(summary.devices));
    let mut rows = match evaluation.error_band {
        Some(band) => {
            let [low, high] = band.model_flops(summary);
            let held = format!("{} to {}, {low} to {high} per device", band.low, band.high);
            let known = evidence(scenario).map(|band| row("known from", band.to_string()));
            let told = [row("step time", summary.step_time.to_string()), row("8 of 10 such runs", held)];
            told.into_iter().chain(known).collect()
        }
        None => vec![row("step time", format!("{}; no measured rows behind it", summary.step_time))],
    };
    let counted = match scenario.plan.flop_count {
        FlopCount::Parameters => "6 per parameter and token, and attention",
        FlopCount::Matrices => "6 per weight of a matrix and token, and attention",
    };
    let skipped = if summary.hfu > 1.0 { ", of which causal kernels skip half" } else { "" };
    rows.extend([
        row("tokens", format!("{} per second, {} per device", thousands(tokens * devices), thousands(tokens))),
        row("model flop", format!("{} per device, {} MFU", summary.model_flops, percent(summary.mfu))),
        row("counted", format!("{counted}{skipped}")),
        row("hardware flop", format!("{} per device, {} HFU", summary.hardware_flops, percent(summary.hfu))),
    ]);
    if let Some(tokens) = scenario.plan.tokens {
        rows.extend(training(tokens, scenario, summary));
    }
    rows
}

/// Time, device-hours, money and energy of the whole training.
fn training(tokens: f64, scenario: &Scenario, summary: &Summary) -> Vec<(String, String)> {
    let cluster = &scenario.cluster;
    let Expense { time, device_time, cost, energy } = Expense::new(tokens, summary, cluster);
    let (tokens, days, hours) = (thousands(tokens), significant(time.days(), 3), thousands(device_time.hours()));
    let taken = row("training", format!("{tokens} tokens in {days} days, {hours} device-hours"));
    let cost = cost.zip(cluster.price_per_device_hour);
    let cost = cost.map(|(cost, price)| row("cost", format!("{cost}, {price} a device-hour")));
    let energy = energy.zip(cluster.watts_per_device);
    let energy = energy.map(|(energy, power)| row("energy", format!("{energy}, {power} a device")));
    std::iter::once(taken).chain(cost).chain(energy).collect()
}

fn memory(summary: &Summary) -> Vec<(String, String)> {
    let memory = &summary.memory;
    let share = |bytes: Bytes| format!("{bytes:>10} {:>6.1} %", 100.0 * (bytes / memory.peak));
    let parts = memory.parts.named().into_iter().filter(|(_, bytes)| *bytes > Bytes::ZERO);
    let mut rows: Vec<_> = parts.map(|(name, bytes)| row(&name.replace('_', " "), share(bytes))).collect();
    let during = memory.during;
    rows.push(row("peak", format!("{:>10} during {}", memory.peak, during.kind.name())));
    rows.push(row("capacity", format!("{:>10}", memory.capacity)));
    rows
}

fn time(summary: &Summary) -> Vec<(String, String)> {
    let time = &summary.time;
    let share = |part: Seconds| format!("{part:>10} {:>6.1} %", 100.0 * (part / summary.step_time));
    let copies = summary.host.exposed;
    // Copies are part of what stands above them.
    let copies = (copies > Seconds::ZERO).then_some(("of it, host copies", copies));
    let parts = [("compute", time.compute), ("exposed communication", time.exposed)].into_iter().chain(copies).chain([
        ("bubble", time.bubble),
        ("optimizer", time.optimizer),
        ("other", time.other),
        ("step", summary.step_time),
    ]);
    let mut rows: Vec<_> = parts.map(|(name, part)| row(name, share(part))).collect();
    rows.push(row("communication in all", format!("{:>10}, hidden or not", time.communication)));
    let Phases { forward, backward, update } = summary.phases;
    rows.push(row("by phase", format!("forward {forward}, backward {backward}, update {update}")));
    rows
}

fn traffic(scenario: &Scenario, summary: &Summary) -> Vec<(String, String)> {
    let busy = |bytes: Bytes, busy: Seconds| format!("{bytes:>10}, busy {busy}");
    let levels = scenario.cluster.levels.iter().zip(&summary.traffic);
    let levels =
        levels.map(|(level, traffic)| row(&printable(&level.name), busy(traffic.bytes_per_device, traffic.busy)));
    let ways = HostDirection::ALL.into_iter().filter(|_| summary.host.any());
    let host = ways.map(|way| (way.lane().name(), summary.host.way(way)));
    levels.chain(host.map(|(name, copies)| row(name, busy(copies.bytes, copies.busy)))).collect()
}

pub(super) fn row(name: &str, value: String) -> (String, String) {
    (name.to_owned(), value)
}

/// Lines of a report.
pub(super) struct Lines(pub(super) String);

impl Lines {
    pub(super) fn line(&mut self, text: &str) {
        self.0.push_str(text.trim_end());
        self.0.push('\n');
    }

    pub(super) fn section(&mut self, title: &str, rows: &[(String, String)]) {
        self.line("");
        self.line(title);
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in rows {
            let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
            for (name, part) in names.zip(wrapped(value, WIDTH.saturating_sub(width + 4))) {
                self.line(&format!("  {name:<width$}  {part}"));
            }
        }
    }
}

/// The most characters of a line, where its words allow it.
const WIDTH: usize = 100;

/// A text in lines of at most `room` characters, cut between words.
fn wrapped(mut text: &str, room: usize) -> Vec<&str> {
    let mut lines = Vec::new();
    while let Some((end, next)) = text.char_indices().nth(room) {
        let space = if next == ' ' { Some(end) } else { text[..end].rfind(' ') };
        let Some(cut) = space.filter(|cut| !text[..*cut].trim().is_empty()) else { break };
        lines.push(&text[..cut]);
        text = text[cut..].trim_start();
    }
    lines.push(text);
    lines
}
