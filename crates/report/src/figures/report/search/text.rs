//! Whole plans that a search found, as text.

use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::planner::FoundPlan;
use shardscope_engine::search::plans::{EvaluatedPlan, Margin, Objective, launched_fields};
use shardscope_engine::units::{signed, thousands};

use super::super::caveats::{above_published, caveats, lacking};
use super::super::lines::Lines;
use super::super::{changed, held, safety_words};
use super::{RunsIn, SearchReport, folded, offload_words, plan_words, table};
use crate::figures::figure::Figure;
use crate::figures::why::facts::FigureSubject;

/// The same figures as text.
fn shown<'a>(plans: impl Iterator<Item = (usize, &'a EvaluatedPlan)>, runs_in: RunsIn) -> String {
    table(plans, runs_in, |column| !column.heading.is_empty()).text()
}

impl SearchReport<'_> {
    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let Scenario { model, cluster, .. } = &self.search.base;
        let counts = &self.answer.counts;
        let mut lines = Lines(String::new());
        lines.line(&format!(
            "{} on {}: whole plans by {}",
            printable(&model.name),
            printable(&cluster.name),
            self.search.objective.word()
        ));
        if let Some(changed) = changed(&self.search.base) {
            lines.line(&changed);
        }
        if let Some(held) = held(&self.search.base) {
            lines.line(&held);
        }
        if self.search.limits.margin == Margin::Likely {
            lines.line(&format!("{} (--margin)", safety_words()));
        }
        let [plans, impossible, bounded, simulated] =
            [counts.plans, counts.impossible, counts.bounded, counts.simulated].map(|count| thousands(count as f64));
        lines.line(&format!(
            "{plans} plans in {}: {impossible} not possible, {bounded} cannot be better or do not fit, {simulated} \
             simulated",
            self.time
        ));
        lines.line(match (self.answer.exact, self.answer.plans.is_empty()) {
            (true, false) => "exact: no plan of the grid is better",
            (true, true) if self.search.launched_only => "nothing that the launcher takes fits",
            (true, true) => "nothing fits",
            (false, _) => "not all plans were looked at: these are the best so far",
        });
        if let Some((found, why)) = self.nearest {
            lines.line(&format!("nearest: {why}: {}", plan_words(&found.scenario.plan)));
        }
        if let Some(words) = self.on_host.and_then(offload_words) {
            lines.line(&format!("{} (--allow offload searches these)", words.join("; ")));
        }
        self.ranked(&mut lines);
        if !self.answer.front.is_empty() {
            lines.line("");
            lines.line("the fastest plan of each size, where more devices are faster");
            lines.0.push_str(&shown((1..).zip(&self.answer.front), self.runs_in));
        }
        lines.0
    }

    /// The table of plans, and what must be known of them.
    fn ranked(&self, lines: &mut Lines) {
        let Some(first) = self.answer.plans.first() else { return };
        lines.line("");
        let folded = folded(&self.answer.plans);
        lines.0.push_str(&shown(folded.iter().map(|(at, _)| (at + 1, &self.answer.plans[*at])), self.runs_in));
        for (at, alike) in folded.iter().filter(|(_, alike)| !alike.is_empty()) {
            let ranks: Vec<String> = alike.iter().map(|at| (at + 1).to_string()).collect();
            lines.line(&format!(
                "as rank {} within 1 %, with other context ranks and micro-batches: {} (in JSON)",
                at + 1,
                ranks.join(", ")
            ));
        }
        self.for_launcher(first).iter().for_each(|line| lines.line(line));
        self.beyond().iter().for_each(|line| lines.line(line));
        self.recipe.iter().for_each(|recipe| lines.line(&recipe.words()));
        let above = |found: &EvaluatedPlan| above_published(&found.scenario, &found.summary).is_some();
        if self.answer.plans.iter().any(above) {
            lines.line("! above the highest MFU that was published of such a machine");
        }
        self.lacks().iter().for_each(|lack| lines.line(lack));
        let lacks: Vec<String> = lacking(&first.scenario).collect();
        let caveats = caveats(&first.scenario, &first.summary).into_iter().filter(|caveat| !lacks.contains(caveat));
        caveats.for_each(|caveat| lines.line(&format!("note on the first: {caveat}")));
        if let Some(said) = self.with_failures(first) {
            lines.line(&said);
        }
        if let Some((gain, FoundPlan { scenario, summary, .. })) = self.gain() {
            let (gain, memory) = (signed(gain), summary.memory.peak);
            let (tokens, plan) = (thousands(summary.tokens_per_s()), plan_words(&scenario.plan));
            let written = if self.writes_operators() {
                "and what --out writes"
            } else {
                "not what every launcher of the first runs"
            };
            lines.line(&format!(
                "better than all of these with each operator's state where it does best, {plan}: {tokens} tokens/s \
                     ({gain}) at {memory}; in JSON as per_operator, {written}"
            ));
        }
        for command in self.commands.iter().take(1).flatten() {
            lines.line("");
            lines.line(&printable(command));
        }
    }

    /// What nobody has said, and the plans have otherwise than by default, since no launcher takes the default.
    fn for_launcher(&self, first: &EvaluatedPlan) -> Option<String> {
        let changed = launched_fields().filter_map(|field| {
            let (own, other) = (field.value(&self.search.base)?, field.value(&first.scenario)?);
            (own != other).then(|| format!("--{field} {other} (by default {own})"))
        });
        let changed: Vec<String> = changed.collect();
        (!changed.is_empty()).then(|| format!("as the launcher has it: {}", changed.join(", ")))
    }

    /// That no launcher takes what is held; or the plans that are better than the first, with their gain and what is missing.
    fn beyond(&self) -> Vec<String> {
        let missing = |found: &EvaluatedPlan| (self.runs_in.missing)(&found.scenario).unwrap_or_default();
        let Some(first) = self.answer.plans.first() else { return Vec::new() };
        if self.answer.launched == Some(false) {
            return vec![format!("runs in no launcher that is known: {}", missing(first))];
        }
        let line = |found: &EvaluatedPlan| {
            let gain = signed(found.summary.tokens_per_s() / first.summary.tokens_per_s() - 1.0);
            format!("{gain}, but runs in no known launcher: {} ({})", plan_words(&found.scenario.plan), missing(found))
        };
        self.answer.beyond.iter().map(line).collect()
    }

    /// Features that the stacks lack, each with the ranks of the plans that need it.
    fn lacks(&self) -> Vec<String> {
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for (rank, plan) in (1..).zip(&self.answer.plans) {
            for lack in lacking(&plan.scenario) {
                match found.iter_mut().find(|(known, _)| *known == lack) {
                    Some((_, ranks)) => ranks.push(rank.to_string()),
                    None => found.push((lack, vec![rank.to_string()])),
                }
            }
        }
        found.into_iter().map(|(lack, ranks)| format!("cannot run: {lack} (rank {})", ranks.join(", "))).collect()
    }

    /// The best plan with failures, where the cluster states them, and whether plans are weighed by that.
    fn with_failures(&self, EvaluatedPlan { scenario, summary, .. }: &EvaluatedPlan) -> Option<String> {
        let subject = FigureSubject::new(scenario, summary);
        let days = Figure::DaysWithFailures.amount(&subject)?.in_row();
        let cost =
            Figure::CostWithFailures.amount(&subject).map_or_else(String::new, |cost| format!(", {}", cost.in_row()));
        let weighed = if matches!(self.search.objective, Objective::Days | Objective::Cost | Objective::Energy) {
            "; plans, deadline and budget are weighed by these"
        } else {
            "; a deadline and a budget are held to these"
        };
        Some(format!("with failures and checkpoints the first takes {days} days{cost}{weighed}"))
    }
}
