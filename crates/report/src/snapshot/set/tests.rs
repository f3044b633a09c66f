use std::fs;

use super::*;
use crate::figures::report::tests::{evaluation, scenario};
use crate::snapshot::{OpenError, open};

/// The tests' scenario, and the same on twice the nodes.
fn set() -> Set {
    let one = scenario();
    let mut two = one.clone();
    two.plan.micro_batch *= 2;
    let evaluation = evaluation(&one);
    Set::new([("narrow", &one, &evaluation), ("wide", &two, &evaluation)])
}

#[test]
fn a_set_reads_back_to_the_last_bit() {
    let set = set();
    assert_eq!(Set::parse(&set.to_toml().unwrap()), Ok(set));
}

#[test]
fn a_set_opens_on_its_first_scenario_with_all_of_them_pinned() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set.toml");
    fs::write(&path, set().to_toml().unwrap()).unwrap();
    let opened = open(&path.display().to_string(), &shardscope_presets::library()).unwrap();
    assert_eq!(opened.scenario, scenario());
    let pins: Vec<(&str, u32)> =
        opened.pins.iter().map(|pin| (pin.name.as_str(), pin.scenario.plan.micro_batch)).collect();
    let micro_batch = scenario().plan.micro_batch;
    assert_eq!(pins, [("narrow", micro_batch), ("wide", 2 * micro_batch)]);
    assert!(opened.stored.is_some(), "what came out then can be shown beside what comes out now");
}

#[test]
fn a_mistake_is_said_where_it_stands() {
    let text = set().to_toml().unwrap();
    let device = text.rfind("cluster.device]").unwrap();
    let second = device + text[device..].find("compute_units = ").unwrap();
    let wrong = format!("{}compute_units = 0 # {}", &text[..second], &text[second + 16..]);
    let error = Set::parse(&wrong).unwrap_err();
    let line = text[..second].matches('\n').count() + 1;
    assert_eq!(error.mistakes[0].line, line, "{error}");
    assert!(error.mistakes[0].message.starts_with("members[1].snapshot.cluster.device.compute_units: "), "{error}");
}

#[test]
fn a_set_without_members_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set.toml");
    fs::write(&path, "format = 1\nkind = \"set\"\nversion = \"0.1.0\"\nmembers = []\n").unwrap();
    let Err(OpenError::File(error)) = open(&path.display().to_string(), &shardscope_presets::library()) else {
        panic!("opened")
    };
    assert!(error.to_string().contains("members: must hold at least one snapshot; save the set again"), "{error}");
}
