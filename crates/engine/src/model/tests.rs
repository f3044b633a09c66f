//! Parameters of shapes counted by hand.

use super::*;
use crate::testing;

/// 4 layers of width 128, two heads of 64: the MLP's width is 512.
fn plain() -> Model {
    testing::model(4, 128)
}

fn experts(dense_layers: Option<u32>) -> Experts {
    let (ffn_hidden, shared_ffn) = (Some(64), Some(32));
    Experts {
        count: 8,
        active: 2,
        ffn_hidden,
        shared_ffn,
        shared_gate: true,
        dense_layers,
        active_groups: None,
        every: None,
    }
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
    assert_eq!(sparse, 140_416);
    assert_eq!([0, 1, 3].map(|layer| model.mlp_parameters(model.kind(layer))), [dense, sparse, sparse]);
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
    let of = |size, chunked| {
        let window = Some(AttentionWindow { size, layers: Some(2), full_every: None, chunked });
        let model = Model { window, ..plain() };
        [0, 2].map(|layer| model.attended_width(model.kind(layer), 1000))
    };
    let close = |[window, full]: [f64; 2], share: f64| {
        assert!((window - 128.0 * share).abs() < 1e-9, "{window}");
        assert!((full - 128.0).abs() < 1e-9, "the layers behind see all of it");
    };
    // A quarter of the sequence: of 1000^2 / 2 pairs, 250 x 1000 - 250^2 / 2 are left, 0.4375 of them.
    close(of(250, false), 0.4375);
    // Four pieces of a sixteenth.
    close(of(250, true), 0.25);
    close(of(1000, false), 1.0);
    close(of(4096, true), 1.0);
    let half = Some(AttentionWindow { size: 250, layers: Some(2), full_every: None, chunked: false });
    // Two layers of each: 4 flop x 1000 x 128 x (2 + 2 x 0.4375).
    assert_eq!(Model { window: half, ..plain() }.attention_flop(1000), Flop::new(512_000.0 * 2.875));
}

#[test]
fn kinds_take_turns_where_a_file_says_so() {
    let window = Some(AttentionWindow { size: 64, layers: None, full_every: Some(3), chunked: false });
    let sparse = Some(Experts { every: Some(2), ..experts(Some(1)) });
    let model = Model { window, experts: sparse, ..testing::model(8, 128) };
    let letters = |layer| match model.kind(layer) {
        LayerKind { experts: false, window: true } => 'd',
        LayerKind { experts: false, window: false } => 'D',
        LayerKind { experts: true, window: true } => 'e',
        LayerKind { experts: true, window: false } => 'E',
    };
    // Of layers 1 to 7 each second has experts; layers 2 and 5 see everything.
    assert_eq!((0..8).map(letters).collect::<String>(), "ddEdeDed");
    let counts: Vec<u32> = model.kinds().map(|(_, count)| count).collect();
    assert_eq!((counts, model.kind_period()), (vec![1, 4, 1, 2], 6));
    assert_eq!(model.problems(), []);
    assert_eq!(plain().kinds().collect::<Vec<_>>(), [(LayerKind::default(), 4)]);
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
    let window = AttentionWindow { size: 0, layers: Some(5), full_every: None, chunked: false };
    assert_eq!(wrong(Model { window: Some(window), ..plain() }), ["window.size", "window.layers"]);
    let window = AttentionWindow { size: 1, layers: Some(2), full_every: Some(5), chunked: false };
    assert_eq!(wrong(Model { window: Some(window), ..plain() }), ["window.full_every", "window.full_every"]);
    let every = Experts { every: Some(4), ..experts(Some(1)) };
    assert_eq!(wrong(Model { experts: Some(every), ..plain() }), ["experts.every"]);
    let latent = LatentAttention { query: None, key_value: 1, rotary: 65, value_head: 1 };
    assert_eq!(wrong(Model { latent: Some(latent), ..plain() }), ["latent.rotary"]);
    let most = 1 << 24;
    let latent = LatentAttention { query: Some(most), key_value: most, rotary: 1, value_head: most };
    assert_eq!(wrong(Model { latent: Some(latent), heads: most, kv_heads: most, ..plain() }), ["layers"]);
}
