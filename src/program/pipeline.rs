//! Pipelines and layered accumulation: each rank costs its stages in the order of a schedule.
//!
//! Sharded states are gathered and reduced by stages, with two buffers for weights and two for
//! gradients [layered C5]: a stage is gathered when no buffer holds it, as soon as the buffer it
//! takes is free, and its gradients are reduced when backward turns to another stage. Replicated
//! gradients are reduced after a stage's last backward. Layered accumulation is the breadth-first
//! schedule with a stage per layer [layered B7].

mod buffers;
mod stage_pass;

use std::ops::Range;

use crate::cost::{Factors, Rates};
use crate::plan::{Accumulation, Offload, Schedule, Site};
use crate::scenario::Layout;
use crate::units::Bytes;

use super::boundary::{self, ParameterGroup};
use super::build::{CollectiveStreams, GraphBuilder, LaunchOf, LaunchedWork, PIPELINE, RankBuilder};
use super::label::{Activity, Label, Lane, ModelPart, Phase, TaskKind};
use super::places::OperatorLayouts;
use super::schedule::{
    BackwardRun, PassLoop, PassOrder, PassRun, PipelineShape, StageGather, StagePass, backward_runs, fills, last,
};
use super::stage::{PipelineStages, StageWork};
use super::state::ModelState;
use super::step::TaskEmitter;
use super::task::{COMPUTE, Task, TaskClass, TaskEvent, held, waits};
use super::visit::UnitCosts;
use buffers::{BufferDrain, BufferFill};
use stage_pass::{NextCheckpoint, NextPass, PassShape};

/// A pipeline and what its ranks share.
pub(super) struct PipelineBuilder<'a> {
    /// What costs are made from, for each way of placing operators; the plan's own first.
    ways: Vec<UnitCosts<'a>>,
    /// The way of the embedding.
    embedding: usize,
    streams: CollectiveStreams,
    stages: PipelineStages,
    shape: PipelineShape,
    /// Whether any weights come into buffers, and whether any are gathered for that.
    fetches: bool,
    gathers: bool,
    /// Whether there is a second copy of any weights.
    seconds: bool,
    /// What lives on the host.
    offload: Offload,
    /// For each rank the first of those up to it, neighbour by neighbour, that hold the same.
    alike: Vec<u32>,
    /// Passes that differ in more than what is around them.
    crossings: Vec<PassShape>,
    graphs: GraphCache,
}

/// GraphCache of one kind that exist already, each after what tells it from the others.
type CachedGraphs<K> = Vec<(K, u32)>;

/// GraphCache that exist already. PipelineStages are told apart by their work only.
#[derive(Debug, Default)]
struct GraphCache {
    /// The host's fixed times before all else, and the boundary, each of ranks that are alike.
    begins: CachedGraphs<u32>,
    ends: CachedGraphs<u32>,
    /// Each shape, while so many stages are gathered ahead of it.
    passes: Vec<CachedGraphs<(usize, NextPass)>>,
    /// A stage that comes into the buffer of another.
    fills: CachedGraphs<BufferFill>,
    /// A gradient buffer taken for a work, and whether sums come from the host into it.
    marks: CachedGraphs<(usize, bool)>,
    /// The reduction of a stage's gradients.
    reductions: CachedGraphs<BufferDrain>,
    /// The end of so many bytes that are left in the buffers.
    empties: CachedGraphs<i64>,
}

/// Whether a plan runs in stages.
pub(super) fn wanted(rates: &Rates<'_>, layout: &Layout) -> bool {
    layout.pipeline > 1 || rates.scenario.plan.accumulation == Accumulation::Layered
}

impl<'a> PipelineBuilder<'a> {
    /// Of a checked plan.
    pub fn of(rates: &'a Rates<'a>, layout: &Layout, places: &'a OperatorLayouts<'a>) -> Self {
        let plan = &rates.scenario.plan;
        let layered = plan.accumulation == Accumulation::Layered;
        let schedule = plan.effective_schedule();
        let looped = matches!(schedule, Schedule::BreadthFirst | Schedule::Interleaved);
        let stages_per_rank = match (layered && layout.pipeline == 1, looped) {
            (true, _) => rates.scenario.model.layers,
            (false, true) => plan.stages_per_rank,
            (false, false) => 1,
        };
        let ranks = layout.pipeline;
        let ways = places.costs(rates, true);
        // Faster hardware, asked after for once, deals no layers anew.
        let plain = Rates::new(rates.scenario, &Factors::default());
        let stages = PipelineStages::of(places, &ways, &UnitCosts::new(&plain, layout, true), ranks, stages_per_rank);
        let held = |is: &dyn Fn(&UnitCosts<'a>) -> bool| {
            let holdings = stages.works.iter().flat_map(|work| &work.holdings);
            holdings.map(|holding| &ways[holding.way]).any(is)
        };
        let buffered = plan.offload.state() || held(&|costs| costs.layout.gradients > 1);
        let mut alike: Vec<u32> = Vec::with_capacity(ranks as usize);
        for rank in 0..ranks {
            let same = |before: &u32| (0..stages_per_rank).all(|k| stages.work(*before, k) == stages.work(rank, k));
            alike.push(alike.last().copied().filter(same).unwrap_or(rank));
        }
        Self {
            shape: PipelineShape { schedule, ranks, stages_per_rank, micro_batches: plan.accumulate, buffered },
            streams: CollectiveStreams::of(rates.scenario.stack.overlap),
            fetches: held(&UnitCosts::fetched),
            gathers: held(&|costs| costs.layout.weights > 1),
            seconds: held(&|costs| costs.second().is_some()),
            embedding: places.way(Site::Embedding),
            stages,
            ways,
            offload: plan.offload,
            alike,
            crossings: Vec::new(),
            graphs: GraphCache::default(),
        }
    }

    /// PipelineStages that differ.
    pub fn works(&self) -> &[StageWork] {
        &self.stages.works
    }

    /// What costs of operators placed in some way are made from.
    pub fn way(&self, way: usize) -> &UnitCosts<'a> {
        &self.ways[way]
    }

    /// Which of them the stages are, in the order of forward.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.stages.in_order()
    }

    /// The first of the ranks up to this one, neighbour by neighbour, that hold the same.
    pub fn alike(&self, rank: u32) -> u32 {
        self.alike[rank as usize]
    }

    /// One rank's parameters, by how they are placed.
    fn shares(&self, rank: u32) -> Vec<ParameterGroup<'_>> {
        let mut parameters = vec![0; self.ways.len()];
        let stages = (0..self.shape.stages_per_rank).map(|stage| self.stages.work(rank, stage));
        for holding in stages.flat_map(|work| &self.stages.works[work].holdings) {
            parameters[holding.way] += holding.parameters;
        }
        let held = self.ways.iter().zip(parameters).filter(|(_, parameters)| *parameters > 0);
        held.map(|(costs, parameters)| ParameterGroup::of(costs, parameters)).collect()
    }

    /// Memory of one rank that does not change during the step.
    pub fn state(&self, rank: u32) -> ModelState {
        ModelState::of_shares(&self.shares(rank))
    }

    /// What all costs share.
    fn costs(&self) -> &UnitCosts<'a> {
        &self.ways[0]
    }

    /// Builds the step of one rank.
    pub fn build(&mut self, rank: u32, mut builder: RankBuilder<'_>) {
        let (alike, ranks) = (self.alike(rank), self.shape.ranks);
        let PassOrder { turns, loops, group_loop, repeat } = self.shape.order(rank);
        let (fills, backward_runs) = (self.placed(&turns), backward_runs(&turns, self.shape.micro_batches));
        let mut walk = RankWalk {
            virtual_stages: self.virtual_stages(rank),
            turns,
            loops,
            fills,
            backward_runs,
            ..RankWalk::default()
        };
        let left = last(&walk.fills).map(|stage| self.taken(walk.stage_of(stage).work, None)).sum();
        let rest = group_loop.end..walk.turns.len();
        self.fills(&mut builder, &mut walk, 0);
        self.once(&mut builder, 0, |known| &mut known.begins, alike, |this, graph| this.begin(graph, rank));
        self.turns(&mut builder, &mut walk, 0..group_loop.start);
        builder.group_loop(repeat, ranks, |builder| self.turns(builder, &mut walk, group_loop));
        self.turns(&mut builder, &mut walk, rest);
        self.once(&mut builder, 0, |known| &mut known.ends, alike, |this, graph| this.end(graph, rank));
        self.once(&mut builder, 0, |known| &mut known.empties, left, |_, graph| empty(graph, left));
    }

    /// The host's fixed times before all else.
    fn begin(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        let rates = self.costs().rates;
        let owners = self.shares(rank).first().map_or(1, |share| share.costs.layout.optimizer);
        TaskEmitter::host(graph, rates.host_step(owners));
        TaskEmitter::host(graph, rates.software.micro_batch);
    }

    /// The boundary, after what the ends of the pipeline sum.
    fn end(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        self.tie(graph, rank);
        graph.task_loop(1, |body| boundary::build(&self.shares(rank), self.streams, body));
    }

    /// What a rank's stages are.
    fn virtual_stages(&mut self, rank: u32) -> Vec<VirtualStage> {
        let (ranks, last) = (self.shape.ranks, self.stages.len() - 1);
        let hops = [false, true].map(|backward| self.costs().hop(rank, backward));
        let stage_of = |stage: u32| {
            let (index, work) = (self.stages.index(rank, stage), self.stages.work(rank, stage));
            let crossings = [false, true].map(|backward| {
                let (first, last) = if backward { (last, 0) } else { (0, last) };
                let sends = (ranks > 1 && index != last).then(|| hops[usize::from(backward)]);
                let shape = PassShape { work, backward, receives: ranks > 1 && index != first, sends };
                let known = self.crossings.iter().position(|known| *known == shape);
                known.unwrap_or_else(|| {
                    self.crossings.push(shape);
                    self.graphs.passes.push(Vec::new());
                    self.crossings.len() - 1
                })
            });
            VirtualStage { work, layer: self.stages.first_layer(rank, stage), crossings }
        };
        (0..self.shape.stages_per_rank).map(stage_of).collect()
    }

    /// The stages to gather in the order in which they are needed, each where its gather is listed: as
    /// soon as its buffer is free, or, where a gather stops compute, when it is needed.
    fn placed(&self, turns: &[PassRun]) -> Vec<StageGather> {
        if !self.fetches {
            return Vec::new();
        }
        let (mut fills, mut last) = (fills(turns), 0);
        for fill in &mut fills {
            last = last.max(if self.gathers && self.streams.gather == COMPUTE { fill.turn } else { fill.place });
            fill.place = last;
        }
        fills
    }

    fn emit(&self) -> TaskEmitter<'_> {
        TaskEmitter { costs: self.costs(), streams: self.streams, ahead: 0, contention: self.contention() }
    }

    fn contention(&self) -> f64 {
        self.costs().rates.runtime.contention
    }

    /// The graph of a kind that a key tells from the others, made where it is needed first.
    fn graph<K: PartialEq>(
        &mut self,
        builder: &mut RankBuilder<'_>,
        known: impl Fn(&mut GraphCache) -> &mut CachedGraphs<K>,
        key: K,
        fill: impl FnOnce(&Self, &mut GraphBuilder<'_>),
    ) -> u32 {
        if let Some((_, graph)) = known(&mut self.graphs).iter().find(|(other, _)| *other == key) {
            return *graph;
        }
        let graph = builder.graph(|graph| fill(self, graph));
        known(&mut self.graphs).push((key, graph));
        graph
    }

    /// Runs such a graph once, from a layer.
    fn once<K: PartialEq>(
        &mut self,
        builder: &mut RankBuilder<'_>,
        layer: u32,
        known: impl Fn(&mut GraphCache) -> &mut CachedGraphs<K>,
        key: K,
        fill: impl FnOnce(&Self, &mut GraphBuilder<'_>),
    ) {
        let graph = self.graph(builder, known, key, fill);
        builder.run(LaunchOf { graph, layer, micro_batch: 0 });
    }

    /// Turns in order.
    fn turns(&mut self, builder: &mut RankBuilder<'_>, walk: &mut RankWalk, turns: Range<usize>) {
        let mut index = turns.start;
        while index < turns.end {
            let next = walk.loops.get(walk.looped).filter(|next| next.turns.start == index);
            let (repeat, end) = next.map_or((1, index + 1), |next| (next.repeat, next.turns.end));
            walk.looped += usize::from(next.is_some());
            builder.repeat(repeat, |builder| (index..end).for_each(|index| self.turn(builder, walk, index)));
            index = end;
        }
    }

    /// One turn, and what surrounds it.
    fn turn(&mut self, builder: &mut RankBuilder<'_>, walk: &mut RankWalk, index: usize) {
        let backward_run = walk.backward_runs.get(walk.over).copied();
        if let Some(backward_run) =
            backward_run.filter(|backward_run| backward_run.begins == index && self.shape.buffered)
        {
            let VirtualStage { work, .. } = walk.stage_of(backward_run.stage);
            let mark = (work, self.resumed(work, backward_run));
            self.once(builder, 0, |known| &mut known.marks, mark, |this, graph| this.mark(graph, mark));
        }
        let (turn, ahead) = (walk.turns[index], walk.ahead(index));
        let rest = turn.later(turn.repeat - 1);
        let following = self.next(walk, rest.last(), walk.turns.get(index + 1).map(|turn| turn.first));
        let again = if turn.repeat > 1 { self.next(walk, turn.last(), Some(turn.later(1).first)) } else { following };
        if again == following {
            self.passes(builder, walk, turn, ahead, following);
        } else {
            // The last time is listed apart where something else follows it.
            self.passes(builder, walk, PassRun { repeat: turn.repeat - 1, ..turn }, ahead, again);
            self.passes(builder, walk, PassRun { repeat: 1, ..rest }, ahead, following);
        }
        if let Some(backward_run) = backward_run.filter(|backward_run| backward_run.ends == index) {
            walk.over += 1;
            if backward_run.last || self.shape.buffered {
                self.reduce(builder, walk, backward_run);
            }
        }
        self.fills(builder, walk, index + 1);
    }

    /// The passes of a turn, `ahead` gathers ahead, and what the last one does for what is `next`.
    fn passes(&mut self, builder: &mut RankBuilder<'_>, walk: &RankWalk, turn: PassRun, ahead: usize, next: NextPass) {
        if let Some(second) = turn.second {
            let between = self.next(walk, turn.first, turn.second);
            let first = self.pass(builder, walk, turn.first, ahead, between);
            let second = self.pass(builder, walk, second, ahead, next);
            builder.repeat(turn.repeat, |builder| [first, second].into_iter().for_each(|run| builder.run(run)));
        } else {
            let run = self.pass(builder, walk, turn.first, ahead, next);
            builder.repeat(turn.repeat, |builder| builder.run(run));
        }
    }

    /// Forward or backward of a stage for one micro-batch, `ahead` gathers ahead.
    fn pass(
        &mut self,
        builder: &mut RankBuilder<'_>,
        walk: &RankWalk,
        pass: StagePass,
        ahead: usize,
        next: NextPass,
    ) -> LaunchOf {
        let VirtualStage { layer, crossings, .. } = walk.stage_of(pass.stage);
        let shape = crossings[usize::from(pass.backward)];
        let fill = |this: &Self, graph: &mut GraphBuilder<'_>| {
            this.pass_tasks(graph, this.crossings[shape], ahead, next);
        };
        let graph = self.graph(builder, |known| &mut known.passes[shape], (ahead, next), fill);
        LaunchOf { graph, layer, micro_batch: pass.micro_batch }
    }

    /// What a pass does for the one after it.
    fn next(&self, walk: &RankWalk, pass: StagePass, next: Option<StagePass>) -> NextPass {
        let Some(next) = next else { return NextPass::default() };
        NextPass {
            opens: !next.backward && next.stage == 0,
            copy: (self.offload.checkpoints() && next.backward).then(|| {
                let [from, to] = [pass, next].map(|pass| walk.stage_of(pass.stage));
                NextCheckpoint {
                    work: to.work,
                    layer: to.layer.wrapping_sub(from.layer),
                    micro_batch: next.micro_batch.wrapping_sub(pass.micro_batch),
                }
            }),
        }
    }

    /// The gathers that are listed after so many turns.
    fn fills(&mut self, builder: &mut RankBuilder<'_>, walk: &mut RankWalk, turns: usize) {
        while let Some(fill) = walk.fills.get(walk.listed).filter(|fill| fill.place == turns) {
            let VirtualStage { work, layer, .. } = walk.stage_of(fill.stage);
            let leaves = self.seconds && fill.first && walk.refills(fill.stage);
            let evicts = fill.evicts.map(|stage| walk.stage_of(stage).work);
            let fill = BufferFill { work, evicts, backward: fill.backward, leaves };
            self.once(builder, layer, |known| &mut known.fills, fill, |this, graph| this.fill(graph, fill));
            walk.listed += 1;
        }
    }

    /// Whether a backward_run of backward brings sums of gradients back from the host: a stage's last, where it had others.
    fn resumed(&self, work: usize, backward_run: BackwardRun) -> bool {
        self.offload.state() && backward_run.last && !backward_run.first && self.unreduced(work) > Bytes::ZERO
    }

    /// Reduces a stage's gradients when backward leaves it.
    fn reduce(&mut self, builder: &mut RankBuilder<'_>, walk: &RankWalk, backward_run: BackwardRun) {
        let (BackwardRun { stage, last, .. }, VirtualStage { work, layer, .. }) =
            (backward_run, walk.stage_of(backward_run.stage));
        let second = last && self.seconds && walk.refills(stage);
        let drain = BufferDrain { work, last, resumed: self.resumed(work, backward_run), second };
        self.once(builder, layer, |known| &mut known.reductions, drain, |this, graph| this.leave(graph, drain));
    }

    /// Sums the gradients of an embedding and of logits that are tied to it, where the first and the last rank have
    /// a copy each, once they are reduced (`finalize_model_grads` of Megatron-LM). The two ranks are neighbours
    /// where the pipeline closes: each has the sum when both have done their part.
    fn tie(&self, graph: &mut GraphBuilder<'_>, rank: u32) {
        let (sends, arrival) = match rank {
            0 => (TaskEvent::ArrivedBackward, TaskEvent::ArrivedForward),
            last if last + 1 == self.shape.ranks => (TaskEvent::ArrivedForward, TaskEvent::ArrivedBackward),
            _ => return,
        };
        let Some(transfer) = self.ways[self.embedding].tied() else { return };
        graph.expect(arrival);
        graph.task_loop(1, |body| {
            let label = label(Lane::Pipeline, TaskKind::AllReduce, ModelPart::Embedding, Phase::Backward);
            let mut task = body.transfer(&transfer, PIPELINE, self.contention(), label);
            task.waits = waits([TaskEvent::Released, TaskEvent::Reduced].map(|event| Some(body.after(event, 0))));
            (task.signals, task.sends) = ([Some(TaskEvent::Reduced), None], Some(sends));
            body.push(task);
            let mut task = pause(body);
            task.waits = waits([Some(body.after(TaskEvent::Reduced, 0)), Some(body.after(arrival, 0))]);
            body.push(task);
        });
    }
}

/// What one rank does, and what it gathers and reduces around it.
#[derive(Debug, Default)]
struct RankWalk {
    virtual_stages: Vec<VirtualStage>,
    turns: Vec<PassRun>,
    loops: Vec<PassLoop>,
    fills: Vec<StageGather>,
    backward_runs: Vec<BackwardRun>,
    /// Loops that are listed, gathers that are, those of them that were for turns so far, and backward_runs that are over.
    looped: usize,
    listed: usize,
    needed: usize,
    over: usize,
}

/// One of a rank's stages.
#[derive(Debug, Clone, Copy)]
struct VirtualStage {
    work: usize,
    /// Its first layer.
    layer: u32,
    /// Its forward and backward, by index.
    crossings: [usize; 2],
}

impl RankWalk {
    fn stage_of(&self, stage: u32) -> VirtualStage {
        self.virtual_stages[stage as usize]
    }

    /// Gathers that are listed before a turn and neither for it nor for an earlier one.
    fn ahead(&mut self, turn: usize) -> usize {
        while self.fills.get(self.needed).is_some_and(|fill| fill.turn <= turn) {
            self.needed += 1;
        }
        self.listed - self.needed
    }

    /// Whether a stage comes into a buffer again for backward.
    fn refills(&self, stage: u32) -> bool {
        self.fills.iter().any(|fill| fill.backward && fill.stage == stage)
    }
}

/// Gives back what is left in the buffers.
fn empty(graph: &mut GraphBuilder<'_>, left: i64) {
    graph.task_loop(u32::from(left > 0), |body| {
        let mut task = pause(body);
        task.gives[held::GATHERED] = left;
        body.push(task);
    });
}

/// A moment on the compute stream.
fn pause(body: &mut GraphBuilder<'_>) -> Task {
    let label = label(Lane::Compute, TaskKind::Host, ModelPart::Model, Phase::default());
    Task { signals: [Some(TaskEvent::Computed), None], ..body.compute(LaunchedWork::default(), TaskClass::Host, label) }
}

fn label(lane: Lane, kind: TaskKind, part: ModelPart, phase: Phase) -> Label {
    Label { lane, phase, first: Activity { kind, part, ..Activity::default() }, ..Label::default() }
}
