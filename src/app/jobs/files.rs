//! Files, as the explorer asks for them, one job after the other: snapshots, sets and maps written, snapshots and sets
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
use std::thread;
use std::time::{Duration, Instant};

use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file::printable;
use shardscope_engine::search::{self, Cancel, Workspace};
use shardscope_engine::units::Bytes;
use shardscope_library::disk::{self, Watch};
use shardscope_library::folders::{self, Saving};
use shardscope_report::snapshot::{self, Set, Snapshot, WriteError};

use crate::app::action::JobReport;
use crate::app::answers::Answer;
use crate::app::answers::pins::Pin;
use crate::app::jobs::unwritten::Unwritten;
use crate::app::jobs::{Tell, message};
use crate::app::transfer::importing::complete;
use crate::app::transfer::{FileTransfer, Transferred};

/// Between two reports of how far a file is.
const PAUSE: Duration = Duration::from_millis(250);

/// Something to do with a file.
#[derive(Debug)]
pub enum FileJob {
    /// Write a snapshot of an answer.
    Export(Box<Answer>),
    /// Write pinned scenarios as a set of this name.
    SaveSet(String, Vec<Pin>),
    /// Write a text under a name with an extension: a map or a picture of the screen.
    SaveText((&'static str, &'static str), String),
    /// Look for snapshots and sets.
    List,
    /// Complete the path at the end of a line.
    Complete(String),
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

/// The threads. They end when this is dropped; whoever ends the program waits for what is [`Unwritten`], not for them.
#[derive(Debug)]
pub struct Files {
    /// Small files, and whatever is written.
    file_jobs: Sender<FileTask>,
    /// A file to read.
    readings: Sender<FileTask>,
    unwritten: Unwritten,
    /// Stops what a person waits for.
    cancel: Cancel,
}

/// Tasks of a thread for files.
enum FileTask {
    Job(FileJob),
    Transfer(NumberedTransfer),
}

impl Files {
    /// Starts the threads.
    ///
    /// `remembered` is the file of the folders in which snapshots were written.
    pub fn start(tell: &Tell, remembered: Option<PathBuf>) -> io::Result<Self> {
        let unwritten = Unwritten::default();
        let file_jobs = queue("files", tell, remembered.clone(), &unwritten)?;
        // A file may be long, or a pipe that nobody writes to.
        let readings = queue("reading", tell, remembered.clone(), &Unwritten::default())?;
        // One of the folders may not answer: nobody waits for what is swept.
        let sweep = move || snapshot::places(remembered.as_deref()).iter().for_each(|folder| disk::sweep(folder));
        thread::Builder::new().name("sweeping".to_owned()).spawn(sweep)?;
        Ok(Self { file_jobs, readings, unwritten, cancel: Cancel::default() })
    }

    /// Files still to be written.
    pub fn unwritten(&self) -> Unwritten {
        self.unwritten.clone()
    }

    /// Runs a job after those that wait.
    pub fn run(&self, file_job: FileJob) {
        self.unwritten.put(file_job.writes());
        // The thread ends only with this.
        let _ = self.file_jobs.send(FileTask::Job(file_job));
    }

    /// Completes the path at the end of a line. A folder may not answer, which nothing that is written waits for.
    pub fn complete(&self, line: String) {
        let _ = self.readings.send(FileTask::Job(FileJob::Complete(line)));
    }

    /// Reads or writes files that a person waits for.
    pub fn transfer(&mut self, number: u64, transfer: FileTransfer, library: Arc<Library>) {
        self.cancel = Cancel::default();
        let queue = match transfer {
            FileTransfer::Open(_) | FileTransfer::Import(_) => &self.readings,
            FileTransfer::Export(_) => {
                self.unwritten.put(Some("the exported plan".to_owned()));
                &self.file_jobs
            }
        };
        let cancel = self.cancel.clone();
        let _ = queue.send(FileTask::Transfer(NumberedTransfer { number, transfer, library, cancel }));
    }

    /// Stops them.
    pub fn stop(&self) {
        self.cancel.cancel();
    }
}

/// A thread that does one task after the other, until nobody can send any more.
fn queue(name: &str, tell: &Tell, remembered: Option<PathBuf>, unwritten: &Unwritten) -> io::Result<Sender<FileTask>> {
    let (tasks, queue) = mpsc::channel::<FileTask>();
    let (tell, unwritten) = (Arc::clone(tell), unwritten.clone());
    let run = move || {
        for task in queue {
            match task {
                FileTask::Job(file_job) => tell(whole(|| file_job.run(remembered.as_deref(), &unwritten))),
                FileTask::Transfer(NumberedTransfer { number, transfer, library, cancel }) => {
                    let watch = watch(number, cancel, &tell);
                    let report = Box::new(whole(|| transfer.run(&library, &watch)));
                    tell(JobReport::Transferred { number, report });
                }
            }
            unwritten.done();
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(run)?;
    Ok(tasks)
}

/// The report of a task, also where it panics: nothing of it outlives it.
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

impl FileJob {
    /// The file that it writes, for the message that it was not written.
    fn writes(&self) -> Option<String> {
        match self {
            Self::Export(_) => Some("the snapshot".to_owned()),
            Self::SaveSet(name, _) => Some(format!("the set {name}")),
            Self::SaveText((name, _), _) => Some(format!("the {name}")),
            Self::SavePreset(saving, _) => Some(format!("the preset {}", saving.id)),
            Self::Delete(path) => Some(format!("the deletion of {}", shown(path))),
            Self::List | Self::Complete(_) | Self::Reload(_) => None,
        }
    }

    pub(crate) fn run(self, remembered: Option<&Path>, unwritten: &Unwritten) -> JobReport {
        let keep = |written: &Result<PathBuf, WriteError>| {
            if let (Some(file), Ok(path)) = (remembered, written) {
                snapshot::remember(file, path);
            }
        };
        match self {
            Self::Export(answer) => {
                let text = Snapshot::new(&answer.scenario, &answer.evaluation).to_toml();
                report_written(text.map(|text| snapshot::write(Path::new("."), &answer.scenario, &text)).inspect(keep))
            }
            Self::SaveSet(name, pins) => {
                // What was pinned last may have no figures yet: they are computed here rather than waited for.
                let text = set(&evaluated(pins)).to_toml();
                report_written(text.map(|text| snapshot::write_set(Path::new("."), &name, &text)).inspect(keep))
            }
            Self::SaveText(name, text) => {
                report_written(Ok::<_, String>(snapshot::write_text(Path::new("."), name, &text)))
            }
            // Nobody sees a list that is made while the program ends.
            Self::List => JobReport::Listed(snapshot::list(&snapshot::places(remembered), &|| !unwritten.is_closed())),
            Self::Complete(line) => {
                let completion = complete(&line);
                JobReport::Completed(line, completion)
            }
            Self::Delete(path) => JobReport::Said(match snapshot::delete(&path) {
                Ok(()) => format!("deleted {}", shown(&path)),
                Err(why) => why,
            }),
            Self::SavePreset(saving, library) => match folders::save(&library, &saving) {
                Ok((library, path)) => {
                    let Saving { kind, id, .. } = saving;
                    JobReport::Saved { library: Box::new(library), kind, id, path: shown(&path) }
                }
                Err(why) => JobReport::Said(why),
            },
            Self::Reload(library) => {
                let (library, warnings) = folders::reload(&library);
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
                JobReport::Imported(question.answer(library, watch).map(Box::new).map_err(Box::new), path)
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

fn report_written(written: Result<Result<PathBuf, WriteError>, impl Display>) -> JobReport {
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
