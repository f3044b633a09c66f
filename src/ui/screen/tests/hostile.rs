//! Hostile text in what a scenario is called: no cell of any screen holds it.

use std::sync::Arc;

use super::*;
use shardscope_engine::scenario::Problem;

const HOSTILE: &str = "x\u{1b}]52;c;eA==\u{7}\u{9b}\u{202e}\u{200d}y\u{e0041}\u{fe0f}z\u{feff}";

fn hostile_explorer() -> App {
    let mut app = fixture::explorer();
    let spoil = |text: &mut String| text.push_str(HOSTILE);
    let scenario = &mut app.scenario;
    let cluster = Arc::make_mut(&mut scenario.cluster);
    spoil(&mut cluster.name);
    spoil(&mut cluster.source);
    spoil(&mut cluster.device.name);
    cluster.levels.iter_mut().for_each(|level| spoil(&mut level.name));
    spoil(&mut Arc::make_mut(&mut scenario.model).name);
    spoil(&mut Arc::make_mut(&mut scenario.stack).about);
    for id in [&mut app.file.cluster, &mut app.file.model, &mut app.file.strategy, &mut app.file.stack] {
        spoil(id);
    }
    app.shown = app.scenario.clone().into_checked();
    app.tell(HOSTILE.to_owned());
    app
}

fn is_clean(app: &App) {
    for (caps, size) in [(UTF8, (200, 50)), (ASCII, (80, 24))] {
        let shown = screen(app, caps, size);
        let text: String = shown.buffer().content.iter().map(ratatui::buffer::Cell::symbol).collect();
        let found = text.chars().find(|c| c.is_control() || HOSTILE[1..].chars().any(|h| h == *c && !h.is_ascii()));
        assert_eq!(found, None, "{text}");
    }
}

#[test]
fn no_cell_holds_hostile_text() {
    for view in crate::app::views::SPECS.map(|spec| spec.id) {
        let mut app = hostile_explorer();
        app.update(Action::View(view));
        is_clean(&app);
    }
    for keys in ["?", "v", ":", "p", "i", "2i", "5i", "w", "1/"] {
        let mut app = hostile_explorer();
        engine::press(&mut app, keys);
        is_clean(&app);
    }
    let mut app = hostile_explorer();
    app.shown = Err(vec![Problem { field: HOSTILE.to_owned(), what: HOSTILE.to_owned(), fix: HOSTILE.to_owned() }]);
    is_clean(&app);
}
