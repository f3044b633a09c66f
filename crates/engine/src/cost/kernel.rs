//! The kernels of a layer one by one, with their arithmetic, traffic and time: the operators of which [`Rates::layer`] is the
//! sum, for explanations.

use crate::model::{LayerKind, LayerMatrix, LayerPart, MatrixRole};
use crate::plan::pass::PerDirection;
use crate::scenario::Differentiated;
use crate::units::{Bytes, Count, Flop, FlopPerSecond, Seconds};

use super::attention::KernelWork;
use super::device_time::{DeviceTime, PassTimes};
use super::matmul::MatrixProduct;
use super::operator::OperatorWork;
use super::rates::{ExpertShare, Rates};

/// Kernels of a layer that do one thing in one pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// Name of their work: `gate and up`.
    pub name: String,
    /// Arithmetic.
    pub flop: Flop,
    /// Traffic to and from the device's memory; none where the kernel's arithmetic hides it by design.
    pub bytes: Bytes,
    /// Peak of their format.
    pub peak: FlopPerSecond,
    /// Device time.
    pub time: DeviceTime,
    /// Tokens that come to it over the mean of all ranks: more than one where experts are not loaded evenly.
    pub load: Count,
}

impl Rates<'_> {
    /// The kernels of forward of a layer of a kind, and of backward without recompute, except those that take no time with
    /// this software. Operators of one name are one kernel.
    pub fn kernels(&self, kind: LayerKind) -> PerDirection<Vec<Kernel>> {
        let of = self.scenario.differentiated(kind);
        let mut kernels = PerDirection::<Vec<Kernel>>::default();
        self.operators(kind, |one| {
            let times = self.operator_times(kind, of, &one.work, 1);
            if times.forward == DeviceTime::default() {
                return;
            }
            let PerDirection { forward, backward } = self.operator_work(kind, of, &one.work, &times);
            let kernel = |KernelWork { flop, bytes }: KernelWork, time: DeviceTime| {
                let is_product = matches!(one.work, OperatorWork::Product(_));
                let load = if is_product { self.load(one.part) } else { Count::new(1.0) };
                let (name, peak) = (one.name.to_owned(), self.operator_peak(&one.work));
                Kernel { name, flop, bytes, peak, time, load }
            };
            add(&mut kernels.forward, kernel(forward, times.forward));
            if of != Differentiated::Nothing {
                add(&mut kernels.backward, kernel(backward, times.backward));
            }
        });
        kernels
    }

    /// Flop and bytes of an operator of a layer of a kind that takes such times.
    fn operator_work(
        &self,
        kind: LayerKind,
        of: Differentiated,
        work: &OperatorWork,
        times: &PassTimes,
    ) -> PerDirection<KernelWork> {
        let sequences = self.scenario.plan.sequences_at_once();
        let PassTimes { forward, backward, .. } = *times;
        // Memory may bound what multiplies narrow factors, or casts them to more bytes than they have.
        let at_least_moved = |work: PerDirection<KernelWork>| {
            let moved = |KernelWork { flop, bytes }, time: DeviceTime| KernelWork {
                flop,
                bytes: if time.memory > Seconds::ZERO { self.memory * time.memory } else { bytes },
            };
            PerDirection { forward: moved(work.forward, forward), backward: moved(work.backward, backward) }
        };
        // Backward has two products of the size of forward's, or one where the weights are frozen.
        let gradients = if of == Differentiated::All { 2.0 } else { 1.0 };
        match *work {
            OperatorWork::Product(product) => self.product_work([product], gradients),
            OperatorWork::Scores(product) => at_least_moved(self.product_work([product], gradients)),
            OperatorWork::Adapter(beside) => at_least_moved(self.product_work(self.low_rank(beside), 2.0)),
            OperatorWork::Core => self.attention_work(kind, sequences),
            OperatorWork::Indexer => self.indexer_work(kind, sequences).unwrap_or_default(),
            OperatorWork::Dequantisation(_) | OperatorWork::Stream(_) | OperatorWork::Passes(_) => {
                PerDirection { forward, backward }
                    .map(|time| KernelWork { flop: Flop::ZERO, bytes: self.memory * time.time })
            }
        }
    }

    /// Flop and bytes of products in forward, and of so many times these in backward: both factors are read and the result is
    /// written.
    fn product_work<const N: usize>(&self, products: [MatrixProduct; N], gradients: f64) -> PerDirection<KernelWork> {
        let [mut multiplied, mut moved] = [0.0; 2];
        for MatrixProduct { m, n, k, groups } in products {
            let [m, n, k] = [m, n, k].map(Count::get);
            multiplied += m * n * k * groups;
            moved += (m * k + k * n + m * n) * groups;
        }
        PerDirection { forward: 1.0, backward: gradients }.map(|times| KernelWork {
            flop: Flop::new(2.0 * multiplied * times),
            bytes: moved * times * self.storage(),
        })
    }

    /// The peak of the format that an operator multiplies.
    fn operator_peak(&self, work: &OperatorWork) -> FlopPerSecond {
        match work {
            OperatorWork::Core | OperatorWork::Scores(_) | OperatorWork::Adapter(_) => self.peak_storage,
            _ => self.peak,
        }
    }

    /// Ranks that share what a matrix puts out: tensor ranks, or those that share the tokens where each has the matrix whole.
    pub(super) fn sharing_ranks(&self, one: &LayerMatrix) -> u32 {
        if one.whole { self.sequence_ranks() } else { self.scenario.plan.tensor }
    }

    /// The product of activations by a matrix of a layer, over the tokens that come to it: routed ones of a rank in one launch.
    /// A matrix that each tensor rank has whole multiplies its part of the tokens, with sequence parallelism.
    pub(super) fn matrix_product(&self, one: &LayerMatrix) -> MatrixProduct {
        let ExpertShare { ranks, tensor, load, .. } = self.experts;
        let (tokens, divided, groups) = if one.whole {
            (self.tokens() / f64::from(self.sharing_ranks(one)), 1.0, 1.0)
        } else if one.part == LayerPart::Routed {
            // Each of 8 experts of which 2 are active has a quarter of the tokens, if they are spread evenly. A rank of 4 has two
            // of them, to which as many copies come as it sends: twice its tokens, so that each has as many as the rank.
            let here = one.count as f64 / ranks;
            (self.routed(one.active) * load / here, tensor, here)
        } else {
            (self.tokens(), f64::from(self.sharing_ranks(one)), 1.0)
        };
        let [input, output] = [one.matrix.input, one.matrix.output].map(Count::from);
        let by_rows = one.role == MatrixRole::Last;
        let (input, output) = if by_rows { (input / divided, output) } else { (input, output / divided) };
        MatrixProduct { groups, ..MatrixProduct::new(tokens, output, input) }
    }
}

/// Adds a kernel to others, or to the one of its name.
fn add(kernels: &mut Vec<Kernel>, more: Kernel) {
    match kernels.iter_mut().find(|kernel| kernel.name == more.name) {
        Some(kernel) => {
            kernel.flop += more.flop;
            kernel.bytes += more.bytes;
            kernel.time += more.time;
        }
        None => kernels.push(more),
    }
}
