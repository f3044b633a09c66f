//! What a plan does to the numbers that are computed. Not for what that saves.

use super::{Format, Plan, Precision};

impl Plan {
    /// What makes the numbers coarser than 16 bits make them: `fp8`, `int8 weights`, `int4 gradients`.
    pub fn coarse_numbers(&self) -> Vec<String> {
        let wire = &self.sharding.wire;
        let travelling = |format: Format, what: &str| format.quantised().then(|| format!("{format} {what}"));
        let fp8 = (self.precision == Precision::Fp8).then(|| "fp8".to_owned());
        let all = [fp8, travelling(wire.weights, "weights"), travelling(wire.gradients, "gradients")];
        all.into_iter().flatten().collect()
    }

    /// Those of them that another plan has not.
    pub fn coarser_than(&self, other: &Self) -> Vec<String> {
        let known = other.coarse_numbers();
        self.coarse_numbers().into_iter().filter(|one| !known.contains(one)).collect()
    }
}
