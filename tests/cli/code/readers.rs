//! The real readers of what is written: bash, with the programs that a script calls as stubs that note how they were
//! called, and Python. Without them these tests fail.

use std::env;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// What an exported script may call, and `touch`, which none does.
const PROGRAMS: [&str; 7] = ["scontrol", "head", "srun", "torchrun", "shardscope", "mv", "touch"];

/// A folder to run scripts in, with nothing on the path but stubs.
pub struct Bash {
    home: TempDir,
    bash: PathBuf,
}

impl Bash {
    pub fn new() -> Self {
        let (home, bash) = (tempfile::tempdir().expect("a temporary folder"), program("bash"));
        for folder in ["path", "calls", "work"] {
            fs::create_dir(home.path().join(folder)).expect("a folder");
        }
        let stub = format!("#!{}\nprintf '%s\\0' \"$@\" >> \"$CALLS/${{0##*/}}\"\n", bash.display());
        for name in PROGRAMS {
            let path = home.path().join("path").join(name);
            fs::write(&path, &stub).expect("a stub");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
        }
        Self { home, bash }
    }

    /// Runs a script: each program that it called, and the words that it handed over, each with a NUL behind it. Nothing
    /// may be said, and no file be left that is not a job's own.
    pub fn run(&self, script: &str) -> Vec<(String, String)> {
        let folder = |name: &str| self.home.path().join(name);
        let file = folder("script");
        fs::write(&file, script).expect("a script");
        let bash = |options: &[&str]| {
            let mut command = Command::new(&self.bash);
            command.env_clear().env("PATH", folder("path")).env("CALLS", folder("calls")).current_dir(folder("work"));
            for name in ["SLURM_JOB_NODELIST", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_ARRAY_TASK_ID"] {
                command.env(name, "0");
            }
            said_nothing(&command.args(options).arg(&file).output().expect("bash runs"), script);
        };
        bash(&["-n"]);
        bash(&[]);
        let left = names(&folder("work"));
        assert!(left.iter().all(|name| name == "part-0.csv.unfinished"), "{left:?}:\n{script}");
        let called = names(&folder("calls")).into_iter().map(|name| {
            let words = fs::read_to_string(folder("calls").join(&name)).expect("words");
            (name, words)
        });
        called.collect()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Checks that Python compiles a text.
pub fn compile(text: &str) {
    python("import sys; compile(sys.stdin.buffer.read(), 'text', 'exec')", text);
}

/// Checks that Python finds nothing to do in a text.
pub fn runs_nothing(text: &str) {
    python("import ast, sys; assert not ast.parse(sys.stdin.buffer.read()).body", text);
}

/// Checks that Python reads JSON too, a list of so many.
pub fn json_is_python(json: &str, count: usize) {
    python(&format!("import json, sys; assert len(json.load(sys.stdin)) == {count}"), json);
}

fn python(code: &str, input: &str) {
    let mut command = Command::new(program("python3"));
    command
        .args(["-c", code])
        .env("PYTHONUTF8", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("python3 runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    said_nothing(&child.wait_with_output().expect("it ends"), input);
}

fn said_nothing(output: &Output, text: &str) {
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(output.status.success() && said.is_empty(), "{}:\n{text}", String::from_utf8_lossy(&said));
}

/// Where a program is.
fn program(name: &str) -> PathBuf {
    let folders = env::var_os("PATH").expect("a path");
    let found = env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{name} is not installed; this test needs it"))
}
