//! Random scenarios that can be laid out, for properties that hold of all of them: whatever a plan can say stands in some,
//! and in each several things meet.
//!
//! They are drawn out of a row of numbers, from a seed or from a library of properties. The smaller a number, the plainer is
//! what it draws, and behind the last one all is plain: so a scenario that breaks a property shrinks with its numbers.

use std::sync::Arc;

use crate::model::Model;
use crate::plan::{
    Accumulation, BesideModel, Capacity, Compile, ContextKind, CudaGraphs, DispatchFormats, Dispatcher, Ema, Extent,
    Extents, FlopCount, Format, FrozenEnds, FrozenFormat, GradientFormat, HostModule, HostModules, Imbalance,
    KeptOfChunk, Layers, Logits, LoraTargets, LossFormat, LossKind, MasterWeights, Module, Moments, Offload, Operator,
    Optimizer, Padding, Placement, Plan, PostMethod, Precision, Recompute, RecomputeModules, Reduction, Schedule,
    Secondary, Sharding, Size, StageSizes, TrainMethod,
};
use crate::presets::{Kind, Library};
use crate::scenario::{Scenario, file};
use crate::stack::{Overlap, Runtime};
use crate::units::{BytesPerSecond, FlopPerSecond, Seconds, Share};

/// A row of numbers that choices are drawn from.
#[derive(Debug)]
pub struct Draws(Numbers);

#[derive(Debug)]
enum Numbers {
    /// As many as are wanted, after a state.
    After(u64),
    /// Some, and then zeros.
    Given(std::vec::IntoIter<u32>),
}

impl Draws {
    /// Those of a seed.
    pub fn seeded(seed: u64) -> Self {
        Self(Numbers::After(seed))
    }

    /// Given ones.
    pub fn given(numbers: Vec<u32>) -> Self {
        Self(Numbers::Given(numbers.into_iter()))
    }

    /// The next number.
    fn number(&mut self) -> u32 {
        match &mut self.0 {
            Numbers::Given(numbers) => numbers.next().unwrap_or_default(),
            // SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
            Numbers::After(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((mixed ^ (mixed >> 31)) >> 32) as u32
            }
        }
    }

    /// A number below a count.
    pub fn below(&mut self, count: u32) -> u32 {
        self.number() % count.max(1)
    }

    /// One of a list, the plainest of which stands first.
    pub fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u32) as usize].clone()
    }

    /// Yes, as often as not.
    pub fn often(&mut self) -> bool {
        self.below(2) == 1
    }

    /// Yes, once in four times.
    pub fn seldom(&mut self) -> bool {
        self.below(4) == 3
    }

    /// One of a list once in four times.
    fn seldom_one<T: Clone>(&mut self, of: &[T]) -> Option<T> {
        if self.seldom() { Some(self.one(of)) } else { None }
    }
}

/// A small scenario on the toy machine, whose layers and whose stack are drawn too.
pub fn scenario(draws: &mut Draws) -> Scenario {
    valid(draws, |draws| {
        let mut scenario = super::scenario();
        machine(&mut scenario);
        model(draws, &mut scenario);
        stack(draws, &mut scenario);
        plan(draws, &mut scenario);
        known_losses(draws, &mut scenario);
        scenario
    })
}

/// A scenario whose cluster, stack, model and strategy are presets.
pub fn of_presets(library: &Library, draws: &mut Draws) -> Scenario {
    valid(draws, |draws| {
        let mut id = |kind: Kind| {
            let ids: Vec<&str> = library.entries(kind).map(|entry| entry.id.as_str()).collect();
            draws.one(&ids)
        };
        let ids = [Kind::Cluster, Kind::Stack, Kind::Model, Kind::Strategy].map(&mut id);
        let [cluster, stack, model, strategy] = ids;
        let text = format!(
            "format = 1\ncluster = \"{cluster}\"\nstack = \"{stack}\"\nmodel = \"{model}\"\nstrategy = \"{strategy}\"\n"
        );
        let mut scenario = library.resolve(&file::parse(&text).expect("a file")).expect("presets");
        scenario.plan.sequence = scenario.plan.sequence.min(4096);
        plan(draws, &mut scenario);
        scenario
    })
}

/// The first that can be laid out.
fn valid(draws: &mut Draws, draw: impl Fn(&mut Draws) -> Scenario) -> Scenario {
    loop {
        let scenario = draw(draws);
        if scenario.layout().is_ok() {
            return scenario;
        }
    }
}

/// Units for every number format.
fn machine(scenario: &mut Scenario) {
    let peak = &mut Arc::make_mut(&mut scenario.cluster).device.peak;
    (peak.fp8, peak.fp4) = (Some(FlopPerSecond::new(200e12)), Some(FlopPerSecond::new(400e12)));
}

fn model(draws: &mut Draws, scenario: &mut Scenario) {
    let layers = 1 + draws.below(12);
    let kinds = draws.one(&[0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let drawn = super::of_kinds(super::model(layers, 1024), kinds);
    let vocab = if draws.often() { 5000 } else { 0 };
    scenario.model = Arc::new(Model { vocab, tied: draws.seldom(), gated: draws.often(), ..drawn });
}

fn stack(draws: &mut Draws, scenario: &mut Scenario) {
    let stack = Arc::make_mut(&mut scenario.stack);
    stack.overlap = draws.one(&[Overlap::Independent, Overlap::OneStream, Overlap::Reductions, Overlap::None]);
    stack.reduce_during_backward = !draws.seldom();
    stack.gather_during_forward = draws.seldom();
    stack.replica_stream = draws.seldom();
    stack.tensor_overlap = draws.seldom();
    stack.whole_experts = draws.often();
    stack.frees_gradients = draws.seldom();
    stack.passes_beside_ahead = draws.seldom();
    stack.keeps_casts = draws.often();
    stack.casts_replace_weights = draws.seldom();
    stack.keeps_gathered = draws.seldom();
    stack.pipeline_buffers = draws.seldom();
    stack.copies_in_line = draws.seldom();
    stack.offloads_during_backward = draws.often();
    stack.host_adam = draws.seldom_one(&[80.0]);
    stack.unreduced_format = draws.seldom_one(&[Format::Fp32]);
    let calibration = Arc::make_mut(&mut scenario.calibration);
    calibration.software.optimizer_traffic = 1.0;
    calibration.software.host_update = draws.seldom_one(&[BytesPerSecond::new(1e9)]);
    calibration.element_wise.insert(stack.element_wise.clone(), 1.0);
    let runtime = Runtime { contention: 0.3, layer: Seconds::new(1e-4), ..Runtime::IDEAL };
    calibration.runtimes.insert(stack.runtime.clone(), runtime);
}

/// Everything that a plan says, for the model and the machine that the scenario has.
fn plan(draws: &mut Draws, scenario: &mut Scenario) {
    layout(draws, &mut scenario.plan);
    sharding(draws, &mut scenario.plan.sharding);
    if scenario.model.experts.is_some() {
        experts(draws, &mut scenario.plan);
    }
    numbers(draws, scenario);
    recomputed(draws, &mut scenario.plan);
    offloaded(draws, &mut scenario.plan);
    trained(draws, scenario);
    stages(draws, scenario);
    run(draws, &mut scenario.plan);
    losses(draws, &mut scenario.plan);
    after_pre_training(draws, scenario);
}

/// A method of post-training, and the models beside.
fn after_pre_training(draws: &mut Draws, scenario: &mut Scenario) {
    if scenario.model.vocab == 0 || !draws.seldom() {
        return;
    }
    let places = [BesideModel::Resident, BesideModel::Resident, BesideModel::Host, BesideModel::AdaptersOff];
    let adapters = scenario.plan.tuning.freezes();
    let place = |draws: &mut Draws| match draws.one(&places) {
        BesideModel::AdaptersOff if !adapters => BesideModel::Resident,
        place => place,
    };
    let over = draws.seldom_one(&[Extent::System, Extent::Device, Extent::Node]);
    let post = &mut scenario.plan.post_training;
    // Answers that the model writes have tests of their own: their phases are programs apart, and their steps have no time.
    let given: Vec<PostMethod> = PostMethod::ALL.iter().copied().filter(|method| !method.writes()).collect();
    post.method = draws.one(&given);
    (post.reference, post.teacher) = (Some(place(draws)), place(draws));
    (post.reference_over, post.teacher_over) = (over.clone(), over);
    post.padding = draws.seldom_one(Padding::ALL);
    post.top_k = draws.seldom_one(&[64]);
    let answer = draws.seldom_one(&[100, 500]);
    let scores = post.method == PostMethod::Reward;
    let model = Arc::make_mut(&mut scenario.model);
    model.scores = scores;
    if scores {
        model.mtp_layers = 0;
    }
    let known = scenario.plan.padding() != Padding::Packed && scenario.plan.context == 1 && model.mtp_layers == 0;
    if let Some(answer) = answer.filter(|_| known && !scores) {
        let post = &mut scenario.plan.post_training;
        (post.logits, post.response_max) = (Logits::Completions, Some(answer.min(scenario.plan.sequence)));
    }
}

/// Ranks, batch and schedule.
fn layout(draws: &mut Draws, plan: &mut Plan) {
    plan.size = Size::Nodes(draws.one(&[2, 1, 4, 8]));
    plan.tensor = draws.one(&[1, 1, 1, 2, 4]);
    plan.context = draws.one(&[1, 1, 1, 2]);
    plan.pipeline = draws.one(&[1, 1, 1, 2, 4]);
    plan.micro_batch = 1 + draws.below(3);
    plan.accumulate = 1 + draws.below(5);
    plan.accumulation = if draws.seldom() { Accumulation::Layered } else { Accumulation::Standard };
    if plan.pipeline > 1 {
        plan.accumulate *= plan.pipeline;
        plan.schedule = draws.one(Schedule::ALL);
        plan.stages_per_rank = 1 + draws.below(3);
    }
}

/// Layers of stages, where they are given.
fn stages(draws: &mut Draws, scenario: &mut Scenario) {
    let (layers, plan) = (scenario.model.layers, &mut scenario.plan);
    if plan.pipeline > 1 && draws.seldom() {
        let stages = plan.pipeline * plan.virtual_stages();
        let mut counts = vec![layers / stages; stages as usize];
        counts[0] += layers % stages;
        plan.stage_layers = StageSizes::Layers(counts);
    }
}

/// Extents of the state, and what travels.
fn sharding(draws: &mut Draws, sharding: &mut Sharding) {
    let extents = [Extent::System, Extent::Device, Extent::Node, Extent::Ranks(2)];
    let secondary = draws.seldom_one(&extents);
    let secondary = secondary.map(|extent| Secondary { extent, format: draws.one(&[Format::Bf16, Format::Int8]) });
    let [weights, gradients, optimizer] = [(); 3].map(|()| draws.one(&extents));
    (sharding.weights, sharding.gradients, sharding.optimizer) = (weights, gradients, optimizer);
    sharding.secondary = secondary;
    sharding.reshard_after_forward = !draws.seldom();
    sharding.sums_each_micro_batch = draws.seldom();
    if draws.seldom() {
        (sharding.wire.weights, sharding.wire.gradients) = (Format::Int8, Format::Int4);
        sharding.two_hop_gradients = draws.often();
    }
}

fn experts(draws: &mut Draws, plan: &mut Plan) {
    let experts = &mut plan.experts;
    experts.ranks = draws.one(&[1, 2, 4]);
    experts.tensor = draws.seldom_one(&[1, 2]);
    experts.imbalance = draws.one(&[Imbalance::Usual, Imbalance::BALANCED, Imbalance::Factor(1.5)]);
    experts.capacity = draws.one(&[Capacity::None, Capacity::None, Capacity::Factor(1.25)]);
    experts.dispatcher = draws.one(Dispatcher::ALL);
    experts.overlap = draws.seldom();
    experts.shared_overlap = draws.seldom();
    experts.formats = draws.seldom_one(&[DispatchFormats::all(Format::Fp8), DispatchFormats::TO_EXPERTS_IN_FP8]);
}

/// Number formats, and the optimizer that keeps some of them.
fn numbers(draws: &mut Draws, scenario: &mut Scenario) {
    let peak = scenario.cluster.device.peak;
    let known: Vec<Precision> = Precision::ALL.iter().copied().filter(|precision| precision.runs_on(&peak)).collect();
    let plan = &mut scenario.plan;
    if draws.often() {
        plan.precision = draws.one(&known);
    }
    plan.optimizer = draws.one(Optimizer::ALL);
    plan.moments = draws.one(Moments::ALL);
    plan.master_weights = draws.one(MasterWeights::ALL);
    plan.gradients = draws.seldom_one(GradientFormat::ALL);
    plan.clip_norm = !draws.seldom();
    plan.ema = draws.one(&[Ema::None, Ema::None, Ema::Device, Ema::Host]);
}

/// How logits and loss are computed.
fn losses(draws: &mut Draws, plan: &mut Plan) {
    plan.loss = draws.one(LossKind::ALL);
    plan.loss_chunk = draws.seldom_one(&[128, 1024]).filter(|_| plan.loss == LossKind::Chunked);
    let has_formats = matches!(plan.loss, LossKind::Whole | LossKind::Chunked);
    plan.loss_format = draws.seldom_one(LossFormat::ALL).filter(|_| has_formats);
}

/// A stack that keeps something of each chunk, and a calibration that knows several losses.
fn known_losses(draws: &mut Draws, scenario: &mut Scenario) {
    let calibration = Arc::make_mut(&mut scenario.calibration);
    let known = [("torch", 30.0, 14.0), ("fused", 8.0, 4.0), ("torch-fp32", 18.0, 12.0)];
    for (name, moved, held) in known {
        calibration.loss.insert(name.to_owned(), moved);
        calibration.logits_held.insert(name.to_owned(), held);
    }
    let kept = [KeptOfChunk::Logits, KeptOfChunk::Gradients, KeptOfChunk::Nothing];
    Arc::make_mut(&mut scenario.stack).kept_chunks = draws.one(&kept);
}

fn recomputed(draws: &mut Draws, plan: &mut Plan) {
    plan.recompute = draws.one(&[Recompute::None, Recompute::Full, Recompute::Selective, Recompute::Share(0.3)]);
    if plan.recompute == Recompute::Selective {
        let modules = [Module::CoreAttention, Module::Norms, Module::ExpertActivation, Module::Mlp, Module::Experts];
        plan.recompute_modules = modules.into_iter().filter(|_| draws.seldom()).collect::<RecomputeModules>();
    }
}

/// What leaves the device.
fn offloaded(draws: &mut Draws, plan: &mut Plan) {
    if draws.often() {
        plan.offload = draws.one(Offload::ALL);
        plan.offload_ratio = draws.one(&[1.0, 1.0, 0.25, 0.6].map(Share::new));
        plan.offload_overlap = draws.often();
        plan.host_threads = draws.seldom_one(&[8]);
        plan.host_pinned = !draws.seldom();
    }
    if draws.seldom() {
        let modules =
            [HostModule::AttentionNorm, HostModule::CoreAttention, HostModule::AttentionOutput, HostModule::MlpNorm];
        let modules: HostModules = modules.into_iter().filter(|_| draws.often()).collect();
        plan.offload_modules = modules;
    }
    let pages = plan.optimizer != Optimizer::Muon && !plan.staged();
    plan.paged_optimizer = pages && draws.seldom();
}

/// The whole model, with operators placed one by one or not; adapters; all but first layers and an end; or layers for further
/// tokens too.
fn trained(draws: &mut Draws, scenario: &mut Scenario) {
    let layers = scenario.model.layers;
    let model = Arc::make_mut(&mut scenario.model);
    let plan = &mut scenario.plan;
    match draws.below(8) {
        0..=2 => {}
        3 => {
            let count = 1 + draws.below(3);
            plan.operators = (0..count).map(|_| placement(draws, layers)).collect();
        }
        4 => {
            plan.tuning.ends = draws.seldom_one(FrozenEnds::ALL);
            model.frozen_layers = if plan.staged() { 0 } else { draws.below(layers) };
        }
        5 => {
            if model.vocab > 0 {
                model.mtp_layers = 1 + draws.below(2);
            }
        }
        _ => {
            plan.tuning.method = draws.one(&[TrainMethod::Lora, TrainMethod::Qlora]);
            plan.tuning.rank = draws.one(&[16, 4, 64]);
            plan.tuning.targets = draws.one(&[LoraTargets::ALL, LoraTargets::ATTENTION, LoraTargets::MLP]);
            plan.tuning.frozen = draws.seldom_one(FrozenFormat::ALL);
            plan.tuning.dropout = Share::new(draws.one(&[0.0, 0.05]));
            plan.sharding.wire.weights = Format::Bf16;
            if plan.optimizer == Optimizer::Muon {
                plan.optimizer = Optimizer::Adam;
            }
        }
    }
}

/// An operator of some layers or of all, with shards of its own.
fn placement(draws: &mut Draws, layers: u32) -> Placement {
    let extents = [Extent::Device, Extent::System, Extent::Node, Extent::Ranks(2)];
    let [weights, gradients, optimizer] =
        [(); 3].map(|()| if draws.often() { Some(draws.one(&extents)) } else { None });
    let first = draws.below(layers);
    let range = Layers { first, last: first + draws.below(layers - first) };
    Placement {
        layers: draws.often().then_some(range),
        operator: draws.one(&[Operator::Attention, Operator::Mlp, Operator::Layer, Operator::All]),
        extents: Extents { weights, gradients, optimizer },
        split: draws.one(&[1, 1, 2, 4]),
    }
}

/// How the step runs, on which network, and what is asked of it.
fn run(draws: &mut Draws, plan: &mut Plan) {
    plan.bandwidth_factor = draws.one(&[1.0, 1.0, 0.25, 4.0]);
    match draws.below(4) {
        1 => plan.tokens = Some(3e11),
        2 => (plan.examples, plan.epochs) = (Some(20_000), 1 + draws.below(3)),
        3 => (plan.examples, plan.packing, plan.examples_apart) = (Some(20_000), Some(100), draws.seldom()),
        _ => {}
    }
    plan.reduction = draws.one(Reduction::ALL);
    plan.prefetch = draws.below(4);
    plan.tensor_overlap = draws.seldom();
    plan.cuda_graphs = draws.one(&[CudaGraphs::None, CudaGraphs::None, CudaGraphs::Layer, CudaGraphs::Full]);
    plan.compile = draws.one(Compile::ALL);
    plan.flop_count = draws.one(FlopCount::ALL);
    if plan.context > 1 {
        plan.context_kind = draws.one(ContextKind::ALL);
    }
}
