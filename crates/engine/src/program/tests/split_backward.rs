//! Backward in two passes, as ZB-H1 runs it, against steps worked out by hand.

use super::*;
use crate::plan::{Offload, ScheduleRules, zero_bubble};
use crate::sim::{Observer, Simulator};

/// A layer of 1024 on each of so many ranks, for sequences of 1024 tokens, where nothing but its matrices takes time: each
/// of forward, backward for inputs and backward for weights 2 x 1024 x 12 x 1024^2 flop at 100 TFLOP/s.
pub(super) fn even(ranks: u32, micro_batches: u32) -> Scenario {
    let mut scenario = testing::scenario();
    scenario.model = Arc::new(testing::model(ranks, 1024));
    let device = &mut Arc::make_mut(&mut scenario.cluster).device;
    device.memory_bandwidth = BytesPerSecond::new(1e30);
    // Attention's products run in the storage format, the layers' in 8 bits.
    (device.peak.fp8, device.peak.bf16) = (device.peak.bf16, Some(crate::units::FlopPerSecond::new(1e30)));
    let plan = &mut scenario.plan;
    (plan.precision, plan.sharding, plan.size) = (Precision::Fp8, testing::ddp(), Size::Devices(ranks));
    (plan.pipeline, plan.accumulate) = (ranks, micro_batches);
    scenario
}

const PASS: f64 = 2.0 * 1024.0 * 12.0 * 1024.0 * 1024.0 / 100e12;

/// What each rank computes, drawn a pass to a column, and the activations that it holds.
pub(super) struct Drawing<'a> {
    program: &'a Program,
    pub rows: Vec<Vec<String>>,
    held: Vec<i64>,
    most: Vec<i64>,
}

impl Observer for Drawing<'_> {
    fn started(&mut self, rank: usize, task: &Task, place: TaskPosition, at: Picos) {
        let Activity { kind, micro_batch, .. } = self.program.ranks[rank].activity(task, &place);
        let row = &mut self.rows[rank];
        let letter = match kind {
            TaskKind::Forward => "F",
            TaskKind::Backward | TaskKind::BackwardInputs => "B",
            TaskKind::BackwardWeights => "W",
            _ => return,
        };
        row.resize((seconds(at).get() / PASS).round() as usize, "..".to_owned());
        row.push(format!("{letter}{micro_batch}"));
    }

    fn memory(&mut self, rank: usize, held: &PerMemoryKind<i64>, _at: Picos) {
        self.held[rank] = held[MemoryKind::Activations];
        self.most[rank] = self.most[rank].max(self.held[rank]);
    }
}

pub(super) fn drawn(program: &Program) -> Drawing<'_> {
    let ranks = program.ranks.len();
    let mut drawing = Drawing { program, rows: vec![Vec::new(); ranks], held: vec![0; ranks], most: vec![0; ranks] };
    let mut simulator = Simulator::default();
    simulator.run(&program.code, &program.ranks, false, &mut drawing).expect("no task waits for ever");
    let unfolded: Vec<_> = (0..ranks).map(|rank| simulator.outcome(rank)).collect();
    simulator.run(&program.code, &program.ranks, true, &mut ()).expect("no task waits for ever");
    assert_eq!(unfolded, (0..ranks).map(|rank| simulator.outcome(rank)).collect::<Vec<_>>(), "folded is unfolded");
    drawing
}

/// All passes take as long. A rank goes on with the gradients of inputs as soon as those of the next rank are there, one
/// pass later than they began: with 2 ranks `B0` of rank 1 is over at 3, when rank 0 begins its own, where 1F1B waits for
/// `W0` too. The weights' passes of rank 1 are one behind, so that the last is its last pass.
#[test]
fn zb_h1_on_two_and_three_ranks() {
    let steps: [&[&str]; 2] = [
        &[
            "F0 F1 .. B0 W0 F2 B1 W1 F3 B2 W2 B3 W3", //
            ".. F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3",
        ],
        &[
            "F0 F1 F2 .. .. B0 W0 F3 B1 W1 B2 W2 B3 W3",
            ".. F0 F1 .. B0 F2 B1 W0 F3 B2 W1 B3 W2 W3",
            ".. .. F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3",
        ],
    ];
    for expected in steps {
        let program = Program::scheduled(&even(expected.len() as u32, 4), &zero_bubble::RULES);
        assert_eq!(drawn(&program).rows.iter().map(|row| row.join(" ")).collect::<Vec<_>>(), expected);
    }
}

/// `(P - 1) (F + B - W)` of idle time, in passes that all take as long: a third of 1F1B's `(P - 1) (F + B + W)`
/// (Qi et al., table 2), beside `3 M` passes.
#[test]
fn a_third_of_the_bubble_is_left() {
    for (ranks, micro_batches) in [(2, 2), (2, 9), (3, 3), (4, 8), (8, 8), (8, 24)] {
        let slots = |rules: &'static ScheduleRules| {
            let program = Program::scheduled(&even(ranks, micro_batches), rules);
            let rows = drawn(&program).rows;
            rows.iter().map(Vec::len).max().expect("ranks") as u32
        };
        assert_eq!(slots(&zero_bubble::RULES), 3 * micro_batches + ranks - 1, "{ranks} ranks");
        // 1F1B's backward is one pass of two slots, of which the drawing has the first.
        let whole = Schedule::OneForwardOneBackward.rules();
        assert_eq!(slots(whole), 3 * micro_batches + 3 * (ranks - 1) - 1, "{ranks} ranks");
        let counts = crate::plan::pass::PipelineCounts { ranks, stages: 1, micro_batches };
        close((zero_bubble::RULES.bubble)(counts), f64::from(ranks - 1) / f64::from(3 * micro_batches));
    }
}

/// A layer keeps 16 h elements a token: 2 x 2 h around its norms, 3 h + h of attention, 4 h + 4 h of the MLP. The gradients
/// of its weights need as many, the inputs h, h, h, 4 h of its matrices and the gradients 3 h, h, 4 h, h of their outputs: 32
/// s b h bytes of either (Qi et al., table 1). Backward works in 5 h beside them. Rank r of 3 has 3 - r micro-batches
/// forward and r whose weights' pass is behind: every rank holds 3 x 32 h + 10 h bytes a token.
#[test]
fn activations_wait_for_the_pass_for_weights() {
    let token = 1024 * 1024;
    let program = Program::scheduled(&even(3, 6), &zero_bubble::RULES);
    assert_eq!(drawn(&program).most, [(3 * 32 + 10) * token; 3]);
    // Computed again from 2 h bytes a layer, what is put off still waits whole: 3 x 2 + 30 + 10 on the first rank, one
    // layer's 32 + 10 and two of 32 on the last.
    let mut scenario = even(3, 6);
    scenario.plan.recompute = Recompute::Full;
    let program = Program::scheduled(&scenario, &zero_bubble::RULES);
    let most = drawn(&program).most;
    assert_eq!((most[0], most[2]), ((3 * 2 + 30 + 10) * token, (32 + 10 + 2 * 32) * token));
}

/// Whatever lies where, two passes move and compute what one does, and leave nothing behind.
#[test]
fn two_passes_do_what_one_does() {
    let operator =
        |operator: Operator, split: u32| Placement { layers: None, operator, extents: Extents::default(), split };
    for sharding in [testing::ddp(), testing::zero3(), zeropp()] {
        for offload in [Offload::None, Offload::Checkpoints, Offload::State] {
            for recompute in [Recompute::None, Recompute::Selective, Recompute::Full] {
                for operators in [Vec::new(), vec![operator(Operator::Mlp, 1)], vec![operator(Operator::Attention, 2)]]
                {
                    let mut scenario = testing::scenario();
                    let model = Arc::make_mut(&mut scenario.model);
                    (model.vocab, model.layers) = (32_000, 7);
                    let plan = &mut scenario.plan;
                    (plan.sharding, plan.offload, plan.recompute) = (sharding.clone(), offload, recompute);
                    (plan.operators, plan.size) = (operators, Size::Nodes(4));
                    (plan.pipeline, plan.tensor, plan.accumulate) = (4, 2, 6);
                    let [whole, split] = [Schedule::OneForwardOneBackward.rules(), &zero_bubble::RULES]
                        .map(|rules| Program::scheduled(&scenario, rules));
                    for rank in 0..4 {
                        let [one, other] = [&whole, &split].map(|program| program.volume(rank));
                        let copied = |volume: &Volume| [volume.host_copies.to.bytes, volume.host_copies.from.bytes];
                        assert_eq!((one.bytes, copied(&one)), (other.bytes, copied(&other)), "{:?}", scenario.plan);
                        let [one, other] =
                            [&whole, &split].map(|program| program.ranks[rank].serial(&program.code).get());
                        assert!((one / other - 1.0).abs() < 1e-6, "{one} {other}");
                    }
                    assert_eq!(drawn(&split).held, [0; 4], "{:?}", scenario.plan);
                }
            }
        }
    }
}
