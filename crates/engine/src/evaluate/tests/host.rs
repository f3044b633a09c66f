//! What crosses the link to the host.

use super::*;

/// Bytes of a layer's weights in bf16.
const LAYER: f64 = 2.0 * 12.0 * 1024.0 * 1024.0;

fn offloaded(offload: Offload) -> Scenario {
    let mut scenario = testing::scenario();
    (scenario.plan.offload, scenario.plan.accumulate) = (offload, 4);
    scenario
}

/// [layered B5, C5], 8 layers over 8 ranks layer by layer: 2 x 8 - 2 shards come and 8 go, each an eighth of 24 MiB,
/// at 10 GB/s each way. Nothing else crosses the link, and without offload nothing at all does.
#[test]
fn the_state_crosses_the_link_each_way() {
    let mut scenario = offloaded(Offload::State);
    scenario.plan.accumulation = Accumulation::Layered;
    let HostTraffic { to, from, .. } = evaluate(&scenario).host;
    assert_eq!((from.bytes.get(), to.bytes.get()), (14.0 / 8.0 * LAYER, 8.0 / 8.0 * LAYER));
    close(from.busy.get(), 14.0 / 8.0 * LAYER / 10e9);
    close(to.busy.get(), LAYER / 10e9);
    assert_eq!(evaluate(&offloaded(Offload::None)).host, HostTraffic::default());
}

/// Each of 8 layers' inputs goes and comes for each of 4 micro-batches: 1024 tokens x 1024 x 2 B = 2 MiB.
#[test]
fn checkpoints_cross_the_link_both_ways() {
    let mut scenario = offloaded(Offload::Checkpoints);
    scenario.plan.recompute = Recompute::Full;
    let HostTraffic { to, from, .. } = evaluate(&scenario).host;
    let all = 4.0 * 8.0 * 2.0 * 1024.0 * 1024.0;
    assert_eq!((to.bytes.get(), from.bytes.get()), (all, all));
    close(to.busy.get(), all / 10e9);
}

/// An eighth of 8 layers' gradients goes and of their weights comes, in bf16, however many the micro-batches.
#[test]
fn the_optimizer_on_the_host_takes_gradients_and_gives_weights() {
    let HostTraffic { to, from, .. } = evaluate(&offloaded(Offload::Optimizer)).host;
    assert_eq!((to.bytes.get(), from.bytes.get()), (LAYER, LAYER));
}

/// One device, layer by layer, over a link of 10 MB/s: 14 layers of 24 MiB that come take 35 s, and no schedule of as
/// many copies is faster. The step is 16 layers: the last two go after the last has come. So the plan reaches 14 / 16
/// of its limit, and its schedule is not what is to be fixed.
#[test]
fn a_slow_link_is_the_limit() {
    let mut scenario = offloaded(Offload::State);
    scenario.plan.accumulation = Accumulation::Layered;
    (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(1));
    Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e7);
    let summary = evaluate(&scenario);
    let flop = summary.model_flops * summary.step_time;
    close((flop / summary.limit).get(), 14.0 * LAYER / 1e7);
    let share = summary.model_flops / summary.limit;
    assert!((share - 14.0 / 16.0).abs() < 0.01, "{share}");
    assert_eq!(summary.limiting(), Resource::HostLink);
    // 8 x 24 MiB of gradients and twice as many weights are nothing on a link that is 10^9 times as fast.
    Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(1e16);
    assert_eq!(evaluate(&scenario).limiting(), Resource::Compute);
}

/// A level that is as slow takes the place of the link: ZeRO-3 over 10 GB/s ports at a thousandth of their bandwidth.
#[test]
fn a_slow_level_is_the_limit() {
    let mut scenario = testing::scenario();
    scenario.plan.bandwidth_factor = 1e-3;
    assert_eq!(evaluate(&scenario).limiting(), Resource::Level(1));
    scenario.plan.bandwidth_factor = 1e6;
    assert_eq!(evaluate(&scenario).limiting(), Resource::Compute);
}

proptest! {
    /// What is counted is what the timeline of the rank that ends last shows, whatever the schedule.
    #[test]
    fn the_timeline_lists_what_is_counted(scenario in staged()) {
        let Ok((summary, trace)) = scenario.checked().and_then(|checked| traced(&checked, &mut Workspace::default())) else {
            return Err(TestCaseError::reject("not a valid layout"));
        };
        let end = |rank: &u32| trace.spans.iter().filter(|span| span.rank == *rank).map(|span| span.end.get()).fold(0.0, f64::max);
        let ranks: Vec<u32> = (0..trace.ranks()).collect();
        let last = ranks.iter().copied().reduce(|best, rank| if end(&rank) > end(&best) { rank } else { best }).unwrap_or(0);
        for way in HostDirection::ALL {
            let spans = trace.spans_on(last, way.stream());
            let bytes = spans.iter().map(|span| span.bytes).sum::<Bytes>();
            prop_assert_eq!(summary.host.way(way).bytes, bytes);
            let busy = spans.iter().map(|span| span.alone).sum::<Seconds>();
            prop_assert!((summary.host.way(way).busy - busy).get().abs() < 1e-9);
        }
    }
}

/// 8 layers of 12 x 1024^2 parameters, an eighth of which each of 8 ranks on two nodes updates: 28 B each, in bf16. Four ranks
/// of a node have a quarter of its host's memory bandwidth.
#[test]
fn the_host_updates_what_it_holds() {
    let step = |offload: Offload, threads: u32, memory: f64| {
        let mut scenario = offloaded(offload);
        (scenario.plan.accumulate, scenario.plan.host_threads) = (1, Some(threads));
        Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, memory));
        evaluate(&scenario).step_time.get()
    };
    let update = 12.0 * 1024.0 * 1024.0 * 28.0;
    for offload in [Offload::Optimizer, Offload::State] {
        // One thread moves 1 GB/s, two 2; a host of 4 GB/s leaves each of its four ranks 1.
        let (one, two) = (step(offload, 1, 1e12), step(offload, 2, 1e12));
        close(one - two, update / 1e9 - update / 2e9);
        close(step(offload, 2, 4e9), one);
    }
    assert_eq!(step(Offload::None, 1, 1e12).to_bits(), step(Offload::None, 2, 1e12).to_bits());
}

/// torchrun gives each of four processes of a node one thread; DeepSpeed's launcher leaves 64 cores to all, a quarter for
/// each. An Adam that moves 80 B a parameter takes 80 / 28 of the time.
#[test]
fn the_launcher_sets_the_threads_and_the_stack_the_bytes() {
    let mut scenario = offloaded(Offload::Optimizer);
    Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
    Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, 1e12));
    let threads = |scenario: &mut Scenario, launcher: ProcessLauncher, said: Option<u32>| {
        Arc::make_mut(&mut scenario.stack).launcher = Some(launcher);
        scenario.plan.host_threads = said;
        let HostThreads { counted, most } = scenario.host_threads();
        (counted, most)
    };
    assert_eq!(threads(&mut scenario, ProcessLauncher::Torchrun, Some(3)), (3, None));
    assert_eq!(threads(&mut scenario, ProcessLauncher::Torchrun, None), (1, None));
    assert_eq!(threads(&mut scenario, ProcessLauncher::Deepspeed, None), (1, Some(16)));
    let fused = evaluate(&scenario).step_time.get();
    Arc::make_mut(&mut scenario.stack).host_adam = Some(80.0);
    close(evaluate(&scenario).step_time.get() - fused, 12.0 * 1024.0 * 1024.0 * 52.0 / 1e9);
    // A single process is started with nothing set.
    scenario.plan.size = Size::Devices(1);
    assert_eq!(threads(&mut scenario, ProcessLauncher::Torchrun, None), (1, Some(64)));
}

/// A quarter of the same update on the host: a quarter of its time and of what crosses the link, and three quarters of the
/// state on the device. What a node holds, 6.4 GB, is 1.6 GB.
#[test]
fn a_share_of_the_optimizer_is_on_the_host() {
    let mut scenario = offloaded(Offload::Optimizer);
    let kept = evaluate(&offloaded(Offload::None)).memory.parts.optimizer;
    Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
    scenario.plan.offload_ratio = crate::units::Share::new(0.25);
    let slow = evaluate(&scenario);
    Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(2e9));
    let fast = evaluate(&scenario);
    close((slow.step_time - fast.step_time).get(), 0.25 * 12.0 * 1024.0 * 1024.0 * 28.0 * (1e-9 - 0.5e-9));
    close(slow.memory.parts.optimizer.get(), 0.75 * kept.get());
    assert_eq!((slow.host.from.bytes.get(), slow.host.to.bytes.get()), (0.25 * LAYER, 0.25 * LAYER));
    scenario.plan.sharding = testing::ddp();
    for (memory, fits) in [(1.7e9, true), (1.6e9, false)] {
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(memory, 1e11));
        assert_eq!(summary(&scenario, &mut Workspace::default()).is_ok(), fits, "{memory}");
    }
}

/// 8 layers of 12 x 1024^2 parameters with 12 B of state and a gradient of 4 B each, whole on each of four ranks of a
/// node: 6.4 GB.
#[test]
fn a_state_must_fit_into_the_host() {
    let problems = |memory: f64| {
        let mut scenario = offloaded(Offload::Optimizer);
        scenario.plan.sharding = testing::ddp();
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(memory, 1e11));
        summary(&scenario, &mut Workspace::default()).err().unwrap_or_default()
    };
    assert!(problems(6.5e9).is_empty(), "{:?}", problems(6.5e9));
    let refused = problems(6.4e9);
    assert!(refused.len() == 1 && refused[0].field == "plan.offload", "{refused:?}");
}

/// The same update from drives that read 8 GB/s and write 4, of which each of four ranks has a quarter: 12 B of state and 4 of
/// a gradient come and go, and the 2 B of a weight go where weights are there too. Those come to the device at 2 GB/s, not
/// at the link's 10.
#[test]
fn drives_are_read_and_written_beside_an_update() {
    let run = |offload: Offload| {
        let mut scenario = offloaded(offload);
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, 1e12));
        evaluate(&scenario)
    };
    let parameters = 12.0 * 1024.0 * 1024.0;
    let slower = run(Offload::OptimizerNvme).step_time - run(Offload::Optimizer).step_time;
    close(slower.get(), parameters * (16.0 / 2e9 + 16.0 / 1e9));
    let (memory, drives) = (run(Offload::State), run(Offload::StateNvme));
    assert_eq!((memory.host.from.bytes, memory.host.to), (drives.host.from.bytes, drives.host.to));
    close(drives.host.from.busy.get(), drives.host.from.bytes.get() / 2e9);
    assert!((drives.step_time - memory.step_time).get() >= parameters * (16.0 / 2e9 + 18.0 / 1e9));
}

/// 100.7 million parameters, whole on each of four ranks: 16 B each lie on the drives, 6.44 GB. The host has buffers for as
/// much, fewer than 1e9 parameters being swapped at once, and gradients of 2 B: 7.25 GB.
#[test]
fn a_state_must_fit_onto_the_drives() {
    let parameters = 8.0 * 12.0 * 1024.0 * 1024.0;
    let mut scenario = offloaded(Offload::OptimizerNvme);
    scenario.plan.sharding = testing::ddp();
    Arc::make_mut(&mut scenario.cluster).host = None;
    let refused = |scenario: &Scenario| summary(scenario, &mut Workspace::default()).err().unwrap_or_default();
    assert!(refused(&scenario)[0].what.contains("needs the drives of a node"), "{:?}", refused(&scenario));
    for (memory, capacity, fits) in [(7.3e9, 6.5e9, true), (7.2e9, 6.5e9, false), (7.3e9, 6.4e9, false)] {
        let mut host = testing::host(memory, 1e11);
        host.nvme.as_mut().expect("it has drives").capacity = Bytes::new(capacity);
        Arc::make_mut(&mut scenario.cluster).host = Some(host);
        assert_eq!(refused(&scenario).is_empty(), fits, "{memory} {capacity}");
    }
    let mut host = testing::host(1e12, 1e11);
    host.nvme.as_mut().expect("it has drives").capacity = Bytes::new(1e12);
    Arc::make_mut(&mut scenario.cluster).host = Some(host);
    let kept = evaluate(&scenario).host_memory;
    close(kept.drives.total().get(), 4.0 * 16.0 * parameters);
    close(kept.total().get(), 4.0 * 18.0 * parameters);
}

/// What a layer of 8 keeps for backward goes and comes for each of 4 micro-batches: 1024 tokens x 1024 x 34 B less two mask bytes
/// = 32 x 2^20 B [fsdp A2], and none of it is computed again. A link slower than layers leaves two of eight on the device; the
/// host has all eight of one micro-batch. Copies in line with compute take their time in full, and a pipeline has none.
#[test]
fn activations_go_to_the_host_and_come_back() {
    let layer = 32.0 * 1024.0 * 1024.0;
    let alone = |offload: Offload| {
        let mut scenario = offloaded(offload);
        (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(1));
        scenario
    };
    let (kept, mut scenario) = (evaluate(&alone(Offload::None)), alone(Offload::Activations));
    let beside = evaluate(&scenario);
    let HostTraffic { to, from, .. } = beside.host;
    assert_eq!((to.bytes.get(), from.bytes.get()), (4.0 * 8.0 * layer, 4.0 * 8.0 * layer));
    let saved = (kept.memory.parts.activations - beside.memory.parts.activations).get();
    assert!((5.0 * layer..=7.0 * layer).contains(&saved), "{}", saved / layer);
    close(beside.host_memory.total().get(), 8.0 * layer);
    Arc::make_mut(&mut scenario.stack).copies_in_line = true;
    let in_line = evaluate(&scenario);
    let copies = 2.0 * 4.0 * 8.0 * layer / 10e9;
    let waited = (in_line.step_time - kept.step_time).get();
    assert!((waited / copies - 1.0).abs() < 1e-3, "{waited} {copies}");
    assert!(in_line.step_time > beside.step_time && in_line.memory.peak <= beside.memory.peak);
    (scenario.plan.pipeline, scenario.plan.size) = (2, Size::Devices(2));
    let refused = scenario.layout().err().unwrap_or_default();
    assert!(refused.iter().any(|problem| problem.field == "plan.offload"), "{refused:?}");
}

/// Of each of 8 layers and 4 micro-batches queries, keys, values and attention's output go and come, 8 x 1024 channels x 1024
/// tokens; in 2 stages each device has 4 layers. All but two layers' are off the device when backward begins.
#[test]
fn inputs_of_modules_cross_the_link_both_ways() {
    let bytes = 8.0 * 1024.0 * 1024.0;
    for (stages, layers) in [(1_u32, 8.0), (2, 4.0)] {
        let alone = |modules: &str| {
            let mut scenario = offloaded(Offload::None);
            (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(stages));
            scenario.plan.pipeline = stages;
            scenario.plan.offload_modules = modules.parse().expect(modules);
            scenario
        };
        let (kept, beside) = (evaluate(&alone("none")), evaluate(&alone("core_attn+attn_proj")));
        let HostTraffic { to, from, .. } = beside.host;
        assert_eq!((to.bytes.get(), from.bytes.get()), (4.0 * layers * bytes, 4.0 * layers * bytes), "{stages}");
        let saved = (kept.memory.parts.activations - beside.memory.parts.activations).get() / bytes;
        assert!(saved >= layers - 2.0, "{stages} stages: {saved} layers");
        assert!(beside.step_time >= kept.step_time);
    }
}

/// Modules that a model lacks, and those whose inputs stay for something else, are refused with what is left.
#[test]
fn inputs_that_stay_cannot_be_on_the_host() {
    let refused = |model: &str, modules: &str, again: &str| {
        let mut scenario = testing::scenario();
        scenario.model = crate::presets::Library::embedded().model(model).expect("a preset");
        scenario.plan.offload_modules = modules.parse().expect(modules);
        (scenario.plan.recompute, scenario.plan.recompute_modules) =
            (Recompute::Selective, again.parse().expect(again));
        let problems = scenario.layout().err().unwrap_or_default().into_iter();
        problems
            .filter(|problem| problem.field == "plan.offload_modules")
            .map(|problem| problem.fix)
            .collect::<Vec<_>>()
    };
    for (model, modules, again, fix) in [
        ("llama-3.1-8b", "core_attn+moe_act", "stack", "choose core_attn"),
        ("llama-3.1-8b", "mla_up_proj", "stack", "choose none"),
        ("llama-3.1-8b", "mlp+attn_proj", "stack", "choose core_attn+attn_proj+mlp"),
        ("mixtral-8x7b", "mlp+mlp_norm", "stack", "choose mlp_norm"),
        ("mixtral-8x7b", "shared_experts", "stack", "choose none"),
        (
            "mixtral-8x7b",
            "mlp_norm+moe",
            "moe",
            "choose mlp_norm, or leave moe out of the modules that are computed again",
        ),
    ] {
        assert_eq!(refused(model, modules, again), [fix], "{model} {modules}");
    }
    assert_eq!(refused("mixtral-8x7b", "core_attn+attn_proj+moe", "core_attn"), Vec::<String>::new());
}

/// All of Mixtral's MLPs are experts.
#[test]
fn experts_are_not_computed_in_tiles() {
    let mut scenario = testing::scenario();
    scenario.model = crate::presets::Library::embedded().model("mixtral-8x7b").expect("a preset");
    scenario.plan.mlp_tiles = 4;
    let [problem] = &scenario.layout().expect_err("no MLP is left")[..] else { panic!("more than one problem") };
    assert_eq!((problem.field.as_str(), problem.fix.as_str()), ("plan.mlp_tiles", "choose 1"));
}

/// What all 8 layers keep of a micro-batch, 256 MiB, on a host that has that and on one that has a byte less.
#[test]
fn activations_must_fit_into_the_host() {
    let needed = 8.0 * 32.0 * 1024.0 * 1024.0;
    for (memory, fits) in [(needed, true), (needed - 1.0, false)] {
        let mut scenario = offloaded(Offload::Activations);
        (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(1));
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(memory, 1e11));
        let refused = summary(&scenario, &mut Workspace::default()).err().unwrap_or_default();
        let right =
            |refused: &[Problem]| refused[0].field == "plan.offload" && refused[0].what.contains("host's memory");
        assert!(if fits { refused.is_empty() } else { right(&refused) }, "{memory}: {refused:?}");
    }
}

/// Copies of 24 MiB each way at 10 GB/s are 2.5 ms each. Beside an update that takes longer they cost nothing; with an update
/// of no time the longer of the two is left.
#[test]
fn copies_may_run_beside_an_update_on_the_host() {
    let step = |overlap: bool, rate: Option<f64>| {
        let mut scenario = offloaded(Offload::Optimizer);
        (scenario.plan.offload_overlap, scenario.plan.host_threads) = (overlap, Some(1));
        Arc::make_mut(&mut scenario.calibration).software.host_update = rate.map(BytesPerSecond::new);
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, 1e12));
        evaluate(&scenario).step_time.get()
    };
    close(step(false, Some(1e9)) - step(true, Some(1e9)), 2.0 * LAYER / 10e9);
    close(step(false, None) - step(true, None), LAYER / 10e9);
}

/// An eighth of 8 layers' fp32 masters, 12 x 1024^2 x 4 B = 48 MiB, goes to the host at 10 GB/s and is averaged beside the step:
/// 12 B a parameter. At 1 TB/s nobody waits; at 10 MB/s the update waits for 15 s of it. A node of four ranks keeps 8 B for each.
#[test]
fn the_host_averages_weights_beside_the_step() {
    let parameters = 12.0 * 1024.0 * 1024.0;
    let run = |ema: Ema, rate: f64| {
        let mut scenario = offloaded(Offload::None);
        (scenario.plan.ema, scenario.plan.host_threads) = (ema, Some(1));
        Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(rate));
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, 1e13));
        (evaluate(&scenario), scenario)
    };
    let ((none, _), (fast, _), (slow, _)) = (run(Ema::None, 1e12), run(Ema::Host, 1e12), run(Ema::Host, 1e7));
    close(fast.host.to.bytes.get(), 4.0 * parameters);
    close(fast.host_memory.total().get(), 4.0 * 8.0 * parameters);
    assert_eq!(fast.memory.peak, none.memory.peak);
    let average = 4.0 * parameters / 10e9 + 12.0 * parameters / 1e7;
    // An update that takes no time here ends the step as soon as the host is done.
    close(slow.step_time.get(), average);
    assert!(fast.step_time >= none.step_time && fast.step_time.get() < 1.2 * none.step_time.get());
    // A checkpoint has it too, and so has one where it lies with the optimizer's state: 14 B and 4 B of all parameters.
    let all = 8.0 * parameters;
    let saved = [Ema::None, Ema::Device, Ema::Host].map(|ema| checkpoint_size(&run(ema, 1e12).1).get());
    saved.into_iter().zip([14.0 * all, 18.0 * all, 18.0 * all]).for_each(|(saved, all)| close(saved, all));
}

/// On one device over a link of 10 MB/s: 8 layers' gradients of 24 MiB go as backward leaves them. It takes no time beside that,
/// so that all of the copies but the first layer's backward is exposed either way, and no sum changes; on a link of 10 GB/s all but
/// the last one's 2.5 ms is hidden.
#[test]
fn gradients_go_while_backward_runs() {
    let step = |early: bool, rate: f64| {
        let mut scenario = offloaded(Offload::Optimizer);
        scenario.plan.accumulate = 1;
        (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(1));
        let stack = Arc::make_mut(&mut scenario.stack);
        (stack.offloads_during_backward, stack.reduce_during_backward) = (early, true);
        Arc::make_mut(&mut scenario.cluster).device.host_bandwidth = BytesPerSecond::new(rate);
        evaluate(&scenario)
    };
    let (late, early) = (step(false, 1e10), step(true, 1e10));
    assert_eq!((early.host.to.bytes, early.host.from.bytes), (late.host.to.bytes, late.host.from.bytes));
    let saved = (late.step_time - early.step_time).get();
    assert!(saved > 0.0 && saved <= 7.0 * LAYER / 1e10 * 1.001, "{saved}");
    // A thousandth of the rate: backward's milliseconds are all that can be hidden.
    let hidden = (step(false, 1e7).step_time - step(true, 1e7).step_time).get();
    assert!(hidden > 0.0 && hidden < 0.01 * 8.0 * LAYER / 1e7, "{hidden}");
}

/// A host that says how fast a thread of it is: 4 GB/s for the calibration's 1.
#[test]
fn a_host_may_state_the_rate_of_its_threads() {
    let step = |rate: Option<f64>| {
        let mut scenario = offloaded(Offload::Optimizer);
        scenario.plan.host_threads = Some(1);
        Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
        let host = Host { thread_rate: rate.map(BytesPerSecond::new), ..testing::host(1e12, 1e12) };
        Arc::make_mut(&mut scenario.cluster).host = Some(host);
        evaluate(&scenario).step_time.get()
    };
    close(step(None) - step(Some(4e9)), 12.0 * 1024.0 * 1024.0 * 28.0 * (1e-9 - 0.25e-9));
}

/// Copies of 24 MiB each way of a link of 10 GB/s, of which memory that is not page-locked leaves 10.0 / 25.7, whether the plan does
/// not lock it or the host does not let it. Gradients that go while backward runs then stop it: nothing of their copies is hidden.
#[test]
fn copies_of_pageable_memory_are_slower_and_stop_compute() {
    let step = |early: bool, plan: bool, host: bool| {
        let mut scenario = offloaded(Offload::Optimizer);
        (scenario.plan.sharding, scenario.plan.size) = (testing::ddp(), Size::Devices(1));
        (scenario.plan.accumulate, scenario.plan.host_pinned) = (1, plan);
        let stack = Arc::make_mut(&mut scenario.stack);
        (stack.offloads_during_backward, stack.reduce_during_backward) = (early, true);
        Arc::make_mut(&mut scenario.cluster).host = Some(Host { pinned: host, ..testing::host(1e12, 1e12) });
        evaluate(&scenario).step_time.get()
    };
    let longer = 2.0 * 8.0 * LAYER / 10e9 * (25.7 / 10.0 - 1.0);
    close(step(false, false, true) - step(false, true, true), longer);
    assert_eq!(step(false, true, false).to_bits(), step(false, false, true).to_bits());
    assert!(step(true, true, true) < step(false, true, true));
    close(step(true, false, true), step(false, false, true));
}

/// Four micro-batches of `DeepSpeed`: the gradients of each, an eighth of 8 layers' 24 MiB, go to the host; before those of the last
/// three the sums come, and in the end the weights. None stays on the device. With half of the optimizer on the host, half crosses
/// and half stays.
#[test]
fn sums_on_the_host_come_to_the_device_to_be_added_to() {
    let run = |early: bool, ratio: f64| {
        let mut scenario = offloaded(Offload::Optimizer);
        scenario.plan.offload_ratio = Share::new(ratio);
        let stack = Arc::make_mut(&mut scenario.stack);
        (stack.offloads_during_backward, stack.reduce_during_backward) = (early, true);
        evaluate(&scenario)
    };
    let (late, all, half) = (run(false, 1.0), run(true, 1.0), run(true, 0.5));
    for (summary, share) in [(&all, 1.0), (&half, 0.5)] {
        let HostTraffic { to, from, .. } = summary.host;
        assert_eq!((to.bytes.get(), from.bytes.get()), (4.0 * share * LAYER, (3.0 + 1.0) * share * LAYER));
    }
    let saved = |less: &Summary| (late.memory.parts.gradients - less.memory.parts.gradients).get();
    // An eighth of a layer's gradients or two are on their way at the peak.
    for (less, stays) in [(&all, 1.0), (&half, 0.5)] {
        assert!((stays - 0.3..=stays).contains(&(saved(less) / LAYER)), "{}", saved(less) / LAYER);
    }
}

/// FSDP2 adds on the host: each of the last three micro-batches' gradients, an eighth of 8 layers' 24 MiB, is read with a sum, which is
/// written, by one of four ranks that share the memory's bandwidth. Compute stops for it, but where it would wait for gathers anyway.
#[test]
fn the_host_adds_up_gradients() {
    let run = |memory: f64| {
        let mut scenario = offloaded(Offload::State);
        scenario.plan.host_threads = Some(1);
        Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(1e12, memory));
        evaluate(&scenario)
    };
    let (fast, slow) = (run(1e13), run(4e9));
    let longer = 3.0 * 3.0 * LAYER * (4.0 / 4e9 - 4.0 / 1e13);
    close((slow.host.to.busy - fast.host.to.busy).get(), longer);
    let stopped = (slow.step_time - fast.step_time).get() / longer;
    assert!((0.9..=1.001).contains(&stopped), "{stopped}");
}

/// Each of eight ranks has an eighth of 8 layers' moments, 12 x 1024^2 x 8 B = 96 MiB, in pages. With room for all of them the
/// step is as without; with 40 MiB too little all of them cross the link of 10 GB/s, out and then in, and 56 MiB are left that
/// could go; with 97 MiB too little nothing helps.
#[test]
fn pages_that_have_no_room_are_swapped_for_the_update() {
    const MIB: f64 = 1024.0 * 1024.0;
    let pages = 96.0 * MIB;
    let plain = evaluate(&offloaded(Offload::None));
    let lacking = |bytes: f64| {
        let mut scenario = offloaded(Offload::None);
        scenario.plan.paged_optimizer = true;
        scenario.plan.memory_factor = (plain.memory.peak.get() - bytes) / scenario.capacity().get();
        scenario
    };
    let roomy = evaluate(&lacking(0.0));
    assert_eq!((roomy.step_time, roomy.host, roomy.memory.moves_pages()), (plain.step_time, plain.host, false));
    close(roomy.memory.pages.get(), pages);

    let mut scenario = lacking(40.0 * MIB);
    let swapped = evaluate(&scenario);
    close((swapped.step_time - plain.step_time).get(), 2.0 * pages / 10e9);
    let HostTraffic { to, from, .. } = swapped.host;
    assert_eq!((to.bytes.get(), from.bytes.get()), (pages, pages));
    close(swapped.memory.moved_pages.get(), 40.0 * MIB);
    close(swapped.memory.pages.get(), 56.0 * MIB);
    close(swapped.memory.peak.get(), scenario.capacity().get());
    assert!(swapped.fits && !evaluate(&lacking(97.0 * MIB)).fits);

    // What goes must have room on the host, for each of a node's four ranks.
    for (memory, fits) in [(160.1 * MIB, true), (159.9 * MIB, false)] {
        Arc::make_mut(&mut scenario.cluster).host = Some(testing::host(memory, 1e11));
        let refused = summary(&scenario, &mut Workspace::default()).err().unwrap_or_default();
        assert_eq!(refused.iter().any(|problem| problem.what.contains("host's memory")), !fits, "{refused:?}");
    }

    // Stages fill unlike, and no tool has pages of Muon's.
    for (pipeline, optimizer) in [(2, Optimizer::Adam), (1, Optimizer::Muon)] {
        let mut scenario = lacking(0.0);
        (scenario.plan.pipeline, scenario.plan.optimizer) = (pipeline, optimizer);
        let refused = scenario.layout().err().unwrap_or_default();
        assert!(refused.iter().any(|problem| problem.field == "plan.paged_optimizer"), "{refused:?}");
    }
}
