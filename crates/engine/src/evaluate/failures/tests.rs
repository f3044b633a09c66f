use crate::plan::Size;
use crate::presets::Library;
use crate::scenario::file;

use super::*;

/// Llama 3.1 405B as it was trained for 54 days: 16,384 H100, tensor 8, pipeline 16.
fn llama() -> Scenario {
    let text = "format = 1\ncluster = 'h100-80gb-dgx'\nstack = 'default'\nmodel = 'llama-3.1-405b'\nstrategy = 'zero1'\n\
                [plan]\nnodes = 2048\ntensor = 8\npipeline = 16\naccumulate = 16\n";
    Library::embedded().resolve(&file::parse(text).unwrap()).unwrap()
}

#[test]
fn a_checkpoint_is_the_state_once() {
    let mut scenario = llama();
    // 405.85e9 parameters x (2 bytes of bf16 weights + 4 of master weights + 8 of Adam's moments) = 5.682 TB.
    assert!((checkpoint_size(&scenario).get() / 5.682e12 - 1.0).abs() < 1e-3, "{}", checkpoint_size(&scenario));
    // The file system takes 2 TB/s. Two nodes have eight ports of 50 GB/s each, 0.8 TB/s; one device's link to its host
    // carries 0.84 of 63 GB/s, and its node's ports 400.
    assert_eq!(checkpoint_bandwidth(&scenario), Some(BytesPerSecond::new(2e12)));
    scenario.plan.size = Size::Nodes(2);
    assert_eq!(checkpoint_bandwidth(&scenario), Some(BytesPerSecond::new(0.8e12)));
    (scenario.plan.tensor, scenario.plan.pipeline, scenario.plan.size) = (1, 1, Size::Devices(1));
    assert_eq!(checkpoint_bandwidth(&scenario), Some(BytesPerSecond::new(0.84 * 63e9)));
}

/// The Llama 3 paper (arXiv 2407.21783, section 3.3.4) counts 419 unexpected interruptions of 16,384 H100 in 54 days and
/// reports an effective training time of more than 90 %. `MLSys-im` 0.3.0 puts that machine at 90.3 %.
#[test]
fn the_goodput_of_sixteen_thousand_devices_is_that_of_llama_3() {
    let forecast = FailureForecast::new(&llama(), Seconds::new(4.0)).unwrap();
    let Interruptions { between, restart, write } = forecast.interruptions;
    // 54 x 24 h / 419 = 3.093 h.
    assert!((between.hours() - 54.0 * 24.0 / 419.0).abs() < 1e-3, "{between}");
    // 5.682 TB / 2 TB/s = 2.841 s; 10 minutes, as MegaScale says.
    assert!((write.get() - 2.841).abs() < 1e-3 && restart == Seconds::new(600.0), "{write} {restart}");
    // sqrt(2 x 2.841 x 11,135) = 251.5; x (1 + 0.0113 / 3) - 2.8 = 249.7 s.
    assert!((forecast.interval.get() - 249.7).abs() < 0.2, "{}", forecast.interval);
    // e^(600 / 11,135) = 1.05536, e^(252.5 / 11,135) - 1 = 0.022937: 249.7 / (11,135 x 1.05536 x 0.022937) = 0.9264.
    let goodput = forecast.shares.useful;
    assert!((goodput - 0.9264).abs() < 5e-4, "{goodput}");
    assert!((0.88..0.95).contains(&goodput));
}

#[test]
fn no_checkpoint_comes_before_the_step_ends_and_nothing_is_made_up() {
    let forecast = FailureForecast::new(&llama(), Seconds::new(3600.0)).unwrap();
    assert_eq!(forecast.interval, Seconds::new(3600.0));
    let mut scenario = llama();
    std::sync::Arc::make_mut(&mut scenario.cluster).reliability.restart = None;
    assert_eq!(FailureForecast::new(&scenario, Seconds::new(4.0)), None);
}

#[test]
fn fewer_devices_are_stopped_less_often() {
    let mut scenario = llama();
    scenario.plan.size = Size::Nodes(128);
    let forecast = FailureForecast::new(&scenario, Seconds::new(60.0)).unwrap();
    // 1,024 devices: 16 x 3.093 = 49.49 h between stops.
    assert!((forecast.interruptions.between.hours() - 49.49).abs() < 0.01);
    assert!(forecast.shares.useful > 0.98, "{forecast:?}");
}
