//! Plans from a measured profile, beside the runs that its authors measured.

use serde_json::json;

use crate::figures::report::FORMAT;
use crate::figures::report::lines::{Lines, row};
use crate::figures::table::{joined, pretty};
use shardscope_engine::search::planner::profile::{BatchPlan, Plans};
use shardscope_engine::units::{Bytes, Seconds, percent, significant, thousands};

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
        let gain = all.map_or_else(String::new, |all| against(plan, all));
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
fn against(plan: &BatchPlan, all: &BatchPlan) -> String {
    let (saved, spent) = (all.time_s - plan.time_s, plan.uncut_mib - all.uncut_mib);
    if spent <= 0.0 {
        return String::new();
    }
    let speedup = significant(all.time_s / plan.time_s, 4);
    format!("  {speedup} x all sharded, {} saved per MiB spent", Seconds::new(saved / spent))
}
