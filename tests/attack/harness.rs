//! What all attacks share: how long they last, what chance brings, and a victim that is watched.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};
use shardscope_engine::text::is_hidden;
use tempfile::TempDir;

/// What no command takes longer than, on a busy machine and without optimisation.
const PATIENCE: Duration = Duration::from_secs(60);

/// Address space that a command may take, in KiB: it is denied more, and would say so or break down.
const MOST_KIB: u32 = 3 << 20;

/// What is put into files and arguments: ends of ranges, what TOML and CSV mean something by, what a terminal obeys.
const WORDS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"1e308",
    b"nan",
    b"4294967296",
    b"18446744073709551616",
    b"\"",
    b"'''",
    b"[[",
    b"= {",
    b",",
    b"\n",
    b"\x1b]52;c;eA==\x07",
    b"\xe2\x80\xae",
    b"\xff",
    b"\\u202e",
];

/// The files of a kind that attacks start from: of `tests/corpora`, and those of others in `tests/fixtures`.
pub fn seeds(kind: &str) -> Vec<Vec<u8>> {
    files(kind).iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The same as paths. What tells where they come from is no seed.
pub fn files(kind: &str) -> Vec<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["corpora", "fixtures"].map(|folder| tests.join(folder).join(kind));
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "md"));
    paths.sort();
    assert!(!paths.is_empty(), "no seeds of {kind}");
    paths
}

/// How long one way of attacking lasts.
pub struct Attack {
    /// For so long, where `SHARDSCOPE_ATTACK` says how long; else so often.
    limit: Option<Duration>,
    times: usize,
}

impl Attack {
    /// So often, where nobody asks for more.
    pub fn new(times: usize) -> Self {
        let seconds = std::env::var("SHARDSCOPE_ATTACK").ok().and_then(|seconds| seconds.parse().ok());
        Self { limit: seconds.map(Duration::from_secs), times }
    }

    /// Attacks again and again; each time is told its number.
    pub fn run(&self, mut attack: impl FnMut(&mut Random, usize)) {
        let mut entropy = [7; 32];
        if self.limit.is_some() {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
            entropy[..16].copy_from_slice(&now.to_le_bytes());
        }
        let mut random = Random(TestRng::from_seed(RngAlgorithm::ChaCha, &entropy));
        let (start, mut tried) = (Instant::now(), 0);
        while self.limit.map_or(tried < self.times, |limit| start.elapsed() < limit) {
            attack(&mut random, tried);
            tried += 1;
        }
        // To stderr, so that it is seen without what was tried.
        eprintln!("{}: {tried} in {} s", thread::current().name().unwrap_or(""), start.elapsed().as_secs());
    }
}

/// Chance.
pub struct Random(TestRng);

impl Random {
    pub fn below(&mut self, end: usize) -> usize {
        self.0.next_u64() as usize % end.max(1)
    }

    /// One of some.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    fn range(&mut self, len: usize) -> Range<usize> {
        let start = self.below(len + 1);
        start..(start + self.below(24)).min(len)
    }

    /// A seed after one to eight changes.
    pub fn mutated(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = self.of(seeds).clone();
        for _ in 0..=self.below(8) {
            let place = self.range(bytes.len());
            let new = match self.below(5) {
                // Rarely, what is nested or long as nobody writes it.
                0 if self.below(500) == 0 => bytes[place.clone()].repeat(100_000),
                0 => Vec::new(),
                1 => self.of(&WORDS).to_vec(),
                2 => vec![self.below(256) as u8],
                3 => {
                    let other = self.of(seeds);
                    other[self.range(other.len())].to_vec()
                }
                _ => bytes[place.clone()].repeat(2),
            };
            bytes.splice(place, new);
        }
        bytes
    }
}

/// A folder that is home, and commands that run there and are watched.
pub struct Victim(TempDir);

impl Victim {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Puts a file there.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Takes a file away.
    pub fn remove(&self, name: &Path) {
        fs::remove_file(self.0.path().join(name)).unwrap();
    }

    /// What is there.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.0.path().join(name)).ok()
    }

    /// How many files are in the folder itself.
    pub fn files(&self) -> usize {
        fs::read_dir(self.0.path()).unwrap().count()
    }

    /// The command, its memory limited.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args([
            "-c",
            &format!("ulimit -c 0 && ulimit -v {MOST_KIB} && exec \"$@\""),
            "sh",
            env!("CARGO_BIN_EXE_shardscope"),
        ]);
        command.args(arguments).env_clear().env("HOME", self.0.path()).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command: it ends in time with an exit code that means something, and says nothing that is hidden.
    pub fn run(&self, arguments: &[&str]) -> (i32, String) {
        let mut child = self.command(arguments).spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut errors = child.stderr.take().unwrap();
        let said = thread::spawn(move || {
            let mut bytes = Vec::new();
            output.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let complained = thread::spawn(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                child.kill().unwrap();
                panic!("{arguments:?}: took longer than {} s", PATIENCE.as_secs());
            }
            thread::sleep(Duration::from_millis(2));
        };
        let [said, complained] = [said, complained].map(|one| String::from_utf8(one.join().unwrap()).unwrap());
        for text in [&said, &complained] {
            let hidden = text.chars().find(|c| !matches!(c, '\n' | '\t') && is_hidden(*c));
            assert_eq!(hidden, None, "{arguments:?}: {text:?}");
        }
        let code = status.code().unwrap_or_else(|| panic!("{arguments:?}: {status}: {complained}"));
        assert!((0..=3).contains(&code), "{arguments:?}: {code}: {complained}");
        (code, said)
    }
}
