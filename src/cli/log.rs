//! The file that `--log` names: one entry for what happened away from the screen.
//!
//! Not for results, and not for what a user must see.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use shardscope_engine::text::visible;
use shardscope_library::disk;

static LOG: OnceLock<Mutex<Option<File>>> = OnceLock::new();

/// Opens the log for this run, and says in it that the program starts. What holds anything but a log is left as it is.
pub fn open(path: &Path) -> io::Result<()> {
    let holds = |facts: Metadata| facts.is_file() && facts.len() > 0;
    if path.metadata().is_ok_and(holds) && !begins_as_log(path)? {
        return Err(io::Error::new(ErrorKind::InvalidData, "is no log of shardscope; choose another name for the log"));
    }
    let _ = LOG.set(Mutex::new(Some(disk::append(path)?)));
    let arguments: Vec<String> = std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    line(&format!("{} {}: {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), arguments.join(" ")));
    Ok(())
}

/// Whether a file begins with an entry: `1700000000.123 `.
fn begins_as_log(path: &Path) -> io::Result<bool> {
    let mut head = String::new();
    // A file that is no text is no log.
    let read = BufReader::new(disk::stream(path)?.take(64)).read_line(&mut head);
    let time = head.split_once(' ').and_then(|(time, _)| time.split_once('.'));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    Ok(read.is_ok() && time.is_some_and(|(whole, part)| part.len() == 3 && is_number(whole) && is_number(part)))
}

/// Appends an entry with the time in seconds since 1970; does nothing without `--log`.
pub fn line(text: &str) {
    let Some(log) = LOG.get() else { return };
    let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = log.as_mut() else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    // Further lines are indented, so that no text can pass for an entry of its own.
    let text = visible(text).replace('\n', "\n    ");
    if let Err(error) = writeln!(file, "{:.3} {text}", now.as_secs_f64()) {
        // Said once: a full disk stays full.
        let _ = writeln!(io::stderr(), "warning: the log cannot be written: {error}");
        *log = None;
    }
}
