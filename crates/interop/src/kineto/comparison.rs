//! Compares a recorded step with the simulated one: both are traces, summed up in the same way.

use serde::Serialize;

use crate::report::{ImportReport, Imported};
use crate::trace::RankTrace;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::units::{Bytes, Seconds};
use shardscope_report::figures::Table;

use super::events::{TraceRecording, TracedJob};
use super::timeline::{StepTimeline, TracedKind};

/// A recorded step, and its simulation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TraceComparison {
    /// The job that was traced.
    pub job: TracedJob,
    /// The recorded step.
    pub measured: StepTimeline,
    /// The simulated step of a scenario, if one is given.
    pub simulated: Option<StepTimeline>,
}

impl TraceComparison {
    /// The figures of a recording, and of a scenario if given.
    pub fn new(recording: TraceRecording, scenario: Option<&Scenario>) -> Result<Imported<Self>, Vec<Problem>> {
        let mut report = ImportReport::default();
        let measured = StepTimeline::new(&recording, &mut report);
        let simulated = scenario.map(|scenario| simulated(scenario, &recording.job, &mut report)).transpose()?;
        Ok(Imported { made: Self { job: recording.job, measured, simulated }, report })
    }

    /// Tables of the step and of each kind of work.
    pub fn text(&self) -> String {
        let both: Vec<&StepTimeline> = std::iter::once(&self.measured).chain(&self.simulated).collect();
        let row = |name: &str, seconds: fn(&StepTimeline) -> f64| {
            let mut row = vec![name.to_owned()];
            row.extend(both.iter().map(|timeline| Seconds::new(seconds(timeline)).to_string()));
            if let [measured, simulated] = both[..] {
                let ratio = seconds(simulated) / seconds(measured);
                row.push(if ratio.is_finite() { format!("{ratio:.2}") } else { String::new() });
            }
            row
        };
        let headings = ["a step", "measured", "simulated", "simulated / measured"];
        let step = Table::of_texts(
            &headings[..if both.len() > 1 { 4 } else { 2 }],
            [
                row("step", |timeline| timeline.step_s),
                row("compute", |timeline| timeline.compute_s),
                row("communication", |timeline| timeline.communication_s),
                row("of that exposed", |timeline| timeline.exposed_communication_s),
                row("copies", |timeline| timeline.copies_s),
                row("idle", |timeline| timeline.idle_s),
            ],
        );
        let mut text = step.text();
        for (timeline, of) in both.into_iter().zip(["measured", "simulated"]) {
            let kinds = Table::of_texts(&[of, "count", "time", "exposed", "put in"], timeline.kinds.iter().map(cells));
            text = text + "\n" + &kinds.text();
        }
        text
    }
}

fn cells(kind: &TracedKind) -> Vec<String> {
    let shown = |shown: bool, text: String| if shown { text } else { String::new() };
    vec![
        kind.work.name().to_owned(),
        format!("{:.1}", kind.count).trim_end_matches(".0").to_owned(),
        Seconds::new(kind.time_s).to_string(),
        shown(kind.work.is_exposed(), Seconds::new(kind.exposed_s).to_string()),
        shown(kind.bytes > 0.0, Bytes::new(kind.bytes).to_string()),
    ]
}

/// The simulated step, read from the trace that `export` writes.
fn simulated(scenario: &Scenario, job: &TracedJob, report: &mut ImportReport) -> Result<StepTimeline, Vec<Problem>> {
    let traces = RankTrace::all(scenario, &mut Workspace::default())?;
    let stages = traces.len() as u32;
    // Pipeline stages are the outermost ranks, as in Megatron-LM and torchtitan.
    let stage = match (job.rank, job.world_size) {
        (Some(rank), _) if job.simulated => rank,
        (Some(rank), Some(world)) if world > 0 => (u64::from(rank) * u64::from(stages) / u64::from(world)) as u32,
        _ => stages - 1,
    };
    let stage = stage.min(stages - 1);
    if stages > 1 {
        let why = "by the rank in the file, with stages as the outermost ranks; without one the last";
        report.assume("pipeline rank", stage, why);
    }
    let mut text = Vec::new();
    let read = traces[stage as usize].write(&mut text).and_then(|()| super::read(&text[..]));
    let recording = read.map_err(|error| vec![Problem::bug("trace", error.to_string())])?;
    // The simulated trace needs no report.
    Ok(StepTimeline::new(&recording, &mut ImportReport::default()))
}
