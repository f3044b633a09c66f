//! Random programs: against an independent evaluation, and folded against unfolded.

use super::*;

/// A task of a random program: it waits for what the tasks listed before it raise, so there is no circle.
#[derive(Debug, Clone)]
struct Sketch {
    stream: u8,
    duration: Picos,
    demand: [u32; 2],
    waits: Vec<(u8, i64)>,
    allocates: i64,
    frees: i64,
}

const STREAMS: [Stream; 4] = [Stream::Compute, Stream::Gather, Stream::Reduce, Stream::Tensor];

/// What each of them raises.
const SIGNALS: [TaskEvent; 4] = [TaskEvent::Computed, TaskEvent::Gathered, TaskEvent::Reduced, TaskEvent::Tensor];

fn sketch() -> impl Strategy<Value = Sketch> {
    let demand = prop_oneof![Just(0), Just(FULL_DEMAND), 1..FULL_DEMAND];
    let waits = proptest::collection::vec((0..4_u8, 0..3_i64), 0..3);
    // A gather over a single device takes no time: what such a task holds meanwhile is no peak.
    let duration = prop_oneof![1 => Just(0), 4 => 0..500_u64];
    (0..4_u8, duration, [demand.clone(), demand], waits, 0..100_i64, 0..100_i64).prop_map(
        |(stream, duration, demand, waits, allocates, frees)| Sketch {
            stream,
            duration,
            demand,
            waits,
            allocates,
            frees,
        },
    )
}

type Sections = Vec<(u32, Vec<(u32, Vec<Sketch>)>)>;

fn batch_loops() -> impl Strategy<Value = Sections> {
    let task_loop = (1..14_u32, proptest::collection::vec(sketch(), 1..5));
    let batch_loop = (1..9_u32, proptest::collection::vec(task_loop, 1..4));
    proptest::collection::vec(batch_loop, 1..4)
}

fn build(batch_loops: &Sections, share: bool) -> Program {
    program(|builder| {
        for (repeat, task_loops) in batch_loops {
            builder.batch_loop(*repeat, |graph| {
                for (repeat, tasks) in task_loops {
                    graph
                        .task_loop(*repeat, |task_loop| tasks.iter().for_each(|sketch| push(task_loop, sketch, share)));
                }
            });
        }
    })
}

fn push(task_loop: &mut GraphBuilder<'_>, sketch: &Sketch, share: bool) {
    let mut new = task(STREAMS[usize::from(sketch.stream)], sketch.duration, SIGNALS[usize::from(sketch.stream)]);
    if share {
        new.demand[0] = sketch.demand[0];
        new.demand[DEVICE] = sketch.demand[1];
    }
    new.allocates[MemoryKind::Activations] = sketch.allocates;
    new.frees[MemoryKind::Activations] = sketch.frees;
    let waits: Vec<EventWait> =
        sketch.waits.iter().map(|(event, behind)| task_loop.after(SIGNALS[usize::from(*event)], *behind)).collect();
    task_loop.push(waiting(new, &waits));
}

/// A task with its waits as absolute counts.
type Unrolled = (Task, Vec<(usize, i64)>);

/// Every task of a program in the order of the list; launch by launch.
fn unrolled(program: &Program) -> Vec<Vec<Unrolled>> {
    let Program { code, programs } = program;
    let mut all = Vec::new();
    let mut expected = [0_i64; EVENTS];
    let mut at: Option<LaunchPosition> = programs[0].first();
    while let Some(position) = at {
        let mut launch = Vec::new();
        let graph = &code.graphs[programs[0].launch(&position).graph as usize];
        for task_loop in &code.task_loops[graph.task_loops.start as usize..graph.task_loops.end as usize] {
            for _ in 0..task_loop.repeat {
                let start = expected;
                for task in &code.tasks[task_loop.tasks.start as usize..task_loop.tasks.end as usize] {
                    let wait = |wait: &EventWait| (wait.event as usize, start[wait.event as usize] + wait.offset);
                    launch.push((*task, task.waits.iter().flatten().map(wait).collect()));
                    task.signals.iter().flatten().for_each(|event| expected[*event as usize] += 1);
                }
            }
        }
        all.push(launch);
        at = programs[0].after(position);
    }
    all
}

fn tasks(program: &Program) -> Vec<Task> {
    unrolled(program).into_iter().flatten().map(|(task, _)| task).collect()
}

/// When a program ends if nothing is shared: a task starts when its stream is free, its waits hold, and
/// compute and what is serialised with it are done with the launches before.
fn longest_path(program: &Program) -> Picos {
    let mut free = PerStream::all(0);
    let mut raised: Vec<Vec<Picos>> = vec![Vec::new(); EVENTS];
    let (mut over, mut next) = (0, 0);
    for launch in unrolled(program) {
        for (task, waits) in launch {
            let met = |(event, least): (usize, i64)| (least > 0).then(|| raised[event][least as usize - 1]);
            let ready = waits.into_iter().filter_map(met).max().unwrap_or(0);
            let start = ready.max(free[task.stream]).max(over);
            let end = start + task.duration;
            free[task.stream] = end;
            task.signals.iter().flatten().for_each(|event| raised[*event as usize].push(end));
            if SERIAL.contains(task.stream) {
                next = next.max(end);
            }
        }
        over = next;
    }
    free.values().copied().max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn folded_equals_unfolded(batch_loops in batch_loops(), share: bool) {
        let program = build(&batch_loops, share);
        prop_assert_eq!(run(&program, true), run(&program, false));
    }

    #[test]
    fn without_sharing_the_end_is_the_longest_path(batch_loops in batch_loops()) {
        let program = build(&batch_loops, false);
        let expected = longest_path(&program);
        prop_assert_eq!(run(&program, true)[0].end, expected);
    }

    #[test]
    fn the_parts_of_time_sum_to_the_end(batch_loops in batch_loops(), share: bool) {
        let outcome = run(&build(&batch_loops, share), true)[0];
        let TimeTotals { compute, optimizer, host, exposed, bubble, waiting, communication, phases, .. } = outcome.totals;
        prop_assert_eq!(phases.iter().sum::<Picos>(), outcome.end);
        let exposed: Picos = exposed.iter().sum();
        prop_assert_eq!(compute + optimizer + host + exposed + bubble + waiting, outcome.end);
        prop_assert!(exposed <= communication);
    }

    #[test]
    fn sharing_never_beats_having_everything_alone(batch_loops in batch_loops()) {
        let program = build(&batch_loops, true);
        let busy: Picos = STREAMS.into_iter().map(|stream| {
            tasks(&program).iter().filter(|task| task.stream == stream).map(|task| task.duration).sum()
        }).max().unwrap_or(0);
        let end = run(&program, true)[0].end;
        prop_assert!(end >= longest_path(&program));
        prop_assert!(end >= busy);
    }

    #[test]
    fn without_sharing_no_duration_can_grow_and_the_end_shrink(
        batch_loops in batch_loops(), which: proptest::sample::Index, more in 1..1000_u64,
    ) {
        let mut program = build(&batch_loops, false);
        let before = run(&program, true)[0].end;
        let count = program.code.tasks.len();
        program.code.tasks[which.index(count)].duration += more;
        prop_assert!(run(&program, true)[0].end >= before);
    }

    #[test]
    fn ranks_that_do_the_same_end_at_the_same_time(batch_loops in batch_loops()) {
        let program = build(&batch_loops, true).with_same();
        let outcomes = run(&program, true);
        prop_assert_eq!(outcomes[0], outcomes[1]);
        prop_assert_eq!(outcomes, run(&program, false));
    }
}

#[test]
fn a_peak_is_met_where_it_is_first_reached() {
    let batch_loops: Sections = vec![(
        1,
        vec![
            (
                6,
                vec![
                    Sketch { stream: 2, duration: 20, demand: [0, 0], waits: vec![(0, 0)], allocates: 87, frees: 87 },
                    Sketch { stream: 0, duration: 50, demand: [0, 0], waits: vec![], allocates: 19, frees: 11 },
                ],
            ),
            (1, vec![Sketch { stream: 1, duration: 10, demand: [0, 0], waits: vec![(2, 1)], allocates: 0, frees: 8 }]),
        ],
    )];
    let program = build(&batch_loops, true).with_same();
    let (folded, unfolded) = (run(&program, true), run(&program, false));
    assert_eq!(folded, unfolded);
    // 8 more from each iteration to the next, and 87 + 19 within: 32 + 106 in the fifth, from 4 x 50 on; the
    // sixth has no more, because the last task gives back 8 after the fifth.
    assert_eq!((unfolded[0].peak.allocated[MemoryKind::Activations], unfolded[0].peak.at), (138, 200));
}

#[test]
fn what_is_never_given_back_peaks_in_the_last_slot() {
    let forever = || Sketch { stream: 0, duration: 0, demand: [0, 0], waits: vec![], allocates: 19, frees: 0 };
    for (launches, layers) in [(2, 1), (1, 2), (3, 2)] {
        let program = build(&vec![(launches, vec![(layers, vec![forever()])])], true);
        let (folded, unfolded) = (run(&program, true), run(&program, false));
        assert_eq!(folded, unfolded);
        assert_eq!(unfolded[0].peak.allocated[MemoryKind::Activations], i64::from(launches * layers) * 19);
    }
}
