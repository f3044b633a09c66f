//! What views have computed behind the screen: each view asks a question of its own, and alone reads the answer.

use std::any::Any;
use std::fmt::Debug;
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::{Problem, Scenario};
use shardscope_engine::search::{self, Cancel, Cell, Evaluator, Pool, Workspace};

/// A view's question. Its answer, or each part of it, is of a type that the view alone takes in.
pub trait ViewJob: Debug + Any + Send + Sync {
    /// Works the answer out and tells it.
    fn work(&self, job: &JobContext);
}

/// Questions are the same where they are one object.
impl PartialEq for dyn ViewJob {
    fn eq(&self, other: &Self) -> bool {
        ptr::addr_eq(self, other)
    }
}

/// An answer to a view's question, perhaps a part of it.
#[derive(Debug)]
pub struct Found(Box<dyn Any + Send>);

impl Found {
    pub fn new(answer: impl Any + Send) -> Self {
        Self(Box::new(answer))
    }

    /// The answer where it is of this type, else itself.
    pub fn take<T: Any>(self) -> Result<T, Self> {
        self.0.downcast().map(|answer| *answer).map_err(Self)
    }

    /// The answer where it is of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

/// Everything that a view's job may use.
#[derive(Clone, Copy)]
pub struct JobContext<'a> {
    /// Threads for a search.
    pub pool: &'a Pool,
    /// Whether nobody waits for the job any more.
    pub cancel: &'a Cancel,
    /// Between two parts of what is found.
    pub pause: Duration,
    /// Takes what is found.
    pub tell: &'a (dyn Fn(Found) + Sync),
}

impl<'a> JobContext<'a> {
    /// What evaluates on its threads until nobody waits any more.
    pub fn evaluator(&self) -> Evaluator<'a> {
        Evaluator::new(self.pool, self.cancel)
    }

    /// Tells an answer, or a part of one that can stand alone, unless nobody waits any more: half a table would look
    /// like a whole one.
    pub fn tell(&self, answer: impl Any + Send) {
        if !self.cancel.is_cancelled() {
            (self.tell)(Found::new(answer));
        }
    }
}

/// The answer of a long search.
#[derive(Debug)]
pub struct SoFar<T> {
    pub answer: T,
    /// Whether that is all.
    pub complete: bool,
    /// For how long it has been searched.
    pub elapsed: Duration,
}

/// Tells how far a long search is: at once where there is news, else once a pause is over.
pub struct Teller<'a> {
    job: &'a JobContext<'a>,
    begun: Instant,
    told: Option<Instant>,
}

impl<'a> Teller<'a> {
    pub fn new(job: &'a JobContext<'a>) -> Self {
        Self { job, begun: Instant::now(), told: None }
    }

    pub fn so_far<T: Clone + Any + Send>(&mut self, answer: &T, is_news: bool) {
        if is_news || self.told.is_none_or(|told| told.elapsed() >= self.job.pause) {
            self.told = Some(Instant::now());
            self.job.tell(SoFar { answer: answer.clone(), complete: false, elapsed: self.begun.elapsed() });
        }
    }

    pub fn end<T: Any + Send>(self, answer: T) {
        self.job.tell(SoFar { answer, complete: true, elapsed: self.begun.elapsed() });
    }
}

/// Pinned scenarios to evaluate, with their numbers, and the view's own question after them: a comparison fills column
/// by column first.
#[derive(Debug)]
pub struct PinsFirst(pub Vec<(u64, Scenario)>, pub Option<Arc<dyn ViewJob>>);

/// The evaluation of the pinned scenario with this number, or why there is none.
#[derive(Debug)]
pub struct PinFound(pub u64, pub Result<Arc<Evaluation>, Vec<Problem>>);

impl ViewJob for PinsFirst {
    fn work(&self, job: &JobContext) {
        let Self(pins, then) = self;
        let mut workspace = Workspace::default();
        for (id, scenario) in pins.iter().take_while(|_| !job.cancel.is_cancelled()) {
            // A pin's figures are its own, whoever waits: they are told in any case.
            let evaluation = search::full(scenario, &mut workspace).map(Arc::new);
            (job.tell)(Found::new(PinFound(*id, evaluation)));
        }
        if let Some(next) = then.as_ref().filter(|_| !job.cancel.is_cancelled()) {
            next.work(job);
        }
    }
}

/// Holds cells back until the pause since the last report is over; the first cell is reported at once.
pub(crate) struct Batch<'a> {
    pause: Duration,
    send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync),
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    cells: Vec<(usize, Cell)>,
    sent: Option<Instant>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(pause: Duration, send: &'a (dyn Fn(Vec<(usize, Cell)>) + Sync)) -> Self {
        Self { pause, send, held: Mutex::default() }
    }

    /// Takes a cell, and reports what is held if the pause is over.
    pub(crate) fn add(&self, index: usize, cell: Cell) {
        let mut held = self.lock();
        held.cells.push((index, cell));
        // The first cell goes at once, so that a slow map shows a sign of life; later ones go together, since each
        // report costs a frame.
        if held.sent.is_none_or(|sent| sent.elapsed() >= self.pause) {
            held.sent = Some(Instant::now());
            self.report(&mut held);
        }
    }

    /// Reports what is held.
    pub(crate) fn send(&self) {
        self.report(&mut self.lock());
    }

    fn report(&self, held: &mut Held) {
        let cells = mem::take(&mut held.cells);
        if !cells.is_empty() {
            (self.send)(cells);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
