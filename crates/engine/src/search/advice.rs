//! Advice: changes of a plan that let a scenario fit or make it faster.
//!
//! [`fix()`] names the smallest single edits with which a scenario fits, for a report; an [`AdviceSearch`] tries every
//! nearest change and keeps those that help, for a table. Not for what hardware would give, which are the elasticities,
//! nor for the best of a whole grid ([`super::tuned`], [`super::planner`], [`super::training`]).

mod adviser;
mod fix;
mod round;

use std::sync::Arc;

use crate::evaluate::Summary;
use crate::presets::Library;
use crate::scenario::Scenario;
use crate::scenario::file::ScenarioFile;

use super::candidate::Candidate;
use super::evaluator::Evaluator;
pub(super) use adviser::Adviser;
use round::Round;

pub use fix::{Fixes, fix};

/// The smallest gain in throughput that is worth a line.
pub const WORTHWHILE_GAIN: f64 = 0.005;

/// A search for changes of a scenario.
///
/// ```
/// use shardscope_engine::search::{AdviceSearch, Evaluator, pool};
///
/// # use shardscope_engine::scenario::file;
/// # let library = shardscope_presets::library();
/// # let file = file::parse(&library.scenario_text("default")?.text)?;
/// # let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
/// let advice = AdviceSearch { library: library.into(), file, scenario }.run(&Evaluator::on(&pool(None)?));
/// // The sample is 67 of 79 GiB.
/// assert_eq!(advice.fits, Some(true));
/// for change in &advice.suggestions {
///     println!("{:?}: {:+.1} %", change.candidate.edits, 100.0 * change.gain);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct AdviceSearch {
    /// The presets that ids name.
    pub library: Arc<Library>,
    /// The scenario as its file says it.
    pub file: ScenarioFile,
    /// The scenario that the file means.
    pub scenario: Scenario,
}

/// The changes that help, and what was tried for them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advice {
    /// How many changes were tried.
    pub tried: usize,
    /// Whether the changes are of two fields each, because none of one lets the scenario fit.
    pub pairs: bool,
    /// Whether the scenario itself fits, where that is known.
    pub fits: Option<bool>,
    /// Where the scenario does not fit: of each field, or pair of fields, the nearest value with which it does; else of
    /// each field the value that gains most. The fastest first, after them those that make the numbers coarser: nobody
    /// asked for these.
    pub suggestions: Vec<Suggestion>,
}

/// A change that helps, and what it brings.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The change, and the scenario with it.
    pub candidate: Candidate,
    /// The figures with it.
    pub summary: Summary,
    /// The gain in tokens per second of all devices: what the whole job takes less.
    pub gain: f64,
    /// The sequences of a step, where they are others than before.
    pub batch: Option<f64>,
    /// The coarser number formats that it brings, if any.
    pub coarser: Vec<String>,
}

impl AdviceSearch {
    /// Tries single changes; where none of them lets the scenario fit, pairs of those that save memory.
    pub fn run(&self, evaluator: &Evaluator) -> Advice {
        self.judged(&|scenarios| evaluator.summaries(scenarios).into_iter().map(Result::ok).collect())
    }

    /// The advice by figures from elsewhere: those of the scenario first, then those of each change, where it has any.
    pub fn judged(&self, figures: &dyn Fn(&[Scenario]) -> Vec<Option<Summary>>) -> Advice {
        let Self { library, file, scenario } = self;
        let adviser = Adviser { library, file, scenario, any_plan: false };
        let singles = Round::new(scenario, adviser.singles(), false, figures);
        // No savings, no pairs: a scenario that fits, or that one change lets fit, ends the advice here.
        let pairs = adviser.pairs(&singles.savings());
        if pairs.is_empty() {
            return singles.advice();
        }
        let both = Round::new(scenario, pairs, true, figures).advice();
        Advice { tried: singles.tried + both.tried, ..both }
    }
}
