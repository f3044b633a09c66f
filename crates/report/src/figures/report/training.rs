//! The shortest training of each method: plans side by side, where their days go, what network they need, and
//! the curve of days against devices. Not for finding them ([`shardscope_engine::search::training`]).

use serde_json::{Value, json};

use shardscope_engine::bounds::intensity::Intensity;
use shardscope_engine::evaluate::FailureForecast;
use shardscope_engine::plan::{Accumulation, Offload};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::{ScenarioFile, printable};
use shardscope_engine::search::training::{
    BestTraining, ClosedForm, METHODS, Method, StepBreakdown, TrainingChoice, TrainingSearch,
};
use shardscope_engine::units::{BytesPerSecond, Seconds, counted, devices, percent, significant, thousands};

use super::lines::Lines;
use super::text::changed;
use super::{FORMAT, figures};
use crate::figures::figure::{Figure, MEMORY_PARTS};
use crate::figures::table::{Table, TableCell, joined, pretty};
use crate::figures::why::facts::FigureSubject;

#[derive(Debug, Clone, Copy)]
pub struct TrainingReport<'a> {
    /// The methods, the budgets of devices and the training.
    pub training: &'a TrainingSearch,
    /// Where the critical batch comes from.
    pub source: &'a str,
    /// The best of each method within each budget.
    pub best: &'a [Option<BestTraining>],
    /// Breakdown of each method's best plan within the largest budget.
    pub accounts: &'a [Option<StepBreakdown>],
    /// The days of each method by the closed forms alone.
    pub closed: &'a [Option<ClosedForm>],
    /// Plans that may fit.
    pub plans: usize,
    pub simulated: usize,
    /// How long the search took.
    pub time: Seconds,
}

fn sizes(scenario: &Scenario, choice: &TrainingChoice) -> Value {
    let plan = &scenario.plan;
    json!({
        "devices": choice.devices,
        "tp": choice.tensor,
        "pp": choice.pipeline,
        "dp": choice.data,
        "micro_batch": choice.micro_batch,
        "accumulate": choice.accumulate,
        "schedule": (choice.pipeline > 1).then(|| plan.schedule.word()),
        "stages_per_rank": plan.stages_per_rank,
        "accumulation": plan.accumulation.word(),
        "strategy": scenario.strategy,
        "offload": choice.offload.word(),
    })
}

fn needs_table() -> Table {
    Table::new([
        ("", ""),
        ("transfer", "transfer"),
        ("link", "link"),
        ("bandwidth_bytes_per_s", "has"),
        ("needed_bytes_per_s", "needs"),
        ("slowdown", "slowdown"),
    ])
}

/// The bandwidth that arithmetic needs to hide each transfer of a method's plan, per device and direction; one
/// that has no need never hides, however fast the link is.
fn needs(name: &str, scenario: &Scenario, account: Option<&StepBreakdown>) -> Table {
    let rate = |rate: BytesPerSecond| TableCell::new(rate.to_string(), rate.get());
    let row = |it: &Intensity| {
        let needed = it.needed(scenario).filter(|needed| needed.get().is_finite());
        let link = it.link.name(scenario);
        let slowdown = it.slowdown();
        let shown = if slowdown.is_finite() { format!("x {}", significant(slowdown, 4)) } else { String::new() };
        vec![
            TableCell::word(name),
            TableCell::word(it.kind.word()),
            TableCell::new(printable(link), link),
            rate(it.link.bandwidth(scenario)),
            needed.map_or_else(|| TableCell::new("never hides", Value::Null), rate),
            TableCell::new(shown, slowdown),
        ]
    };
    let mut table = needs_table();
    table.extend(account.iter().flat_map(|account| &account.intensities).map(row));
    table
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
    fn days(&self, best: &BestTraining, part: Seconds) -> f64 {
        self.training.goal.days(best.choice.sequences(), part.get())
    }

    /// The parts of a plan's days: those of its step, and what failures take where the cluster states them.
    fn parts(&self, index: usize, best: &BestTraining) -> Vec<(&'static str, f64)> {
        let account = self.account(index).cloned().unwrap_or_default();
        let mut parts: Vec<_> = account.named().map(|(part, time)| (part, self.days(best, time))).to_vec();
        if self.fails() {
            parts.push(("failures", best.days - self.days(best, best.summary.step_time)));
        }
        parts
    }

    /// Whether the cluster states what failures take.
    fn fails(&self) -> bool {
        FailureForecast::new(&self.training.base, Seconds::ZERO).is_some()
    }

    fn account(&self, index: usize) -> Option<&StepBreakdown> {
        self.accounts.get(index)?.as_ref()
    }

    /// Arithmetic at the peak over the step.
    fn efficiency(&self, index: usize) -> f64 {
        self.account(index).map_or(f64::NAN, |account| account.efficiency)
    }

    /// As JSON; a number that is not finite is `null`.
    pub fn json(&self) -> String {
        let goal = self.training.goal;
        pretty(&json!({
            "format": FORMAT,
            "objective": "training-time",
            "scenario": ScenarioFile::of(&self.training.base),
            "devices_max": self.training.budgets.last().copied().unwrap_or(0),
            "critical_batch": {"sequences": goal.critical, "source": self.source},
            "steps": goal.steps,
            "methods": self.rows().map(|(index, method, best)| self.method(index, method, best)).collect::<Vec<_>>(),
            "nothing_fits": self.unfit(),
            "curve": self.curve(),
            "searched": self.plans,
            "simulated": self.simulated,
            "seconds": self.time.get(),
        }))
    }

    /// A method's best plan; shares, seconds, bytes and days.
    fn method(&self, index: usize, method: &'static Method, best: &BestTraining) -> Value {
        let scenario = self.training.scenario(method, &best.choice);
        let part = |(part, days)| json!({"part": part, "days": days});
        let closed = self.closed.get(index).and_then(Option::as_ref).map(|closed| {
            let figures = json!({"days": closed.days, "efficiency": closed.step.efficiency()});
            joined(figures, sizes(&self.training.scenario(method, &closed.choice), &closed.choice))
        });
        let sequences = best.choice.sequences();
        let head = json!({"method": method.name, "about": method.about, "days": best.days});
        let rest = json!({
            "efficiency": self.efficiency(index),
            "batch": sequences,
            "steps": self.training.goal.steps(sequences),
            "step_time_s": best.summary.step_time.get(),
            "memory": figures::memory(&scenario, &best.summary, self.account(index).map_or(&[], |known| known.stages.as_slice())),
            "days_by_part": self.parts(index, best).into_iter().map(part).collect::<Vec<_>>(),
            "network": needs(method.name, &scenario, self.account(index)).objects(),
            "closed_form": closed,
            "scenario": ScenarioFile::of(&scenario),
        });
        joined(joined(head, sizes(&scenario, &best.choice)), rest)
    }

    /// A method's best plan on at most so many devices, point by point.
    fn curve(&self) -> Vec<Value> {
        let budgets = &self.training.budgets;
        let point = |index: usize| {
            let (method, budget) = (&METHODS[index / budgets.len()], budgets[index % budgets.len()]);
            let best = self.best[index].as_ref()?;
            let plan = sizes(&self.training.scenario(method, &best.choice), &best.choice);
            Some(json!({"method": method.name, "devices": budget, "days": best.days, "plan": plan}))
        };
        (0..self.best.len()).filter_map(point).collect()
    }

    /// As text: every line ends in a line end, nothing is drawn.
    pub fn text(&self) -> String {
        let mut lines = Lines(String::new());
        self.title(&mut lines);
        if self.rows().next().is_none() {
            lines.line("no method fits: choose more devices, or more memory");
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
        Self::table(&mut lines, &format!("days by device limit{absent}"), &self.curve_table());
        lines.0
    }

    fn table(lines: &mut Lines, title: &str, table: &Table) {
        lines.line("");
        lines.line(title);
        table.text().lines().for_each(|line| lines.line(&format!("  {line}")));
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
        if self.fails() {
            lines.line("days include failures, restarts and checkpoints");
        }
        if let Some(wanted) = base.wanted_sequences().map(counted) {
            lines.line(&format!("any batch may be the best, not only the {wanted} sequences of the scenario"));
        }
        let (plans, simulated) = (thousands(self.plans as f64), thousands(self.simulated as f64));
        let context = if base.plan.context > 1 { format!("; cp {}", base.plan.context) } else { String::new() };
        lines.line(&format!(
            "recompute {}{context}; searched {plans} plans, simulated {simulated}",
            base.plan.recompute
        ));
    }

    fn plans_table(&self) -> Table {
        let head =
            ["", "days", "devices", "tp", "pp", "dp", "micro-batches", "efficiency", "strategy", "schedule", "offload"];
        let row = |(index, method, best): (usize, &'static Method, &BestTraining)| {
            let scenario = self.training.scenario(method, &best.choice);
            let order = match scenario.plan.accumulation {
                _ if best.choice.pipeline > 1 => scenario.plan.schedule.word(),
                Accumulation::Layered => "layer by layer",
                Accumulation::Standard => "-",
            };
            let mut cells = chosen(method, best.days, &best.choice, self.efficiency(index));
            cells.extend([scenario.strategy.to_string(), order.to_owned(), best.choice.offload.word().to_owned()]);
            cells
        };
        Table::of_texts(&head, self.rows().map(row))
    }

    fn memory_table(&self) -> Table {
        let passes = self.training.base.plan.passes_beside();
        let writes = self.training.base.plan.writes();
        let parts = move || {
            let shown = move |part: &Figure| match part {
                Figure::BesideWeights => passes || writes,
                Figure::Engine => writes,
                _ => true,
            };
            MEMORY_PARTS.into_iter().filter(shown)
        };
        let columns = || parts().chain([Figure::Peak, Figure::Capacity]);
        let mut table = Table::headed(std::iter::once("").chain(columns().map(Figure::label)));
        table.extend(self.rows().map(|(_, method, best)| {
            let scenario = self.training.scenario(method, &best.choice);
            let subject = FigureSubject::new(&scenario, &best.summary);
            let cells = columns().map(|figure| TableCell::figure(figure, &subject));
            std::iter::once(TableCell::word(method.name)).chain(cells).collect()
        }));
        table
    }

    fn parts_table(&self) -> Table {
        let rows: Vec<_> = self.rows().collect();
        let parts: Vec<_> = rows.iter().map(|(index, _, best)| self.parts(*index, best)).collect();
        let head: Vec<&str> = [""].into_iter().chain(rows.iter().map(|(_, method, _)| method.name)).collect();
        // As many as the shortest training has with three digits, and two for long ones.
        let shortest = rows.iter().map(|(_, _, best)| best.days).fold(f64::INFINITY, f64::min);
        let decimals = (2.0 - libm::floor(libm::log10(shortest))).clamp(2.0, 12.0) as usize;
        let shown = |days: f64| {
            // No minus before what rounds to nothing.
            format!("{:.decimals$}", if days.abs() < 0.5 * libm::pow(0.1, decimals as f64) { 0.0 } else { days })
        };
        let part = |(place, (name, _)): (usize, &(&str, f64))| {
            let days = parts.iter().map(|parts| shown(parts[place].1));
            [(*name).to_owned()].into_iter().chain(days).collect()
        };
        Table::of_texts(&head, parts.iter().take(1).flat_map(|parts| parts.iter().enumerate().map(part)))
    }

    fn network_table(&self) -> Table {
        let needs = |(index, method, best): (usize, &'static Method, &BestTraining)| {
            needs(method.name, &self.training.scenario(method, &best.choice), self.account(index))
        };
        let mut table = needs_table();
        self.rows().for_each(|row| table.append(needs(row)));
        table
    }

    fn closed_table(&self) -> Table {
        let found = METHODS.iter().zip(self.closed).filter_map(|(method, closed)| Some((method, closed.as_ref()?)));
        let row = |(method, closed): (&Method, &ClosedForm)| {
            let mut cells = chosen(method, closed.days, &closed.choice, closed.step.efficiency());
            cells.push(method.strategies[closed.choice.strategy].to_owned());
            cells
        };
        let head = ["", "days", "devices", "tp", "pp", "dp", "micro-batches", "efficiency", "strategy"];
        Table::of_texts(&head, found.map(row))
    }

    fn curve_table(&self) -> Table {
        let head: Vec<&str> = ["devices"].into_iter().chain(METHODS.iter().map(|method| method.name)).collect();
        let row = |(budget, devices): (usize, &u32)| {
            let days = (0..METHODS.len()).map(|method| self.at(method, budget));
            let days = days.map(|best| best.map_or_else(|| "x".to_owned(), |best| significant(best.days, 3)));
            [thousands(f64::from(*devices))].into_iter().chain(days).collect()
        };
        Table::of_texts(&head, self.training.budgets.iter().enumerate().map(row))
    }
}

fn chosen(method: &Method, days: f64, choice: &TrainingChoice, efficiency: f64) -> Vec<String> {
    let TrainingChoice { devices, tensor, pipeline, data, micro_batch, accumulate, .. } = *choice;
    let mut cells = vec![method.name.to_owned(), significant(days, 3), thousands(f64::from(devices))];
    cells.extend([tensor, pipeline, data].map(|count| count.to_string()));
    cells.extend([format!("{accumulate} x {micro_batch}"), percent(efficiency)]);
    cells
}
