//! How many ranks each part of a plan has, and which devices they are.

use crate::hardware::Group;
use crate::plan::{Extent, Extents, Size};
use crate::units::greatest_common_divisor;

use super::Scenario;

/// The counts of a valid plan. Ranks are placed tensor innermost, then context, data and pipeline.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// Devices of the job.
    pub devices: u32,
    /// Tensor-parallel ranks.
    pub tensor: u32,
    /// Context-parallel ranks.
    pub context: u32,
    /// Pipeline ranks.
    pub pipeline: u32,
    /// Data-parallel ranks.
    pub data: u32,
    /// Ranks among which a layer's experts are divided.
    pub experts: u32,
    /// Ranks that share each expert.
    pub expert_tensor: u32,
    /// Whether the counts are those that experts see ([`Layout::of_experts`]).
    pub sees_experts: bool,
    /// Ranks that share the weights.
    pub weights: u32,
    /// Ranks that share the gradients; at least `weights`.
    pub gradients: u32,
    /// Ranks that share the optimizer state; at least `gradients`.
    pub optimizer: u32,
    /// Ranks that share the second copy of the weights.
    pub secondary: Option<u32>,
}

pub(super) fn devices(scenario: &Scenario) -> u32 {
    match scenario.plan.size {
        Size::Nodes(nodes) => nodes.saturating_mul(scenario.cluster.devices_per_node()),
        Size::Devices(devices) => devices,
    }
}

impl Layout {
    /// Of a plan that has been checked.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let plan = &scenario.plan;
        let devices = devices(scenario);
        let group = devices / (plan.tensor * plan.pipeline);
        let ranks = |extent: &Extent| ranks(scenario, extent, group).unwrap_or(1);
        let weights = ranks(&plan.sharding.weights);
        // A rank that holds a shard of the weights needs no more of their gradients; nor of the state than of the
        // gradients.
        let gradients = ranks(&plan.sharding.gradients).max(weights);
        Self {
            devices,
            tensor: plan.tensor,
            context: plan.context,
            pipeline: plan.pipeline,
            data: group / plan.context,
            experts: plan.experts.ranks,
            expert_tensor: scenario.expert_tensor(),
            sees_experts: false,
            weights,
            gradients,
            optimizer: ranks(&plan.sharding.optimizer).max(gradients),
            secondary: plan.sharding.secondary.as_ref().map(|secondary| ranks(&secondary.extent)),
        }
    }

    /// The same job, for operators whose shards have these extents.
    #[must_use]
    pub fn placed(&self, scenario: &Scenario, extents: &Extents) -> Self {
        let sharding = &scenario.plan.sharding;
        let count = |own: &Option<Extent>, usual: &Extent| {
            ranks(scenario, own.as_ref().unwrap_or(usual), self.group()).unwrap_or(1)
        };
        let weights = count(&extents.weights, &sharding.weights);
        let gradients = count(&extents.gradients, &sharding.gradients).max(weights);
        let optimizer = count(&extents.optimizer, &sharding.optimizer).max(gradients);
        Self { weights, gradients, optimizer, ..*self }
    }

    /// Whether experts are divided over other ranks than the rest of the model.
    pub(crate) fn has_expert_mesh(&self) -> bool {
        self.experts > 1 || self.expert_tensor != self.tensor
    }

    /// The ranks of each pipeline stage as experts see them: `tensor x experts x data`, where dense parameters see
    /// `tensor x context x data` (Megatron-LM's parallel folding, `megatron/core/parallel_state.py`, which builds a second
    /// grid of ranks). Shards of experts lie on the same devices as those of dense parameters, over what their own mesh
    /// leaves: of 64 ranks at 8 experts' ranks over 8.
    #[must_use]
    pub fn of_experts(&self) -> Self {
        let taken = self.expert_tensor * self.experts;
        let group = self.tensor * self.group() / taken;
        let folded = |count: u32| match count {
            1 => 1,
            _ => greatest_common_divisor(count * self.tensor / taken, group).max(1),
        };
        Self {
            tensor: self.expert_tensor,
            context: 1,
            data: group,
            sees_experts: true,
            weights: folded(self.weights),
            gradients: folded(self.gradients),
            optimizer: folded(self.optimizer),
            secondary: self.secondary.map(folded),
            ..*self
        }
    }

    /// Ranks that each have a part of the parameters of their own, before any of these are sharded: from one holder of a
    /// shard to the next are as many devices.
    pub(crate) fn parts(&self) -> u32 {
        if self.sees_experts { self.tensor * self.experts } else { self.tensor }
    }

    /// Groups that have ranks on all devices of the job.
    fn groups(&self, stride: u32, size: u32) -> Group {
        Group { among: self.devices, ..Group::new(stride, size) }
    }

    /// The ranks among which a layer's experts are divided.
    pub(crate) fn expert_group(&self) -> Group {
        self.groups(self.expert_tensor, self.experts)
    }

    /// The ranks that share each expert.
    pub(crate) fn expert_tensor_group(&self) -> Group {
        self.groups(1, self.expert_tensor)
    }

    /// Data x context ranks: the group inside which state is sharded.
    pub fn group(&self) -> u32 {
        self.data * self.context
    }

    /// The tensor-parallel group.
    pub(crate) fn tensor_group(&self) -> Group {
        self.groups(1, self.tensor)
    }

    /// The context-parallel group.
    pub(crate) fn context_group(&self) -> Group {
        self.groups(self.tensor, self.context)
    }

    /// The context ranks that exchange heads, so many of them.
    pub(crate) fn context_heads(&self, heads: u32) -> Group {
        self.groups(self.tensor, heads)
    }

    /// The context ranks that have the same heads, where so many exchange them.
    pub(crate) fn context_others(&self, heads: u32) -> Group {
        self.groups(self.tensor * heads, self.context / heads)
    }

    /// The first `size` data x context ranks: a group that holds one sharded copy.
    pub(crate) fn shard_group(&self, size: u32) -> Group {
        self.groups(self.parts(), size)
    }

    /// The ranks over which gradients are summed first: those that share them or the state that they update, or else all.
    pub(crate) fn gradient_group(&self) -> Group {
        let ranks = if self.gradients > 1 { self.gradients } else { self.optimizer };
        self.shard_group(if ranks > 1 { ranks } else { self.group() })
    }

    /// The ranks that hold the same shard when each group of `inner` ranks is gathered into groups of `outer`.
    pub(crate) fn replica_group(&self, inner: u32, outer: u32) -> Group {
        self.groups(self.parts() * inner, outer / inner)
    }

    /// The ranks of one pipeline.
    pub(crate) fn pipeline_group(&self) -> Group {
        self.groups(self.devices / self.pipeline, self.pipeline)
    }

    /// The first and the last rank of a pipeline of several.
    pub(crate) fn pipeline_ends(&self) -> Group {
        let Group { stride, size, .. } = self.pipeline_group();
        // Between the two lie the stages in the middle.
        Group { beside: stride, ..self.groups(stride * (size - 1), 2) }
    }
}

/// How many of the `group` data x context ranks an extent has; `None` if the cluster lacks the level.
pub(super) fn ranks(scenario: &Scenario, extent: &Extent, group: u32) -> Option<u32> {
    let inside = |level: usize| match scenario.cluster.devices_in(level) {
        // Ranks that differ in data or context only are `tensor` devices apart: 8 devices of a node hold 4 of them at
        // tensor 2.
        Some(devices) => (devices / scenario.plan.tensor).clamp(1, group),
        None => group,
    };
    match extent {
        Extent::Device => Some(1),
        Extent::Innermost => Some(inside(0)),
        Extent::Node => scenario.cluster.level("node").map(inside),
        Extent::System => Some(group),
        Extent::Level(name) => scenario.cluster.level(name).map(inside),
        Extent::Ranks(count) => Some(*count),
    }
}
