//! The linear report: verdict first, then speed, limit, memory, time and traffic, one fact per line.

use std::fmt;

use shardscope_engine::cost::TransferParts;
use shardscope_engine::evaluate::{
    Details, ErrorBand, Evaluation, HostDirection, Property, Resource, SAFE_CHANCE, Summary, chance_of_fitting,
    evidence, peak_half_width,
};
use shardscope_engine::plan::{Accumulation, FlopCount, Offload, Plan, StageSizes};
use shardscope_engine::scenario::file::printable;
use shardscope_engine::scenario::{NEAR, Scenario};
use shardscope_engine::search::Fixes;
use shardscope_engine::units::{
    Amount, Bytes, Seconds, counted, devices, percent, signed, significant, thousands, whole_percent,
};

use crate::figures::figure::{Figure, MEMORY_PARTS, PHASES, TIME_PARTS, WITHIN};
use crate::figures::why::facts::FigureSubject;
use crate::figures::why::traffic::carried;

use super::caveats::caveats;
use super::figures::{Figures, KEPT};
use super::intensity;
use super::layers;
use super::lines::{Lines, row};
use super::post_training;
use super::setbacks::setbacks;
use super::support::lacking_words;

/// Share of the capacity above which a job that fits is called tight.
const TIGHT: f64 = 0.92;

/// The smallest gain that is worth a word.
const LEAST_GAIN: f64 = 0.000_5;

/// Whether a job fits, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// With memory to spare.
    Fits,
    /// With more than 92 % of the memory in use.
    Tight,
    DoesNotFit,
}

impl Verdict {
    /// That of an evaluated step.
    pub fn new(summary: &Summary) -> Self {
        match summary.fits {
            false => Self::DoesNotFit,
            true if summary.memory.needed() > TIGHT * summary.memory.capacity => Self::Tight,
            true => Self::Fits,
        }
    }
}

/// The report of an evaluation: every line ends in a line end, nothing is drawn.
/// Ways to make a scenario fit stand under the verdict.
pub fn text(scenario: &Scenario, evaluation: &Evaluation, fix: Option<&Fixes>) -> String {
    let summary = &evaluation.summary;
    let subject = FigureSubject::evaluated(scenario, evaluation);
    let mut lines = Lines(String::new());
    lines.line(&title(scenario, summary));
    if let Some(changed) = changed(scenario) {
        lines.line(&changed);
    }
    if let Some(note) = scenario.note() {
        lines.note(&note);
    }
    for caveat in caveats(scenario, summary) {
        lines.note(&caveat);
    }
    lines.line(&verdict(scenario, summary));
    if let Some(fix) = fix {
        lines.line(&format!("would fit with {fix}"));
    }
    lines.line(&limit_line(scenario, evaluation));
    for setback in setbacks(scenario, evaluation) {
        lines.note(&setback);
    }
    lines.line(&step(&scenario.plan));
    lines.line(&batch(scenario, summary));
    lines.line(&format!("the model: {}", scenario.model.counts()));
    let kinds = layers::rows(scenario);
    if !kinds.is_empty() {
        lines.section(layers::TITLE, &kinds);
    }
    lines.section("speed", &speed(&subject, evaluation));
    lines.section("memory of the fullest device", &memory(&subject));
    let of = if scenario.plan.writes() { "time of an update" } else { "time of a step" };
    lines.section(of, &time(&subject, &evaluation.details.parts));
    let phases = post_training::rows(scenario, evaluation);
    if !phases.is_empty() {
        lines.section(post_training::TITLE, &phases);
    }
    lines.section("traffic per device and step", &traffic(&subject, &evaluation.details));
    let intensities = intensity::rows(scenario, &evaluation.details.transfers);
    if !intensities.is_empty() {
        lines.section(intensity::TITLE, &intensities);
    }
    lines.0
}

/// A snapshot's stored figures beside the present ones, where another version of shardscope wrote it.
pub fn beside(version: &str, stored: &Figures, now: &Figures) -> String {
    let rows = KEPT.map(|(figure, _)| {
        let (name, unit) = (figure.entry().map_or("", |entry| entry.name), figure.column_unit());
        let values = [stored, now].map(|figures| figures.amount(figure).map_or(f64::NAN, Amount::in_column));
        let [then, today] = values.map(|value| if value.is_nan() { "?".to_owned() } else { significant(value, 4) });
        (name.to_owned(), format!("{then} {unit} then, {today} now ({})", signed(values[1] / values[0] - 1.0)))
    });
    let mut lines = Lines(String::new());
    lines.section(&format!("stored by shardscope {}", printable(version)), &rows);
    lines.0
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepLimit {
    /// In words: `limited by bandwidth between nodes`.
    pub what: String,
    /// The limit where there is little room: `limit: links between nodes`.
    pub short: String,
    /// The effect of a change of it: `+10 % gives +3.1 %`.
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

/// The limit of a step with the plan as it is, and what more memory would give.
fn limit_line(scenario: &Scenario, evaluation: &Evaluation) -> String {
    let limit = limit(scenario, evaluation);
    let plan = if limit.gain.is_some() { ", same plan" } else { "" };
    let memory = evaluation.more_memory().map(|(_, one)| one.gain).filter(|gain| *gain >= LEAST_GAIN);
    let memory = memory.map(|gain| format!("; +10 % memory, re-tuned: {}", signed(gain)));
    format!("{limit}{plan}{}", memory.unwrap_or_default())
}

/// The limit of a step: `limited by bandwidth between nodes: +10 % gives +3.1 %`.
pub fn limit(scenario: &Scenario, evaluation: &Evaluation) -> StepLimit {
    let place = |level: usize| printable(&scenario.cluster.place(level));
    let first = evaluation.ranking().next().map(|(_, first)| first);
    let property = match (evaluation.bottleneck(), first) {
        (Resource::Bubble, _) => return StepLimit::plain("limited by the pipeline bubble"),
        (Resource::Host, _) => return StepLimit::plain("limited by the host, which launches the work"),
        (_, Some(first)) => first.property,
        (Resource::Compute, None) => Property::PeakFlop,
        (Resource::Memory, None) => Property::MemoryBandwidth,
        (Resource::Level(level), None) => Property::LevelBandwidth(level),
        (Resource::HostLink, None) => Property::HostBandwidth,
    };
    let (what, of_it) = match property {
        Property::PeakFlop => (Resource::Compute.name(scenario).to_owned(), " peak"),
        other => (printable(&other.words(scenario)), ""),
    };
    let change =
        property.change().map_or_else(String::new, |factor| format!("{:+.0} %{of_it}", 100.0 * (factor - 1.0)));
    let gain = first.filter(|one| one.value.is_finite());
    let other = evaluation.tie().map(|other| match other {
        Resource::Level(level) => format!("bandwidth {}", place(level)),
        other => other.name(scenario).to_owned(),
    });
    let tie = other.map_or_else(String::new, |other| format!(", tied with {other}"));
    let gain = gain.map(|one| format!("{change} gives {}{tie}", signed(one.gain)));
    let short = match property {
        Property::LevelBandwidth(level) => format!("limit: bandwidth {}", place(level)),
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

/// The global batch of a search over a scenario: so many sequences, or pairs of them, or near to that.
pub(super) fn held(scenario: &Scenario) -> Option<String> {
    let wanted = scenario.wanted_sequences()?;
    Some(format!("global batch {} {}, or {}", counted(wanted), examples(&scenario.plan), nearest()))
}

/// What a batch counts.
pub(super) fn examples(plan: &Plan) -> &'static str {
    if plan.sequences_each() == 1 { "sequences" } else { "pairs" }
}

/// The words for the batch that replaces one that does not divide.
pub(super) fn nearest() -> String {
    format!("the nearest within {}", whole_percent(NEAR))
}

/// Changes of the hardware against the cluster's: `changed: memory x 0.5 = 39.8 GiB`.
pub fn changed(scenario: &Scenario) -> Option<String> {
    scenario.altered_in_full().map(|altered| format!("changed: {altered}"))
}

/// The step as it is run, so that what was not asked for can be seen.
fn step(plan: &Plan) -> String {
    let order = if plan.accumulation == Accumulation::Layered { ", layer by layer" } else { "" };
    let mut parts = vec![format!(
        "a step: {} micro-batch{} of {} x {} tokens{order}",
        thousands(f64::from(plan.accumulate)),
        if plan.accumulate == 1 { "" } else { "es" },
        thousands(f64::from(plan.micro_batch)),
        thousands(f64::from(plan.sequence)),
    )];
    let ranks = [("tp", plan.tensor), ("cp", plan.context), ("ep", plan.experts.ranks)];
    parts.extend(ranks.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} {ranks}")));
    if plan.pipeline > 1 {
        let schedule = plan.effective_schedule();
        let looped = schedule.rules().virtual_stages;
        let plural = if plan.stages_per_rank == 1 { "" } else { "s" };
        let stages = if looped { format!(", {} stage{plural} a rank", plan.stages_per_rank) } else { String::new() };
        parts.push(format!("pp {} {schedule}{stages}", plan.pipeline));
        if plan.stage_layers != StageSizes::Balanced {
            parts.push(format!("stages of {} layers", plan.stage_layers));
        }
    }
    let modules = plan.repeated_modules();
    let repeated = if modules.is_of_stack() { plan.recompute.to_string() } else { modules.to_string() };
    parts.push(format!("recompute {repeated}"));
    if plan.offload != Offload::None {
        let drives = if plan.offload.on_drives() { "'s drives" } else { "" };
        parts.push(format!("{} on the host{drives}", on_host(plan)));
    }
    if !plan.host_modules().is_empty() {
        parts.push(format!("inputs of {} on the host", plan.host_modules()));
    }
    parts.join("; ")
}

/// Sequences of a step on all devices, and by how much they miss what was asked for.
fn batch(scenario: &Scenario, summary: &Summary) -> String {
    let sequences = scenario.sequences();
    let tokens = counted(summary.tokens_per_step);
    let plan = &scenario.plan;
    let both = match plan.sequences_each() {
        1 => String::new(),
        each => format!(", {} sequences", counted(sequences * f64::from(each))),
    };
    let taken = format!("global batch: {} {}{both}, {tokens} tokens", counted(sequences), examples(plan));
    match scenario.wanted_sequences() {
        None => format!("{taken}; not held"),
        Some(wanted) if (sequences - wanted).abs() < 0.5 => taken,
        Some(wanted) => {
            let off = signed(sequences / wanted - 1.0);
            format!("{taken}; the nearest to {} that divides ({off})", counted(wanted))
        }
    }
}

fn on_host(plan: &Plan) -> &'static str {
    let checkpoints = plan.offload.checkpoints() && plan.recompute.layers() > 0.0;
    match plan.offload {
        Offload::None => "nothing",
        Offload::Optimizer | Offload::OptimizerNvme => "optimizer state",
        Offload::Checkpoints if checkpoints => "checkpoints",
        Offload::All if checkpoints => "state and checkpoints",
        // The state's place follows.
        Offload::AllNvme if checkpoints => "checkpoints on the host, state",
        Offload::Checkpoints => "no checkpoints",
        Offload::Activations => "activations",
        Offload::State | Offload::All | Offload::StateNvme | Offload::AllNvme => "state",
    }
}

/// The rule by which plans and changes are recommended: `P(fits) 90 % or more`.
pub fn safety_words() -> String {
    format!("P(fits) {} or more", whole_percent(SAFE_CHANCE))
}

/// `fits: 67.1 GiB of 79.7 GiB, 84 %, 12.6 GiB spare (80 % interval +-5.5 GiB)`.
fn verdict(scenario: &Scenario, summary: &Summary) -> String {
    let (peak, capacity) = (summary.memory.peak, summary.memory.capacity);
    let moved = if summary.memory.moves_pages() {
        format!(", {} of pages on the host", summary.memory.moved_pages)
    } else {
        String::new()
    };
    let used = format!("{peak} of {capacity}, {}{moved}", whole_percent(peak / capacity));
    let chance = chance_of_fitting(scenario, &summary.memory);
    let around = peak_half_width(scenario).map(|half| format!("80 % interval +-{}, ", peak * libm::expm1(half)));
    let sure = format!(" ({}P(fits) {})", around.unwrap_or_default(), whole_percent(chance));
    match Verdict::new(summary) {
        Verdict::Fits => format!("fits: {used}, {} spare{sure}", capacity - peak),
        Verdict::Tight => format!("fits, tight: {used}, {} spare{sure}", capacity - peak),
        Verdict::DoesNotFit => format!("does not fit: needs {peak}, {} more than {capacity}{sure}", peak - capacity),
    }
}

/// A line of a figure by its name, and what stands behind its value; nothing where there is no such figure.
fn named(figure: Figure, subject: &FigureSubject, beside: &str) -> Option<(String, String)> {
    Some(row(&figure.name(subject)?, format!("{}{beside}", figure.amount(subject)?.in_words())))
}

/// Figures that a step time leads to: with no measured run like it they have two digits.
struct StepFigures<'a> {
    subject: &'a FigureSubject<'a>,
    words: fn(Amount) -> String,
}

impl<'a> StepFigures<'a> {
    fn new(subject: &'a FigureSubject<'a>, band: Option<ErrorBand>) -> Self {
        Self { subject, words: if band.is_some() { Amount::in_words } else { Amount::in_rough_words } }
    }

    /// A line of a figure by its name, and what stands behind its value.
    fn named(&self, figure: Figure, beside: &str) -> Option<(String, String)> {
        Some(row(&figure.name(self.subject)?, (self.words)(figure.amount(self.subject)?) + beside))
    }

    /// A figure behind another one on its line.
    fn also(&self, figure: Figure) -> String {
        figure.amount(self.subject).map_or_else(String::new, |amount| format!(", {}", (self.words)(amount)))
    }
}

fn speed(subject: &FigureSubject, evaluation: &Evaluation) -> Vec<(String, String)> {
    let (scenario, summary) = (subject.scenario, subject.summary);
    let figures = StepFigures::new(subject, evaluation.error_band);
    let unsure = if evaluation.error_band.is_some() { "" } else { "; no measured run like this" };
    let sure = evaluation.error_band.map(|band| {
        let [low, high] = band.model_flops(summary);
        row("80 % interval", format!("{} to {}, {low} to {high} per device", band.low, band.high))
    });
    let based = sure.is_some().then(|| evidence(scenario)).flatten();
    let counted = match scenario.plan.flop_count {
        _ if subject.scenario.plan.tuning.freezes() => {
            "4 per frozen weight, 6 per parameter of an adapter, and attention"
        }
        _ if scenario.trains_part() => "2 per weight and token and 2 for each gradient of it, and attention",
        FlopCount::Parameters => "6 per parameter and token, and attention",
        FlopCount::Matrices => "6 per weight of a matrix and token, and attention",
        FlopCount::Causal => "6 per weight of a matrix and token, and half of causal attention",
    };
    let utilised = |figure: Figure| format!("{} {}", figures.also(figure), figure.label());
    let skipped = if summary.hfu > 1.0 { ", of which causal kernels skip half" } else { "" };
    let rows = [
        figures.named(Figure::StepTime, unsure),
        sure,
        based.map(|band| row("based on", format!("{band}{}", lacking_words(scenario)))),
        figures.named(Figure::TotalTokens, &(figures.also(Figure::TokensPerSecond) + " per device")),
        figures.named(Figure::ModelFlops, &utilised(Figure::Mfu)),
        Some(row("counted", format!("{counted}{skipped}"))),
        figures.named(Figure::HardwareFlops, &utilised(Figure::Hfu)),
    ];
    rows.into_iter().flatten().chain(training(&figures)).collect()
}

/// Time, device-hours, money and energy of the whole training, and the same with what goes wrong.
fn training(figures: &StepFigures<'_>) -> Vec<(String, String)> {
    let subject = figures.subject;
    let Some(tokens) = subject.tokens.filter(|_| !subject.scenario.plan.writes()) else { return Vec::new() };
    let cluster = &subject.scenario.cluster;
    let rate = |rate: Option<String>, of: &str| rate.map_or_else(String::new, |rate| format!(", {rate} a {of}"));
    let price = rate(subject.scenario.price().map(|price| price.to_string()), "device-hour");
    let unpriced = || row("cost", "with the price of a device-hour, like --price '2.50 EUR'".to_owned());
    let power = rate(cluster.watts_per_device.map(|power| power.to_string()), "device");
    let of = format!("{} for {} tokens", figures.also(Figure::DeviceHours), thousands(tokens));
    let spent = [Figure::CostWithFailures, Figure::EnergyWithFailures].map(|figure| figures.also(figure));
    let restart = cluster.reliability.restart.map_or_else(String::new, |restart| format!(", {restart} to restart"));
    let [goodput, write, interval] = [Figure::Goodput, Figure::CheckpointWrite, Figure::CheckpointInterval]
        .map(|figure| figure.amount(subject).map_or_else(String::new, |amount| amount.to_string()));
    let rows = [
        figures.named(Figure::Days, &of),
        figures.named(Figure::Cost, &price).or_else(|| Some(unpriced())),
        figures.named(Figure::Energy, &power),
        figures.named(Figure::DaysWithFailures, &format!(" at {goodput} goodput{}", spent.concat())),
        named(Figure::TimeBetweenFailures, subject, &restart),
        subject.failures().and(named(Figure::CheckpointBytes, subject, &format!(" in {write}, every {interval}"))),
    ];
    rows.into_iter().flatten().collect()
}

fn memory(subject: &FigureSubject) -> Vec<(String, String)> {
    let parts = MEMORY_PARTS.into_iter().filter(|part| holds(*part, subject));
    let mut rows: Vec<_> = parts.filter_map(|part| share(part, Figure::Peak, subject)).collect();
    let during = format!(" during {}", subject.summary.memory.during.kind.name());
    rows.extend([(Figure::Peak, during.as_str()), (Figure::Capacity, "")].into_iter().filter_map(
        |(figure, beside)| {
            let amount = figure.amount(subject)?;
            Some(row(&figure.name(subject)?, format!("{amount:>10}{beside}")))
        },
    ));
    let host = &subject.summary.host_memory;
    if host.total() > Bytes::ZERO {
        let stated = subject.scenario.cluster.host.as_ref();
        let memory = stated.map_or_else(|| "memory that is not stated".to_owned(), |host| host.memory.to_string());
        rows.push(row("on a node's host", format!("{:>10} of {memory}", host.total().to_string())));
    }
    if let Some(drives) = subject.scenario.cluster.drives().filter(|_| subject.scenario.plan.offload.on_drives()) {
        let held = host.drives.total().to_string();
        rows.push(row("on its drives", format!("{held:>10} of {}", drives.capacity)));
    }
    rows
}

fn time(subject: &FigureSubject, parts: &TransferParts) -> Vec<(String, String)> {
    let within = |part: Figure| WITHIN.into_iter().filter(move |(whole, _)| *whole == part).map(|(_, part)| part);
    let lost = [Figure::LostToTransfers].into_iter().filter(|lost| holds(*lost, subject));
    let listed = TIME_PARTS.into_iter().chain([Figure::StepTime]).chain(lost);
    let mut rows = Vec::new();
    for part in listed {
        rows.extend(share(part, Figure::StepTime, subject));
        let held = within(part).filter(|part| holds(*part, subject));
        rows.extend(
            held.filter_map(|part| share(part, Figure::StepTime, subject))
                .map(|(name, value)| (format!("of it, {name}"), value)),
        );
    }
    let amount = |figure: Figure| Some((figure.name(subject)?, figure.amount(subject)?));
    rows.extend(amount(Figure::Communication).map(|(name, time)| row(&name, format!("{time:>10}"))));
    let named = parts.named().into_iter().filter(|(_, time)| *time > Seconds::ZERO);
    let named: Vec<String> = named.map(|(name, time)| format!("{time} {name}")).collect();
    if let Some((name, alone)) = amount(Figure::Transfers).filter(|_| !named.is_empty()) {
        rows.push(row(&name, format!("{alone:>10} = {}", named.join(" + "))));
    }
    let (beside, own): (Vec<Figure>, Vec<Figure>) = PHASES.into_iter().partition(|phase| *phase == Figure::Beside);
    let said = |(name, time): (String, Amount)| format!("{name} {time}");
    rows.push(row("by phase", own.into_iter().filter_map(amount).map(said).collect::<Vec<_>>().join(", ")));
    let beside = beside.into_iter().filter(|phase| holds(*phase, subject)).filter_map(amount);
    rows.extend(beside.map(|phase| row("and", said(phase))));
    rows
}

/// Whether there is any of it.
fn holds(part: Figure, subject: &FigureSubject) -> bool {
    part.amount(subject).is_some_and(|amount| amount.value > 0.0)
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
fn share(part: Figure, whole: Figure, subject: &FigureSubject) -> Option<(String, String)> {
    let amount = part.amount(subject)?;
    let share = whole.amount(subject).map(|whole| percent(amount.value / whole.value));
    Some(row(&part.name(subject)?, format!("{amount:>10} {:>8}", share.unwrap_or_default()).trim_end().to_owned()))
}
