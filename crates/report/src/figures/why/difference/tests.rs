use super::*;
use shardscope_engine::evaluate::Workspace;
use shardscope_engine::scenario::file;
use shardscope_engine::search;

fn evaluated(changes: &[(&str, &str)]) -> (Scenario, Evaluation) {
    let library = shardscope_presets::library();
    let mut file = file::parse(&library.scenario_text("default").unwrap().text).unwrap();
    for (flag, value) in changes {
        file.set(flag, value).unwrap();
    }
    let scenario = library.resolve(&file).unwrap();
    let evaluation = search::full(&scenario, &mut Workspace::default()).unwrap();
    (scenario, evaluation)
}

fn side<'a>(name: &'a str, of: &'a (Scenario, Evaluation)) -> Side<'a> {
    Side { name, scenario: &of.0, evaluation: &of.1 }
}

#[test]
fn the_terms_add_up_to_the_difference_for_the_same_tokens() {
    let base = [("model", "mpt-7b"), ("nodes", "4")];
    let a = evaluated(&base);
    for changes in [
        &[("strategy", "hsdp")][..],
        &[("micro-batch", "2"), ("recompute", "full")],
        &[("hardware", "a100-40gb-juwels")],
        &[("pp", "2"), ("accumulate", "8"), ("strategy", "zero1")],
    ] {
        let b = evaluated(&[&base[..], changes].concat());
        let total: Seconds = terms(side("A", &a), side("B", &b)).into_iter().map(|term| term.longer).sum();
        // B's step, cut to A's tokens per device, less A's step.
        let (one, two) = (&a.1.summary, &b.1.summary);
        let tokens = one.tokens_per_step / f64::from(one.devices);
        let expected = tokens / two.tokens_per_s_per_device - one.step_time.get();
        assert!((total.get() - expected).abs() < 1e-9, "{changes:?}: {total} is not {expected}");
    }
}

#[test]
fn gathers_that_stay_in_the_node_are_named() {
    // 25 GB/s a device between the nodes of JUWELS against 300 in them: with eight micro-batches FSDP gathers 16 times
    // over the network, HSDP sums its gradients over it once.
    let base = [("hardware", "a100-40gb-juwels"), ("model", "mpt-1b"), ("nodes", "16"), ("accumulate", "8")];
    let (fsdp, hsdp) = (evaluated(&base), evaluated(&[&base[..], &[("strategy", "hsdp")]].concat()));
    let said = sentence(side("A", &fsdp), side("B", &hsdp));
    assert!(said.starts_with("B is ") && said.contains(" % faster: the gathers stay in the node, "), "{said}");
    assert!(said.ends_with(" less exposed on the system level"), "{said}");
    let back = sentence(side("A", &hsdp), side("B", &fsdp));
    assert!(back.contains(" % slower: the gathers leave the node, "), "{back}");
}

#[test]
fn recompute_is_named_where_compute_differs() {
    let base = [("model", "mpt-7b"), ("nodes", "4")];
    let (kept, again) = (evaluated(&base), evaluated(&[&base[..], &[("recompute", "full")]].concat()));
    let said = sentence(side("A", &kept), side("B", &again));
    assert!(said.contains("slower: more is computed again, ") && said.ends_with(" more compute"), "{said}");
}

#[test]
fn steps_of_other_sizes_are_compared_by_the_token() {
    let base = [("model", "mpt-7b"), ("nodes", "4"), ("global-batch", "free")];
    let (one, two) = (evaluated(&base), evaluated(&[&base[..], &[("micro-batch", "2")]].concat()));
    let said = sentence(side("A", &one), side("B", &two));
    assert!(said.ends_with(", for a step of A"), "{said}");
}

#[test]
fn the_same_is_equally_fast() {
    let one = evaluated(&[]);
    assert_eq!(sentence(side("A", &one), side("B", &one)), "A and B are equally fast");
}

/// ZeRO++ sends fewer bytes, which leaves the memory's bandwidth and the multiprocessors to compute; on four nodes compute hides
/// nearly all that either sends.
#[test]
fn what_slows_compute_is_named() {
    let base = [("model", "mpt-7b"), ("nodes", "4")];
    let (fsdp, zeropp) = (evaluated(&base), evaluated(&[&base[..], &[("strategy", "zeropp")]].concat()));
    let said = sentence(side("A", &fsdp), side("B", &zeropp));
    assert!(
        said.contains(" % faster: ") && said.contains(" % fewer bytes travel, transfers slow compute by "),
        "{said}"
    );
    assert!(said.ends_with(" less"), "{said}");
    let back = sentence(side("A", &zeropp), side("B", &fsdp));
    assert!(back.contains(" % slower: ") && back.ends_with(" more"), "{back}");
}

#[test]
fn a_faster_plan_that_does_not_fit_is_said_not_to() {
    let (fsdp, zeropp) = (evaluated(&[]), evaluated(&[("strategy", "zeropp")]));
    assert!(fsdp.1.summary.fits && !zeropp.1.summary.fits);
    let said = sentence(side("A", &fsdp), side("B", &zeropp));
    assert!(said.starts_with("B is ") && said.contains(" % faster but does not fit: "), "{said}");
    let back = sentence(side("A", &zeropp), side("B", &fsdp));
    assert!(back.contains(" % slower and fits: "), "{back}");
}

#[test]
fn another_micro_batch_is_named_where_compute_differs() {
    let base = [("model", "mpt-7b"), ("nodes", "1")];
    let (one, two) = (evaluated(&base), evaluated(&[&base[..], &[("micro-batch", "4")]].concat()));
    let part = |term: &Term| (term.part == Part::Compute).then_some(term.longer.get());
    let compute = terms(side("A", &one), side("B", &two)).iter().find_map(part).unwrap();
    assert!(compute < 0.0, "larger matrix products are faster: {compute}");
    let cause = cause(side("A", &one), side("B", &two), &Part::Compute, true);
    assert_eq!(cause.as_deref(), Some("micro-batches of 4 instead of 1"));
}

/// What idles less is the stages', not the schedule's: with one stage breadth-first idles as 1F1B does, 7 slots of 39,
/// with 6 of them 7 of 199. Under 1F1B more stages are none.
#[test]
fn stages_are_named_where_the_bubble_differs() {
    let base = [("model", "mpt-30b"), ("strategy", "zero1"), ("nodes", "8"), ("pp", "8"), ("accumulate", "32")];
    let run = |changes: &[(&str, &str)]| evaluated(&[&base[..], &[("recompute", "full")], changes].concat());
    let (contiguous, one) = (run(&[("schedule", "1f1b")]), run(&[("schedule", "breadth-first")]));
    let six = run(&[("schedule", "breadth-first"), ("stages-per-rank", "6")]);
    let said = |a, b| sentence(side("A", a), side("B", b));
    let both = said(&contiguous, &six);
    assert!(both.contains(" % faster: the schedule is breadth-first with 6 stages per rank, "), "{both}");
    assert!(both.ends_with(" less bubble"), "{both}");
    let stages = said(&one, &six);
    assert!(stages.contains(" % faster: 6 stages per rank instead of 1, "), "{stages}");
    let back = said(&six, &one);
    assert!(back.contains(" % slower: 1 stage per rank instead of 6, "), "{back}");
    assert_eq!(
        cause(side("A", &one), side("B", &contiguous), &Part::Bubble, true).as_deref(),
        Some("the schedule is 1f1b")
    );
}

/// Twice the nodes finish first; half as many of a slower card take as few devices as those of a faster one, and more hours. Two
/// are compared by other words.
#[test]
fn all_of_several_are_judged() {
    let base = [("model", "mpt-7b")];
    let of = |more: &[(&str, &str)]| evaluated(&[&base[..], more].concat());
    let few = of(&[("nodes", "4")]);
    let many = of(&[("nodes", "8")]);
    let slow = of(&[("nodes", "4"), ("hardware", "a100-80gb-dgx")]);
    let sides = [side("A", &few), side("B", &many), side("C", &slow)];
    let said = verdicts(&sides).expect("three are judged");
    assert!(said.starts_with("B finishes first"), "{said}");
    assert!(
        said.contains("; A takes the fewest device-hours, ") && said.ends_with(", takes the fewest devices"),
        "{said}"
    );
    assert_eq!(verdicts(&sides[..2]), None);
}
