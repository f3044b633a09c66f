//! The router of a layer's experts: the product of its scores, and what chooses experts by them. Not for the way of tokens to
//! these ([`super::experts`]).

use crate::model::LayerKind;
use crate::plan::Format;
use crate::scenario::Differentiated;
use crate::units::{Bytes, FlopPerSecond};

use super::device_time::{DeviceTime, PassTimes};
use super::matmul::MatrixProduct;
use super::rates::Rates;

/// Times that scores are read or written in forward: by softmax or sigmoid, in and out; by the choice of experts, in, and out
/// as a map of all; by the auxiliary loss, in (Megatron-LM, `megatron/core/transformer/moe/router.py`, `TopKRouter`).
const SCORE_PASSES: f64 = 5.0;

/// Bytes of a score: routing computes in fp32 whatever the product puts out.
const SCORE: Bytes = Bytes::new(Format::Fp32.bytes());

/// Peak of fp32 factors over that of 16 bits: matrix units multiply them as TF32, at half the rate (`CUBLAS_COMPUTE_32F_FAST_TF32`
/// in `TransformerEngine`, `transformer_engine/common/gemm/cublaslt_gemm.cu`).
const TF32: f64 = 0.5;

impl Rates<'_> {
    /// Scores of each token for each expert, if layers of a kind have a router: `tokens x hidden` by `hidden x experts`. With
    /// sequence parallelism each tensor rank has a part of the tokens.
    pub(super) fn router_product(&self, kind: LayerKind) -> Option<MatrixProduct> {
        let experts = self.scenario.model.experts_in(kind)?;
        let tokens = self.tokens() / f64::from(self.sequence_ranks());
        Some(MatrixProduct::new(tokens, experts.count.into(), self.scenario.model.hidden.into()))
    }

    /// Forward and backward of that product. Where scores are in fp32, forward multiplies factors of 16 bits all the same, and
    /// backward casts both (Megatron-LM, `moe_utils.py`, `RouterGatingLinearFunction`).
    pub(super) fn router_scores(&self, of: Differentiated, product: MatrixProduct) -> PassTimes {
        let format = self.scenario.stack.router_format.unwrap_or_else(|| self.scenario.plan.precision.storage());
        let wide = Bytes::new(format.bytes()) > self.storage();
        let (rate, element): (FlopPerSecond, Bytes) = if wide {
            (self.matmul_storage * TF32, Bytes::new(format.bytes()))
        } else {
            (self.matmul_storage, self.storage())
        };
        let forward = self.product(product, self.matmul_storage, self.storage());
        let inputs = || self.product(product.input_gradient(), rate, element);
        match of {
            Differentiated::Nothing => PassTimes::of_inputs(forward, DeviceTime::default()),
            Differentiated::Inputs => PassTimes::of_inputs(forward, inputs()),
            Differentiated::All => {
                let weights = self.product(product.weight_gradient(), rate, element);
                PassTimes { forward, backward: inputs() + weights, weights }
            }
        }
    }

    /// Forward of what chooses experts by their scores.
    pub(super) fn router_choice(&self, scores: MatrixProduct) -> DeviceTime {
        let scores = scores.m * scores.n.get();
        DeviceTime::traffic(scores * (SCORE_PASSES * self.calibrated.element_wise) * SCORE / self.memory)
    }
}
