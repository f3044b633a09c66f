//! Everything that can be wrong with a scenario, found at once.

mod beside;
pub(super) mod combined;
mod context;
mod loss;
mod modules;
mod operators;
mod ranges;
mod tuning;

use crate::model::{Mixer, Recurrence};
use crate::plan::{AttentionKernel, Extent, Format, GradientFormat, Size, StageSizes};

use super::field::{Field, MOST};
use super::file::printable;
use super::layout::{devices, ranks};
use super::{Problem, Scenario};

/// Collects problems.
struct Checks(Vec<Problem>);

impl Checks {
    fn refuse(&mut self, wrong: bool, field: &str, what: impl FnOnce() -> String, fix: impl FnOnce() -> String) {
        if wrong {
            // Names of levels and models come from files.
            self.0.push(Problem { field: field.to_owned(), what: printable(&what()), fix: printable(&fix()) });
        }
    }
}

/// All problems of a scenario; none if it can be laid out.
pub(super) fn problems(scenario: &Scenario) -> Vec<Problem> {
    let mut checks = Checks(Vec::new());
    ranges::all(scenario, &mut checks);
    size(scenario, &mut checks);
    // What follows divides by these counts.
    if !checks.0.is_empty() {
        return checks.0;
    }
    tensor(scenario, &mut checks);
    context::context(scenario, &mut checks);
    mesh(scenario, &mut checks);
    experts(scenario, &mut checks);
    further(scenario, &mut checks);
    precision(scenario, &mut checks);
    kernel(scenario, &mut checks);
    loss::all(scenario, &mut checks);
    tuning::adapters(scenario, &mut checks);
    tuning::pages(scenario, &mut checks);
    tuning::examples(scenario, &mut checks);
    tuning::examples_apart(scenario, &mut checks);
    tuning::frozen(scenario, &mut checks);
    beside::method(scenario, &mut checks);
    pipeline(scenario, &mut checks);
    passes(scenario, &mut checks);
    modules::all(scenario, &mut checks);
    if let Some(runs) = &scenario.stack.runs {
        checks.0.extend(combined::refused(&scenario.plan, &scenario.stack.name, runs));
    }
    operators::named(scenario, &mut checks);
    // Extents are counted in ranks that the checks before have to allow.
    if checks.0.is_empty() {
        extents(scenario, &mut checks);
    }
    if checks.0.is_empty() {
        host(scenario, &mut checks);
        beside::models(scenario, &mut checks);
    }
    checks.0
}

/// All problems of a scenario that differs from a checked one in its network alone.
pub(super) fn network_problems(scenario: &Scenario) -> Vec<Problem> {
    let mut checks = Checks(Vec::new());
    ranges::of_fields(scenario, [Field::Bandwidth], &mut checks);
    checks.0
}

/// An offload for which the plan or the cluster lacks something. Whether there is room for it shows once the step is built.
fn host(scenario: &Scenario, checks: &mut Checks) {
    let (offload, drives) = (scenario.plan.offload, scenario.cluster.drives());
    checks.refuse(
        offload.on_drives() && drives.is_none(),
        Field::Offload.path(),
        || format!("{offload} needs the drives of a node, which the cluster does not state"),
        || "state [host.nvme] in its file, or offload to the host's memory".to_owned(),
    );
    checks.refuse(
        offload.activations() && scenario.plan.staged(),
        Field::Offload.path(),
        || "activations go to the host layer by layer, and stages of several layers pass here".to_owned(),
        || "choose pp 1 and standard accumulation, or offload checkpoints".to_owned(),
    );
}

fn size(scenario: &Scenario, checks: &mut Checks) {
    let cluster = &scenario.cluster;
    let per_node = cluster.devices_per_node();
    let (field, count) = match scenario.plan.size {
        Size::Nodes(nodes) => (Field::Nodes.path(), nodes),
        Size::Devices(devices) => (Field::Devices.path(), devices),
    };
    checks.refuse(count == 0, field, || "the job has no device".to_owned(), || "choose at least 1".to_owned());
    let total = devices(scenario);
    checks.refuse(
        total > MOST,
        field,
        || format!("{count} is more than any machine has"),
        || match scenario.plan.size {
            Size::Nodes(_) => format!("choose at most {} nodes", MOST / per_node.max(1)),
            Size::Devices(_) => format!("choose at most {MOST} devices"),
        },
    );
    let ragged = total <= MOST && total > per_node && !total.is_multiple_of(per_node);
    checks.refuse(
        ragged,
        field,
        || format!("{total} devices do not fill nodes of {per_node}"),
        || format!("choose {} or {}", total / per_node * per_node, (total / per_node + 1) * per_node),
    );
    if let Some(nodes) = cluster.nodes {
        let most = nodes.saturating_mul(per_node);
        checks.refuse(
            total > most,
            field,
            || format!("{} has {nodes} nodes, {most} devices", cluster.name),
            || format!("choose at most {nodes} nodes"),
        );
    }
}

fn mesh(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let total = devices(scenario);
    let all = [
        (Field::Tensor.path(), plan.tensor),
        (Field::Context.path(), plan.context),
        (Field::Pipeline.path(), plan.pipeline),
    ];
    // A size that is wrong by itself was named already.
    let right = all.into_iter().filter(|(field, _)| !checks.0.iter().any(|problem| problem.field == *field));
    let product = right.clone().fold(1_u32, |product, (_, ranks)| product.saturating_mul(ranks));
    let Some((field, _)) = right.max_by_key(|(_, ranks)| *ranks) else { return };
    checks.refuse(
        !total.is_multiple_of(product),
        field,
        || {
            format!(
                "tensor {} x context {} x pipeline {} does not divide {total} devices",
                plan.tensor, plan.context, plan.pipeline
            )
        },
        || "choose sizes whose product divides the devices".to_owned(),
    );
}

/// What tensor ranks share among them, each with its name: all that one size does not divide is one mistake.
fn tensor(scenario: &Scenario, checks: &mut Checks) {
    let (model, tensor) = (&scenario.model, scenario.plan.tensor);
    let (total, per_node) = (devices(scenario), scenario.cluster.devices_per_node());
    // Tensor groups lie inside nodes, or take whole nodes: 8 ranks on nodes of 4 do, 8 on nodes of 6 would share a
    // node.
    let straddles = |size: u32| total > per_node && !per_node.is_multiple_of(size) && !size.is_multiple_of(per_node);
    // With grouped queries each rank has some of the key and value heads, or several ranks hold the same one.
    let heads = [Mixer::Attention, Mixer::Window].map(|mixer| model.heads(mixer));
    let undivided = |size: u32| heads.iter().map(|heads| heads.queries).find(|queries| !queries.is_multiple_of(size));
    let unshared = |size: u32| {
        let shares = |keys: u32| keys.is_multiple_of(size) || size.is_multiple_of(keys);
        heads.iter().find(|heads| !shares(heads.keys) && heads.keys != heads.queries).map(|heads| heads.keys)
    };
    let groups = model.recurrent().map(Recurrence::groups);
    let divides = |size: u32| {
        let grouped = groups.is_none_or(|(groups, _)| groups.is_multiple_of(size));
        let mlp = model.undivided_mlp(size).is_none();
        [undivided(size).is_none(), unshared(size).is_none(), grouped, mlp, !straddles(size)]
    };
    let together = scenario.plan.tensor_overlap && tensor > 1 && !scenario.stack.sequence_parallel;
    checks.refuse(
        together,
        Field::TensorOverlap.path(),
        || format!("stack '{}' has no sequence parallelism, whose collectives it would cut", scenario.stack.id),
        || "choose off, or a stack with sequence parallelism, like megatron-2024 or torchtitan".to_owned(),
    );
    let right = |size: &u32| *size == 1 || divides(*size).into_iter().all(|divides| divides);
    let what = || {
        let named = [
            format!("the {} heads of {}", undivided(tensor).unwrap_or(model.heads), model.name),
            format!("its {} key and value heads", unshared(tensor).unwrap_or(model.kv_heads)),
            groups.map_or_else(String::new, |(groups, of)| format!("the {groups} {of}")),
            format!("the MLP's width {}", model.undivided_mlp(tensor).unwrap_or(model.ffn_hidden.into())),
            format!("nodes of {per_node} devices"),
        ];
        let undivided = named.into_iter().zip(divides(tensor)).filter(|(_, divides)| !divides);
        let undivided: Vec<String> = undivided.map(|(name, _)| name).collect();
        format!("{tensor} does not divide {}", undivided.join(", "))
    };
    let fix = || {
        let sizes = (1..=total.min(model.heads)).filter(|size| total.is_multiple_of(*size)).filter(right);
        match &sizes.map(|size| size.to_string()).collect::<Vec<_>>()[..] {
            [only] => format!("only {only} works"),
            several => format!("choose one of {}", several.join(", ")),
        }
    };
    checks.refuse(!right(&tensor), Field::Tensor.path(), what, fix);
}

/// Experts divided over ranks: there are some, whole ones on each rank, and the ranks of a pipeline stage have room for
/// their mesh.
fn experts(scenario: &Scenario, checks: &mut Checks) {
    let (plan, model) = (&scenario.plan, &scenario.model);
    let (ranks, tensor) = (plan.experts.ranks, scenario.expert_tensor());
    let Some(shape) = model.experts else {
        let what = || format!("{} has no experts", model.name);
        checks.refuse(ranks > 1, Field::Experts.path(), what, || "choose 1".to_owned());
        let given = plan.experts.tensor.is_some_and(|tensor| tensor != plan.tensor);
        checks.refuse(given, Field::ExpertTensor.path(), what, || "leave it out".to_owned());
        return;
    };
    checks.refuse(
        !shape.count.is_multiple_of(ranks),
        Field::Experts.path(),
        || format!("{ranks} ranks do not divide the {} experts of {}", shape.count, model.name),
        || "choose a count that divides the experts".to_owned(),
    );
    let width = shape.ffn_hidden.unwrap_or(model.ffn_hidden);
    checks.refuse(
        !width.is_multiple_of(tensor),
        Field::ExpertTensor.path(),
        || format!("{tensor} ranks do not divide an expert's width {width}"),
        || "choose 1, or a size that divides the width".to_owned(),
    );
    let stage = devices(scenario) / plan.pipeline;
    let taken = ranks.saturating_mul(tensor);
    checks.refuse(
        plan.pipeline > 0 && !stage.is_multiple_of(taken),
        Field::Experts.path(),
        || format!("{ranks} expert ranks x {tensor} tensor ranks in each do not divide the {stage} devices of a stage"),
        || "choose sizes whose product divides them".to_owned(),
    );
    let copies = tensor != plan.tensor && plan.tensor > 1 && !scenario.stack.sequence_parallel;
    checks.refuse(
        copies,
        Field::ExpertTensor.path(),
        || {
            let stack = &scenario.stack.id;
            format!("stack '{stack}' has no sequence parallelism: its tensor ranks would send the same tokens")
        },
        || format!("choose {}, or a stack with sequence parallelism, like megatron-2024", plan.tensor),
    );
}

/// Layers that predict further tokens: behind logits, and trained with all else.
fn further(scenario: &Scenario, checks: &mut Checks) {
    let Scenario { model, plan, .. } = scenario;
    let without = || "choose 0".to_owned();
    let mut refuse = |wrong: bool, what: &dyn Fn() -> String| {
        checks.refuse(wrong && model.mtp_layers > 0, Field::MtpLayers.path(), what, without);
    };
    refuse(model.vocab == 0, &|| format!("{} is blocks only: it predicts no token", model.name));
    refuse(plan.tuning.freezes(), &|| "adapters train no layer that predicts further tokens".to_owned());
    let part = scenario.trains_part() && !plan.tuning.freezes();
    refuse(part, &|| "layers that predict further tokens are trained with all else".to_owned());
    refuse(!plan.operators.is_empty(), &|| {
        "operators that are placed one by one are those of the layers before".to_owned()
    });
    // Megatron-LM, `transformer_config.py`: at most one beside combined passes.
    refuse(plan.experts.overlap && model.mtp_layers > 1, &|| {
        format!("--ep-overlap runs beside 1 of them at most, not {}", model.mtp_layers)
    });
}

fn precision(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let peak = scenario.cluster.device.peak;
    let missing = !plan.precision.runs_on(&peak);
    checks.refuse(
        missing,
        Field::Precision.path(),
        || format!("{} has no {} peak", scenario.cluster.device.name, plan.precision),
        || "choose another precision: fp32 is always there".to_owned(),
    );
    checks.refuse(
        plan.gradients == Some(GradientFormat::Bf16) && plan.precision.storage() != Format::Bf16,
        Field::GradientFormat.path(),
        || format!("weights in {} have no gradients in bf16", plan.precision.storage()),
        || "choose fp32, or leave it out".to_owned(),
    );
}

/// A kernel of attention that the device has none of.
fn kernel(scenario: &Scenario, checks: &mut Checks) {
    let (kernel, device) = (scenario.plan.attention_kernel, &scenario.cluster.device);
    checks.refuse(
        kernel.lacks(&device.architecture),
        Field::AttentionKernel.path(),
        || format!("{kernel} has no kernels for {}", device.name),
        || {
            let runs = |other: &&AttentionKernel| !other.lacks(&device.architecture);
            let known: Vec<String> = AttentionKernel::ALL.iter().filter(runs).map(ToString::to_string).collect();
            format!("choose {}", known.join(", "))
        },
    );
}

/// Pipelines: stages that have layers, and micro-batches that fill the schedule.
fn pipeline(scenario: &Scenario, checks: &mut Checks) {
    let (plan, layers) = (&scenario.plan, scenario.model.layers);
    let stages = plan.pipeline.saturating_mul(plan.virtual_stages());
    let most = scenario.model.most_stages();
    checks.refuse(
        stages > most,
        Field::Pipeline.path(),
        || format!("{stages} stages are too many for the {layers} layers of {}", scenario.model.name),
        || format!("choose at most {most} stages in all"),
    );
    if let StageSizes::Layers(counts) = &plan.stage_layers {
        stage_layers(scenario, counts, stages, checks);
    }
    let schedule = plan.effective_schedule();
    let uneven = schedule.rules().grouped && !plan.accumulate.is_multiple_of(plan.pipeline);
    checks.refuse(
        uneven,
        Field::Accumulate.path(),
        || format!("{schedule} takes multiples of {} micro-batches, not {}", plan.pipeline, plan.accumulate),
        || format!("choose {}", nearest_multiple(plan.accumulate, plan.pipeline)),
    );
}

/// Layers that are given stage by stage: as many counts as stages, all layers of the model, and none empty but for the
/// stages of the embedding and of the head.
fn stage_layers(scenario: &Scenario, counts: &[u32], stages: u32, checks: &mut Checks) {
    let (field, layers) = (Field::StageLayers.path(), scenario.model.layers);
    let wrong = counts.len() != stages as usize;
    checks.refuse(
        wrong,
        field,
        || format!("{} counts of layers are not those of {stages} stages", counts.len()),
        || format!("give {stages} counts, or balanced"),
    );
    let all: u64 = counts.iter().copied().map(u64::from).sum();
    checks.refuse(
        !wrong && all != u64::from(layers),
        field,
        || format!("the stages have {all} layers, {} has {layers}", scenario.model.name),
        || format!("give counts that add up to {layers}"),
    );
    let needed = if scenario.model.vocab > 0 { counts.get(1..counts.len().max(2) - 1) } else { Some(counts) };
    checks.refuse(
        !wrong && needed.is_some_and(|needed| needed.contains(&0)),
        field,
        || "a stage has neither a layer nor the embedding or the head".to_owned(),
        || "give each stage between the first and the last at least one layer".to_owned(),
    );
}

/// The most passes of micro-batches over stages that a step may have, all ranks together. The slowest of such steps takes
/// 8 s for all figures of a scenario, and 200 MB. The largest pipelines that have been published have an eighth.
const MOST_PASSES: u64 = 1 << 18;

/// Micro-batches for each rank from which a step repeats itself and costs no more to simulate.
const REPEATED: u64 = 16;

/// Steps that would take minutes and gigabytes to simulate, found by arithmetic before anything is built.
fn passes(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let [ranks, stages, micro_batches] = [plan.pipeline, plan.virtual_stages(), plan.accumulate].map(u64::from);
    let passes = ranks.saturating_mul(stages).saturating_mul(micro_batches.min(REPEATED.saturating_mul(ranks)));
    checks.refuse(
        passes > MOST_PASSES,
        Field::Pipeline.path(),
        || {
            format!(
                "{ranks} ranks x {stages} stages x {micro_batches} micro-batches are too many passes to simulate: \
                 {passes} without repeats, of {MOST_PASSES} at most"
            )
        },
        || "choose fewer ranks, stages (stages_per_rank) or micro-batches (accumulate)".to_owned(),
    );
}

/// The multiple of `step` that is closest to `count`, the smaller of two, at least one `step`.
fn nearest_multiple(count: u32, step: u32) -> u32 {
    let below = count / step * step;
    let above = below.saturating_add(step);
    if below > 0 && count - below <= above - count { below } else { above }
}

fn extents(scenario: &Scenario, checks: &mut Checks) {
    let plan = &scenario.plan;
    let sharding = &plan.sharding;
    let group = devices(scenario) / (plan.tensor * plan.pipeline);
    let named = [
        Some((Field::WeightsOver, &sharding.weights)),
        Some((Field::GradientsOver, &sharding.gradients)),
        Some((Field::OptimizerOver, &sharding.optimizer)),
        sharding.secondary.as_ref().map(|secondary| (Field::Hpz, &secondary.extent)),
    ];
    for (field, one) in named.into_iter().flatten() {
        extent(scenario, group, field.path_in_full(), one, checks);
    }
    operators::extents(scenario, group, checks);
}

/// What is wrong with one extent.
fn extent(scenario: &Scenario, group: u32, field: &str, extent: &Extent, checks: &mut Checks) {
    let Some(ranks) = ranks(scenario, extent, group) else {
        let levels: Vec<&str> = scenario.cluster.levels.iter().map(|level| level.name.as_str()).collect();
        checks.refuse(
            true,
            field,
            || format!("{} has no level '{extent}'", scenario.cluster.name),
            || format!("choose device, innermost, {} or a count of ranks", levels.join(", ")),
        );
        return;
    };
    checks.refuse(
        ranks == 0 || ranks > group || !group.is_multiple_of(ranks),
        field,
        || format!("groups of {ranks} do not fill the {group} data x context ranks"),
        || format!("choose a count that divides {group}"),
    );
    let level = !matches!(extent, Extent::Device | Extent::Ranks(_));
    checks.refuse(
        level && ranks == 1 && group > 1,
        field,
        || format!("inside '{extent}' tensor parallelism leaves one data x context rank of {group}"),
        || "choose a wider level, 'device', or a smaller tensor size".to_owned(),
    );
}
