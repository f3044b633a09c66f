//! What is trained after pre-training, and the models that stand beside the one that is trained. No costs.

use std::fmt;
use std::sync::Arc;

use crate::model::Model;
use crate::units::Share;

use super::choice::choice;
use super::{Extent, Format};

choice!(
    /// What a step computes of an example.
    PostMethod, "a method" {
        /// The next tokens of a sequence, as pre-training does.
        Sft = "sft",
        /// A preferred and a rejected answer, against a reference (Rafailov et al., arXiv 2305.18290).
        Dpo = "dpo",
        /// The same without a reference (Hong et al., arXiv 2403.07691; `SimPO` and CPO compute as much).
        Orpo = "orpo",
        /// An answer that is wanted or not, against a reference, and the mean of mismatched answers (Ethayarajh et al.,
        /// arXiv 2402.01306).
        Kto = "kto",
        /// A score of a preferred and a rejected answer, in place of logits.
        Reward = "reward",
        /// The distribution of a teacher, token by token.
        Distill = "distill",
        /// Answers that the model writes itself, several to a prompt, compared with one another (Shao et al.,
        /// arXiv 2402.03300; RLOO, DAPO and GSPO compute as much).
        Grpo = "grpo",
        /// The same judged by a critic, which is trained too (Schulman et al., arXiv 1707.06347).
        Ppo = "ppo",
    }
);

impl PostMethod {
    /// Sequences of an example that are passed forward and backward: pairs repeat their prompt (TRL,
    /// `trl/trainer/dpo_trainer.py`, `concatenated_inputs`; `reward_trainer.py` too).
    pub const fn sequences(self) -> u32 {
        match self {
            Self::Dpo | Self::Orpo | Self::Reward => 2,
            Self::Sft | Self::Kto | Self::Distill | Self::Grpo | Self::Ppo => 1,
        }
    }

    /// Forwards of a reference over them: KTO's passes the mismatched answers too (TRL, `kto_trainer.py`).
    pub const fn of_reference(self) -> u32 {
        match self {
            Self::Dpo | Self::Grpo | Self::Ppo => 1,
            Self::Kto => 2,
            Self::Sft | Self::Orpo | Self::Reward | Self::Distill => 0,
        }
    }

    /// Forwards of the trained model itself without gradients: KTO's over the mismatched answers, and one over answers that it
    /// wrote, for their log-probabilities (verl, `verl/trainer/ppo/ray_trainer.py`; NeMo RL, `nemo_rl/algorithms/grpo.py`).
    pub const fn of_itself(self) -> u32 {
        if matches!(self, Self::Kto) || self.writes() { 1 } else { 0 }
    }

    /// Whether the model writes the answers that it is trained on, between updates.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Grpo | Self::Ppo)
    }

    /// Whether a critic is trained beside the model.
    pub const fn has_critic(self) -> bool {
        matches!(self, Self::Ppo)
    }

    /// Forwards of a teacher.
    pub const fn of_teacher(self) -> u32 {
        if matches!(self, Self::Distill) { 1 } else { 0 }
    }
}

choice!(
    /// How answers of unlike lengths fill sequences.
    Padding, "a padding" {
        /// Each has a sequence of its own, filled up to the plan's length.
        Fixed = "fixed",
        /// Each has a sequence of its own, filled up to the longest of its batch: the plan's length at most.
        Longest = "longest",
        /// Several fill a sequence.
        Packed = "packed",
    }
);

choice!(
    /// Which tokens of a sequence have logits.
    Logits, "a choice of logits" {
        /// All.
        All = "all",
        /// Those of the answers alone, by which the loss is computed (`logits_to_keep` of transformers).
        Completions = "completions",
    }
);

choice!(
    /// Which devices an engine has that writes answers.
    RolloutLayout, "a layout" {
        /// Those of the trainer, in turn.
        Colocated = "colocated",
        /// Others.
        Split = "split",
    }
);

choice!(
    /// What of the trainer goes to the hosts' memory while it is not in use.
    TrainerOffload, "a part of the trainer" {
        /// Nothing.
        None = "none",
        /// Optimizer state, but in an update.
        Optimizer = "optimizer",
        /// All that a phase does not pass: state of the model and of its critic, and weights of models beside.
        All = "all",
    }
);

/// The engine that writes answers, and how a step uses them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rollouts {
    /// Answers to a prompt.
    pub group: u32,
    /// Optimizer steps that divide the answers of a rollout among them (mini-batches).
    pub updates: u32,
    /// Times that the updates pass over them.
    pub epochs: u32,
    /// The engine's devices.
    pub layout: RolloutLayout,
    /// How many it has of its own, where it is split off.
    pub devices: u32,
    /// Devices of one engine, which share its matrices.
    pub tensor: u32,
    /// The share of a device's memory that it takes; [`Rollouts::share`] says the usual one.
    pub share: Option<Share>,
    /// Sequences that it writes at once, at most.
    pub slots: u32,
    /// Format of its weights; that of the plan where it is not said.
    pub format: Option<Format>,
    /// Format of its cache of keys and values, likewise.
    pub cache: Option<Format>,
    /// How deep it sleeps while the trainer has the devices: 0 keeps all, 1 moves the weights to the host, 2 drops them.
    pub sleep: u32,
    /// What of the trainer goes to the hosts' memory while it is not in use.
    pub offload: TrainerOffload,
    /// Whether the entropy of each token is computed beside its log-probability.
    pub entropy: bool,
}

impl Rollouts {
    /// The share of a device's memory: verl's half beside a trainer (`gpu_memory_utilization`,
    /// `verl/trainer/config/rollout/rollout.yaml`), else vLLM's nine tenths.
    pub fn share(&self) -> Share {
        self.share.unwrap_or(Share::new(if self.layout == RolloutLayout::Colocated { 0.5 } else { 0.9 }))
    }

    /// What holds where nothing is said: groups of 8 as in TRL (`num_generations`, `trl/trainer/grpo_config.py`), 256 sequences
    /// at once as in vLLM and verl (`max_num_seqs`, `verl/trainer/config/rollout/rollout.yaml`), and vLLM's own level of sleep.
    pub const USUAL: Self = Self {
        group: 8,
        updates: 1,
        epochs: 1,
        layout: RolloutLayout::Colocated,
        devices: 1,
        tensor: 1,
        share: None,
        slots: 256,
        format: None,
        cache: None,
        sleep: 1,
        offload: TrainerOffload::None,
        entropy: false,
    };
}

/// A model beside the one that is trained: which, and where its weights are.
#[derive(Debug, Clone, PartialEq)]
pub enum BesideModel {
    /// There is none.
    None,
    /// A frozen copy of the model, sharded over the devices.
    Resident,
    /// The same in the memory of the hosts, from which each pass fetches it.
    Host,
    /// The frozen weights beside the adapters that are trained: no copy.
    AdaptersOff,
    /// None in a step: a pass ahead of the training keeps what it gives.
    Precomputed,
    /// Another model, sharded over the devices.
    Other(OtherModel),
}

/// Another model, by its id.
#[derive(Debug, Clone, PartialEq)]
pub struct OtherModel {
    /// The id of its preset.
    pub id: Arc<str>,
    /// Its shape, once it has been looked up.
    pub model: Option<Arc<Model>>,
}

impl BesideModel {
    /// Those that have a word of their own, in the order in which a key steps through them.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("none", Self::None),
        ("resident", Self::Resident),
        ("host", Self::Host),
        ("adapters-off", Self::AdaptersOff),
        ("precomputed", Self::Precomputed),
    ];

    /// Whether a step passes it forward.
    pub const fn is_passed(&self) -> bool {
        !matches!(self, Self::None | Self::Precomputed)
    }
}

impl std::str::FromStr for BesideModel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, model)) = Self::WORDS.iter().find(|(word, _)| *word == text) {
            return Ok(model.clone());
        }
        if text.is_empty() || text.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
            let words = Self::WORDS.map(|(word, _)| word).join(", ");
            return Err(format!("write {words}, or the id of a model, as `shardscope presets models` lists them"));
        }
        Ok(Self::Other(OtherModel { id: text.into(), model: None }))
    }
}

impl fmt::Display for BesideModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(other) => f.pad(&other.id),
            own => f.pad(Self::WORDS.iter().find(|(_, word)| word == own).map_or("none", |(word, _)| word)),
        }
    }
}

/// What is trained after pre-training.
#[derive(Debug, Clone, PartialEq)]
pub struct PostTraining {
    /// What a step computes of an example.
    pub method: PostMethod,
    /// The reference, where it is not the method's usual one ([`PostTraining::reference`]).
    pub reference: Option<BesideModel>,
    /// The ranks that share its weights, where these are not those of the trained model's.
    pub reference_over: Option<Extent>,
    /// The model that a distillation learns from.
    pub teacher: BesideModel,
    /// The ranks that share its weights, where these are not those of the trained model's.
    pub teacher_over: Option<Extent>,
    /// How answers fill sequences, where it is said.
    pub padding: Option<Padding>,
    /// Which tokens have logits.
    pub logits: Logits,
    /// Tokens of the longest answer, where it is said.
    pub response_max: Option<u32>,
    /// Logits of a token that a teacher hands on; all of them where it is not said.
    pub top_k: Option<u32>,
    /// The model that is trained to tell what an answer is worth, where it is not the method's usual one.
    pub critic: Option<BesideModel>,
    /// The model that scores answers; none where programs do.
    pub reward_model: BesideModel,
    /// The engine that writes answers.
    pub rollouts: Rollouts,
}

impl PostTraining {
    /// The same, to be looked up.
    pub fn others_mut(&mut self) -> impl Iterator<Item = &mut OtherModel> {
        let Self { reference, teacher, critic, reward_model, .. } = self;
        let all = [reference.as_mut(), Some(teacher), critic.as_mut(), Some(reward_model)];
        all.into_iter().flatten().filter_map(|model| match model {
            BesideModel::Other(other) => Some(other),
            _ => None,
        })
    }

    /// Other models beside the one that is trained.
    pub fn others(&self) -> impl Iterator<Item = &OtherModel> {
        let Self { reference, teacher, critic, reward_model, .. } = self;
        let all = [reference.as_ref(), Some(teacher), critic.as_ref(), Some(reward_model)];
        all.into_iter().flatten().filter_map(|model| match model {
            BesideModel::Other(other) => Some(other),
            _ => None,
        })
    }

    /// The critic: the usual one has the shape of the trained model.
    pub fn critic(&self) -> BesideModel {
        if self.method.has_critic() { self.critic.clone().unwrap_or(BesideModel::Resident) } else { BesideModel::None }
    }
}

impl Default for PostTraining {
    fn default() -> Self {
        Self {
            method: PostMethod::Sft,
            reference: None,
            reference_over: None,
            teacher: BesideModel::None,
            teacher_over: None,
            padding: None,
            logits: Logits::All,
            response_max: None,
            top_k: None,
            critic: None,
            reward_model: BesideModel::None,
            rollouts: Rollouts::USUAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words are words, anything else is the id of a model, and both are written as they are read.
    #[test]
    fn a_model_beside_is_a_word_or_an_id() {
        for text in ["none", "resident", "host", "adapters-off", "precomputed", "qwen2.5-14b"] {
            assert_eq!(text.parse::<BesideModel>().map(|model| model.to_string()).as_deref(), Ok(text));
        }
        assert!("a model".parse::<BesideModel>().is_err_and(|fix| fix.contains("adapters-off")));
    }
}
