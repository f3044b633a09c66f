//! Runs the binary and keeps what came out.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// An empty home, which is the working directory too.
pub struct Home(TempDir);

/// What a run left behind.
pub struct Run {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file, with its folders.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(path, text).expect("a writable file");
    }

    /// The command, without a terminal; arguments are split at spaces.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shardscope"));
        command.args(arguments.split_whitespace()).env_clear().env("HOME", self.path()).current_dir(self.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run_with_input(&self, arguments: &str, input: &str) -> Run {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().expect("it starts");
        child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        Run::of(&child.wait_with_output().expect("it ends"))
    }

    pub fn run(&self, arguments: &str) -> Run {
        Run::of(&self.command(arguments).output().expect("the binary runs"))
    }
}

impl Run {
    pub fn of(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// Checks that the input was refused: exit code 2, nothing on stdout; hands back the lines of stderr.
    pub fn refused(&self) -> Vec<&str> {
        assert_eq!(self.code, Some(2), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        self.stderr.lines().collect()
    }

    /// The JSON on stdout, which is all that was said, with this exit code.
    pub fn json(&self, code: i32) -> Value {
        assert_eq!((self.code, self.stderr.as_str()), (Some(code), ""), "{}", self.stdout);
        serde_json::from_str(&self.stdout).expect("JSON and nothing else on stdout")
    }
}

/// Runs in an empty home.
pub fn run(arguments: &str) -> Run {
    Home::new().run(arguments)
}

/// Checks that each part stands in a text.
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in:\n{text}");
    }
}

/// The keys of an object, in order.
pub fn keys(value: &Value) -> String {
    value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>().join(" ")
}

/// The number under a key.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} is no number in {value}"))
}
