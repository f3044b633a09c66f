//! Writes the simulated step as a Chrome trace in the form of PyTorch's profiler, one file per pipeline rank: for
//! Perfetto, Chrome's viewer and Holistic Trace Analysis.
//!
//! Checked against Holistic Trace Analysis 0.5.0, which takes kernels whose names begin with `nccl` for communication.

mod event;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use shardscope_engine::evaluate::{
    Evaluation, MemoryPoint, ModelPart, Span, SpanMicroBatches, Stream, TaskKind, Workspace, traced_whole,
};
use shardscope_engine::plan::Format;
use shardscope_engine::scenario::{Field, Layout, Problem, Scenario};
use shardscope_engine::search::once;
use shardscope_engine::text::escaped;
use shardscope_engine::units::{Bytes, Seconds};

use event::{Picoseconds, TraceEvent};

/// The most tasks in a step, over all ranks: files of about 400 MB.
const MOST_TASKS: u64 = 1_000_000;

/// The trace of one pipeline rank.
#[derive(Debug)]
pub struct RankTrace {
    head: Value,
    events: Vec<TraceEvent>,
}

/// Data that the events of one rank share.
struct Rank<'a> {
    place: u32,
    scenario: &'a Scenario,
    layout: Layout,
}

impl RankTrace {
    /// The traces of all pipeline ranks, in order; a step with too many tasks is refused.
    pub fn all(scenario: &Scenario, workspace: &mut Workspace) -> Result<Vec<Self>, Vec<Problem>> {
        let checked = scenario.checked()?;
        let layout = checked.layout();
        let mut evaluation = once(scenario, workspace)?;
        evaluation.trace = traced_whole(&checked, MOST_TASKS, workspace)?.ok_or_else(|| vec![too_many()])?;
        Ok((0..evaluation.trace.ranks()).map(|rank| Self::new(rank, scenario, layout, &evaluation)).collect())
    }

    fn new(rank: u32, scenario: &Scenario, layout: &Layout, evaluation: &Evaluation) -> Self {
        let trace = &evaluation.trace;
        let whole = Rank { place: rank, scenario, layout: *layout };
        let mut spans = trace.spans_on(rank, Stream::Compute).to_vec();
        for lane in Stream::ALL.into_iter().skip(1) {
            spans.extend_from_slice(trace.spans_on(rank, lane));
        }
        // Spans without length are invisible, and would begin inside others.
        spans.retain(|span| span.end > span.start);
        let memory = trace.memory_of(rank);
        let mut events = vec![whole.step(evaluation.summary.step_time)];
        events.extend(spans.iter().enumerate().map(|(id, span)| whole.kernel(id, span)));
        events.extend(whole.flows(&spans));
        let state = evaluation.details.states.get(rank as usize);
        events.extend(memory.iter().filter_map(|point| Some(whole.counter(point, &point.parts(state?).named()))));
        // Of two events that begin together the longer one comes first, since it contains the other.
        events.sort_by_key(|event| (event.at, std::cmp::Reverse(event.lasts)));
        let head = whole.head(evaluation);
        let mut named = whole.names(&spans);
        named.append(&mut events);
        Self { head, events: named }
    }

    /// Writes the file, one event per line.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let head = format!("{:#}", self.head);
        // A device's name may contain any character.
        let head = escaped(&head);
        let head = head.trim_end().trim_end_matches('}').trim_end();
        write!(to, "{head},\n  \"traceEvents\": [")?;
        for (place, event) in self.events.iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(to, "{comma}\n{}", event.text)?;
        }
        to.write_all(b"\n]}\n")
    }
}

fn too_many() -> Problem {
    Problem {
        field: Field::Accumulate.path().to_owned(),
        what: format!("a trace of this step has more than {MOST_TASKS} tasks"),
        fix: "choose fewer micro-batches (accumulate) or layers: each looks as the one before".to_owned(),
    }
}

/// The thread of a span, numbered like PyTorch's streams, and its name.
fn thread(span: &Span) -> (u32, &'static str) {
    match span.lane {
        _ if span.activity.kind == TaskKind::Host => (HOST, "host"),
        Stream::Compute => (7, "compute"),
        Stream::Tensor => (16, "tensor parallel"),
        Stream::Context => (18, "context parallel"),
        Stream::Experts => (19, "expert parallel"),
        Stream::Gather => (20, "gathers"),
        Stream::Reduce => (24, "reductions"),
        Stream::Replicas => (25, "sums over replicas"),
        Stream::Pipeline => (28, "pipeline"),
        Stream::HostOut => (32, "copies to the host"),
        Stream::HostIn => (33, "copies from the host"),
    }
}

/// Threads of the step itself, and of the host's work, which is no kernel.
const STEP: u32 = 1;
const HOST: u32 = 2;

/// PyTorch's names of a collective: its kernel, and the operation in `Collective name`.
fn collective(kind: TaskKind) -> Option<(&'static str, &'static str)> {
    match kind {
        TaskKind::AllGather => Some(("ncclDevKernel_AllGather", "_allgather_base")),
        TaskKind::ReduceScatter => Some(("ncclDevKernel_ReduceScatter", "_reduce_scatter_base")),
        TaskKind::AllReduce => Some(("ncclDevKernel_AllReduce", "allreduce")),
        TaskKind::AllToAll => Some(("ncclDevKernel_SendRecv", "all_to_all")),
        TaskKind::PointToPoint => Some(("ncclDevKernel_SendRecv", "send")),
        _ => None,
    }
}

/// The profiler's name for a format.
fn dtype(format: Format) -> &'static str {
    match format {
        Format::Fp32 => "Float",
        Format::Bf16 => "BFloat16",
        Format::Fp16 => "Half",
        Format::Fp8 => "Float8_e4m3fn",
        Format::Fp4 => "Float4_e2m1fn_x2",
        Format::Int8 | Format::Int4 => "Char",
    }
}

/// Elements that a device puts in, from those that it receives: of n ranks, all shares but its own arrive.
fn elements(kind: TaskKind, received: f64, group: u32) -> u64 {
    let others = f64::from(group.max(2) - 1);
    // When 8 ranks gather 8 GB, each receives 7 and puts in 1; in a reduce-scatter each puts in 8 and receives 7; an
    // all-reduce is both in turn.
    let shares = match kind {
        TaskKind::AllGather => 1.0 / others,
        TaskKind::ReduceScatter | TaskKind::AllToAll => (others + 1.0) / others,
        TaskKind::AllReduce => (others + 1.0) / others / 2.0,
        _ => 1.0,
    };
    (received * shares) as u64
}

fn part(part: ModelPart) -> &'static str {
    match part {
        ModelPart::Layer => "layer",
        ModelPart::Attention => "attention",
        ModelPart::Mlp => "mlp",
        ModelPart::Experts => "experts",
        ModelPart::Embedding => "embedding",
        ModelPart::Head => "head",
        ModelPart::Model => "model",
    }
}

impl Rank<'_> {
    fn head(&self, evaluation: &Evaluation) -> Value {
        let device = &self.scenario.cluster.device;
        let capacity = evaluation.stages.get(self.place as usize).map(|memory| memory.capacity.get() as u64);
        json!({
            "schemaVersion": 1,
            "displayTimeUnit": "ms",
            "traceName": format!("shardscope {}: a simulated step", env!("CARGO_PKG_VERSION")),
            "distributedInfo": {"backend": "nccl", "rank": self.place, "world_size": self.layout.devices},
            "deviceProperties": [{"id": 0, "name": device.name, "totalGlobalMem": capacity}],
        })
    }

    /// Names of the process, and of threads that run anything.
    fn names(&self, spans: &[Span]) -> Vec<TraceEvent> {
        let process = format!("pipeline rank {}", self.place);
        let mut threads: Vec<(u32, &str)> = spans.iter().map(thread).chain([(STEP, "step")]).collect();
        threads.sort_unstable();
        threads.dedup();
        let of_thread = |(thread, name)| {
            [
                self.name(thread, "thread_name", &json!({"name": name})),
                self.name(thread, "thread_sort_index", &json!({"sort_index": thread})),
            ]
        };
        let process = self.name(0, "process_name", &json!({"name": process}));
        std::iter::once(process).chain(threads.into_iter().flat_map(of_thread)).collect()
    }

    fn name(&self, thread: u32, what: &str, args: &Value) -> TraceEvent {
        let event = json!({"ph": "M", "name": what, "pid": self.place, "tid": thread, "ts": 0, "args": args});
        TraceEvent::new(0, 0, &event)
    }

    fn step(&self, time: Seconds) -> TraceEvent {
        self.span("ProfilerStep#0", "user_annotation", STEP, (Seconds::ZERO, time), &json!({}))
    }

    fn span(&self, name: &str, cat: &str, thread: u32, (start, end): (Seconds, Seconds), args: &Value) -> TraceEvent {
        let (start, end) = (Picoseconds::from(start), Picoseconds::from(end));
        let event = json!({
            "ph": "X", "cat": cat, "name": name, "pid": self.place, "tid": thread,
            "ts": start.micros(), "dur": (end - start).micros(), "args": args,
        });
        TraceEvent::new(start.0, end.0 - start.0, &event)
    }

    fn kernel(&self, id: usize, span: &Span) -> TraceEvent {
        let Span { lane, activity, bytes, .. } = *span;
        let (thread, _) = thread(span);
        if thread == HOST {
            return self.span("host", "cpu_op", HOST, (span.start, span.end), &json!({"External id": id}));
        }
        let mut args = json!({"device": 0, "stream": thread, "External id": id});
        if matches!(activity.part, ModelPart::Layer | ModelPart::Attention | ModelPart::Mlp | ModelPart::Experts) {
            args["layer"] = json!(activity.layer);
        }
        if let SpanMicroBatches::One(micro_batch) = span.micro_batches(self.scenario, &self.layout) {
            args["micro-batch"] = json!(micro_batch);
        }
        if bytes > Bytes::ZERO {
            args["bytes"] = json!(bytes.get() as u64);
        }
        let name = match collective(activity.kind) {
            Some((kernel, operation)) => {
                let group = self.group(lane);
                args["Collective name"] = json!(operation);
                let format = self.format(lane);
                args["dtype"] = json!(dtype(format));
                args["Group size"] = json!(group);
                args["In msg nelems"] = json!(elements(activity.kind, bytes.get() / format.bytes(), group));
                kernel.to_owned()
            }
            None if lane == Stream::HostOut => "Memcpy DtoH (Device -> Pinned)".to_owned(),
            None if lane == Stream::HostIn => "Memcpy HtoD (Pinned -> Device)".to_owned(),
            None => format!("{} {}", activity.kind.name(), part(activity.part)),
        };
        self.span(&name, "kernel", thread, (span.start, span.end), &args)
    }

    /// Number of ranks in a lane's collectives.
    fn group(&self, lane: Stream) -> u32 {
        let Layout { tensor, context, experts, weights, gradients, data, .. } = self.layout;
        match lane {
            Stream::Gather => weights,
            Stream::Reduce => gradients,
            Stream::Replicas => (data * context / gradients.max(1)).max(1),
            Stream::Tensor => tensor,
            Stream::Context => context,
            Stream::Experts => experts,
            Stream::Compute | Stream::Pipeline | Stream::HostOut | Stream::HostIn => 2,
        }
    }

    /// The format in which a lane sends: gradients as the stack reduces them, all else as stored.
    fn format(&self, lane: Stream) -> Format {
        let (scenario, wire) = (self.scenario, &self.scenario.plan.sharding.wire);
        match lane {
            Stream::Reduce => scenario.reduction_format(wire.gradients),
            Stream::Replicas => scenario.reduction_format(wire.boundary),
            _ => scenario.plan.precision.storage(),
        }
    }

    /// Flows from the end of each gather to the next pass over the gathered part.
    fn flows(&self, spans: &[Span]) -> Vec<TraceEvent> {
        let key = |span: &Span| (span.activity.part, span.activity.layer);
        let mut uses: HashMap<_, Vec<&Span>> = HashMap::new();
        for span in spans.iter().filter(|span| span.lane == Stream::Compute) {
            uses.entry(key(span)).or_default().push(span);
        }
        for all in uses.values_mut() {
            all.sort_by(|one, other| one.start.get().total_cmp(&other.start.get()));
        }
        // A gather may serve several passes in turn: the flow leads to the first.
        let gathers = spans.iter().filter(|span| span.lane == Stream::Gather);
        let flow = |(id, gather): (usize, &Span)| {
            let all = uses.get(&key(gather))?;
            let used = all.get(all.partition_point(|used| used.start < gather.end))?;
            // The flow starts inside the gather, so that viewers find the span that it leaves.
            let end = Picoseconds::from(gather.end).0;
            let leaves = Picoseconds(end.saturating_sub(1).max(Picoseconds::from(gather.start).0));
            Some([self.flow("s", id, gather, leaves), self.flow("f", id, used, used.start.into())])
        };
        gathers.enumerate().filter_map(flow).flatten().collect()
    }

    fn flow(&self, end: &str, id: usize, span: &Span, at: Picoseconds) -> TraceEvent {
        let (thread, _) = thread(span);
        let mut event = json!({
            "ph": end, "cat": "weights", "name": "gathered", "id": id, "pid": self.place, "tid": thread, "ts": at.micros(),
        });
        if end == "f" {
            event["bp"] = json!("e");
        }
        TraceEvent::new(at.0, 0, &event)
    }

    fn counter(&self, point: &MemoryPoint, parts: &[(&'static str, Bytes)]) -> TraceEvent {
        let at = Picoseconds::from(point.at);
        let parts: serde_json::Map<String, Value> =
            parts.iter().map(|(name, bytes)| ((*name).to_owned(), json!(bytes.gib()))).collect();
        let event = json!({"ph": "C", "name": "memory, GiB", "pid": self.place, "ts": at.micros(), "args": parts});
        TraceEvent::new(at.0, 0, &event)
    }
}

#[cfg(test)]
mod tests;
