use super::*;
use crate::app::App;
use crate::app::Panel;
use crate::app::action::panel::ViewId;
use crate::app::layer::Layer;
use crate::app::layer::list::score;
use crate::app::state::keymap::Keymap;
use crate::app::tests::{explorer, press, value};
use crate::app::views;
use shardscope_report::figures::Figure;

fn names(app: &App) -> Vec<String> {
    let Some(Layer::List(palette)) = &app.layer else { panic!("no palette") };
    palette.found().into_iter().map(|item| item.name.clone()).collect()
}

#[test]
fn what_begins_a_word_goes_before_what_is_inside_one_and_that_before_scattered_letters() {
    let texts = ["unpin all", "pin the scenario", "pipeline", "plan it now"];
    let mut found: Vec<(u32, &str)> = texts.iter().filter_map(|text| Some((score("pin", text, "")?, *text))).collect();
    found.sort_by_key(|(score, _)| *score);
    assert_eq!(
        found.iter().map(|(_, text)| *text).collect::<Vec<_>>(),
        ["pin the scenario", "unpin all", "pipeline"],
        "letters over several words are no match"
    );
    assert_eq!(score("pin", "nip", ""), None);
    assert_eq!(
        (score("OOM", "go to Memory", ""), score("oom", "zoom out", "")),
        (Some(0), Some(1)),
        "synonyms, and letters"
    );
    assert_eq!(score("SCEN pin", "Pin the scenario", ""), Some(0), "words in any order, in any case");
    assert_eq!(score("", "anything", ""), Some(0));
    assert_eq!(score("é", "pin é", ""), Some(0));
}

#[test]
fn every_action_of_the_panels_and_views_is_in_it_once() {
    let app = explorer();
    let items = items(Keymap::default().lines(), KeyPlace::Panels, &app.inputs, &app.scenario);
    for line in crate::app::state::keymap::TABLE.iter().filter(|line| line.place.is_under_layers()) {
        for binding in &line.bindings {
            let listed = items.iter().filter(|item| item.effect == Effect::Do(line.place, binding.action)).count();
            assert_eq!(listed, usize::from(!is_motion(binding.action)), "{:?} of {:?}", binding.action, line.place);
        }
    }
    for item in &items {
        assert!(!item.name.is_empty() && !item.name.ends_with(": "), "{item:?}");
        assert!(!item.note.is_empty() || matches!(item.effect, Effect::Choose(_) | Effect::Metric(_)), "{item:?}");
    }
}

#[test]
fn what_belongs_to_the_panel_comes_first() {
    let mut app = explorer();
    press(&mut app, "4:");
    assert!(names(&app)[0].starts_with("Timeline: "), "{:?}", names(&app));
}

#[test]
fn a_command_is_found_and_done() {
    let mut app = explorer();
    press(&mut app, ":undo");
    assert_eq!(app.place(), KeyPlace::Palette);
    assert!(names(&app)[0].contains("undo"), "{:?}", names(&app));
    press(&mut app, "<esc>");
    assert!(app.layer.is_none());
    press(&mut app, ":metric<ret>");
    assert_eq!(app.views.map.metric(), Figure::Mfu);
    press(&mut app, ":go to mem<ret>");
    assert_eq!(app.focus, Panel::Memory);
    press(&mut app, ":limits<ret>");
    assert_eq!(app.view, views::limits::SPEC.id);
}

#[test]
fn a_command_of_another_panel_goes_there() {
    let mut app = explorer();
    press(&mut app, ":whole step<ret>");
    assert_eq!(app.focus, Panel::Timeline);
}

#[test]
fn a_field_is_opened_by_its_name() {
    let mut app = explorer();
    press(&mut app, ":set nodes<ret><c-u>8<ret>");
    assert_eq!(value(&app, "nodes"), "8");
}

/// Its label, its flag or the word of its axis, alone or behind `set`: whoever knows the name has the field, with its value.
#[test]
fn every_field_comes_first_by_its_name() {
    for field in Field::all() {
        let spec = field.spec();
        for typed in [spec.label.to_owned(), format!("set {}", spec.label), spec.flag.to_owned()] {
            // What another field is called on the screen is that field.
            if Field::all().any(|other| other != field && other.spec().label == typed) {
                continue;
            }
            let mut app = explorer();
            press(&mut app, ":");
            app.paste(&typed);
            let first = &names(&app)[0];
            assert!(first.starts_with(&format!("set {}: ", spec.label)), "{typed}: {first}");
        }
    }
    let mut app = explorer();
    press(&mut app, ":nodes");
    let Some(Layer::List(palette)) = &app.layer else { panic!("no palette") };
    assert_eq!(palette.found()[0].note, format!("now {}", value(&app, "nodes")));
}

#[test]
fn a_value_behind_a_name_is_set() {
    for typed in ["nodes 8", "set nodes to 8", "nodes=8", "set nodes 8"] {
        let mut app = explorer();
        press(&mut app, ":");
        app.paste(typed);
        assert_eq!(names(&app)[0], "set nodes to 8", "{typed}");
        press(&mut app, "<ret>");
        assert_eq!(value(&app, "nodes"), "8", "{typed}");
    }
}

#[test]
fn words_of_other_tools_lead_to_what_is_meant() {
    for (typed, found) in [
        ("slurm", "export the plan"),
        ("sbatch", "export the plan"),
        ("pareto", "best plans"),
        ("energy per job", "Map: energy"),
        ("picture", "write the screen"),
        ("diagnose", "measured"),
        ("vocab", "edit a copy"),
        ("nf4", "set "),
        ("help", "this list of keys"),
        ("oom", "measured"),
    ] {
        let mut app = explorer();
        press(&mut app, ":");
        app.paste(typed);
        let names = names(&app);
        assert!(names.first().is_some_and(|name| name.contains(found)), "{typed}: {names:?}");
    }
}

#[test]
fn nothing_found_is_nothing_done() {
    let mut app = explorer();
    press(&mut app, ":zzzz<ret>");
    assert!(app.place() == KeyPlace::Palette);
    press(&mut app, "<bs><bs><bs><bs><down><down><up>");
    let Some(Layer::List(palette)) = &app.layer else { panic!("closed") };
    assert_eq!(palette.row(), 1);
}

#[test]
fn a_figure_of_the_map_is_found_by_its_name() {
    let mut app = explorer();
    press(&mut app, "W:map exposed");
    assert_eq!(names(&app)[0], "Map: exposed");
    press(&mut app, "<ret>");
    assert_eq!((app.view, app.views.map.metric()), (ViewId::MAP, Figure::ExposedShare));
    press(&mut app, ":map cost<ret>");
    assert_eq!(app.views.map.metric(), Figure::ExposedShare, "the cluster has no price");
    assert!(app.notice.as_ref().is_some_and(|notice| notice.contains("price")), "{:?}", app.notice);
}

#[test]
fn presets_are_found_by_id_and_by_name() {
    for (typed, opened) in [("frontier-20b-384", "mi250x-frontier"), ("osdp", "titan-rtx-pcie")] {
        let mut app = explorer();
        press(&mut app, &format!(":open {typed}<ret>"));
        assert_eq!(app.scenario.cluster.id, opened);
    }
    let mut app = explorer();
    press(&mut app, ":cluster a100-40gb-juwels<ret>");
    assert_eq!(app.scenario.cluster.id, "a100-40gb-juwels");
}
