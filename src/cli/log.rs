//! The file that `--log` names: one entry for what happened away from the screen.
//!
//! Not for results, and not for what a user must see.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use crate::disk;
use crate::text::visible;

static LOG: OnceLock<Mutex<Option<File>>> = OnceLock::new();

/// Opens the log for this run, and says in it that the program starts.
pub fn open(path: &Path) -> io::Result<()> {
    let _ = LOG.set(Mutex::new(Some(disk::append(path)?)));
    let arguments: Vec<String> = std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    line(&format!("{} {}: {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"), arguments.join(" ")));
    Ok(())
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
