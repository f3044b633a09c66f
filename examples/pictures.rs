//! Draws the pictures of `assets/` from the program's own screen: `cargo run --release --example pictures`.
//!
//! The explorer runs as it does in a terminal, but answers its own questions in line and draws into a buffer; so the
//! pictures show what the program shows, and no more. Another folder can be given as the only argument.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossterm::event::KeyCode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use shardscope::app::action::Command;
use shardscope::app::jobs;
use shardscope::app::{App, Start};
use shardscope::ui::caps::{Caps, Depth};
use shardscope::ui::{self, export};
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::file;

/// One picture: its name, the preset scenario and what is changed in it, what is pressed, the screen.
struct Picture {
    name: &'static str,
    scenario: &'static str,
    changes: &'static [(&'static str, &'static str)],
    /// Characters, and a line break for Enter.
    keys: &'static str,
    size: (u16, u16),
    light: bool,
}

/// The largest model of the layered accumulation's paper on its machine.
const X_160: [(&str, &str); 5] = [
    ("hardware", "a100-80gb-nvlink16"),
    ("stack", "ideal"),
    ("model", "x-160"),
    ("recompute", "full"),
    ("strategy", "zero3"),
];

/// The default scenario, dark, on a terminal of 120 x 40.
const PLAIN: Picture =
    Picture { name: "explorer", scenario: "default", changes: &[], keys: "", size: (120, 40), light: false };

const PICTURES: [Picture; 17] = [
    PLAIN,
    Picture { name: "frontier", scenario: "frontier-20b", keys: "4lll", ..PLAIN },
    Picture { name: "large", keys: "pb", size: (200, 50), ..PLAIN },
    Picture { name: "compact", scenario: "frontier-20b", size: (80, 24), light: true, ..PLAIN },
    Picture {
        name: "pipeline",
        changes: &[
            ("hardware", "a100-80gb-dgx"),
            ("model", "gpt3-175b"),
            ("nodes", "32"),
            ("tp", "8"),
            ("pp", "4"),
            ("accumulate", "8"),
            ("recompute", "full"),
        ],
        keys: "4jl",
        ..PLAIN
    },
    Picture { name: "limits", keys: "Ljl", ..PLAIN },
    Picture {
        name: "hardware",
        changes: &[("hardware", "a100-40gb-dgx"), ("model", "mpt-13b"), ("nodes", "16")],
        keys: "H",
        ..PLAIN
    },
    Picture {
        name: "intensities",
        changes: &[
            X_160[0],
            X_160[1],
            X_160[2],
            X_160[3],
            X_160[4],
            ("nodes", "2415"),
            ("tp", "16"),
            ("pp", "5"),
            ("stages-per-rank", "32"),
            ("accumulate", "5"),
            ("accumulation", "layered"),
        ],
        keys: "I",
        ..PLAIN
    },
    Picture {
        name: "training",
        changes: &[X_160[0], X_160[1], X_160[2], X_160[3], ("nodes", "1024"), ("tp", "16")],
        keys: "DG",
        ..PLAIN
    },
    Picture { name: "advice", keys: "W", ..PLAIN },
    Picture { name: "explain", keys: "ij", ..PLAIN },
    // The fastest strategy that fits, the sixth of the table, and ZeRO-3, the first.
    Picture { name: "compare", scenario: "frontier-20b-384", keys: "Sjjjjj\npg\npc", ..PLAIN },
    Picture { name: "zeropp", scenario: "zeropp-18b-v100", keys: "S", ..PLAIN },
    Picture { name: "levels", scenario: "frontier-20b-384", keys: "Sjjjjj\npg\nT", ..PLAIN },
    // From half to twice the nodes.
    Picture { name: "best", changes: &[("model", "mpt-30b"), ("nodes", "16")], keys: "Bd", ..PLAIN },
    // Within 8 of 24 GiB, eight limits below all of the memory, and why the second operators.
    Picture { name: "plan", scenario: "osdp-48x1536", keys: "Phhhhhhhhj", ..PLAIN },
    Picture { name: "evidence", keys: "Ej", ..PLAIN },
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("assets"), PathBuf::from);
    let library = Arc::new(shardscope_presets::library());
    PICTURES.iter().try_for_each(|picture| draw(picture, &library, &folder))
}

fn draw(picture: &Picture, library: &Arc<Library>, folder: &Path) -> Result<(), Box<dyn Error>> {
    let entry = library.scenario_text(picture.scenario)?;
    let mut file = file::parse(&entry.text)?;
    for (field, value) in picture.changes {
        file.set(field, value)?;
    }
    let scenario = library.resolve(&file).map_err(|problems| format!("{problems:?}"))?;
    let (mut app, commands) = App::new(Start::new(Arc::clone(library), file, scenario));
    obey(&mut app, commands);
    for key in picture.keys.chars() {
        let code = if key == '\n' { KeyCode::Enter } else { KeyCode::Char(key) };
        let action = app.keymap.action(app.place(), code.into());
        let commands = action.map_or_else(Vec::new, |action| app.update(action));
        obey(&mut app, commands);
    }
    let caps = Caps { depth: Depth::True, light: picture.light, ..Caps::default() };
    let mut terminal = Terminal::new(TestBackend::new(picture.size.0, picture.size.1))?;
    terminal.draw(|frame| ui::draw(&app, &caps, frame))?;
    let path = folder.join(picture.name).with_extension("svg");
    std::fs::write(&path, export::svg(terminal.backend().buffer(), picture.light))?;
    println!("{}", path.display());
    Ok(())
}

/// Does what the explorer's threads do, at once.
fn obey(app: &mut App, commands: Vec<Command>) {
    commands.into_iter().flat_map(jobs::in_line_to_the_end).for_each(|report| drop(app.receive(report)));
    app.follow_cursor().into_iter().flat_map(jobs::in_line_to_the_end).for_each(|report| drop(app.receive(report)));
}
