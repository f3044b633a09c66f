//! The rate of flash attention.

use super::*;
use crate::model::AttentionWindow;

/// Rates of forward and backward of a layer, by the flop that half of `n` squared scores of 1024 channels take.
fn passes(scenario: &Scenario, kind: LayerKind) -> [f64; 2] {
    let sequence = f64::from(scenario.plan.sequence);
    let flop = 2.0 * sequence * sequence * 1024.0 / f64::from(scenario.plan.context);
    let times = rates(scenario).attention(kind, 1);
    [flop / times.forward.time.get(), 2.5 * flop / times.backward.time.get()]
}

/// Backward has 0.6 of forward's rate where the fit says so, up to 8,192 tokens; at 65,536 an eighth of what that lacks of 0.87
/// is left of flash attention 3, 0.87 - 0.27 / 8 = 0.83625; of version 2 on Ampere 0.86 - 0.26 / 8 = 0.8275; and all of it
/// elsewhere.
#[test]
fn backward_of_long_sequences_comes_near_forward() {
    let share = |attention: Attention, architecture: &str, sequence: u32| {
        let mut scenario = with(|efficiency| efficiency.attention_backward = 0.6);
        Arc::make_mut(&mut scenario.stack).attention = attention;
        Arc::make_mut(&mut scenario.cluster).device.architecture = architecture.to_owned();
        scenario.plan.sequence = sequence;
        let [forward, backward] = passes(&scenario, DENSE);
        backward / forward
    };
    close(share(Attention::Flash3, "toy", 8192), 0.6);
    close(share(Attention::Flash3, "toy", 65_536), 0.83625);
    close(share(Attention::Flash2, "ampere", 65_536), 0.8275);
    close(share(Attention::Flash2, "toy", 65_536), 0.6);
    close(share(Attention::Flash1, "ampere", 65_536), 0.6);
}

/// The flash attention 2 of an A100 (312 TFLOP/s) on heads of 128 channels at 131,072 tokens: forward at 0.65 x 131072 / 132072 of
/// the peak, 201.3 TFLOP/s, backward at 0.86 - (0.86 - 0.5) / 16 = 0.8375 of that, 168.6; together 3.5 / (1 / 201.3 + 2.5 /
/// 168.6) = 176.8. A published run of 8 sequences of 131,072 tokens (`XTuner`, Llama 2 7B on 8 A100) reached 194 in both.
#[test]
fn long_sequences_on_ampere_come_near_what_was_measured() {
    let library = Library::embedded();
    let mut file = file::parse(&library.scenario_text("default").expect("a preset").text).expect("valid");
    for (flag, value) in
        [("hardware", "a100-80gb-dgx"), ("stack", "hf-deepspeed-2024"), ("model", "llama-2-7b"), ("seq", "131072")]
    {
        file.set(flag, value).expect("a flag");
    }
    let mut scenario = library.resolve(&file).expect("a scenario");
    let calibration = Arc::make_mut(&mut scenario.calibration);
    (calibration.software.compute, calibration.software.stragglers) = (1.0, 0.0);
    calibration.stacks.clear();
    let times = rates(&scenario).attention(DENSE, 1);
    let flop = 2.0 * 131_072.0_f64.powi(2) * 4096.0;
    let rate = 3.5 * flop / (times.forward.time + times.backward.time).get() / 1e12;
    assert!((rate - 176.8).abs() < 0.1, "{rate}");
}

/// On a device that does 256 flop in the time of an exponential kernels that reach 0.5 of the peak with 128 channels take 2 of the
/// products' time, and 256 / 4 (1 / d - 1 / 128) more: of 64 channels 2.5, of 256 1.75. Backward, at 0.5 of forward's rate, takes
/// 4 and 256 / 10 (1 / d - 1 / 128) more: 4.2, 3.9.
#[test]
fn small_heads_wait_for_exponentials() {
    let of = |size: u32| {
        let mut scenario = with(|efficiency| {
            efficiency.attention_flash = [0.5; 3];
            (efficiency.attention_backward, efficiency.attention_half_sequence) = (0.5, 1e-9);
        });
        Arc::make_mut(&mut scenario.cluster).device.flop_per_exponential = Some(256.0);
        let model = Arc::make_mut(&mut scenario.model);
        (model.heads, model.kv_heads, model.head_size) = (1024 / size, 1024 / size, size);
        passes(&scenario, DENSE)
    };
    for (size, forward, backward) in [(64, 2.5, 4.2), (128, 2.0, 4.0), (256, 1.75, 3.9)] {
        let own = of(size);
        close(own[0], 100e12 / forward);
        close(own[1], 100e12 / backward);
    }
    // Kernels that begin at once are ideal.
    let mut ideal = testing::scenario();
    Arc::make_mut(&mut ideal.cluster).device.flop_per_exponential = Some(256.0);
    close(passes(&ideal, DENSE)[0], 100e12);
}

/// With half of the rate at 1,000 tokens a window of 128 costs as 128 + 500 keys: of 1024 tokens 128 x 1024 - 128^2 / 2 pairs,
/// 120 keys in the mean, so 120 / 620 of the peak. The whole sequence has 512, and 512 / 1012.
#[test]
fn a_window_costs_as_more_keys_than_it_has() {
    let mut scenario = with(|efficiency| efficiency.attention_half_sequence = 1000.0);
    let window = AttentionWindow { size: 128, ..AttentionWindow::default() };
    Arc::make_mut(&mut scenario.model).window = Some(window);
    let [all, _] = passes(&scenario, DENSE);
    close(all, 100e12 * 512.0 / 1012.0);
    let [seen, _] = passes(&scenario, LayerKind::new(Mixer::Window, LayerMlp::Plain));
    close(seen * 120.0 / 512.0, 100e12 * 120.0 / 620.0);
}

/// Of 65,536 tokens in examples of 4,096 each query meets a sixteenth of the keys, where they are kept apart: 4 x 65,536 x 4,096 x
/// 4,096 / 2 = 2.199 TFLOP of a layer of Llama 3.1 8B's 32 heads of 128 channels in forward, for 35.2. Without it examples change no
/// product.
#[test]
fn examples_that_are_kept_apart_meet_their_own_keys() {
    let mut scenario = testing::scenario();
    scenario.model = Library::embedded().model("llama-3.1-8b").expect("a preset");
    scenario.plan.sequence = 65_536;
    let flop = |scenario: &Scenario| rates(scenario).attention_work(DENSE, 1).forward.flop.get();
    close(flop(&scenario), 4.0 * 65_536.0 * 65_536.0 * 4096.0 / 2.0);
    scenario.plan.packing = Some(4096);
    close(flop(&scenario), 4.0 * 65_536.0 * 65_536.0 * 4096.0 / 2.0);
    scenario.plan.examples_apart = true;
    close(flop(&scenario), 4.0 * 65_536.0 * 4096.0 * 4096.0 / 2.0);
    let seconds = |scenario: &Scenario| rates(scenario).attention(DENSE, 1).forward.time;
    let apart = seconds(&scenario);
    // Counted flop of a token leave out what kernels leave out: 4 x 4,096 channels x (65,536 - 4,096) keys x 32 layers, of which half
    // are causal, in forward and twice that in backward.
    let executed = |apart: bool| {
        let mut scenario = scenario.clone();
        scenario.plan.examples_apart = apart;
        TokenFlop::new(&scenario).executed.get()
    };
    close(executed(false) - executed(true), 4.0 * 4096.0 * 61_440.0 * 32.0 / 2.0 * 3.0);
    scenario.plan.examples_apart = false;
    // The kernels of the toy machine take no time to begin.
    close(seconds(&scenario) / apart, 16.0);
}
