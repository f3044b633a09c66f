//! Files: read whole within a limit and a time, and written whole or not at all.
//!
//! Nothing else of the product opens a file to read it (`disallowed-methods` in `clippy.toml`), so that no device, pipe
//! or flood makes the program grow or wait for ever. Not for what a file means.

mod input;
mod staging;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use directories::ProjectDirs;
use tempfile::NamedTempFile;

use staging::OwnFile;
pub use staging::{remove_staged, sweep};

pub use input::{InputKind, OpenInput, read_text};

/// The folders of this program's own: its configuration, its data, its state. None without a home.
pub fn own_folders() -> Option<ProjectDirs> {
    ProjectDirs::from("", "", "shardscope")
}

/// How long a pipe or a device that is named as a file is waited for, all in all; and a second more for each megabyte
/// that came.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often who waits for a pipe hears that nothing has come.
const PULSE: Duration = Duration::from_millis(100);

/// Hears how many bytes of a file have come or gone, and says whether that is to go on.
pub type Watch = Rc<dyn Fn(u64) -> bool>;

/// A file as it comes, however long: for what is no input, and read to its first bytes.
pub fn stream(path: &Path) -> io::Result<Patient> {
    watched_stream(path, None)
}

fn watched_stream(path: &Path, watch: Option<&Watch>) -> io::Result<Patient> {
    let file = open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a folder; name a file in it"));
    }
    Ok(Patient { file, left: PATIENCE, passed: Passed::watched(watch) })
}

/// How much of a file has passed, for whoever waits for it.
#[derive(Default)]
struct Passed {
    bytes: u64,
    watch: Option<Watch>,
}

impl Passed {
    fn watched(watch: Option<&Watch>) -> Self {
        Self { bytes: 0, watch: watch.cloned() }
    }

    /// So many bytes more; an error where no more are wanted.
    fn add(&mut self, bytes: usize) -> io::Result<()> {
        self.bytes += bytes as u64;
        match &self.watch {
            // Not `Interrupted`: that is tried again.
            Some(watch) if !watch(self.bytes) => Err(io::Error::other("it was stopped")),
            _ => Ok(()),
        }
    }
}

/// The names in a folder and whether each is a folder too, in order; those that are no text are left out.
pub fn names(folder: &Path) -> io::Result<Vec<(String, bool)>> {
    let entries = fs::read_dir(folder)?.filter_map(Result::ok);
    let named = entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())));
    let mut names: Vec<_> = named.collect();
    names.sort();
    Ok(names)
}

/// The last bytes of a file that is no pipe: at most so many.
pub fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is not a regular file; name one"));
    }
    file.seek(SeekFrom::Start(facts.len().saturating_sub(most)))?;
    let mut bytes = Vec::new();
    #[expect(clippy::disallowed_methods, reason = "what is read is limited")]
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file to read it.
fn open(path: &Path) -> io::Result<File> {
    open_at_once(path, OpenOptions::new().read(true))
}

/// Opens a file to write behind what is in it.
pub fn append(path: &Path) -> io::Result<File> {
    open_at_once(path, OpenOptions::new().create(true).append(true))
}

/// Opens a file; a pipe with nobody at its other end does not hold this up.
fn open_at_once(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[expect(clippy::disallowed_methods, reason = "the one place that opens files")]
    options.open(path)
}

/// A file that is waited for, though not for ever.
pub struct Patient {
    file: File,
    /// How long it may still be waited for.
    left: Duration,
    passed: Passed,
}

impl Read for Patient {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            #[cfg(unix)]
            self.wait()?;
            match self.file.read(buffer) {
                // Someone else has read what was there.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                read => {
                    let read = read?;
                    // A microsecond a byte.
                    self.left += Duration::from_micros(read as u64);
                    return self.passed.add(read).map(|()| read);
                }
            }
        }
    }
}

#[cfg(unix)]
impl Patient {
    /// Waits until there is something to read, or the other end of a pipe is closed.
    fn wait(&mut self) -> io::Result<()> {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let Self { file, left, passed } = self;
        loop {
            let pulse = PULSE.min(*left);
            let pulse = Timespec { tv_sec: pulse.as_secs().cast_signed(), tv_nsec: pulse.subsec_nanos().into() };
            let start = Instant::now();
            // An error is an interruption: whoever reads tries again.
            let ready = poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&pulse))?;
            *left = left.saturating_sub(start.elapsed());
            if ready > 0 {
                return Ok(());
            }
            passed.add(0)?;
            if left.is_zero() {
                let what = "timed out, after 10 s and a second for each megabyte that came; name a file, or a pipe that is \
                            written to";
                return Err(io::Error::new(ErrorKind::TimedOut, what));
            }
        }
    }
}

/// Permissions of a file that the user's mask decides on, and of one that is for nobody else.
const MODES: (u32, u32) = (0o666, 0o600);

/// A text beside where it is to stand, gone if it gets no name.
pub struct Staged {
    file: NamedTempFile,
    passed: Passed,
    _own: OwnFile,
}

impl Staged {
    /// Writes a text into a directory; what killed processes have left there is removed.
    pub fn new(directory: &Path, text: &str) -> io::Result<Self> {
        Self::empty(directory, MODES.0)?.written(text)
    }

    /// What is to become a file of this name, or to replace it: for a text that comes piece by piece, and ends with
    /// [`Staged::finish`].
    pub fn beside(path: &Path, replacing: bool) -> io::Result<Self> {
        let path = if replacing { replaceable(path)? } else { path.to_owned() };
        Self::empty(parent(&path), MODES.0)
    }

    /// A text that is for nobody else to read, beside a file that may be replaced.
    pub fn private(path: &Path, text: &str) -> io::Result<Self> {
        let staged = Self::empty(parent(&replaceable(path)?), MODES.1)?;
        // Whatever the user's mask takes away.
        staged.file.as_file().set_permissions(fs::Permissions::from_mode(MODES.1))?;
        staged.written(text)
    }

    /// Tells someone who waits for it.
    #[must_use]
    pub fn watched(self, watch: &Watch) -> Self {
        Self { passed: Passed::watched(Some(watch)), ..self }
    }

    fn written(mut self, text: &str) -> io::Result<Self> {
        self.write_all(text.as_bytes())?;
        self.flush()?;
        Ok(self)
    }

    fn empty(directory: &Path, mode: u32) -> io::Result<Self> {
        sweep(directory);
        let (file, own) = staging::create(directory, mode)?;
        Ok(Self { file, passed: Passed::default(), _own: own })
    }

    /// Gives it a name that no file has; hands it back where one does.
    pub fn create(self, path: &Path) -> Result<(), (Self, io::Error)> {
        match self.file.persist_noclobber(path) {
            Ok(_) => {
                keep_name(path);
                Ok(())
            }
            Err(refused) => Err((Self { file: refused.file, ..self }, refused.error)),
        }
    }

    /// Ends a text that came piece by piece, and gives it a name that no file has, or may have if it is replaced.
    pub fn finish(mut self, path: &Path, replacing: bool) -> io::Result<()> {
        self.flush()?;
        if replacing { self.replace(path) } else { self.create(path).map_err(|(_, error)| error) }
    }

    /// Gives it a name; a file that has it is replaced and leaves its permissions, through a link what it leads to.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        let path = replaceable(path)?;
        if let Ok(facts) = path.metadata() {
            self.file.as_file().set_permissions(facts.permissions())?;
        }
        self.take_place(&path)
    }

    /// Gives it a name, whoever has that.
    fn take_place(self, path: &Path) -> io::Result<()> {
        self.file.persist(path).map_err(|refused| refused.error)?;
        keep_name(path);
        Ok(())
    }
}

impl Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.passed.add(written).map(|()| written)
    }

    /// Has what is written survive a power cut.
    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file().sync_all()
    }
}

/// Writes files that are not there yet: all of them whole, or none. An error comes with the file that it is about.
pub fn create<'a>(files: &'a [(PathBuf, &str)]) -> Result<(), (&'a Path, io::Error)> {
    let staged = |(path, text): &'a (PathBuf, &str)| Staged::new(parent(path), text).map_err(|error| (&**path, error));
    let staged: Vec<Staged> = files.iter().map(staged).collect::<Result<_, _>>()?;
    for (index, (file, (path, _))) in staged.into_iter().zip(files).enumerate() {
        if let Err((_, error)) = file.create(path) {
            // What was made a moment ago; one that cannot be removed is whole.
            files[..index].iter().for_each(|(path, _)| drop(fs::remove_file(path)));
            return Err((path, error));
        }
    }
    Ok(())
}

/// The same, or each in the place of what is there.
pub fn write<'a>(files: &'a [(PathBuf, &str)], replacing: bool) -> Result<(), (&'a Path, io::Error)> {
    if !replacing {
        return create(files);
    }
    files.iter().try_for_each(|(path, text)| replace(path, text).map_err(|error| (&**path, error)))
}

/// Takes a name that no file has, by an empty file.
pub fn reserve(path: &Path) -> io::Result<()> {
    open_at_once(path, OpenOptions::new().write(true).create_new(true)).map(drop)
}

/// Makes a folder, with those around it, where it is missing.
pub fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Makes a folder that is for nobody else to look into, with those around it, where it is missing. One that is there
/// keeps its permissions: they may be meant so, and each private file has its own.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // Whatever the user's mask takes away.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// The same as [`replace`], of a text that is for nobody else to read.
pub fn replace_private(path: &Path, text: &str) -> io::Result<()> {
    Staged::private(path, text)?.take_place(&replaceable(path)?)
}

/// Writes a file whole or not at all; one of that name is replaced, through a link what it leads to.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    Staged::beside(path, true)?.written(text)?.replace(path)
}

/// Where a name leads, if nothing is there or what is there may be replaced.
fn replaceable(path: &Path) -> io::Result<PathBuf> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match path.metadata().ok().as_ref().and_then(irreplaceable) {
        Some(what) => Err(io::Error::new(ErrorKind::InvalidInput, what)),
        None => Ok(path),
    }
}

/// Why a file is not replaced: a rename would take what its owner protects, or part it from its other names.
fn irreplaceable(facts: &Metadata) -> Option<&'static str> {
    #[cfg(unix)]
    let names = std::os::unix::fs::MetadataExt::nlink(facts);
    #[cfg(not(unix))]
    let names = 1;
    if !facts.is_file() {
        Some("is not a regular file; choose another name")
    } else if facts.permissions().readonly() {
        Some("is read-only; make it writable or choose another name")
    } else if names > 1 {
        Some("has other names (hard links); choose another name")
    } else {
        None
    }
}

/// Whether two names lead to one file.
pub fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // A hard link has another name and is the same file.
        let identity = |path: &Path| path.metadata().map(|facts| (facts.dev(), facts.ino()));
        matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
    }
    #[cfg(not(unix))]
    matches!((fs::canonicalize(one), fs::canonicalize(other)), (Ok(one), Ok(other)) if one == other)
}

/// The directory that a file stands in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Has a new name survive a power cut, where the file system can promise that.
fn keep_name(path: &Path) {
    let _ = open(parent(path)).and_then(|directory| directory.sync_all());
}

#[cfg(test)]
mod tests;
