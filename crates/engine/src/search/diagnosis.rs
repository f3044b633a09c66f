//! Diagnosis of a measured figure: which causes may explain its gap to the prediction. A cause is a setting other than
//! the user thinks, a slow link or low clocks. Each is evaluated as a scenario, and the nearest ones are named.
//!
//! Not for improvements ([`super::advice`]), nor for the constants of a calibration, which have a posterior.

mod own_figure;
mod prices;
mod rates;
mod suspects;

use std::cmp::Ordering;
use std::fmt;

use crate::evaluate::{ErrorBand, Summary, Workspace, summary};
use crate::plan::GlobalBatch;
use crate::presets::Library;
use crate::scenario::{Field, Problem, Scenario};

use super::advice::Adviser;
use super::candidate::Candidate;
use super::evaluator::Evaluator;
use suspects::Suspect;

pub use own_figure::OwnFigure;
pub use prices::ChoicePrice;

/// At most this many hypotheses are named.
const MOST: usize = 10;

/// At most this many settings are tried in pairs: those whose figures come nearest.
const MOST_PAIRED: usize = 16;

/// Figures of one run repeat to within this much, in the logarithm: smaller differences rank as equally near.
const REPEATS: f64 = 0.025;

/// A hypothesis closes at least this share of the gap.
const LEAST: f64 = 0.1;

/// Half width of the band, in the logarithm, of a prediction that no measured run supports.
const UNKNOWN_BAND: f64 = 0.1;

/// Possible causes of a measured figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The measured figure that is to be explained.
    pub figure: OwnFigure,
    /// The figures of the scenario as it is.
    pub predicted: Summary,
    /// How far the scenario's own figure is from the measured one: 0.1 where it is 10 % more.
    pub off: f64,
    /// Half width of the prediction's 80 % band, in the logarithm.
    pub band: f64,
    /// How many hypotheses were evaluated.
    pub tried: usize,
    /// The nearest hypotheses, the nearest first; equally near ones in the order settings, links, clocks. Each closes
    /// at least a tenth of the gap.
    pub hypotheses: Vec<Hypothesis>,
    /// The memory and time that each choice would save or cost; only where memory was measured.
    pub prices: Vec<ChoicePrice>,
}

/// A kind of cause, the simplest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CauseKind {
    /// Software or hardware was set otherwise.
    Setting,
    /// Data passes a level of the cluster at another rate.
    Link,
    /// Devices run at lower clocks.
    Clock,
}

impl CauseKind {
    /// Its word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Setting => "setting",
            Self::Link => "link",
            Self::Clock => "clock",
        }
    }
}

/// A possible cause, evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Hypothesis {
    /// Whether it is a setting, a link or the clocks.
    pub kind: CauseKind,
    /// The changes that are made together.
    pub changes: Vec<Change>,
    /// The edits that make the change, and the scenario with them.
    pub candidate: Candidate,
    /// The figures of that scenario.
    pub summary: Summary,
    /// How far its figure is from the measured one: 0.1 where it is 10 % more.
    pub off: f64,
}

/// One change of a hypothesis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The flag of a field, or a setting of the software or the machine.
    pub setting: String,
    /// The new value, as a flag takes it.
    pub value: String,
}

impl Change {
    fn new(setting: impl Into<String>, value: impl Into<String>) -> Self {
        Self { setting: setting.into(), value: value.into() }
    }
}

impl fmt::Display for Hypothesis {
    /// `recompute full + micro-batch 2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.joined(|Change { setting, value }| format!("{setting} {value}")))
    }
}

impl Hypothesis {
    /// Words on each change, joined by ` + `.
    pub fn joined(&self, words: impl Fn(&Change) -> String) -> String {
        self.changes.iter().map(words).collect::<Vec<_>>().join(" + ")
    }

    /// Whether it changes the settings that another one changes.
    fn changes_as(&self, other: &Self) -> bool {
        self.changes.iter().map(|one| &one.setting).eq(other.changes.iter().map(|one| &one.setting))
    }

    /// How far its figure is from the measured one, in the logarithm.
    fn apart(&self) -> f64 {
        libm::log1p(self.off).abs()
    }
}

impl Diagnosis {
    /// Whether the prediction's band holds the measured figure, so that nothing needs a cause.
    pub fn is_expected(&self) -> bool {
        self.within(self.off)
    }

    /// Whether a hypothesis comes within the band of the prediction.
    pub fn explains(&self, hypothesis: &Hypothesis) -> bool {
        self.within(hypothesis.off)
    }

    /// Whether any hypothesis explains the figure.
    pub fn is_explained(&self) -> bool {
        self.hypotheses.iter().any(|one| self.explains(one))
    }

    fn within(&self, off: f64) -> bool {
        libm::log1p(off).abs() <= self.band
    }
}

/// Finds causes that may explain the gap between a scenario's figure and the measured one. `None` where cancelled.
///
/// ```
/// use shardscope_engine::search::{Evaluator, OwnFigure, diagnose, pool};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let figure = OwnFigure::Mfu(0.2);
/// let found = diagnose(&library, &scenario, figure, &Evaluator::on(&pool(None)?)).map_err(|problems| problems[0].clone())?;
/// let diagnosis = found.expect("nobody cancelled it");
/// for cause in diagnosis.hypotheses.iter().filter(|cause| diagnosis.explains(cause)) {
///     println!("{:?}: {:+.1} % off", cause.kind, 100.0 * cause.off);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn diagnose(
    library: &Library,
    scenario: &Scenario,
    figure: OwnFigure,
    evaluator: &Evaluator,
) -> Result<Option<Diagnosis>, Vec<Problem>> {
    let mut file = library.file(scenario);
    // A batch that does not divide cannot have run: the number of micro-batches is kept in its place.
    if scenario.keeps_batch().is_err() {
        file.put(Field::Accumulate, Some(scenario.plan.accumulate.into()));
    }
    // The run did run: the stack may be another than was thought.
    let adviser = Adviser { library, file: &file, scenario, any_plan: true };
    let predicted = summary(scenario, &mut Workspace::default())?;
    let evaluated = |suspects: Vec<Suspect>| {
        let scenarios: Vec<Scenario> = suspects.iter().map(|one| one.candidate.scenario.clone()).collect();
        let figures = evaluator.summaries(&scenarios).into_iter();
        suspects.into_iter().zip(figures).filter_map(|(one, figures)| Some((one, figures.ok()?))).collect::<Vec<_>>()
    };
    let mut shortlist = Shortlist { figure, predicted, tried: 0, found: Vec::new() };
    shortlist.keep(evaluated(suspects::singles(&adviser)));
    let band = band(figure, scenario, &predicted);
    if shortlist.nearest().is_none_or(|nearest| nearest > band) {
        shortlist.keep(evaluated(suspects::pairs(&adviser, &shortlist.promising())));
    }
    let prices = if figure.is_of_time() {
        shortlist.keep(evaluated(rates::suspects(&adviser, figure, evaluator)));
        Vec::new()
    } else {
        let held = with_batch_held(scenario);
        let (scenario, file) = (&held, &library.file(&held));
        prices::all(&Adviser { library, file, scenario, any_plan: true }, figure, &predicted, evaluator)
    };
    let (tried, off) = (shortlist.tried, figure.off(&predicted));
    let diagnosis = Diagnosis { figure, predicted, off, band, tried, hypotheses: shortlist.named(), prices };
    Ok((!evaluator.cancel().is_cancelled()).then_some(diagnosis))
}

/// A scenario whose choices keep the batch that it ran with.
fn with_batch_held(scenario: &Scenario) -> Scenario {
    let mut held = scenario.clone();
    let sequences = scenario.sequences();
    if !held.plan.global_batch.is_held() && libm::trunc(sequences).total_cmp(&sequences).is_eq() {
        held.plan.global_batch = GlobalBatch::Sequences(sequences as u32);
    }
    held
}

/// Half width of the 80 % band of a figure, in the logarithm.
fn band(figure: OwnFigure, scenario: &Scenario, predicted: &Summary) -> f64 {
    let step = predicted.step_time;
    let known = if figure.is_of_time() {
        ErrorBand::of_summary(scenario, predicted, None).map(|band| libm::log(band.high / step))
    } else {
        scenario.calibration.peak_half_width
    };
    known.unwrap_or(UNKNOWN_BAND)
}

/// The hypotheses that come nearer to the measurement than the scenario itself.
struct Shortlist {
    figure: OwnFigure,
    predicted: Summary,
    tried: usize,
    /// Hypotheses that close some of the gap.
    found: Vec<Hypothesis>,
}

impl Shortlist {
    /// Keeps the evaluated suspects that could have run and come nearer to the measurement.
    fn keep(&mut self, evaluated: Vec<(Suspect, Summary)>) {
        let now = libm::log1p(self.figure.off(&self.predicted)).abs();
        for (suspect, summary) in evaluated {
            self.tried += 1;
            // A run that was timed had room. Where the scenario itself is predicted not to fit, room tells nothing.
            let had_room = !self.figure.is_of_time() || summary.fits || !self.predicted.fits;
            let Suspect { kind, changes, candidate } = suspect;
            let off = self.figure.off(&summary);
            let one = Hypothesis { kind, changes, candidate, summary, off };
            if had_room && off.is_finite() && one.apart() < now {
                self.found.push(one);
            }
        }
    }

    /// How near the nearest hypothesis is, in the logarithm.
    fn nearest(&self) -> Option<f64> {
        self.found.iter().map(Hypothesis::apart).min_by(f64::total_cmp)
    }

    /// The settings that come nearest by themselves, to be tried in pairs.
    fn promising(&self) -> Vec<&Hypothesis> {
        let mut found: Vec<&Hypothesis> = self.found.iter().collect();
        found.sort_by(|one, other| one.apart().total_cmp(&other.apart()));
        found.truncate(MOST_PAIRED);
        found
    }

    /// The nearest value of each change, the nearest change first; also others that come as near as runs repeat, since the
    /// figure does not tell them from it.
    fn named(mut self) -> Vec<Hypothesis> {
        let steps = |one: &Hypothesis| (one.apart() / REPEATS) as u64;
        self.found.sort_by(|one, other| {
            let rank = |one: &Hypothesis| (steps(one), one.kind, one.changes.len());
            let simplest = rank(one).cmp(&rank(other));
            // Rates are solved for, so all are equally near: they keep their order, the outermost level first.
            let by_apart = one.apart().total_cmp(&other.apart());
            simplest.then(if one.kind == CauseKind::Setting { by_apart } else { Ordering::Equal })
        });
        let enough = libm::log1p(self.figure.off(&self.predicted)).abs() * (1.0 - LEAST);
        let mut named: Vec<Hypothesis> = Vec::new();
        for one in self.found.into_iter().filter(|one| one.apart() <= enough) {
            let nearest = steps(&one) == 0 || !named.iter().any(|other| other.changes_as(&one));
            if named.len() < MOST && nearest {
                named.push(one);
            }
        }
        named
    }
}

#[cfg(test)]
mod tests;
