//! The kernels of a layer one by one, with their arithmetic, traffic and time. [`Rates::layer`] is their sum, of which
//! steps are made; the list serves explanations.

use std::ops::Add;

use crate::model::{LayerKind, LayerMatrix, LayerPart, Matrix, MatrixRole, Mixer};
use crate::plan::pass::PerDirection;
use crate::scenario::Differentiated;
use crate::stack::Attention;
use crate::units::{Bytes, Count, Flop, FlopPerSecond, Seconds};

use super::adapters::adapters;
use super::attention::KernelWork;
use super::device_time::{DeviceTime, PassTimes};
use super::layer::{BACKWARD_TRAFFIC, ElementWiseTimes};
use super::matmul::MatrixProduct;
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
    /// this software.
    pub fn kernels(&self, kind: LayerKind) -> PerDirection<Vec<Kernel>> {
        let model = &self.scenario.model;
        let (tokens, of) = (self.tokens(), self.scenario.differentiated(kind));
        let products = |before_core: bool| {
            let before = |one: &LayerMatrix| one.part == LayerPart::Mixer && one.role != MatrixRole::Last;
            let chosen = model.matrices(kind).filter(move |one| before(one) == before_core);
            chosen.map(|one| self.matrix_kernels(of, &one))
        };
        let mut both: Vec<PerDirection<Kernel>> = products(true).collect();
        both.push(self.attention_core(kind));
        both.extend(self.choosing(kind));
        both.extend(products(false));
        both.extend(self.router_product(kind).map(|product| self.router_kernel(kind, product)));
        let ElementWiseTimes { residual, ffn, experts, permute } = self.element_wise(kind, tokens);
        both.push(self.streaming("experts chosen by their scores", self.router_choice(kind)));
        both.push(self.streaming("norms and residuals", residual * f64::from(kind.halves())));
        both.push(self.streaming("activation function", ffn + experts));
        both.push(self.streaming("tokens to experts' order and back", permute * 2.0));
        both.push(self.moving("tokens cast for their exchanges and back", self.exchange_casts(kind).sum()));
        both.push(self.dequantising(kind));
        both.push(self.adapters(kind));
        both.retain(|kernel| kernel.forward.time != DeviceTime::default());
        let (forward, mut backward): (Vec<_>, Vec<_>) =
            both.into_iter().map(|kernel| (kernel.forward, kernel.backward)).unzip();
        if of == Differentiated::Nothing {
            backward.clear();
        }
        PerDirection { forward, backward }
    }

    /// The kernels of a product of activations by a matrix.
    fn matrix_kernels(&self, of: Differentiated, one: &LayerMatrix) -> PerDirection<Kernel> {
        let load = Count::new(if one.part == LayerPart::Routed { self.experts.load } else { 1.0 });
        self.weight_product(of, one.name, self.matrix_product(one)).map(|kernel| Kernel { load, ..kernel })
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

    /// The passes that bring the layer's frozen weights into the storage format.
    fn dequantising(&self, kind: LayerKind) -> PerDirection<Kernel> {
        let products = self.scenario.model.matrices(kind).map(|one| self.dequantisation(self.matrix_product(&one)));
        let time = products.fold(DeviceTime::default(), DeviceTime::add);
        let PerDirection { forward, .. } = self.streaming("frozen weights dequantised", time);
        PerDirection { backward: forward.clone(), forward }
    }

    /// The adapters of a layer, with what adds them to the frozen products.
    fn adapters(&self, kind: LayerKind) -> PerDirection<Kernel> {
        let beside = || adapters(self.scenario, kind).map(|adapter| self.matrix_product(&adapter));
        let times = beside().map(|product| self.adapter_time(product)).fold(PassTimes::default(), PassTimes::add);
        let work = |MatrixProduct { m, n, k, groups }: MatrixProduct| {
            let [m, n, k] = [m, n, k].map(Count::get);
            (Flop::new(2.0 * m * n * k * groups), (m * k + k * n + m * n) * groups * self.storage())
        };
        let all = beside().flat_map(|product| self.low_rank(product)).map(work);
        let (flop, bytes) = all.fold((Flop::ZERO, Bytes::ZERO), |(flop, bytes), one| (flop + one.0, bytes + one.1));
        let kernel = |products: f64, time: DeviceTime| Kernel {
            name: "adapters".to_owned(),
            flop: flop * products,
            // What scales and adds the products moves more than they do.
            bytes: if time.memory > Seconds::ZERO { self.memory * time.memory } else { bytes * products },
            peak: self.peak_storage,
            time,
            load: Count::new(1.0),
        };
        PerDirection { forward: kernel(1.0, times.forward), backward: kernel(2.0, times.backward) }
    }

    /// Products of activations by weights in one launch; backward has two of the size of forward's, or one where the
    /// weights are frozen.
    fn weight_product(&self, of: Differentiated, name: &str, product: MatrixProduct) -> PerDirection<Kernel> {
        let PassTimes { forward, backward, .. } = self.passes(of, product, self.matmul);
        let [m, n, k] = [product.m, product.n, product.k].map(Count::get);
        let flop = Flop::new(2.0 * m * n * k) * product.groups;
        let bytes = (m * k + k * n + m * n) * product.groups * self.storage();
        let kernel = |products: f64, time: DeviceTime| Kernel {
            name: name.to_owned(),
            flop: flop * products,
            bytes: bytes * products,
            peak: self.peak,
            time,
            load: Count::new(1.0),
        };
        let gradients = if of == Differentiated::All { 2.0 } else { 1.0 };
        PerDirection { forward: kernel(1.0, forward), backward: kernel(gradients, backward) }
    }

    /// The product of a router's scores.
    fn router_kernel(&self, kind: LayerKind, product: MatrixProduct) -> PerDirection<Kernel> {
        let PassTimes { forward, backward, .. } = self.router_scores(kind);
        let PerDirection { forward: kernel, backward: gradients } =
            self.weight_product(self.scenario.differentiated(kind), "router's scores", product);
        let peak = self.peak_storage;
        let timed = |kernel: Kernel, time: DeviceTime| Kernel {
            // Memory may bound casts to more bytes than the factors have.
            bytes: if time.memory > Seconds::ZERO { self.memory * time.memory } else { kernel.bytes },
            peak,
            time,
            ..kernel
        };
        PerDirection { forward: timed(kernel, forward), backward: timed(gradients, backward) }
    }

    /// Attention itself.
    fn attention_core(&self, kind: LayerKind) -> PerDirection<Kernel> {
        let sequences = self.scenario.plan.micro_batch;
        let passes = self.core(kind, sequences);
        let name = match self.attention {
            _ if kind.mixer == Mixer::DeltaNet => "gated delta rule",
            _ if kind.mixer == Mixer::Mamba => "chunked scan",
            Attention::Plain | Attention::FusedSoftmax => "unfused attention",
            _ if self.scenario.model.indexer.is_some() => "sparse attention",
            _ => "flash attention",
        };
        let kernel = |KernelWork { flop, bytes }: KernelWork, time: DeviceTime| Kernel {
            name: name.to_owned(),
            flop,
            bytes,
            peak: self.peak_storage,
            time,
            load: Count::new(1.0),
        };
        let PerDirection { forward, backward } = self.attention_work(kind, sequences);
        PerDirection { forward: kernel(forward, passes.forward), backward: kernel(backward, passes.backward) }
    }

    /// The choice of the tokens that attention looks at.
    fn choosing(&self, kind: LayerKind) -> Option<PerDirection<Kernel>> {
        let sequences = self.scenario.plan.micro_batch;
        let PassTimes { forward, backward, .. } = self.indexer(kind, sequences);
        let kernel = |KernelWork { flop, bytes }: KernelWork, time: DeviceTime| Kernel {
            name: "indexer".to_owned(),
            flop,
            bytes,
            peak: self.peak,
            time,
            load: Count::new(1.0),
        };
        let work = self.indexer_work(kind, sequences)?;
        Some(PerDirection { forward: kernel(work.forward, forward), backward: kernel(work.backward, backward) })
    }

    /// The kernel of operators that only move data.
    fn streaming(&self, name: &str, time: DeviceTime) -> PerDirection<Kernel> {
        self.moving(name, PerDirection { forward: time, backward: time * BACKWARD_TRAFFIC })
    }

    /// The kernel of operators that only move data, whose time differs by direction.
    fn moving(&self, name: &str, times: PerDirection<DeviceTime>) -> PerDirection<Kernel> {
        times.map(|time| Kernel {
            name: name.to_owned(),
            flop: Flop::ZERO,
            bytes: self.memory * time.time,
            peak: self.peak,
            time,
            load: Count::new(1.0),
        })
    }
}
