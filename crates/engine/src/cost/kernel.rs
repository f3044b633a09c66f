//! The kernels of a layer one by one, with their arithmetic, traffic and time: the operators of which [`Rates::layer`] is the
//! sum, for explanations.

use crate::model::{LayerKind, LayerMatrix, LayerPart, Matrix, MatrixRole};
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
        let sequences = self.scenario.plan.micro_batch;
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
            OperatorWork::Dequantisation(_) | OperatorWork::Stream(_) | OperatorWork::Casts(_) => {
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

    /// The product of activations by a matrix of a layer, over the tokens that come to it: routed ones of a rank in one launch.
    pub(super) fn matrix_product(&self, one: &LayerMatrix) -> MatrixProduct {
        let LayerMatrix { matrix, count, active, .. } = *one;
        let by_rows = one.role == MatrixRole::Last;
        if one.whole {
            return self.replicated(matrix);
        }
        if one.part != LayerPart::Routed {
            let tokens = self.tokens();
            return if by_rows { self.row_parallel(matrix, tokens) } else { self.column_parallel(matrix, tokens) };
        }
        // Each of 8 experts of which 2 are active has a quarter of the tokens, if they are spread evenly. A rank of 4 has two
        // of them, to which as many copies come as it sends: twice its tokens, so that each has as many as the rank.
        let ExpertShare { ranks, tensor, load, .. } = self.experts;
        let here = count as f64 / ranks;
        let [input, output] = [matrix.input, matrix.output].map(Count::from);
        let (input, output) = if by_rows { (input / tensor, output) } else { (input, output / tensor) };
        MatrixProduct { groups: here, ..MatrixProduct::new(self.routed(active) * load / here, output, input) }
    }

    /// The product of a weight that each tensor rank has whole: with sequence parallelism each has a part of the tokens.
    pub(super) fn replicated(&self, matrix: Matrix) -> MatrixProduct {
        let tokens = self.tokens() / f64::from(self.sequence_ranks());
        MatrixProduct::new(tokens, matrix.output.into(), matrix.input.into())
    }

    /// The product of a weight that is split by columns over the tensor ranks.
    pub(super) fn column_parallel(&self, matrix: Matrix, tokens: Count) -> MatrixProduct {
        let output = Count::from(matrix.output) / f64::from(self.scenario.plan.tensor);
        MatrixProduct::new(tokens, output, matrix.input.into())
    }

    /// The product of a weight that is split by rows over the tensor ranks.
    pub(super) fn row_parallel(&self, matrix: Matrix, tokens: Count) -> MatrixProduct {
        let input = Count::from(matrix.input) / f64::from(self.scenario.plan.tensor);
        MatrixProduct::new(tokens, matrix.output.into(), input)
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
