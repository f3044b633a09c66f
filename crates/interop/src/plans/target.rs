//! The names of tools that other modules ask for. All that is known of a tool is one entry of the table in
//! [`super::tool`].

/// A tool that plans are written for, or whose configurations are read: its word of `export --to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanTarget(pub(super) &'static str);

impl PlanTarget {
    pub(crate) const ACCELERATE: Self = Self("accelerate");
    pub(crate) const TRAINER: Self = Self("hf-trainer");
    pub(crate) const DEEPSPEED: Self = Self("deepspeed");
    pub(crate) const MEGATRON: Self = Self("megatron");
    pub(crate) const TORCHTITAN: Self = Self("torchtitan");
    pub(crate) const TORCHTUNE: Self = Self("torchtune");
    pub const SBATCH: Self = Self("sbatch");

    /// Its word of `export --to`.
    pub const fn word(self) -> &'static str {
        self.0
    }
}
