//! The views in the map's place.

use super::*;
use crate::app::action::keys::KeyPlace;
use crate::app::action::panel::ViewId;
use crate::app::views;

#[test]
fn a_view_takes_the_maps_place_and_escape_gives_it_back() {
    let mut app = explorer();
    press(&mut app, "4L");
    assert_eq!((app.view, app.focus), (views::limits::SPEC.id, Panel::Map));
    assert_eq!(app.place(), KeyPlace::View(views::limits::SPEC.id));
    press(&mut app, "l3<esc>");
    assert_eq!((app.view, app.focus), (ViewId::MAP, Panel::Memory), "whatever has the keys");
    press(&mut app, "2");
    assert_eq!(app.place(), KeyPlace::Panel(Panel::Map));
    // The list of views, by name.
    press(&mut app, "v/hard<ret>");
    assert_eq!((app.view, app.layer.is_none()), (views::hardware::SPEC.id, true));
    press(&mut app, "M");
    assert_eq!(app.view, ViewId::MAP);
    press(&mut app, "Lb");
    assert_eq!(app.view, ViewId::MAP, "the best cell is one of the map");
}

/// Each reproduction of a publication is a scenario that the explorer opens on.
#[test]
fn it_opens_on_each_reproduction() {
    for (id, devices) in [("frontier-20b-384", 384), ("zeropp-18b-v100", 64), ("osdp-48x1536", 8)] {
        let text = shardscope_presets::library().scenario_text(id).unwrap().text.clone();
        let (mut app, commands) = App::new(start(&text));
        obey(&mut app, commands.into_iter().filter(|one| matches!(one, Command::Evaluate { .. })).collect());
        assert!(!app.stale && figures(&app).fits && figures(&app).devices == devices, "{id}");
        assert_eq!(app.inputs.wrong, [], "{id}");
        assert!(app.file.published.as_ref().is_some_and(|published| !published.figures.is_empty()), "{id}");
    }
}

#[test]
fn every_view_has_a_key_and_a_line_in_the_list() {
    for view in crate::app::views::SPECS.map(|spec| spec.id) {
        let mut app = explorer();
        let key = app.keymap.key_of(view, false);
        let shown =
            |app: &mut App, keys: &str| press_obeying(app, keys, |command| !matches!(command, Command::Work { .. }));
        shown(&mut app, &key);
        assert_eq!(app.view, view);
        shown(&mut app, "v<ret>");
        assert_eq!(app.view, view, "the list begins where one is");
        assert!(!view.about.is_empty());
    }
}

#[test]
fn a_views_work_is_asked_for_when_it_is_shown_and_follows_the_scenario() {
    let mut app = explorer();
    let asks = |commands: &[Command]| commands.iter().any(|command| matches!(command, Command::Work { .. }));
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))) && app.is_waiting());
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))), "what never came is asked for again");
    press(&mut app, "H");
    assert!(!app.is_waiting());
    assert_eq!(press(&mut app, "H"), [], "it is known");
    to_field(&mut app, "seq");
    assert!(asks(&press(&mut app, "l")), "another sequence length");
    press(&mut app, "<esc>");
    assert!(!asks(&press(&mut app, "l")), "nobody looks at it");
    let old = JobReport::Found { generation: 1, found: crate::app::answers::work::Found::Hardware(Vec::new()) };
    app.receive(old);
    assert!(asks(&app.update(action::Action::View(views::hardware::SPEC.id))));
}

/// What is taken in the view of the hardware is of the scenario in hand, wherever the map's cursor was.
#[test]
fn hardware_is_taken_for_the_scenario_in_hand() {
    let mut app = explorer();
    let nodes = app.scenario.plan.size;
    press(&mut app, "llH");
    assert!(!app.looking);
    let summary = figures(&app);
    press(&mut app, "<ret>");
    assert_eq!(app.scenario.plan.size, nodes);
    assert_eq!(app.answer.as_ref().unwrap().scenario, app.scenario);
    assert!(figures(&app).tokens_per_s_per_device >= summary.tokens_per_s_per_device, "its best batch is no worse");
}

/// The list of views prints their keys: each works there as it does on a panel.
#[test]
fn the_key_of_a_view_takes_it_in_the_list_of_views() {
    for spec in views::SPECS {
        let mut app = explorer();
        press(&mut app, &format!("v{}", spec.opens));
        assert!(app.layer.is_none(), "{}", spec.opens);
        assert_eq!(app.view, spec.id);
    }
    // In another list such a letter does nothing.
    let mut app = explorer();
    press(&mut app, "1gjj<ret>W");
    assert!(matches!(app.layer, Some(Layer::List(_))));
    assert_eq!(app.view, ViewId::MAP);
}
