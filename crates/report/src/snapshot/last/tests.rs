use std::sync::Arc;

use tempfile::tempdir;

use super::*;
use crate::snapshot::Set;
use shardscope_engine::evaluate::Evaluation;
use shardscope_engine::search::{Workspace, once};
use shardscope_library::folders::with_folders;

fn evaluated(id: &str, library: &Library) -> (Scenario, Evaluation) {
    let scenario = open(id, library).unwrap().scenario;
    let evaluation = once(&scenario, &mut Workspace::default()).unwrap();
    (scenario, evaluation)
}

/// State that a session leaves if it changed something.
fn left(scenarios: &[(&str, &Scenario)]) -> SessionState {
    let scenarios = scenarios.iter().map(|(name, scenario)| ((*name).to_owned(), (*scenario).clone())).collect();
    SessionState { view: "map", scenarios, has_changed: true }
}

/// What can be told apart in a file of a session: how far the scenario in hand prefetches.
fn depth(path: &Path) -> u32 {
    SessionFile::at(path.to_owned())
        .open_last(&shardscope_presets::library())
        .unwrap()
        .unwrap()
        .opened
        .scenario
        .plan
        .prefetch
}

fn to(depth: u32) -> Scenario {
    let mut scenario = open("default", &shardscope_presets::library()).unwrap().scenario;
    scenario.plan.prefetch = depth;
    scenario
}

#[test]
fn a_session_goes_on_with_its_scenario_and_its_pins() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    // A folder that is not there yet, as on the first day.
    let mut file = SessionFile::at(folder.path().join("state/shardscope/last.toml"));
    assert!(file.resume(&library).is_none(), "no session has ended yet");
    assert!(file.keep(&left(&[("in hand", &to(4)), ("one", &to(8))])).unwrap());
    let LastSession { opened, .. } = file.resume(&library).unwrap().unwrap();
    assert_eq!((opened.scenario, opened.view.as_deref()), (to(4), Some("map")));
    assert_eq!(opened.pins.iter().map(|pin| (pin.name.as_str(), &pin.stored)).collect::<Vec<_>>(), [("one", &None)]);
    // Another one takes its place, and nothing of it stays.
    assert!(file.keep(&left(&[("in hand", &to(8))])).unwrap());
    let opened = file.resume(&library).unwrap().unwrap().opened;
    assert_eq!((opened.scenario, opened.pins), (to(8), Vec::new()));
    assert_eq!(file.previous(), Vec::<PathBuf>::new());
}

#[test]
fn two_sessions_that_go_on_from_one_both_stay() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let first = SessionFile::at(folder.path().join("last.toml"));
    first.keep(&left(&[("in hand", &to(1))])).unwrap();
    let [one, other, idle] = [(); 3].map(|()| {
        let mut file = first.clone();
        file.resume(&library).unwrap().unwrap();
        file
    });
    one.keep(&left(&[("in hand", &to(2))])).unwrap();
    assert_eq!(one.previous(), Vec::<PathBuf>::new(), "it went on from the first");
    other.keep(&left(&[("in hand", &to(3))])).unwrap();
    assert_eq!((depth(one.path()), one.previous().iter().map(|path| depth(path)).collect()), (3, vec![2]));
    // Who changed nothing takes nobody's place.
    assert!(!idle.keep(&SessionState { has_changed: false, ..left(&[("in hand", &to(4))]) }).unwrap());
    assert_eq!((depth(one.path()), one.previous().len()), (3, 1));
    // A session that died between two steps has left the last one aside.
    fs::remove_file(one.path()).unwrap();
    let LastSession { opened, .. } = first.clone().resume(&library).unwrap().unwrap();
    assert_eq!(opened.scenario.plan.prefetch, 2);
}

#[test]
fn sessions_that_end_at_once_all_stay() {
    let folder = tempdir().unwrap();
    let file = SessionFile::at(folder.path().join("last.toml"));
    std::thread::scope(|scope| {
        for depth in 1..=8 {
            let file = &file;
            scope.spawn(move || file.keep(&left(&[("in hand", &to(depth))])).unwrap());
        }
    });
    let mut all: Vec<u32> = file.previous().iter().map(|path| depth(path)).chain([depth(file.path())]).collect();
    all.sort_unstable();
    assert_eq!(all, (1..=8).collect::<Vec<_>>());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 8, "nothing else is left");
}

#[test]
fn of_earlier_sessions_the_latest_stay() {
    let folder = tempdir().unwrap();
    let file = SessionFile::at(folder.path().join("last.toml"));
    for depth in 1..=13_u32 {
        file.keep(&left(&[("in hand", &to(depth))])).unwrap();
        // One ends each second: the clock of a file system may be coarse.
        let ended =
            std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + u64::from(depth));
        fs::File::options().append(true).open(file.path()).unwrap().set_modified(ended).unwrap();
    }
    let kept: Vec<u32> = file.previous().iter().map(|path| depth(path)).collect();
    assert_eq!((depth(file.path()), kept), (13, (4..=12).collect()));
}

#[test]
fn a_session_is_for_nobody_else_to_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let file = SessionFile::at(folder.path().join("state/last.toml"));
    file.keep(&left(&[("in hand", &to(1))])).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder.path().join("state")), mode(file.path())), (0o700, 0o600));
    // As version 0.2.0 wrote it.
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let mut next = file.clone();
    next.resume(&shardscope_presets::library()).unwrap().unwrap();
    next.keep(&left(&[("in hand", &to(2))])).unwrap();
    assert_eq!(mode(file.path()), 0o600);
}

#[test]
fn what_cannot_be_replaced_is_said_and_stays() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let file = SessionFile::at(folder.path().join("last.toml"));
    fs::write(file.path(), "mine").unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(0o444)).unwrap();
    let why = file.keep(&left(&[("in hand", &to(1))])).unwrap_err().to_string();
    assert!(why.contains("read-only"), "{why}");
    assert_eq!(fs::read_to_string(file.path()).unwrap(), "mine");
    // A file where the folder should be.
    let why = SessionFile::at(file.path().join("last.toml")).keep(&left(&[("in hand", &to(1))]));
    assert!(why.is_err());
}

/// A session as version 0.2.0 left it: evaluated.
fn earlier_session(members: &[(&str, &Scenario, &Evaluation)]) -> String {
    Set { view: Some("map".to_owned()), ..Set::new(members.iter().copied()) }.to_toml().unwrap()
}

#[test]
fn constants_are_those_of_todays_library_and_own_ones_stay() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let mut file = SessionFile::at(folder.path().join("last.toml"));
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
    fs::write(file.path(), earlier_session(&members)).unwrap();
    let opened = file.resume(&library).unwrap().unwrap().opened;
    assert_eq!(opened.scenario, scenario);
    // Figures that came out with other constants say nothing of these.
    assert!(opened.stored.is_none());
    let pins: Vec<_> = opened.pins.iter().map(|pin| (&pin.scenario, pin.stored.is_some())).collect();
    assert_eq!(pins, [(&scenario, false), (&own, true)]);
    // The same constants: what the file of an earlier version says came out still counts.
    fs::write(file.path(), earlier_session(&[("in hand", &scenario, &evaluation)])).unwrap();
    assert!(file.resume(&library).unwrap().unwrap().opened.stored.is_some());
}

#[test]
fn a_preset_that_was_changed_is_taken_as_it_is_now_and_that_is_said() {
    let (library, folder) = (shardscope_presets::library(), tempdir().unwrap());
    let mut file = SessionFile::at(folder.path().join("last.toml"));
    let (mut scenario, evaluation) = evaluated("default", &library);
    let mut ours = (*scenario.cluster).clone();
    ours.id = "ours".to_owned();
    scenario.cluster = Arc::new(ours);
    fs::write(file.path(), earlier_session(&[("in hand", &scenario, &evaluation)])).unwrap();
    // Nobody else has such a cluster: it is as the session had it.
    let last = file.resume(&library).unwrap().unwrap();
    assert_eq!((last.is_renewed, last.opened.scenario), (false, scenario.clone()));
    let mut today = (*scenario.cluster).clone();
    today.name = "ours as it is today".to_owned();
    let text = toml::to_string(&today).unwrap().replace("id = \"ours\"\n", "");
    fs::create_dir(folder.path().join("clusters")).unwrap();
    fs::write(folder.path().join("clusters/ours.toml"), text).unwrap();
    let (library, warnings) = with_folders(shardscope_presets::library(), None, &[folder.path().to_owned()]);
    assert!(warnings.is_empty(), "{warnings:?}");
    let last = file.resume(&library).unwrap().unwrap();
    assert_eq!(last.opened.scenario.cluster, library.cluster("ours").unwrap());
    assert_ne!(last.opened.scenario.cluster, scenario.cluster);
    assert!(last.is_renewed && last.opened.stored.is_none() && last.opened.file.machine.is_none());
}
