//! Published measurements: rows become scenarios, predictions meet what was measured, and the errors are
//! scored beside a null model's.
//!
//! Takes the text of CSV files and a function that evaluates scenarios. Not for reading files, for threads, or for the
//! layout of a report.

mod case;
mod columns;
mod conventions;
mod evidence;
mod null;
mod rank;
mod row;
pub mod runs;
mod score;
pub(crate) mod who;
mod words;

use std::collections::{BTreeMap, BTreeSet};

use strum::{IntoStaticStr, VariantArray};

use shardscope_engine::cost::{Factors, Rates};
use shardscope_engine::evaluate::{self, ErrorBand, Summary, chance_of_fitting};
use shardscope_engine::hardware::Device;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::units::{Bytes, Seconds};

pub use case::{Assumed, Case, Peak};
pub use columns::{is_column, needed_columns, table, template};
pub use conventions::Reading;
pub use evidence::RunGroup;
pub use evidence::{NearGroup, groups, near, nearest, read_groups, write_groups};
pub use rank::{Pairs, PriceOfChoice, Ranking};
pub use row::{MeasuredRow, Skipped, read};
pub use score::{Estimate, Scores};

use null::NullRow;
use rank::TimedLayout;
pub(crate) use score::ScoredError;

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Metric {
    /// Seconds of an optimizer step.
    StepTime,
    /// Peak of memory in bytes.
    Memory,
}

/// A prediction beside what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Residual {
    /// The row's id.
    pub id: String,
    /// Near-duplicates share one.
    pub group: String,
    /// The stack that ran it.
    pub stack: String,
    /// The cluster that it ran on.
    pub hardware: String,
    pub class: String,
    /// Whether it ran on several nodes.
    pub across: bool,
    /// Model, machine, software and batch: layouts that have these in common answer the same question.
    pub choice: String,
    pub metric: Metric,
    /// Who read a peak of memory.
    pub reading: Option<Reading>,
    /// By how much more than the device's memory the run is predicted to need, although it ran.
    pub refused: Option<Bytes>,
    /// The chance that it fits.
    pub p_fits: f64,
    /// In seconds or bytes.
    pub predicted: f64,
    /// In seconds or bytes.
    pub measured: f64,
    /// Signed error of the null model.
    pub null: f64,
    /// Both ends of its 80 % band, the lower first, where there is one and [`add_bands`] has looked for it.
    pub band: Option<[f64; 2]>,
}

impl Residual {
    /// Predicted over measured, less 1.
    pub fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    /// The row's value of a key.
    pub fn key(&self, by: ScoreKey) -> &str {
        match by {
            ScoreKey::Stack => &self.stack,
            ScoreKey::Hardware => &self.hardware,
            ScoreKey::Class => &self.class,
            ScoreKey::Group => &self.group,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ScoreKey {
    /// The id of the software stack.
    Stack,
    /// The id of the cluster.
    Hardware,
    #[strum(serialize = "strategy_class")]
    Class,
    /// Near-duplicates.
    Group,
}

/// The comparison of predictions with measured rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// Step times in the order of the rows, then peaks of memory.
    pub residuals: Vec<Residual>,
    /// Rows without a prediction.
    pub skipped: Vec<Skipped>,
    /// Assumptions for blank cells, each with the number of its rows.
    pub assumed: BTreeMap<Assumed, usize>,
    /// How well layouts were ordered.
    pub ranking: Ranking,
}

/// The cases of some rows, and the rows that have none.
pub fn cases(rows: &[MeasuredRow], library: &Library) -> (Vec<Case>, Vec<Skipped>) {
    let (mut cases, mut skipped) = (Vec::new(), Vec::new());
    for row in rows {
        match Case::new(row, library) {
            Ok(case) => cases.push(case),
            Err(why) => skipped.push(Skipped::new(&row.id(), &why)),
        }
    }
    (cases, skipped)
}

/// Evaluates cases and compares them with what was measured; `evaluate` answers scenarios in their order.
pub fn validate(
    cases: &[Case],
    evaluate: impl FnOnce(&[Scenario]) -> Vec<Result<Summary, Vec<Problem>>>,
) -> Validation {
    let scenarios: Vec<Scenario> = cases.iter().flat_map(|case| case.scenarios.iter().cloned()).collect();
    let mut summaries = evaluate(&scenarios).into_iter();
    let (mut skipped, mut assumed) = (Vec::new(), BTreeMap::new());
    let mut answered = Vec::new();
    for case in cases {
        // Two scenarios where the micro-batches are no whole number; if one cannot be evaluated, the row is dropped.
        let own: Result<Vec<Summary>, _> = summaries.by_ref().take(case.scenarios.len()).collect();
        match own {
            Ok(own) if !own.is_empty() => {
                case.assumed.iter().for_each(|one| *assumed.entry(one.clone()).or_default() += 1);
                answered.push((case, own));
            }
            Ok(_) => {}
            Err(problems) => {
                let why = problems.first().map_or_else(String::new, ToString::to_string);
                skipped.push(Skipped::new(&case.row.id(), &why));
            }
        }
    }
    let step_times = answered.iter().filter_map(|(case, own)| Some(time(case, own, case.step_time?)));
    let peaks = answered.iter().filter_map(|(case, own)| Some(memory(case, own.first()?, case.peak?)));
    let (mut residuals, simple): (Vec<Residual>, Vec<NullRow>) = step_times.chain(peaks).unzip();
    for metric in [Metric::StepTime, Metric::Memory] {
        let of_metric: Vec<usize> = (0..residuals.len()).filter(|index| residuals[*index].metric == metric).collect();
        let rows: Vec<NullRow> = of_metric.iter().map(|index| simple[*index].clone()).collect();
        for (index, error) in of_metric.into_iter().zip(null::errors(&rows)) {
            residuals[index].null = error;
        }
    }
    let ranking = ranking(&residuals, |_| true);
    Validation { residuals, skipped, assumed, ranking }
}

/// Gives step times their bands ([`ErrorBand`]), which takes an evaluation for each constant that a step depends on;
/// `evaluate` answers scenarios in their order.
pub fn add_bands(
    validation: &mut Validation,
    cases: &[Case],
    evaluate: impl FnOnce(&[Scenario]) -> Vec<Result<Summary, Vec<Problem>>>,
) {
    let scenarios: BTreeMap<String, &Scenario> = cases.iter().map(|case| (case.row.id(), case.scenario())).collect();
    let (mut asked, mut timed) = (Vec::new(), Vec::new());
    for one in validation.residuals.iter_mut().filter(|one| one.metric == Metric::StepTime) {
        let Some(scenario) = scenarios.get(&one.id) else { continue };
        let nudges = evaluate::nudges(scenario);
        asked.push((*scenario).clone());
        asked.extend(nudges.iter().map(|nudge| nudge.scenario.clone()));
        timed.push((one, *scenario, nudges));
    }
    let answers = evaluate(&asked).into_iter();
    let mut steps = answers.map(|answer| answer.map_or(f64::NAN, |summary| summary.step_time.get()));
    for (one, scenario, nudges) in timed {
        let own = steps.next().unwrap_or(f64::NAN);
        let slopes = evaluate::slopes(own, nudges.into_iter().zip(steps.by_ref()));
        let band = ErrorBand::around(scenario, Seconds::new(one.predicted), Some(&slopes));
        one.band = band.map(|ErrorBand { low, high, .. }| [low.get(), high.get()]);
    }
}

impl Validation {
    /// The share of groups that lie in their bands, a group's rows sharing its weight; `None` without bands.
    pub fn held(&self) -> Option<f64> {
        let inside = |one: &Residual| one.band.map(|[low, high]| (low..=high).contains(&one.measured));
        let mut groups: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for (one, inside) in self.residuals.iter().filter_map(|one| Some((one, inside(one)?))) {
            let (held, rows) = groups.entry(&one.group).or_default();
            (*held, *rows) = (*held + f64::from(u8::from(inside)), *rows + 1.0);
        }
        let shares: f64 = groups.values().map(|(held, rows)| held / rows).sum();
        (!groups.is_empty()).then(|| shares / groups.len() as f64)
    }

    /// Scores of what `wanted` picks.
    pub fn scores(&self, wanted: impl Fn(&Residual) -> bool) -> Option<Scores> {
        let picked = self.residuals.iter().filter(|one| wanted(one));
        Scores::new(picked.map(|one| ScoredError { group: &one.group, error: one.error(), null: one.null }))
    }

    /// How well layouts are ordered among what `wanted` picks.
    pub fn ranking_of(&self, wanted: impl Fn(&Residual) -> bool) -> Ranking {
        ranking(&self.residuals, wanted)
    }

    /// The values that a key has among a metric's residuals, in order.
    pub fn values(&self, metric: Metric, by: ScoreKey) -> BTreeSet<&str> {
        self.residuals.iter().filter(|one| one.metric == metric).map(|one| one.key(by)).collect()
    }
}

fn residual(case: &Case, own: &Summary, metric: Metric, predicted: f64, measured: f64) -> Residual {
    Residual {
        id: case.row.id(),
        group: case.row.group(),
        stack: case.label("stack"),
        hardware: case.label("cluster"),
        class: case.label("strategy_class"),
        across: case.across(),
        choice: choice(case),
        metric,
        reading: None,
        refused: (!own.fits).then(|| own.memory.peak - own.memory.capacity),
        p_fits: chance_of_fitting(case.scenario(), &own.memory),
        predicted,
        measured,
        null: f64::NAN,
        band: None,
    }
}

/// A row of the null model: its cells are of one device and stack, inside a node or across nodes.
fn simple(case: &Case, base: f64, measured: f64) -> NullRow {
    let scenario = case.scenario();
    let Device { name, .. } = &scenario.cluster.device;
    NullRow { cell: (name.clone(), scenario.stack.id.clone(), case.across()), group: case.row.group(), base, measured }
}

/// Step time: between the two scenarios where there are two. The null model scales the time that the model
/// flop (6 N + 12 L d s per token) takes at the peak.
fn time(case: &Case, own: &[Summary], measured: f64) -> (Residual, NullRow) {
    let predicted = case.between(own, |summary| summary.step_time.get());
    let at_peak = case.between(own, |summary| summary.mfu * summary.step_time.get());
    (residual(case, &own[0], Metric::StepTime, predicted, measured), simple(case, at_peak, measured))
}

/// Stages whose activations are on the device although they are kept on the host: one leaves, and two buffers for
/// what comes back change hands (kwai/Megatron-Kwai, `megatron/core/pipeline_parallel/offload.py`).
const PASSING: f64 = 3.0;

/// Peak memory as its reader would have read it: an allocator's without what the runtime takes.
pub(crate) fn read_peak(scenario: &Scenario, summary: &Summary, peak: Peak) -> Bytes {
    let allocator = &scenario.calibration.allocator;
    let all = if peak.first { summary.first_peak } else { summary.memory.peak };
    let whole = match peak.reading {
        Reading::Device => all,
        Reading::Reserved => allocator.held(all) + cached(scenario),
        Reading::Allocator => allocator.asked(all),
    };
    if peak.offloaded == 0.0 {
        return whole;
    }
    // What a layer works in stays on the device, whatever is kept elsewhere.
    let (model, rates) = (&scenario.model, Rates::new(scenario, &Factors::default()));
    let of_kinds = || model.kinds().map(|(kind, layers)| (rates.activations(kind), f64::from(layers)));
    let own = of_kinds().map(|(own, _)| own.whole + own.working).fold(Bytes::ZERO, Bytes::max);
    let kept = (summary.memory.parts.activations - own).max(Bytes::ZERO);
    let stages = f64::from(scenario.plan.pipeline) * f64::from(scenario.plan.stages_per_rank);
    let stage = of_kinds().map(|(own, layers)| own.layer * layers).sum::<Bytes>() / stages;
    whole - (kept - stage * PASSING).max(Bytes::ZERO) * peak.offloaded
}

/// Blocks that collectives of tensor parallelism have left in an allocator's cache, beside what it holds at the peak. In a
/// pipeline the fullest rank has no logits, for which they would be too small; those of cut products lie elsewhere
/// (PyTorch's symmetric memory).
fn cached(scenario: &Scenario) -> Bytes {
    let Scenario { plan, stack, model, .. } = scenario;
    if plan.pipeline > 1 || plan.tensor_overlap {
        return Bytes::ZERO;
    }
    let whole = Rates::new(scenario, &Factors::default()).tokens() * f64::from(model.hidden);
    let others = 1.0 - 1.0 / f64::from(plan.tensor);
    whole * others * stack.cached_exchanges * Bytes::new(plan.precision.storage().bytes())
}

/// Peak memory. The null model scales the state's bytes.
fn memory(case: &Case, summary: &Summary, peak: Peak) -> (Residual, NullRow) {
    let parts = &summary.memory.parts;
    let predicted = read_peak(case.scenario(), summary, peak);
    let state: Bytes = [parts.weights, parts.gradients, parts.optimizer].into_iter().sum();
    let mut residual = residual(case, summary, Metric::Memory, predicted.get(), peak.bytes.get());
    residual.reading = Some(peak.reading);
    (residual, simple(case, state.get(), peak.bytes.get()))
}

/// The cells in which compared layouts agree: the training, the machine and the software.
fn choice(case: &Case) -> String {
    // Rows of post-training have none of them: each is a question of its own.
    if case.row.is_of_post_training() {
        return case.row.id();
    }
    let columns = [
        "cluster",
        "inter_node_gbps",
        "num_gpus",
        "stack",
        "compiled",
        "precision",
        "model",
        "layers",
        "hidden",
        "heads",
        "ffn_hidden",
        "seq_len",
        "global_batch",
    ];
    columns.map(|column| case.row.text(column)).join("|")
}

fn ranking(residuals: &[Residual], wanted: impl Fn(&Residual) -> bool) -> Ranking {
    let timed = residuals.iter().filter(|one| one.metric == Metric::StepTime && wanted(one));
    let layouts: Vec<TimedLayout> =
        timed.map(|one| TimedLayout { key: &one.choice, predicted: one.predicted, measured: one.measured }).collect();
    Ranking::new(&layouts)
}

#[cfg(test)]
mod tests;
