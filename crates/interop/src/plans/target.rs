//! The tools that plans are written for, and whose configurations are read. Not for what is known of them ([`super::tool`]).

/// A tool: its entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanTarget {
    /// Accelerate's YAML.
    Accelerate,
    /// Arguments of Hugging Face's Trainer, as YAML.
    Trainer,
    /// LLaMA-Factory's YAML.
    LlamaFactory,
    /// ms-swift's YAML.
    Swift,
    /// DeepSpeed's JSON.
    DeepSpeed,
    /// Arguments of Megatron-LM.
    Megatron,
    /// torchtitan's command, or the TOML of earlier versions.
    Torchtitan,
    /// torchtune's YAML.
    Torchtune,
    /// A job for Slurm.
    Sbatch,
}

impl PlanTarget {
    /// All of them, in the order of `export --to`.
    pub const ALL: [Self; 9] = [
        Self::Accelerate,
        Self::Trainer,
        Self::LlamaFactory,
        Self::Swift,
        Self::DeepSpeed,
        Self::Megatron,
        Self::Torchtitan,
        Self::Torchtune,
        Self::Sbatch,
    ];
}
