//! Costs against hand-worked values on the toy cluster: nodes of 4, 100 TFLOP/s, 1 TB/s, 100 GB/s in
//! the node, 10 GB/s per device out of it, hops of 1 us.

mod collectives;
mod compute;
mod context;
mod flash;
mod loss;
mod memory;

use super::matmul::MatrixProduct;
use super::*;
use crate::hardware::{Group, MeasuredLevel, Ramp};
use crate::model::{Experts, GatedDeltaNet, LatentAttention, LayerKind, LayerMlp, Mamba, Mixer};
use crate::plan::{
    Compile, CudaGraphs, Ema, Format, FrozenEnds, MasterWeights, Moments, Optimizer, Precision, Recompute, Size,
};
use crate::presets::Library;
use crate::scenario::{Scenario, file};
use crate::stack::{
    AllReduceAlgorithm, Attention, Efficiency, GatherAlgorithm, Protocol, Runtime, Selective, Software, StateDivision,
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

/// A source whose kernels, network or host are half as fast takes twice as long for what these do, and for nothing else.
#[test]
fn own_factors_slow_what_they_are_of() {
    let times = |change: fn(&mut Software)| {
        let mut scenario = testing::scenario();
        let calibration = Arc::make_mut(&mut scenario.calibration);
        calibration.runtimes.values_mut().for_each(|runtime| runtime.layer = Seconds::new(1e-3));
        change(&mut calibration.software);
        let rates = rates(&scenario);
        let large = MatrixProduct::new(Count::new(1024.0), Count::new(3072.0), Count::new(1024.0));
        let gathered = rates.gather(Payload::plain(Count::new(1e9), Format::Bf16), Group::new(1, 8));
        [
            rates.product(large, rates.matmul, Bytes::new(2.0)).time,
            rates.memory_pass(Bytes::new(1e9)),
            gathered.time,
            rates.host_layer(),
        ]
    };
    let usual = times(|_| ());
    let slower = |change: fn(&mut Software), factors: [f64; 4]| {
        for ((now, before), factor) in times(change).into_iter().zip(usual).zip(factors) {
            close(now / before, factor);
        }
    };
    slower(|software| software.compute = 0.5, [2.0, 2.0, 1.0, 1.0]);
    slower(|software| software.network = 0.5, [1.0, 1.0, 2.0, 1.0]);
    slower(|software| software.host = 0.5, [1.0, 1.0, 1.0, 2.0]);
}

/// Of a router that stays as it is in a layer that backward passes, backward has the gradient of its input alone: as many
/// bytes of memory, which bounds so thin a product, as that of its weights.
#[test]
fn a_frozen_router_has_no_gradient() {
    let mut scenario = testing::scenario();
    let mut model = (*Library::embedded().model("mixtral-8x7b").expect("it is")).clone();
    model.frozen_layers = 4;
    scenario.model = Arc::new(model);
    scenario.plan.tuning.ends = Some(FrozenEnds::None);
    let rates = rates(&scenario);
    let [frozen, trained] = [0, 7].map(|layer| {
        let kind = scenario.model.kind(layer);
        let scores = rates.router_product(kind).expect("a router");
        rates.router_scores(scenario.differentiated(kind), scores).backward.time
    });
    close(trained / frozen, 2.0);
}
