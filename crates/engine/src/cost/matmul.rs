//! Matrix products: tiles, waves and the memory's floor.

use crate::scenario::Differentiated;
use crate::units::{Bytes, Count, Flop, FlopPerSecond, Seconds, ceil};

use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// Output tiles that matrix libraries choose from, and the share of the plateau that each reaches:
/// smaller tiles reuse less of what they load. Sizes are cuBLAS's and rocBLAS's common ones; the
/// shares are those of the step-time prototype behind the `measured` calibration.
const TILES: [(f64, f64, f64); 3] = [(128.0, 256.0, 1.0), (128.0, 128.0, 0.93), (64.0, 128.0, 0.75)];

/// Elements to a multiple of which dimensions are best: 128 bytes of 16-bit elements (NVIDIA, matrix
/// multiplication background user's guide).
const ALIGNED: u32 = 64;

/// A matrix product of `m x k` by `k x n`, or several of one shape in one launch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MatrixProduct {
    /// Rows of the output: tokens, in forward.
    pub m: Count,
    /// Columns of the output.
    pub n: Count,
    /// Inner dimension, which is summed over.
    pub k: Count,
    /// Number of equal products in one launch.
    pub groups: f64,
}

impl PassTimes {
    /// Times of a product of activations by weights that are trained, by what a product takes.
    pub(super) fn trained(product: MatrixProduct, time: impl Fn(MatrixProduct) -> DeviceTime) -> Self {
        let weights = time(product.weight_gradient());
        Self { forward: time(product), backward: time(product.input_gradient()) + weights, weights }
    }

    /// Times of a product of activations by weights of which backward computes some gradients.
    pub(super) fn differentiated(
        of: Differentiated,
        product: MatrixProduct,
        time: impl Fn(MatrixProduct) -> DeviceTime,
    ) -> Self {
        match of {
            Differentiated::Nothing => Self::of_inputs(time(product), DeviceTime::default()),
            Differentiated::Inputs => Self::of_inputs(time(product), time(product.input_gradient())),
            Differentiated::All => Self::trained(product, time),
        }
    }
}

impl MatrixProduct {
    /// One product.
    pub const fn new(m: Count, n: Count, k: Count) -> Self {
        Self { m, n, k, groups: 1.0 }
    }

    /// The gradient of the left factor: `m x n` by `n x k`.
    pub(super) const fn input_gradient(self) -> Self {
        Self { n: self.k, k: self.n, ..self }
    }

    /// The gradient of the right factor: `k x m` by `m x n`.
    pub(super) const fn weight_gradient(self) -> Self {
        Self { m: self.k, k: self.m, ..self }
    }
}

impl Rates<'_> {
    /// Time of a product at the plateau `rate`, on factors of `element` bytes:
    ///
    /// `max( tiles x tile area x 2 (k + depth) / (rate x tile share), (mk + kn + mn) x bytes / memory )`
    ///
    /// where `tiles`, those of all products of the launch, lies between the exact ratio of areas and whole waves over the
    /// compute units, by the calibration's `wave`, and the first term grows with each power of two that `n` and `k`
    /// lack to [`ALIGNED`].
    pub(crate) fn product(&self, product: MatrixProduct, rate: FlopPerSecond, element: Bytes) -> DeviceTime {
        let ([m, n, k], groups) = ([product.m, product.n, product.k].map(Count::get), product.groups);
        let units = f64::from(self.scenario.cluster.device.compute_units);
        let wave = self.calibrated.efficiency.wave;
        let tiled = |(height, width, share): (f64, f64, f64)| {
            let exact = m * n / (height * width) * groups;
            // Tiles run in waves of as many as there are compute units; a last wave that is not full takes as long: 109
            // tiles on the 108 units of an A100 take two waves, as 216 would.
            let whole = ceil(ceil(m / height) * ceil(n / width) * groups / units) * units;
            let tiles = wave * whole + (1.0 - wave) * exact;
            Flop::new(tiles * height * width * 2.0 * (k + self.calibrated.efficiency.matmul_depth)) / (rate * share)
        };
        let tiled = TILES.into_iter().map(tiled).fold(Seconds::new(f64::INFINITY), Seconds::min);
        let arithmetic = tiled * (1.0 + self.calibrated.efficiency.misalignment * missing_alignment(n, k));
        DeviceTime::roofline(arithmetic, (m * k + k * n + m * n) * groups * element / self.memory)
    }
}

/// Powers of two that the smaller alignment of two dimensions lacks to [`ALIGNED`].
fn missing_alignment(n: f64, k: f64) -> f64 {
    // A power of two divides both where it divides their bits or-ed together: of 1800 = 8 x 225 and 1024, 8.
    let zeros = (n as u64 | k as u64).trailing_zeros().min(ALIGNED.trailing_zeros());
    f64::from(ALIGNED.trailing_zeros() - zeros)
}
