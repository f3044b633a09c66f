//! The candidates of advice: the nearest values of each field, as an edit would set them, so that taking one brings
//! what was promised. Not for what they are worth ([`super::Advice`]).

use crate::presets::Library;
use crate::scenario::file::ScenarioFile;
use crate::scenario::{Edit, Field, FieldSpec, Scenario, Value};
use crate::search::candidate::Candidate;
use crate::search::options;

/// How many more stages per rank are tried together with each schedule that can have them.
const STAGES: usize = 3;

/// How many larger micro-batches are tried together with each recompute.
const MICRO_BATCHES: usize = 3;

/// Proposes changes of a scenario.
pub(crate) struct Adviser<'a> {
    /// The presets that ids name.
    pub library: &'a Library,
    /// The file that edits change.
    pub file: &'a ScenarioFile,
    /// The scenario that the file means now.
    pub scenario: &'a Scenario,
    /// Whether a candidate may have what its stack lacks.
    pub any_plan: bool,
}

impl Adviser<'_> {
    /// The nearest possible values of each field that is tried, the nearest first, then schedules with their stages
    /// and micro-batches with recompute.
    pub(in crate::search) fn singles(&self) -> Vec<Candidate> {
        let mut found = self.nearest(|spec| spec.advice);
        found.extend(self.staged());
        found.extend(self.refilled());
        found
    }

    /// The nearest possible values of each field, so many after the current one and before it.
    pub(in crate::search) fn nearest(&self, most: impl Fn(&FieldSpec) -> (usize, usize)) -> Vec<Candidate> {
        let mut found = Vec::new();
        // Where the global batch is held, accumulation follows from it.
        let held = self.scenario.plan.global_batch.is_held();
        for field in Field::all().filter(|field| !held || *field != Field::Accumulate) {
            let (after, before) = most(field.spec());
            for (forward, most) in [(true, after), (false, before)] {
                let possible = self.toward(field, forward).filter_map(|edit| self.candidate(vec![edit]));
                found.extend(possible.take(most));
            }
        }
        found
    }

    /// Larger micro-batches, each with more or less recompute: what a larger one needs of memory, recompute gives, and
    /// neither alone says what both together bring.
    fn refilled(&self) -> Vec<Candidate> {
        let larger = self.toward(Field::MicroBatch, true).take(MICRO_BATCHES);
        let again: Vec<Edit> = [true, false].into_iter().flat_map(|more| self.toward(Field::Recompute, more)).collect();
        let pairs = larger.flat_map(|larger| again.iter().map(move |again| vec![larger.clone(), again.clone()]));
        pairs.filter_map(|pair| self.candidate(pair)).collect()
    }

    /// Other schedules, each with more stages on each rank, where the plan follows both. They are one change: one
    /// stage has nothing to interleave, and neither 1F1B nor `GPipe` runs several.
    fn staged(&self) -> Vec<Candidate> {
        let mut found = Vec::new();
        for schedule in [true, false].into_iter().flat_map(|forward| self.toward(Field::Schedule, forward)) {
            let stages = self.toward(Field::StagesPerRank, true);
            let possible = stages.filter_map(|stages| self.candidate(vec![schedule.clone(), stages]));
            found.extend(possible.filter(follows_its_stages).take(STAGES));
        }
        found
    }

    /// Each two of the given changes together, where they are of different fields.
    pub(in crate::search) fn pairs(&self, singles: &[&Candidate]) -> Vec<Candidate> {
        let later = |index: usize| singles[index + 1..].iter().map(move |other| (index, other));
        let pairs = (0..singles.len()).flat_map(later).map(|(index, other)| (singles[index], other));
        let apart = pairs.filter(|(one, other)| !one.changes_what(other));
        apart.filter_map(|(one, other)| self.candidate([&one.edits[..], &other.edits].concat())).collect()
    }

    /// The values of a field after the current one, or before it: the nearest first, not all of them possible.
    fn toward(&self, field: Field, forward: bool) -> impl Iterator<Item = Edit> + use<> {
        let now = field.meant(self.scenario);
        let values = options::toward(field, now.as_ref(), forward, self.scenario, self.library);
        values.into_iter().map(move |value| Edit { field, value })
    }

    /// The file with some edits, if that makes another scenario that can be laid out.
    pub(in crate::search) fn candidate(&self, edits: Vec<Edit>) -> Option<Candidate> {
        let mut file = self.file.clone();
        file.edit(&edits);
        // What an edit has looked up already is in no library.
        let mut known = self.scenario.clone();
        for edit in edits.iter().filter(|edit| matches!(edit.value, Value::Preset(_))) {
            edit.apply(&mut known).ok()?;
        }
        // Through the file, not by the edits alone: what the file says beside them stays in force, as it will when the
        // candidate is taken.
        let scenario = self.library.resolve_over(&file, Some(&known)).ok()?;
        scenario.layout().ok()?;
        scenario.keeps_batch().ok()?;
        if !self.any_plan && scenario.lacks_more_than(self.scenario) {
            return None;
        }
        let Scenario { cluster, stack, plan, .. } = self.scenario;
        let is_another = scenario.plan != *plan || scenario.cluster.id != cluster.id || scenario.stack.id != stack.id;
        is_another.then_some(Candidate { edits, scenario })
    }
}

/// Whether a plan follows both its schedule and its stages per rank.
fn follows_its_stages(candidate: &Candidate) -> bool {
    let plan = &candidate.scenario.plan;
    Field::Schedule.idle_in(plan).is_none() && Field::StagesPerRank.idle_in(plan).is_none()
}
