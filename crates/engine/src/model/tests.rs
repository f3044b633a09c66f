//! Parameters of shapes counted by hand.

use super::*;
use crate::presets::Library;
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
        groups: None,
        active_groups: None,
        latent: None,
        every: None,
    }
}

/// DeepSeek-V3 has 3 dense layers before 58 with experts, Llama 4 Maverick has them in every second layer; layers that have
/// them at no regular distance have no such two numbers.
#[test]
fn places_of_experts_are_two_numbers() {
    let runs = |runs: &[(bool, usize)]| runs.iter().flat_map(|(with, count)| vec![*with; *count]).collect::<Vec<_>>();
    assert_eq!(Experts::dense_and_every(&runs(&[(false, 3), (true, 58)])), Some((3, 1)));
    assert_eq!(Experts::dense_and_every(&[false, true, false, true]), Some((0, 2)));
    assert_eq!(Experts::dense_and_every(&[false, false, true, false, true]), Some((1, 2)));
    assert_eq!(Experts::dense_and_every(&[true; 4]), Some((0, 1)));
    assert_eq!(Experts::dense_and_every(&[false; 4]), Some((4, 1)));
    assert_eq!(Experts::dense_and_every(&[true, false, true]), None);
    assert_eq!(Experts::dense_and_every(&[false, true, true, false]), None);
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
    let of_mlp = |kind| {
        [LayerPart::Plain, LayerPart::Routed].map(|part| model.part_parameters(kind, part).all).into_iter().sum::<u64>()
    };
    assert_eq!([0, 1, 3].map(|layer| of_mlp(model.kind(layer))), [dense, sparse, sparse]);
    assert_eq!(model.problems(), []);
}

#[test]
fn latent_attention_has_narrow_matrices_and_norms() {
    let latent = LatentAttention { query: Some(32), key_value: 16, rotary: 8, value_head: 48 };
    let model = Model { latent: Some(latent), norm: Norm::RmsNorm, ..plain() };
    // Down 128 x (32 + 16 + 8), queries up 32 x 2 x 64, keys and values up 16 x 2 x (56 + 48), projection 96 x 128.
    let weights = 7_168 + 4_096 + 3_328 + 12_288;
    assert_eq!(model.mixer_parameters(LayerKind::default()).weights, weights);
    // Norms: one of 128, and those of the narrow queries, and keys with values.
    assert_eq!(model.mixer_parameters(LayerKind::default()).all, weights + 128 + 32 + 16);
    // Scores take 2 x 64 channels, values 2 x 48.
    assert_eq!(model.attention_flop(1000), Flop::new(2.0 * 4.0 * 1000.0 * (128.0 + 96.0)));
    let whole = Model { latent: Some(LatentAttention { query: None, ..latent }), ..model };
    assert_eq!(whole.mixer_parameters(LayerKind::default()).weights, 128 * (128 + 16 + 8) + 3_328 + 12_288);
}

#[test]
fn a_window_leaves_out_what_its_layers_do_not_see() {
    let of = |size, chunked| {
        let window = Some(AttentionWindow { size, layers: Some(2), chunked, ..AttentionWindow::default() });
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
    let half = Some(AttentionWindow { size: 250, layers: Some(2), ..AttentionWindow::default() });
    // Two layers of each: 4 flop x 1000 x 128 x (2 + 2 x 0.4375).
    assert_eq!(Model { window: half, ..plain() }.attention_flop(1000), Flop::new(512_000.0 * 2.875));
}

#[test]
fn kinds_take_turns_where_a_file_says_so() {
    let window = Some(AttentionWindow { size: 64, full_every: Some(3), ..AttentionWindow::default() });
    let sparse = Some(Experts { every: Some(2), ..experts(Some(1)) });
    let model = Model { window, experts: sparse, ..testing::model(8, 128) };
    let letters = |layer| match model.kind(layer) {
        LayerKind { mlp: LayerMlp::Plain, mixer: Mixer::Window, .. } => 'd',
        LayerKind { mlp: LayerMlp::Plain, .. } => 'D',
        LayerKind { mlp: LayerMlp::Experts, mixer: Mixer::Window, .. } => 'e',
        LayerKind { mlp: LayerMlp::Experts, .. } => 'E',
        LayerKind { mlp: LayerMlp::None, .. } => '?',
    };
    // Of layers 1 to 7 each second has experts; layers 2 and 5 see everything.
    assert_eq!((0..8).map(letters).collect::<String>(), "ddEdeDed");
    let counts: Vec<u32> = model.kinds().map(|(_, count)| count).collect();
    assert_eq!((counts, model.kind_period()), (vec![1, 4, 1, 2], 6));
    assert_eq!(model.problems(), []);
    assert_eq!(plain().kinds().collect::<Vec<_>>(), [(LayerKind::default(), 4)]);
}

fn delta_net() -> GatedDeltaNet {
    GatedDeltaNet {
        key_heads: 2,
        value_heads: 4,
        key_head: 16,
        value_head: 32,
        conv: 4,
        full_every: 4,
        full_last: false,
        gate_rank: None,
    }
}

#[test]
fn a_gated_delta_net_takes_the_place_of_attention() {
    let model = Model { delta_net: Some(delta_net()), norm: Norm::RmsNorm, ..plain() };
    let of = |layer| (model.mixer_parameters(model.kind(layer)).all, model.kind(layer).mixer);
    // Queries and keys of 32, values and gate of 128, two numbers for each of 4 heads: 128 x 328. The convolution has 4
    // weights for each of 192 channels, `A_log` and `dt_bias` 4 each, the gated norm 32, the projection 128 x 128.
    let net = 41_984 + 768 + 8 + 32 + 16_384;
    // One norm of 128 more.
    assert_eq!([0, 1, 2].map(of), [(net + 128, Mixer::Recurrent); 3]);
    assert_eq!(of(3), (65_536 + 128, Mixer::Attention));
    // A token multiplies each but the vectors'.
    assert_eq!(model.matrix_parameters(), 3 * (net - 40) + 65_536 + 4 * 131_072);
    // States of 4 x 16 x 32 numbers, 4 products each, in 3 layers; attention in one: 4 x 1000 x 128.
    assert_eq!(model.recurrence_flop(), Flop::new(3.0 * 8.0 * 2048.0));
    assert_eq!(model.attention_flop(1000), Flop::new(512_000.0));
    let token = 6.0 * 1000.0 + 3.0 * (512_000.0 + 49_152.0);
    assert_eq!(model.flop_per_token(Flop::new(6.0), 1000, 1000, 1.0), Flop::new(token));
    assert_eq!((model.problems(), model.kind_period()), (vec![], 4));
    assert_eq!(model.kind(0).name(&model), "gated delta net");
    // A gate is as wide as the heads: 128 x 128 in the layer with attention.
    let gated = Model { output_gate: true, ..model.clone() };
    assert_eq!(gated.parameters() - model.parameters(), 16_384);
}

/// The published weights of Qwen3-Next-80B-A3B without the layers that predict further tokens: a layer with a gated delta
/// net has 2048 x 12,352 + 4 x 8192 + 192 + 4096 x 2048, one with attention 2048 x 9216 + 4096 x 2048 + 512.
#[test]
fn qwen3_next_has_the_published_parameters() {
    let model = Library::embedded().model("qwen3-next-80b-a3b").expect("a preset");
    let (net, attention) = (33_718_464, 27_263_488);
    let expert = 3 * 2048 * 512;
    let rest = 513 * expert + 2048 * 513 + 2 * 2048;
    assert_eq!(model.layers_parameters(), 36 * net + 12 * attention + 48 * rest);
    assert_eq!(model.parameters(), 79_674_391_296);
    assert_eq!(model.active_parameters(), 3_874_929_408);
}

/// Kimi Linear: a layer with a decay for each channel has 2304 x (3 x 4096 + 32 + 2 x 128), 2 x 128 x 4096, 4 x 12,288, 32,
/// 4096, 128 and 4096 x 2304 parameters, one with attention 2304 x 6720, 512 x 8192, 512 and 4096 x 2304; the last one of 27
/// has attention beside each fourth. 26 layers have 256 experts of 3 x 2304 x 1024, a shared one and a router, one an MLP of
/// 9216.
#[test]
fn kimi_linear_has_the_published_shape() {
    let model = Library::embedded().model("kimi-linear-48b-a3b").expect("a preset");
    let (net, attention, expert) = (39_514_272, 29_114_880, 7_077_888);
    let rest = 26 * (257 * expert + 256 * 2304) + 3 * 2304 * 9216 + 27 * 2 * 2304;
    assert_eq!(model.layers_parameters(), 20 * net + 7 * attention + rest);
    // With the 26 x 256 biases of its routers, which no gradient trains, 49,122,681,728.
    assert_eq!(model.parameters(), 49_122_675_072);
    assert_eq!(model.active_parameters(), model.parameters() - 26 * 248 * expert);
    let attends: Vec<u32> = (0..27).filter(|layer| model.kind(*layer).mixer.attends()).map(|layer| layer + 1).collect();
    assert_eq!(attends, [4, 8, 12, 16, 20, 24, 27]);
    assert_eq!(model.kind_changes().collect::<Vec<_>>(), [1, 26]);
    assert_eq!(model.kind(0).name(&model), "dense, Kimi delta attention");
}

/// DeepSeek-V3.2 has 1536 x 64 x 128 + 7168 x 128 + 7168 x 64 weights more in each of 61 layers than V3, and two for each of 128
/// channels of a norm. 2048 of 131,072 tokens are 1/64 (2 - 1/64) of the causal half, all of 2048.
#[test]
fn deepseek_v3_2_is_v3_with_indexers() {
    let [v3, sparse] = ["deepseek-v3", "deepseek-v3.2"].map(|id| Library::embedded().model(id).expect("a preset"));
    assert_eq!(sparse.parameters() - v3.parameters(), 61 * (13_959_168 + 256));
    assert_eq!(sparse.parameters(), 671_877_929_216);
    assert_eq!(sparse.matrix_parameters(), v3.matrix_parameters());
    let attention = sparse.attention(Mixer::Attention).expect("it attends");
    let [short, long] = [2048, 131_072].map(|sequence| attention.attended(sequence));
    assert_eq!((short, long), (1.0, 0.031_005_859_375));
    // Queries by keys are 512 + 64 wide for each of 128 heads, scores by values 512.
    assert_eq!(Flop::new(attention.score_width()), Flop::new(128.0 * 544.0));
    assert_eq!(sparse.problems(), []);
    let wrong = |model: Model| model.problems().into_iter().map(|problem| problem.field).collect::<Vec<_>>();
    let alone = Model { latent: None, causal: false, ..(*sparse).clone() };
    assert_eq!(wrong(alone), ["indexer", "indexer"]);
}

/// Tokens of 128 narrowed to 32: an expert has 2 x 32 x 64 weights where it had four times as many, and two matrices of
/// 128 x 32 narrow and widen them.
#[test]
fn experts_may_work_on_narrower_tokens() {
    let wide = Model { experts: Some(experts(None)), ..plain() };
    let narrow = Model { experts: wide.experts.map(|own| Experts { latent: Some(32), ..own }), ..wide.clone() };
    assert_eq!(wide.parameters() - narrow.parameters(), 4 * (8 * (16_384 - 4096) - 2 * 4096));
    assert_eq!(wide.active_parameters() - narrow.active_parameters(), 4 * (2 * (16_384 - 4096) - 2 * 4096));
    assert_eq!(narrow.part_parameters(narrow.kind(0), LayerPart::Routed).all, 8 * 4096);
    // The activation function sees experts and the shared one alone.
    let seen = |one: LayerMatrix| if one.narrows() { 0 } else { one.active * one.kept_outputs };
    let widths = [LayerPart::Routed, LayerPart::Plain]
        .map(|part| narrow.part_matrices(narrow.kind(0), part).map(seen).sum::<u64>());
    assert_eq!(widths, [128, 32]);
}

fn pattern(letters: &str) -> LayerPattern {
    LayerPattern::try_from(letters.to_owned()).expect("a pattern")
}

#[test]
fn layers_are_one_thing_each_where_a_pattern_says_so() {
    let mamba = Mamba { heads: 4, head: 32, state: 16, groups: 2, conv: 4, chunk: 64 };
    let model = Model { pattern: Some(pattern("M-*")), mamba: Some(mamba), norm: Norm::RmsNorm, ..plain() };
    // Gate and inputs of 128, B and C of 2 x 16, a step for each of 4 heads: 128 x 324. The convolution has 4 weights and a
    // bias for each of 192 channels, each head 3 numbers, the gated norm 128, the projection 128 x 128; and a norm of 128.
    let space = 41_472 + 960 + 12 + 128 + 16_384 + 128;
    let parameters = |layer| model.layer_parameters(model.kind(layer));
    assert_eq!([0, 1, 2, 3].map(parameters), [space, 131_072 + 128, 65_536 + 128, space]);
    // A token multiplies each but the vectors'.
    assert_eq!(model.matrix_parameters(), 2 * (space - 192 - 12 - 256) + 131_072 + 65_536);
    // States of 4 x 32 x 16 numbers, 7 flop each, in 2 layers; attention in one.
    assert_eq!(model.recurrence_flop(), Flop::new(2.0 * 7.0 * 2048.0));
    assert_eq!(model.attention_flop(1000), Flop::new(512_000.0));
    let kinds: Vec<_> = model.kinds().map(|(kind, count)| (kind.name(&model), count)).collect();
    assert_eq!(kinds, [("attention".to_owned(), 1), ("Mamba-2".to_owned(), 2), ("MLP".to_owned(), 1)]);
    assert_eq!((model.problems(), model.kind_period()), (vec![], 3));
    assert_eq!(String::from(model.pattern.expect("a pattern")), "M-*");
    assert!(LayerPattern::try_from("M-A".to_owned()).is_err_and(|error| error.starts_with("'A' is no kind of layer")));
    assert!(LayerPattern::try_from(String::new()).is_err());
}

/// A layer of Mamba-2 has 2688 x 10,304 + 5 x 6144 + 3 x 64 + 4096 + 4096 x 2688; 128 experts of 2 x 2688 x 1856 each, a
/// router, a shared expert of twice their width; attention 2 x 2688 x 4096 + 2 x 2688 x 256. NVIDIA states 31.6 and 3.6
/// thousand million.
#[test]
fn nemotron_3_nano_has_the_published_parameters() {
    let model = Library::embedded().model("nemotron-3-nano").expect("a preset");
    let (space, attention, expert) = (38_742_208, 23_396_352, 9_977_856);
    let sparse = 128 * expert + 128 * 2688 + 2 * expert;
    assert_eq!(model.layers_parameters(), 23 * (space + sparse) + 6 * attention + 52 * 2688);
    assert_eq!(model.parameters(), 31_577_937_344);
    assert_eq!(model.active_parameters(), model.parameters() - 23 * 122 * expert);
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

/// Counting turn by turn finds as many layers of each kind as asking layer by layer does, wherever turns begin, end and mix.
#[test]
fn kinds_are_counted_as_layers_are() {
    let every = |every: u32| AttentionWindow { size: 8, full_every: Some(every), ..AttentionWindow::default() };
    let windows = [
        None,
        Some(every(6)),
        Some(AttentionWindow { full_leads: true, full_first: true, ..every(4) }),
        Some(AttentionWindow { layers: Some(7), full_every: None, ..every(2) }),
    ];
    let experts = [None, Some(experts(Some(3))), Some(Experts { every: Some(2), ..experts(Some(1)) })];
    let nets = [None, Some(delta_net()), Some(GatedDeltaNet { full_every: 4, full_last: true, ..delta_net() })];
    let patterns = [None, Some(pattern("M-*EM"))];
    for (window, experts) in windows.into_iter().flat_map(|window| experts.map(|experts| (window, experts))) {
        for (delta_net, pattern) in nets.into_iter().flat_map(|net| patterns.clone().map(|pattern| (net, pattern))) {
            for (frozen_layers, mtp_layers) in [(0, 0), (5, 0), (9, 2)] {
                let model = Model {
                    layers: 61,
                    window,
                    experts,
                    delta_net,
                    pattern: pattern.clone(),
                    frozen_layers,
                    mtp_layers,
                    ..plain()
                };
                let asked = |kind| (0..model.all_layers()).filter(|layer| model.kind(*layer) == kind).count();
                for (kind, count) in model.kinds() {
                    assert_eq!(asked(kind), count as usize, "{kind:?} of {model:?}");
                }
                assert_eq!(model.kinds().map(|(_, count)| count).sum::<u32>(), model.all_layers(), "{model:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_at_its_field() {
    let wrong = |model: Model| model.problems().into_iter().map(|problem| problem.field).collect::<Vec<_>>();
    assert_eq!(wrong(Model { experts: Some(experts(Some(4))), ..plain() }), ["experts.dense_layers"]);
    let window = AttentionWindow { size: 0, layers: Some(5), ..AttentionWindow::default() };
    assert_eq!(wrong(Model { window: Some(window), ..plain() }), ["window.size", "window.layers"]);
    let window = AttentionWindow { size: 1, layers: Some(2), full_every: Some(5), ..AttentionWindow::default() };
    assert_eq!(wrong(Model { window: Some(window), ..plain() }), ["window.full_every", "window.full_every"]);
    let every = Experts { every: Some(4), ..experts(Some(1)) };
    assert_eq!(wrong(Model { experts: Some(every), ..plain() }), ["experts.every"]);
    let latent = LatentAttention { query: None, key_value: 1, rotary: 65, value_head: 1 };
    assert_eq!(wrong(Model { latent: Some(latent), ..plain() }), ["latent.rotary"]);
    let net = GatedDeltaNet { value_heads: 3, full_every: 5, ..delta_net() };
    assert_eq!(
        wrong(Model { delta_net: Some(net), causal: false, ..plain() }),
        ["delta_net.value_heads", "delta_net.full_every", "delta_net"]
    );
    let mamba = Mamba { heads: 3, head: 1, state: 1, groups: 2, conv: 0, chunk: 1 };
    let alone = Model { pattern: Some(pattern("*E")), mamba: Some(mamba), delta_net: Some(delta_net()), ..plain() };
    assert_eq!(wrong(alone), ["mamba.conv", "mamba.heads", "mamba", "experts", "pattern"]);
    let twice = Model { pattern: Some(pattern("M")), experts: Some(experts(Some(1))), ..plain() };
    assert_eq!(wrong(twice), ["mamba", "experts", "pattern"]);
    let most = 1 << 24;
    let latent = LatentAttention { query: Some(most), key_value: most, rotary: 1, value_head: most };
    assert_eq!(wrong(Model { latent: Some(latent), heads: most, kv_heads: most, ..plain() }), ["layers"]);
}
