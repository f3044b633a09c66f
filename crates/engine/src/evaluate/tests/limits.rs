//! The limits of FSDP, which no simulated plan beats.

use super::*;

/// What FSDP sends where it reduces at each micro-batch: two transfers in backward.
fn sent(scenario: &Scenario) -> FsdpLimits {
    FsdpLimits { n_bwd: 2.0, ..FsdpLimits::new(scenario) }
}

/// Their network floor [fsdp A4 (b)] for one micro-batch.
fn network_floor(scenario: &Scenario) -> f64 {
    let limits = sent(scenario);
    let tokens = f64::from(scenario.plan.micro_batch) * f64::from(scenario.plan.sequence);
    limits.network_floor().tokens_per_s * tokens / limits.token_capacity()
}

proptest! {
    /// [fsdp A4 (b)]: no schedule of a ZeRO-3 plan that gathers every unit twice and reduces at each
    /// micro-batch beats the network floor, or the limit that a map shows.
    #[test]
    fn no_zero3_plan_exceeds_its_limit(
        nodes in 1_u32..40,
        micro_batch in 1_u32..6,
        accumulate in 1_u32..4,
        layers in 1_u32..12,
        prefetch in 0_u32..4,
        bandwidth in 0.01_f64..20.0,
        full: bool,
        vocab in prop::sample::select(vec![0_u32, 1000, 50_000]),
        tied: bool,
    ) {
        let mut scenario = testing::scenario();
        scenario.model = Arc::new(Model { vocab, tied, ..testing::model(layers, 1024) });
        scenario.plan.size = Size::Nodes(nodes);
        scenario.plan.micro_batch = micro_batch;
        scenario.plan.accumulate = accumulate;
        scenario.plan.prefetch = prefetch;
        scenario.plan.bandwidth_factor = bandwidth;
        scenario.plan.reduction = Reduction::MicroBatch;
        scenario.plan.recompute = if full { Recompute::Full } else { Recompute::None };
        let summary = summary(&scenario, &mut Workspace::default()).expect("a valid scenario");
        let (floor, reached) = (network_floor(&scenario), summary.tokens_per_s_per_device);
        // Each task is rounded to whole picoseconds, of steps as short as some hundred microseconds.
        prop_assert!(reached <= floor * (1.0 + 1e-8), "{reached} tokens/s beat the floor's {floor}");
        prop_assert!(summary.model_flops <= summary.limit * (1.0 + 1e-8));
        // Two ways to the same limit: the closed form, and the bytes that the program counts.
        let limit = reached * (summary.limit / summary.model_flops);
        prop_assert!(limit <= floor * (1.0 + 1e-9), "the limit {limit} is above the floor {floor}");
        if summary.time.exposed > summary.time.compute {
            prop_assert!((limit / floor - 1.0).abs() < 1e-9, "{limit} is not {floor}");
        }
    }

    /// The same of published machines, whose nodes share ports or have links that are not all alike: a step of
    /// three transfers takes at least their time, and what fits is no faster than the limits with two of them allow,
    /// however long the sequence is and whoever does not compute: half of the scores, idle experts.
    #[test]
    fn no_zero3_plan_of_a_preset_machine_exceeds_its_limits(
        cluster in prop::sample::select(vec!["v100-32gb-dgx1", "titan-rtx-pcie", "mi250x-frontier", "h100-80gb-dgx"]),
        model in prop::sample::select(vec!["fsdp-1.3b", "fsdp-13b", "fsdp-175b", "llama-3.1-8b", "mixtral-8x7b"]),
        power in 0_u32..7,
        micro_batch in 1_u32..9,
        sequence in prop::sample::select(vec![512_u32, 4096, 131_072]),
    ) {
        let ids = format!("cluster = \"{cluster}\"\nstack = \"ideal\"\nmodel = \"{model}\"\nstrategy = \"zero3\"");
        let plan = format!(
            "nodes = {}\nmicro_batch = {micro_batch}\nsequence = {sequence}\nrecompute = \"full\"",
            1 << power
        );
        let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
        let scenario = Library::embedded().resolve(&file).expect("presets");
        let (limits, summary) = (sent(&scenario), evaluate(&scenario));
        let (transfers, step) = (limits.transfer() * 3.0, summary.step_time);
        prop_assert!(step >= transfers * (1.0 - 1e-8), "{step} is less than the {transfers} of its transfers");
        let printed = FsdpLimits::new(&scenario);
        let best = printed.capped(printed.network_floor());
        let reached = [summary.tokens_per_s_per_device, summary.hfu, summary.mfu];
        for (reached, best) in reached.into_iter().zip([best.tokens_per_s, best.hfu, best.mfu]) {
            prop_assert!(!summary.fits || reached <= best * (1.0 + 1e-8), "{reached} beats the limit {best}");
        }
    }
}

/// Llama 3.1 8B on 131,072 tokens, two nodes of 8 H100: a token takes 6 x 7.5e9 flop of matrices and as many again of
/// layers, 4 x 7.0e9 / 2, and 4 x 4 x 32 x 4096 x 131072 / 2 of attention, of which the kernel computes half: 989.5
/// TFLOP/s let no more than about 5,100 tokens/s pass, where the full square would leave 3,030.
#[test]
fn half_of_the_scores_are_not_computed_in_the_limits_either() {
    let ids = "cluster = \"h100-80gb-dgx\"\nstack = \"ideal\"\nmodel = \"llama-3.1-8b\"\nstrategy = \"zero3\"";
    let plan = "nodes = 2\nmicro_batch = 1\nsequence = 131072\nrecompute = \"full\"";
    let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
    let scenario = Library::embedded().resolve(&file).expect("presets");
    let (limits, summary) = (FsdpLimits::new(&scenario), evaluate(&scenario));
    let best = limits.capped(limits.network_floor());
    let attention = 4.0 * 32.0 * 4096.0 * 131_072.0;
    let logits = 128_256.0 * 4096.0;
    let layers = 32.0 * (4096.0 * 6144.0 + 4096.0 * 4096.0 + 3.0 * 4096.0 * 14_336.0);
    let flop = 8.0 * layers + 6.0 * logits + 4.0 * attention / 2.0;
    let peak = scenario.cluster.device.peak.bf16.expect("a peak").get();
    close(best.tokens_per_s, peak / flop);
    assert!(summary.fits && summary.tokens_per_s_per_device <= best.tokens_per_s, "{summary:?}");
    assert!(summary.tokens_per_s_per_device > 0.9 * best.tokens_per_s && summary.hfu <= best.hfu);
}
