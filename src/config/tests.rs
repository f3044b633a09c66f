use super::*;

fn wrong(text: &str) -> String {
    match parse(text, Path::new("here/config.toml")) {
        Err(Error::Wrong(error)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_printed_default_changes_nothing() {
    assert_eq!(parse(DEFAULT, Path::new("x")).unwrap(), Config::default());
}

#[test]
fn each_commented_line_of_the_default_is_a_setting() {
    let setting = |line: &&str| line.starts_with("# ") && line.contains(" = ");
    let settings: Vec<&str> = DEFAULT.lines().filter(setting).collect();
    assert_eq!(settings.len(), 7);
    let uncommented: String = DEFAULT
        .lines()
        .map(|line| if setting(&line) { line.trim_start_matches("# ") } else { line })
        .flat_map(|line| [line, "\n"])
        .collect();
    let terminal = Terminal { theme: Some(Background::Dark), markers: Some(Markers::Braille), ..Terminal::default() };
    assert_eq!(
        parse(&uncommented, Path::new("x")).unwrap(),
        Config { threads: Some(4), terminal, ..Config::default() }
    );
}

#[test]
fn settings_are_read() {
    let text = "threads = 2\n[terminal]\npalette = \"256\"\ntheme = \"light\"\nascii = true\nlow_bandwidth = true\nmarkers = \"dot\"\n\
                mouse = true\n";
    let terminal = Terminal {
        palette: ColorDepth::Xterm256,
        theme: Some(Background::Light),
        ascii: true,
        low_bandwidth: true,
        markers: Some(Markers::Dot),
        mouse: true,
    };
    assert_eq!(parse(text, Path::new("x")).unwrap(), Config { threads: Some(2), terminal, ..Config::default() });
}

#[test]
fn an_unknown_field_is_refused_with_file_line_and_the_valid_names() {
    let message = wrong("\n[terminal]\ncolour = \"auto\"\n");
    for part in ["here/config.toml:3:1", "terminal.colour", "`colour`", "`palette`", "`ascii`", "`low_bandwidth`"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}

#[test]
fn a_wrong_value_is_refused_with_its_line_and_the_valid_words() {
    let message = wrong("[terminal]\npalette = \"512\"\n");
    for part in ["config.toml:2:11", "terminal.palette", "auto, truecolor, 256, 16, none"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    assert!(wrong("threads = 0").contains("counted from 1"));
}

fn place(variables: &[(&str, &str)]) -> Option<Place> {
    let found = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
    Place::from_environment(found)
}

#[test]
fn xdg_config_home_holds_the_folder_and_shardscope_config_wins_over_it() {
    let xdg = place(&[("XDG_CONFIG_HOME", "/xdg")]).unwrap();
    assert_eq!(xdg.folder, Path::new("/xdg/shardscope"));
    assert_eq!(xdg.file, Path::new("/xdg/shardscope/config.toml"));
    let named = place(&[("XDG_CONFIG_HOME", "/xdg"), ("SHARDSCOPE_CONFIG", "/own/mine.toml")]).unwrap();
    assert_eq!(named.folder, Path::new("/own"));
    assert_eq!(named.file, Path::new("/own/mine.toml"));
}

#[test]
fn a_relative_or_empty_xdg_config_home_is_ignored() {
    let relative = place(&[("XDG_CONFIG_HOME", "xdg")]);
    assert_ne!(relative.map(|place| place.folder), Some(PathBuf::from("xdg/shardscope")));
    assert_eq!(place(&[("XDG_CONFIG_HOME", "")]), place(&[]));
}

#[test]
fn a_folder_and_a_bare_file_name_are_both_places() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::named(folder.path());
    assert_eq!(place.folder, folder.path());
    assert_eq!(place.read().unwrap(), None);
    assert_eq!(Place::named(Path::new("mine.toml")).folder, Path::new("."));
}

#[test]
fn a_field_that_is_wrong_later_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::named(folder.path());
    std::fs::write(&place.file, "threads = 2\n[keys.map]\ntune = \"ctrl-i\"\n").unwrap();
    assert!(place.read().unwrap().unwrap().keys.contains_key("map"));
    let message = mistakes(&place, &[Problem::must("keys.map.tune", "take another key")]);
    assert!(message.ends_with("config.toml:3:1: keys.map.tune: take another key"), "{message}");
}
