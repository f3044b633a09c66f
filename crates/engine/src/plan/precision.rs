//! Number formats of training: what is kept, what is multiplied and what travels. No costs.

use super::Format;
use super::choice::choice;
use crate::hardware::Peaks;

choice!(
    /// The formats of a training run. Below 16 bits only the products of linear layers are: attention, router, norms,
    /// embedding and logits stay in bf16 (NVIDIA/TransformerEngine, docs, "Introduction to low precision training").
    Precision, "a precision" {
        /// bf16 weights, gradients and arithmetic; fp32 master weights.
        Bf16 = "bf16",
        /// fp16 weights, gradients and arithmetic; fp32 master weights.
        Fp16 = "fp16",
        /// bf16 weights and gradients, fp8 arithmetic in the layers' matrix products, scaled as the stack does it; fp32
        /// master weights.
        Fp8 = "fp8",
        /// fp8 scaled by the greatest values of earlier steps: one scale for a tensor.
        Fp8Delayed = "fp8-delayed",
        /// fp8 scaled by the greatest value of the tensor at hand.
        Fp8Current = "fp8-current",
        /// fp8 in blocks, 1 x 128 of activations and 128 x 128 of weights, with fp32 scales: DeepSeek-V3's.
        Fp8Block = "fp8-block",
        /// fp8 in blocks of 32 that the matrix units scale, one byte each.
        Mxfp8 = "mxfp8",
        /// fp4 in blocks of 16 that the matrix units scale, one byte each, and an fp32 scale for a tensor.
        Nvfp4 = "nvfp4",
        /// fp32 throughout, no master weights.
        Fp32 = "fp32",
    }
);

/// The numbers that a linear layer multiplies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NumberFormat {
    /// Format that the matrix units multiply, in which casts are kept.
    pub arithmetic: Format,
    /// How many numbers share a scale; absent where a whole tensor does, or where none is needed.
    pub block: Option<Block>,
}

/// Numbers that share a scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Block {
    /// Bytes of the scale.
    pub scale: f64,
    /// Numbers of an activation that share one.
    pub activations: f64,
    /// Numbers of a weight that share one.
    pub weights: f64,
}

impl NumberFormat {
    const fn without_blocks(arithmetic: Format) -> Self {
        Self { arithmetic, block: None }
    }

    const fn in_blocks(arithmetic: Format, block: Block) -> Self {
        Self { arithmetic, block: Some(block) }
    }

    /// Bytes of an activation, its part of a scale included.
    pub fn activation(&self) -> f64 {
        self.arithmetic.bytes() + self.block.map_or(0.0, |block| block.scale / block.activations)
    }

    /// Bytes of a weight, its part of a scale included.
    pub fn weight(&self) -> f64 {
        self.arithmetic.bytes() + self.block.map_or(0.0, |block| block.scale / block.weights)
    }
}

impl Precision {
    /// The default precision of a device: bf16, or fp16 where it has no bf16.
    pub const fn usual(peak: &Peaks) -> Self {
        match (peak.bf16, peak.fp16) {
            (Some(_), _) => Self::Bf16,
            (None, Some(_)) => Self::Fp16,
            (None, None) => Self::Fp32,
        }
    }

    /// Format of weights and activations in memory.
    pub const fn storage(self) -> Format {
        match self {
            Self::Fp16 => Format::Fp16,
            Self::Fp32 => Format::Fp32,
            _ => Format::Bf16,
        }
    }

    /// Whether linear layers multiply numbers of fewer than 16 bits.
    pub const fn is_low(self) -> bool {
        !matches!(self, Self::Bf16 | Self::Fp16 | Self::Fp32)
    }

    /// The numbers that linear layers multiply: blocks as in TransformerEngine's documentation of each recipe, MXFP8's as
    /// in the OCP's Microscaling Formats. The fp32 scale of a whole tensor is left out.
    pub const fn linear(self) -> NumberFormat {
        match self {
            Self::Bf16 | Self::Fp16 | Self::Fp32 => NumberFormat::without_blocks(self.storage()),
            Self::Fp8 | Self::Fp8Delayed | Self::Fp8Current => NumberFormat::without_blocks(Format::Fp8),
            Self::Fp8Block => {
                NumberFormat::in_blocks(Format::Fp8, Block { scale: 4.0, activations: 128.0, weights: 128.0 * 128.0 })
            }
            Self::Mxfp8 => NumberFormat::in_blocks(Format::Fp8, Block { scale: 1.0, activations: 32.0, weights: 32.0 }),
            Self::Nvfp4 => {
                NumberFormat::in_blocks(Format::Fp4, Block { scale: 1.0, activations: 16.0, weights: 16.0 * 16.0 })
            }
        }
    }

    /// Whether a device has matrix units for it.
    pub const fn runs_on(self, peak: &Peaks) -> bool {
        match self {
            Self::Fp32 => true,
            Self::Fp16 => peak.fp16.is_some(),
            Self::Bf16 => peak.bf16.is_some(),
            Self::Mxfp8 => peak.bf16.is_some() && peak.fp8.is_some() && peak.scale_blocks(),
            Self::Nvfp4 => peak.bf16.is_some() && peak.fp4.is_some(),
            _ => peak.bf16.is_some() && peak.fp8.is_some(),
        }
    }

    /// The meaning of a 16-bit format on the wire: the format in memory, so that fp32 training sends fp32.
    pub const fn wire(self, format: Format) -> Format {
        match format {
            Format::Bf16 | Format::Fp16 => self.storage(),
            Format::Fp32 | Format::Fp8 | Format::Fp4 | Format::Int8 | Format::Int4 => format,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TransformerEngine's recipes: 1 + 4/128 B in blocks of 128, 1 + 1/32 of 32, 0.5 + 1/16 of 16.
    #[test]
    fn scales_count_with_the_numbers_that_share_them() {
        for (precision, activation, weight) in [
            (Precision::Bf16, 2.0, 2.0),
            (Precision::Fp8Delayed, 1.0, 1.0),
            (Precision::Fp8Block, 1.031_25, 1.000_244_140_625),
            (Precision::Mxfp8, 1.031_25, 1.031_25),
            (Precision::Nvfp4, 0.5625, 0.503_906_25),
        ] {
            let format = precision.linear();
            assert_eq!((format.activation(), format.weight()), (activation, weight), "{precision}");
        }
    }
}
