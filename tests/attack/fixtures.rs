//! Every real file of others, cut at each tenth, with a byte changed, doubled: read or refused, by the command that it is for.

use std::path::Path;

use super::harness::{Victim, files};

/// The files of a kind as they are, and broken in each way.
fn broken(kind: &str, command: &str) {
    let victim = Victim::new();
    for path in files(kind) {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let cut = |tenth: usize| (format!("cut at {tenth}/10"), bytes[..bytes.len() * tenth / 10].to_vec());
        let mut changed = bytes.clone();
        changed[bytes.len() / 3] ^= 0x15;
        let others = [
            ("whole".to_owned(), bytes.clone()),
            ("changed".to_owned(), changed),
            ("doubled".to_owned(), bytes.repeat(2)),
        ];
        for (how, version) in (0..10).map(cut).chain(others) {
            victim.write(&name, &version);
            let line = command.replace("FILE", &name);
            let (code, _) = victim.run(&line.split(' ').collect::<Vec<_>>());
            assert!(code == 0 || code == 2, "{how}: {line}: {code}");
        }
        victim.remove(Path::new(&name));
        assert_eq!(victim.files(), 0, "{line} left a file behind", line = command.replace("FILE", &name));
    }
}

#[test]
fn broken_models() {
    broken("hf", "import model FILE");
}

#[test]
fn broken_logs_of_benchmarks() {
    broken("links", "import links FILE --cluster h100-80gb-dgx");
}

#[test]
fn broken_outputs_of_tools() {
    broken("topo", "import cluster FILE --nodes 4 --rate 400GB/s --device h100-80gb-dgx");
}

#[test]
fn broken_logs_of_runs() {
    broken("logs", "import run FILE --skip 1");
}

#[test]
fn broken_configurations_of_launchers() {
    broken("launch", "import plan FILE --devices 64 --micro-batch 1 --model llama-2-7b --hardware h100-80gb-dgx");
}

#[test]
fn broken_traces() {
    broken("trace", "import trace FILE");
}
