//! What the measured runs nearest to a scenario lack. Not for how wide that leaves an interval ([`super::band`]).

use std::collections::BTreeSet;

use strum::Display;

use crate::scenario::Scenario;
use crate::stack::{Band, Beyond};

use super::band::{Unmeasured, likeness};

/// What the measured runs nearest to a scenario lack, in the order of the contract (JSON `error_band.lacks`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display)]
#[strum(serialize_all = "lowercase")]
pub enum NearestLack {
    /// None is of its stack.
    Release,
    /// None ran on its device.
    Device,
    /// None trained in fp8 or in fewer bits.
    Format,
    /// None had half as many devices where its work is divided so.
    Size,
    /// None had so long a sequence.
    Sequence,
    /// None has its kinds of layers, or trains the part of a model that it trains.
    #[strum(serialize = "kinds of layers")]
    Layers,
    /// None divides its work so.
    Layout,
}

impl From<Beyond> for NearestLack {
    fn from(beyond: Beyond) -> Self {
        match beyond {
            Beyond::Device => Self::Device,
            Beyond::Format => Self::Format,
            Beyond::Division => Self::Layout,
            Beyond::Size(_) => Self::Size,
        }
    }
}

/// What of a scenario the measured runs nearest to it lack: the rows of its stack alone, or, where these are too few for a band,
/// those of several stacks with it; where there is none of its stack, the rows of all stacks on its architecture.
pub fn lacks(scenario: &Scenario) -> Vec<NearestLack> {
    let run = likeness(scenario);
    let bands = &scenario.calibration.bands;
    let told = |band: &&Band| band.reach.is_some() && band.is_for_other_stacks(&run);
    let of_stack = || bands.iter().filter(told).filter(|band| band.has_stack(&run));
    let alone = || of_stack().filter(|band| band.stacks.len() == 1);
    let own = alone().find(|band| band.serves(&run)).or_else(|| alone().next());
    let shared = || of_stack().find(|band| band.serves(&run)).or_else(|| of_stack().next());
    let nearest = own.or_else(shared).or_else(|| bands.iter().rfind(told));
    let release = of_stack().next().is_none().then_some(NearestLack::Release);
    let layers = nearest.is_none().then_some(NearestLack::Layers);
    let unmeasured = Unmeasured::of(scenario).filter_map(|part| match part {
        Unmeasured::Sequence => Some(NearestLack::Sequence),
        Unmeasured::Experts | Unmeasured::Recurrence | Unmeasured::SparseAttention | Unmeasured::Part => {
            Some(NearestLack::Layers)
        }
        Unmeasured::Unknown
        | Unmeasured::ExpertLoop
        | Unmeasured::Method
        | Unmeasured::Offload
        | Unmeasured::Head
        | Unmeasured::Examples => None,
    });
    let beyond = nearest.into_iter().flat_map(|band| band.beyond(&run)).map(NearestLack::from);
    let found: BTreeSet<NearestLack> = release.into_iter().chain(layers).chain(unmeasured).chain(beyond).collect();
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::Library;
    use crate::scenario::file::parse;

    /// Fields, and what they are set to.
    type Changes = &'static [(&'static str, &'static str)];

    /// Shipped rows: `nemo-2025` ran on H100 with split work and up to 2,304 devices, of which twice as many are near; no row is of
    /// `default`, of an A100 under `nemo-2025`, or of sequences of a million tokens.
    #[test]
    fn each_thing_that_no_near_run_has_is_named() {
        let nemo = ("h100-80gb-dgx", "nemo-2025");
        let cases: [(_, Changes, &[NearestLack]); 6] = [
            (nemo, &[("tp", "8"), ("nodes", "16")], &[]),
            (nemo, &[("tp", "8"), ("nodes", "1024")], &[NearestLack::Size]),
            (nemo, &[("strategy", "fsdp"), ("nodes", "16")], &[NearestLack::Layout]),
            (("h100-80gb-dgx", "default"), &[("nodes", "16")], &[NearestLack::Release]),
            (("a100-80gb-dgx", "nemo-2025"), &[("nodes", "16")], &[NearestLack::Release]),
            (nemo, &[("tp", "8"), ("nodes", "16"), ("seq", "1048576")], &[NearestLack::Sequence]),
        ];
        let library = Library::embedded();
        for ((hardware, stack), changes, wanted) in cases {
            let mut file = parse(&library.scenario_text("default").expect("embedded").text).expect("valid");
            let machine = [("hardware", hardware), ("stack", stack)];
            machine.iter().chain(changes).for_each(|(field, value)| file.set(field, value).expect("known"));
            let scenario = library.resolve(&file).expect("a scenario");
            assert_eq!(lacks(&scenario), wanted, "{stack} on {hardware}, {changes:?}");
        }
    }
}
