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
        scenario.plan.host_threads = threads;
        Arc::make_mut(&mut scenario.calibration).software.host_update = Some(BytesPerSecond::new(1e9));
        Arc::make_mut(&mut scenario.cluster).host = Some(host(1e12, memory));
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
        Arc::make_mut(&mut scenario.cluster).host = Some(host(memory, 1e11));
        assert_eq!(scenario.layout().is_ok(), fits, "{memory}");
    }
}

fn host(memory: f64, bandwidth: f64) -> crate::hardware::Host {
    crate::hardware::Host {
        cores: 64,
        memory: Bytes::new(memory),
        memory_bandwidth: BytesPerSecond::new(bandwidth),
        source: String::new(),
    }
}

/// 8 layers of 12 x 1024^2 parameters with 12 B of state and a gradient of 4 B each, whole on each of four ranks of a
/// node: 6.4 GB.
#[test]
fn a_state_must_fit_into_the_host() {
    let problems = |memory: f64| {
        let mut scenario = offloaded(Offload::Optimizer);
        scenario.plan.sharding = testing::ddp();
        Arc::make_mut(&mut scenario.cluster).host = Some(host(memory, 1e11));
        scenario.layout().err().unwrap_or_default()
    };
    assert!(problems(6.5e9).is_empty(), "{:?}", problems(6.5e9));
    let refused = problems(6.4e9);
    assert!(refused.len() == 1 && refused[0].field == "plan.offload", "{refused:?}");
}
