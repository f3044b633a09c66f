//! What PyTorch's profiler recorded of a step (a Chrome trace of kineto's, plain or packed): how long it takes, what
//! computes, what is communicated, and how much of that no compute hides. The traces that `export` writes are read too.
//!
//! Takes a stream, within bounds. Not for writing traces ([`super::trace`]).

mod comparison;
mod events;
mod guard;
mod intervals;
mod timeline;
mod work;

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

pub use comparison::TraceComparison;
pub use events::TraceRecording;
pub use events::TracedJob;
pub use timeline::StepTimeline;
pub use timeline::TracedKind;
pub use work::TracedWork;

use guard::{Guard, MOST_BYTES};

/// The first bytes of what gzip packs.
const PACKED: [u8; 2] = [0x1f, 0x8b];

/// Bytes by whose content a trace is known.
pub const HEAD: u64 = 1 << 16;

/// Whether these are the first bytes of a trace.
pub fn is_trace(head: &[u8]) -> bool {
    let Ok(input) = unpacked(head) else { return false };
    let mut head = Vec::new();
    // Packed bytes that end early have a beginning all the same.
    #[expect(clippy::disallowed_methods, reason = "what is read is limited")]
    let _ = input.take(HEAD).read_to_end(&mut head);
    let head = String::from_utf8_lossy(&head);
    let has = |key: &str| head.contains(key);
    let is_json = head.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
    is_json && (has("\"traceEvents\"") || has("\"ph\"") && has("\"ts\"") && has("\"pid\""))
}

/// Reads a trace, plain or packed. What is no trace, or beyond the bounds, is invalid data.
pub fn read(input: impl Read) -> io::Result<TraceRecording> {
    let wrong = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Io => io::Error::from(error),
        serde_json::error::Category::Eof => invalid("it ends in the middle of the trace; give the file whole"),
        _ => invalid(&format!("is no trace of PyTorch's profiler ({error}); give what export_chrome_trace wrote")),
    };
    let guarded = BufReader::new(Guard::new(unpacked(input)?));
    TraceRecording::read(guarded).map_err(wrong).map_err(|error| match error.kind() {
        // Packed bytes that are broken, or end too early.
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput => {
            invalid("it is not packed by gzip to its end; give it whole")
        }
        _ => error,
    })
}

fn unpacked<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut input = BufReader::new(input.take(MOST_BYTES + 1));
    let packed = input.fill_buf()?.starts_with(&PACKED);
    Ok(if packed { Box::new(MultiGzDecoder::new(input)) } else { Box::new(input) })
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
