//! Figures that opened files store, compared with those computed here as the answers arrive.

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::Scenario;
use shardscope_report::figures::Figures;
use shardscope_report::snapshot::Stored;

/// Evaluations in files that have not come out here yet, and those that came out otherwise.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredEvaluations {
    waiting: Vec<(Option<String>, Scenario, Stored)>,
    /// The pins whose figures differ; a set may have several, and its answers come one by one.
    differing: Vec<String>,
}

impl StoredEvaluations {
    /// That of the scenario that the explorer opens on.
    pub(crate) fn of(scenario: Scenario, stored: Option<Stored>) -> Self {
        let mut all = Self::default();
        all.expect(scenario, stored);
        all
    }

    /// Another file was opened on this scenario: what it says of that is all that matters now.
    pub(crate) fn expect(&mut self, scenario: Scenario, stored: Option<Stored>) {
        self.differing.clear();
        self.waiting.retain(|(name, ..)| name.is_some());
        self.waiting.extend(stored.map(|stored| (None, scenario, stored)));
    }

    /// A pin of a set.
    pub(crate) fn expect_pin(&mut self, name: String, scenario: Scenario, stored: Stored) {
        self.waiting.push((Some(name), scenario, stored));
    }

    /// A scenario came out: what is to be said of what files hold of it.
    pub(crate) fn check(&mut self, scenario: &Scenario, evaluation: &Evaluation) -> Option<String> {
        let mut doubt = None;
        for (name, _, stored) in self.waiting.extract_if(.., |(_, waiting, _)| waiting == scenario) {
            let found = stored.doubt(&Figures::new(scenario, evaluation));
            self.differing.extend(name.filter(|_| found.is_some()));
            doubt = doubt.or(found);
        }
        let names = self.differing.join(", ");
        doubt.map(|doubt| if names.is_empty() { doubt.to_owned() } else { format!("{names}: {doubt}") })
    }
}
