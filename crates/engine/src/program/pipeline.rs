//! Pipelines and layered accumulation: each rank passes its virtual stages in the order of a schedule.
//!
//! Sharded states are gathered and reduced by stages, with two buffers for weights and two for gradients [layered C5]:
//! a stage is gathered when no buffer holds it, as soon as the buffer it takes is free, and its gradients are reduced
//! when backward turns to another stage. Replicated gradients are reduced after a stage's last backward. Layered
//! accumulation is the breadth-first schedule with a stage per layer [layered B7].

mod buffers;
pub(super) mod context;
mod ends;
mod stage_pass;

use crate::units::Bytes;
use std::ops::Range;

use crate::plan::pass::{Pass, PassLoop, PassOrder, PassRun, StagePass};

use super::build::{GraphBuilder, GraphLaunch, RankBuilder};
use super::stage::StagePlace;
use super::stage_buffers::{BackwardStretch, StageGather, backward_stretches, resident_at_end, stage_gathers};
use super::stream::Stream;
use super::unit_pass::Gradients;
use buffers::{GradientBuffer, GradientDrain, StageFill};
use context::PipelineContext;
use ends::free_buffers;
use stage_pass::{NextCheckpoint, NextPass, PassShape};

/// Writes the program of each rank of a pipeline.
pub(super) struct PipelineBuilder<'a> {
    context: &'a PipelineContext<'a>,
    /// The distinct passes over stages, whatever runs around them.
    shapes: Vec<PassShape>,
    graphs: GraphCache,
}

/// The task graphs of one kind that exist already, by key.
type CachedGraphs<K> = Vec<(K, u32)>;

/// The task graphs that exist already, keyed by the work of stages, so that ranks share most of them.
#[derive(Debug, Default)]
struct GraphCache {
    /// The host's fixed times before all else, and the boundary, each of ranks that are alike.
    begins: CachedGraphs<u32>,
    ends: CachedGraphs<u32>,
    /// Passes of each shape, by the number of stages gathered ahead and the next pass.
    passes: Vec<CachedGraphs<(usize, NextPass)>>,
    fills: CachedGraphs<StageFill>,
    gradient_buffers: CachedGraphs<GradientBuffer>,
    drains: CachedGraphs<GradientDrain>,
    /// The release of the bytes that are left in the buffers.
    empties: CachedGraphs<i64>,
}

/// The passes of one rank, and how many of them are written down.
#[derive(Debug, Default)]
struct RankProgress {
    stages: Vec<VirtualStage>,
    runs: Vec<PassRun>,
    loops: Vec<PassLoop>,
    gathers: Vec<StageGather>,
    stretches: Vec<BackwardStretch>,
    /// Loops that are written down; gathers that are issued, and that runs so far needed; stretches of backward that
    /// are over.
    loops_written: usize,
    gathers_issued: usize,
    gathers_needed: usize,
    stretches_done: usize,
}

/// One of a rank's virtual stages.
#[derive(Debug, Clone, Copy)]
struct VirtualStage {
    /// Index of the stage's work, and its first layer.
    work: usize,
    layer: u32,
    /// The stage's place in the model.
    index: u32,
    /// The shape of each of its passes, by index, once it is needed.
    shapes: [Option<usize>; Pass::ALL.len()],
}

impl RankProgress {
    /// Gathers that are issued before a run but needed only after it.
    fn gathered_ahead(&mut self, run: usize) -> usize {
        // Runs are asked for in their order, so that what has been needed stays so, and each gather is looked at once.
        while self.gathers.get(self.gathers_needed).is_some_and(|gather| gather.run <= run) {
            self.gathers_needed += 1;
        }
        // Of 5 gathers issued, 3 were for runs up to this one: the pass waits for all of them but 2.
        self.gathers_issued - self.gathers_needed
    }

    /// Whether backward gathers a stage again.
    fn regathers(&self, stage: u32) -> bool {
        self.gathers.iter().any(|gather| gather.pass.is_backward() && gather.stage == stage)
    }

    fn stage(&self, stage: u32) -> VirtualStage {
        self.stages[stage as usize]
    }
}

impl<'a> PipelineBuilder<'a> {
    pub fn new(context: &'a PipelineContext<'a>) -> Self {
        Self { context, shapes: Vec::new(), graphs: GraphCache::default() }
    }

    /// Writes a pass of all micro-batches over the stages of one rank, forward alone: stage by stage.
    pub fn pass_alone(&mut self, rank: u32, mut builder: RankBuilder<'_>) {
        let counts = self.context.counts;
        let mut order = PassOrder::new();
        for stage in 0..counts.stages {
            order.add(counts.micro_batches, StagePass::forward(stage, 0), None);
        }
        let mut progress = self.progress(rank, order.runs, order.loops);
        let (left, all) = (self.left(&progress), 0..progress.runs.len());
        self.issue_gathers(&mut builder, &mut progress, 0);
        self.write_runs(&mut builder, &mut progress, rank, all);
        self.launch_once(&mut builder, 0, |cache| &mut cache.empties, left, |graph| free_buffers(graph, left));
    }

    /// The passes of a rank, none of which are written down.
    fn progress(&self, rank: u32, runs: Vec<PassRun>, loops: Vec<PassLoop>) -> RankProgress {
        let (gathers, stretches) = (self.gathers(&runs), backward_stretches(&runs));
        let stages = (0..self.context.counts.stages).map(|stage| self.virtual_stage(rank, stage)).collect();
        RankProgress { stages, runs, loops, gathers, stretches, ..RankProgress::default() }
    }

    /// Bytes of the stages that stay in buffers when the passes end.
    fn left(&self, progress: &RankProgress) -> i64 {
        let left = resident_at_end(&progress.gathers);
        left.map(|stage| self.context.net_buffer_bytes(progress.stage(stage).work, None)).sum()
    }

    /// Writes the step of one rank.
    pub fn build(&mut self, rank: u32, mut builder: RankBuilder<'_>) {
        let context = self.context;
        let (alike, counts) = (context.first_alike(rank), context.counts);
        // The schedule says the order of passes and nothing else. What follows from it, when to gather, when a gradient
        // buffer is filled and emptied, is worked out here, the same for all schedules.
        let PassOrder { runs, loops, group, groups } = (context.rules.order)(counts, rank, context.buffered);
        let mut progress = self.progress(rank, runs, loops);
        // The last stage stays in its buffer when the step ends; the memory goes back, so that a step begins and ends
        // alike.
        let left = self.left(&progress);
        let rest = group.end..progress.runs.len();
        // Before the first pass both buffers are free, so that up to two stages are gathered here.
        self.issue_gathers(&mut builder, &mut progress, 0);
        self.launch_once(&mut builder, 0, |cache| &mut cache.begins, alike, |graph| context.write_begin(graph, rank));
        self.write_runs(&mut builder, &mut progress, rank, 0..group.start);
        builder.group_loop(groups, counts.ranks, |builder| self.write_runs(builder, &mut progress, rank, group));
        self.write_runs(&mut builder, &mut progress, rank, rest);
        self.launch_once(&mut builder, 0, |cache| &mut cache.ends, alike, |graph| context.write_end(graph, rank));
        self.launch_once(&mut builder, 0, |cache| &mut cache.empties, left, |graph| free_buffers(graph, left));
    }

    fn virtual_stage(&self, rank: u32, stage: u32) -> VirtualStage {
        let stages = &self.context.stages;
        let StagePlace { work, first_layer } = stages.place(rank, stage);
        VirtualStage { work, layer: first_layer, index: stages.index(rank, stage), shapes: [None; Pass::ALL.len()] }
    }

    /// The gathers of stages in the order of need. Each is issued as soon as its buffer is free, or, where a gather
    /// stalls compute, when it is needed.
    fn gathers(&self, runs: &[PassRun]) -> Vec<StageGather> {
        if !self.context.fetches {
            return Vec::new();
        }
        let stalls = self.context.gathers && self.context.streams.gather == Stream::Compute;
        let (mut gathers, mut last) = (stage_gathers(runs), 0);
        for gather in &mut gathers {
            // Gathers share a stream, so that none can be issued before the one needed before it.
            last = last.max(if stalls { gather.run } else { gather.place });
            gather.place = last;
        }
        gathers
    }

    /// The graph of a kind with a key, built when it is first needed.
    fn graph<K: PartialEq>(
        &mut self,
        builder: &mut RankBuilder<'_>,
        cached: impl Fn(&mut GraphCache) -> &mut CachedGraphs<K>,
        key: K,
        fill: impl FnOnce(&mut GraphBuilder<'_>),
    ) -> u32 {
        if let Some((_, graph)) = cached(&mut self.graphs).iter().find(|(other, _)| *other == key) {
            return *graph;
        }
        let graph = builder.graph(fill);
        cached(&mut self.graphs).push((key, graph));
        graph
    }

    /// Launches such a graph once, with labels that count from a layer.
    fn launch_once<K: PartialEq>(
        &mut self,
        builder: &mut RankBuilder<'_>,
        layer: u32,
        cached: impl Fn(&mut GraphCache) -> &mut CachedGraphs<K>,
        key: K,
        fill: impl FnOnce(&mut GraphBuilder<'_>),
    ) {
        let graph = self.graph(builder, cached, key, fill);
        builder.run(GraphLaunch { graph, layer, micro_batch: 0 });
    }

    /// Writes runs of passes in order.
    fn write_runs(
        &mut self,
        builder: &mut RankBuilder<'_>,
        progress: &mut RankProgress,
        rank: u32,
        runs: Range<usize>,
    ) {
        let mut index = runs.start;
        while index < runs.end {
            let next = progress.loops.get(progress.loops_written).filter(|next| next.runs.start == index);
            let (repeat, end) = next.map_or((1, index + 1), |next| (next.repeat, next.runs.end));
            progress.loops_written += usize::from(next.is_some());
            builder.repeat(repeat, |builder| {
                (index..end).for_each(|index| self.write_run(builder, progress, rank, index));
            });
            index = end;
        }
    }

    /// Writes one run of passes, with its gradient buffer, reduction and gathers.
    fn write_run(&mut self, builder: &mut RankBuilder<'_>, progress: &mut RankProgress, rank: u32, index: usize) {
        let context = self.context;
        let stretch = progress.stretches.get(progress.stretches_done).copied();
        if let Some(begun) = stretch.filter(|stretch| stretch.begins == index && context.buffered) {
            let work = progress.stage(begun.stage).work;
            let key = GradientBuffer { work, resumed: self.resumed(work, begun) };
            self.launch_once(
                builder,
                0,
                |cache| &mut cache.gradient_buffers,
                key,
                |graph| context.take_gradient_buffer(graph, key),
            );
        }
        let (run, ahead) = (progress.runs[index], progress.gathered_ahead(index));
        let rest = run.later(run.repeat - 1);
        // Three backwards in a row, then a forward: the first two prefetch the next backward's checkpoint, the third
        // does not, so that they are two graphs.
        let following = self.next(progress, rest.last(), progress.runs.get(index + 1).map(|run| run.first));
        let again = if run.repeat > 1 { self.next(progress, run.last(), Some(run.later(1).first)) } else { following };
        if again == following {
            self.write_passes(builder, progress, rank, run, ahead, following);
        } else {
            // The last time is written apart where something else follows it.
            self.write_passes(builder, progress, rank, PassRun { repeat: run.repeat - 1, ..run }, ahead, again);
            self.write_passes(builder, progress, rank, PassRun { repeat: 1, ..rest }, ahead, following);
        }
        if let Some(ended) = stretch.filter(|stretch| stretch.ends == index) {
            progress.stretches_done += 1;
            if ended.last || context.buffered {
                self.drain(builder, progress, ended);
            }
        }
        self.issue_gathers(builder, progress, index + 1);
    }

    /// Writes the passes of a run with `ahead` gathers issued ahead; the last one works for `next`.
    fn write_passes(
        &mut self,
        builder: &mut RankBuilder<'_>,
        progress: &mut RankProgress,
        rank: u32,
        run: PassRun,
        ahead: usize,
        next: NextPass,
    ) {
        if let Some(second) = run.second {
            let between = self.next(progress, run.first, run.second);
            let first = self.pass(builder, progress, rank, run.first, ahead, between);
            let second = self.pass(builder, progress, rank, second, ahead, next);
            builder.repeat(run.repeat, |builder| [first, second].into_iter().for_each(|launch| builder.run(launch)));
        } else {
            let launch = self.pass(builder, progress, rank, run.first, ahead, next);
            builder.repeat(run.repeat, |builder| builder.run(launch));
        }
    }

    /// The launch of a pass over a stage for one micro-batch, with `ahead` gathers issued ahead.
    fn pass(
        &mut self,
        builder: &mut RankBuilder<'_>,
        progress: &mut RankProgress,
        rank: u32,
        pass: StagePass,
        ahead: usize,
        next: NextPass,
    ) -> GraphLaunch {
        let context = self.context;
        let stage = &mut progress.stages[pass.stage as usize];
        let shape = *stage.shapes[pass.pass as usize]
            .get_or_insert_with(|| self.shape(context.shape(rank, stage.index, stage.work, pass.pass)));
        let fill = |graph: &mut GraphBuilder<'_>| context.write_pass(graph, self.shapes[shape], ahead, next);
        let cached = &mut self.graphs.passes[shape];
        // How many gathers are ahead is part of the key, since it is part of the wait for `Gathered`.
        let known = cached.iter().find(|(other, _)| *other == (ahead, next)).map(|(_, graph)| *graph);
        let graph = known.unwrap_or_else(|| {
            let graph = builder.graph(fill);
            cached.push(((ahead, next), graph));
            graph
        });
        GraphLaunch { graph, layer: stage.layer, micro_batch: pass.micro_batch }
    }

    /// The index of a shape.
    fn shape(&mut self, shape: PassShape) -> usize {
        self.shapes.iter().position(|known| *known == shape).unwrap_or_else(|| {
            self.shapes.push(shape);
            self.graphs.passes.push(Vec::new());
            self.shapes.len() - 1
        })
    }

    /// The work of a pass for the one after it.
    fn next(&self, progress: &RankProgress, pass: StagePass, next: Option<StagePass>) -> NextPass {
        let Some(next) = next else { return NextPass::default() };
        // A backward begins with what the host has of its first layer.
        let fetches = self.context.costs().rates.scenario.plan.moves_activations()
            && next.pass.is_backward()
            && next.pass.propagates();
        NextPass {
            opens_micro_batch: next.pass == Pass::Forward && next.stage == 0,
            checkpoint: fetches.then(|| {
                let [from, to] = [pass, next].map(|pass| progress.stage(pass.stage));
                NextCheckpoint {
                    work: to.work,
                    pass: next.pass,
                    layer: to.layer.wrapping_sub(from.layer),
                    micro_batch: next.micro_batch.wrapping_sub(pass.micro_batch),
                }
            }),
        }
    }

    /// Issues the gathers that follow `runs` runs.
    fn issue_gathers(&mut self, builder: &mut RankBuilder<'_>, progress: &mut RankProgress, runs: usize) {
        let context = self.context;
        while let Some(gather) = progress.gathers.get(progress.gathers_issued).filter(|gather| gather.place == runs) {
            let VirtualStage { work, layer, .. } = progress.stage(gather.stage);
            let keeps_secondary = context.has_secondary && gather.first && progress.regathers(gather.stage);
            let evicts = gather.evicts.map(|stage| progress.stage(stage).work);
            let fill = StageFill { work, evicts, pass: gather.pass, keeps_secondary };
            self.launch_once(builder, layer, |cache| &mut cache.fills, fill, |graph| context.fill(graph, fill));
            progress.gathers_issued += 1;
        }
    }

    /// Whether a stretch of backward brings sums of gradients back from the host: a stage's last, where it had others.
    fn resumed(&self, work: usize, stretch: BackwardStretch) -> bool {
        self.context.offload.state() && stretch.last && !stretch.first && self.context.unreduced(work) > Bytes::ZERO
    }

    /// Reduces a stage's gradients when backward leaves it.
    fn drain(&mut self, builder: &mut RankBuilder<'_>, progress: &RankProgress, stretch: BackwardStretch) {
        let (context, VirtualStage { work, layer, .. }) = (self.context, progress.stage(stretch.stage));
        let frees_secondary = stretch.last && context.has_secondary && progress.regathers(stretch.stage);
        let gradients = Gradients::new(stretch.last);
        let resumed = self.resumed(work, stretch);
        let added = context.offload.state() && !stretch.first && !resumed;
        let drain = GradientDrain { work, gradients, resumed, added, frees_secondary };
        self.launch_once(builder, layer, |cache| &mut cache.drains, drain, |graph| context.drain(graph, drain));
    }
}
