//! Files that have no name of their own yet: a dying process takes its own away, and what a killed one left is swept.
//!
//! Whoever writes one holds a lock on it (`flock`) until it has its name, and the file bears the name of the machine: a
//! file of this machine that nobody has locked was left by a dead process. A stopped process keeps its locks. On a file
//! system without locks, and where another machine wrote, nothing is swept: some file systems lock on one machine only.
//! Not for what is in the files.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::system::uname;
use tempfile::{Builder, NamedTempFile};

/// What a file is called until it is whole; between the two stand the machine and some random letters.
const NAME: (&str, &str) = (".shardscope-", ".tmp");

/// Version 0.2.0 neither locked its files nor named the machine; it took them for left behind after so long, as is done
/// with its files still.
const UNLOCKED: Duration = Duration::from_secs(600);

/// How often a file is made anew where a sweep has taken it before it was locked.
const TRIES: usize = 16;

/// The files of this process.
static OWN: Mutex<OwnFiles> = Mutex::new(OwnFiles { paths: Vec::new(), closed: false });

struct OwnFiles {
    paths: Vec<PathBuf>,
    /// Whether the process is about to die.
    closed: bool,
}

fn own() -> MutexGuard<'static, OwnFiles> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file among those of this process, for as long as this lives.
pub(super) struct OwnFile(PathBuf);

impl OwnFile {
    fn new(path: &Path) -> io::Result<Self> {
        let mut own = own();
        if own.closed {
            return Err(io::Error::new(ErrorKind::Interrupted, "the program is ending"));
        }
        own.paths.push(path.to_owned());
        Ok(Self(path.to_owned()))
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        own().paths.retain(|path| *path != self.0);
    }
}

/// Removes the files of this process, which is about to die, and has it make no more.
pub fn remove_staged() {
    let paths = {
        let mut own = own();
        own.closed = true;
        own.paths.clone()
    };
    for path in paths {
        // One that has its name by now is whole.
        let _ = fs::remove_file(path);
    }
}

/// Makes a locked file in a directory, with the permissions that the user's mask leaves of `mode`.
pub(super) fn create(directory: &Path, mode: u32) -> io::Result<(NamedTempFile, OwnFile)> {
    let prefix = format!("{}{}-", NAME.0, machine());
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(NAME.1).permissions(fs::Permissions::from_mode(mode));
    for _ in 0..TRIES {
        let file = builder.tempfile_in(directory).map_err(|error| without_path(&error))?;
        let own = OwnFile::new(file.path())?;
        let is_swept = lock(file.as_file()) == Err(Errno::WOULDBLOCK) || file.as_file().metadata()?.nlink() == 0;
        if !is_swept {
            return Ok((file, own));
        }
    }
    Err(io::Error::new(ErrorKind::Interrupted, "others swept this directory all the time; try again"))
}

/// The same error without the name of a staged file, which says nothing to anyone.
fn without_path(error: &io::Error) -> io::Error {
    let cause = error.get_ref().and_then(|error| error.source()?.downcast_ref::<io::Error>()?.raw_os_error());
    cause.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Removes from a directory what dead processes have left there. A directory that cannot be read keeps what it has.
pub fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        // Removed while it is locked: whoever has just made it, and not locked it yet, makes another one.
        if let Some(_locked) = left_behind(&entry) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The file of a dead process, open and locked.
fn left_behind(entry: &fs::DirEntry) -> Option<File> {
    let name = entry.file_name();
    let middle = name.to_str()?.strip_prefix(NAME.0)?.strip_suffix(NAME.1)?;
    let facts = entry.metadata().ok().filter(fs::Metadata::is_file)?;
    let is_own = match middle.rsplit_once('-') {
        Some((host, _)) => host == machine(),
        None => facts.modified().ok()?.elapsed().is_ok_and(|age| age > UNLOCKED),
    };
    if !is_own {
        return None;
    }
    // An exclusive lock over NFS wants a file that is open for writing.
    #[expect(clippy::disallowed_methods, reason = "nothing is read or written")]
    let file = OpenOptions::new().write(true).open(entry.path()).ok()?;
    lock(&file).is_ok().then_some(file)
}

fn lock(file: &File) -> Result<(), Errno> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

/// The name of this machine, in letters that every file name may have.
fn machine() -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '_' };
    uname().nodename().to_string_lossy().chars().map(letter).take(64).collect()
}

#[cfg(test)]
mod tests;
