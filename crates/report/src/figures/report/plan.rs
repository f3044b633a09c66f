//! Plans that place each operator, by the simulator and from a measured profile, as text and as JSON. Not for finding
//! them ([`shardscope_engine::search::planner`]).

use serde_json::{Value, json};

use crate::figures::figure::Figure;
use crate::figures::table::{joined, pretty};
use crate::figures::why::facts::FigureSubject;
use shardscope_engine::evaluate::{Evaluation, Summary};
use shardscope_engine::plan::Placement;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::{ScenarioFile, printable};
use shardscope_engine::search::planner::profile::{BatchPlan, Plans};
use shardscope_engine::search::planner::{CostModel, FoundPlan, PlacementGain, PlanAnswer, PlanRequest, Uniform};
use shardscope_engine::units::{Amount, Bytes, Seconds, devices, percent, significant, thousands};

use super::figures::record;
use super::lines::{Lines, row};
use super::{FORMAT, RunsIn, changed, held, safety_words};

/// Plans, and what was asked for.
#[derive(Debug, Clone, Copy)]
pub struct PlanReport<'a> {
    pub request: &'a PlanRequest,
    pub planned: &'a PlanAnswer,
    pub evaluations: &'a [Evaluation],
    /// Who runs a plan.
    pub runs_in: RunsIn,
    /// Seconds that the search took.
    pub seconds: f64,
}

/// How much faster a plan is than another one.
fn gain(plan: &Summary, over: Option<&Summary>) -> Option<f64> {
    over.map(|over| plan.tokens_per_s_per_device / over.tokens_per_s_per_device - 1.0)
}

impl PlanReport<'_> {
    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> String {
        let plans = self.planned.plans.iter().zip(self.evaluations);
        pretty(&json!({
            "format": FORMAT,
            "objective": self.request.objective.word(),
            "cost_model": self.request.cost_model.word(),
            "plans": plans.map(|(plan, evaluation)| self.record(plan, evaluation)).collect::<Vec<_>>(),
            "uniform": self.planned.uniform.iter().map(uniform).collect::<Vec<_>>(),
            "searched": self.planned.searched,
            "seconds": self.seconds,
        }))
    }

    /// A plan, with its relative gains in throughput: none over what does not fit.
    fn record(&self, plan: &FoundPlan, evaluation: &Evaluation) -> Value {
        let over = |other: Option<&Summary>| gain(&plan.summary, other);
        let found = json!({
            "scenario": ScenarioFile::of(&plan.scenario),
            "evaluation": record(&plan.scenario, evaluation),
            "gain_over": {
                "fsdp": over(self.planned.fsdp.as_ref()),
                "ddp": over(self.planned.ddp.as_ref()),
                "uniform": over(self.planned.best_uniform()),
                "two_way": over(self.planned.two_way.as_ref()),
            },
            "runs_in": (self.runs_in.names)(&plan.scenario),
            "operators": plan.operators.iter().zip(&plan.why).map(|one| operator(plan, one)).collect::<Vec<_>>(),
        });
        let paper = plan.paper_s.map_or(json!({}), |seconds| json!({"paper_step_time_s": seconds}));
        joined(found, paper)
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let mut lines = Lines(String::new());
        let Scenario { model, cluster, .. } = &self.request.scenario;
        let limit = self.request.scenario.capacity();
        lines.line(&format!(
            "{} on {}: plans for {} with at most {limit} per device",
            printable(&model.name),
            printable(&cluster.name),
            self.request.objective.word()
        ));
        if let Some(changed) = changed(&self.request.scenario) {
            lines.line(&changed);
        }
        if let Some(held) = held(&self.request.scenario) {
            lines.line(&held);
        }
        let by = match self.request.cost_model {
            CostModel::Simulator => format!("by the simulator, {}", safety_words()),
            CostModel::Paper => "by the paper's model, and evaluated by the simulator".to_owned(),
        };
        let (searched, took) = (thousands(self.planned.searched as f64), Seconds::new(self.seconds));
        lines.line(&format!("chosen {by}; {searched} plans compared in {took}"));
        if self.planned.plans.is_empty() {
            lines.line("nothing fits");
        } else if self.planned.plans.len() < self.request.top {
            let (found, wanted) = (self.planned.plans.len(), self.request.top);
            lines.line(&format!("{found} of the {wanted} plans asked for: no more were found"));
        }
        for (index, plan) in self.planned.plans.iter().enumerate() {
            let mut facts = figures(plan);
            facts.push(row("runs in", self.runs_in.words(&plan.scenario)));
            lines.section(&format!("{}. {}", index + 1, headline(plan)), &facts);
            lines.section("state over: weights / gradients / optimizer", &operators(plan));
            lines.section("gain in throughput over the best plan that", &self.gains(plan));
        }
        lines.0
    }

    /// A plan's gains over the best plan of each kind, and of each way to place all operators alike.
    fn gains(&self, plan: &FoundPlan) -> Vec<(String, String)> {
        let over = |name: &str, other: Option<&Summary>| {
            let gain = other.zip(gain(&plan.summary, other));
            row(name, gain.map_or_else(|| format!("{:>8}", "none fits"), |(other, gain)| against(other, gain)))
        };
        let PlanAnswer { fsdp, ddp, two_way, uniform, .. } = self.planned;
        let mut rows = vec![
            over("shards everything over all ranks (FSDP)", fsdp.as_ref()),
            over("shards nothing (DDP)", ddp.as_ref()),
            over("shards each operator over all ranks or not at all", two_way.as_ref()),
        ];
        let alike =
            |way: &Uniform| format!("shards all operators the same way: {}", printable(&way.extents.to_string()));
        let fitting = uniform.iter().filter(|way| way.best.is_some());
        rows.extend(fitting.map(|way| over(&alike(way), way.best.as_ref())));
        match uniform.iter().filter(|way| way.best.is_none()).count() {
            0 => {}
            1 => rows.push(over("shards all operators the same way: one other way", None)),
            others => rows.push(over(&format!("shards all operators the same way: {others} other ways"), None)),
        }
        rows
    }
}

/// All operators placed alike, at the best batch and recompute; no figures where none fits.
fn uniform(way: &Uniform) -> Value {
    let figure = |read: fn(&Summary) -> f64| way.best.as_ref().map(read);
    json!({
        "extents": way.extents,
        "fits": way.best.is_some(),
        "tokens_per_s_per_device": figure(|best| best.tokens_per_s_per_device),
        "step_time_s": figure(|best| best.step_time.get()),
        "peak_bytes": figure(|best| best.memory.peak.get().round()),
    })
}

/// Where operators live, and why: against the same plan with just these sharded over all ranks.
fn operator(plan: &FoundPlan, (placement, why): (&Placement, &PlacementGain)) -> Value {
    json!({
        "layers": plan.layers(placement).map(|layers| layers.to_string()),
        "operator": placement.operator,
        "extents": placement.extents,
        "split": placement.split,
        "why": {
            "traffic_saved_bytes": why.traffic_saved.get().round(),
            "time_saved_s": why.time_saved.get(),
            "memory_spent_bytes": why.memory_spent.get().round(),
            "saved_per_byte": why.ratio(),
        },
    })
}

fn against(other: &Summary, gain: f64) -> String {
    let sign = if gain < 0.0 { "" } else { "+" };
    let tokens = thousands(other.tokens_per_s_per_device);
    format!("{:>8}  {tokens} tokens/s, {}", format!("{sign}{}", percent(gain)), other.memory.peak)
}

fn figures(plan: &FoundPlan) -> Vec<(String, String)> {
    let (summary, job) = (&plan.summary, &plan.scenario.plan);
    let sequences = thousands(f64::from(job.micro_batch));
    let subject = FigureSubject::new(&plan.scenario, summary);
    let total = |(name, figure): (&str, Figure)| {
        let amount = figure.amount(&subject).map(Amount::in_row)?;
        Some(row(name, format!("{amount:>10} on all devices")))
    };
    let totals = [("tokens/s", Figure::TotalTokens), ("days", Figure::Days), ("cost", Figure::Cost)];
    let mut rows: Vec<(String, String)> = totals.into_iter().filter_map(total).collect();
    rows.extend([
        row("step", format!("{:>10}", summary.step_time)),
        row("memory", format!("{:>10} of {}", summary.memory.peak, summary.memory.capacity)),
        row("micro-batch", format!("{sequences:>10} sequences, {} a step", job.accumulate)),
        row("recompute", format!("{:>10}", job.recompute)),
    ]);
    if let Some(paper) = plan.paper_s {
        rows.push(row("paper", format!("{:>10} a step by the paper's model: nothing overlaps", Seconds::new(paper))));
    }
    rows
}

fn headline(plan: &FoundPlan) -> String {
    let summary = &plan.summary;
    format!("{} tokens/s per device on {}", thousands(summary.tokens_per_s_per_device), devices(summary.devices))
}

fn operators(plan: &FoundPlan) -> Vec<(String, String)> {
    let one = |(placement, why): (&Placement, &PlacementGain)| {
        let slices = if placement.split > 1 { format!(" in {} slices", placement.split) } else { String::new() };
        let because = if *why == PlacementGain::default() { String::new() } else { format!("; {why}") };
        row(&plan.name(placement), format!("{}{slices}{because}", printable(&placement.extents.to_string())))
    };
    plan.operators.iter().zip(&plan.why).map(one).collect()
}

#[derive(Debug, Clone, Copy)]
pub struct ProfileReport<'a> {
    pub layers: u32,
    /// Width of their residual stream.
    pub hidden: u32,
    /// Memory that a device may use.
    pub limit: Bytes,
    /// Memory of it that is kept free.
    pub reserve: Bytes,
    pub plans: &'a Plans,
}

/// A run that the authors measured: 48 layers of width 1536 on 8 devices with 8 GiB, batch 1 [osdp C7].
struct ProfileRun {
    name: &'static str,
    time: Seconds,
    mib: f64,
}

/// Their README states 192.257 and 158.049 tokens/s per device, of 96 samples of 6 tokens, and the memory.
const RUNS: [ProfileRun; 2] = [
    ProfileRun { name: "planned", time: Seconds::new(576.0 / 192.257), mib: 8057.35 },
    ProfileRun { name: "all sharded", time: Seconds::new(576.0 / 158.049), mib: 5656.91 },
];
// The shape and the batch that both runs had: for any other there is nothing to compare with.
const RUN_LAYERS: u32 = 48;
const RUN_HIDDEN: u32 = 1536;
const RUN_BATCH: u32 = 1;

impl ProfileReport<'_> {
    pub fn json(&self) -> String {
        let figures = |plan: &BatchPlan| json!({"time_s": plan.time_s, "mem_mib": plan.mem_mib});
        let batch = |plan: &BatchPlan| json!({"batch_index": plan.batch_index});
        let counted = |plan: &BatchPlan| joined(batch(plan), json!({"counts": plan.counts}));
        let plans = self.plans.plans.iter().map(|plan| joined(counted(plan), figures(plan)));
        let all_sharded = self.plans.all_sharded.iter().map(|plan| joined(batch(plan), figures(plan)));
        pretty(&json!({
            "format": FORMAT,
            "plans": plans.collect::<Vec<_>>(),
            "all_sharded": all_sharded.collect::<Vec<_>>(),
        }))
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let mut lines = Lines(String::new());
        let (layers, hidden) = (thousands(f64::from(self.layers)), thousands(f64::from(self.hidden)));
        lines.line(&format!(
            "plans of {layers} layers of width {hidden}, {} less {} per device",
            self.limit, self.reserve
        ));
        lines.line(&match self.plans.plans.first() {
            Some(best) => format!("best throughput at batch {}", best.batch_index),
            None => "nothing fits".to_owned(),
        });
        if !self.plans.plans.is_empty() {
            let plans: Vec<_> = self.plans.plans.iter().map(|plan| self.planned(plan)).collect();
            lines.section("layers of strategy 0, 1, 2, ... at each batch, best throughput first", &plans);
        }
        let all: Vec<_> = self.plans.all_sharded.iter().map(|all| row(&name(all), cost(all))).collect();
        lines.section("all layers sharded as far as they can be", &all);
        if let Some(measured) = self.measured() {
            lines.section("measured by the authors of OSDP, this shape under 8 GiB (README of their code)", &measured);
        }
        lines.0
    }

    fn planned(&self, plan: &BatchPlan) -> (String, String) {
        let counts: Vec<String> = plan.counts.iter().map(ToString::to_string).collect();
        let all = self.plans.all_sharded.iter().find(|all| all.batch_index == plan.batch_index);
        let gain = all.map_or_else(String::new, |all| saved(plan, all));
        row(&name(plan), format!("{:<16} {}{gain}", counts.join(" "), cost(plan)))
    }

    /// The authors' runs beside what was found for them, and the memory that each took beyond its plan.
    fn measured(&self) -> Option<Vec<(String, String)>> {
        if (self.layers, self.hidden) != (RUN_LAYERS, RUN_HIDDEN) {
            return None;
        }
        let of = |plans: &[BatchPlan]| plans.iter().find(|plan| plan.batch_index == RUN_BATCH).cloned();
        let (plan, all) = (of(&self.plans.plans)?, of(&self.plans.all_sharded)?);
        let (planned, uncut, reserve) = (plan.mem_mib as f64, all.uncut_mib, self.reserve / Bytes::MIB);
        let [[plan_time, plan_memory], [all_time, all_memory]] = [
            RUNS[0].beside(&plan, planned + reserve, &format!("the reserve of {} included", whole(reserve))),
            RUNS[1].beside(&all, uncut, "not cut to whole MiB"),
        ];
        let beyond = [RUNS[0].mib - planned, RUNS[1].mib - uncut].map(whole);
        let overheads = format!("{} MiB beyond the plan, {} MiB beyond all sharded: they differ", beyond[0], beyond[1]);
        Some(vec![plan_time, plan_memory, all_time, all_memory, row("overheads", overheads)])
    }
}

impl ProfileRun {
    /// Time and memory measured, and those found.
    fn beside(&self, found: &BatchPlan, mib: f64, how: &str) -> [(String, String); 2] {
        let (time_s, measured) = (found.time_s, self.time.get());
        let time = format!("{}, {} here: {}", seconds(measured), seconds(time_s), percent(time_s / measured - 1.0));
        let memory = format!("{} MiB, {} here, {how}: {}", whole(self.mib), whole(mib), percent(mib / self.mib - 1.0));
        [row(self.name, time), row("", memory)]
    }
}

fn whole(mib: f64) -> String {
    thousands(mib.round())
}

fn seconds(seconds: f64) -> String {
    format!("{} s", significant(seconds, 4))
}

fn name(plan: &BatchPlan) -> String {
    format!("batch {}", plan.batch_index)
}

fn cost(plan: &BatchPlan) -> String {
    format!("{:>10} {:>8} MiB", seconds(plan.time_s), thousands(plan.mem_mib as f64))
}

/// Time that a plan saves over all-sharded layers, in all and per MiB that it spends on that.
fn saved(plan: &BatchPlan, all: &BatchPlan) -> String {
    let (saved, spent) = (all.time_s - plan.time_s, plan.uncut_mib - all.uncut_mib);
    if spent <= 0.0 {
        return String::new();
    }
    let speedup = significant(all.time_s / plan.time_s, 4);
    format!("  {speedup} x all sharded, {} saved per MiB spent", Seconds::new(saved / spent))
}
