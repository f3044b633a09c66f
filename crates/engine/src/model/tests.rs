//! Parameters of shapes counted by hand.

use super::*;
use crate::testing;

/// 4 layers of width 128, two heads of 64: the MLP's width is 512.
fn plain() -> Model {
    testing::model(4, 128)
}

fn experts(dense_layers: Option<u32>) -> Experts {
    let (ffn_hidden, shared_ffn) = (Some(64), Some(32));
    Experts { count: 8, active: 2, ffn_hidden, shared_ffn, shared_gate: true, dense_layers }
}

#[test]
fn layers_without_experts_count_among_those_with_them() {
    let model = Model { experts: Some(experts(Some(1))), ..plain() };
    // An expert: 2 x 128 x 64 = 16,384; the shared one 8,192; router 8 x 128 and a gate of 128.
    let sparse = 8 * 16_384 + 8_192 + 1_152;
    // Without: 2 x 128 x 512. Attention is 4 x 128^2.
    let dense = 131_072;
    assert_eq!(model.parameters(), 4 * 65_536 + 3 * sparse + dense);
    assert_eq!(model.active_parameters(), model.parameters() - 3 * 6 * 16_384);
    assert_eq!(model.matrix_parameters(), 4 * 65_536 + 3 * (2 * 16_384 + 8_192) + dense);
    // The mean of 3 x 140,416 and 131,072 is 138,080.
    assert_eq!((sparse, model.mlp_parameters()), (140_416, 138_080));
    assert_eq!(model.problems(), []);
}

#[test]
fn latent_attention_has_narrow_matrices_and_norms() {
    let latent = LatentAttention { query: Some(32), key_value: 16, rotary: 8, value_head: 48 };
    let model = Model { latent: Some(latent), norm: Norm::RmsNorm, ..plain() };
    // Down 128 x (32 + 16 + 8), queries up 32 x 2 x 64, keys and values up 16 x 2 x (56 + 48), projection 96 x 128.
    let weights = 7_168 + 4_096 + 3_328 + 12_288;
    assert_eq!(model.attention_weights(), weights);
    // Norms: one of 128, and those of the narrow queries, and keys with values.
    assert_eq!(model.attention_parameters(), weights + 128 + 32 + 16);
    // Scores take 2 x 64 channels, values 2 x 48.
    assert_eq!(model.attention_flop(1000), Flop::new(2.0 * 4.0 * 1000.0 * (128.0 + 96.0)));
    let whole = Model { latent: Some(LatentAttention { query: None, ..latent }), ..model };
    assert_eq!(whole.attention_weights(), 128 * (128 + 16 + 8) + 3_328 + 12_288);
}

#[test]
fn a_window_leaves_out_what_its_layers_do_not_see() {
    let of = |size, layers, chunked| {
        let window = Some(AttentionWindow { size, layers, chunked });
        Model { window, ..plain() }.attended_width(1000)
    };
    // A quarter of the sequence: of 1000^2 / 2 pairs, 250 x 1000 - 250^2 / 2 are left, 0.4375 of them.
    assert!((of(250, 4, false) - 128.0 * 0.4375).abs() < 1e-9);
    assert!((of(250, 2, false) - 128.0 * (0.5 + 0.5 * 0.4375)).abs() < 1e-9, "in half of the layers");
    assert!((of(250, 4, true) - 128.0 * 0.25).abs() < 1e-9, "four pieces of a sixteenth");
    assert!([of(1000, 4, false), of(4096, 4, true)].iter().all(|width| (width - 128.0).abs() < 1e-9), "all of it");
}

#[test]
fn norms_and_biases_are_those_that_are_there() {
    let count = |model: Model| model.parameters() - plain().parameters();
    let normed = |norms| Model { norm: Norm::RmsNorm, norms, ..plain() };
    assert_eq!([1, 2, 4].map(|norms| count(normed(norms))), [4 * 128, 4 * 256, 4 * 512]);
    assert_eq!(count(Model { qk_norm: QkNorm::Head, ..plain() }), 4 * 2 * 64);
    assert_eq!(count(Model { qk_norm: QkNorm::Width, kv_heads: 2, ..plain() }), 4 * 2 * 128);
    let biases = |biases| count(Model { biases: Some(biases), ..plain() });
    assert_eq!(biases(Biases { qkv: true, ..Biases::default() }), 4 * 3 * 128);
    assert_eq!(biases(Biases { sinks: true, ..Biases::default() }), 4 * 2);
    assert_eq!(biases(Biases { mlp: true, ..Biases::default() }), 4 * (512 + 128));
}

#[test]
fn what_cannot_be_is_refused_at_its_field() {
    let wrong = |model: Model| model.problems().into_iter().map(|problem| problem.field).collect::<Vec<_>>();
    assert_eq!(wrong(Model { experts: Some(experts(Some(4))), ..plain() }), ["experts.dense_layers"]);
    let window = AttentionWindow { size: 0, layers: 5, chunked: false };
    assert_eq!(wrong(Model { window: Some(window), ..plain() }), ["window.size", "window.layers"]);
    let latent = LatentAttention { query: None, key_value: 1, rotary: 65, value_head: 1 };
    assert_eq!(wrong(Model { latent: Some(latent), ..plain() }), ["latent.rotary"]);
    let most = 1 << 24;
    let latent = LatentAttention { query: Some(most), key_value: most, rotary: 1, value_head: most };
    assert_eq!(wrong(Model { latent: Some(latent), heads: most, kv_heads: most, ..plain() }), ["layers"]);
}
