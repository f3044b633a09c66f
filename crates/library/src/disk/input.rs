//! What is read, and how much of it: one table for every kind of input, and one way to open any of them.
//!
//! Not for what an input means, nor for waiting for it ([`super::Patient`]).

use std::io::{self, Cursor, ErrorKind, Read};
use std::path::Path;

use super::{Watch, watched_stream};

/// What a file is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A scenario, a snapshot or a set.
    Scenario,
    /// A cluster, a model, a stack, a strategy or a calibration.
    Preset,
    /// The user's configuration.
    Configuration,
    /// The folders in which snapshots were written.
    Folders,
    /// The table of the runs behind a calibration.
    Evidence,
    /// Rows of measured runs.
    Rows,
    /// Lengths of examples.
    Lengths,
    /// A profile of measured layers.
    Profile,
    /// A part of a sweep.
    SweepPart,
    /// A part of a search.
    SearchPart,
    /// The configuration of another tool's model.
    ModelConfiguration,
    /// What a launcher reads, or a script that starts it.
    Launcher,
    /// The same in JSON, TOML or YAML.
    LauncherTree,
    /// What a cluster's tools print, and its topology in XML.
    Machine,
    /// The same in JSON.
    MachineTree,
    /// A log of a benchmark of links.
    LinkLog,
    /// A log of a training run.
    RunLog,
    /// What a profiler recorded, plain or packed.
    Trace,
    /// What the kernel says of this process.
    Process,
    /// A file of another tool's before it is known what it is.
    Foreign,
}

/// How much of a kind is read.
struct Bounds {
    /// What it is called.
    name: &'static str,
    /// The most bytes.
    bytes: u64,
    /// The most marks that separate values, where the text becomes a tree: each value of one takes some 70 to 460 bytes,
    /// however short its text is.
    marks: Option<usize>,
}

impl InputKind {
    /// The table. A tree takes 64 MB at most; what is read line by line, or event by event, keeps at most eight times its
    /// size.
    const fn bounds(self) -> Bounds {
        let (name, bytes, marks) = match self {
            // 27 pins of a pipeline of 64 stages have half of these bytes and marks.
            Self::Scenario => ("a scenario, a snapshot or a set", 2 << 20, Some(250_000)),
            Self::Preset => ("a preset", 1 << 20, Some(150_000)),
            Self::Configuration => ("a configuration", 1 << 20, Some(150_000)),
            Self::Folders => ("a list of folders", 1 << 18, None),
            Self::Evidence => ("a table of runs behind a calibration", 1 << 20, None),
            // A hundred times all that are published.
            Self::Rows => ("a table of measured runs", 8 << 20, None),
            // Ten million examples.
            Self::Lengths => ("a list of lengths", 64 << 20, None),
            Self::Profile => ("a profile", 16 << 20, None),
            Self::SweepPart => ("a part of a sweep", 1 << 40, None),
            // A thousand plans take some 6 MB and 480,000 marks.
            Self::SearchPart => ("a part of a search", 16 << 20, Some(500_000)),
            Self::ModelConfiguration => ("a model's configuration", 1 << 20, Some(250_000)),
            // It may be the log of a run, with the arguments at its head.
            Self::Launcher => ("what a launcher reads", 4 << 20, None),
            // A hundred times what the longest has.
            Self::LauncherTree => ("a launcher's configuration in JSON, TOML or YAML", 1 << 19, Some(100_000)),
            Self::Machine => ("what a cluster's tools print", 32 << 20, None),
            // What Slurm says of a thousand nodes.
            Self::MachineTree => ("what a cluster's tools print in JSON", 8 << 20, Some(250_000)),
            Self::LinkLog => ("a log of a benchmark of links", 64 << 20, None),
            Self::RunLog => ("the log of a run", 64 << 20, None),
            Self::Trace => ("a trace", 2 << 30, None),
            Self::Process => ("what the kernel says of a process", 1 << 16, None),
            Self::Foreign => ("a file of another tool", 64 << 20, None),
        };
        Bounds { name, bytes, marks }
    }

    /// The most bytes that are read of it.
    pub(crate) const fn most_bytes(self) -> u64 {
        self.bounds().bytes
    }

    /// Refuses a text that is larger than such a file may be, or has more values.
    pub fn check(self, text: &str) -> io::Result<()> {
        self.check_bytes(text.as_bytes())
    }

    fn too_large(self) -> io::Error {
        let Bounds { name, bytes, .. } = self.bounds();
        refused(format!("it is larger than {}, the most that is read of {name}; give a smaller one", size(bytes)))
    }

    fn check_bytes(self, bytes: &[u8]) -> io::Result<()> {
        let Bounds { name, bytes: most, marks } = self.bounds();
        if bytes.len() as u64 > most {
            return Err(self.too_large());
        }
        let is_mark = |byte: &&u8| matches!(byte, b',' | b':' | b'=' | b'[' | b'{' | b'\n');
        match marks {
            Some(marks) if bytes.iter().filter(is_mark).count() > marks => Err(refused(format!(
                "it has more values than {name} may have, which is {marks} marks between them; give a smaller one"
            ))),
            _ => Ok(()),
        }
    }
}

/// A size in words: all are whole powers of two.
fn size(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{} MiB", bytes >> 20),
        _ => format!("{} GiB", bytes >> 30),
    }
}

fn refused(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// An input that is open: of a kind, and perhaps looked into.
pub struct OpenInput {
    kind: InputKind,
    head: Vec<u8>,
    rest: Box<dyn Read>,
}

impl OpenInput {
    /// Opens a file, a pipe or a device.
    pub fn open(path: &Path, kind: InputKind) -> io::Result<Self> {
        Ok(Self::new(watched_stream(path, None)?, kind))
    }

    /// The same, of a file that someone waits for.
    pub fn open_watched(path: &Path, kind: InputKind, watch: &Watch) -> io::Result<Self> {
        Ok(Self::new(watched_stream(path, Some(watch))?, kind))
    }

    /// The standard input, whatever it is. It is waited for: a person may be typing.
    pub fn standard(kind: InputKind) -> Self {
        Self::new(io::stdin(), kind)
    }

    fn new(rest: impl Read + 'static, kind: InputKind) -> Self {
        Self { kind, head: Vec::new(), rest: Box::new(rest) }
    }

    /// The first bytes, at most so many; what is read next begins with them all the same.
    pub fn head(&mut self, most: u64) -> io::Result<&[u8]> {
        let missing = most.saturating_sub(self.head.len() as u64);
        #[expect(clippy::disallowed_methods, reason = "what is read is limited")]
        (&mut self.rest).take(missing).read_to_end(&mut self.head)?;
        Ok(&self.head)
    }

    /// The same input, of the kind that its first bytes tell.
    #[must_use]
    pub fn known_as(self, kind: InputKind) -> Self {
        Self { kind, ..self }
    }

    /// All of it from its beginning, as it comes; an error where it is larger than its kind may be.
    pub fn stream(self) -> impl Read {
        let most = self.kind.most_bytes();
        Limited { kind: self.kind, left: most, input: Cursor::new(self.head).chain(self.rest) }
    }

    /// All of it.
    pub fn bytes(self) -> io::Result<Vec<u8>> {
        let kind = self.kind;
        let mut bytes = Vec::new();
        #[expect(clippy::disallowed_methods, reason = "what is read is limited")]
        self.stream().read_to_end(&mut bytes)?;
        kind.check_bytes(&bytes)?;
        Ok(bytes)
    }

    /// All of it, which must be text.
    pub fn text(self) -> io::Result<String> {
        let wrong = |_| refused("it is not text in UTF-8; name a file that is".to_owned());
        String::from_utf8(self.bytes()?).map_err(wrong)
    }
}

/// What ends with an error where it is larger than its kind may be.
struct Limited<R> {
    kind: InputKind,
    left: u64,
    input: R,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let Some(left) = self.left.checked_sub(read as u64) else {
            return Err(self.kind.too_large());
        };
        self.left = left;
        Ok(read)
    }
}

/// The text of a file of a kind.
pub fn read_text(path: &Path, kind: InputKind) -> io::Result<String> {
    OpenInput::open(path, kind)?.text()
}
