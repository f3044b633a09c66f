//! Leaving: what the session ends with is kept, files in the making are finished or removed, the terminal is given back,
//! and how that went is said. The process ends a second after a signal or Ctrl-C at the latest, whatever its other
//! threads are doing, and whatever does not answer.
//!
//! Nothing is evaluated for it, and the drawing thread need not answer: it has noted before each frame what there is to
//! keep. Not for the file of a session ([`shardscope_report::snapshot`]).

use std::ffi::c_int;
use std::io::{self, Write};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::low_level::{emulate_default_handler, signal_name};

use crate::app::jobs::unwritten::Unwritten;
use shardscope_engine::text::printable;
use shardscope_library::disk;
use shardscope_report::snapshot::{SessionFile, SessionState};

use super::screen;
use super::within::within;

/// How long what is written is waited for.
const PATIENCE: Duration = Duration::from_millis(600);

/// The same where a person quits: files that were just asked for may take their time.
const FILES_PATIENCE: Duration = Duration::from_secs(5);

/// How long a removal of files may take.
const BRIEF: Duration = Duration::from_millis(100);

/// How long a terminal or a log may take for a line that people need to read: a busy machine may not begin with it in less
/// than this, and one that takes no bytes holds the end up for no longer.
const SAYING: Duration = Duration::from_millis(500);

/// How a session was kept.
#[derive(Debug, Clone, PartialEq)]
enum Kept {
    Saved,
    /// Who only looked leaves the last session as it is.
    Unchanged,
    Lost(String),
}

/// Where the keeping of a session is.
#[derive(Debug, Default)]
struct Keeping {
    /// State to keep.
    left: Option<SessionState>,
    /// Whether it has begun: whoever leaves first begins it, and all wait for the same.
    has_begun: bool,
    kept: Option<Kept>,
}

/// What every thread must know that may end the process.
pub(super) struct Leaving {
    session: Option<SessionFile>,
    unwritten: Unwritten,
    log: fn(&str),
    keeping: Mutex<Keeping>,
    is_kept: Condvar,
    /// Whether a thread is ending the process.
    is_ending: AtomicBool,
}

impl Leaving {
    pub(super) fn new(session: Option<SessionFile>, unwritten: Unwritten, log: fn(&str)) -> Arc<Self> {
        Arc::new(Self {
            session,
            unwritten,
            log,
            keeping: Mutex::default(),
            is_kept: Condvar::new(),
            is_ending: AtomicBool::new(false),
        })
    }

    /// What the session ends with if it ends now.
    pub(super) fn note(&self, left: Option<SessionState>) {
        self.keeping().left = left;
    }

    fn keeping(&self) -> MutexGuard<'_, Keeping> {
        self.keeping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the process by a signal.
    pub(super) fn by_signal(self: &Arc<Self>, signal: c_int) {
        self.leave_it_to_the_first();
        let kept = self.leave(PATIENCE);
        let name = signal_name(signal).unwrap_or("a signal");
        let how = match (&self.session, kept) {
            (_, Kept::Lost(why)) => format!("the session was not saved: {why}"),
            (Some(file), Kept::Saved) => format!("the session was saved to {}", file.path().display()),
            _ => "the session had changed nothing that is to be saved".to_owned(),
        };
        self.say(format!("ended by {name}; {how}"));
        let _ = emulate_default_handler(signal);
    }

    /// Ends the process, as a person asks for it whatever it is doing.
    pub(super) fn at_once(self: &Arc<Self>) -> ! {
        self.leave_it_to_the_first();
        self.say_if_lost(self.leave(PATIENCE));
        process::exit(0)
    }

    /// Leaves the process to its end, as a person asks for it by `q`.
    pub(super) fn quit(self: &Arc<Self>) {
        let kept = self.leave(FILES_PATIENCE);
        // A signal that came meanwhile ends the process: returning would end it without.
        self.leave_it_to_the_first();
        self.say_if_lost(kept);
    }

    /// Holds a thread where another one is ending the process.
    fn leave_it_to_the_first(&self) {
        while self.is_ending.swap(true, Ordering::SeqCst) {
            thread::park();
        }
    }

    fn say_if_lost(self: &Arc<Self>, kept: Kept) {
        if let Kept::Lost(why) = kept {
            self.say(format!("the session was not saved: {why}"));
        }
    }

    /// Gives the terminal back while the session is kept, waits so long for other files, and removes what is not whole.
    fn leave(self: &Arc<Self>, patience: Duration) -> Kept {
        let start = Instant::now();
        self.unwritten.close();
        self.begin();
        screen::give_back_soon();
        let kept = self.wait(PATIENCE.saturating_sub(start.elapsed()));
        let unfinished = self.unwritten.wait(patience.saturating_sub(start.elapsed()));
        if !unfinished.is_empty() {
            self.say(format!("not finished before the end: {}", unfinished.join(", ")));
        }
        within(BRIEF, "removing", disk::remove_staged);
        kept
    }

    /// Begins to keep the session, once.
    fn begin(self: &Arc<Self>) {
        if std::mem::replace(&mut self.keeping().has_begun, true) {
            return;
        }
        let this = Arc::clone(self);
        let keep = move || {
            let kept = this.keep();
            this.keeping().kept = Some(kept);
            this.is_kept.notify_all();
        };
        // Without a thread for it nobody could be kept from waiting for ever: then it is not kept, and that is said.
        let _ = thread::Builder::new().name("session".to_owned()).spawn(keep);
    }

    fn keep(&self) -> Kept {
        let Some(left) = self.keeping().left.clone() else { return Kept::Unchanged };
        let Some(file) = &self.session else {
            return Kept::Lost("there is no home folder for it; set HOME or XDG_STATE_HOME".to_owned());
        };
        match file.keep(&left) {
            Ok(true) => Kept::Saved,
            Ok(false) => Kept::Unchanged,
            Err(error) => Kept::Lost(format!("{}: {error}", file.path().display())),
        }
    }

    fn wait(&self, patience: Duration) -> Kept {
        let is_open = |keeping: &mut Keeping| keeping.kept.is_none();
        let waited = self.is_kept.wait_timeout_while(self.keeping(), patience, is_open);
        let (keeping, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let late = || {
            let place = self.session.as_ref().map_or_else(String::new, |file| file.path().display().to_string());
            Kept::Lost(format!("{place} could not be written within a second"))
        };
        keeping.kept.clone().unwrap_or_else(late)
    }

    /// Says something in the log and on stderr, each of which may be gone or take nothing.
    fn say(&self, text: String) {
        let log = self.log;
        within(SAYING, "saying", move || {
            let line = printable(&text);
            log(&line);
            let _ = writeln!(io::stderr(), "shardscope: {line}");
        });
    }
}
