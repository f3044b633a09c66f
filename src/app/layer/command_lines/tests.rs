use super::*;
use crate::app::tests::{explorer, press};
use shardscope_engine::search::Axis;

/// What Enter hands to the clipboard.
fn copied(commands: &[Command]) -> Option<&str> {
    commands.iter().find_map(|command| match command {
        Command::Copy { text, .. } => Some(text.as_str()),
        _ => None,
    })
}

#[test]
fn what_is_copied_gives_what_is_shown() {
    let mut app = explorer();
    press(&mut app, "C");
    let commands = press(&mut app, "<ret>");
    let line = copied(&commands).unwrap();
    assert!(line.starts_with("shardscope eval --hardware "), "{line}");
    assert!(app.layer.is_none());
    assert!(app.notice.as_deref().is_none(), "the terminal says what became of it");
}

#[test]
fn the_axes_of_the_map_are_read_again_as_they_are() {
    let mut app = explorer();
    let lines = app.command_lines().unwrap().lines;
    let [_, (what, sweep)] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(*what, "the map");
    let words = shlex::split(sweep).unwrap();
    let y = &words[words.iter().position(|word| word == "--y").unwrap() + 1];
    assert_eq!(y.parse::<Axis>().unwrap(), app.views.map.sweep.y);
    assert!(sweep.starts_with("shardscope sweep "), "{sweep}");
    app.shown = Err(Vec::new());
    assert!(app.command_lines().is_err(), "what cannot be has none");
}
