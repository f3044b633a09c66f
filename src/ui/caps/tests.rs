use super::*;

/// Detects with an environment written `NAME=value`, entries apart by blanks.
fn detect(environment: &str, overrides: Overrides) -> Caps {
    let pairs: Vec<(&str, &str)> = environment.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
    let env = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_string());
    Caps::detect(&env, overrides)
}

fn depth_of(environment: &str) -> Depth {
    detect(environment, Overrides::default()).depth
}

#[test]
fn term_and_colorterm_decide_the_depth() {
    let cases = [
        ("TERM=xterm-256color COLORTERM=truecolor", Depth::True),
        ("TERM=xterm COLORTERM=24bit", Depth::True),
        ("TERM=xterm COLORTERM=TrueColor", Depth::True),
        ("TERM=xterm-256color", Depth::C256),
        ("TERM=screen-256color COLORTERM=yes", Depth::C256),
        ("TERM=tmux-256color", Depth::C256),
        ("TERM=xterm-kitty", Depth::C256),
        ("TERM=alacritty", Depth::C256),
        ("TERM=xterm", Depth::C16),
        ("TERM=linux", Depth::C16),
        ("TERM=screen", Depth::C16),
        ("TERM=vt220", Depth::C16),
        ("TERM=dumb", Depth::None),
        ("", Depth::None),
    ];
    for (environment, depth) in cases {
        assert_eq!(depth_of(environment), depth, "{environment}");
    }
}

#[test]
fn no_color_counts_only_when_it_is_not_empty() {
    assert_eq!(depth_of("NO_COLOR=1 TERM=xterm-256color COLORTERM=truecolor"), Depth::None);
    assert_eq!(depth_of("NO_COLOR= TERM=xterm-256color"), Depth::C256);
}

#[test]
fn what_the_user_says_wins() {
    let says = |depth| Overrides { depth: Some(depth), ..Overrides::default() };
    assert_eq!(detect("NO_COLOR=1 TERM=dumb", says(Depth::True)).depth, Depth::True);
    assert_eq!(detect("TERM=xterm COLORTERM=truecolor", says(Depth::None)).depth, Depth::None);
    let caps = detect("LANG=C.UTF-8", Overrides { ascii: Some(true), light: Some(true), ..Overrides::default() });
    assert!(caps.ascii && caps.light);
    assert!(!detect("COLORFGBG=0;15", Overrides { light: Some(false), ..Overrides::default() }).light);
}

#[test]
fn low_bandwidth_holds_the_depth_down_unless_asked_otherwise() {
    let thrifty = Overrides { low_bandwidth: true, ..Overrides::default() };
    let environment = "TERM=xterm COLORTERM=truecolor";
    assert_eq!(detect(environment, thrifty).depth, Depth::C256);
    assert_eq!(detect("TERM=linux", thrifty).depth, Depth::C16);
    assert_eq!(detect(environment, Overrides { depth: Some(Depth::True), ..thrifty }).depth, Depth::True);
}

#[test]
fn the_first_locale_that_is_set_decides_the_glyphs() {
    let cases = [
        ("LANG=en_US.UTF-8", false),
        ("LANG=de_DE.utf8", false),
        ("LC_CTYPE=C.Utf-8", false),
        ("LC_ALL=C LANG=en_US.UTF-8", true),
        ("LC_ALL= LC_CTYPE=POSIX LANG=en_US.UTF-8", true),
        ("LC_ALL=en_US.UTF-8 LANG=C", false),
        ("LANG=en_US.ISO-8859-1", true),
        ("", true),
    ];
    for (environment, ascii) in cases {
        assert_eq!(detect(environment, Overrides::default()).ascii, ascii, "{environment}");
    }
}

#[test]
fn colorfgbg_tells_a_light_background() {
    let cases = [("0;15", true), ("0;7", true), ("0;default;15", true), ("15;0", false), ("7;8", false), ("x", false)];
    for (pair, light) in cases {
        assert_eq!(detect(&format!("COLORFGBG={pair}"), Overrides::default()).light, light, "{pair}");
    }
    assert!(!detect("", Overrides::default()).light);
}

#[test]
fn the_findings_say_what_led_to_them_and_how_to_change_it() {
    let found = |environment: &str, overrides| {
        let pairs: Vec<(&str, &str)> = environment.split_whitespace().filter_map(|pair| pair.split_once('=')).collect();
        let env = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let findings = Caps::found(&env, overrides).1;
        findings.into_iter().map(|it| format!("{}: {} ({})", it.what, it.value, it.why)).collect::<Vec<_>>()
    };
    let plain = found("TERM=screen-256color LANG=C COLORFGBG=0;15", Overrides::default());
    assert_eq!(
        plain,
        [
            "colours: 256 (TERM=screen-256color, and COLORTERM does not say more)",
            "glyphs: ASCII (LANG=C)",
            "curves: ascii (as the glyphs are)",
            "background: light (COLORFGBG=0;15)"
        ]
    );
    let said =
        Overrides { depth: Some(Depth::C16), light: Some(false), markers: Some(Markers::Dot), ..Overrides::default() };
    let said = found("TERM=xterm LC_ALL=C.UTF-8", said);
    assert_eq!(said[0], "colours: 16 (set by --palette or config.toml)");
    assert_eq!(said[2], "curves: dot (set by config.toml)");
    let thrifty = Overrides { low_bandwidth: true, ..Overrides::default() };
    assert!(found("COLORTERM=truecolor", thrifty)[0].ends_with("limited by --low-bandwidth)"));
    assert_eq!(detect("TERM=linux LANG=C.UTF-8", Overrides::default()).markers, Markers::Block);
}

#[test]
fn a_hostile_environment_reaches_no_terminal() {
    let env = |name: &str| (name == "TERM").then(|| "x\u{1b}]0;gotcha\u{7}".to_owned());
    let findings = Caps::found(&env, Overrides::default()).1;
    assert!(findings.iter().all(|finding| !finding.why.contains('\u{1b}')), "{findings:?}");
}
