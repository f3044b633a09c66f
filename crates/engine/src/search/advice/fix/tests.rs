use super::*;
use crate::presets::Library;
use crate::scenario::file;

fn scenario(text: &str) -> Scenario {
    Library::embedded().resolve(&file::parse(&format!("format = 1\nstack = \"ideal\"\n{text}")).unwrap()).unwrap()
}

/// The fix, checked: the scenario does not fit, and does with the fix applied by the file's own words.
fn checked(text: &str) -> Option<String> {
    let mut workspace = Workspace::default();
    assert!(!summary(&scenario(text), &mut workspace).unwrap().fits);
    let fix = fix(&scenario(text), &mut workspace)?;
    for edit in &fix.0 {
        let mut file = file::parse(&format!("format = 1\nstack = \"ideal\"\n{text}")).unwrap();
        file.set(edit.field.spec().flag, &edit.value.to_string()).unwrap();
        let fixed = Library::embedded().resolve(&file).unwrap();
        assert!(summary(&fixed, &mut workspace).unwrap().fits, "{edit}");
    }
    Some(fix.to_string())
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
fn each_kind_of_change_that_would_do_is_named() {
    // 6.65 B parameters x 16 bytes over the 8 devices of a node are 13.3 GB, over all 32 only 3.3 GB. 32 layers x 4
    // sequences of 1664 x 4096 x 34 bytes are 29.7 GB of activations: 43.0 GB of 42.4 (39.5 GiB), or 33.0, which is safe,
    // as 92 % or 39.2 GB are. Half of the activations is safe, too.
    let text = "cluster = \"a100-40gb-dgx\"\nmodel = \"mpt-7b\"\nstrategy = \"hsdp\"\n\
                [plan]\nnodes = 4\nmicro_batch = 4\nsequence = 1664";
    let fix = checked(text).unwrap();
    assert!(fix.starts_with("recompute ") && fix.ends_with(", micro-batch 2 or shard system"), "{fix}");
}

#[test]
fn what_no_single_change_fixes_has_no_fix() {
    // Replicated weights of 70 B x 2 bytes = 140 GB never fit 80 GB.
    let text = "cluster = \"h100-80gb-dgx\"\nmodel = \"mpt-70b\"\nstrategy = \"ddp\"\n[plan]\nnodes = 4\n\
                recompute = \"full\"\nsequence = 2048";
    assert_eq!(checked(text), None);
}

#[test]
fn state_that_is_shared_by_too_few_is_shared_by_more() {
    // 13.0 B parameters x 16 bytes over the 8 devices of a node are 26.0 GB each of 42.9 GB (40 GiB). The inputs
    // of 40 layers, 24576 x 5120 x 2 bytes each, are 10.1 GB, and one layer's own activations do not fit beside
    // both. Over all 32 devices the state is 6.5 GB.
    let text = "cluster = \"a100-40gb-dgx\"\nmodel = \"llama-2-13b\"\nstrategy = \"hsdp\"\n\
                [plan]\nnodes = 4\nrecompute = \"full\"\nsequence = 24576";
    assert_eq!(checked(text).unwrap(), "shard system");
}
