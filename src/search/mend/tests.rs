use super::*;
use crate::presets::Library;
use crate::scenario::file;

fn scenario(text: &str) -> Scenario {
    Library::embedded().resolve(&file::parse(&format!("format = 1\nstack = \"ideal\"\n{text}")).unwrap()).unwrap()
}

/// The mend, checked: the scenario does not fit, and does with the mend applied by the file's own words.
fn checked(text: &str) -> Option<String> {
    let mut workspace = Workspace::default();
    assert!(!summary(&scenario(text), &mut workspace).unwrap().fits);
    let mend = mend(&scenario(text), &mut workspace)?;
    let mut file = file::parse(&format!("format = 1\nstack = \"ideal\"\n{text}")).unwrap();
    file.set(mend.flag, &mend.value).unwrap();
    let mended = Library::embedded().resolve(&file).unwrap();
    assert!(summary(&mended, &mut workspace).unwrap().fits, "{mend}");
    Some(mend.to_string())
}

#[test]
fn activations_that_are_too_many_are_recomputed() {
    // 32 layers x 16 sequences of 2048 x 4096 x 34 bytes = 147 GB of activations of 80 GB; only their inputs are
    // kept with full recompute.
    let text = "cluster = \"h100-80gb-dgx\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 16\nmicro_batch = 16\nsequence = 2048";
    assert!(checked(text).unwrap().starts_with("recompute "));
}

#[test]
fn state_that_is_too_large_for_the_job_is_spread_over_more_nodes() {
    // 70 B parameters x 16 bytes = 1120 GB over 8 devices of 80 GB are 140 GB each, over 16 still 70 GB and the
    // gathered layers; over 32 they are 35 GB.
    let text = "cluster = \"h100-80gb-dgx\"\nmodel = \"mpt-70b\"\nstrategy = \"fsdp\"\n\
                [plan]\nnodes = 1\nrecompute = \"full\"\nsequence = 2048";
    assert!(["nodes 2", "nodes 4"].contains(&checked(text).unwrap().as_str()));
}

#[test]
fn what_no_single_change_mends_has_no_mend() {
    // Replicated weights of 70 B x 2 bytes = 140 GB never fit 80 GB.
    let text = "cluster = \"h100-80gb-dgx\"\nmodel = \"mpt-70b\"\nstrategy = \"ddp\"\n[plan]\nnodes = 4\n\
                recompute = \"full\"\nsequence = 2048";
    assert_eq!(checked(text), None);
}
