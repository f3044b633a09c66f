//! How sure a step time is, by the calibration's bands. Not for working bands out of measured rows.

use strum::VariantArray;

use crate::cost::{Factors, Rates};
use crate::model::Model;
use crate::plan::PostMethod;
use crate::scenario::{HostThreads, Scenario};
use crate::stack::{Band, Beyond, ConstantValues, Division, Likeness};
use crate::units::{Bytes, Count, FlopPerSecond, Seconds};

use super::figures::{Memory, Summary};

/// Standard deviations on each side of the middle that hold 80 % of a normal distribution.
pub const COVERAGE_SIGMA: f64 = 1.281_552;

/// Half width, in the logarithm, of steps whose update runs on the host: five published ones are predicted within 35 %, with
/// the threads that they ran with (docs/model.md).
const HOST_HALF_WIDTH: f64 = 0.3;
const HOST_ROWS: u32 = 5;

/// An 80 % band of the step time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBand {
    /// Lower end.
    pub low: Seconds,
    /// Upper end.
    pub high: Seconds,
    /// Measured rows behind it.
    pub rows: u32,
    /// Those of one's own among them.
    pub own: u32,
}

impl ErrorBand {
    /// Around a scenario's predicted step time `t`, from `t e^-w` to `t e^w`; none where no measured rows stand behind the
    /// scenario.
    ///
    /// `w` is the half width of [`evidence`], [widened](Band::widened) for runs that no fit saw, and of 80 % of what the constants leave open of a step with these slopes
    /// ([`super::slopes`]; none: as if they were exact), as independent of one another: the first is how far rows, or
    /// sources, differ from a fit beside them; the second grows with what no such row told, like the latency of thousands
    /// of nodes.
    pub fn around(scenario: &Scenario, step_time: Seconds, slopes: Option<&ConstantValues>) -> Option<Self> {
        let band = evidence(scenario)?;
        let open =
            scenario.calibration.posterior().zip(slopes).map(|(posterior, slopes)| posterior.uncertainty(slopes));
        let half_width = libm::hypot(band.widened(), COVERAGE_SIGMA * open.unwrap_or(0.0));
        // Widths are of the logarithm: 0.1 is from 0.905 to 1.105 times the step, as likely too slow as too fast.
        let end = |exponent: f64| step_time * libm::exp(exponent);
        Some(Self { low: end(-half_width), high: end(half_width), rows: band.rows, own: band.own })
    }

    /// The band of a scenario's predicted figures; none where pages of its optimizer move, as in no measured row.
    pub fn of_summary(scenario: &Scenario, summary: &Summary, slopes: Option<&ConstantValues>) -> Option<Self> {
        if scenario.plan.offloads() {
            return Self::with_host(scenario, summary.step_time, summary.updated_on_host);
        }
        Self::around(scenario, summary.step_time, slopes).filter(|_| !summary.memory.moves_pages())
    }

    /// The band of a step in which each rank updates so many parameters on the host, in its memory, and that is else like measured
    /// ones: five published steps stand behind it, and it spans the threads with which the update may run where they are not
    /// known.
    fn with_host(scenario: &Scenario, step_time: Seconds, updated: Count) -> Option<Self> {
        let unlike = Unmeasured::of(scenario).any(|part| part != Unmeasured::Offload);
        let offload = scenario.plan.offload;
        if unlike || !offload.optimizer() || offload.on_drives() {
            return None;
        }
        let run = likeness(scenario);
        let measured = scenario.calibration.bands.iter().find(|band| band.serves(&run))?;
        let rates = Rates::new(scenario, &Factors::default());
        let HostThreads { counted, most } = scenario.host_threads();
        rates.host_update_rate(counted)?;
        let [slow, fast] = [counted, most.unwrap_or(counted)].map(|threads| rates.host_update(updated, threads));
        let half_width = libm::hypot(measured.widened(), HOST_HALF_WIDTH);
        let low = (step_time - (slow - fast)).max(Seconds::ZERO) * libm::exp(-half_width);
        Some(Self { low, high: step_time * libm::exp(half_width), rows: HOST_ROWS, own: 0 })
    }

    /// The model flop per second and device at its ends, the lower first.
    pub fn model_flops(self, summary: &Summary) -> [FlopPerSecond; 2] {
        [self.high, self.low].map(|step| summary.model_flops * (summary.step_time / step))
    }
}

/// The nearest measured rows: the first of the calibration's bands that serves the scenario; none where no row is like it
/// at all.
pub fn evidence(scenario: &Scenario) -> Option<&Band> {
    if Unmeasured::any(scenario) {
        return None;
    }
    let run = likeness(scenario);
    scenario.calibration.bands.iter().find(|band| band.serves(&run))
}

/// A part of a scenario that no measured row has: whatever bands the rows give, they say nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantArray)]
pub enum Unmeasured {
    /// Settings that an import did not understand: whatever else a scenario says, these may change it.
    Unknown,
    /// Experts that run one after the other, though they are timed as grouped products.
    ExpertLoop,
    /// Mixtures of experts, on an architecture of which every row is of a dense model.
    Experts,
    /// Mixers that keep a state in place of attention: every row has attention in all layers.
    Recurrence,
    /// Attention to the tokens that an indexer chooses.
    SparseAttention,
    /// Adapters beside frozen weights, on an architecture of which every row trains a whole model; or another part of a model.
    Part,
    /// Preferences, scores or a teacher: every row predicts the next token, with no model beside.
    Method,
    /// Offload to the host.
    Offload,
    /// A sequence longer than the longest of the rows.
    Sequence,
    /// Logits that take a larger share of the work than those of any row.
    Head,
    /// Attention that keeps to each of the examples in a sequence: in every row it is the sequence's.
    Examples,
}

impl Unmeasured {
    /// Those of a scenario.
    pub fn of(scenario: &Scenario) -> impl Iterator<Item = Self> + use<'_> {
        Self::VARIANTS.iter().copied().filter(|part| part.is_in(scenario))
    }

    fn any(scenario: &Scenario) -> bool {
        Self::VARIANTS.iter().any(|part| part.is_in(scenario))
    }

    fn is_in(self, scenario: &Scenario) -> bool {
        match self {
            Self::Unknown => !scenario.unknown.is_empty(),
            Self::ExpertLoop => scenario.model.experts.is_some() && scenario.stack.loops_experts,
            Self::Experts => scenario.model.experts.is_some() && unserved(scenario),
            Self::Recurrence => scenario.model.kinds().any(|(kind, _)| scenario.model.recurrence(kind).is_some()),
            Self::SparseAttention => scenario.model.indexer.is_some(),
            Self::Part => scenario.trains_part() && (!scenario.plan.tuning.freezes() || unserved(scenario)),
            Self::Method => scenario.plan.post_training.method != PostMethod::Sft,
            Self::Offload => scenario.plan.offloads(),
            Self::Sequence => scenario.calibration.longest_sequence.is_some_and(|most| scenario.plan.sequence > most),
            Self::Examples => scenario.plan.attended_sequence() < scenario.plan.sequence,
            Self::Head => scenario.calibration.largest_head.is_some_and(|most| head_share(&scenario.model) > most),
        }
    }
}

/// Share of a token's products that is the logits': vocabulary x hidden over all weights that it is multiplied with.
pub fn head_share(model: &Model) -> f64 {
    let head = u64::from(model.vocab) * u64::from(model.hidden);
    // Where embedding and head are two matrices, a token takes a row of the first one.
    let rows = if model.tied { 0 } else { head };
    head as f64 / model.active_parameters().saturating_sub(rows).max(head).max(1) as f64
}

/// Whether no band serves a scenario.
fn unserved(scenario: &Scenario) -> bool {
    let run = likeness(scenario);
    !scenario.calibration.bands.iter().any(|band| band.serves(&run))
}

/// The band nearest to a scenario whose rows do not reach it, and in what; none where the nearest band serves.
pub fn beyond(scenario: &Scenario) -> Option<(&Band, Beyond)> {
    let run = likeness(scenario);
    let nearest = scenario.calibration.bands.iter().find(|band| band.is_for(&run))?;
    Some((nearest, nearest.beyond(&run).next()?))
}

/// The least chance of fitting with which anything is recommended.
pub const SAFE_CHANCE: f64 = 0.9;

/// Half width of the 80 % interval of a peak that no measured one is like, in the logarithm: 90 % of the memory then fits with
/// [`SAFE_CHANCE`], `-ln 0.9`.
const UNMEASURED_PEAK: f64 = 0.105_360_515_657_826_3;

/// The half width of the 80 % interval of a peak of memory, in the logarithm; none where no measured peak is like it, as none
/// is of a model with experts.
pub fn peak_half_width(scenario: &Scenario) -> Option<f64> {
    let alike = !Unmeasured::any(scenario) && scenario.model.experts.is_none();
    scenario.calibration.peak_half_width.filter(|_| alike)
}

/// The same for any scenario: where no measured peak is like it, as if 90 % of the memory fitted with [`SAFE_CHANCE`]; beside
/// settings that are unknown the wider of that and of what measured peaks have.
pub fn peak_spread(scenario: &Scenario) -> f64 {
    let measured = scenario.calibration.peak_half_width.filter(|_| !scenario.unknown.is_empty());
    peak_half_width(scenario)
        .unwrap_or_else(|| measured.map_or(UNMEASURED_PEAK, |measured| measured.max(UNMEASURED_PEAK)))
}

/// The chance that a scenario fits.
///
/// Peaks are taken to lie around their predictions as a normal distribution of the logarithm, of which the interval of
/// [`peak_spread`] holds 80 %: `P(fits) = Phi(ln(capacity / peak) / (half width / 1.2816))`.
///
/// ```
/// use shardscope_engine::evaluate::{Workspace, chance_of_fitting, summary};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let memory = summary(&scenario, &mut Workspace::default()).map_err(|problems| problems[0].clone())?.memory;
/// // 67.1 of 79.1 GiB with a half width of 0.08: Phi(ln(79.1 / 67.1) / (0.08 / 1.2816)) = Phi(2.6).
/// assert!((chance_of_fitting(&scenario, &memory) - 0.996).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn chance_of_fitting(scenario: &Scenario, memory: &Memory) -> f64 {
    chance_of_room(scenario, memory.needed(), memory.capacity)
}

/// The chance that what a scenario needs is within so much memory.
pub(crate) fn chance_of_room(scenario: &Scenario, needed: Bytes, room: Bytes) -> f64 {
    // As sure as can be told apart, where measured peaks are as predicted.
    let sigma = peak_spread(scenario).max(f64::EPSILON) / COVERAGE_SIGMA;
    let room = libm::log(room / needed) / sigma;
    libm::erfc(-room / core::f64::consts::SQRT_2) / 2.0
}

/// The share of a device's memory up to which a peak fits with [`SAFE_CHANCE`]: the upper end of its 80 % interval.
pub(crate) fn safe_share(scenario: &Scenario) -> f64 {
    libm::exp(-peak_spread(scenario))
}

/// Whether a scenario fits with [`SAFE_CHANCE`]: the one rule by which plans and changes are recommended.
pub(crate) fn fits_safely(scenario: &Scenario, summary: &Summary) -> bool {
    summary.memory.needed() <= summary.memory.capacity * safe_share(scenario)
}

/// By what the runs are chosen that are like this one.
pub fn likeness(scenario: &Scenario) -> Likeness<'_> {
    Likeness {
        stack: &scenario.stack.id,
        architecture: &scenario.cluster.device.architecture,
        division: Division::from(&scenario.plan),
        across_nodes: scenario.devices() > scenario.cluster.devices_per_node(),
        experts: scenario.model.experts.is_some(),
        part: scenario.trains_part(),
        device: &scenario.cluster.device.name,
        devices: scenario.devices(),
        precision: scenario.plan.precision,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::evaluate::{Nudge, Workspace, nudges, slopes};
    use crate::plan::{Offload, Size};
    use crate::presets::Library;
    use crate::scenario::file::parse;

    fn scenario(hardware: &str, stack: &str) -> Scenario {
        let library = Library::embedded();
        let mut file = parse(&library.scenario_text("default").expect("embedded").text).expect("valid");
        file.set("hardware", hardware).expect("known");
        file.set("stack", stack).expect("known");
        library.resolve(&file).expect("a scenario")
    }

    /// What no measured step time stands behind has no band: peaks, and devices without a scored row. Of MI250X there are
    /// seven rows, all of LUMI.
    #[test]
    fn only_evidence_gives_a_band() {
        let step = Seconds::new(1.0);
        for (hardware, stack) in
            [("h100-80gb-dgx", "ideal"), ("v100-32gb-dgx2", "deepspeed-zeropp-2023"), ("titan-rtx-pcie", "default")]
        {
            assert_eq!(ErrorBand::around(&scenario(hardware, stack), step, None), None, "{stack} on {hardware}");
        }
        let on = |hardware, stack| ErrorBand::around(&scenario(hardware, stack), step, None).expect("measured");
        let of = |stack| on("a100-80gb-dgx", stack);
        assert!(on("mi250x-frontier", "default").high > of("default").high, "seven rows say less than a thousand");
        assert!(of("default").high > of("llm-foundry-2024").high, "an unseen stack is less sure");
        // Packed examples that attention keeps apart, unless each fills a sequence.
        let mut apart = scenario("a100-80gb-dgx", "default");
        (apart.plan.packing, apart.plan.examples_apart) = (Some(apart.plan.sequence / 2), true);
        assert_eq!(ErrorBand::around(&apart, step, None), None);
        apart.plan.packing = Some(apart.plan.sequence);
        assert!(ErrorBand::around(&apart, step, None).is_some());
    }

    /// Rows within e^(+-0.1): a run that no fit saw has 2.4 times that. exp(0.24) = 1.271249 and exp(-0.24) = 0.786628: 2 s become
    /// 2.542498 and 1.573256.
    #[test]
    fn the_band_is_as_wide_on_both_sides() {
        let mut scenario = scenario("a100-80gb-dgx", "fms-fsdp");
        let own = |stack: &str, half_width| Band {
            stacks: vec![stack.to_owned()],
            architecture: "ampere".to_owned(),
            division: None,
            across_nodes: None,
            experts: false,
            part: false,
            own: 0,
            reach: None,
            half_width,
            groups: 11,
            rows: 17,
        };
        Arc::make_mut(&mut scenario.calibration).bands = vec![own("torchtitan", 0.3), own("fms-fsdp", 0.1)];
        let band = ErrorBand::around(&scenario, Seconds::new(2.0), None).expect("a band");
        assert!((band.high.get() - 2.542_498).abs() < 1e-6 && (band.low.get() - 1.573_256).abs() < 1e-6, "{band:?}");
        assert_eq!(band.rows, 17);
    }

    /// Half width 0.1281552: a standard deviation of 0.1. Peaks of capacity x e^(-0.1281552) fit with 90 %, of just the
    /// capacity with 50 %, and beyond it by as much with 10 %.
    #[test]
    fn a_peak_fits_with_a_chance() {
        let mut scenario = scenario("a100-80gb-dgx", "fms-fsdp");
        Arc::make_mut(&mut scenario.calibration).peak_half_width = Some(0.128_155_2);
        let mut memory = crate::evaluate::summary(&scenario, &mut Workspace::default()).expect("a step").memory;
        for (share, chance) in [(safe_share(&scenario), SAFE_CHANCE), (1.0, 0.5), (libm::exp(0.128_155_2), 0.1)] {
            memory.peak = memory.capacity * share;
            let found = chance_of_fitting(&scenario, &memory);
            assert!((found - chance).abs() < 1e-6, "{found} at {share}");
        }
        scenario.plan.offload = Offload::State;
        assert_eq!(peak_half_width(&scenario), None, "no row ran with offload");
        memory.peak = memory.capacity * 0.9;
        assert!(
            (chance_of_fitting(&scenario, &memory) - 0.9).abs() < 1e-6 && (safe_share(&scenario) - 0.9).abs() < 1e-12
        );
        assert_eq!(evidence(&scenario), None);
    }

    /// One thread of 4 moves 1 GB/s where 16 cores a rank may: the update of 100.7 million parameters on 8 ranks, 28 B each, takes
    /// 0.352 s with one, 0.022 s with 16. The band spans both, with 35 % on each side and what the rows leave open; known threads
    /// leave it as wide on both sides.
    #[test]
    fn an_update_on_the_host_spans_the_threads_that_it_may_have() {
        let mut scenario = crate::testing::scenario();
        (scenario.plan.offload, scenario.plan.host_threads) = (Offload::Optimizer, None);
        Arc::make_mut(&mut scenario.cluster).host = Some(crate::testing::host(1e12, 1e12));
        Arc::make_mut(&mut scenario.stack).launcher = Some(crate::stack::ProcessLauncher::Deepspeed);
        let run = likeness(&scenario);
        let band = Band {
            stacks: vec![run.stack.to_owned()],
            architecture: run.architecture.to_owned(),
            division: None,
            across_nodes: None,
            experts: false,
            part: false,
            own: 0,
            reach: None,
            half_width: 0.4 / 2.4,
            groups: 2,
            rows: 2,
        };
        let calibration = Arc::make_mut(&mut scenario.calibration);
        calibration.bands = vec![band];
        calibration.software.host_update = Some(crate::units::BytesPerSecond::new(1e9));
        let step = Seconds::new(1.0);
        let updated = Count::new(12.0 * 1024.0 * 1024.0);
        let of = |scenario: &Scenario| {
            ErrorBand::with_host(scenario, step, updated).map(|band| (band.low.get(), band.high.get()))
        };
        // hypot(0.4, 0.3) = 0.5; e^0.5 = 1.648721. One thread: 12 x 1024^2 x 28 / 1e9 = 0.352322 s, 16: 0.022020.
        let (low, high) = of(&scenario).expect("a band");
        assert!((high - 1.648_721).abs() < 1e-5, "{high}");
        assert!((low - (1.0 - 0.330_302) / 1.648_721).abs() < 1e-5, "{low}");
        scenario.plan.host_threads = Some(4);
        assert!((of(&scenario).expect("a band").0 - 1.0 / 1.648_721).abs() < 1e-5);
        scenario.plan.offload = Offload::Checkpoints;
        assert_eq!(of(&scenario), None, "no published run stands behind copies of activations");
    }

    /// A stack's own rows end at 512 devices. What the latency between thousands of nodes costs, none of them told.
    #[test]
    fn a_step_beyond_the_data_is_less_sure() {
        let width = |nodes: u32| {
            let mut scenario = scenario("h100-80gb-dgx", "llm-foundry-2024");
            scenario.plan.size = Size::Nodes(nodes);
            let mut workspace = Workspace::default();
            let step = crate::evaluate::summary(&scenario, &mut workspace).expect("a step").step_time;
            let moved = |nudge: Nudge| {
                let moved = crate::evaluate::summary(&nudge.scenario, &mut workspace).expect("a step").step_time;
                (nudge, moved.get())
            };
            let slopes = slopes(step.get(), nudges(&scenario).into_iter().map(moved));
            let around = |slopes| ErrorBand::around(&scenario, step, slopes).expect("a band");
            let width = |band: ErrorBand| libm::log(band.high / band.low) / 2.0;
            let [near, all] = [around(None), around(Some(&slopes))].map(width);
            // In quadrature: what the constants leave open widens the band, and never narrows it.
            let open = COVERAGE_SIGMA * scenario.calibration.posterior().expect("fitted").uncertainty(&slopes);
            assert!((all - libm::hypot(near, open)).abs() < 1e-9, "{all} of {near} and {open}");
            open
        };
        let [beside, beyond] = [16, 4096].map(width);
        assert!(beyond > 2.0 * beside, "{beside} at 16 nodes, {beyond} at 4,096");
    }
}
