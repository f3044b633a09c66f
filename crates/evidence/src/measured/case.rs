//! From a row to the scenario that it measured, and what was assumed on the way.
//!
//! A blank cell takes a default that is named in [`Assumed`]; a row that needs more than a default is
//! refused with the reason. Not for running it.

mod model;
mod plan;
mod post_training;

use std::collections::BTreeMap;
use std::sync::Arc;

use shardscope_engine::evaluate::Summary;
use shardscope_engine::hardware::Cluster;
use shardscope_engine::plan::{Compile, Format};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::OwnFigure;
use shardscope_engine::stack::Stack;
use shardscope_engine::units::{Bytes, BytesPerSecond, Seconds};

use super::conventions::{Conventions, Reading};
use super::row::MeasuredRow;
use super::words;

/// The column of what the allocator held, which counts where no column says what of it was allocated.
const RESERVED: &str = "reserved_mem_gb";

/// The column that names the software.
const STACK: &str = "stack";

/// The stack of rows whose own is not known.
const UNKNOWN: &str = "default";

/// The value assumed for a blank cell, or for one that names what no preset is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assumed {
    /// The column of the cell.
    pub column: &'static str,
    pub value: String,
    pub why: &'static str,
}

/// A measured peak of memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Peak {
    pub bytes: Bytes,
    /// Who read it.
    pub reading: Reading,
    /// Share of the activations that was in the host's memory at the time.
    pub offloaded: f64,
    /// Whether it is that of the first pipeline rank, rather than of the fullest.
    pub first: bool,
}

/// A row with the scenarios that stand for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// As the file has it.
    pub row: MeasuredRow,
    /// One scenario, or two: where the micro-batches of a step are no whole number, one with fewer and one with more; where lengths
    /// of answers differ, one of the longest, whose peak is compared, and one of the mean, whose time is.
    pub scenarios: Vec<Scenario>,
    /// The share of the last scenario in the step time, from 0 to 1; the rest is the first one's.
    pub more: f64,
    pub assumed: Vec<Assumed>,
    /// Seconds of one optimizer step, if the row is scored for it.
    pub step_time: Option<f64>,
    /// Peak of memory, if it states one.
    pub peak: Option<Peak>,
}

/// Reads cells and notes what stands for those that are blank.
struct Cells<'a> {
    row: &'a MeasuredRow,
    assumed: Vec<Assumed>,
}

impl Cells<'_> {
    fn conventions(&self) -> &'static Conventions {
        Conventions::of_stack(self.row.text("stack"))
    }

    fn assume(&mut self, column: &'static str, value: &dyn ToString, why: &'static str) {
        self.assumed.push(Assumed { column, value: value.to_string(), why });
    }

    fn count_or(
        &mut self,
        column: &'static str,
        default: impl FnOnce() -> u32,
        why: &'static str,
    ) -> Result<u32, String> {
        if let Some(count) = self.row.count(column)? {
            return Ok(count);
        }
        let value = default();
        self.assume(column, &value, why);
        Ok(value)
    }
}

impl Case {
    /// Whether its row names software that is known, so that it says something of that.
    pub fn is_of_known_stack(&self) -> bool {
        !self.assumed.iter().any(|one| one.column == STACK)
    }

    /// The case of a row, or why there is none.
    pub fn new(row: &MeasuredRow, library: &Library) -> Result<Self, String> {
        if row.is_of_post_training() {
            return post_training::read(row, library);
        }
        let sound =
            |column: &str, figure: OwnFigure| figure.sound().map_err(|what| row.wrong(column, &format!("not {what}")));
        let stated = row.number("step_time_s")?.filter(|seconds| *seconds > 0.0);
        stated.map(|seconds| sound("step_time_s", OwnFigure::StepTime(Seconds::new(seconds)))).transpose()?;
        let step_time = stated.filter(|_| row.text("scored") != "no");
        let peak = peak(row)?;
        peak.map(|peak| sound("metric_peak_mem_gb", OwnFigure::Peak(peak.bytes))).transpose()?;
        if step_time.is_none() && peak.is_none() {
            return Err(if stated.is_some() {
                "'scored' is no, so that its step time is not compared; write yes to compare it".to_owned()
            } else {
                "has nothing to compare; write seconds into 'step_time_s', or GiB into 'metric_peak_mem_gb'".to_owned()
            });
        }
        let cluster = cluster(row, library)?;
        let filed = row.text(STACK);
        let moved =
            Conventions::of_stack(filed).moved([row.text("source"), row.text("notes")], &cluster.device.architecture);
        let named = moved.unwrap_or(filed);
        // A submission to MLPerf names its round in the source: `MLPerf Training v5.0`.
        let round = row.text("source").rsplit(' ').next().unwrap_or_default();
        let stack =
            library.stack(named).or_else(|unknown| library.stack(&format!("{named}-{round}")).map_err(|_| unknown));
        let mut cells = Cells { row, assumed: Vec::new() };
        let stack = if let Ok(stack) = stack {
            stack
        } else {
            cells.assume(STACK, &UNKNOWN, "no stack has the row's id; `shardscope presets stacks` lists them");
            library.stack(UNKNOWN).map_err(|unknown| unknown.to_string())?
        };
        let calibration = library.calibration(&stack.calibration).map_err(|unknown| unknown.to_string())?;
        let plan::RowPlan { plan, strategy, tensor, more } = plan::read(&mut cells, library, &cluster, &stack)?;
        let model = model::read(&mut cells, library, tensor, plan.sequence)?;
        let (stack, precision) = (Arc::new(as_run(row, &stack)), plan.precision);
        let mut scenario = Scenario {
            name: row.id(),
            cluster: Arc::new(cluster),
            stack,
            calibration,
            model: Arc::new(model),
            strategy: strategy.into(),
            plan,
            caveats: [].into(),
            unknown: [].into(),
        };
        scenario.plan.precision = precision;
        scenario.plan.compile = compile(row, &scenario.stack);
        scenario.plan.tensor_overlap = match row.text("tp_overlap") {
            "" => scenario.stack.sequence_parallel && words::cuts_products(row.text("notes")),
            "yes" => true,
            "no" => false,
            _ => return Err(row.wrong("tp_overlap", "neither yes nor no; write one of them, or leave it blank")),
        };
        plan::recompute_at_need(&mut cells, &mut scenario);
        let mut scenarios = vec![scenario];
        if more > 0.0 {
            // A batch between two whole counts of micro-batches is taken between their step times.
            let mut longer = scenarios[0].clone();
            longer.plan.accumulate = longer.plan.accumulate.saturating_add(1);
            scenarios.push(longer);
        }
        Ok(Self { row: row.clone(), scenarios, more, assumed: cells.assumed, step_time, peak })
    }

    /// A figure of the row, from the summaries of its scenarios: between the two where there are two.
    pub fn between(&self, own: &[Summary], of: fn(&Summary) -> f64) -> f64 {
        let (first, last) = (own.first().map_or(f64::NAN, of), own.last().map_or(f64::NAN, of));
        first + (last - first) * self.more
    }

    /// What a column says; of rows that have no such column what their scenario has.
    pub fn label(&self, column: &str) -> String {
        let Scenario { stack, cluster, strategy, .. } = self.scenario();
        match (self.row.text(column), column) {
            ("", "stack") if self.row.is_of_post_training() => printable(&stack.id),
            ("", "cluster") if self.row.is_of_post_training() => printable(&cluster.id),
            ("", "strategy_class") if self.row.is_of_post_training() => printable(strategy),
            (text, _) => printable(text),
        }
    }

    /// Whether it ran on several nodes.
    pub fn across(&self) -> bool {
        let scenario = self.scenario();
        scenario.devices() > scenario.cluster.devices_per_node()
    }

    /// The scenario, or the one with fewer micro-batches.
    pub fn scenario(&self) -> &Scenario {
        &self.scenarios[0]
    }
}

/// The preset of the row's cluster, with the bandwidth between nodes that the row states.
fn cluster(row: &MeasuredRow, library: &Library) -> Result<Cluster, String> {
    let mut cluster = (*library.cluster(row.text("cluster")).map_err(|unknown| unknown.to_string())?).clone();
    let per_node = f64::from(cluster.devices_per_node());
    if let (Some(gigabits), Some(outermost)) = (row.number("inter_node_gbps")?, cluster.levels.last_mut())
        && gigabits > 0.0
    {
        let injection = BytesPerSecond::new(gigabits * 1e9 / 8.0);
        // A row states what a node sends in all. Where that is more for each device than the cluster's file has, the
        // level carries as much.
        outermost.bandwidth = outermost.bandwidth.max(injection / per_node);
        outermost.injection = Some(injection);
    }
    Ok(cluster)
}

/// What was compiled: the loss too, unless it was run before the stack did so.
fn compile(row: &MeasuredRow, stack: &Stack) -> Compile {
    let since = stack.loss_compiled_since.unwrap_or(0);
    match row.text("compiled").split(' ').next() {
        Some("yes") if words::month(row.text("url_or_repo_path")).unwrap_or(0) < since => Compile::Layer,
        Some("yes") => Compile::On,
        _ => Compile::Off,
    }
}

/// The stack as the row ran it: its kernel, what split the sequence, and the format of the reduction (`PURE` is bf16
/// throughout, `DEFAULT` reduces in fp32).
fn as_run(row: &MeasuredRow, stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    if let Some(kernel) = words::attention(row.text("attn")) {
        (stack.attention, stack.attention_on) = (kernel, BTreeMap::new());
    }
    match row.text("notes") {
        notes if notes.contains("sequence parallel=no") => stack.sequence_parallel = false,
        notes if notes.contains("sequence parallel=yes") => stack.sequence_parallel = true,
        _ => {}
    }
    if row.text("notes").contains("NO overlap of any communication") {
        (stack.tensor_overlap, stack.reduce_during_backward, stack.gather_during_forward) = (false, false, false);
    }
    match row.text("precision") {
        mode if mode.ends_with("/PURE") => stack.reduce_format = Some(Format::Bf16),
        mode if mode.ends_with("/DEFAULT") => stack.reduce_format = Some(Format::Fp32),
        _ => {}
    }
    stack
}

/// The peak of memory that a row states.
fn peak(row: &MeasuredRow) -> Result<Option<Peak>, String> {
    let stated = [row.number("metric_peak_mem_gb")?, row.number("peak_mem_gb")?].into_iter().flatten();
    let allocated = stated.reduce(f64::max).filter(|amount| *amount > 0.0);
    let held = row.number(RESERVED)?.filter(|amount| *amount > 0.0);
    let Some(amount) = allocated.or(held) else { return Ok(None) };
    let (notes, unit) = (row.text("notes"), row.text("mem_unit"));
    // Sources count in GiB unless their note gives bytes or decimal units. LitGPT divides by 1e9 (pretrain.py).
    let decimal = words::decimal_peak(notes) || row.text("source").contains("litgpt") || unit.contains("GB");
    let reserved = (allocated.is_none() || unit.contains("reserved")).then_some(Reading::Reserved);
    let each = if decimal { Bytes::new(1e9) } else { Bytes::GIB };
    let Conventions { memory, first_rank, .. } = Conventions::of_stack(row.text("stack"));
    let smi = notes.contains("nvidia-smi").then_some(Reading::Device);
    let reading = smi.or(reserved).or(*memory).unwrap_or(Reading::Allocator);
    let offloaded = words::after(notes, "offload alpha=").unwrap_or(0.0).clamp(0.0, 1.0);
    Ok(Some(Peak { bytes: amount * each, reading, offloaded, first: *first_rank }))
}
