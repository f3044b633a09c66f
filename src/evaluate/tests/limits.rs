//! The limits of FSDP, which no simulated plan beats.

use super::*;

/// What FSDP sends, in the FSDP limits of a scenario whose weights and gradients travel over all devices: two
/// transfers in backward, all parameters, (N - 1) / N.
fn sent(scenario: &Scenario) -> FsdpLimits {
    let parameters = scenario.model.parameters() as f64;
    FsdpLimits { parameters, ring: true, n_bwd: 2.0, ..FsdpLimits::new(scenario) }
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
    /// three transfers takes at least their time, and what fits is no faster than the floor of full memory.
    #[test]
    fn no_zero3_plan_of_a_preset_machine_exceeds_its_limits(
        cluster in prop::sample::select(vec!["v100-32gb-dgx1", "titan-rtx-pcie", "mi250x-frontier", "h100-80gb-dgx"]),
        model in prop::sample::select(vec!["fsdp-1.3b", "fsdp-13b", "fsdp-175b"]),
        power in 0_u32..7,
        micro_batch in 1_u32..9,
    ) {
        let ids = format!("cluster = \"{cluster}\"\nstack = \"ideal\"\nmodel = \"{model}\"\nstrategy = \"zero3\"");
        let plan = format!("nodes = {}\nmicro_batch = {micro_batch}\nrecompute = \"full\"", 1 << power);
        let file = crate::scenario::file::parse(&format!("format = 1\n{ids}\n[plan]\n{plan}\n")).expect("valid");
        let scenario = Library::embedded().resolve(&file).expect("presets");
        let (limits, summary) = (sent(&scenario), evaluate(&scenario));
        let (transfers, step) = (limits.transfer() * 3.0, summary.step_time);
        prop_assert!(step >= transfers * (1.0 - 1e-8), "{step} is less than the {transfers} of its transfers");
        let (floor, reached) = (limits.network_floor().tokens_per_s, summary.tokens_per_s_per_device);
        prop_assert!(!summary.fits || reached <= floor, "{reached} tokens/s beat the floor's {floor}");
    }
}
