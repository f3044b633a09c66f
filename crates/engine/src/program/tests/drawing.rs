//! The drawings on the pages of program and simulator against what is built and run.

use super::*;

/// The drawing on the module's page: what each rank passes in order, what it waits for and what it sends.
#[test]
fn the_drawing_is_what_is_built() {
    let mut scenario = testing::scenario();
    scenario.plan.sharding = testing::ddp();
    (scenario.plan.pipeline, scenario.plan.accumulate) = (2, 3);
    scenario.plan.schedule = Schedule::OneForwardOneBackward;
    let program = built(&scenario);
    let drawing = include_str!("../step.txt");
    for (rank, ranks_own) in program.ranks.iter().enumerate() {
        let mut passes = Vec::new();
        let mut at = ranks_own.first();
        while let Some(position) = at {
            let graph = &program.code.graphs[ranks_own.launch(&position).graph as usize];
            let bodies = &program.code.task_loops[graph.task_loops.start as usize..graph.task_loops.end as usize];
            let tasks =
                bodies.iter().flat_map(|body| &program.code.tasks[body.tasks.start as usize..body.tasks.end as usize]);
            let tasks: Vec<_> = tasks.collect();
            let computes = |task: &&&Task| task.label.first.kind.computes_layers();
            if let Some(first) = tasks.iter().find(computes) {
                let waits = first.waits.iter().flatten().any(|wait| wait.event.remote());
                let sends = tasks.iter().any(|task| task.sends.is_some());
                let letter = if first.label.first.kind == TaskKind::Forward { "F" } else { "B" };
                let activity = ranks_own.activity(first, &TaskPosition { at: position, iteration: 0 });
                let mark = |is: bool| if is { ">" } else { "" };
                passes.push(format!("{}{letter}{}{}", mark(waits), activity.micro_batch, mark(sends)));
            }
            at = ranks_own.after(position);
        }
        assert!(drawing.contains(&format!("rank {rank}: {}\n", passes.join(" "))), "rank {rank}: {passes:?}");
    }
}

/// The times of that drawing, and those of the simulator's page, are those of a run.
#[test]
fn the_drawn_times_are_those_of_a_run() {
    let program = Program::scheduled(&split_backward::even(2, 3), Schedule::OneForwardOneBackward.rules());
    let run = split_backward::drawn(&program).rows;
    // A pass begins in the column of its time, four letters wide: `B0----` is B0, and a column with nothing else.
    let columns = |line: &str| -> Vec<String> {
        let slots = line.as_bytes()[8..].chunks(4).map(|slot| String::from_utf8_lossy(slot).into_owned());
        let mut slots: Vec<String> = slots.map(|slot| slot.trim_matches([' ', '-']).to_owned()).collect();
        slots.iter_mut().filter(|slot| slot.is_empty()).for_each(|slot| "..".clone_into(slot));
        slots
    };
    let drawing = include_str!("../step.txt");
    for (rank, run) in run.iter().enumerate() {
        let mut drawn = columns(drawing.lines().nth(rank + 1).expect("a line for each rank"));
        drawn.truncate(run.len());
        assert_eq!(*run, drawn, "rank {rank}");
        // In the table each pass has its rank and when it runs, backward for two.
        for (at, pass) in run.iter().enumerate().filter(|(_, pass)| *pass != "..") {
            let to = at + if pass.starts_with('B') { 2 } else { 1 };
            let row = format!(" {rank}     {pass}    {at:<6}{to:<4}");
            assert!(include_str!("../../sim/step.txt").contains(&row), "{row}");
        }
    }
    assert_eq!(include_str!("../../sim/step.txt").lines().count(), 1 + 2 * 6);
}
