//! Models of torchtitan, in its configurations and logs.

/// A model by torchtitan's name and flavour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TitanModel {
    pub name: &'static str,
    pub flavor: &'static str,
    /// The preset of the same shape.
    pub preset: &'static str,
    /// True if 0.2.2 and 0.3.0 have the model too, not only 2024.
    pub exported: bool,
}

/// All known models.
pub(crate) const MODELS: [TitanModel; 6] = [
    now("llama3", "8B", "llama-3.1-8b"),
    now("llama3", "70B", "llama-3.1-70b"),
    now("llama3", "405B", "llama-3.1-405b"),
    once("llama2", "7B", "llama-2-7b"),
    once("llama2", "13B", "llama-2-13b"),
    once("llama2", "70B", "llama-2-70b"),
];

const fn now(name: &'static str, flavor: &'static str, preset: &'static str) -> TitanModel {
    TitanModel { name, flavor, preset, exported: true }
}

const fn once(name: &'static str, flavor: &'static str, preset: &'static str) -> TitanModel {
    TitanModel { exported: false, ..now(name, flavor, preset) }
}
