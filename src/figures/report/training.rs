//! The shortest training of each method: plans side by side, where their days go, what network they need, and
//! the curve of days against devices. Not for finding them ([`crate::search::training`]).

use serde::Serialize;

use crate::bounds::intensity::{self, Intensity};
use crate::bounds::layered::LayeredStep;
use crate::evaluate;
use crate::plan::{Accumulation, Offload};
use crate::scenario::Scenario;
use crate::scenario::file::{ScenarioFile, printable};
use crate::search::training::{Account, BestTraining, Closed, METHODS, Method, TrainingChoice, TrainingSearch};
use crate::units::{Bytes, BytesPerSecond, Seconds, devices, significant, thousands};

use super::FORMAT;
use super::figures::{Memory, finite};
use super::sweep::aligned;
use super::text::{Lines, changed, percent};

/// What a search found, and of what.
#[derive(Debug, Clone, Copy)]
pub struct TrainingReport<'a> {
    /// The search.
    pub training: &'a TrainingSearch,
    /// Where the critical batch comes from.
    pub source: &'a str,
    /// The best of each method within each budget.
    pub best: &'a [Option<BestTraining>],
    /// Of each method's best within the largest budget, where its days go.
    pub accounts: &'a [Option<Account>],
    /// Of the same plans, the memory of each pipeline rank.
    pub stages: &'a [Vec<evaluate::Memory>],
    /// What each method would take by the closed forms alone.
    pub closed: &'a [Option<Closed>],
    /// Plans that may fit.
    pub plans: usize,
    /// Those that were simulated.
    pub simulated: usize,
    /// How long the search took.
    pub time: Seconds,
}

#[derive(Serialize)]
struct Document {
    format: u32,
    objective: &'static str,
    scenario: ScenarioFile,
    devices_max: u32,
    critical_batch: Critical,
    steps: Option<f64>,
    methods: Vec<MethodRecord>,
    nothing_fits: Vec<&'static str>,
    curve: Vec<PointRecord>,
    searched: usize,
    simulated: usize,
    seconds: Option<f64>,
}

/// The critical batch in sequences, and where it comes from.
#[derive(Serialize)]
struct Critical {
    sequences: Option<f64>,
    source: String,
}

/// A method's best plan; shares, seconds, bytes and days.
#[derive(Serialize)]
struct MethodRecord {
    method: &'static str,
    about: &'static str,
    days: Option<f64>,
    #[serde(flatten)]
    sizes: Sizes,
    efficiency: Option<f64>,
    batch: Option<f64>,
    steps: Option<f64>,
    step_time_s: Option<f64>,
    memory: Memory,
    days_by_part: Vec<PartRecord>,
    network: Vec<Need>,
    closed_form: Option<ClosedRecord>,
    scenario: ScenarioFile,
}

/// What was chosen.
#[derive(Serialize)]
struct Sizes {
    devices: u32,
    tp: u32,
    pp: u32,
    dp: u32,
    micro_batch: u32,
    accumulate: u32,
    schedule: Option<&'static str>,
    stages_per_rank: u32,
    accumulation: &'static str,
    strategy: String,
    offload: &'static str,
}

/// One part of a plan's days.
#[derive(Serialize)]
struct PartRecord {
    part: &'static str,
    days: Option<f64>,
}

/// What a kind of transfer needs of its link so that arithmetic hides it, per device and direction.
#[derive(Serialize)]
struct Need {
    transfer: &'static str,
    link: String,
    bandwidth_bytes_per_s: Option<f64>,
    /// `None` where nothing runs beside it, however fast the link is.
    needed_bytes_per_s: Option<f64>,
    slowdown: Option<f64>,
}

/// The best plan by the closed forms alone.
#[derive(Serialize)]
struct ClosedRecord {
    days: Option<f64>,
    efficiency: Option<f64>,
    #[serde(flatten)]
    sizes: Sizes,
}

/// One point of a method's curve: its best plan on at most so many devices.
#[derive(Serialize)]
struct PointRecord {
    method: &'static str,
    devices: u32,
    days: Option<f64>,
    #[serde(rename = "plan")]
    sizes: Sizes,
}

impl Sizes {
    fn of(scenario: &Scenario, choice: &TrainingChoice) -> Self {
        let plan = &scenario.plan;
        Self {
            devices: choice.devices,
            tp: choice.tensor,
            pp: choice.pipeline,
            dp: choice.data,
            micro_batch: choice.micro_batch,
            accumulate: choice.accumulate,
            schedule: (choice.pipeline > 1).then(|| plan.schedule.word()),
            stages_per_rank: plan.stages_per_rank,
            accumulation: plan.accumulation.word(),
            strategy: scenario.strategy.to_string(),
            offload: choice.offload.word(),
        }
    }
}

/// What the transfers of a scenario need; tensor collectives never hide.
fn needs(scenario: &Scenario) -> Vec<Need> {
    let need = |it: Intensity| {
        let bandwidth = it.link.bandwidth(scenario);
        Need {
            transfer: it.kind.word(),
            link: it.link.name(scenario).to_owned(),
            bandwidth_bytes_per_s: finite(bandwidth.get()),
            needed_bytes_per_s: it.needed(scenario).and_then(|needed| finite(needed.get())),
            slowdown: finite(it.slowdown()),
        }
    };
    intensity::transfers(scenario).into_iter().map(need).collect()
}

impl TrainingReport<'_> {
    /// The methods that fit within the largest budget, each with its place and its best plan there.
    fn rows(&self) -> impl Iterator<Item = (usize, &'static Method, &BestTraining)> {
        let last = self.training.budgets.len() - 1;
        METHODS.iter().enumerate().filter_map(move |(index, method)| Some((index, method, self.at(index, last)?)))
    }

    fn at(&self, method: usize, budget: usize) -> Option<&BestTraining> {
        self.best.get(method * self.training.budgets.len() + budget)?.as_ref()
    }

    /// The methods for which nothing fits.
    fn unfit(&self) -> Vec<&'static str> {
        let last = self.training.budgets.len() - 1;
        let names = METHODS.iter().enumerate().filter(|(index, _)| self.at(*index, last).is_none());
        names.map(|(_, method)| method.name).collect()
    }

    /// Days of a part of a plan's step.
    fn days(best: &BestTraining, part: Seconds) -> f64 {
        best.days * (part / best.summary.step_time)
    }

    /// Arithmetic at the peak over the step.
    fn efficiency(&self, method: &Method, best: &BestTraining) -> f64 {
        let step = LayeredStep::new(&self.training.scenario(method, &best.choice));
        step.map_or(f64::NAN, |step| step.ideal / best.summary.step_time)
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let goal = self.training.goal;
        serde_json::to_string_pretty(&Document {
            format: FORMAT,
            objective: "training-time",
            scenario: ScenarioFile::of(&self.training.base),
            devices_max: self.training.budgets.last().copied().unwrap_or(0),
            critical_batch: Critical { sequences: finite(goal.critical), source: self.source.to_owned() },
            steps: finite(goal.steps),
            methods: self.rows().map(|(index, method, best)| self.method(index, method, best)).collect(),
            nothing_fits: self.unfit(),
            curve: self.curve(),
            searched: self.plans,
            simulated: self.simulated,
            seconds: finite(self.time.get()),
        })
    }

    fn method(&self, index: usize, method: &'static Method, best: &BestTraining) -> MethodRecord {
        let scenario = self.training.scenario(method, &best.choice);
        let account = self.accounts.get(index).copied().flatten().unwrap_or_default();
        let part =
            |(part, seconds): (&'static str, Seconds)| PartRecord { part, days: finite(Self::days(best, seconds)) };
        let closed = self.closed.get(index).and_then(Option::as_ref).map(|closed| ClosedRecord {
            days: finite(closed.days),
            efficiency: finite(closed.step.efficiency()),
            sizes: Sizes::of(&self.training.scenario(method, &closed.choice), &closed.choice),
        });
        let sequences = best.choice.sequences();
        MethodRecord {
            method: method.name,
            about: method.about,
            days: finite(best.days),
            sizes: Sizes::of(&scenario, &best.choice),
            efficiency: finite(self.efficiency(method, best)),
            batch: finite(sequences),
            steps: finite(self.training.goal.steps(sequences)),
            step_time_s: finite(best.summary.step_time.get()),
            memory: Memory::of(&best.summary.memory, self.stages.get(index).map_or(&[], Vec::as_slice)),
            days_by_part: account.named().map(part).into(),
            network: needs(&scenario),
            closed_form: closed,
            scenario: ScenarioFile::of(&scenario),
        }
    }

    fn curve(&self) -> Vec<PointRecord> {
        let budgets = &self.training.budgets;
        let point = |index: usize| {
            let (method, budget) = (&METHODS[index / budgets.len()], budgets[index % budgets.len()]);
            let best = self.best[index].as_ref()?;
            let sizes = Sizes::of(&self.training.scenario(method, &best.choice), &best.choice);
            Some(PointRecord { method: method.name, devices: budget, days: finite(best.days), sizes })
        };
        (0..self.best.len()).filter_map(point).collect()
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let mut lines = Lines(String::new());
        self.title(&mut lines);
        if self.rows().next().is_none() {
            lines.line("nothing fits, by any method: choose more devices, or more memory");
            return lines.0;
        }
        Self::table(&mut lines, "shortest training of each method", &self.plans_table());
        let names = self.unfit();
        if !names.is_empty() {
            lines.line(&format!("nothing fits: {}", names.join(", ")));
        }
        if self.best.iter().flatten().any(|best| best.choice.offload != Offload::None) {
            lines.line("offload: the host is taken to have room for whatever is put there; its memory is not modelled");
        }
        Self::table(&mut lines, "memory of the fullest device", &self.memory_table());
        Self::table(&mut lines, "days by part, as simulated", &self.parts_table());
        Self::table(&mut lines, "bandwidth that hides each transfer, per device and direction", &self.network_table());
        Self::table(&mut lines, "by the closed forms alone", &self.closed_table());
        let absent = if self.best.iter().all(Option::is_some) { "" } else { "; x: nothing fits" };
        Self::table(&mut lines, &format!("days on at most so many devices{absent}"), &self.curve_table());
        lines.0
    }

    fn table(lines: &mut Lines, title: &str, rows: &[Vec<String>]) {
        lines.line("");
        lines.line(title);
        aligned(rows).lines().for_each(|line| lines.line(&format!("  {line}")));
    }

    fn title(&self, lines: &mut Lines) {
        let TrainingSearch { base, goal, budgets, .. } = self.training;
        let most = devices(budgets.last().copied().unwrap_or(0));
        let (model, cluster, stack) = (&base.model.name, &base.cluster.name, &base.stack.id);
        lines.line(&printable(&format!("{model} on at most {most} of {cluster}, stack {stack}")));
        if let Some(changed) = changed(base) {
            lines.line(&changed);
        }
        let (steps, critical) = (thousands(goal.steps), thousands(goal.critical));
        lines
            .line(&format!("{steps} steps at the critical batch of {critical} sequences ({})", printable(self.source)));
        let (plans, simulated) = (thousands(self.plans as f64), thousands(self.simulated as f64));
        let context = if base.plan.context > 1 { format!("; cp {}", base.plan.context) } else { String::new() };
        lines.line(&format!(
            "recompute {}{context}; searched {plans} plans, simulated {simulated}",
            base.plan.recompute
        ));
    }

    fn plans_table(&self) -> Vec<Vec<String>> {
        let head =
            ["", "days", "devices", "tp", "pp", "dp", "micro-batches", "efficiency", "strategy", "schedule", "offload"];
        let row = |(_, method, best): (usize, &'static Method, &BestTraining)| {
            let scenario = self.training.scenario(method, &best.choice);
            let Sizes { devices, tp, pp, dp, micro_batch, accumulate, schedule, strategy, offload, .. } =
                Sizes::of(&scenario, &best.choice);
            let layered = scenario.plan.accumulation == Accumulation::Layered;
            let order = schedule.unwrap_or(if layered { "layer by layer" } else { "-" });
            let mut cells = vec![method.name.to_owned(), significant(best.days, 3), thousands(f64::from(devices))];
            cells.extend([tp, pp, dp].map(|count| count.to_string()));
            cells.push(format!("{accumulate} x {micro_batch}"));
            cells.push(percent(self.efficiency(method, best)));
            cells.extend([strategy, order.to_owned(), offload.to_owned()]);
            cells
        };
        headed(&head, self.rows().map(row))
    }

    fn memory_table(&self) -> Vec<Vec<String>> {
        let parts = ["weights", "gradients", "optimizer", "activations", "gathered", "communication", "reserved"];
        let head: Vec<&str> = [""].into_iter().chain(parts).chain(["peak", "of"]).collect();
        let row = |(_, method, best): (usize, &'static Method, &BestTraining)| {
            let memory = &best.summary.memory;
            let named = memory.parts.named();
            let part =
                |name: &str| named.iter().find(|(part, _)| *part == name).map_or(Bytes::ZERO, |(_, bytes)| *bytes);
            let bytes = parts.map(part).into_iter().chain([memory.peak, memory.capacity]);
            [method.name.to_owned()].into_iter().chain(bytes.map(|bytes| bytes.to_string())).collect()
        };
        headed(&head, self.rows().map(row))
    }

    fn parts_table(&self) -> Vec<Vec<String>> {
        let names = Account::default().named().map(|(name, _)| name);
        let rows: Vec<_> = self.rows().collect();
        let head: Vec<&str> = [""].into_iter().chain(rows.iter().map(|(_, method, _)| method.name)).collect();
        // As many as the shortest training has with three digits, and two for long ones.
        let shortest = rows.iter().map(|(_, _, best)| best.days).fold(f64::INFINITY, f64::min);
        let decimals = (2.0 - libm::floor(libm::log10(shortest))).clamp(2.0, 12.0) as usize;
        let shown = |index: usize, place: usize, best: &BestTraining| {
            let account = self.accounts.get(index).copied().flatten().unwrap_or_default();
            let days = Self::days(best, account.named()[place].1);
            // No minus before what rounds to nothing.
            format!("{:.decimals$}", if days.abs() < 0.5 * libm::pow(0.1, decimals as f64) { 0.0 } else { days })
        };
        let part = |(place, name): (usize, &&str)| {
            let days = rows.iter().map(|(index, _, best)| shown(*index, place, best));
            [(*name).to_owned()].into_iter().chain(days).collect()
        };
        headed(&head, names.iter().enumerate().map(part))
    }

    fn network_table(&self) -> Vec<Vec<String>> {
        let row = |(_, method, best): (usize, &'static Method, &BestTraining)| {
            needs(&self.training.scenario(method, &best.choice)).into_iter().map(move |need| {
                let rate = |rate: Option<f64>| rate.map(BytesPerSecond::new);
                let needed =
                    rate(need.needed_bytes_per_s).map_or_else(|| "never hides".to_owned(), |rate| rate.to_string());
                let has = rate(need.bandwidth_bytes_per_s).map_or_else(String::new, |rate| rate.to_string());
                let slowdown = need.slowdown.map_or_else(String::new, |factor| format!("x {}", significant(factor, 4)));
                vec![method.name.to_owned(), need.transfer.to_owned(), printable(&need.link), needed, has, slowdown]
            })
        };
        headed(&["", "transfer", "link", "needs", "has", "slowdown"], self.rows().flat_map(row))
    }

    fn closed_table(&self) -> Vec<Vec<String>> {
        let found = METHODS.iter().zip(self.closed).filter_map(|(method, closed)| Some((method, closed.as_ref()?)));
        let row = |(method, closed): (&Method, &Closed)| {
            let TrainingChoice { devices, tensor, pipeline, data, micro_batch, accumulate, .. } = closed.choice;
            let mut cells = vec![method.name.to_owned(), significant(closed.days, 3), thousands(f64::from(devices))];
            cells.extend([tensor, pipeline, data].map(|count| count.to_string()));
            cells.extend([format!("{accumulate} x {micro_batch}"), percent(closed.step.efficiency())]);
            cells.push(method.strategies[closed.choice.strategy].to_owned());
            cells
        };
        headed(&["", "days", "devices", "tp", "pp", "dp", "micro-batches", "efficiency", "strategy"], found.map(row))
    }

    fn curve_table(&self) -> Vec<Vec<String>> {
        let head: Vec<&str> = ["devices"].into_iter().chain(METHODS.iter().map(|method| method.name)).collect();
        let row = |(budget, devices): (usize, &u32)| {
            let days = (0..METHODS.len()).map(|method| self.at(method, budget));
            let days = days.map(|best| best.map_or_else(|| "x".to_owned(), |best| significant(best.days, 3)));
            [thousands(f64::from(*devices))].into_iter().chain(days).collect()
        };
        headed(&head, self.training.budgets.iter().enumerate().map(row))
    }
}

fn headed(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    std::iter::once(head.iter().map(|word| (*word).to_owned()).collect()).chain(rows).collect()
}
