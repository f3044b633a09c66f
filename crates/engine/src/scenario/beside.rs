//! The models that stand beside the one that is trained: each is a scenario of its own on the same devices, whose model is
//! passed forward alone. Not for their costs ([`crate::cost`]).

use std::fmt;
use std::sync::Arc;

use crate::model::Model;
use crate::plan::{
    BesideModel, Ema, ExpertMesh, Extent, LoraTargets, Offload, OtherModel, Plan, PostTraining, Recompute, StageSizes,
    TrainerOffload, Tuning,
};

use super::field::Field;
use super::{Layout, Scenario};

/// What a model beside the trained one is to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BesideRole {
    /// The trained model itself, as it is at the step.
    Itself,
    /// What it is compared with.
    Reference,
    /// What it learns from.
    Teacher,
    /// What scores the answers that it writes.
    RewardModel,
    /// What is trained to tell their worth.
    Critic,
}

impl BesideRole {
    /// The field that says which model it is.
    pub const fn field(self) -> Field {
        match self {
            Self::Itself => Field::Method,
            Self::Reference => Field::Reference,
            Self::Teacher => Field::Teacher,
            Self::RewardModel => Field::RewardModel,
            Self::Critic => Field::Critic,
        }
    }

    /// The field that says over how many ranks its weights are shared.
    pub(super) const fn extent(self) -> Field {
        match self {
            Self::Itself | Self::RewardModel | Self::Critic => Field::WeightsOver,
            Self::Reference => Field::ReferenceOver,
            Self::Teacher => Field::TeacherOver,
        }
    }
}

impl fmt::Display for BesideRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Itself => "the model itself",
            Self::Reference => "reference",
            Self::Teacher => "teacher",
            Self::RewardModel => "reward model",
            Self::Critic => "critic",
        })
    }
}

/// A model that each micro-batch of a step passes forward alone.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelBeside {
    /// What it is to the trained model.
    pub role: BesideRole,
    /// How often a micro-batch passes it.
    pub forwards: u32,
    /// Whether it has weights of its own, rather than those of the trained model.
    pub has_weights: bool,
    /// Whether these wait on the host while another phase of a step has the devices.
    pub waits: bool,
    /// The model, as the devices pass it.
    pub scenario: Scenario,
}

impl ModelBeside {
    /// How many ranks each part of its plan has.
    pub fn layout(&self) -> Layout {
        Layout::of(&self.scenario)
    }
}

impl Scenario {
    /// The models that a step passes forward alone, micro-batch by micro-batch: none where they have phases of their own.
    pub fn passed_in_step(&self) -> Vec<ModelBeside> {
        if self.plan.passes_beside() { self.beside() } else { Vec::new() }
    }

    /// The critic on the devices of the job: a model with a score, which is trained as the other one is.
    pub fn critic(&self) -> Option<Self> {
        let post = &self.plan.post_training;
        let critic = if self.plan.writes() { post.critic() } else { BesideModel::None };
        let shape = match critic {
            BesideModel::Other(OtherModel { model: Some(shape), .. }) => Some(shape),
            BesideModel::Resident => None,
            _ => return None,
        };
        let mut scenario = self.clone();
        if let Some(shape) = shape {
            scenario.take_shape(shape);
            scenario.plan.tuning = Tuning::default();
        }
        scenario.plan.post_training = PostTraining::default();
        scenario.plan.operators.clear();
        let model = Arc::make_mut(&mut scenario.model);
        (model.mtp_layers, model.frozen_layers, model.scores) = (0, 0, true);
        Some(scenario)
    }

    /// The models beside the trained one that are passed forward alone, in the order in which they are; none in pre-training.
    pub fn beside(&self) -> Vec<ModelBeside> {
        let post = &self.plan.post_training;
        let method = post.method;
        if self.plan.stands_beside || !(self.plan.passes_beside() || method.writes()) {
            return Vec::new();
        }
        let reference = (BesideRole::Reference, method.of_reference(), self.plan.reference(), &post.reference_over);
        let teacher = (BesideRole::Teacher, method.of_teacher(), post.teacher.clone(), &post.teacher_over);
        let itself = (method.of_itself() > 0).then(|| ModelBeside {
            role: BesideRole::Itself,
            forwards: method.of_itself(),
            has_weights: false,
            waits: false,
            scenario: self.passed_alone(None, self.plan.tuning, Offload::None, None),
        });
        let scored = u32::from(method.writes());
        let reward = (BesideRole::RewardModel, scored, post.reward_model.clone(), &None);
        let passed = [reference, teacher, reward]
            .into_iter()
            .filter(|(_, forwards, model, _)| *forwards > 0 && model.is_passed());
        let others = passed.map(|(role, forwards, model, over)| self.other(role, forwards, &model, over.clone()));
        itself.into_iter().chain(others).collect()
    }

    fn other(&self, role: BesideRole, forwards: u32, model: &BesideModel, over: Option<Extent>) -> ModelBeside {
        // The frozen weights alone: adapters are off.
        let frozen = Tuning { targets: LoraTargets::NONE, ..self.plan.tuning };
        let (shape, tuning) = match model {
            BesideModel::Other(OtherModel { model, .. }) => (model.clone(), Tuning::default()),
            _ => (None, frozen),
        };
        let has_weights = *model != BesideModel::AdaptersOff;
        let offload = if *model == BesideModel::Host { Offload::State } else { Offload::None };
        let over = over.filter(|_| has_weights);
        let mut scenario = self.passed_alone(shape, tuning, offload, over);
        scenario.plan.post_training.rollouts.entropy = false;
        if role == BesideRole::RewardModel {
            Arc::make_mut(&mut scenario.model).scores = true;
        }
        let waits = self.plan.writes() && self.plan.post_training.rollouts.offload == TrainerOffload::All;
        ModelBeside { role, forwards, has_weights, waits, scenario }
    }

    /// Takes another shape on the same devices.
    fn take_shape(&mut self, shape: Arc<Model>) {
        self.plan.stage_layers = StageSizes::Balanced;
        if shape.experts.is_none() {
            self.plan.experts = ExpertMesh::default();
        }
        self.model = shape;
    }

    /// A model on the devices of the job that is passed forward alone: the trained one as it began, or another.
    fn passed_alone(&self, shape: Option<Arc<Model>>, tuning: Tuning, offload: Offload, over: Option<Extent>) -> Self {
        let mut scenario = self.clone();
        let Plan { sharding, .. } = &mut scenario.plan;
        if let Some(over) = over {
            (sharding.weights, sharding.gradients, sharding.optimizer) = (over.clone(), over.clone(), over);
        }
        (sharding.secondary, sharding.reshard_after_forward) = (None, true);
        let plan = &mut scenario.plan;
        (plan.stands_beside, plan.tuning, plan.offload) = (true, tuning, offload);
        (plan.recompute, plan.ema, plan.paged_optimizer) = (Recompute::None, Ema::None, false);
        plan.operators.clear();
        if let Some(shape) = shape {
            scenario.take_shape(shape);
        }
        let Model { mtp_layers, frozen_layers, scores, .. } = *scenario.model;
        if mtp_layers > 0 || frozen_layers > 0 || scores {
            let model = Arc::make_mut(&mut scenario.model);
            (model.mtp_layers, model.frozen_layers, model.scores) = (0, 0, false);
        }
        scenario
    }
}
