//! The threads that work: latest wins, cancel, panics.

use std::sync::mpsc::{self, Receiver};
use std::time::Instant;

use super::*;
use crate::app::tests::explorer;
use crate::app::views::hardware::HardwareFill;
use shardscope_engine::search::Cell;
use shardscope_evidence::measured::runs::Tables;

const PATIENCE: Duration = Duration::from_secs(20);

fn listen() -> (Tell, Receiver<JobReport>) {
    let (reports, queue) = mpsc::channel();
    (Arc::new(move |report| drop(reports.send(report))), queue)
}

#[test]
fn the_waiting_job_is_overwritten() {
    let slot = JobSlot::default();
    for job in 1..=3 {
        slot.put(job);
    }
    assert_eq!(slot.take(), Some(3));
    slot.put(4);
    slot.close();
    assert_eq!(slot.take(), None, "a closed slot hands out nothing");
}

#[test]
fn a_scenario_is_answered_under_its_number() {
    let (tell, queue) = listen();
    let jobs = Jobs::start(Some(1), Duration::ZERO, &tell).unwrap();
    jobs.evaluate(7, Box::new(explorer().scenario.into_checked().unwrap()));
    let JobReport::Evaluated { generation: 7, result: Ok(evaluation) } = queue.recv_timeout(PATIENCE).unwrap() else {
        panic!("no answer");
    };
    assert!(evaluation.summary.step_time.get() > 0.0);
}

#[test]
fn a_map_comes_in_batches_and_whole() {
    let (tell, queue) = listen();
    let mut jobs = Jobs::start(Some(2), Duration::from_millis(50), &tell).unwrap();
    let sweep = Arc::clone(&explorer().views.map.sweep);
    jobs.sweep(1, Arc::clone(&sweep), 0);
    let mut seen = vec![false; sweep.len()];
    while seen.iter().any(|seen| !seen) {
        let JobReport::Cells { generation: 1, cells } = queue.recv_timeout(PATIENCE).unwrap() else {
            panic!("no cells")
        };
        for (index, _) in cells {
            assert!(!std::mem::replace(&mut seen[index], true), "cell {index} came twice");
        }
    }
}

#[test]
fn a_new_map_cancels_the_old_one() {
    let (tell, queue) = listen();
    let mut jobs = Jobs::start(Some(1), Duration::ZERO, &tell).unwrap();
    let sweep = Arc::clone(&explorer().views.map.sweep);
    for generation in 1..=20 {
        jobs.sweep(generation, Arc::clone(&sweep), 0);
    }
    let (mut old, mut new) = (0, 0);
    while new < sweep.len() {
        match queue.recv_timeout(PATIENCE).unwrap() {
            JobReport::Cells { generation: 20, cells } => new += cells.len(),
            JobReport::Cells { cells, .. } => old += cells.len(),
            other => panic!("{other:?}"),
        }
    }
    assert!(old < 19 * sweep.len(), "every map ran to its end");
}

#[test]
fn a_panic_ends_the_job_and_not_the_thread() {
    let (tell, queue) = listen();
    let slot = Arc::<JobSlot<Numbered<()>>>::default();
    spawn("test", &slot, &tell, |generation, (), tell| {
        assert!(generation != 1, "job one is bad");
        tell(JobReport::Cells { generation, cells: Vec::new() });
    })
    .unwrap();
    slot.put(Numbered { generation: 1, job: () });
    let failed = queue.recv_timeout(PATIENCE).unwrap();
    let JobReport::Failed { generation: 1, job: "test", message } = failed else { panic!("{failed:?}") };
    assert_eq!(message, "job one is bad");
    slot.put(Numbered { generation: 2, job: () });
    let next = queue.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(next, JobReport::Cells { generation: 2, .. }), "{next:?}");
    slot.close();
}

#[test]
fn a_views_work_is_done_and_a_new_one_cancels_it() {
    let (tell, queue) = listen();
    let mut jobs = Jobs::start(Some(1), Duration::ZERO, &tell).unwrap();
    let mut sweep = (*explorer().views.map.sweep).clone();
    sweep.tune = true;
    let sweep = Arc::new(sweep);
    for generation in 1..=20 {
        jobs.work(generation, Arc::new(HardwareFill { sweep: Arc::clone(&sweep), from: 0 }));
    }
    let (mut old, mut new) = (0, 0);
    while new < sweep.len() {
        match queue.recv_timeout(PATIENCE).unwrap() {
            JobReport::Found { generation, found } => {
                let cells = found.get::<Vec<(usize, Cell)>>().expect("cells").len();
                *(if generation == 20 { &mut new } else { &mut old }) += cells;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(old < 19 * sweep.len(), "every work ran to its end");
}

#[test]
fn evidence_that_nobody_waits_for_any_more_is_not_told() {
    let (pool, cancel) = (search::pool(Some(1)).unwrap(), Cancel::default());
    let tables = Tables { library: Arc::new(shardscope_presets::library()), files: Arc::default() };
    let told = std::sync::atomic::AtomicUsize::new(0);
    let tell = |_| {
        told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    };
    cancel.cancel();
    tables.work(&JobContext { pool: &pool, cancel: &cancel, pause: Duration::ZERO, tell: &tell });
    assert_eq!(told.into_inner(), 0);
}

#[test]
fn dropping_the_jobs_cancels_the_map() {
    let (tell, queue) = listen();
    let mut jobs = Jobs::start(Some(1), Duration::ZERO, &tell).unwrap();
    jobs.sweep(1, Arc::clone(&explorer().views.map.sweep), 0);
    drop((jobs, tell));
    let deadline = Instant::now() + PATIENCE;
    // The queue closes when the last thread has let go of its end.
    while queue.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
    assert!(Instant::now() < deadline, "a thread still runs");
}

#[test]
fn four_threads_at_most_unless_more_are_asked_for() {
    let threads = |wanted| search::pool(wanted).unwrap().current_num_threads();
    let cores = thread::available_parallelism().unwrap().get();
    // One less than there are, so that the person at the keys has one.
    assert_eq!(threads(None), (cores - 1).clamp(1, 4));
    assert_eq!(threads(Some(7)), 7);
}

#[test]
fn a_views_work_is_stopped() {
    let (tell, _queue) = listen();
    let mut jobs = Jobs::start(Some(1), Duration::ZERO, &tell).unwrap();
    jobs.work(1, Arc::new(HardwareFill { sweep: Arc::clone(&explorer().views.map.sweep), from: 0 }));
    let running = jobs.working.clone();
    assert!(!running.is_cancelled());
    jobs.rest();
    assert!(running.is_cancelled() && !jobs.working.is_cancelled());
}
