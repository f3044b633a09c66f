//! Problems of a model's file. Not for its types, which reading checks.

use super::{FieldProblem, Heads, LatentAttention, LayerKind, LayerPattern, Mixer, Model, Recurrence};
use crate::problem::Problem;

/// The most layers that a model may have: a hundred times as many as any has.
const MOST_LAYERS: u32 = 1 << 14;

/// The most that a width or a count may be.
const MOST: u32 = 1 << 24;

/// The most norms of a layer: two around attention and five around an MLP beside experts.
const MOST_NORMS: u32 = 7;

/// The most weights that a model's layers may have: far above any, far below an overflow.
const MOST_WEIGHTS: f64 = 1e17;

impl Model {
    /// Everything that is wrong with it.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut refuse = |field: &str, wrong: bool, fix: String| {
            found.extend(wrong.then(|| Problem::must(field, fix)));
        };
        refuse("layers", self.layers == 0, "must be at least 1".to_owned());
        refuse("layers", self.layers > MOST_LAYERS, format!("must be at most {MOST_LAYERS}"));
        for (field, value) in self.sizes() {
            refuse(field, value == 0, "must be at least 1".to_owned());
            refuse(field, value > MOST, format!("must be at most {MOST}"));
        }
        refuse("vocab", self.vocab > MOST, format!("must be at most {MOST}"));
        let wrong = self.activation_limit.is_some_and(|limit| !limit.is_finite() || limit <= 0.0);
        refuse("activation_limit", wrong, "must be more than 0".to_owned());
        refuse("norms", self.norms > MOST_NORMS, format!("must be at most {MOST_NORMS}"));
        let weights = self.most_weights();
        refuse("layers", weights > MOST_WEIGHTS, format!("must make at most {MOST_WEIGHTS:e} weights with the widths"));
        for (field, wrong, fix) in self.head_problems() {
            refuse(field, wrong, fix);
        }
        if self.indexer.is_some() {
            let other = self.latent.is_none() || self.window.is_some() || self.delta_net.is_some();
            refuse("indexer", other, "must stand beside latent, and without window and delta_net".to_owned());
            refuse("indexer", !self.causal, "must not stand beside causal = false".to_owned());
        }
        if let Some(window) = self.window {
            let wrong = window.layers.is_some_and(|layers| layers == 0 || layers > self.layers);
            refuse("window.layers", wrong, format!("must be between 1 and the {} layers", self.layers));
            // Each sees some layers without a window: together they would not say which.
            let both = window.layers.is_some() && window.full_every.is_some();
            refuse("window.full_every", both, "must not stand beside window.layers".to_owned());
            let wrong = window.full_every.is_some_and(|every| every < 2 || every > self.layers);
            refuse("window.full_every", wrong, format!("must be between 2 and the {} layers", self.layers));
            let wrong = window.full_leads && window.full_every.is_none();
            refuse("window.full_leads", wrong, "must stand beside window.full_every".to_owned());
        }
        // Latent attention computes its queries from a compressed vector: no source says from what it would compute a gate.
        let both = self.output_gate && self.latent.is_some();
        refuse("output_gate", both, "must not stand beside latent".to_owned());
        refuse(
            "delta_net",
            self.delta_net.is_some() && self.window.is_some(),
            "must not stand beside window".to_owned(),
        );
        for (field, described) in self.described_recurrences() {
            for (field, wrong, fix) in described.map_or_else(Vec::new, |described| described.problems(self.layers)) {
                refuse(field, wrong, fix);
            }
            let both = described.is_some() && !self.causal;
            refuse(field, both, "must not stand beside causal = false".to_owned());
        }
        let missing = self.pattern.as_ref().is_some_and(LayerPattern::has_recurrence) != self.mamba.is_some();
        refuse("mamba", missing, "must stand where a pattern has the letter M, and only there".to_owned());
        if let Some(pattern) = &self.pattern {
            let missing = pattern.has(LayerKind::has_experts) != self.experts.is_some();
            refuse("experts", missing, "must stand where the pattern has the letter E, and only there".to_owned());
            let beside = self.window.is_some() || self.delta_net.is_some() || self.latent.is_some();
            refuse("pattern", beside, "must not stand beside window, delta_net or latent".to_owned());
            let twice = self.experts.is_some_and(|experts| experts.every.or(experts.dense_layers).is_some());
            refuse("pattern", twice, "must not stand beside experts.every or experts.dense_layers".to_owned());
        }
        if let Some(experts) = self.experts {
            let wrong = experts.active == 0 || experts.active > experts.count;
            refuse("experts.active", wrong, format!("must be between 1 and the {} experts", experts.count));
            let (count, groups) = (experts.count, experts.groups.unwrap_or(1));
            let wrong = groups == 0 || !count.is_multiple_of(groups);
            refuse("experts.groups", wrong, format!("must divide the {count} experts"));
            let groups = experts.groups.unwrap_or(count);
            let wrong = experts.active_groups.is_some_and(|active| active == 0 || active > groups);
            refuse("experts.active_groups", wrong, format!("must be between 1 and {groups}"));
            let wrong = experts.dense_layers.is_some_and(|dense| dense >= self.layers);
            refuse("experts.dense_layers", wrong, format!("must be fewer than the {} layers", self.layers));
            let left = self.layers.saturating_sub(experts.dense_layers.unwrap_or(0));
            let wrong = experts.every.is_some_and(|every| every == 0 || every > left);
            refuse("experts.every", wrong, format!("must be between 1 and the {left} layers that are not dense"));
        }
        found
    }

    /// What is wrong with the heads of attention: of each field whether it is, and what it must be.
    fn head_problems(&self) -> [FieldProblem; 6] {
        let uneven = |Heads { queries, keys, .. }: Heads| keys > 0 && !queries.is_multiple_of(keys);
        let [full, windows] = [Mixer::Attention, Mixer::Window].map(|mixer| self.heads(mixer));
        let fix = |heads: Heads| format!("must divide the {} heads", heads.queries);
        let own = self.value_head.is_some() || self.values_are_keys || windows != full;
        let rotary = self.latent.is_some_and(|latent| latent.rotary > self.head_size);
        let both = |other: &str| format!("must not stand beside {other}");
        [
            ("kv_heads", uneven(full), fix(full)),
            ("window.kv_heads", windows != full && uneven(windows), fix(windows)),
            ("latent.rotary", rotary, format!("must be at most the head_size of {}", self.head_size)),
            ("latent", self.latent.is_some() && own, both("value_head, values_are_keys or heads of a window")),
            ("values_are_keys", self.values_are_keys && self.value_head.is_some(), both("value_head")),
            ("values_are_keys", self.values_are_keys && self.output_gate, both("output_gate")),
        ]
    }

    /// The fields that count something of which there must be one.
    fn sizes(&self) -> Vec<(&'static str, u32)> {
        let mut counts = vec![
            ("hidden", self.hidden),
            ("heads", self.heads),
            ("kv_heads", self.kv_heads),
            ("head_size", self.head_size),
            ("ffn_hidden", self.ffn_hidden),
            ("sequence", self.sequence),
        ];
        counts.extend(self.position_rows.map(|rows| ("position_rows", rows)));
        counts.extend(self.value_head.map(|size| ("value_head", size)));
        if let Some(window) = self.window {
            counts.push(("window.size", window.size));
            counts.extend(window.heads.map(|heads| ("window.heads", heads)));
            counts.extend(window.kv_heads.map(|heads| ("window.kv_heads", heads)));
            counts.extend(window.head_size.map(|size| ("window.head_size", size)));
            counts.extend(window.value_head.map(|size| ("window.value_head", size)));
        }
        let recurrences = self.described_recurrences().into_iter().filter_map(|(_, described)| described);
        counts.extend(recurrences.flat_map(Recurrence::sizes));
        if let Some(experts) = self.experts {
            counts.push(("experts.count", experts.count));
            counts.extend(experts.ffn_hidden.map(|width| ("experts.ffn_hidden", width)));
            counts.extend(experts.latent.map(|width| ("experts.latent", width)));
            counts.extend(experts.shared_ffn.map(|width| ("experts.shared_ffn", width)));
        }
        if let Some(indexer) = self.indexer {
            counts.push(("indexer.heads", indexer.heads));
            counts.push(("indexer.head", indexer.head));
            counts.push(("indexer.top_k", indexer.top_k));
        }
        if let Some(latent) = self.latent {
            counts.extend(latent.query.map(|width| ("latent.query", width)));
            counts.push(("latent.key_value", latent.key_value));
            counts.push(("latent.value_head", latent.value_head));
        }
        counts
    }

    /// At least as many weights as the layers have, in numbers that cannot overflow.
    fn most_weights(&self) -> f64 {
        let [full, windows] = [Mixer::Attention, Mixer::Window].map(|mixer| self.heads(mixer));
        let most = |of: fn(Heads) -> u32| f64::from(of(full).max(of(windows)));
        let (heads, kv_heads) = (most(|heads| heads.queries), most(|heads| heads.keys));
        let [layers, hidden] = [self.layers, self.hidden].map(f64::from);
        let (mut head, mut narrow) = (most(|heads| heads.size.max(heads.value)), hidden);
        if let Some(LatentAttention { query, key_value, rotary, value_head }) = self.latent {
            head = head.max(f64::from(value_head));
            narrow += f64::from(query.unwrap_or(0)) + f64::from(key_value) + f64::from(rotary);
        }
        let gates = if self.output_gate { heads } else { 0.0 };
        let attention = narrow * ((2.0 * (heads + kv_heads) + gates) * head + narrow);
        let indexer = self.indexer.map_or(0.0, |indexer| {
            let [heads, head] = [indexer.heads, indexer.head].map(f64::from);
            (narrow + 2.0) * (heads * head + heads + head)
        });
        let recurrences = self
            .described_recurrences()
            .map(|(_, described)| described.map_or(0.0, |described| described.most_weights(hidden)));
        let experts = self.experts.map_or(0.0, |experts| {
            let own = experts.ffn_hidden.unwrap_or(self.ffn_hidden);
            let beside = f64::from(experts.shared_ffn.unwrap_or(0)) + f64::from(experts.latent.unwrap_or(0));
            let narrow = experts.latent.map_or(1.0, |latent| (f64::from(latent) / hidden.max(1.0)).max(1.0));
            f64::from(experts.count) * f64::from(own) * narrow + beside
        });
        let attention = if self.latent.is_some() { attention } else { attention - narrow * narrow };
        (layers + f64::from(self.mtp_layers))
            * (attention
                + indexer
                + recurrences.iter().sum::<f64>()
                + 3.0 * hidden * (f64::from(self.ffn_hidden) + experts))
    }
}
