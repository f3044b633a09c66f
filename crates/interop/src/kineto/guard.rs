//! Bounds JSON in total length, length of a string or number, and depth, so that its reader needs no more memory than
//! what it keeps.

use std::io::{self, ErrorKind, Read};

/// The most bytes of a trace, gzipped or unpacked.
pub(crate) const MOST_BYTES: u64 = 2 << 30;

/// The longest string or number; no trace has a longer one.
const MOST_TEXT: u32 = 1 << 20;

const MOST_DEPTH: u32 = 100;

/// A reader that enforces the bounds.
pub(crate) struct Guard<R> {
    input: R,
    left: u64,
    /// Bytes since the current string or number began.
    text: u32,
    depth: u32,
    quoted: bool,
    escaped: bool,
}

impl<R: Read> Guard<R> {
    /// Wraps an input.
    pub const fn new(input: R) -> Self {
        Self { input, left: MOST_BYTES, text: 0, depth: 0, quoted: false, escaped: false }
    }

    fn follow(&mut self, byte: u8) {
        match byte {
            _ if self.quoted => {
                self.text += 1;
                self.quoted = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
            }
            b'"' => (self.quoted, self.text) = (true, 0),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b',' | b':' => self.text = 0,
            _ => self.text += 1,
        }
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let refused = |what: &str| Err(io::Error::new(ErrorKind::InvalidData, what));
        self.left = match self.left.checked_sub(read as u64) {
            Some(left) => left,
            None => return refused("it is larger than 2 GiB unpacked; record fewer steps"),
        };
        for byte in &buffer[..read] {
            self.follow(*byte);
            if self.text > MOST_TEXT || self.depth > MOST_DEPTH {
                return refused("it has a text or a number of more than 1 MiB, or is nested beyond 100; no trace is");
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a text of JSON is read to its end.
    fn ends(text: impl Read) -> io::Result<u64> {
        io::copy(&mut Guard::new(text), &mut io::sink())
    }

    #[test]
    fn what_is_within_bounds_passes_and_what_grows_is_refused() {
        let events = r#"{"name": "a \"quoted\\", "ts": 1.5, "args": {"x": [1, 2]}},"#.repeat(100_000);
        assert_eq!(ends(events.as_bytes()).expect("each event is small"), events.len() as u64);
        let flood = |byte| io::repeat(byte).take(MOST_BYTES);
        for (start, byte) in [("\"", b'a'), ("\"", b'\\'), ("", b'['), ("", b'7'), ("{\"ts\": ", b' ')] {
            let error = ends(start.as_bytes().chain(flood(byte))).expect_err("it never ends");
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{start}{byte}");
        }
    }

    #[test]
    fn more_bytes_than_a_trace_may_have_are_refused() {
        let mut guard = Guard::new(&b"[1, 2]"[..]);
        guard.left = 5;
        let error = io::copy(&mut guard, &mut io::sink()).expect_err("one byte too many");
        assert!(error.to_string().contains("2 GiB"), "{error}");
    }
}
