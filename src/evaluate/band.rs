//! How sure a step time is, by the calibration's bands. Not for working bands out of measured rows.

use crate::scenario::Scenario;
use crate::stack::{Band, Division, Likeness};
use crate::units::{FlopPerSecond, Seconds};

use super::figures::Summary;

/// An 80 % band of the step time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBand {
    /// Lower end.
    pub low: Seconds,
    /// Upper end.
    pub high: Seconds,
    /// Measured rows behind it.
    pub rows: u32,
}

impl ErrorBand {
    /// Around a scenario's predicted step time `t`, from `t e^-w` to `t e^w`, where `w` is the half width of
    /// [`evidence`]; none where no measured rows stand behind the scenario.
    pub fn around(scenario: &Scenario, step_time: Seconds) -> Option<Self> {
        let Band { half_width, rows, .. } = *evidence(scenario)?;
        // Widths are of the logarithm: 0.1 is from 0.905 to 1.105 times the step, as likely too slow as too fast.
        let end = |exponent: f64| step_time * libm::exp(exponent);
        Some(Self { low: end(-half_width), high: end(half_width), rows })
    }

    /// The model flop per second and device at its ends, the lower first.
    pub fn model_flops(self, summary: &Summary) -> [FlopPerSecond; 2] {
        [self.high, self.low].map(|step| summary.model_flops * (summary.step_time / step))
    }
}

/// The nearest measured rows: the first of the calibration's bands that serves the scenario.
pub fn evidence(scenario: &Scenario) -> Option<&Band> {
    let run = likeness(scenario);
    scenario.calibration.bands.iter().find(|band| band.serves(&run))
}

/// By what the runs are chosen that are like this one.
pub fn likeness(scenario: &Scenario) -> Likeness<'_> {
    Likeness {
        stack: &scenario.stack.id,
        architecture: &scenario.cluster.device.architecture,
        division: Division::from(&scenario.plan),
        across_nodes: scenario.devices() > scenario.cluster.devices_per_node(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::presets::Library;
    use crate::scenario::file::parse;

    fn scenario(hardware: &str, stack: &str) -> Scenario {
        let library = Library::embedded();
        let mut file = parse(&library.scenario_text("default").expect("embedded").text).expect("valid");
        file.set("hardware", hardware).expect("known");
        file.set("stack", stack).expect("known");
        library.resolve(&file).expect("a scenario")
    }

    /// What no measured step time stands behind has no band: peaks, and devices without a scored row. Of MI250X there are
    /// seven rows, all of LUMI.
    #[test]
    fn only_evidence_gives_a_band() {
        let step = Seconds::new(1.0);
        for (hardware, stack) in
            [("h100-80gb-dgx", "ideal"), ("v100-32gb-dgx2", "deepspeed-zeropp-2023"), ("titan-rtx-pcie", "default")]
        {
            assert_eq!(ErrorBand::around(&scenario(hardware, stack), step), None, "{stack} on {hardware}");
        }
        let on = |hardware, stack| ErrorBand::around(&scenario(hardware, stack), step).expect("measured");
        let of = |stack| on("a100-80gb-dgx", stack);
        assert!(on("mi250x-frontier", "default").high > of("default").high, "seven rows say less than a thousand");
        assert!(of("default").high > of("llm-foundry-2024").high, "an unseen stack is less sure");
    }

    /// exp(0.1) = 1.105171 and exp(-0.1) = 0.904837: 2 s become 2.210342 and 1.809675.
    #[test]
    fn the_band_is_as_wide_on_both_sides() {
        let mut scenario = scenario("a100-80gb-dgx", "fms-fsdp");
        let own = |stack: &str, half_width| Band {
            stacks: vec![stack.to_owned()],
            architecture: "ampere".to_owned(),
            division: None,
            across_nodes: None,
            half_width,
            groups: 11,
            rows: 17,
        };
        Arc::make_mut(&mut scenario.calibration).bands = vec![own("torchtitan", 0.3), own("fms-fsdp", 0.1)];
        let band = ErrorBand::around(&scenario, Seconds::new(2.0)).expect("a band");
        assert!((band.high.get() - 2.210_342).abs() < 1e-6 && (band.low.get() - 1.809_675).abs() < 1e-6, "{band:?}");
        assert_eq!(band.rows, 17);
    }
}
