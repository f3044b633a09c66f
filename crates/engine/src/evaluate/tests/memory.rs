//! What memory is held for.

use super::*;

#[test]
fn memory_is_state_checkpoints_and_what_backward_works_in() {
    let mut scenario = testing::scenario();
    scenario.plan.recompute = Recompute::Full;
    let memory = evaluate(&scenario).memory;
    let parameters = 8.0 * 12.0 * 1_048_576.0;
    close(memory.parts.weights.get(), 2.0 * parameters / 8.0);
    close(memory.parts.optimizer.get(), 12.0 * parameters / 8.0);
    // At the peak, in the backward of the last layer but one, while the last one's gradients still travel:
    // 7 checkpoints of 2 h bytes per token, the layer's other 30 h bytes computed again [fsdp A2: 34 h
    // less two mask bytes and the checkpoint], and gradients of width h + 4 h: 10 h bytes.
    close(memory.parts.activations.get(), (7.0 * 2.0 + 30.0 + 10.0) * 1024.0 * 1024.0);
    // Two gathered layers, and two layers' gradients beside the shard.
    close(memory.parts.gathered.get(), 2.0 * 2.0 * parameters / 8.0);
    close(memory.parts.gradients.get(), 2.0 * parameters / 8.0 + 2.0 * 2.0 * parameters / 8.0);
    assert_eq!((memory.during.kind, memory.during.layer), (TaskKind::Backward, 6));
}

#[test]
fn the_host_keeps_what_is_offloaded() {
    let mut scenario = testing::scenario();
    let before = evaluate(&scenario);
    scenario.plan.offload = Offload::Optimizer;
    let optimizer = evaluate(&scenario);
    assert_eq!(optimizer.memory.parts.optimizer, Bytes::ZERO);
    // The gradients' shard goes out and the weights' comes back: 2 x 2 P/8 bytes at 10 GB/s.
    let copies = 2.0 * 2.0 * 12.0 * 1_048_576.0 / 10e9;
    close((optimizer.step_time - before.step_time).get(), copies);
    scenario.plan.offload = Offload::All;
    scenario.plan.recompute = Recompute::Full;
    let all = evaluate(&scenario);
    assert_eq!((all.memory.parts.weights, all.memory.parts.optimizer), (Bytes::ZERO, Bytes::ZERO));
    assert!(all.memory.peak < optimizer.memory.peak);
}

#[test]
fn the_second_copy_lives_between_forward_and_backward() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding.secondary = Some(Secondary { extent: Extent::Node, format: Format::Bf16 });
    // hpZ over 4 ranks: 2 P / 4 bytes at the turn from forward to backward [frontier D6].
    let memory = evaluate(&scenario).memory;
    close(memory.parts.secondary_weights.get(), 2.0 * 8.0 * 12.0 * 1_048_576.0 / 4.0);
}

/// A layer of 12 x 1024^2 weights in bf16 is 24 MiB, its largest matrix 4 x 1024^2 weights, 8 MiB. A program that gathers it
/// matrix by matrix has the largest at least, 9 MiB where it may keep as many weights, and never more than all.
#[test]
fn a_layer_that_is_gathered_by_its_matrices_is_never_whole() {
    const MIB: f64 = 1024.0 * 1024.0;
    let gathered = |live: Option<f64>| {
        let mut scenario = testing::scenario();
        scenario.plan.prefetch = 0;
        std::sync::Arc::make_mut(&mut scenario.stack).live_parameters = live;
        evaluate(&scenario).memory.parts.gathered.get() / MIB
    };
    let whole = gathered(None);
    for (live, layer) in [(1.0, 8.0), (4.5 * MIB, 9.0), (1e9, 24.0)] {
        close(gathered(Some(live)), whole * layer / 24.0);
    }
}
