//! A scenario: cluster, software stack, model and plan together, checked against one another.
//!
//! Its file format is in [`mod@file`]; its costs are elsewhere.

mod batch;
mod beside;
mod check;
mod context;
pub mod field;
pub mod file;
mod frozen;
mod host;
mod lacks;
mod layout;
mod loss;
mod unknown;

use std::ops::Deref;
use std::sync::Arc;

use crate::hardware::Cluster;
use crate::model::Model;
use crate::plan::{AttentionKernel, Compile, DispatchFormats, Extent, FlopCount, Format, GradientFormat, Plan};
use crate::stack::{Attention, Calibration, Stack};
use crate::units::{Bytes, Money, short};

use file::printable;

pub use crate::problem::Problem;
pub use batch::NEAR;
pub use beside::{BesideRole, ModelBeside};
pub use field::{Edit, Field, FieldSpec, Idle, Value};
pub use frozen::Differentiated;
pub use host::{HostThreads, PAGEABLE};
pub use layout::Layout;
pub use loss::LossChunks;
pub use unknown::UnknownSetting;

/// Everything that an evaluation needs. Cloning it is cheap, and so is comparing clones: the facts are shared.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, for people.
    pub name: String,
    /// Devices, and the levels that join them.
    pub cluster: Arc<Cluster>,
    /// The software that trains.
    pub stack: Arc<Stack>,
    /// What the software reaches on the machine.
    pub calibration: Arc<Calibration>,
    /// The transformer that is trained.
    pub model: Arc<Model>,
    /// The id of the strategy that the plan's sharding started from.
    pub strategy: Arc<str>,
    /// How the job is laid out on the devices.
    pub plan: Plan,
    /// Sentences on what its file could not say of the job, as an import notes them.
    pub caveats: Arc<[String]>,
    /// What an import did not understand of the job's files.
    pub unknown: Arc<[UnknownSetting]>,
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        fn same<T: PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
            Arc::ptr_eq(one, other) || one == other
        }
        let Self { name, cluster, stack, calibration, model, strategy, plan, caveats, unknown } = self;
        // What edits change comes first. Facts are large, and seldom others: a calibration alone has thousands of numbers.
        *plan == other.plan
            && *strategy == other.strategy
            && *name == other.name
            && *caveats == other.caveats
            && *unknown == other.unknown
            && same(model, &other.model)
            && same(cluster, &other.cluster)
            && same(stack, &other.stack)
            && same(calibration, &other.calibration)
    }
}

impl Problem {
    /// More offloaded to a part of a host than it holds.
    pub(crate) fn crowded_host(place: &str, needed: Bytes, capacity: Bytes) -> Self {
        Self {
            field: Field::Offload.path().to_owned(),
            what: format!("what is offloaded takes {needed} of a host's {place}, {capacity}"),
            fix: "choose more nodes, a strategy that divides the state among more ranks, or a smaller micro-batch"
                .to_owned(),
        }
    }

    /// An extent to move where there is none.
    pub fn nothing_sharded() -> Self {
        Self {
            field: Field::Shard.path().to_owned(),
            what: "the strategy shards nothing, so there is no extent to move".to_owned(),
            fix: "leave 'shard' out, or choose a strategy that shards, like fsdp".to_owned(),
        }
    }
}

/// A part of the machine of which the plan has more or less than the cluster.
struct Alteration {
    /// What of it, if that is not clear from its name.
    what: &'static str,
    part: String,
    factor: String,
    /// What it comes to.
    now: String,
}

/// Texts in one, `None` if there are none.
fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    texts.reduce(|all, text| format!("{all}, {text}"))
}

/// A scenario that was found right, with its layout. Whoever takes one need not ask again, however often it is run.
#[derive(Debug, Clone, Copy)]
pub struct Checked<'a> {
    scenario: &'a Scenario,
    layout: Layout,
}

impl Checked<'_> {
    /// How many ranks each part of the plan has.
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }
}

impl Deref for Checked<'_> {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        self.scenario
    }
}

/// The same with facts of its own, to be kept and handed on: only the check makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedScenario {
    scenario: Scenario,
    layout: Layout,
}

impl CheckedScenario {
    /// What an evaluation takes.
    pub const fn checked(&self) -> Checked<'_> {
        Checked { scenario: &self.scenario, layout: self.layout }
    }
}

impl Deref for CheckedScenario {
    type Target = Scenario;

    fn deref(&self) -> &Scenario {
        &self.scenario
    }
}

impl Scenario {
    /// Whether ranks share the weights, rather than that each has them whole.
    pub(crate) fn shares_weights(&self) -> bool {
        self.plan.sharding.weights != Extent::Device && self.devices() > self.plan.tensor * self.plan.pipeline
    }

    /// Whether its layers are compiled, by a stack that says what that fuses.
    pub(crate) fn is_compiled(&self) -> bool {
        self.plan.compile != Compile::Off && self.stack.element_wise_compiled.is_some()
    }

    /// The scenario with the layout that its plan asks for, or everything that is wrong with it.
    pub fn checked(&self) -> Result<Checked<'_>, Vec<Problem>> {
        let problems = check::problems(self);
        if problems.is_empty() { Ok(Checked { scenario: self, layout: Layout::of(self) }) } else { Err(problems) }
    }

    /// The same where a scenario was checked that differs in its network alone, and has this layout.
    pub(crate) fn checked_as(&self, layout: Layout) -> Result<Checked<'_>, Vec<Problem>> {
        let problems = check::network_problems(self);
        if problems.is_empty() { Ok(Checked { scenario: self, layout }) } else { Err(problems) }
    }

    /// The same, kept with the scenario.
    pub fn into_checked(self) -> Result<CheckedScenario, Vec<Problem>> {
        let layout = self.layout()?;
        Ok(CheckedScenario { scenario: self, layout })
    }

    /// The layout that the plan asks for, or everything that is wrong with it.
    pub fn layout(&self) -> Result<Layout, Vec<Problem>> {
        self.checked().map(|checked| checked.layout)
    }

    /// Ranks that share each expert; all tensor ranks, as they share every matrix, unless plan or stack say otherwise.
    pub fn expert_tensor(&self) -> u32 {
        let whole = self.stack.whole_experts && self.model.experts.is_some() && self.plan.experts.ranks > 1;
        self.plan.experts.tensor.unwrap_or(if whole { 1 } else { self.plan.tensor })
    }

    /// Whether each micro-batch's gradients are summed over all ranks before the next one's.
    pub(crate) fn sums_each_micro_batch(&self) -> bool {
        self.plan.sums_each_micro_batch(self.plan.reduction)
    }

    /// The format in which gradients are sent, where a way of sharding asks for `planned`: to quantise them is its own
    /// choice, and overrides all others.
    pub fn reduction_format(&self, planned: Format) -> Format {
        let (plan, storage) = (&self.plan, self.plan.precision.storage());
        let own = plan.gradients.map(GradientFormat::format).filter(|_| !planned.quantised());
        plan.precision.wire(own.unwrap_or_else(|| self.stack.reduction_format(planned, storage)))
    }

    /// The format in which gradients are kept. Software that adds whole ones up in the format of their reduction, as FSDP2
    /// does, keeps the shards in that of the weights all the same.
    pub fn gradient_format(&self) -> Format {
        let chosen = self.plan.gradients.filter(|_| self.stack.unreduced_format.is_none());
        let own = chosen.map(GradientFormat::format).or(self.stack.gradient_format);
        own.unwrap_or_else(|| self.plan.precision.storage())
    }

    /// The formats in which tokens travel to their experts and back.
    pub fn dispatch_formats(&self) -> DispatchFormats {
        let of_stack = self.stack.dispatch_format.filter(|_| self.plan.precision.is_low());
        let usual = || DispatchFormats::all(self.plan.precision.storage());
        self.plan.experts.formats.or(of_stack).unwrap_or_else(usual)
    }

    /// The format of whole gradients that micro-batches add up before they are reduced into shards.
    pub fn unreduced_format(&self) -> Format {
        let own = self.stack.unreduced_format.map(|own| self.plan.gradients.map_or(own, GradientFormat::format));
        own.unwrap_or_else(|| self.gradient_format())
    }

    /// In what the machine differs from the cluster's: `system x 0.125, memory x 0.5`.
    pub fn altered(&self) -> Option<String> {
        joined(self.alterations().map(|Alteration { part, factor, .. }| format!("{part} x {factor}")))
    }

    /// The same with what that comes to: `bandwidth of system x 0.125 = 3.12 GB/s, memory x 0.5 = 39.8 GiB`.
    pub fn altered_in_full(&self) -> Option<String> {
        let full = |Alteration { what, part, factor, now }| format!("{what}{part} x {factor} = {now}");
        joined(self.alterations().map(full))
    }

    /// What the cluster says of its figures, where the plan takes its network as it is.
    pub fn note(&self) -> Option<String> {
        let is_altered = (self.plan.bandwidth_factor - 1.0).abs() > f64::EPSILON;
        self.cluster.note.as_deref().filter(|_| !is_altered).map(printable)
    }

    fn alterations(&self) -> impl Iterator<Item = Alteration> {
        let Self { cluster, plan, .. } = self;
        let altered = |factor: f64| Some(factor).filter(|factor| (factor - 1.0).abs() > f64::EPSILON);
        let bandwidth = altered(plan.bandwidth_factor).zip(cluster.levels.last()).map(|(factor, level)| Alteration {
            what: "bandwidth of ",
            part: printable(&level.name),
            factor: short(factor, 3),
            now: (level.bandwidth * factor).to_string(),
        });
        let memory = altered(plan.memory_factor).map(|factor| Alteration {
            what: "",
            part: "memory".to_owned(),
            factor: short(factor, 3),
            now: (cluster.device.capacity() * factor).to_string(),
        });
        bandwidth.into_iter().chain(memory)
    }

    /// The attention kernel: the plan's, or the stack's on this device.
    pub fn attention(&self) -> Attention {
        match self.plan.attention_kernel {
            AttentionKernel::Stack => self.stack.attention_on(&self.cluster.device.architecture),
            AttentionKernel::Plain => Attention::Plain,
            AttentionKernel::Sdpa | AttentionKernel::Flash2 => Attention::Flash2,
            AttentionKernel::Flash3 | AttentionKernel::Cudnn => Attention::Flash3,
        }
    }

    /// The parameters that count 6 flop each as model flop.
    pub fn counted_parameters(&self) -> u64 {
        match self.plan.flop_count {
            FlopCount::Parameters => self.model.active_parameters(),
            FlopCount::Matrices | FlopCount::Causal => self.model.matrix_parameters(),
        }
    }

    /// The share of attention's scores that counts as model flop.
    pub fn counted_attention(&self) -> f64 {
        if self.plan.flop_count == FlopCount::Causal && self.model.causal { 0.5 } else { 1.0 }
    }

    /// The memory of a device that the plan may fill.
    pub fn capacity(&self) -> Bytes {
        self.cluster.device.capacity() * self.plan.memory_factor
    }

    /// Price of a device-hour: the plan's own, or else the cluster's.
    pub fn price(&self) -> Option<Money> {
        self.plan.price.or(self.cluster.price_per_device_hour)
    }

    /// How many devices the job has.
    pub fn devices(&self) -> u32 {
        layout::devices(self)
    }

    /// How many nodes they are on.
    pub fn nodes(&self) -> u32 {
        self.devices().div_ceil(self.cluster.devices_per_node().max(1)).max(1)
    }

    /// How many of a node's devices the job has, all of which share its host.
    pub fn devices_on_node(&self) -> u32 {
        self.devices().clamp(1, self.cluster.devices_per_node().max(1))
    }
}
