//! Matrix products: tiles, waves and the memory's floor.

use crate::units::FlopPerSecond;

use super::layer::Work;
use super::rates::Rates;

/// Output tiles that matrix libraries choose from, and the share of the plateau that each reaches:
/// smaller tiles reuse less of what they load. Sizes are cuBLAS's and rocBLAS's common ones; the
/// shares are those of the step-time prototype behind the `measured` calibration.
const TILES: [(f64, f64, f64); 3] = [(128.0, 256.0, 1.0), (128.0, 128.0, 0.93), (64.0, 128.0, 0.75)];

/// Elements to a multiple of which dimensions are best: 128 bytes of 16-bit elements (NVIDIA, matrix
/// multiplication background user's guide).
const ALIGNED: u32 = 64;

impl Rates<'_> {
    /// Time of `m x k` by `k x n` at the plateau `rate`, on factors of `bytes` per element:
    ///
    /// `max( tiles x tile area x 2 (k + depth) / (rate x tile share), (mk + kn + mn) x bytes / memory )`
    ///
    /// where `tiles` lies between the exact ratio of areas and whole waves over the compute units,
    /// by the calibration's `wave`, and the first term grows with each power of two that `n` and `k`
    /// lack to [`ALIGNED`].
    pub(crate) fn product(&self, m: f64, n: f64, k: f64, rate: FlopPerSecond, bytes: f64) -> Work {
        let units = f64::from(self.scenario.cluster.device.compute_units);
        let wave = self.efficiency.wave;
        let tiled = |(height, width, share): (f64, f64, f64)| {
            let exact = m * n / (height * width);
            let whole = libm::ceil(libm::ceil(m / height) * libm::ceil(n / width) / units) * units;
            let tiles = wave * whole + (1.0 - wave) * exact;
            tiles * height * width * 2.0 * (k + self.efficiency.matmul_depth) / (rate.get() * share)
        };
        let tiled = TILES.into_iter().map(tiled).fold(f64::INFINITY, f64::min);
        let arithmetic = tiled * (1.0 + self.efficiency.misalignment * lacking(n, k));
        Work::roofline(arithmetic, (m * k + k * n + m * n) * bytes / self.memory.get())
    }

    /// Backward of the same product: the input's gradient and the weight's.
    pub(crate) fn product_backward(&self, m: f64, n: f64, k: f64, rate: FlopPerSecond, bytes: f64) -> Work {
        self.product(m, k, n, rate, bytes) + self.product(k, n, m, rate, bytes)
    }
}

/// Powers of two that the smaller alignment of two dimensions lacks to [`ALIGNED`].
fn lacking(n: f64, k: f64) -> f64 {
    let zeros = (n as u64 | k as u64).trailing_zeros().min(ALIGNED.trailing_zeros());
    f64::from(ALIGNED.trailing_zeros() - zeros)
}
