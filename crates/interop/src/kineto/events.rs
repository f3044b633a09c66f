//! Reads the events of a trace that matter, one by one: steps, and work on devices.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::work::TracedWork;

/// The most kernels, copies and collectives that are kept: about a hundred MiB.
const MOST_SPANS: usize = 1 << 22;

const MOST_STEPS: usize = 1 << 16;

/// The content of a trace.
#[derive(Debug, Clone, Default)]
pub struct TraceRecording {
    /// Work on devices, in the file's order.
    pub(super) spans: Vec<DeviceSpan>,
    /// Start and end of each step in picoseconds, in the file's order.
    pub(super) steps: Vec<(u64, u64)>,
    /// The job that was traced.
    pub job: TracedJob,
}

/// The traced job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TracedJob {
    /// The name of the device.
    pub device: Option<String>,
    /// The rank that was traced.
    pub rank: Option<u32>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// True if `export` wrote the trace: its ranks are pipeline ranks.
    pub simulated: bool,
}

/// Work on a device; times are in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DeviceSpan {
    pub start: u64,
    pub end: u64,
    pub work: TracedWork,
    pub device: u16,
    /// Bytes that the device puts into a collective.
    pub bytes: u64,
}

/// A value of an event, which tools write as a number or a string.
enum Scalar {
    Number(f64),
    Text(String),
    Other,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ScalarVisitor)
    }
}

/// Reads a value in one pass and skips lists and objects as they come: an untagged enum would buffer a value of any
/// size before it rejects it.
struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar::Text(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

impl Scalar {
    fn text(scalar: Option<&Self>) -> Option<&str> {
        match scalar? {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn number(scalar: Option<&Self>) -> Option<f64> {
        match scalar? {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.parse().ok(),
            Self::Other => None,
        }
        .filter(|number| number.is_finite())
    }
}

#[derive(Deserialize)]
struct TracedEvent {
    ph: Option<Scalar>,
    cat: Option<Scalar>,
    name: Option<Scalar>,
    ts: Option<Scalar>,
    dur: Option<Scalar>,
    args: Option<KernelArgs>,
}

#[derive(Default, Deserialize)]
struct KernelArgs {
    device: Option<Scalar>,
    #[serde(rename = "Collective name")]
    collective: Option<Scalar>,
    #[serde(rename = "In msg nelems")]
    elements: Option<Scalar>,
    dtype: Option<Scalar>,
}

#[derive(Deserialize)]
struct DistributedInfo {
    rank: Option<Scalar>,
    world_size: Option<Scalar>,
}

impl TraceRecording {
    /// Reads a trace as one object, or as a list of events.
    pub fn read(input: impl Read) -> serde_json::Result<Self> {
        let mut recording = Self::default();
        let mut json = serde_json::Deserializer::from_reader(input);
        // Streams event by event: a trace of several GB is never in memory as a whole, and events that do not matter
        // are dropped at once.
        json.deserialize_any(WholeTrace(&mut recording))?;
        json.end()?;
        if recording.spans.is_empty() {
            return Err(Error::custom("it has no kernel of a device: record ProfilerActivity.CUDA too"));
        }
        Ok(recording)
    }

    fn add(&mut self, event: &TracedEvent) -> Result<(), &'static str> {
        let text = |scalar: &'_ Option<Scalar>| Scalar::text(scalar.as_ref()).unwrap_or_default().to_owned();
        let (Some("X"), Some(from), Some(lasts)) =
            (Scalar::text(event.ph.as_ref()), Scalar::number(event.ts.as_ref()), Scalar::number(event.dur.as_ref()))
        else {
            return Ok(());
        };
        // Microseconds to picoseconds; times out of range saturate.
        let start = (from.max(0.0) * 1e6).round() as u64;
        let end = start.saturating_add((lasts.max(0.0) * 1e6).round() as u64);
        let name = text(&event.name);
        match text(&event.cat).as_str() {
            "user_annotation" if name.starts_with("ProfilerStep") => {
                self.steps.push((start, end));
                if self.steps.len() > MOST_STEPS {
                    return Err("it has more than 65,536 steps; record fewer");
                }
            }
            "kernel" | "gpu_memcpy" | "gpu_memset" => {
                self.spans.push(span((start, end), &name, event.args.as_ref()));
                if self.spans.len() > MOST_SPANS {
                    return Err("it has more than four million kernels; record fewer steps");
                }
            }
            _ => {}
        }
        Ok(())
    }
}

fn span((start, end): (u64, u64), name: &str, args: Option<&KernelArgs>) -> DeviceSpan {
    let unsaid = KernelArgs::default();
    let args = args.unwrap_or(&unsaid);
    let work = TracedWork::of_kernel(name, Scalar::text(args.collective.as_ref()));
    let device = Scalar::number(args.device.as_ref()).unwrap_or(0.0) as u16;
    let each = match Scalar::text(args.dtype.as_ref()).unwrap_or_default() {
        "Double" | "Long" => 8.0,
        "Float" | "Int" => 4.0,
        "Half" | "BFloat16" | "Short" => 2.0,
        _ => 1.0,
    };
    let bytes = Scalar::number(args.elements.as_ref()).unwrap_or(0.0) * each;
    DeviceSpan { start, end, work, device, bytes: bytes as u64 }
}

struct WholeTrace<'a>(&'a mut TraceRecording);

impl<'de> Visitor<'de> for WholeTrace<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with traceEvents, or a list of events")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "traceEvents" => map.next_value_seed(Events(self.0))?,
                "traceName" => {
                    let name: Scalar = map.next_value()?;
                    self.0.job.simulated =
                        Scalar::text(Some(&name)).is_some_and(|name| name.starts_with("shardscope "));
                }
                "distributedInfo" => {
                    let info: DistributedInfo = map.next_value()?;
                    let count = |scalar: Option<&Scalar>| Scalar::number(scalar).map(|number| number as u32);
                    self.0.job.rank = count(info.rank.as_ref());
                    self.0.job.world_size = count(info.world_size.as_ref());
                }
                "deviceProperties" => map.next_value_seed(Devices(&mut self.0.job.device))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        Events(self.0).visit_seq(seq)
    }
}

struct Events<'a>(&'a mut TraceRecording);

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(event) = seq.next_element::<TracedEvent>()? {
            self.0.add(&event).map_err(Error::custom)?;
        }
        Ok(())
    }
}

/// Reads the name of the first device in the list.
struct Devices<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Devices<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Devices<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of devices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        #[derive(Deserialize)]
        struct Properties {
            name: Option<Scalar>,
        }
        while let Some(Properties { name }) = seq.next_element()? {
            if let (None, Some(Scalar::Text(name))) = (&self.0, name) {
                *self.0 = Some(name);
            }
        }
        Ok(())
    }
}
