//! Whole plans that a search found: text, CSV and JSON.

mod text;

use serde_json::{Value, json};

use crate::figures::figure::Figure;
use crate::figures::table::{Table, TableCell, pretty};
use crate::figures::why::facts::FigureSubject;
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::plan::{
    Accumulation, ContextKind, LossKind, MasterWeights, Moments, Offload, Plan, Reduction, Rollouts,
};
use shardscope_engine::scenario::file::ScenarioFile;
use shardscope_engine::scenario::{Layout, Scenario};
use shardscope_engine::search::planner::FoundPlan;
use shardscope_engine::search::plans::{EvaluatedPlan, Objective, PlanCounts, PlanSearch, PlanSearchAnswer};
use shardscope_engine::units::{Amount, Bytes, Seconds, percent, thousands, whole_percent};

use super::caveats::{above_published, lacking};
use super::{FORMAT, figures};

/// The plans that a search found, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct SearchReport<'a> {
    pub search: &'a PlanSearch,
    pub answer: &'a PlanSearchAnswer,
    pub evaluations: &'a [Evaluation],
    /// The command line that gives each of them, where there is one.
    pub commands: &'a [Option<String>],
    /// The nearest plan where none keeps to all that is asked, and what it misses.
    pub nearest: Option<&'a (EvaluatedPlan, String)>,
    /// The plans that offload, where none fits otherwise.
    pub on_host: Option<&'a PlanSearchAnswer>,
    /// A plan with a choice for each operator that is better than all of them, if there is one.
    pub per_operator: Option<&'a FoundPlan>,
    /// Who runs a plan, and what the nearest of them lacks where nobody does.
    pub runs_in: RunsIn,
    /// The best plan by the recipe of a vendor.
    pub recipe: Option<&'a RecipePlan>,
    /// How long the search took.
    pub time: Seconds,
}

/// The best plan with experts divided as the recipes of their vendor have it, beside the first plan, which does not divide them.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipePlan {
    pub found: EvaluatedPlan,
    /// Why the first one is faster.
    pub why: String,
}

impl RecipePlan {
    /// In a line: `with --ep 8, as recipes of Megatron-Bridge divide experts over a node: it is 6 % slower: ...`.
    pub fn words(&self) -> String {
        let (ranks, why) = (self.found.scenario.plan.experts.ranks, &self.why);
        format!("with --ep {ranks}, as recipes of Megatron-Bridge divide experts over a node: {why}")
    }
}

/// The launchers that run a plan as planned, by name, and what the nearest lacks of it where none does.
#[derive(Debug, Clone, Copy)]
pub struct RunsIn {
    pub names: fn(&Scenario) -> Vec<&'static str>,
    pub missing: fn(&Scenario) -> Option<String>,
}

impl RunsIn {
    /// The names in a row; `none known` where there is none.
    pub fn words(self, scenario: &Scenario) -> String {
        Self::joined(&(self.names)(scenario))
    }

    /// The same of names that are there already.
    pub fn joined(names: &[&str]) -> String {
        if names.is_empty() { "none known".to_owned() } else { names.join(", ") }
    }
}

/// How many plans a search had, and what became of them, as JSON.
pub(super) fn space(counts: &PlanCounts) -> Value {
    json!({
        "plans": counts.plans,
        "impossible": counts.impossible,
        "bounded": counts.bounded,
        "simulated": counts.simulated,
    })
}

/// A plan of a search's list as JSON.
pub(super) fn ranked(
    rank: usize,
    (found, evaluation): (&EvaluatedPlan, &Evaluation),
    command: Option<&String>,
    runs_in: RunsIn,
) -> Value {
    json!({
        "rank": rank,
        "scenario": ScenarioFile::of(&found.scenario),
        "evaluation": figures::record(&found.scenario, evaluation),
        "command": command,
        "lacks": lacking(&found.scenario).collect::<Vec<_>>(),
        "above_published": above_published(&found.scenario, &found.summary).is_some(),
        "runs_in": (runs_in.names)(&found.scenario),
    })
}

/// A plan in a few words: `tp 8, pp 4 1f1b, micro 1 x 16, recompute 0.45`.
pub fn plan_words(plan: &Plan) -> String {
    let mut parts = Vec::new();
    let kind = if plan.context_kind == ContextKind::Stack { String::new() } else { format!(" {}", plan.context_kind) };
    let ranks = [("tp", plan.tensor, ""), ("cp", plan.context, &*kind), ("ep", plan.experts.ranks, "")];
    let several = ranks.iter().filter(|(_, ranks, _)| *ranks > 1);
    parts.extend(several.map(|(name, ranks, kind)| format!("{name} {ranks}{kind}")));
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
    parts.extend(loss_words(plan));
    if plan.mlp_tiles > 1 {
        parts.push(format!("mlp tiles {}", plan.mlp_tiles));
    }
    if plan.offload != Offload::None {
        parts.push(format!("offload {}", plan.offload));
    }
    if !plan.host_modules().is_empty() {
        parts.push(format!("offload of {}", plan.host_modules()));
    }
    if plan.moments != Moments::Fp32 {
        parts.push(format!("moments {}", plan.moments));
    }
    if plan.master_weights != MasterWeights::Fp32 {
        parts.push(format!("masters {}", plan.master_weights));
    }
    if plan.reduction != Reduction::Default {
        parts.push(format!("reduction {}", plan.reduction));
    }
    if !plan.sharding.reshard_after_forward {
        parts.push("no reshard".to_owned());
    }
    if plan.prefetch != Plan::USUAL_PREFETCH {
        parts.push(format!("prefetch {}", plan.prefetch));
    }
    if plan.tensor_overlap && plan.tensor > 1 {
        parts.push("tp overlap".to_owned());
    }
    if !plan.operators.is_empty() {
        parts.push("by operator".to_owned());
    }
    if plan.writes() {
        let Rollouts { tensor, offload, layout, .. } = plan.post_training.rollouts;
        let share = whole_percent(plan.post_training.rollouts.share().get());
        parts.push(format!("{layout} engine tp {tensor} with {share}, trainer offload {offload}"));
    }
    // The mark says, wherever it stands, that numbers are changed.
    parts.extend(plan.coarse_numbers().into_iter().map(|coarse| format!("{coarse}!")));
    parts.join(", ")
}

/// A loss that is not left to the stack: `loss chunked 1024`.
pub(super) fn loss_words(plan: &Plan) -> Option<String> {
    let kind = (plan.loss != LossKind::Stack).then(|| plan.loss.to_string());
    let chunk = plan.loss_chunk.map(|tokens| tokens.to_string());
    let words: Vec<String> = kind.into_iter().chain(chunk).collect();
    (!words.is_empty()).then(|| format!("loss {}", words.join(" ")))
}

/// The proof of a search so far: no plan that it has not looked at takes less time, money, memory or
/// whatever else is sought than this share of what the best so far takes.
pub fn proven_words(objective: Objective, answer: &PlanSearchAnswer) -> String {
    let share = percent(answer.proven);
    let of = match objective {
        Objective::Throughput => "time",
        Objective::Days => "days",
        Objective::Cost => "cost",
        Objective::Energy => "energy",
        Objective::Devices => "devices",
        Objective::Memory => "memory",
    };
    format!("none gets below {share} of its {of}")
}

/// The best of plans that offload because none fits otherwise: what it has on each host, and its step beside the one with no
/// more on the host than the job has there.
pub fn offload_words(answer: &PlanSearchAnswer) -> Option<[String; 2]> {
    let (best, without) = answer.plans.first().zip(answer.without_offload.as_ref())?;
    let (plan, memory) = (&best.scenario.plan, &without.summary.memory);
    let held = off_device(&best.summary);
    Some([
        format!("none fits the devices alone: offload {} puts {held} on each host", plan.offload),
        format!(
            "{} a step; without offload {}, and {} more than a device has",
            best.summary.step_time,
            without.summary.step_time,
            memory.peak - memory.capacity
        ),
    ])
}

/// Bytes on each host and its drives.
fn off_device(summary: &Summary) -> Bytes {
    summary.host_memory.total() + summary.host_memory.drives.total()
}

/// How far a search is: what it is busy with, its best plan so far, and what is proven of it.
pub fn so_far_words(objective: Objective, answer: &PlanSearchAnswer) -> String {
    let (phase, simulated) = (answer.phase.words(), thousands(answer.counts.simulated as f64));
    let Some(EvaluatedPlan { scenario, summary, .. }) = answer.plans.first() else {
        let plans = thousands(answer.counts.plans as f64);
        return format!("{phase}: {plans} plans, {simulated} simulated, none fits so far");
    };
    let subject = FigureSubject::new(scenario, summary);
    let shown = |figure: Figure| figure.amount(&subject).map(Amount::in_row);
    let days = shown(Figure::DaysWithFailures).or_else(|| shown(Figure::Days));
    let days = days.map_or_else(String::new, |days| format!(", {days} days"));
    let tokens = thousands(summary.tokens_per_s());
    // Before bounds are known nothing is proven.
    let proven = if answer.proven > 0.0 { format!(", {}", proven_words(objective, answer)) } else { String::new() };
    format!("{phase}: best so far {tokens} tokens/s{days}; {simulated} plans simulated{proven}")
}

/// Plans that are one: as fast within this share, and alike in all but context ranks and micro-batch.
const ALIKE: f64 = 0.01;

/// The plans of which none before is the same, by their places, each with the places of those behind it that are.
pub fn folded(plans: &[EvaluatedPlan]) -> Vec<(usize, Vec<usize>)> {
    let mesh = |found: &EvaluatedPlan| {
        let mut plan = found.scenario.plan.clone();
        (plan.context, plan.micro_batch, plan.accumulate) = (1, 1, 1);
        plan
    };
    let speed = |found: &EvaluatedPlan| found.summary.tokens_per_s();
    let same = |one: &EvaluatedPlan, other: &EvaluatedPlan| {
        (speed(one) / speed(other) - 1.0).abs() <= ALIKE && mesh(one) == mesh(other)
    };
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    for (at, plan) in plans.iter().enumerate() {
        match found.iter_mut().find(|(first, _)| same(&plans[*first], plan)) {
            Some((_, alike)) => alike.push(at),
            None => found.push((at, Vec::new())),
        }
    }
    found
}

/// Over how many ranks the state lies: `8/64/64`, weights, gradients, optimizer; and a second copy of the weights.
pub fn extent_words(layout: &Layout, copy: &str) -> String {
    let copy = layout.secondary.map_or_else(String::new, |ranks| format!("{copy}{ranks}"));
    format!("{}/{}/{}{copy}", layout.weights, layout.gradients, layout.optimizer)
}

/// A column of the table of plans: its key in CSV, and its heading for people; each has only those that have one.
struct FoundColumn {
    key: &'static str,
    heading: &'static str,
    cell: fn(&RankedPlan) -> TableCell,
}

struct RankedPlan<'a> {
    rank: usize,
    found: &'a EvaluatedPlan,
    runs_in: RunsIn,
}

impl RankedPlan<'_> {
    fn plan(&self) -> &Plan {
        &self.found.scenario.plan
    }

    /// Whether its MFU is above the highest that was published of its machine.
    fn is_above_published(&self) -> bool {
        above_published(&self.found.scenario, &self.found.summary).is_some()
    }

    /// A figure of it; nothing where it has none.
    fn figure(&self, figure: Figure) -> TableCell {
        let amount = figure.amount(&FigureSubject::new(&self.found.scenario, &self.found.summary));
        let text = amount.map_or_else(|| "-".to_owned(), Amount::in_row);
        TableCell::new(text, json!(amount.and_then(Amount::in_files)))
    }
}

const fn column(key: &'static str, heading: &'static str, cell: fn(&RankedPlan) -> TableCell) -> FoundColumn {
    FoundColumn { key, heading, cell }
}

fn number(count: u32) -> TableCell {
    TableCell::new(count.to_string(), count)
}

/// On or off.
fn switch(on: bool) -> TableCell {
    TableCell::new(if on { "on" } else { "off" }.to_owned(), on)
}

const COLUMNS: [FoundColumn; 37] = [
    column("rank", "rank", |plan| TableCell::count(plan.rank)),
    column("tokens_per_s", "tokens/s", |plan| plan.figure(Figure::TotalTokens)),
    column("mfu", "MFU", |plan| {
        let mfu = plan.figure(Figure::Mfu);
        if plan.is_above_published() { mfu.marked("!") } else { mfu }
    }),
    column("days", "days", |plan| plan.figure(Figure::Days)),
    column("cost", "cost", |plan| plan.figure(Figure::Cost)),
    column("energy_kwh", "energy", |plan| plan.figure(Figure::Energy)),
    column("devices", "devices", |plan| number(plan.found.summary.devices)),
    column("peak_bytes", "memory", |plan| {
        let peak = plan.found.summary.memory.peak;
        TableCell::new(peak.to_string(), peak.get() as u64)
    }),
    column("", "P(fits)", |plan| plan.figure(Figure::FitChance)),
    column("", "weights/gradients/optimizer over", |plan| {
        TableCell::word(extent_words(&plan.found.layout, " + copy "))
    }),
    column("", "runs in", |plan| TableCell::word(plan.runs_in.words(&plan.found.scenario))),
    column("", "plan", |plan| TableCell::word(plan_words(plan.plan()))),
    column("tp", "", |plan| number(plan.plan().tensor)),
    column("cp", "", |plan| number(plan.plan().context)),
    column("pp", "", |plan| number(plan.plan().pipeline)),
    column("schedule", "", |plan| TableCell::word(plan.plan().effective_schedule().word())),
    column("stages_per_rank", "", |plan| number(plan.plan().virtual_stages())),
    column("micro_batch", "", |plan| number(plan.plan().micro_batch)),
    column("accumulate", "", |plan| number(plan.plan().accumulate)),
    column("global_batch", "", |plan| TableCell::count(plan.found.scenario.sequences() as usize)),
    column("recompute", "", |plan| TableCell::word(plan.plan().recompute.to_string())),
    column("accumulation", "", |plan| TableCell::word(plan.plan().accumulation.word())),
    column("weights", "", |plan| number(plan.found.layout.weights)),
    column("gradients", "", |plan| number(plan.found.layout.gradients)),
    column("optimizer", "", |plan| number(plan.found.layout.optimizer)),
    column("second_copy", "", |plan| number(plan.found.layout.secondary.unwrap_or(1))),
    column("days_with_failures", "", |plan| plan.figure(Figure::DaysWithFailures)),
    column("cost_with_failures", "", |plan| plan.figure(Figure::CostWithFailures)),
    column("energy_with_failures_kwh", "", |plan| plan.figure(Figure::EnergyWithFailures)),
    column("lacks", "", |plan| TableCell::word(lacking(&plan.found.scenario).collect::<Vec<_>>().join("; "))),
    column("reduction", "", |plan| TableCell::word(plan.plan().reduction.to_string())),
    column("reshard", "", |plan| switch(plan.plan().sharding.reshard_after_forward)),
    column("prefetch", "", |plan| number(plan.plan().prefetch)),
    column("tp_overlap", "", |plan| switch(plan.plan().tensor_overlap)),
    column("above_published", "", |plan| switch(plan.is_above_published())),
    column("p_fits", "", |plan| plan.figure(Figure::FitChance)),
    column("runs_in", "", |plan| TableCell::word((plan.runs_in.names)(&plan.found.scenario).join(" "))),
];

/// Plans, best first, in the columns that have a key, or a heading.
fn table<'a>(
    plans: impl Iterator<Item = (usize, &'a EvaluatedPlan)>,
    runs_in: RunsIn,
    has: fn(&FoundColumn) -> bool,
) -> Table {
    let columns = || COLUMNS.iter().filter(|column| has(column));
    let mut table = Table::new(columns().map(|column| (column.key, column.heading)));
    table.extend(plans.map(|(rank, found)| {
        let plan = RankedPlan { rank, found, runs_in };
        columns().map(|column| (column.cell)(&plan)).collect()
    }));
    table
}

impl SearchReport<'_> {
    /// The plan that is written: the first, or that with a choice for each operator, unless a launcher runs the first one alone.
    pub fn written(&self) -> Option<&Scenario> {
        let first = self.answer.plans.first().map(|found| &found.scenario);
        self.per_operator.filter(|_| self.writes_operators()).map(|found| &found.scenario).or(first)
    }

    /// Whether each launcher that runs the first plan runs that with a choice for each operator too.
    fn writes_operators(&self) -> bool {
        let first = self.answer.plans.first().filter(|_| self.answer.launched == Some(true));
        let names = first.map(|first| (self.runs_in.names)(&first.scenario)).unwrap_or_default();
        let others = self.per_operator.map(|found| (self.runs_in.names)(&found.scenario)).unwrap_or_default();
        names.iter().all(|name| others.contains(name))
    }

    /// How much faster than the first plan it is where each operator lies where it does best.
    fn gain(&self) -> Option<(f64, &FoundPlan)> {
        let (found, best) = self.per_operator.zip(self.answer.plans.first())?;
        Some((found.summary.tokens_per_s() / best.summary.tokens_per_s() - 1.0, found))
    }

    /// As CSV, a line for each plan.
    pub fn csv(&self) -> String {
        table((1..).zip(&self.answer.plans), self.runs_in, |column| !column.key.is_empty()).csv()
    }

    /// A plan that is better than the first, and that no launcher takes.
    fn record_beyond(&self, found: &EvaluatedPlan) -> Value {
        let tokens = |found: &EvaluatedPlan| found.summary.tokens_per_s();
        json!({
            "scenario": ScenarioFile::of(&found.scenario),
            "gain": self.answer.plans.first().map(|first| tokens(found) / tokens(first) - 1.0),
            "step_time_s": found.summary.step_time.get(),
            "tokens_per_s": tokens(found),
            "peak_bytes": found.summary.memory.peak.get() as u64,
            "runs_in": (self.runs_in.names)(&found.scenario),
            "unknown": &*found.scenario.unknown,
            "missing": (self.runs_in.missing)(&found.scenario),
        })
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> String {
        pretty(&self.value())
    }

    /// As JSON, to which more is added.
    pub fn value(&self) -> Value {
        let plans = self.answer.plans.iter().zip(self.evaluations).zip(self.commands).enumerate();
        json!({
            "format": FORMAT,
            "objective": self.search.objective.word(),
            "space": space(&self.answer.counts),
            "exact": self.answer.exact,
            "seconds": self.time.get(),
            "plans": plans.map(|(place, ((found, evaluation), command))| {
                ranked(place + 1, (found, evaluation), command.as_ref(), self.runs_in)
            }).collect::<Vec<_>>(),
            "beyond": self.answer.beyond.iter().map(|found| self.record_beyond(found)).collect::<Vec<_>>(),
            "per_operator": self.gain().map(|(gain, found)| json!({
                "gain": gain,
                "step_time_s": found.summary.step_time.get(),
                "peak_bytes": found.summary.memory.peak.get() as u64,
                "scenario": ScenarioFile::of(&found.scenario),
            })),
            "recipe": self.recipe.map(|RecipePlan { found, why }| json!({
                "scenario": ScenarioFile::of(&found.scenario),
                "step_time_s": found.summary.step_time.get(),
                "why": why,
            })),
            "nearest": self.nearest.map(|(found, why)| json!({
                "why": why,
                "step_time_s": found.summary.step_time.get(),
                "peak_bytes": found.summary.memory.peak.get() as u64,
                "lacks": lacking(&found.scenario).collect::<Vec<_>>(),
                "scenario": ScenarioFile::of(&found.scenario),
            })),
            "on_host": self.on_host.and_then(on_host),
            "pareto": self.answer.front.iter().map(on_front).collect::<Vec<_>>(),
        })
    }
}

/// The best plan that offloads, and what it would be without.
fn on_host(answer: &PlanSearchAnswer) -> Option<Value> {
    let (best, without) = answer.plans.first().zip(answer.without_offload.as_ref())?;
    let figures = |found: &EvaluatedPlan| {
        json!({
            "step_time_s": found.summary.step_time.get(),
            "peak_bytes": found.summary.memory.peak.get() as u64,
            "host_bytes": off_device(&found.summary).get() as u64,
        })
    };
    let mut found = figures(best);
    found["without"] = figures(without);
    found["scenario"] = json!(ScenarioFile::of(&best.scenario));
    Some(found)
}

/// A plan that nothing beats in days, cost and devices together.
fn on_front(found: &EvaluatedPlan) -> Value {
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
