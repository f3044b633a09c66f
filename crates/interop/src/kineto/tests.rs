//! Traces of others by their known facts, and the simulator's own by its own figures.

use std::fmt::Write as _;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::report::ImportReport;
use crate::trace::RankTrace;
use shardscope_engine::evaluate::{Evaluation, Workspace};
use shardscope_engine::scenario::{Scenario, file};
use shardscope_engine::search::once;

use super::work::TracedWork;
use super::*;

const DDP: &[u8] = include_bytes!("../../../../tests/fixtures/trace/kineto-nccl-parser-cut.json.gz");
const TOY: &[u8] = include_bytes!("../../../../tests/fixtures/trace/kineto-mi250-minitoy.json.gz");

fn timeline(input: &[u8]) -> (StepTimeline, TraceRecording, ImportReport) {
    let mut report = ImportReport::default();
    let recording = read(input).expect("a trace");
    (StepTimeline::new(&recording, &mut report), recording, report)
}

fn kind(timeline: &StepTimeline, work: TracedWork) -> &TracedKind {
    timeline.kinds.iter().find(|kind| kind.work == work).unwrap_or_else(|| panic!("no {work:?} in {timeline:?}"))
}

fn near(one: f64, other: f64, within: f64) {
    assert!((one - other).abs() <= within, "{one} is not {other}");
}

/// Made by hand, in microseconds: two steps of 100. In each a product from 10 to 40 and another from 50 to 80 on one stream,
/// a gather of 1,000 bf16 from 30 to 60 beside them, so 10 of its 30 are exposed, a copy from 85 to 90; idle is 10 + 5 + 10.
#[test]
fn a_step_by_hand() {
    let mut events = String::new();
    for step in 0..2 {
        let mut event = |name: &str, cat: &str, (from, to): (f64, f64), args: &str| {
            let ts = 1000.0 + 100.0 * f64::from(step) + from;
            let dur = to - from;
            let _ = write!(
                events,
                r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": 0, "tid": "a", "ts": {ts}, "dur": {dur}, "args": {{{args}}}}},"#
            );
        };
        event(&format!("ProfilerStep#{step}"), "user_annotation", (0.0, 100.0), "");
        event("ProfilerStep#9", "user_annotation", (20.0, 30.0), "");
        event("ProfilerStep#9", "gpu_user_annotation", (20.0, 300.0), "");
        event("aten::mm", "cpu_op", (0.0, 90.0), "");
        event("ampere_gemm", "kernel", (10.0, 40.0), r#""device": 0"#);
        event("ampere_gemm", "kernel", (50.0, 80.0), r#""device": 0"#);
        let gather = r#""device": 0, "Collective name": "_allgather_base", "In msg nelems": 1000, "dtype": "BFloat16""#;
        event("ncclDevKernel_AllGather_RING_LL", "kernel", (30.0, 60.0), gather);
        event("Memcpy DtoH", "gpu_memcpy", (85.0, 90.0), r#""device": "0""#);
    }
    // The last mark holds nothing; another device does less.
    events.push_str(r#"{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "ts": 1200, "dur": 3},"#);
    events.push_str(r#"{"ph": "X", "cat": "kernel", "name": "x", "ts": 1000, "dur": 200, "args": {"device": 1}}"#);
    let object = format!(
        r#"{{"deviceProperties": [{{"id": 0, "name": "A"}}, {{"name": "B"}}], "traceEvents": [{events}], "distributedInfo": {{"rank": 3, "world_size": 8}}}}"#
    );
    let (found, recording, report) = timeline(object.as_bytes());
    assert_eq!(
        (recording.job.device.as_deref(), recording.job.rank, recording.job.world_size),
        (Some("A"), Some(3), Some(8))
    );
    assert_eq!(found.steps, 2);
    for (seconds, micros) in [
        (found.step_s, 100.0),
        (found.compute_s, 60.0),
        (found.communication_s, 30.0),
        (found.exposed_communication_s, 10.0),
        (found.copies_s, 5.0),
        // Nothing runs until 10, from 80 to 85, and from 90 on.
        (found.idle_s, 25.0),
    ] {
        near(seconds * 1e6, micros, 1e-6);
    }
    let gather = kind(&found, TracedWork::AllGather);
    let products = kind(&found, TracedWork::Products);
    assert_eq!([gather.count, gather.bytes, products.count].map(|number| number.to_string()), ["1", "2000", "2"]);
    let ignored: Vec<&str> = report.ignored.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(ignored, ["other devices", "3 of 5 marks of steps"]);
    // A list of events is a trace too.
    let (list, _, _) = timeline(format!("[{events}]").as_bytes());
    assert_eq!(list, found);
}

/// Steps of 222.442, 219.727 and 224.936 ms; of two ranks 15 all-reduces and six broadcasts. A step sums up the gradients of
/// ResNet-50: 25,557,032 of four bytes. The times come from a script of another language over the whole file.
#[test]
fn a_trace_of_ddp_gives_its_steps_and_all_reduces() {
    let (found, recording, report) = timeline(DDP);
    assert_eq!((found.steps, recording.job.world_size, recording.job.rank), (3, Some(2), Some(0)));
    near(found.step_s * 1e3, 222.442, 0.001);
    let (reduce, broadcast) = (kind(&found, TracedWork::AllReduce), kind(&found, TracedWork::Broadcast));
    assert_eq!((reduce.count, reduce.bytes, broadcast.count), (5.0, 25_557_032.0 * 4.0, 2.0));
    for (seconds, millis) in [
        (found.communication_s, 15.625_497),
        (found.compute_s, 38.551_948),
        (found.exposed_communication_s, 13.186_489),
        (found.idle_s, 169.908_627),
    ] {
        // The file's times are whole nanoseconds at best.
        near(seconds * 1e3, millis, 5e-5);
    }
    assert_eq!(report.taken[0].value, "3");
    assert_eq!(recording.job.device.as_deref(), Some("NVIDIA A100-PG509-200"));
}

/// INDEX.md: no collectives, and marks of steps on host and device. The second mark of the host holds no kernel.
#[test]
fn a_trace_of_amd_gives_the_step_that_has_kernels() {
    let (found, _, report) = timeline(TOY);
    assert_eq!((found.steps, found.communication_s), (1, 0.0));
    near(found.step_s * 1e6, 9288.291, 1e-3);
    // Two products of Tensile, and two copies.
    assert_eq!((kind(&found, TracedWork::Products).count, kind(&found, TracedWork::Copies).count), (2.0, 2.0));
    assert_eq!(report.ignored[0].field, "1 of 2 marks of steps");
}

fn scenario(flags: &[(&str, &str)]) -> Scenario {
    let library = shardscope_presets::library();
    let mut file = file::parse(&library.scenario_text("default").expect("a preset").text).expect("a scenario");
    for (flag, text) in flags {
        file.set(flag, text).expect(text);
    }
    library.resolve(&file).unwrap_or_else(|problems| panic!("{flags:?}: {problems:?}"))
}

fn written(scenario: &Scenario, evaluation: &Evaluation) -> Vec<u8> {
    let traces = RankTrace::all(scenario, &mut Workspace::default()).expect("traces");
    let mut text = Vec::new();
    traces[evaluation.trace.last_rank() as usize].write(&mut text).expect("it is written");
    text
}

/// What `export` writes gives the simulator's own figures when read: step, communication, what of it is exposed (where
/// nothing waits for other ranks or the host), and as many gathers as it counts.
#[test]
fn an_exported_step_gives_the_simulator_s_own_figures() {
    for flags in [
        &[("model", "mpt-1b"), ("nodes", "2"), ("stack", "ideal")][..],
        &[("model", "mpt-7b"), ("nodes", "4"), ("stack", "ideal"), ("strategy", "zeropp"), ("accumulate", "3")],
        &[("model", "mpt-7b"), ("nodes", "2"), ("stack", "ideal"), ("tp", "8"), ("accumulate", "4")],
        &[("model", "mpt-7b"), ("nodes", "2"), ("stack", "ideal"), ("strategy", "hsdp"), ("micro-batch", "1")],
    ] {
        let scenario = scenario(flags);
        let evaluation = once(&scenario, &mut Workspace::default()).expect("it runs");
        let (found, recording, _) = timeline(&written(&scenario, &evaluation));
        let (step, time) = (evaluation.summary.step_time.get(), evaluation.summary.time);
        assert!(recording.job.simulated && found.steps == 1, "{flags:?}");
        for (read, simulated) in [
            (found.step_s, step),
            (found.communication_s, time.communication.get()),
            (found.exposed_communication_s, time.exposed.get()),
        ] {
            near(read, simulated, 1e-9 * step);
        }
        let passes = [TracedWork::Forward, TracedWork::Backward].map(|work| kind(&found, work).count);
        assert!(passes[0] > 0.0 && passes[0] <= passes[1], "{flags:?}: {passes:?}");
        // Beside itself it is the same, in each figure.
        let both = TraceComparison::new(recording, Some(&scenario)).expect("a comparison").made;
        assert_eq!(both.simulated.as_ref(), Some(&both.measured), "{flags:?}");
        assert!(both.text().matches("1.00").count() >= 3, "{}", both.text());
    }
}

fn refused(input: impl Read) -> String {
    let error = read(input).map(|recording| recording.spans.len()).expect_err("it is refused");
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    error.to_string()
}

#[test]
fn what_is_no_trace_is_refused_in_words() {
    let packed = |text: &[u8]| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).expect("memory");
        packer.finish().expect("memory")
    };
    for (text, says) in [
        (&b""[..], "ends in the middle"),
        (b"{\"traceEvents\": [", "ends in the middle"),
        (b"{\"traceEvents\": 7}", "is no trace"),
        (b"{\"traceEvents\": []}", "no kernel of a device"),
        (b"7", "is no trace"),
        (b"{\"traceEvents\": [{\"ph\": \"X\", \"ts\": NaN}]}", "is no trace"),
    ] {
        for input in [text.to_vec(), packed(text)] {
            assert!(refused(&input[..]).contains(says), "{}: {}", String::from_utf8_lossy(text), refused(&input[..]));
        }
    }
    let short = &TOY[..TOY.len() / 2];
    assert!(refused(short).contains("to its end"), "{}", refused(short));
    // A bomb: a text without end that packs to nothing.
    let bomb = packed(&[b"{\"traceName\": \"".to_vec(), vec![b'a'; 4 << 20]].concat());
    assert!(bomb.len() < 1 << 16 && refused(&bomb[..]).contains("more than 1 MiB"), "{}", refused(&bomb[..]));
    // Times that no clock has are still times.
    let wild = br#"[{"ph": "X", "cat": "kernel", "name": "k", "ts": -1e300, "dur": 1e300}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 1e300, "dur": "1e300"}]"#;
    let (found, _, _) = timeline(wild);
    assert!(found.step_s.is_finite() && found.compute_s <= found.step_s, "{found:?}");
}

#[test]
fn a_trace_is_known_by_its_beginning() {
    for (input, known) in [
        (DDP, true),
        (TOY, true),
        (&b"[{\"name\": \"a\", \"ph\": \"X\", \"pid\": 0, \"ts\": 1}]"[..], true),
        (b"{\"model_type\": \"llama\"}", false),
        (b"iteration 1/ \"traceEvents\"", false),
        (b"", false),
    ] {
        assert_eq!(is_trace(input), known, "{:?}", &input[..input.len().min(20)]);
    }
    assert!(!is_trace(" ".repeat(1 << 17).as_bytes()));
}
