//! The linear report: verdict first, then speed, limit, memory, time and traffic, one fact per line.

use std::fmt;

use crate::cost::TransferParts;
use crate::evaluate::{
    Details, Evaluation, Expense, FailureForecast, HostDirection, Phases, Property, Resource, Summary, checkpoint,
    evidence,
};
use crate::plan::{Accumulation, FlopCount, Offload, Plan};
use crate::scenario::Scenario;
use crate::scenario::file::printable;
use crate::search::Fixes;
use crate::units::{Bytes, Seconds, counted, devices, significant, thousands};

use crate::figures::figure::{Figure, MEMORY_PARTS, TIME_PARTS};
use crate::figures::table::percent;
use crate::figures::why::facts::FigureSubject;
use crate::figures::why::traffic::carried;

use super::figures::Figures;
use super::intensity;
use super::lines::{Lines, row};

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
    /// That of an evaluated step.
    pub fn new(summary: &Summary) -> Self {
        match summary.fits {
            false => Self::DoesNotFit,
            true if summary.memory.peak > TIGHT * summary.memory.capacity => Self::Tight,
            true => Self::Fits,
        }
    }
}

/// The report of an evaluation: every line ends in a line end, nothing is drawn.
/// What would let a scenario fit that does not stands under the verdict.
pub fn text(scenario: &Scenario, evaluation: &Evaluation, fix: Option<&Fixes>) -> String {
    let summary = &evaluation.summary;
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let mut lines = Lines(String::new());
    lines.line(&title(scenario, summary));
    if let Some(changed) = changed(scenario) {
        lines.line(&changed);
    }
    if let Some(note) = scenario.note() {
        lines.line(&format!("note: {note}"));
    }
    lines.line(&verdict(scenario, summary));
    if let Some(fix) = fix {
        lines.line(&format!("would fit with {fix}"));
    }
    lines.line(&limit(scenario, evaluation).to_string());
    lines.line(&step(&scenario.plan));
    lines.line(&batch(scenario, summary));
    lines.line(&format!("the model: {}", scenario.model.counts()));
    lines.section("speed", &speed(scenario, evaluation));
    lines.section("memory of the fullest device", &memory(&subject));
    lines.section("time of a step", &time(&subject, evaluation.details.parts));
    lines.section("traffic per device and step", &traffic(&subject, &evaluation.details));
    let intensities = intensity::rows(scenario, &evaluation.details.transfers);
    if !intensities.is_empty() {
        lines.section(intensity::TITLE, &intensities);
    }
    lines.0
}

/// What a snapshot stored beside what comes out now, where another version of shardscope wrote it.
pub fn beside(version: &str, stored: &Figures, now: &Figures) -> String {
    let row = |figure: Figure, stored: Option<f64>, now: Option<f64>| {
        let (name, unit) = (figure.entry().map_or("", |entry| entry.name), figure.column_unit());
        let show = |value: Option<f64>| value.map_or_else(|| "?".to_owned(), |value| significant(value, 4));
        let change = stored.zip(now).map_or(f64::NAN, |(stored, now)| 100.0 * (now / stored - 1.0));
        (name.to_owned(), format!("{} {unit} then, {} now ({change:+.1} %)", show(stored), show(now)))
    };
    let gib = |figures: &Figures| Some(Bytes::new(figures.memory.peak_bytes as f64).gib());
    let rows = [
        row(Figure::StepTime, stored.step_time_s, now.step_time_s),
        row(Figure::ModelFlops, stored.model_tflops_per_device, now.model_tflops_per_device),
        row(Figure::Peak, gib(stored), gib(now)),
    ];
    let mut lines = Lines(String::new());
    lines.section(&format!("stored by shardscope {}", printable(version)), &rows);
    lines.0
}

/// What limits a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepLimit {
    /// In words: `limited by bandwidth between nodes`.
    pub what: String,
    /// The same where there is little room: `limit: links between nodes`.
    pub short: String,
    /// What a change of it would give: `+10 % gives +3.1 %`.
    pub gain: Option<String>,
}

impl StepLimit {
    fn plain(what: &str) -> Self {
        Self { what: what.to_owned(), short: what.to_owned(), gain: None }
    }
}

impl fmt::Display for StepLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        self.gain.iter().try_for_each(|gain| write!(f, ": {gain}"))
    }
}

/// What limits a step: `limited by bandwidth between nodes: +10 % gives +3.1 %`.
pub fn limit(scenario: &Scenario, evaluation: &Evaluation) -> StepLimit {
    let resource = evaluation.bottleneck();
    let place = |level: usize| printable(&scenario.cluster.place(level));
    let found = |property: Property| evaluation.elasticity.iter().find(|one| one.property == property);
    let strength = |property: Property| found(property).map_or(0.0, |one| one.gain);
    let (what, change, property) = match resource {
        Resource::Compute => ("compute".to_owned(), "+10 % peak", Property::PeakFlop),
        Resource::Memory => ("memory bandwidth".to_owned(), "+10 %", Property::MemoryBandwidth),
        Resource::Level(level) => {
            let (bandwidth, latency) = (Property::LevelBandwidth(level), Property::LevelLatency(level));
            if strength(latency) > strength(bandwidth) {
                (format!("latency {}", place(level)), "-10 %", latency)
            } else {
                (format!("bandwidth {}", place(level)), "+10 %", bandwidth)
            }
        }
        Resource::HostLink => ("the link to the host".to_owned(), "+10 %", Property::HostBandwidth),
        Resource::Bubble => return StepLimit::plain("limited by the pipeline bubble"),
        Resource::Host => return StepLimit::plain("limited by the host, which launches the work"),
    };
    let gain = found(property).filter(|one| one.value.is_finite());
    let other = evaluation.tie().map(|other| match other {
        Resource::Level(level) => format!("bandwidth {}", place(level)),
        other => other.name(scenario).to_owned(),
    });
    let tie = other.map_or_else(String::new, |other| format!(", tied with {other}"));
    let gain = gain.map(|one| format!("{change} gives {:+.1} %{tie}", 100.0 * one.gain));
    let short = match property {
        Property::LevelBandwidth(level) => format!("limit: links {}", place(level)),
        Property::LevelLatency(level) => format!("limit: latency {}", place(level)),
        _ => format!("limited by {what}"),
    };
    StepLimit { what: format!("limited by {what}"), short, gain }
}

fn title(scenario: &Scenario, summary: &Summary) -> String {
    let devices = devices(summary.devices);
    let Scenario { cluster, stack, model, strategy, .. } = scenario;
    let what = format!("{} on {devices} of {}, strategy {strategy}, stack {}", model.name, cluster.name, stack.id);
    printable(&what)
}

/// The global batch of a search: so many sequences, or near to them.
pub(super) fn held(sequences: Option<f64>) -> Option<String> {
    sequences.map(|sequences| format!("global batch {} sequences, or the nearest within 5 %", counted(sequences)))
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

/// What all devices take in a step, and by how much that is not what was asked for.
fn batch(scenario: &Scenario, summary: &Summary) -> String {
    let sequences = scenario.sequences();
    let tokens = counted(summary.tokens_per_step);
    let taken = format!("global batch: {} sequences, {tokens} tokens", counted(sequences));
    match scenario.wanted_sequences() {
        None => format!("{taken}; not held"),
        Some(wanted) if (sequences - wanted).abs() < 0.5 => taken,
        Some(wanted) => {
            let off = 100.0 * (sequences / wanted - 1.0);
            format!("{taken}; the nearest to {} that divides ({off:+.1} %)", counted(wanted))
        }
    }
}

/// What is offloaded to host memory.
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

/// `fits: 67.1 GiB of 79.7 GiB, 84 %, 12.6 GiB spare (80 % interval +-5.5 GiB)`.
fn verdict(scenario: &Scenario, summary: &Summary) -> String {
    let (peak, capacity) = (summary.memory.peak, summary.memory.capacity);
    let used = format!("{peak} of {capacity}, {:.0} %", 100.0 * (peak / capacity));
    let sure = scenario.calibration.peak_half_width;
    let sure = sure.map_or_else(String::new, |half| format!(" (80 % interval +-{})", peak * libm::expm1(half)));
    match Verdict::new(summary) {
        Verdict::Fits => format!("fits: {used}, {} spare{sure}", capacity - peak),
        Verdict::Tight => format!("fits, tight: {used}, {} spare{sure}", capacity - peak),
        Verdict::DoesNotFit => format!("does not fit: needs {peak}, {} more than {capacity}{sure}", peak - capacity),
    }
}

/// A line of a figure, by its label.
fn named(figure: Figure, value: String) -> (String, String) {
    row(figure.label(), value)
}

fn speed(scenario: &Scenario, evaluation: &Evaluation) -> Vec<(String, String)> {
    let summary = &evaluation.summary;
    let tokens = summary.tokens_per_s_per_device;
    let mut rows = match evaluation.error_band {
        Some(band) => {
            let [low, high] = band.model_flops(summary);
            let held = format!("{} to {}, {low} to {high} per device", band.low, band.high);
            let known = evidence(scenario).map(|band| row("based on", band.to_string()));
            let told = [named(Figure::StepTime, summary.step_time.to_string()), row("80 % interval", held)];
            told.into_iter().chain(known).collect()
        }
        None => vec![named(Figure::StepTime, format!("{}; no measured runs to compare with", summary.step_time))],
    };
    let counted = match scenario.plan.flop_count {
        FlopCount::Parameters => "6 per parameter and token, and attention",
        FlopCount::Matrices => "6 per weight of a matrix and token, and attention",
    };
    let skipped = if summary.hfu > 1.0 { ", of which causal kernels skip half" } else { "" };
    rows.extend([
        row("tokens", format!("{} per second, {} per device", thousands(summary.tokens_per_s()), thousands(tokens))),
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
    let expense = Expense::new(tokens, summary, cluster);
    let Expense { time, device_time, cost, energy } = expense;
    let (tokens, days, hours) = (thousands(tokens), significant(time.days(), 3), thousands(device_time.hours()));
    let taken = row("training", format!("{tokens} tokens in {days} days, {hours} device-hours"));
    let cost = cost.zip(cluster.price_per_device_hour);
    let cost = cost.map(|(cost, price)| named(Figure::Cost, format!("{cost}, {price} a device-hour")));
    let energy = energy.zip(cluster.watts_per_device);
    let energy = energy.map(|(energy, power)| named(Figure::Energy, format!("{energy}, {power} a device")));
    let failures = FailureForecast::new(scenario, summary.step_time);
    let failures = failures.into_iter().flat_map(|forecast| with_failures(&forecast, &expense, scenario));
    std::iter::once(taken).chain(cost).chain(energy).chain(failures).collect()
}

/// The same with what goes wrong, and what that counts with.
fn with_failures(forecast: &FailureForecast, expense: &Expense, scenario: &Scenario) -> [(String, String); 3] {
    let FailureForecast { interruptions, interval, shares } = *forecast;
    let Expense { time, cost, energy, .. } = expense.at(shares.useful);
    let goodput = format!("{} days at {} goodput", significant(time.days(), 3), percent(shares.useful));
    let spent = cost.map(|cost| cost.to_string()).into_iter().chain(energy.map(|energy| energy.to_string()));
    let goodput = std::iter::once(goodput).chain(spent).collect::<Vec<_>>().join(", ");
    let stops = format!("one in {}, {} to restart", interruptions.between, interruptions.restart);
    let saved = checkpoint(scenario);
    let written = format!("{saved} in {}, every {}", interruptions.write, interval);
    [named(Figure::DaysWithFailures, goodput), row("failures", stops), row("checkpoint", written)]
}

fn memory(subject: &FigureSubject) -> Vec<(String, String)> {
    let memory = &subject.summary.memory;
    let holds = |part: &Figure| part.amount(subject).is_some_and(|amount| amount.value > 0.0);
    let parts = MEMORY_PARTS.into_iter().filter(holds);
    let mut rows: Vec<_> = parts.filter_map(|part| share(part, memory.peak.get(), subject)).collect();
    rows.push(row("peak", format!("{:>10} during {}", memory.peak, memory.during.kind.name())));
    rows.push(row("capacity", format!("{:>10}", memory.capacity)));
    rows
}

fn time(subject: &FigureSubject, parts: TransferParts) -> Vec<(String, String)> {
    let Summary { step_time, time, phases, host, .. } = subject.summary;
    let part = |figure: Figure| share(figure, step_time.get(), subject);
    let mut rows: Vec<_> = TIME_PARTS.into_iter().chain([Figure::StepTime]).filter_map(part).collect();
    if let Some(slowed) = subject.slowed.filter(|slowed| *slowed > Seconds::ZERO) {
        let slowed = format!("{slowed:>10} {:>6.1} %", 100.0 * (slowed / *step_time));
        rows.insert(1, row("of it, slowed by transfers", slowed));
    }
    if host.exposed > Seconds::ZERO {
        // Copies are part of what stands above them.
        let exposed = rows.iter().position(|(name, _)| name.starts_with("exposed")).unwrap_or(0);
        let copies = format!("{:>10} {:>6.1} %", host.exposed, 100.0 * (host.exposed / *step_time));
        rows.insert(exposed + 1, row("of it, host copies", copies));
    }
    rows.push(row("total communication", format!("{:>10}, hidden or not", time.communication)));
    let TransferParts { wire, steps, passes } = parts;
    let named = [("on the wire", wire), ("hops and launches", steps), ("quantising passes", passes)];
    let named = named.into_iter().filter(|(_, time)| *time > Seconds::ZERO);
    let named: Vec<String> = named.map(|(name, time)| format!("{time} {name}")).collect();
    if !named.is_empty() {
        rows.push(row("each transfer alone", format!("{:>10} = {}", parts.total(), named.join(" + "))));
    }
    let Phases { forward, backward, update } = phases;
    rows.push(row("by phase", format!("forward {forward}, backward {backward}, update {update}")));
    rows
}

fn traffic(subject: &FigureSubject, details: &Details) -> Vec<(String, String)> {
    let ways = HostDirection::ALL.into_iter().filter(|_| subject.summary.host.any()).map(Figure::Copied);
    let line = |figure: Figure| {
        let (amount, busy) = (figure.amount(subject)?, figure.busy()?.amount(subject)?);
        Some(row(&printable(&subject.which(figure)?), format!("{amount:>10}, busy {busy}")))
    };
    let levels = (0..subject.scenario.cluster.levels.len()).map(Figure::Traffic).chain(ways).filter_map(line);
    let forms = details.collectives().map(|(lane, forms)| row(carried(lane), forms.join(", ")));
    levels.chain(forms).collect()
}

/// A part, and its share of the whole.
fn share(part: Figure, whole: f64, subject: &FigureSubject) -> Option<(String, String)> {
    let amount = part.amount(subject)?;
    Some(row(&part.name(subject)?, format!("{amount:>10} {:>6.1} %", 100.0 * (amount.value / whole))))
}
