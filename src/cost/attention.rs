//! The attention core: scores, softmax and values, by kernel.

use crate::stack::Attention;

use super::layer::Work;
use super::rates::Rates;

/// Flop of flash attention's backward over its forward's: five products instead of two.
const FLASH_BACKWARD: f64 = 2.5;

/// Share of an unfused softmax's traffic that one fused kernel for scale, mask and softmax leaves:
/// the plain kernel reads and writes the scores once more for each of the three.
const FUSED_TRAFFIC: f64 = 0.6;

/// Head sizes that tensor units take in whole: multiples of 16 bytes (NVIDIA, matrix multiplication
/// background user's guide).
const ALIGNED_HEAD: u32 = 8;

impl Rates<'_> {
    /// Forward and backward of one layer's attention core for `sequences` sequences.
    ///
    /// Flash: `2 x sequences x s^2/cp x width / tp` flop (the causal half; twice that otherwise) at
    /// the kernel's share of the peak, which falls off below the half-rate sequence length.
    /// Plain: both products over the full square, slower for heads of an odd size, and a number of bytes per
    /// score.
    pub(crate) fn attention(&self, sequences: f64) -> (Work, Work) {
        let (model, plan) = (&self.scenario.model, &self.scenario.plan);
        let sequence = f64::from(plan.sequence);
        let rows = sequences * sequence / f64::from(plan.context);
        let width = model.attention_width() as f64 / f64::from(plan.tensor);
        let products = 4.0 * rows * sequence * width;
        let (forward, backward) = match flash_version(self.attention) {
            Some(version) => self.flash(version, products),
            None => self.plain(rows, products),
        };
        let imbalance = self.imbalance();
        (forward * imbalance, backward * imbalance)
    }

    fn flash(&self, version: usize, products: f64) -> (Work, Work) {
        let efficiency = self.efficiency;
        let sequence = f64::from(self.scenario.plan.sequence);
        let ramp = sequence / (sequence + efficiency.attention_half_sequence);
        let causal = if self.scenario.model.causal { 0.5 } else { 1.0 };
        let rate = self.peak_storage.get() * efficiency.attention_flash[version] * ramp;
        let forward = products * causal / rate;
        let backward = FLASH_BACKWARD * forward / efficiency.attention_backward;
        (Work::arithmetic(forward), Work::arithmetic(backward))
    }

    fn plain(&self, rows: f64, products: f64) -> (Work, Work) {
        let plan = &self.scenario.plan;
        let scores = rows * f64::from(plan.sequence) * f64::from(self.scenario.model.heads) / f64::from(plan.tensor);
        let fused = if self.attention == Attention::FusedSoftmax { FUSED_TRAFFIC } else { 1.0 };
        let traffic = scores * self.efficiency.attention_score_bytes * fused / self.memory.get();
        let aligned = self.scenario.model.head_size.is_multiple_of(ALIGNED_HEAD);
        let slower = if aligned { 1.0 } else { self.efficiency.attention_misaligned };
        let arithmetic = slower * products / (self.peak_storage.get() * self.efficiency.attention_plain);
        let traffic = Work::traffic(traffic);
        (Work::arithmetic(arithmetic) + traffic, Work::arithmetic(2.0 * arithmetic) + traffic)
    }

    /// How much longer the slowest context rank takes than the average: under a causal mask with
    /// contiguous pieces the last of `n` ranks computes `n - 1/2` blocks where the average is `n / 2`.
    fn imbalance(&self) -> f64 {
        let ranks = f64::from(self.scenario.plan.context);
        let causal_flash = self.scenario.model.causal && self.attention.flash();
        if self.scenario.stack.balanced_context || !causal_flash { 1.0 } else { (2.0 * ranks - 1.0) / ranks }
    }
}

fn flash_version(attention: Attention) -> Option<usize> {
    match attention {
        Attention::Plain | Attention::FusedSoftmax => None,
        Attention::Flash1 => Some(0),
        Attention::Flash2 => Some(1),
        Attention::Flash3 => Some(2),
    }
}
