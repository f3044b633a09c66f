//! The place where a job waits, under many orders of its threads' steps: the latest job wins, the work on the others is
//! cancelled, and nobody waits for ever. `shuttle` runs the very file of the explorer with threads of its own.

#[path = "../src/app/jobs/slot.rs"]
mod slot;

/// What the file takes from `std` in the program.
mod sync {
    pub use std::sync::PoisonError;

    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};
}

use shuttle::sync::atomic::{AtomicBool, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use slot::JobSlot;

/// Orders that are tried.
const ORDERS: usize = 5_000;

/// A job: its number, and whether it was cancelled.
type Job = (u32, Arc<AtomicBool>);

/// What the worker has done, and that it did something.
#[derive(Default)]
struct Done {
    jobs: Mutex<Vec<Job>>,
    more: Condvar,
}

#[test]
fn the_latest_job_is_done_and_the_work_on_the_others_cancelled() {
    const JOBS: u32 = 4;
    let all = || {
        let (slot, done) = (Arc::new(JobSlot::<Job>::default()), Arc::new(Done::default()));
        let (place, log) = (Arc::clone(&slot), Arc::clone(&done));
        let worker = thread::spawn(move || {
            while let Some(job) = place.take() {
                thread::yield_now();
                log.jobs.lock().unwrap().push(job);
                log.more.notify_one();
            }
        });
        let mut running = Arc::new(AtomicBool::new(false));
        for number in 1..=JOBS {
            // As `Jobs` does it: what runs is cancelled before the next job waits.
            running.store(true, Ordering::SeqCst);
            running = Arc::new(AtomicBool::new(false));
            slot.put((number, Arc::clone(&running)));
        }
        let is_last = |jobs: &mut Vec<Job>| jobs.last().is_none_or(|(number, _)| *number < JOBS);
        let jobs = done.more.wait_while(done.jobs.lock().unwrap(), is_last).unwrap().clone();
        slot.close();
        worker.join().unwrap();
        assert!(jobs.is_sorted_by(|(one, _), (next, _)| one < next), "a job came twice or late");
        for (number, cancelled) in jobs {
            assert_eq!(cancelled.load(Ordering::SeqCst), number < JOBS, "job {number}");
        }
    };
    shuttle::check_random(all, ORDERS);
}

#[test]
fn closing_ends_every_worker_whatever_it_waits_for() {
    let all = || {
        let slot = Arc::new(JobSlot::<u32>::default());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let slot = Arc::clone(&slot);
                thread::spawn(move || while slot.take().is_some() {})
            })
            .collect();
        slot.put(1);
        slot.close();
        for worker in workers {
            worker.join().unwrap();
        }
        slot.put(2);
        assert_eq!(slot.take(), None);
    };
    // A worker that is never woken is a deadlock, which `shuttle` finds.
    shuttle::check_random(all, ORDERS);
}
