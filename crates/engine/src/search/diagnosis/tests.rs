//! Hidden causes, found again from what a run with them takes.

use std::sync::Arc;
use std::time::Instant;

use super::*;
use crate::scenario::Field;
use crate::evaluate::{Workspace, summary};
use crate::presets::Library;
use crate::scenario::file::parse;
use crate::search::pool;

/// The default scenario with these flags.
fn scenario(library: &Library, flags: &[(&str, &str)]) -> Scenario {
    let mut file = parse(&library.scenario_text("default").expect("embedded").text).expect("valid");
    for (flag, text) in flags {
        file.set(flag, text).expect(flag);
    }
    let scenario = library.resolve(&file).expect("a scenario");
    scenario.layout().expect("possible");
    scenario
}

fn diagnosis(library: &Arc<Library>, scenario: &Scenario, figure: OwnFigure) -> Diagnosis {
    let pool = pool(Some(2)).expect("threads");
    let search = DiagnosisSearch { library: Arc::clone(library), scenario: scenario.clone(), figure };
    search.run(&Evaluator::on(&pool)).expect("possible").expect("not stopped")
}

type Flags = &'static [(&'static str, &'static str)];

/// What a job is thought to be, and what differs in truth: a flag, or a fact that is no field.
const HIDDEN: [(&str, Flags, &str, &str); 22] = [
    ("h100-80gb-dgx", &[("model", "mpt-7b"), ("nodes", "8"), ("micro-batch", "2")], "recompute", "full"),
    ("a100-80gb-dgx", &[("model", "llama-2-7b"), ("nodes", "4"), ("recompute", "full")], "recompute", "none"),
    ("a100-80gb-dgx", &[("model", "mpt-7b"), ("nodes", "4"), ("micro-batch", "4"), ("recompute", "full"), ("seq", "4096")], "attention", "plain"),
    ("h100-80gb-dgx", &[("model", "llama-3.1-8b"), ("nodes", "8"), ("recompute", "full")], "network ports of a node", "1 of 8"),
    ("a100-40gb-perlmutter", &[("model", "mpt-7b"), ("nodes", "16"), ("recompute", "full"), ("micro-batch", "2")], "network ports of a node", "1 of 4"),
    ("mi250x-frontier", &[("model", "gpt-neox-20b"), ("nodes", "48"), ("strategy", "zero3"), ("micro-batch", "1"), ("recompute", "full")], "strategy", "zero-topo"),
    ("v100-32gb-dgx2", &[("model", "gpt-18b-zeropp"), ("nodes", "8"), ("strategy", "zero3"), ("precision", "fp16"), ("recompute", "full")], "strategy", "zeropp"),
    ("h100-80gb-dgx", &[("model", "llama-2-13b"), ("nodes", "16"), ("strategy", "fsdp"), ("recompute", "full")], "strategy", "hsdp"),
    ("h100-80gb-dgx", &[("model", "llama-2-13b"), ("nodes", "4"), ("recompute", "full"), ("micro-batch", "2")], "precision", "fp8"),
    ("a100-80gb-dgx", &[("model", "mpt-1b"), ("nodes", "2"), ("micro-batch", "4")], "precision", "fp32"),
    ("a100-80gb-dgx", &[("model", "mpt-30b"), ("nodes", "8"), ("recompute", "full"), ("micro-batch", "4")], "micro-batch", "1"),
    ("a100-80gb-dgx", &[("model", "megatron-39b"), ("stack", "megatron-2022"), ("nodes", "16"), ("strategy", "zero1"), ("tp", "8"), ("pp", "4"), ("recompute", "full")], "schedule", "gpipe"),
    ("a100-80gb-dgx", &[("model", "gpt3-175b"), ("stack", "megatron-2022"), ("nodes", "16"), ("strategy", "ddp"), ("tp", "8"), ("pp", "16"), ("recompute", "full"), ("global-batch", "64")], "micro-batch", "4"),
    ("h100-80gb-dgx", &[("model", "llama-2-7b"), ("nodes", "8"), ("strategy", "zero2"), ("accumulate", "8"), ("micro-batch", "1"), ("recompute", "full")], "reduction", "micro-batch"),
    ("h100-80gb-dgx", &[("model", "llama-3.1-70b"), ("nodes", "16"), ("recompute", "full"), ("micro-batch", "1")], "communication overlap", "none"),
    ("a100-80gb-dgx", &[("model", "mpt-7b"), ("nodes", "8"), ("recompute", "full"), ("micro-batch", "2")], "offload", "optimizer"),
    ("a100-80gb-dgx", &[("model", "llama-2-13b"), ("nodes", "8"), ("recompute", "full"), ("micro-batch", "1")], "reshard", "off"),
    ("a100-80gb-dgx", &[("model", "llama-2-13b"), ("nodes", "8"), ("recompute", "full"), ("accumulate", "4"), ("micro-batch", "1")], "accumulate", "8"),
    ("h100-80gb-dgx", &[("model", "llama-2-70b"), ("nodes", "8"), ("recompute", "full"), ("micro-batch", "1")], "bandwidth", "0.1"),
    ("a100-80gb-dgx", &[("model", "gpt3-175b"), ("stack", "megatron-2022"), ("nodes", "8"), ("strategy", "zero1"), ("tp", "8"), ("pp", "8"), ("recompute", "selective")], "tp-overlap", "on"),
    ("h100-80gb-dgx", &[("model", "llama-2-13b"), ("nodes", "2"), ("recompute", "full"), ("micro-batch", "2")], "recompute", "selective"),
    ("a100-80gb-dgx", &[("model", "llama-2-7b"), ("nodes", "4"), ("recompute", "full"), ("micro-batch", "4")], "reduce format", "bf16"),
];

#[test]
fn explore() {
    let library = Arc::new(Library::embedded());
    for (at, (hardware, flags, change, value)) in HIDDEN.into_iter().enumerate() {
        let flags: Vec<(&str, &str)> = [("hardware", hardware)].into_iter().chain(flags.iter().copied()).collect();
        let thought = scenario(&library, &flags);
        let file = library.file(&thought);
        let adviser = Adviser { library: &library, file: &file, scenario: &thought };
        let truth = match Field::from_flag(change) {
            Some(_) => Some(scenario(&library, &[&flags[..], &[(change, value)]].concat())),
            None => suspects::singles(&adviser).into_iter().find(|one| one.change == change && one.value == value).map(|one| one.candidate.scenario),
        };
        let Some(truth) = truth else { println!("{at} {change} {value}: NO SUCH SUSPECT"); continue };
        let mut ws = Workspace::default();
        let (is, was) = (summary(&truth, &mut ws).unwrap(), summary(&thought, &mut ws).unwrap());
        let noise = if at % 2 == 0 { 1.02 } else { 0.98 };
        let start = Instant::now();
        let found = diagnosis(&library, &thought, OwnFigure::StepTime(is.step_time * noise));
        println!("{at} {change} {value}: off {:+.3} band {:.3} fits {}/{} tried {} in {:?}", found.off, found.band, was.fits, is.fits, found.tried, start.elapsed());
        for (rank, one) in found.hypotheses.iter().enumerate() {
            let mark = if one.change == change && one.value == value { "<=====" } else { "" };
            println!("    {rank} {:?} {} = {} {:+.3} {mark}", one.kind, one.change, one.value, one.off);
        }
    }
}
