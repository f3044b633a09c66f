//! The rate of flash attention, by the size of its heads and the keys that a query meets. Not for how much it computes
//! ([`super::attention`]).
//!
//! A score takes `4 d` flop of matrix units in forward, `10 d` in backward, and one exponential of the special function units,
//! whose time softmax does not hide. The shares of the calibration are of 128 channels, which most models that were measured
//! have; heads of `d` channels take the exponentials of `1 / d - 1 / 128` scores more for each flop. An H100 does 256 flop in
//! the time of one: where 128 channels take 1 / 0.6 of the products' time at the peak, 64 take 256 / 4 (1/64 - 1/128) = 0.5 more, and
//! 256 take 0.25 less, 0.46 and 0.71 of the peak, and at 8,192 tokens 0.41 and 0.63 (measured: 0.46 and 0.68; on a B200, of
//! 512 flop, 64 channels 0.33 and 0.32).

use crate::model::LayerAttention;
use crate::stack::Attention;
use crate::units::Flop;

use super::attention::FLASH_BACKWARD;
use super::device_time::{DeviceTime, PassTimes};
use super::rates::Rates;

/// The share of the peak that the products alone reach: what is left of the measured rates of 64 to 256 channels on Hopper and
/// Blackwell when the time of exponentials is taken out. No heads are faster.
const PRODUCTS: f64 = 0.78;

/// Flop of forward for each score and channel: a product of queries by keys and one of scores by values.
const FORWARD_FLOP: f64 = 4.0;

/// The channels of a head that the shares of the calibration are of.
const USUAL_HEAD: f64 = 128.0;

/// The longest sequences of fused attention that the share of backward was fitted to.
const FITTED_SEQUENCE: f64 = 8192.0;

/// The share of forward's rate that backward comes to at long sequences. `cuDNN`: 516 of 595 TFLOP/s at 16,384 tokens on an H100
/// (FlashAttention-3, arXiv 2407.08608, heads of 128 channels).
const LONG_BACKWARD: f64 = 0.87;

/// The same of flash attention 2 on an A100: 63 of 73 % of the peak (arXiv 2307.08691, section 4.1). On later devices, for which
/// it was not written, measured steps of up to 65,536 tokens are no faster than its share at short sequences says; none is known
/// of the first version.
const LONG_BACKWARD_2: f64 = 0.86;

/// The architecture that flash attention 2 was written for.
const WRITTEN_FOR: &str = "ampere";

impl Rates<'_> {
    /// Forward and backward of flash attention, whose products over whole scores are so many flop.
    pub(super) fn flash(&self, attention: &LayerAttention<'_>, version: usize, products: Flop) -> PassTimes {
        // Blocks of scores above the diagonal are skipped.
        let causal = if self.scenario.model.causal { 0.5 } else { 1.0 };
        let (share, backward) = (self.calibrated.efficiency.attention_flash[version], self.backward_share());
        let usual = products * causal / (self.peak_storage * share * self.ramp_of_keys(attention));
        let first = usual * self.longer_by_heads(attention, FORWARD_FLOP, share);
        // Scores are computed again from queries and keys, which is the fifth product.
        let longer = self.longer_by_heads(attention, FORWARD_FLOP * FLASH_BACKWARD, share * backward);
        let second = FLASH_BACKWARD * usual / backward * longer;
        PassTimes::of_inputs(DeviceTime::arithmetic(first), DeviceTime::arithmetic(second))
    }

    /// The rate over that of a query that meets all the keys there could be: the kernel costs it as much time as
    /// `attention_half_sequence / 2` more keys do, for blocks that it fills in part. Of a causal sequence of `s` tokens it meets
    /// `s / 2`, so that the rate is `s / (s + half)`; of a window `w`, which costs as `w + 500` keys at a half of 1,000 (`w +
    /// 450` measured on H100 and B200). Ranks that pass keys around fill the blocks of the keys of other ranks in whole.
    fn ramp_of_keys(&self, attention: &LayerAttention<'_>) -> f64 {
        let sequence = self.scenario.plan.attended_sequence();
        let attended = attention.window.map_or(1.0, |_| attention.attended(sequence));
        let keys = f64::from(sequence) * attended;
        keys / (keys + self.calibrated.efficiency.attention_half_sequence)
    }

    /// How much longer a pass of so many flop for each score and channel takes with attention's heads, where usual
    /// ones reach a share of the peak. Kernels that take no time to begin are ideal, and hide all exponentials; the first
    /// version, slower by half, has not shown its; sparse attention, whose heads share compressed keys, is taken as usual.
    fn longer_by_heads(&self, attention: &LayerAttention<'_>, flop: f64, share: f64) -> f64 {
        let Some(exponential) = self.scenario.cluster.device.flop_per_exponential else { return 1.0 };
        let ideal = self.calibrated.efficiency.attention_half_sequence <= 0.0;
        if ideal || self.attention == Attention::Flash1 || attention.indexer.is_some() {
            return 1.0;
        }
        let channels = f64::midpoint(f64::from(attention.heads.size), f64::from(attention.heads.value));
        let more = exponential / flop * (1.0 / channels - 1.0 / USUAL_HEAD);
        (1.0 + share * more).max(share / PRODUCTS)
    }

    /// The rate of flash attention's backward over that of forward. Where sequences are longer than any that it was fitted to,
    /// what a kernel lacks of its share at long ones falls with the sequence: of cuDNN's (0.87 - 0.588) 8192 / 65,536 leave
    /// 0.835.
    fn backward_share(&self) -> f64 {
        let fitted = self.calibrated.efficiency.attention_backward;
        let sequence = f64::from(self.scenario.plan.attended_sequence());
        let long = match self.attention {
            Attention::Flash3 => LONG_BACKWARD,
            Attention::Flash2 if self.scenario.cluster.device.architecture == WRITTEN_FOR => LONG_BACKWARD_2,
            _ => return fitted,
        };
        if sequence <= FITTED_SEQUENCE {
            return fitted;
        }
        fitted.max(long - (long - fitted) * FITTED_SEQUENCE / sequence)
    }
}
