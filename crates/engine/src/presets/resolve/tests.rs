//! From scenario files to scenarios.

use std::sync::Arc;

use crate::plan::{Extent, Size};
use crate::presets::Library;
use crate::scenario::file::{ScenarioFile, parse};
use crate::units::Bytes;

fn file() -> ScenarioFile {
    let ids = "cluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n";
    parse(&format!("format = 1\n{ids}[plan]\nnodes = 8\n")).expect("valid")
}

#[test]
fn ids_become_what_they_stand_for() {
    let scenario = Library::embedded().resolve(&file()).expect("scenario");
    assert_eq!(scenario.name, "mpt-7b on h100-80gb-dgx, fsdp");
    assert_eq!((scenario.cluster.id.as_str(), &*scenario.strategy), ("h100-80gb-dgx", "fsdp"));
    assert_eq!(scenario.calibration.id, scenario.stack.calibration);
    // The sequence length that MPT-7B was trained with.
    assert_eq!((scenario.plan.size, scenario.plan.sequence), (Size::Nodes(8), 2048));
    assert_eq!(scenario.plan.sharding.weights, Extent::System);
}

#[test]
fn every_unknown_id_is_named() {
    let mut file = file();
    for flag in ["hardware", "stack", "model", "strategy"] {
        file.set(flag, "no-such").expect(flag);
    }
    let problems = Library::embedded().resolve(&file).expect_err("unknown");
    let fields: Vec<&str> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["cluster", "stack", "model", "strategy"]);
    assert!(problems.iter().all(|problem| problem.what.contains("no-such")), "{problems:?}");
}

#[test]
fn shard_moves_the_extents_and_is_refused_where_there_are_none() {
    let library = Library::embedded();
    let mut file = file();
    file.set("shard", "4").expect("shard");
    let sharding = library.resolve(&file).expect("scenario").plan.sharding;
    assert_eq!([sharding.weights, sharding.gradients, sharding.optimizer], [const { Extent::Ranks(4) }; 3]);
    file.set("strategy", "ddp").expect("strategy");
    file.set("shard", "4").expect("shard");
    assert_eq!(library.resolve(&file).expect_err("ddp")[0].field, "plan.shard");
}

#[test]
fn what_a_base_holds_wins_over_its_ids() {
    let library = Library::embedded();
    let mut base = library.resolve(&file()).expect("scenario");
    let mut cluster = (*base.cluster).clone();
    cluster.device.memory = Bytes::new(1e9);
    base.cluster = Arc::new(cluster);
    let mut file = ScenarioFile::of(&base);
    file.set("nodes", "4").expect("nodes");
    let edited = library.resolve_over(&file, Some(&base)).expect("scenario");
    assert_eq!(edited.cluster, base.cluster);
    assert_eq!(edited.plan.size, Size::Nodes(4));
    assert_ne!(library.resolve(&file).expect("scenario").cluster, base.cluster);
}
