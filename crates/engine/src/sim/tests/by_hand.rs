//! Programs whose steps are worked out by hand.

use super::*;

#[test]
fn compute_hides_a_gather_that_may_begin_early() {
    let gather = |computed: i64| waiting(task(Stream::Gather, 30, GATHERED), &[after(computed, COMPUTED)]);
    let compute = |gathered: i64| waiting(task(Stream::Compute, 100, COMPUTED), &[after(gathered, GATHERED)]);
    // Not before the first compute ends: gather 0-30, compute 30-130, gather 130-160, compute 160-260.
    let outcome = run(&once(&[gather(0), compute(1), gather(1), compute(2)]), true)[0];
    assert_eq!((outcome.end, outcome.totals.exposed.iter().sum::<Picos>()), (260, 60));
    // At once: gathers 0-30 and 30-60, compute 30-130 and 130-230.
    let outcome = run(&once(&[gather(0), compute(1), gather(0), compute(2)]), true)[0];
    assert_eq!((outcome.end, outcome.totals.exposed.iter().sum::<Picos>()), (230, 30));
    assert_eq!((outcome.totals.compute, outcome.totals.communication), (200, 60));
}

#[test]
fn two_transfers_share_a_level() {
    // 100 and 50 ps of the whole level: both run at half pace until the shorter ends at 100, having
    // done 50 each; the longer does its other 50 alone: 150.
    let level = |stream, duration, signal| demanding(task(stream, duration, signal), 0, FULL_DEMAND);
    let outcome =
        run(&once(&[level(Stream::Gather, 100, GATHERED), level(Stream::Reduce, 50, TaskEvent::Reduced)]), true)[0];
    assert_eq!(outcome.end, 150);

    // Half of the level each: nothing is shared.
    let half = |stream, duration, signal| demanding(task(stream, duration, signal), 0, FULL_DEMAND / 2);
    let outcome =
        run(&once(&[half(Stream::Gather, 100, GATHERED), half(Stream::Reduce, 50, TaskEvent::Reduced)]), true)[0];
    assert_eq!(outcome.end, 100);
}

#[test]
fn contention_adds_its_share_of_the_shorter() {
    // max + share x min [prototype: overlap]: 1000 + 0.25 x 400 = 1100.
    let compute = demanding(task(Stream::Compute, 1000, COMPUTED), DEVICE, FULL_DEMAND);
    let gather = demanding(task(Stream::Gather, 400, GATHERED), DEVICE, FULL_DEMAND / 4);
    assert_eq!(run(&once(&[compute, gather]), true)[0].end, 1100);
}

/// The smallest case of hybrid sharding: compute beside a reduction and a sum over replicas, a quarter of the device each.
/// The device does no more than it can, so all three take 3/2 of their time together: 400 of each until 600, then the other
/// 600 of compute alone: 1000 + 0.25 x (400 + 400) = 1200. A sum that is longer than compute is slowed by as much of
/// compute: 500 + 0.25 x 400 = 600.
#[test]
fn transfers_on_two_streams_take_their_shares_both() {
    let compute = |duration| demanding(task(Stream::Compute, duration, COMPUTED), DEVICE, FULL_DEMAND);
    let beside = |stream, duration, signal| demanding(task(stream, duration, signal), DEVICE, FULL_DEMAND / 4);
    let (reduction, sum) = (beside(Stream::Reduce, 400, TaskEvent::Reduced), |duration| {
        beside(Stream::Replicas, duration, TaskEvent::Summed)
    });
    assert_eq!(run(&once(&[compute(1000), reduction, sum(400)]), true)[0].end, 1200);
    assert_eq!(run(&once(&[compute(400), sum(500)]), true)[0].end, 600);
}

#[test]
fn a_rank_that_waits_for_another_has_a_bubble() {
    let mut send = task(Stream::Compute, 70, COMPUTED);
    send.sends = Some(Direction::Forward);
    let second = waiting(task(Stream::Compute, 50, COMPUTED), &[after(1, TaskEvent::ArrivedForward)]);
    let outcomes = run(&once(&[send]).with_once(&[second]), true);
    assert_eq!((outcomes[0].end, outcomes[1].end), (70, 120));
    assert_eq!((outcomes[1].totals.bubble, outcomes[1].totals.compute), (70, 50));
}

/// A launch that computes for 100 ns and then lets a transfer of 40 ns fly, which takes a quarter of the device, so
/// that both take 5/4 of their time while they run together; `waits` says for which arrival compute does.
fn computes_and_sends(graph: &mut GraphBuilder<'_>, waits: Option<TaskEvent>) {
    if let Some(event) = waits {
        graph.expect(event);
    }
    graph.task_loop(1, |task_loop| {
        let arrived: Vec<EventWait> = waits.into_iter().map(|event| task_loop.after(event, 0)).collect();
        task_loop.push(waiting(demanding(task(Stream::Compute, 100_000, COMPUTED), DEVICE, FULL_DEMAND), &arrived));
        let computed = task_loop.after(COMPUTED, 0);
        task_loop.push(waiting(
            demanding(task(Stream::Pipeline, 40_000, TaskEvent::Reduced), DEVICE, FULL_DEMAND / 4),
            &[computed],
        ));
    });
}

#[test]
fn a_transfer_flies_beside_the_next_slot() {
    let outcome = |launches: u32| {
        run(&program(|builder| builder.batch_loop(launches, |launch| computes_and_sends(launch, None))), true)[0]
    };
    // 100, then in each further launch 50 beside the transfer, in which 40 of its 100 are done, and 60 alone: 110. The
    // last transfer flies alone: 40.
    for launches in 1..=20 {
        let Outcome { end, totals, .. } = outcome(launches);
        let further = u64::from(launches) - 1;
        assert_eq!(end, 100_000 + 110_000 * further + 40_000, "{launches} launches");
        assert_eq!((totals.compute, totals.communication), (100_000 + 110_000 * further, 50_000 * further + 40_000));
    }
}

#[test]
fn what_is_left_of_a_transfer_slows_the_next_slot() {
    let ranks = |launches: u32| {
        let mut sends = task(Stream::Compute, 120_000, COMPUTED);
        sends.sends = Some(Direction::Forward);
        program(|builder| builder.batch_loop(launches, |launch| launch.task_loop(1, |task_loop| task_loop.push(sends))))
            .with(|builder| {
                builder.batch_loop(launches, |launch| computes_and_sends(launch, Some(TaskEvent::ArrivedForward)));
            })
    };
    // Compute begins at 120, 240, 360. At 240 the transfer of 220 has 20 left, which take 25: 240 + 25 + 80 = 345. At
    // 360 that of 345 has 25 left, which take 31.25: 360 + 31.25 + 75 = 466.25; the last takes 40 more. Bubbles: 120
    // at first, 20 from 220 on, 15 from 345 on.
    let Outcome { end, totals, .. } = run(&ranks(3), true)[1];
    assert_eq!((end, totals.bubble, totals.exposed.iter().sum::<Picos>()), (506_250, 155_000, 40_000));
    for launches in [4, 9, 20] {
        assert_eq!(run(&ranks(launches), true), run(&ranks(launches), false), "{launches} launches");
    }
}

#[test]
fn memory_peaks_where_takes_outweigh_gives() {
    let mut first = task(Stream::Compute, 10, COMPUTED);
    (first.allocates[MemoryKind::Activations], first.frees[MemoryKind::Activations]) = (100, 60);
    let mut second = task(Stream::Compute, 10, COMPUTED);
    (second.allocates[MemoryKind::Activations], second.frees[MemoryKind::Activations]) = (50, 90);
    let peak = run(&once(&[first, second]), true)[0].peak;
    assert_eq!((peak.allocated[MemoryKind::Activations], peak.at, peak.task), (100, 0, 0));
    second.allocates[MemoryKind::Activations] = 70;
    let peak = run(&once(&[first, second]), true)[0].peak;
    assert_eq!((peak.allocated[MemoryKind::Activations], peak.at, peak.task), (110, 10, 1), "100 - 60 + 70");
}

/// Compute of 100 behind a gather of 30, twice, takes 260, and holds 100 bytes while it computes. Once the second gather
/// is over, at 160, another 100 are left.
#[test]
fn a_run_beyond_its_limits_is_broken_off() {
    let gather = |computed: i64| waiting(task(Stream::Gather, 30, GATHERED), &[after(computed, COMPUTED)]);
    let compute = |gathered: i64| {
        let mut task = waiting(task(Stream::Compute, 100, COMPUTED), &[after(gathered, GATHERED)]);
        (task.allocates[MemoryKind::Activations], task.frees[MemoryKind::Activations]) = (100, 100);
        task
    };
    let Program { code, programs } = once(&[gather(0), compute(1), gather(1), compute(2)]);
    assert_eq!(programs[0].computing(&code), 200);
    let ends = |end: Picos, allocated: i64| {
        let limits = [RankLimits { end, allocated, computing: 200, drain: None }];
        Simulator::default().run_within(&code, &programs, &limits, true, &mut ()).expect("no task waits for ever")
    };
    assert_eq!([ends(260, 100), ends(259, 100), ends(260, 99)], [true, false, false]);
}

#[test]
fn a_circle_is_reported_and_does_not_hang() {
    let first = waiting(task(Stream::Compute, 10, COMPUTED), &[after(1, GATHERED)]);
    let second = waiting(task(Stream::Gather, 10, GATHERED), &[after(1, COMPUTED)]);
    let Program { code, programs } = once(&[first, second]);
    let stuck = Simulator::default().run(&code, &programs, true, &mut ());
    assert_eq!(stuck, Err(Deadlock { rank: 0, task: Some(0) }));
}

/// Counts the tasks that are run one by one.
struct Count(u64);

impl Observer for Count {
    fn started(&mut self, _: usize, _: &Task, _: TaskPosition, _: Picos) {
        self.0 += 1;
    }
}

#[test]
fn a_million_iterations_cost_a_few() {
    let layers = program(|builder| {
        builder.batch_loop(1000, |builder| {
            builder.task_loop(1000, |builder| {
                builder.push(waiting(task(Stream::Gather, 30, GATHERED), &[builder.after(COMPUTED, 1)]));
                builder.push(waiting(task(Stream::Compute, 20, COMPUTED), &[builder.after(GATHERED, 0)]));
            });
        });
    });
    let mut count = Count(0);
    let mut simulator = Simulator::default();
    simulator.run(&layers.code, &layers.programs, true, &mut count).expect("no task waits for ever");
    // The gather is the slower of the two: 30 each, and a micro-batch loop's last compute after its last gather.
    assert_eq!(simulator.outcome(0).end, 30_000_000 + 1000 * 20);
    assert!(count.0 < 200, "{} tasks were run one by one", count.0);
}

/// More work can end a step earlier when the wire is shared: the wait that it causes keeps a
/// transfer that nobody needs out of the way of one that everybody needs.
#[test]
fn sharing_is_not_monotone_and_this_is_why() {
    let end = |first: Picos| {
        let first = task(Stream::Compute, first, COMPUTED);
        // Needed at once: compute waits for it.
        let needed = waiting(demanding(task(Stream::Gather, 100, GATHERED), 0, FULL_DEMAND), &[after(0, COMPUTED)]);
        // Needed by nobody, begins after the first compute.
        let spare =
            waiting(demanding(task(Stream::Reduce, 100, TaskEvent::Reduced), 0, FULL_DEMAND), &[after(1, COMPUTED)]);
        let last = waiting(task(Stream::Compute, 1000, COMPUTED), &[after(1, GATHERED)]);
        run(&once(&[first, needed, spare, last]), true)[0].end
    };
    // 50: alone until 50, half pace after: 50 + 2 x 50 = 150, then 1000. 100: no sharing: 100, then 1000.
    assert_eq!((end(50), end(100)), (1150, 1100));
}

/// The same where a link gets faster: 100 bytes at 1 and at 4 bytes per ps, and all else as it is.
#[test]
fn a_faster_link_can_give_a_later_end() {
    let end = |rate: Picos| {
        let node = |stream, duration, signal| demanding(task(stream, duration, signal), 1, FULL_DEMAND);
        let system = |stream, duration, signal| demanding(task(stream, duration, signal), 0, FULL_DEMAND);
        // Inside the node a reduction; what follows it on its stream sums replicas over the system's link.
        let inside = node(Stream::Reduce, 100 / rate, TaskEvent::Reduced);
        let replicas = system(Stream::Reduce, 100, TaskEvent::Reduced);
        // Meanwhile a gather over the system's link, for which all that is left to compute waits.
        let gather = system(Stream::Gather, 100, GATHERED);
        let compute = waiting(task(Stream::Compute, 1000, COMPUTED), &[after(1, GATHERED)]);
        run(&once(&[inside, replicas, gather, compute]), true)[0].end
    };
    // Rate 1: the replicas begin at 100, when the gather is there: compute 100-1100.
    // Rate 4: they begin at 25, and the gather's other 75 take 150: there at 175, compute 175-1175.
    assert_eq!((end(1), end(4)), (1100, 1175));
}
