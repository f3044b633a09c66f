use std::sync::Arc;

use tempfile::tempdir;

use super::*;
use crate::snapshot::Set;
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::search::{Workspace, once};

fn evaluated(id: &str, library: &Library) -> (Scenario, Evaluation) {
    let scenario = open(id, library).unwrap().scenario;
    let evaluation = once(&scenario, &mut Workspace::default()).unwrap();
    (scenario, evaluation)
}

#[test]
fn a_session_goes_on_with_its_scenario_and_its_pins() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    // A folder that is not there yet, as on the first day.
    let file = folder.path().join("state/shardscope/last.toml");
    assert!(open_last(&file, &library).is_none(), "no session has ended yet");
    let (mut scenario, evaluation) = evaluated("default", &library);
    scenario.plan.prefetch += 1;
    let other = evaluated("default", &library);
    let members = [("in hand", &scenario, &evaluation), ("one", &other.0, &other.1)];
    keep_last(&file, true, &Set::new(members).to_toml().unwrap()).unwrap();
    let opened = open_last(&file, &library).unwrap().unwrap().opened;
    assert_eq!(opened.scenario, scenario);
    assert_eq!(opened.pins.iter().map(|pin| pin.name.as_str()).collect::<Vec<_>>(), ["one"]);
    // A second session replaces the first one's.
    keep_last(&file, true, &Set::new([("in hand", &other.0, &other.1)]).to_toml().unwrap()).unwrap();
    let opened = open_last(&file, &library).unwrap().unwrap().opened;
    assert_eq!((opened.scenario, opened.pins), (other.0, Vec::new()));
}

#[test]
fn what_a_session_did_not_go_on_from_is_set_aside() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("last.toml");
    let kept = || [&file, &previous_file(&file)].map(|path| std::fs::read_to_string(path).ok());
    keep_last(&file, false, "monday").unwrap();
    assert_eq!(kept(), [Some("monday".to_owned()), None]);
    keep_last(&file, true, "tuesday").unwrap();
    assert_eq!(kept(), [Some("tuesday".to_owned()), None]);
    keep_last(&file, false, "another job").unwrap();
    assert_eq!(kept(), [Some("another job".to_owned()), Some("tuesday".to_owned())]);
}

#[test]
fn a_file_that_is_none_says_what_is_wrong_with_it() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let file = folder.path().join("last.toml");
    for text in ["", "kind = \"set\"", "format = 1\nkind = \"set\"\nversion = \"9\"\nmembers = []", "\u{0}\u{1b}[2J"] {
        keep_last(&file, true, text).unwrap();
        let why = open_last(&file, &library).unwrap().unwrap_err();
        assert!(why.contains("last.toml"), "{text:?}: {why}");
    }
    let why = open_last(folder.path(), &library).unwrap().unwrap_err();
    assert!(why.contains("folder"), "{why}");
}

#[test]
fn constants_are_those_of_todays_library_and_own_ones_stay() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let file = folder.path().join("last.toml");
    let (scenario, evaluation) = evaluated("default", &library);
    // As an earlier version had them: another value of a constant, and another software.
    let mut earlier = scenario.clone();
    let mut calibration = (*scenario.calibration).clone();
    calibration.bands.clear();
    earlier.calibration = Arc::new(calibration);
    let mut stack = (*scenario.stack).clone();
    stack.name = "as it was".to_owned();
    earlier.stack = Arc::new(stack.clone());
    // What only this session has.
    let mut own = earlier.clone();
    stack.id = "mine".to_owned();
    own.stack = Arc::new(stack);
    own.plan.prefetch += 1;
    let members = [("in hand", &earlier, &evaluation), ("same", &earlier, &evaluation), ("own", &own, &evaluation)];
    keep_last(&file, true, &Set::new(members).to_toml().unwrap()).unwrap();
    let opened = open_last(&file, &library).unwrap().unwrap().opened;
    assert_eq!(opened.scenario, scenario);
    // What came out with other constants says nothing of these.
    assert!(opened.stored.is_none());
    let pins: Vec<_> = opened.pins.iter().map(|pin| (&pin.scenario, pin.stored.is_some())).collect();
    assert_eq!(pins, [(&scenario, false), (&own, true)]);
    // The same constants: what the file says came out still counts.
    keep_last(&file, true, &Set::new([("in hand", &scenario, &evaluation)]).to_toml().unwrap()).unwrap();
    assert!(open_last(&file, &library).unwrap().unwrap().opened.stored.is_some());
}

#[test]
fn a_preset_that_was_changed_is_taken_as_it_is_now_and_that_is_said() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let file = folder.path().join("last.toml");
    let (mut scenario, evaluation) = evaluated("default", &library);
    let mut ours = (*scenario.cluster).clone();
    ours.id = "ours".to_owned();
    scenario.cluster = Arc::new(ours);
    keep_last(&file, true, &Set::new([("in hand", &scenario, &evaluation)]).to_toml().unwrap()).unwrap();
    // Nobody else has such a cluster: it is as the session had it.
    let last = open_last(&file, &library).unwrap().unwrap();
    assert_eq!((last.is_renewed, last.opened.scenario), (false, scenario.clone()));
    let mut today = (*scenario.cluster).clone();
    today.name = "ours as it is today".to_owned();
    let text = toml::to_string(&today).unwrap().replace("id = \"ours\"\n", "");
    fs::create_dir(folder.path().join("clusters")).unwrap();
    fs::write(folder.path().join("clusters/ours.toml"), text).unwrap();
    let (library, warnings) = shardscope_presets::library().with_folders(None, &[folder.path().to_owned()]);
    assert!(warnings.is_empty(), "{warnings:?}");
    let last = open_last(&file, &library).unwrap().unwrap();
    assert_eq!(last.opened.scenario.cluster, library.cluster("ours").unwrap());
    assert_ne!(last.opened.scenario.cluster, scenario.cluster);
    assert!(last.is_renewed && last.opened.stored.is_none() && last.opened.file.machine.is_none());
}
