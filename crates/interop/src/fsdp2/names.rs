//! Module paths of a model, as torchtitan and Hugging Face name them.

use shardscope_engine::plan::Operator;

/// The library that names the modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// torchtitan's Llama.
    Torchtitan,
    /// Hugging Face's `LlamaForCausalLM`, and most other decoders.
    HuggingFace,
}

impl Names {
    /// The path of a transformer block.
    pub const fn layer(self) -> &'static str {
        match self {
            Self::Torchtitan => "layers.{layer}",
            Self::HuggingFace => "model.layers.{layer}",
        }
    }

    /// The path of an operator.
    pub fn path(self, operator: Operator) -> String {
        let [attention, mlp, embedding, head] = match self {
            Self::Torchtitan => ["attention", "feed_forward", "tok_embeddings", "output"],
            Self::HuggingFace => ["self_attn", "mlp", "model.embed_tokens", "lm_head"],
        };
        let layer = self.layer();
        match operator {
            Operator::Attention => format!("{layer}.{attention}"),
            Operator::Mlp => format!("{layer}.{mlp}"),
            Operator::Embedding => embedding.to_owned(),
            Operator::Head => head.to_owned(),
            Operator::Layer | Operator::All => layer.to_owned(),
        }
    }
}
