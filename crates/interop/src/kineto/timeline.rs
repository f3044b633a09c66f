//! Figures of a recorded step: compute, communication, and exposed communication.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::report::ImportReport;

use super::events::{DeviceSpan, TraceRecording};
use super::intervals::Intervals;
use super::work::{TracedWork, WorkClass};

/// Figures of a recorded step. Times are means over all steps, except for `step_s`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTimeline {
    /// Number of recorded steps.
    pub steps: usize,
    /// Median time of a step, in seconds.
    pub step_s: f64,
    /// Seconds in which kernels compute.
    pub compute_s: f64,
    /// Seconds in which collectives or transfers between devices run.
    pub communication_s: f64,
    /// Seconds of communication in which nothing computes.
    pub exposed_communication_s: f64,
    /// Seconds in which copies run.
    pub copies_s: f64,
    /// Seconds in which the device does nothing.
    pub idle_s: f64,
    /// Figures of each kind of kernel and collective.
    pub kinds: Vec<TracedKind>,
}

/// Kernels of one kind, per step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TracedKind {
    /// The kind of work.
    pub work: TracedWork,
    /// Number per step.
    pub count: f64,
    /// Seconds in which at least one runs.
    pub time_s: f64,
    /// Seconds of these in which nothing computes; 0 for compute kernels.
    pub exposed_s: f64,
    /// Bytes that the device puts into collectives.
    pub bytes: f64,
}

impl StepTimeline {
    /// Figures of the device with the most kernels; other devices are reported as ignored.
    pub fn new(recording: &TraceRecording, report: &mut ImportReport) -> Self {
        let mut devices: BTreeMap<u16, usize> = BTreeMap::new();
        recording.spans.iter().for_each(|span| *devices.entry(span.device).or_default() += 1);
        let device = devices.iter().max_by_key(|(_, count)| **count).map_or(0, |(device, _)| *device);
        if devices.len() > 1 {
            let why = format!("of {} devices in the file, {device} runs the most kernels", devices.len());
            report.ignore("other devices", why);
        }
        let spans: Vec<DeviceSpan> = recording.spans.iter().filter(|span| span.device == device).copied().collect();
        let steps = steps(recording, &spans, report);
        let lengths = steps.iter().map(|(start, end)| (end - start) as f64 / 1e12).collect();
        // From the first step to the last: a step's kernels may run after the step's own end.
        let window = (steps[0].0, steps[steps.len() - 1].1);
        let timeline = Self { steps: steps.len(), step_s: median(lengths), ..Self::of_window(window, &spans) };
        let each = 1.0 / timeline.steps as f64;
        let kinds = timeline.kinds.iter().map(|kind| TracedKind {
            count: kind.count * each,
            time_s: kind.time_s * each,
            exposed_s: kind.exposed_s * each,
            bytes: kind.bytes * each,
            ..*kind
        });
        Self {
            compute_s: timeline.compute_s * each,
            communication_s: timeline.communication_s * each,
            exposed_communication_s: timeline.exposed_communication_s * each,
            copies_s: timeline.copies_s * each,
            idle_s: timeline.idle_s * each,
            kinds: kinds.collect(),
            ..timeline
        }
    }

    /// Sums over a window of time.
    fn of_window(window: (u64, u64), spans: &[DeviceSpan]) -> Self {
        let times = |wanted: &dyn Fn(&DeviceSpan) -> bool| {
            Intervals::within(window, spans.iter().filter(|span| wanted(span)).map(|span| (span.start, span.end)))
        };
        let of_class = |class: WorkClass| times(&|span| span.work.class() == class);
        let [compute, communication, copies] =
            [WorkClass::Compute, WorkClass::Communication, WorkClass::Copies].map(of_class);
        let busy = times(&|_| true);
        let works: BTreeSet<TracedWork> = spans.iter().map(|span| span.work).collect();
        let kind = |work: TracedWork| {
            let time = times(&|span| span.work == work);
            let here = spans.iter().filter(|span| span.work == work && span.start >= window.0 && span.start < window.1);
            let (count, bytes) = here.fold((0.0, 0.0), |(count, bytes), span| (count + 1.0, bytes + span.bytes as f64));
            let exposed_s = if work.is_exposed() { time.without(&compute) } else { 0.0 };
            TracedKind { work, count, time_s: time.length(), exposed_s, bytes }
        };
        let kinds = works.into_iter().map(kind).filter(|kind| kind.time_s > 0.0);
        Self {
            steps: 0,
            step_s: 0.0,
            compute_s: compute.length(),
            communication_s: communication.length(),
            exposed_communication_s: communication.without(&compute),
            copies_s: copies.length(),
            idle_s: ((window.1 - window.0) as f64 / 1e12 - busy.length()).max(0.0),
            kinds: kinds.collect(),
        }
    }
}

/// Steps in which the device runs anything, without overlaps; a trace that marks no steps is one step.
fn steps(recording: &TraceRecording, spans: &[DeviceSpan], report: &mut ImportReport) -> Vec<(u64, u64)> {
    let mut starts: Vec<u64> = spans.iter().map(|span| span.start).collect();
    starts.sort_unstable();
    let is_used = |(start, end): &(u64, u64)| {
        let first = starts.partition_point(|at| at < start);
        starts.get(first).is_some_and(|at| at < end)
    };
    let mut all = recording.steps.clone();
    // Of steps that begin together, the longest comes first: it contains the others.
    all.sort_unstable_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)));
    let mut steps: Vec<(u64, u64)> = Vec::new();
    for step in all.iter().filter(|step| is_used(step)) {
        // Another thread may mark a step again within itself.
        if steps.last().is_none_or(|last| step.0 >= last.1) {
            steps.push(*step);
        }
    }
    if steps.len() < all.len() {
        let why = "no kernel begins in them, or they lie within another step";
        report.ignore(&format!("{} of {} marks of steps", all.len() - steps.len(), all.len()), why);
    }
    if steps.is_empty() {
        let end = spans.iter().map(|span| span.end).max().unwrap_or(0);
        let whole = (starts.first().copied().unwrap_or(0), end);
        report.assume("steps", 1, "the whole trace is one step; it marks none: call the profiler's step()");
        return vec![whole];
    }
    report.take("steps", steps.len(), "ProfilerStep");
    steps
}

fn median(mut lengths: Vec<f64>) -> f64 {
    lengths.sort_by(f64::total_cmp);
    let middle = lengths.len() / 2;
    if lengths.len().is_multiple_of(2) { lengths[middle - 1].midpoint(lengths[middle]) } else { lengths[middle] }
}
