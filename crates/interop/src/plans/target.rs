//! Names of tools for other modules. The table in [`super::tool`] has everything else about a tool.

/// A tool whose files are written or read, by its word of `export --to`.
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

    /// The word of `export --to`.
    pub const fn word(self) -> &'static str {
        self.0
    }
}
