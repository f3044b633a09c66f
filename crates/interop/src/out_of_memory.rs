//! Reads PyTorch's out-of-memory message, as any version writes it: memory asked for, available, and held.
//!
//! [`shardscope_engine::search::diagnose`] finds what would fit.

use serde::{Serialize, Serializer};

use shardscope_engine::problem::Problem;
use shardscope_engine::search::OwnFigure;
use shardscope_engine::text::printable;
use shardscope_engine::units::Bytes;

use super::report::{ImportReport, Imported};

/// Start of the message, on any device: `CUDA out of memory. Tried to allocate 2.00 GiB`.
const START: &str = "out of memory. Tried to allocate ";

/// Memory of other processes up to which the report leaves it out.
const OTHERS: Bytes = Bytes::new(64.0 * 1024.0 * 1024.0);

/// The most characters of a message that are read.
const LONGEST: usize = 1_000;

/// Where an amount lies: after some words, or before them.
#[derive(Clone, Copy)]
enum Phrase {
    Behind(&'static str),
    Before(&'static str),
}

use Phrase::{Before, Behind};

/// Words around each amount, PyTorch 2's first; versions up to 2.1 write `capacty`.
const CAPACITY: &[Phrase] = &[Behind("total capacity of "), Behind("total capacty of "), Before(" total capacity")];
const FREE: &[Phrase] = &[Behind("of which "), Before(" free")];
const PROCESS: &[Phrase] = &[Behind("this process has ")];
const ALLOCATED: &[Phrase] = &[Before(" is allocated by PyTorch"), Before(" already allocated")];
const UNALLOCATED: &[Phrase] = &[Before(" is reserved by PyTorch but unallocated")];
const RESERVED: &[Phrase] = &[Before(" reserved in total by PyTorch"), Before(" cached")];

/// Memory as the message reports it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OutOfMemory {
    /// Memory asked for.
    #[serde(rename = "tried_bytes", serialize_with = "whole")]
    pub tried: Bytes,
    /// The device's memory.
    #[serde(rename = "capacity_bytes", serialize_with = "whole")]
    pub capacity: Bytes,
    /// Memory that tensors held.
    #[serde(rename = "allocated_bytes", serialize_with = "whole")]
    pub allocated: Bytes,
    /// Memory that the allocator held, including tensors.
    #[serde(rename = "reserved_bytes", serialize_with = "whole")]
    pub reserved: Bytes,
    /// Memory available to the process: the device's, less what other processes held.
    #[serde(rename = "room_bytes", serialize_with = "whole")]
    pub room: Bytes,
    /// Lower bound of the step's peak: what tensors held, plus what was asked for.
    #[serde(rename = "least_bytes", serialize_with = "whole")]
    pub least: Bytes,
    /// Lower bound of the process's need: what it held, including allocator and runtime, plus what was asked for.
    #[serde(rename = "needed_bytes", serialize_with = "whole")]
    pub needed: Bytes,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn whole<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(bytes.get().max(0.0).round() as u64)
}

impl OutOfMemory {
    /// Converts to a figure of a run.
    pub const fn figure(&self) -> OwnFigure {
        OwnFigure::OutOfMemory { least: self.least, needed: self.needed, room: self.room }
    }

    /// Text for people, in two lines.
    pub fn text(&self) -> String {
        let Self { tried, capacity, allocated, reserved, room, least, needed } = self;
        let others = *capacity - *room;
        let others = if others > OTHERS { format!(", of which others hold {others}") } else { String::new() };
        format!(
            "out of memory: {allocated} allocated, {reserved} reserved, {tried} more tried; the device has {capacity}{others}\n\
             the step needs at least {least} for tensors, {needed} with what allocator and runtime hold\n"
        )
    }
}

/// True if a text has such a message.
pub fn is_message(text: &str) -> bool {
    text.contains(START)
}

/// Reads the first message in a text.
pub fn read(text: &str) -> Result<Imported<OutOfMemory>, Vec<Problem>> {
    let missing =
        |what: &str| vec![Problem::new("", what, "give the whole line that begins with 'CUDA out of memory'")];
    let start = text.find(START).ok_or_else(|| missing("holds no out-of-memory message of PyTorch"))?;
    let line = 1 + text[..start].matches('\n').count();
    // A pasted line may be broken between any two words.
    let rest: String = text[start..].chars().take(LONGEST).collect();
    let message = rest.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut report = ImportReport::default();
    let mut amount = |name: &str, places: &[Phrase]| {
        let (bytes, words) = places.iter().find_map(|place| Some((at(&message, *place)?, place.words())))?;
        report.take(name, bytes, format!("line {line}: '{}'", printable(words.trim())));
        Some(bytes)
    };
    let says = |what: &str| missing(&format!("its out-of-memory message does not say {what}"));
    let tried = amount("tried", &[Behind(START)]).ok_or_else(|| says("what was asked for"))?;
    let capacity = amount("capacity", CAPACITY).ok_or_else(|| says("the total capacity"))?;
    let allocated = amount("allocated", ALLOCATED).ok_or_else(|| says("what is allocated"))?;
    let cached = amount("reserved but unallocated", UNALLOCATED).map(|more| allocated + more);
    let reserved = cached.or_else(|| amount("reserved", RESERVED)).unwrap_or(allocated);
    let free = amount("free", FREE).unwrap_or(Bytes::ZERO);
    let own = amount("in use by this process", PROCESS);
    let room = own.map_or(capacity, |own| (own + free).min(capacity));
    let needed = own.unwrap_or(reserved).max(reserved) + tried;
    let made = OutOfMemory { tried, capacity, allocated, reserved, room, least: allocated + tried, needed };
    Ok(Imported { made, report })
}

impl Phrase {
    const fn words(self) -> &'static str {
        match self {
            Behind(words) | Before(words) => words,
        }
    }
}

/// The amount at a place of a message: `35.10 GiB`.
fn at(message: &str, place: Phrase) -> Option<Bytes> {
    let found = message.find(place.words())?;
    let [number, unit] = match place {
        Behind(words) => {
            let mut words = message[found + words.len()..].split(' ');
            [words.next()?, words.next()?]
        }
        Before(_) => {
            let mut words = message[..found].rsplit(' ');
            let unit = words.next()?;
            [words.next()?, unit]
        }
    };
    let unit = unit.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
    let unit = if unit == "bytes" { "B" } else { unit };
    format!("{number} {unit}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As PyTorch 2.4 writes it, with what a launcher prints around it.
    const NEW: &str = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total \
                       capacity of 39.39 GiB of which 1.05 GiB is free. Including non-PyTorch memory, this process has \
                       37.33 GiB memory in use. Of the allocated memory 35.10 GiB is allocated by PyTorch, and 1.35 GiB is \
                       reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting \
                       PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";

    /// As PyTorch 1.13 does.
    const OLD: &str = "RuntimeError: CUDA out of memory. Tried to allocate 896.00 MiB (GPU 3; 39.59 GiB total capacity; 35.20 \
                       GiB already allocated; 1.19 GiB free; 36.10 GiB reserved in total by PyTorch) If reserved memory is >> \
                       allocated memory try setting max_split_size_mb";

    fn gib(size: f64) -> Bytes {
        size * Bytes::GIB
    }

    fn near(one: Bytes, other: f64) -> bool {
        (one / gib(other) - 1.0).abs() < 1e-9
    }

    #[test]
    fn both_forms_say_what_was_held_and_what_was_asked_for() {
        let new = read(NEW).expect("a message").made;
        assert!(near(new.tried, 2.0) && near(new.capacity, 39.39) && near(new.allocated, 35.10), "{new:?}");
        // 35.10 + 1.35 = 36.45 reserved; 37.33 + 1.05 = 38.38 for this process; 35.10 + 2.00 = 37.10 at least.
        assert!(near(new.reserved, 36.45) && near(new.room, 38.38) && near(new.least, 37.10), "{new:?}");
        // 37.33 held by the process, and 2.00 more: 39.33, of which 38.38 were there.
        assert!(near(new.needed, 39.33) && new.text().contains("others hold 1.01 GiB"), "{new:?}");
        let old = read(OLD).expect("a message").made;
        assert!(near(old.tried, 0.875) && near(old.capacity, 39.59) && near(old.reserved, 36.10), "{old:?}");
        // 35.20 + 0.875 = 36.075; nothing is said of other processes.
        assert!(near(old.least, 36.075) && near(old.needed, 36.975) && near(old.room, 39.59), "{old:?}");
        let typo = NEW.replace("capacity", "capacty");
        assert_eq!(read(&typo).expect("a message").made, new);
    }

    #[test]
    fn a_message_that_is_broken_into_lines_says_the_same_and_where() {
        let broken = format!("step 3\n{}", NEW.replace(" of which", "\n   of which").replace("35.10 ", "35.10\n"));
        let read = read(&broken).expect("a message");
        assert!(near(read.made.least, 37.10) && near(read.made.room, 38.38), "{:?}", read.made);
        assert_eq!(read.report.taken[0].place, "line 2: 'out of memory. Tried to allocate'");
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = |text: &str| read(text).expect_err("refused")[0].to_string();
        assert!(why("no memory").contains("no out-of-memory message"), "{}", why("no memory"));
        let cut = &NEW[..NEW.find("Of the allocated").expect("there")];
        assert!(why(cut).contains("what is allocated"), "{}", why(cut));
        let hostile = NEW.replace("35.10 GiB", "35\u{1b}[2J GiB");
        assert!(!why(&hostile).contains('\u{1b}'));
    }
}
