//! Costs against hand-worked values on the toy cluster: nodes of 4, 100 TFLOP/s, 1 TB/s, 100 GB/s in
//! the node, 10 GB/s per device out of it, hops of 1 us.

mod collectives;
mod compute;
mod memory;

use super::matmul::MatrixProduct;
use super::*;
use crate::hardware::{Group, MeasuredLevel, Ramp};
use crate::model::{Experts, GatedDeltaNet, LayerKind, LayerMlp, Mamba, Mixer};
use crate::plan::{Compile, CudaGraphs, Format, MasterWeights, Moments, Optimizer, Precision, Recompute, Size};
use crate::presets::Library;
use crate::scenario::{Scenario, file};
use crate::stack::{
    AllReduceAlgorithm, Attention, Efficiency, GatherAlgorithm, Protocol, Runtime, Selective, StateDivision,
    TensorDivision,
};
use crate::testing;
use crate::units::{Bytes, BytesPerSecond, Count, Seconds};
use std::sync::Arc;

/// The only kind of layer of most models.
const DENSE: LayerKind = LayerKind::new(Mixer::Attention, LayerMlp::Plain);

fn close(value: impl Base, expected: impl Base) {
    let (value, expected) = (value.base(), expected.base());
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
}

/// A number, or the number of base units of a quantity.
trait Base {
    fn base(self) -> f64;
}

impl Base for f64 {
    fn base(self) -> f64 {
        self
    }
}

impl Base for Seconds {
    fn base(self) -> f64 {
        self.get()
    }
}

impl Base for Bytes {
    fn base(self) -> f64 {
        self.get()
    }
}

fn rates(scenario: &Scenario) -> Rates<'_> {
    Rates::new(scenario, &Factors::default())
}

/// The toy scenario with what `change` makes of its efficiency.
fn with(change: impl Fn(&mut Efficiency)) -> Scenario {
    let mut scenario = testing::scenario();
    Arc::make_mut(&mut scenario.calibration).architectures.values_mut().for_each(change);
    scenario
}
