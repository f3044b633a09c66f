//! Files, as the explorer asks for them, one errand after the other: snapshots, sets and maps written, snapshots and sets
//! looked for and deleted, presets saved and read again, plans written for other tools; on a thread of their own, files
//! of any length opened or taken in. What they hold is [`shardscope_report::snapshot`]'s and [`shardscope_interop`]'s.

use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use shardscope_engine::disk::Watch;
use shardscope_engine::presets::{Library, Saving};
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::{self, Cancel, Workspace};
use shardscope_engine::units::Bytes;
use shardscope_report::snapshot::{self, Set, Snapshot, WriteError};

use crate::app::action::JobReport;
use crate::app::answers::Answer;
use crate::app::answers::pins::Pin;
use crate::app::jobs::{Tell, message};
use crate::app::state::LeftOff;
use crate::app::transfer::{FileTransfer, Transferred};

/// Between two reports of how far a file is.
const PAUSE: Duration = Duration::from_millis(250);

/// Something to do with a file.
#[derive(Debug)]
pub enum Errand {
    /// Write a snapshot of an answer.
    Export(Box<Answer>),
    /// Write pinned scenarios as a set of this name.
    SaveSet(String, Vec<Pin>),
    /// Write what a session ends with, and whether it went on from what is there.
    KeepLast(PathBuf, bool, LeftOff),
    /// Write a text under a name with an extension: a map or a picture of the screen.
    SaveText((&'static str, &'static str), String),
    /// Look for snapshots and sets.
    List,
    /// Delete a snapshot or a set.
    Delete(PathBuf),
    /// Write a cluster or a model to the user's folder.
    SavePreset(Saving, Arc<Library>),
    /// Read the presets again.
    Reload(Arc<Library>),
}

/// Files that a person waits for, under the number that they were asked for.
struct NumberedTransfer {
    number: u64,
    transfer: FileTransfer,
    library: Arc<Library>,
    cancel: Cancel,
}

/// The threads. They end when this is dropped: what is still to be written is written first, and nobody waits for what
/// is read.
#[derive(Debug)]
pub struct Files {
    /// Small files, and whatever is written.
    errands: Option<Sender<FileTask>>,
    /// What is only read.
    readings: Sender<FileTask>,
    thread: Option<JoinHandle<()>>,
    /// Stops what a person waits for.
    cancel: Cancel,
}

/// What a thread of files does.
enum FileTask {
    Errand(Errand),
    Transfer(NumberedTransfer),
}

impl Files {
    /// Starts the threads.
    ///
    /// `remembered` is the file of the folders in which snapshots were written.
    pub fn start(tell: &Tell, remembered: Option<PathBuf>) -> io::Result<Self> {
        let (errands, thread) = queue("files", tell, remembered.clone())?;
        // A file may be long, or a pipe that nobody writes to.
        let (readings, _) = queue("reading", tell, remembered)?;
        Ok(Self { errands: Some(errands), readings, thread: Some(thread), cancel: Cancel::default() })
    }

    /// Runs an errand after those that wait.
    pub fn run(&self, errand: Errand) {
        if let Some(errands) = &self.errands {
            // The thread ends only with this.
            let _ = errands.send(FileTask::Errand(errand));
        }
    }

    /// Reads or writes files that a person waits for.
    pub fn transfer(&mut self, number: u64, transfer: FileTransfer, library: Arc<Library>) {
        self.cancel = Cancel::default();
        let queue = match transfer {
            FileTransfer::Open(_) | FileTransfer::Import(_) => Some(&self.readings),
            FileTransfer::Export(_) => self.errands.as_ref(),
        };
        if let Some(queue) = queue {
            let cancel = self.cancel.clone();
            let _ = queue.send(FileTask::Transfer(NumberedTransfer { number, transfer, library, cancel }));
        }
    }

    /// Stops them.
    pub fn stop(&self) {
        self.cancel.cancel();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(self.errands.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A thread that does one task after the other, until nobody can send any more.
fn queue(name: &str, tell: &Tell, remembered: Option<PathBuf>) -> io::Result<(Sender<FileTask>, JoinHandle<()>)> {
    let (tasks, queue) = mpsc::channel::<FileTask>();
    let tell = Arc::clone(tell);
    let run = move || {
        for task in queue {
            match task {
                FileTask::Errand(errand) => tell(whole(|| errand.run(remembered.as_deref()))),
                FileTask::Transfer(NumberedTransfer { number, transfer, library, cancel }) => {
                    let watch = watch(number, cancel, &tell);
                    let report = Box::new(whole(|| transfer.run(&library, &watch)));
                    tell(JobReport::Transferred { number, report });
                }
            }
        }
    };
    Ok((tasks, thread::Builder::new().name(name.to_owned()).spawn(run)?))
}

/// What is told of a task, also where it panics: nothing of it outlives it.
fn whole(task: impl FnOnce() -> JobReport) -> JobReport {
    catch_unwind(AssertUnwindSafe(task)).unwrap_or_else(|panic| {
        JobReport::Said(format!(
            "reading or writing files failed: {}; this is a bug, please report it",
            message(&*panic)
        ))
    })
}

/// Tells from time to time how far a file is, until that is stopped.
fn watch(number: u64, cancel: Cancel, tell: &Tell) -> Watch {
    let (tell, start) = (Arc::clone(tell), Instant::now());
    let told = Cell::new(start);
    Rc::new(move |bytes| {
        // What is done at once says nothing of how far it is.
        if told.get().elapsed() >= PAUSE {
            told.set(Instant::now());
            let so_far = Transferred { seconds: start.elapsed().as_secs(), bytes: Bytes::new(bytes as f64) };
            tell(JobReport::Transferring { number, so_far });
        }
        !cancel.is_cancelled()
    })
}

impl Errand {
    pub(crate) fn run(self, remembered: Option<&Path>) -> JobReport {
        let keep = |written: &Result<PathBuf, WriteError>| {
            if let (Some(file), Ok(path)) = (remembered, written) {
                snapshot::remember(file, path);
            }
        };
        match self {
            Self::Export(answer) => {
                let text = Snapshot::new(&answer.scenario, &answer.evaluation).to_toml();
                said(text.map(|text| snapshot::write(Path::new("."), &answer.scenario, &text)).inspect(keep))
            }
            Self::SaveSet(name, pins) => {
                // What was pinned last may have no figures yet: they are computed here rather than waited for.
                let text = set(&evaluated(pins)).to_toml();
                said(text.map(|text| snapshot::write_set(Path::new("."), &name, &text)).inspect(keep))
            }
            Self::KeepLast(file, went_on, LeftOff { view, pins }) => {
                let set = Set { view: Some(view.to_owned()), ..set(&evaluated(pins)) };
                match set.to_toml().map(|text| snapshot::keep_last(&file, went_on, &text)) {
                    Ok(Ok(())) => JobReport::Said("kept".to_owned()),
                    Ok(Err(error)) => JobReport::Said(format!("cannot write {}: {error}", shown(&file))),
                    Err(error) => JobReport::Said(error.to_string()),
                }
            }
            Self::SaveText(name, text) => said(Ok::<_, String>(snapshot::write_text(Path::new("."), name, &text))),
            Self::List => JobReport::Listed(snapshot::list(&snapshot::places(remembered))),
            Self::Delete(path) => JobReport::Said(match snapshot::delete(&path) {
                Ok(()) => format!("deleted {}", shown(&path)),
                Err(why) => why,
            }),
            Self::SavePreset(saving, library) => match library.save(&saving) {
                Ok((library, path)) => {
                    let Saving { kind, id, .. } = saving;
                    JobReport::Saved { library: Box::new(library), kind, id, path: shown(&path) }
                }
                Err(why) => JobReport::Said(why),
            },
            Self::Reload(library) => {
                let (library, warnings) = library.reload();
                JobReport::Reloaded(Box::new(library), warnings)
            }
        }
    }
}

impl FileTransfer {
    pub(crate) fn run(self, library: &Library, watch: &Watch) -> JobReport {
        match self {
            Self::Open(path) => match snapshot::open_watched(&path, library, watch) {
                Ok(opened) => JobReport::Opened(Box::new(opened), shown(&path)),
                Err(error) => JobReport::Said(printable(&error.to_string())),
            },
            Self::Import(question) => {
                let path = question.words.files.first().map_or_else(String::new, |path| shown(path));
                JobReport::Imported(question.answer(library, watch).map(Box::new), path)
            }
            Self::Export(question) => {
                let outcome = question.answer(watch);
                JobReport::PlanExported(question, outcome)
            }
        }
    }
}

/// The pins whose figures are there.
fn set(pins: &[Pin]) -> Set {
    Set::new(pins.iter().filter_map(|pin| Some((pin.name.as_str(), &pin.scenario, pin.evaluation.as_deref()?))))
}

/// Pins with the figures that were still to come.
fn evaluated(mut pins: Vec<Pin>) -> Vec<Pin> {
    for pin in &mut pins {
        let compute = || search::full(&pin.scenario, &mut Workspace::default()).ok().map(Arc::new);
        pin.evaluation = pin.evaluation.take().or_else(compute);
    }
    pins
}

fn said(written: Result<Result<PathBuf, WriteError>, impl Display>) -> JobReport {
    JobReport::Said(match written {
        Ok(Ok(path)) => format!("exported to {}", shown(&path)),
        Ok(Err(error)) => error.to_string(),
        Err(error) => format!("the snapshot was not written: {error}"),
    })
}

fn shown(path: &Path) -> String {
    printable(&path.strip_prefix(".").unwrap_or(path).display().to_string())
}

#[cfg(test)]
pub(crate) mod tests;
