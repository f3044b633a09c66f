//! What context ranks send one another in a layer, for each kind of context parallelism. Not for how long attention itself
//! takes ([`super::attention`]).
//!
//! Llama 3.1 8B at 65,536 tokens on 8 ranks, in bf16: keys and values of a layer are `65,536 x 2,048` numbers, 268 MB, of which
//! a rank receives 7/8 in forward and twice that in backward: `3 x 32 x 235 = 22,549 MB`. Heads are exchanged for `8,192 x
//! (4,096 + 2 x 1,024 + 4,096)` numbers a rank, 168 MB, 7/8 in each direction: `2 x 32 x 147 = 9,395 MB`.

use std::ops::Add;

use crate::model::Mixer;
use crate::plan::ContextMesh;
use crate::plan::pass::PerDirection;
use crate::scenario::Layout;
use crate::units::{Bytes, Count};

use super::collective::{Payload, Transfer};
use super::rates::Rates;

/// The exchanges of one layer's mixer between context ranks, for each micro-batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct ContextTransfers {
    /// Those that the mixer waits for, and those behind it.
    pub around: PerDirection<Transfer>,
    /// Those that run beside it.
    pub beside: PerDirection<Transfer>,
    /// Whether those around it gather, and do not exchange heads.
    pub gathers: bool,
}

/// Numbers of a token that attention exchanges between ranks, of one tensor rank.
struct ExchangedWidths {
    queries: f64,
    keys: f64,
    values: f64,
    output: f64,
}

impl Rates<'_> {
    /// The exchanges of a layer with a mixer. Backward passes keys and values around or gathers them once more, and their
    /// gradients with them (arXiv 2310.01889; `AttnFuncWithCPAndKVAllGather.backward` of `TransformerEngine`); heads go to
    /// their ranks and back in both directions.
    pub(crate) fn context_transfers(&self, mixer: Mixer, layout: &Layout) -> ContextTransfers {
        match mixer {
            _ if layout.context == 1 => ContextTransfers::default(),
            Mixer::None => ContextTransfers::default(),
            Mixer::Recurrent => {
                let around = PerDirection::both(self.heads_exchange(layout));
                ContextTransfers { around, ..ContextTransfers::default() }
            }
            Mixer::Attention | Mixer::Window => self.attention_exchanges(mixer, layout),
        }
    }

    fn attention_exchanges(&self, mixer: Mixer, layout: &Layout) -> ContextTransfers {
        let (mesh, storage) = (self.scenario.context_mesh(), self.scenario.plan.precision.storage());
        let ContextMesh { heads, others, gathers, .. } = mesh;
        let keys = if others > 1 {
            let numbers = self.tokens() * self.passed_width(mixer, heads) * f64::from(layout.context);
            let (payload, group) = (Payload::plain(numbers, storage), layout.context_others(heads));
            if gathers { self.gather(payload, group) } else { self.pass_around(payload, group) }
        } else {
            Transfer::default()
        };
        let passed = PerDirection { forward: keys, backward: keys + keys };
        if gathers {
            return ContextTransfers { around: passed, beside: PerDirection::default(), gathers };
        }
        let exchange = |width: f64| {
            self.all_to_all(Payload::plain(self.tokens() * width, storage), layout.context_heads(heads), false)
        };
        let ExchangedWidths { queries, keys, values, output } = self.exchanged_widths(mixer, heads);
        let around = if heads > 1 {
            [queries, keys, values, output].into_iter().map(exchange).fold(Transfer::default(), Transfer::add)
        } else {
            Transfer::default()
        };
        ContextTransfers { around: PerDirection::both(around), beside: passed, gathers }
    }

    /// Numbers of a token in the keys and values that a rank passes on, where so many ranks share heads. Compressed ones are
    /// the same for all heads, as an indexer's keys are.
    fn passed_width(&self, mixer: Mixer, heads: u32) -> f64 {
        let Some(attention) = self.scenario.model.attention(mixer) else { return 0.0 };
        let compressed = attention
            .indexer
            .map(|(indexer, latent)| f64::from(latent.key_value) + f64::from(latent.rotary) + f64::from(indexer.head));
        let of_heads = || {
            let own = attention.kv_width() as f64 / f64::from(self.scenario.plan.tensor);
            if heads == 1 { own } else { self.exchanged_widths(mixer, heads).passed() / f64::from(heads) }
        };
        compressed.unwrap_or_else(of_heads)
    }

    /// The widths that ranks exchange which share heads. Keys and values are repeated for each of as many ranks as have no
    /// head of their own (`UlyssesSPAttentionHF` of `deepspeed/runtime/sequence_parallel/ulysses_sp.py`), or, where the stack
    /// repeats them before attention, for every head of queries. Latent attention exchanges what it has expanded.
    fn exchanged_widths(&self, mixer: Mixer, ranks: u32) -> ExchangedWidths {
        let (own, tensor) = (self.scenario.model.heads(mixer), self.scenario.plan.tensor);
        let divided = |width: u64| width as f64 / f64::from(tensor);
        let keys = self.scenario.exchanged_keys(mixer, ranks);
        ExchangedWidths {
            queries: divided(own.query_width()),
            keys: f64::from(keys) * f64::from(own.size),
            values: f64::from(keys) * f64::from(own.value),
            output: divided(own.value_width()),
        }
    }

    /// Bytes that attention of a layer with a mixer keeps for backward beside those of a rank on its own: the output before
    /// its heads went back, and keys and values that ranks have more than once.
    pub(super) fn exchanged_bytes(&self, mixer: Mixer) -> Bytes {
        let heads = self.scenario.context_mesh().heads;
        if heads == 1 {
            return Bytes::ZERO;
        }
        let [one, more] = [1, heads].map(|ranks| self.exchanged_widths(mixer, ranks));
        self.tokens() * (more.output + more.passed() - one.passed()) * self.storage()
    }

    /// Bytes of the other ranks' keys and values, and of their gradients, while attention of a layer with a mixer has them
    /// gathered.
    pub(super) fn gathered_bytes(&self, mixer: Mixer) -> Bytes {
        let ContextMesh { others, gathers, .. } = self.scenario.context_mesh();
        if !gathers || others == 1 {
            return Bytes::ZERO;
        }
        let of_others: Count = self.tokens() * (self.passed_width(mixer, 1) * f64::from(others - 1));
        of_others * (2.0 * self.storage())
    }
}

impl ExchangedWidths {
    /// Numbers of keys and values together.
    const fn passed(&self) -> f64 {
        self.keys + self.values
    }
}
