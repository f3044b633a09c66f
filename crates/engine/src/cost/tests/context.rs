//! What context ranks send one another.

use super::*;
use crate::plan::ContextKind;
use crate::scenario::Layout;

/// A job of a preset's model on one node of eight, in bf16.
fn job(model: &str, tokens: &str, tensor: u32, context: u32, kind: ContextKind) -> Scenario {
    let library = Library::embedded();
    let mut file = file::parse(&library.scenario_text("default").expect("a preset").text).expect("valid");
    for (flag, value) in [("hardware", "h100-80gb-dgx"), ("stack", "ideal"), ("model", model), ("seq", tokens)] {
        file.set(flag, value).expect("a flag");
    }
    let mut scenario = library.resolve(&file).expect("a scenario");
    (scenario.plan.tensor, scenario.plan.context, scenario.plan.context_kind) = (tensor, context, kind);
    scenario
}

fn layout(scenario: &Scenario) -> Layout {
    scenario.layout().expect("a valid plan")
}

/// Gigabytes that a rank receives in a step from other context ranks in all layers of one kind: around attention, and beside it.
fn received(scenario: &Scenario, mixer: Mixer) -> [f64; 2] {
    let transfers = rates(scenario).context_transfers(mixer, &layout(scenario));
    let layers = f64::from(scenario.model.layers);
    [transfers.around, transfers.beside].map(|way| layers * (way.forward.received + way.backward.received).get() / 1e9)
}

/// Llama 3.1 8B, 65,536 tokens on 8 ranks in bf16: keys and values are 2 x 8 x 128 numbers a token, 65,536 x 2,048 x 2 B = 268.4 MB
/// a layer, of which a rank receives 7/8 in forward and as much twice in backward, in 32 layers: 22.549 GB. Of heads a rank has
/// 8,192 tokens x (4,096 + 2,048 + 4,096) x 2 B = 167.8 MB, sends 7/8 away in each direction: 9.395 GB. In pairs of groups of
/// four 3/4 of these go, 8.053 GB, and half of the keys of two heads of eight passes around: 3 x 32 x 65,536 x 512 x 2 B / 2 =
/// 3.221 GB.
#[test]
fn kinds_send_what_they_send_by_hand() {
    let of = |kind: ContextKind| received(&job("llama-3.1-8b", "65536", 1, 8, kind), Mixer::Attention);
    let [keys, heads] = [3.0 * 32.0 * 65_536.0 * 2048.0, 2.0 * 32.0 * 8192.0 * 10_240.0].map(|numbers| numbers * 2e-9);
    for (kind, [around, beside]) in [
        (ContextKind::Ring, [0.0, keys * 0.875]),
        (ContextKind::Zigzag, [0.0, keys * 0.875]),
        (ContextKind::AllGather, [keys * 0.875, 0.0]),
        (ContextKind::Ulysses, [heads * 0.875, 0.0]),
    ] {
        let own = of(kind);
        assert!((own[0] - around).abs() + (own[1] - beside).abs() < 1e-9, "{kind}: {own:?}");
    }
    assert!((keys * 0.875 - 22.549).abs() < 1e-3 && (heads * 0.875 - 9.395).abs() < 1e-3);
    let mut both = job("llama-3.1-8b", "65536", 1, 8, ContextKind::Usp);
    both.plan.context_heads = Some(4);
    let [around, beside] = received(&both, Mixer::Attention);
    close(around, heads * 0.75);
    close(beside, keys / 4.0 * 0.5);
    assert!((around - 8.053).abs() < 1e-3 && (beside - 3.221).abs() < 1e-3);
}

/// What launches of 5 us add on four ranks. Queries, keys, values and then the output go to their ranks in four collectives in either
/// direction, 20 us. Keys and values go around in three sends in forward, 15 us, and in backward their gradients with them in three
/// more; a gather is launched once.
#[test]
fn kinds_launch_what_they_launch_by_hand() {
    let steps = |kind: ContextKind, launch: f64| {
        let mut scenario = with(|efficiency| efficiency.collective_launch = Seconds::new(launch));
        (scenario.plan.context, scenario.plan.context_kind) = (4, kind);
        let transfers = rates(&scenario).context_transfers(Mixer::Attention, &layout(&scenario));
        let [around, beside] = [transfers.around, transfers.beside];
        [around.forward, around.backward, beside.forward, beside.backward].map(|transfer| transfer.steps.get())
    };
    for (kind, launched) in [
        (ContextKind::Ulysses, [20.0, 20.0, 0.0, 0.0]),
        (ContextKind::Zigzag, [0.0, 0.0, 15.0, 30.0]),
        (ContextKind::AllGather, [5.0, 10.0, 0.0, 0.0]),
    ] {
        let [with, without] = [5e-6, 0.0].map(|launch| steps(kind, launch));
        for ((with, without), launched) in with.into_iter().zip(without).zip(launched) {
            assert!((with - without - launched * 1e-6).abs() < 1e-12, "{kind}: {with} for {without}");
        }
    }
}

/// At 2 tensor ranks each has 4 heads of keys, which 8 context ranks exchange twice: 8,192 / 2 ... of 65,536 tokens on 8 ranks 8,192
/// x (2,048 + 2 x 8 x 128 + 2,048) numbers. Where the stack repeats them before, they are as many as queries.
#[test]
fn keys_are_repeated_for_ranks_that_have_none() {
    let mut scenario = job("llama-3.1-8b", "65536", 2, 8, ContextKind::Ulysses);
    scenario.plan.size = Size::Nodes(2);
    let sent = |numbers: f64| 2.0 * 32.0 * 8192.0 * numbers * 2e-9 * 0.875;
    close(received(&scenario, Mixer::Attention)[0], sent(2048.0 + 2048.0 + 2048.0));
    Arc::make_mut(&mut scenario.stack).repeats_keys = true;
    close(received(&scenario, Mixer::Attention)[0], sent(4.0 * 2048.0));
}

/// DeepSeek-V3 at 8,192 tokens on 8 ranks: keys of 192 and values of 128 channels for each of 128 heads are expanded before they
/// pass, 40,960 numbers a token; heads are exchanged for 1,024 tokens x (24,576 + 40,960 + 16,384).
#[test]
fn latent_attention_sends_what_it_has_expanded() {
    let of = |kind: ContextKind| {
        let scenario = job("deepseek-v3", "8192", 1, 8, kind);
        let transfers = rates(&scenario).context_transfers(Mixer::Attention, &layout(&scenario));
        (transfers.around.forward.received + transfers.beside.forward.received).get()
    };
    close(of(ContextKind::Zigzag), 8192.0 * 40_960.0 * 2.0 * 0.875);
    close(of(ContextKind::Ulysses), 1024.0 * 81_920.0 * 2.0 * 0.875);
}

/// Qwen3-Next at 8,192 tokens on 8 ranks: 16 heads of 128 channels of queries, as many of keys, 32 of values and of the gate, and two
/// numbers for each of these go to the ranks of their heads, the values come back: 1,024 tokens x (12,352 + 4,096) x 2 B in either
/// direction, 7/8 of it to others. Of 12 ranks four share 16 heads.
#[test]
fn heads_of_a_gated_delta_net_go_to_their_ranks() {
    let mut scenario = job("qwen3-next-80b-a3b", "8192", 1, 8, ContextKind::Zigzag);
    let transfers = rates(&scenario).context_transfers(Mixer::Recurrent, &layout(&scenario));
    let sent = 1024.0 * (2.0 * 2048.0 + 2.0 * 4096.0 + 2.0 * 32.0 + 4096.0) * 2.0 * 0.875;
    for way in [transfers.around.forward, transfers.around.backward] {
        close(way.received.get(), sent);
    }
    (scenario.plan.context, scenario.plan.size, scenario.plan.sequence) = (12, Size::Nodes(3), 12_288);
    let problems = scenario.layout().expect_err("12 does not divide 16");
    assert_eq!(problems[0].fix, "choose 4");
}

/// Of 8,192 tokens on a rank the output before it goes back, 4,096 channels in bf16, is kept beside all else; keys and values of the
/// seven other ranks and their gradients, 7 x 2,048 x 2 numbers a token, are there while attention runs.
#[test]
fn kinds_hold_what_they_have_received() {
    let of = |kind: ContextKind| {
        let scenario = job("llama-3.1-8b", "65536", 1, 8, kind);
        let rates = rates(&scenario);
        let own = rates.activations(DENSE).pieces[Piece::Mixer];
        (own.whole.get(), own.working.get())
    };
    let [ring, gathered, heads] = [ContextKind::Zigzag, ContextKind::AllGather, ContextKind::Ulysses].map(of);
    close(heads.0 - ring.0, 8192.0 * 4096.0 * 2.0);
    close(gathered.1 - ring.1, 8192.0 * 7.0 * 2048.0 * 2.0 * 2.0);
}

/// Contiguous pieces leave the last of four ranks 4 - 1/2 blocks of scores where the mean is 2; heads are alike on all ranks.
#[test]
fn kinds_share_the_work_as_they_do() {
    let of = |kind: ContextKind| {
        let mut scenario = testing::scenario();
        (scenario.plan.context, scenario.plan.context_kind) = (4, kind);
        rates(&scenario).attention(DENSE, 1).forward.time
    };
    let even = of(ContextKind::Zigzag);
    close(of(ContextKind::Ring), even * 1.75);
    for kind in [ContextKind::AllGather, ContextKind::Ulysses, ContextKind::Usp] {
        close(of(kind), even);
    }
}

/// 24 ranks share neither 32 heads nor 8; of 8 ranks 3 form no groups. What would do is named.
#[test]
fn what_no_program_has_is_refused_with_what_it_could_have() {
    let problem = |scenario: &Scenario| {
        let problems = scenario.layout().expect_err("it cannot be");
        let [one] = &problems[..] else { panic!("{problems:?}") };
        format!("{}: {}; {}", one.field, one.what, one.fix)
    };
    let mut scenario = job("llama-3.1-8b", "65536", 1, 8, ContextKind::Ulysses);
    (scenario.plan.size, scenario.plan.context, scenario.plan.sequence) = (Size::Nodes(3), 24, 98_304);
    assert_eq!(
        problem(&scenario),
        "plan.context_kind: 24 ranks do not share the 32 heads and 8 key heads of a tensor rank; choose zigzag or \
         all-gather, or kind usp with 8 that exchange heads"
    );
    scenario = job("llama-3.1-8b", "65536", 1, 8, ContextKind::Usp);
    scenario.plan.context_heads = Some(3);
    assert_eq!(
        problem(&scenario),
        "plan.context_heads: 3 ranks that exchange heads do not divide the 8 context ranks; choose 1"
    );
}

/// TransformerEngine has windows for gathered keys and for exchanged heads, and repeats no keys.
#[test]
fn a_stack_says_which_kinds_it_has() {
    let library = Library::embedded();
    let lacks = |model: &str, kind: ContextKind, context: u32| {
        let mut scenario = job(model, "65536", 1, context, kind);
        scenario.plan.size = Size::Nodes(2);
        scenario.stack = library.stack("megatron-2024").expect("a preset");
        let lacks = scenario.lacks().into_iter().filter(|lack| lack.field == "plan.context_kind");
        lacks.map(|lack| format!("{}; {}", lack.what, lack.fix)).collect::<Vec<_>>().join("|")
    };
    assert_eq!(lacks("llama-3.1-8b", ContextKind::Ulysses, 8), "");
    assert!(lacks("llama-3.1-8b", ContextKind::Ring, 8).contains("it has zigzag, all-gather, ulysses, usp"));
    assert!(
        lacks("llama-3.1-8b", ContextKind::Ulysses, 16).contains("keys repeated for 16 ranks that have 8 key heads")
    );
    assert!(lacks("gpt-oss-20b", ContextKind::Zigzag, 8).contains("window; it has all-gather, ulysses"));
    assert_eq!(lacks("gpt-oss-20b", ContextKind::Stack, 8), "");
}
