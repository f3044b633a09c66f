//! Reads a step from a trace of PyTorch's profiler (Kineto's Chrome trace, plain or gzipped): step time, compute,
//! communication, and exposed communication. Also reads the traces that `export` writes.
//!
//! Takes a stream of bounded size. [`super::trace`] writes traces.

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

/// The first bytes of a gzip file.
const PACKED: [u8; 2] = [0x1f, 0x8b];

/// Number of leading bytes by which a trace is recognised.
pub const HEAD: u64 = 1 << 16;

/// True if these are the first bytes of a trace.
pub fn is_trace(head: &[u8]) -> bool {
    let Ok(input) = unpacked(head) else { return false };
    let mut head = Vec::new();
    // A gzip stream cut short still unpacks to a beginning.
    #[expect(clippy::disallowed_methods, reason = "what is read is limited")]
    let _ = input.take(HEAD).read_to_end(&mut head);
    let head = String::from_utf8_lossy(&head);
    let has = |key: &str| head.contains(key);
    let is_json = head.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
    is_json && (has("\"traceEvents\"") || has("\"ph\"") && has("\"ts\"") && has("\"pid\""))
}

/// Reads a trace, plain or gzipped. Anything else, or anything beyond the bounds, is invalid data.
pub fn read(input: impl Read) -> io::Result<TraceRecording> {
    let wrong = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Io => io::Error::from(error),
        serde_json::error::Category::Eof => invalid("it ends in the middle of the trace; give the file whole"),
        _ => invalid(&format!("is no trace of PyTorch's profiler ({error}); give what export_chrome_trace wrote")),
    };
    let guarded = BufReader::new(Guard::new(unpacked(input)?));
    TraceRecording::read(guarded).map_err(wrong).map_err(|error| match error.kind() {
        // The gzip stream is broken or cut short.
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
