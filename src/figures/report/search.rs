//! Whole plans that a search found: text, CSV and JSON.

use serde_json::{Value, json};

use crate::evaluate::{Evaluation, Summary};
use crate::figures::amount::Amount;
use crate::figures::figure::Figure;
use crate::figures::table::{Table, TableCell, percent, pretty};
use crate::figures::why::facts::FigureSubject;
use crate::plan::{Accumulation, Offload, Plan};
use crate::scenario::file::{ScenarioFile, printable};
use crate::scenario::{Layout, Scenario};
use crate::search::planner::FoundPlan;
use crate::search::plans::{Aim, FoundWhole, PlanSearch, WholeAnswer};
use crate::units::{Seconds, significant, thousands};

use super::lines::Lines;
use super::{FORMAT, Figures, changed, held};

/// The plans that a search found, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct SearchReport<'a> {
    /// What was asked for.
    pub search: &'a PlanSearch,
    /// What was found.
    pub answer: &'a WholeAnswer,
    /// The evaluation of each plan.
    pub evaluations: &'a [Evaluation],
    /// The command line that gives each of them, where there is one.
    pub commands: &'a [Option<String>],
    /// A plan with a choice for each operator that is better than all of them, if there is one.
    pub per_operator: Option<&'a FoundPlan>,
    /// How long the search took.
    pub time: Seconds,
}

/// A plan in a few words: `tp 8, pp 4 1f1b, micro 1 x 16, recompute 0.45`.
pub fn plan_words(plan: &Plan) -> String {
    let mut parts = Vec::new();
    let ranks = [("tp", plan.tensor), ("cp", plan.context)];
    parts.extend(ranks.iter().filter(|(_, ranks)| *ranks > 1).map(|(name, ranks)| format!("{name} {ranks}")));
    if plan.pipeline > 1 {
        let stages = plan.virtual_stages();
        let looped = if stages > 1 { format!(" x {stages}") } else { String::new() };
        parts.push(format!("pp {}{looped} {}", plan.pipeline, plan.effective_schedule()));
    }
    parts.push(format!("micro {} x {}", plan.micro_batch, plan.accumulate));
    parts.push(format!("recompute {}", plan.recompute));
    if plan.accumulation == Accumulation::Layered {
        parts.push("layered".to_owned());
    }
    if plan.offload != Offload::None {
        parts.push(format!("offload {}", plan.offload));
    }
    if !plan.operators.is_empty() {
        parts.push("by operator".to_owned());
    }
    // The mark says, wherever it stands, that numbers are changed.
    parts.extend(plan.coarse_numbers().into_iter().map(|coarse| format!("{coarse}!")));
    parts.join(", ")
}

/// What a search has proven so far of the plans that it has not looked at: that none takes less time, money, memory or
/// whatever else is sought than this share of what the best so far takes.
pub fn proven_words(aim: Aim, answer: &WholeAnswer) -> String {
    let share = 100.0 * answer.proven;
    let of = match aim {
        Aim::Throughput => "time",
        Aim::Days => "days",
        Aim::Cost => "cost",
        Aim::Energy => "energy",
        Aim::Devices => "devices",
        Aim::Memory => "memory",
    };
    format!("none gets below {share:.1} % of its {of}")
}

/// How far a search is: its best plan so far, and what is proven of it.
pub fn so_far_words(aim: Aim, answer: &WholeAnswer) -> String {
    let simulated = thousands(answer.counts.simulated as f64);
    let Some(FoundWhole { scenario, summary }) = answer.plans.first() else {
        return format!("{simulated} plans simulated, none fits so far");
    };
    let subject = FigureSubject::new(scenario, summary);
    let shown = |figure: Figure| figure.amount(&subject).map(Amount::in_row);
    let days = shown(Figure::DaysWithFailures).or_else(|| shown(Figure::Days));
    let days = days.map_or_else(String::new, |days| format!(", {days} days"));
    let (tokens, proven) = (thousands(summary.tokens_per_s()), proven_words(aim, answer));
    format!("best so far {tokens} tokens/s{days}; {simulated} plans simulated, {proven}")
}

/// Over how many ranks the state lies: `8/64/64`, weights, gradients, optimizer; and a second copy of the weights.
pub fn extent_words(layout: &Layout, copy: &str) -> String {
    let copy = layout.secondary.map_or_else(String::new, |ranks| format!("{copy}{ranks}"));
    format!("{}/{}/{}{copy}", layout.weights, layout.gradients, layout.optimizer)
}

/// A figure of a plan; nothing where it has none.
fn cell(figure: Figure, scenario: &Scenario, summary: &Summary) -> TableCell {
    let amount = figure.amount(&FigureSubject::new(scenario, summary));
    let text = amount.map_or_else(|| "-".to_owned(), Amount::in_row);
    TableCell::new(text, json!(amount.and_then(Amount::in_files)))
}

const COLUMNS: [(&str, &str); 27] = [
    ("rank", "rank"),
    ("tokens_per_s", "tokens/s"),
    ("mfu", "MFU"),
    ("days", "days"),
    ("cost", "cost"),
    ("energy_kwh", "energy"),
    ("devices", "devices"),
    ("peak_bytes", "memory"),
    ("", "weights/gradients/optimizer over"),
    ("", "plan"),
    ("tp", ""),
    ("cp", ""),
    ("pp", ""),
    ("schedule", ""),
    ("stages_per_rank", ""),
    ("micro_batch", ""),
    ("accumulate", ""),
    ("global_batch", ""),
    ("recompute", ""),
    ("accumulation", ""),
    ("weights", ""),
    ("gradients", ""),
    ("optimizer", ""),
    ("second_copy", ""),
    ("days_with_failures", ""),
    ("cost_with_failures", ""),
    ("energy_with_failures_kwh", ""),
];

/// Columns that people read.
const SHOWN: usize = 10;

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
            self.search.aim.word()
        ));
        if let Some(changed) = changed(&self.search.base) {
            lines.line(&changed);
        }
        if let Some(held) = held(self.search.base.wanted_sequences()) {
            lines.line(&held);
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
            (true, true) => "nothing fits",
            (false, _) => "not all plans were looked at: these are the best so far",
        });
        if !self.answer.plans.is_empty() {
            lines.line("");
            lines.0.push_str(&Self::shown(&self.answer.plans).text());
            if let Some(said) = self.answer.plans.first().and_then(|best| self.with_failures(best)) {
                lines.line(&said);
            }
            if let Some((gain, FoundPlan { scenario, summary, .. })) = self.gain() {
                let (gain, memory) = (100.0 * gain, significant(summary.memory.peak.gib(), 3));
                let (tokens, plan) = (thousands(summary.tokens_per_s()), plan_words(&scenario.plan));
                lines.line(&format!(
                    "better than all of these with each operator's state where it does best, {plan}: {tokens} tokens/s \
                     ({gain:+.1} %) at {memory} GiB; in JSON as per_operator, and what --out writes"
                ));
            }
            for command in self.commands.iter().take(1).flatten() {
                lines.line("");
                lines.line(&printable(command));
            }
        }
        if !self.answer.front.is_empty() {
            lines.line("");
            lines.line("the fastest plan of each size, where more devices are faster");
            lines.0.push_str(&Self::shown(&self.answer.front).text());
        }
        lines.0
    }

    /// What failures make of the best plan, where the cluster states them; and that plans are weighed by that.
    fn with_failures(&self, FoundWhole { scenario, summary }: &FoundWhole) -> Option<String> {
        let subject = FigureSubject::new(scenario, summary);
        let days = Figure::DaysWithFailures.amount(&subject)?.in_row();
        let cost =
            Figure::CostWithFailures.amount(&subject).map_or_else(String::new, |cost| format!(", {}", cost.in_row()));
        let weighed = if matches!(self.search.aim, Aim::Days | Aim::Cost | Aim::Energy) {
            "; plans, deadline and budget are weighed by these"
        } else {
            "; a deadline and a budget are held to these"
        };
        Some(format!("with failures and checkpoints the first takes {days} days{cost}{weighed}"))
    }

    /// How much faster than the first plan it is where each operator lies where it does best.
    fn gain(&self) -> Option<(f64, &FoundPlan)> {
        let (found, best) = self.per_operator.zip(self.answer.plans.first())?;
        Some((found.summary.tokens_per_s() / best.summary.tokens_per_s() - 1.0, found))
    }

    /// As CSV, a line for each plan.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let keyed = |at: &usize| !COLUMNS[*at].0.is_empty();
        let mut table = Table::new((0..COLUMNS.len()).filter(keyed).map(|at| COLUMNS[at]));
        table.extend(self.answer.plans.iter().enumerate().map(|(place, found)| {
            let cells = cells(place + 1, found).into_iter().enumerate();
            cells.filter(|(at, _)| keyed(at)).map(|(_, cell)| cell).collect()
        }));
        table.csv()
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> String {
        pretty(&self.value())
    }

    /// The same, for what is added to it.
    pub fn value(&self) -> Value {
        let counts = &self.answer.counts;
        let plans = self.answer.plans.iter().zip(self.evaluations).zip(self.commands).enumerate();
        json!({
            "format": FORMAT,
            "objective": self.search.aim.word(),
            "space": {
                "plans": counts.plans,
                "impossible": counts.impossible,
                "bounded": counts.bounded,
                "simulated": counts.simulated,
            },
            "exact": self.answer.exact,
            "seconds": self.time.get(),
            "plans": plans.map(|(place, ((found, evaluation), command))| json!({
                "rank": place + 1,
                "scenario": ScenarioFile::of(&found.scenario),
                "evaluation": Figures::new(&found.scenario, evaluation),
                "command": command,
            })).collect::<Vec<_>>(),
            "per_operator": self.gain().map(|(gain, found)| json!({
                "gain": gain,
                "step_time_s": found.summary.step_time.get(),
                "peak_bytes": found.summary.memory.peak.get() as u64,
                "scenario": ScenarioFile::of(&found.scenario),
            })),
            "pareto": self.answer.front.iter().map(on_front).collect::<Vec<_>>(),
        })
    }

    fn shown(plans: &[FoundWhole]) -> Table {
        let mut table = Table::new(COLUMNS[..SHOWN].iter().copied());
        table.extend(plans.iter().enumerate().map(|(place, found)| {
            let mut cells = cells(place + 1, found);
            cells.truncate(SHOWN);
            cells
        }));
        table
    }
}

/// A plan that nothing beats in days, cost and devices together.
fn on_front(found: &FoundWhole) -> Value {
    let subject = FigureSubject::new(&found.scenario, &found.summary);
    let figure = |figure: Figure| figure.amount(&subject).and_then(Amount::in_files);
    json!({
        "scenario": ScenarioFile::of(&found.scenario),
        "days": figure(Figure::Days),
        "cost": figure(Figure::Cost),
        "days_with_failures": figure(Figure::DaysWithFailures),
        "cost_with_failures": figure(Figure::CostWithFailures),
        "devices": found.summary.devices,
    })
}

fn cells(rank: usize, FoundWhole { scenario, summary }: &FoundWhole) -> Vec<TableCell> {
    let plan = &scenario.plan;
    let figure = |figure: Figure| cell(figure, scenario, summary);
    let number = |count: u32| TableCell::new(count.to_string(), count);
    let layout = scenario.layout().ok();
    let ranks = |of: fn(&Layout) -> u32| number(layout.as_ref().map_or(1, of));
    let over = layout.as_ref().map_or_else(String::new, |layout| extent_words(layout, " + copy "));
    vec![
        TableCell::count(rank),
        figure(Figure::TotalTokens),
        TableCell::new(percent(summary.mfu), summary.mfu),
        figure(Figure::Days),
        figure(Figure::Cost),
        figure(Figure::Energy),
        number(summary.devices),
        TableCell::new(format!("{} GiB", significant(summary.memory.peak.gib(), 3)), summary.memory.peak.get() as u64),
        TableCell::word(over),
        TableCell::word(plan_words(plan)),
        number(plan.tensor),
        number(plan.context),
        number(plan.pipeline),
        TableCell::word(plan.effective_schedule().word()),
        number(plan.virtual_stages()),
        number(plan.micro_batch),
        number(plan.accumulate),
        TableCell::count(scenario.sequences() as usize),
        TableCell::word(plan.recompute.to_string()),
        TableCell::word(plan.accumulation.word()),
        ranks(|layout| layout.weights),
        ranks(|layout| layout.gradients),
        ranks(|layout| layout.optimizer),
        ranks(|layout| layout.secondary.unwrap_or(1)),
        figure(Figure::DaysWithFailures),
        figure(Figure::CostWithFailures),
        figure(Figure::EnergyWithFailures),
    ]
}
