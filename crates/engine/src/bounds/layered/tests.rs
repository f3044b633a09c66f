//! The closed forms against the golden values of [layered B3], [layered B6] and [layered B8].

use crate::evaluate::{self, Workspace};
use crate::presets::Library;
use crate::scenario::Scenario;
use crate::testing::x_160;

use super::*;

const STANDARD: (&str, &str) = ("accumulation", "standard");
const CONTIGUOUS: (&str, &str) = ("schedule", "1f1b");

fn days(scenario: &Scenario) -> f64 {
    (LayeredStep::new(&scenario.checked().expect("a valid scenario")).time() * 1e5).days()
}

/// [layered B8]: `X_160` on 38,640 A100 for 1e5 steps: ideal 5.975 days, modular 7.06, contiguous 12.39, 15.3
/// where the reduction of gradients is exposed. The ideal step: 8 x 1.258291e12 x 5 x 2560 / (80 x 312e12) s.
#[test]
fn days_of_x_160() {
    let modular = LayeredStep::new(&x_160(&[]).checked().expect("a valid scenario"));
    assert!(((modular.ideal * 1e5).days() - 5.975).abs() < 5e-4);
    assert!((days(&x_160(&[])) - 7.057).abs() < 5e-4);
    assert!((modular.efficiency() - 0.847).abs() < 5e-4);
    // A rank's one stage is gathered, or its gradients are summed, beside nothing: 8 bytes a parameter either way,
    // 5.975 x 6240 / 12,800 = 2.913 days on top of 5.975 x 1.1523 x 1.8 = 12.393.
    for strategy in ["zero3", "ddp"] {
        let contiguous = LayeredStep::new(
            &x_160(&[STANDARD, CONTIGUOUS, ("strategy", strategy)]).checked().expect("a valid scenario"),
        );
        assert!(((contiguous.alone * 1e5).days() - 2.913).abs() < 5e-4, "{}", (contiguous.alone * 1e5).days());
        let hidden = LayeredStep { alone: Seconds::ZERO, ..contiguous };
        assert!(((hidden.time() * 1e5).days() - 12.393).abs() < 5e-4, "{}", (hidden.time() * 1e5).days());
        assert!((hidden.efficiency() - 0.482).abs() < 5e-4);
        assert!(((contiguous.time() * 1e5).days() - 15.3).abs() < 0.05);
    }
}

/// With 4 micro-batches 5120 of 6240 flop per byte stretch the step, and 4 of 5 ranks work: `K = 32`,
/// 31 x 5 + 4 + 4 = 163 slots for 128.
#[test]
fn what_is_not_hidden_stretches_the_step() {
    let step = LayeredStep::new(&x_160(&[("accumulate", "4")]).checked().expect("a step"));
    assert!((step.exposed - 6240.0 / 5120.0).abs() < 1e-12);
    assert!((step.bubble - (163.0 / 128.0 - 1.0)).abs() < 1e-12);
    let product = step.ideal.get() * (1.0 + 520.0 / (51_200.0 / 15.0)) * 163.0 / 128.0 * 6240.0 / 5120.0;
    assert!((step.time().get() / product - 1.0).abs() < 1e-12);
}

/// [layered B6]: 521 MB of state, 251.7 GB not partitioned, 3.93 GB of buffers, 20.97 GB of checkpoints split
/// 16 ways into 1.31 GB.
#[test]
fn memory_of_x_160() {
    let memory = |flags: &[(&str, &str)]| LayeredMemory::new(&x_160(flags).checked().expect("a valid scenario"));
    let partitioned = memory(&[]);
    assert!((partitioned.state.get() - 521e6).abs() < 0.5e6, "{}", partitioned.state);
    assert!((partitioned.buffers.get() - 3.93e9).abs() < 0.005e9, "{}", partitioned.buffers);
    assert!((16.0 * partitioned.checkpoints.get() - 20.97e9).abs() < 0.005e9, "{}", partitioned.checkpoints);
    assert!((partitioned.checkpoints.get() - 1.31e9).abs() < 0.005e9, "{}", partitioned.checkpoints);
    let replicated = memory(&[("strategy", "ddp")]);
    assert!((replicated.state.get() - 251.7e9).abs() < 0.05e9, "{}", replicated.state);
    assert_eq!(replicated.buffers, Bytes::ZERO);
    assert_eq!(memory(&[("offload", "checkpoints")]).checkpoints, Bytes::ZERO);
    assert_eq!(memory(&[("recompute", "none")]).checkpoints, Bytes::ZERO);
    // Without its optimizer state a replica keeps 4 of 16 bytes per parameter: 62.9 GB; without all of it none.
    let kept = memory(&[("strategy", "ddp"), ("offload", "optimizer")]).state;
    assert!((kept.get() - 62.9e9).abs() < 0.05e9, "{kept}");
    let flat = [("pp", "1"), ("stages-per-rank", "1"), STANDARD, ("offload", "state")];
    assert_eq!(memory(&flat).state, Bytes::ZERO);
    // Without a pipeline one micro-batch is under way: 160 layers of it instead of 5 of 32.
    let flat = memory(&[("pp", "1"), ("stages-per-rank", "1"), STANDARD]);
    assert!((flat.checkpoints / partitioned.checkpoints - 1.0).abs() < 1e-12);
}

/// Two ways to the same numbers: simulated, the step takes a little longer, for what begins and ends it has
/// nothing to hide behind, and holds as much.
#[test]
fn the_simulator_agrees() {
    for offload in ["none", "state"] {
        let scenario = x_160(&[("offload", offload)]);
        let summary = evaluate::summary(&scenario, &mut Workspace::default()).expect("a valid scenario");
        let closed = LayeredStep::new(&scenario.checked().expect("a step")).time();
        assert!((1.0..1.1).contains(&(summary.step_time / closed)), "{} is not {closed}", summary.step_time);
        let (parts, memory) =
            (summary.memory.parts, LayeredMemory::new(&scenario.checked().expect("a valid scenario")));
        let states = parts.weights + parts.gradients + parts.optimizer + parts.gathered;
        assert!((states / (memory.state + memory.buffers) - 1.0).abs() < 1e-6, "{states}");
        // What one layer works in comes on top [layered B6]: at most 34 d_m d_s b_mu / n_a = 139 MB; and two gradients in
        // bf16, of its output and of its input before that is reduced, which tensor ranks have whole: 4 d_m d_s b_mu.
        let layer = (parts.activations - memory.checkpoints).get();
        assert!((0.0..(34.0 / 16.0 + 4.0) * 25_600.0 * 2560.0).contains(&layer), "{}", parts.activations);
    }
}

/// What the intensities call hidden the simulator hides, except what begins and ends a step: with eight stages a rank
/// a fortieth of it. What never hides takes as long as they say: one stage's state to a tenth; that of interleaved
/// stages, which hides in part while few micro-batches are under way, four to eleven tenths.
#[test]
fn the_simulator_hides_what_the_intensities_say() {
    let eight = [("pp", "10"), ("nodes", "400"), ("stages-per-rank", "8"), ("accumulate", "20"), STANDARD];
    let one = [("nodes", "100"), STANDARD];
    let (interleaved, breadth_first) = (("schedule", "interleaved"), ("schedule", "breadth-first"));
    for (flags, range) in [
        ([&one[..], &[CONTIGUOUS]].concat(), Some(0.9..1.1)),
        ([&one[..], &[("schedule", "gpipe")]].concat(), Some(0.9..1.1)),
        ([&one[..], &[CONTIGUOUS, ("strategy", "ddp")]].concat(), Some(0.9..1.1)),
        ([&eight[..], &[interleaved]].concat(), Some(0.4..1.1)),
        ([&eight[..], &[interleaved, ("strategy", "ddp")]].concat(), None),
        ([&eight[..], &[breadth_first]].concat(), None),
    ] {
        let scenario = x_160(&flags);
        let (step, mut workspace) = (LayeredStep::new(&scenario.checked().expect("a step")), Workspace::default());
        let simulated = evaluate::summary(&scenario, &mut workspace).expect("a valid scenario");
        let exposed = simulated.time.exposed - step.ideal * (step.tensor - 1.0);
        if let Some(range) = range {
            assert!(range.contains(&(exposed / step.alone)), "{exposed} of {}: {flags:?}", step.alone);
        } else {
            assert!((step.exposed - 1.0).abs() < 1e-12 && step.alone == Seconds::ZERO, "{step:?}: {flags:?}");
            assert!(exposed < simulated.step_time / 40.0, "{exposed}: {flags:?}");
        }
    }
}

/// [layered B3]: `82 x^(2/3)`: 2417 sequences, 6.19e6 tokens at `X_160`, 3.21e6 tokens at `X_108`; other models by
/// 573 `p^(1/3)` tokens; Kaplan's converged loss at 1.26e12 parameters: 4.3e7 tokens.
#[test]
fn critical_batches() {
    let library = Library::embedded();
    let model = |id: &str| library.model(id).expect("a preset");
    let sequences = CriticalBatch::Layered.sequences(&model("x-160"), 2560);
    assert!((sequences - 2417.0).abs() < 0.5, "{sequences}");
    assert!((sequences * 2560.0 - 6.19e6).abs() < 5e3);
    let tokens = CriticalBatch::Layered.sequences(&model("x-108"), 1728) * 1728.0;
    assert!((tokens - 3.21e6).abs() < 5e3, "{tokens}");
    // 12 x 96 x 12288^2 = 1.73946e11 parameters of blocks: 573 x 5582.2 = 3.199e6 tokens, without biases.
    let gpt3 = CriticalBatch::Layered.sequences(&model("gpt3-175b"), 2048) * 2048.0;
    assert!((gpt3 / 3.199e6 - 1.0).abs() < 1e-3, "{gpt3}");
    let kaplan = CriticalBatch::Kaplan.sequences(&model("x-160"), 2560) * 2560.0;
    assert!((kaplan - 4.3e7).abs() < 0.05e7, "{kaplan}");
    assert!((CriticalBatch::Sequences(1000.0).sequences(&model("x-160"), 2560) - 1000.0).abs() < 1e-12);
}

#[test]
fn a_critical_batch_is_a_word_or_a_count() {
    assert_eq!("kaplan".parse(), Ok(CriticalBatch::Kaplan));
    assert_eq!("layered".parse(), Ok(CriticalBatch::Layered));
    assert_eq!("2415".parse(), Ok(CriticalBatch::Sequences(2415.0)));
    for wrong in ["0", "-1", "NaN", "inf", "Kaplan", ""] {
        assert!(wrong.parse::<CriticalBatch>().is_err(), "{wrong}");
    }
}

/// [layered B3]: at the critical batch as many steps as asked for, half of them at an endless one, twice as
/// many at a third of it.
#[test]
fn steps_of_a_batch() {
    assert!((steps(1e5, 2415.0, 2415.0) - 1e5).abs() < 1e-9);
    assert!((steps(1e5, 2415.0, f64::INFINITY) - 5e4).abs() < 1e-9);
    assert!((steps(1e5, 2415.0, 805.0) - 2e5).abs() < 1e-9);
}
