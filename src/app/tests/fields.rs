//! The fields of the scenario: steps, typed values, lists.

use super::*;
use crate::app::action::effect::Effect;
use crate::app::action::keys::KeyPlace;
use crate::app::views::inputs::FieldGroup;
use crate::app::views::inputs::InputRow;

#[test]
fn a_value_typed_unchanged_changes_nothing() {
    let mut app = explorer();
    let before = app.file.clone();
    assert_eq!(press(&mut app, "1gjjjjjj<ret><ret>"), []);
    assert_eq!((&app.file, app.inputs.changed.clone()), (&before, Vec::new()));
}

#[test]
fn fields_step_through_valid_values() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjj");
    assert_eq!(app.inputs.row().label(), "nodes");
    press(&mut app, "l");
    assert_eq!(value(&app, "nodes"), "24");
    press(&mut app, "hh");
    assert_eq!(value(&app, "nodes"), "12");
    press(&mut app, "++-");
    assert_eq!(value(&app, "nodes"), "16");
    assert_eq!(app.inputs.changed, [Field::Nodes], "the changed field is marked");
}

#[test]
fn a_step_passes_over_values_that_cannot_be() {
    // MPT-7B has 32 heads: tensor parallelism over 64 and more is not possible.
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.row().label() != "tp" {
        press(&mut app, "j");
    }
    press(&mut app, "llllllllllll");
    let tensor: u32 = value(&app, "tp").parse().unwrap();
    assert!((2..=32).contains(&tensor), "{tensor}");
    assert!(app.shown.is_ok() && app.inputs.wrong.is_empty());
    assert!(app.notice.as_ref().unwrap().contains("no valid value after"), "{:?}", app.notice);
}

#[test]
fn the_first_character_replaces_the_value_and_other_keys_edit_it() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjj<ret>8<ret>");
    assert_eq!(value(&app, "nodes"), "8", "16 is gone");
    press(&mut app, "<ret><right>0<ret>");
    assert_eq!(value(&app, "nodes"), "80", "an arrow says that the value stays");
    press(&mut app, "<ret><bs><bs>12<ret>");
    assert_eq!(value(&app, "nodes"), "12");
    press(&mut app, "<ret>6<esc>");
    assert_eq!(value(&app, "nodes"), "12");
}

#[test]
fn a_typed_value_is_taken_and_a_wrong_one_stays_with_its_reason() {
    let mut app = explorer();
    press(&mut app, "1gjjjjjj<ret><c-u>8<ret>");
    assert_eq!(value(&app, "nodes"), "8");
    assert_eq!(figures(&app).devices, 64);
    let before = figures(&app);

    press(&mut app, "<ret><c-u>eight<ret>");
    assert_eq!(value(&app, "nodes"), "eight");
    assert!(app.inputs.wrong(Field::Nodes).unwrap().why.contains("whole number"), "{:?}", app.inputs.wrong);
    assert_eq!(figures(&app), before, "the scenario stays as it was");

    press(&mut app, "<ret><c-u>0<ret>");
    assert_eq!(value(&app, "nodes"), "0");
    assert!(app.shown.is_err() && app.stale, "the file holds a value that cannot be");
    assert_eq!(figures(&app), before, "the last picture stays");

    press(&mut app, "<ret><c-u>4<ret>");
    assert_eq!(value(&app, "nodes"), "4");
    assert!(app.inputs.wrong.is_empty() && !app.stale);
}

#[test]
fn a_wrong_value_is_fixed_by_another_field() {
    let mut app = explorer();
    press(&mut app, "1");
    while app.inputs.row().label() != "tp" {
        press(&mut app, "j");
    }
    // 3 divides neither 128 devices nor 32 heads.
    press(&mut app, "<ret><c-u>3<ret>");
    assert!(app.shown.is_err());
    press(&mut app, "h");
    assert_eq!(value(&app, "tp"), "2");
    assert!(app.shown.is_ok());
}

#[test]
fn a_list_is_searched_and_taken() {
    let mut app = explorer();
    press(&mut app, "1g<ret>");
    assert_eq!(app.place(), KeyPlace::List);
    press(&mut app, "LLAMA-2-13");
    let Some(Layer::List(list)) = &app.layer else { panic!("no list") };
    let found: Vec<&str> = list.found().into_iter().map(|item| item.name.as_str()).collect();
    assert_eq!(found, ["llama-2-13b"], "letters are text here, in any case");
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "model"), "llama-2-13b");
    assert_eq!(app.scenario.model.name, figures_model(&app));
}

#[test]
fn a_list_is_searched_fuzzily() {
    let mut app = explorer();
    press(&mut app, "1g<ret>l213");
    let Some(Layer::List(list)) = &app.layer else { panic!("no list") };
    let found: Vec<&str> = list.found().into_iter().map(|item| item.name.as_str()).collect();
    assert_eq!(found, ["llama-2-13b"]);
}

fn figures_model(app: &App) -> String {
    app.answer.as_ref().unwrap().scenario.model.name.clone()
}

#[test]
fn closing_a_list_changes_nothing() {
    let mut app = explorer();
    let before = app.file.clone();
    press(&mut app, "1<ret><down><down><down>zzz<ret>");
    assert!(matches!(app.layer, Some(Layer::List(_))), "nothing found: nothing taken");
    press(&mut app, "<esc>");
    assert!(app.layer.is_none());
    assert_eq!(app.file, before);
}

/// Whether a choice counts stands beside it: without a pipeline its schedule does not, and layer by layer a pipeline
/// runs breadth first whatever it says.
#[test]
fn a_choice_without_effect_is_shown_as_such_with_its_reason() {
    let aside = |app: &App, label: &str| {
        let idle = app.inputs.idle(field(label));
        crate::app::views::inputs::asides(field(label), idle, &app.scenario, &app.library).concat()
    };
    let about = |app: &App, label: &str| {
        crate::app::views::inputs::about(field(label), app.inputs.idle(field(label)), &app.scenario)
    };
    let app = explorer();
    assert_eq!(aside(&app, "schedule"), "1f1b not used");
    let why = "schedule has no effect; choose 2 or more pipeline ranks: there is no pipeline";
    assert_eq!(about(&app, "schedule").as_deref(), Some(why));
    assert_eq!((aside(&app, "stages"), about(&app, "stages")), (String::new(), None), "one is one");
    let app = explorer_on(&format!("{PIPELINE}\nstages_per_rank = 4\n"));
    assert_eq!((aside(&app, "schedule").as_str(), aside(&app, "stages").as_str()), ("", "4 not used"));
    let app = explorer_on(&format!("{PIPELINE}\nstages_per_rank = 4\naccumulation = \"layered\"\n"));
    assert_eq!((aside(&app, "schedule").as_str(), aside(&app, "stages").as_str()), ("1f1b not used", ""));
    assert!(about(&app, "schedule").unwrap().contains("runs breadth-first"));
}

#[test]
fn a_changed_network_has_a_field_that_puts_it_back() {
    let mut app = explorer();
    to_field(&mut app, "network");
    let aside =
        |app: &App| crate::app::views::inputs::asides(Field::Bandwidth, None, &app.scenario, &app.library).remove(0);
    // The interconnect of the H100s has 50 GB/s a device.
    assert_eq!(aside(&app), "50.0 GB/s per GPU");
    press(&mut app, "h");
    assert_eq!((value(&app, "network").as_str(), app.scenario.altered()), ("0.5", Some("system x 0.5".to_owned())));
    assert_eq!(aside(&app), "25.0 GB/s per GPU");
    press(&mut app, "l");
    assert_eq!(
        (app.file.plan.get(shardscope_engine::scenario::Field::Bandwidth), app.scenario.altered()),
        (None, None)
    );
    app.scenario.plan.bandwidth_factor = 0.123_456_789;
    assert_eq!(app.scenario.altered().as_deref(), Some("system x 0.123"));
}

/// Every field of the table is in one group, whose rows show it once they are unfolded; a dense model has no experts.
#[test]
fn groups_hold_every_field_and_unfold() {
    let grouped: usize = FieldGroup::ALL.into_iter().map(|group| group.fields().count()).sum();
    assert_eq!(grouped, Field::all().count());
    let mut app = explorer();
    let shown = |app: &App, group: FieldGroup| {
        app.inputs
            .rows()
            .filter(|row| matches!(row, InputRow::Field(field) if FieldGroup::holding(*field) == group))
            .count()
    };
    assert_eq!(shown(&app, FieldGroup::Job), FieldGroup::Job.fields().count(), "a job's fields are always of use");
    assert_eq!(shown(&app, FieldGroup::Transfers), 0);
    let transfers = InputRow::Group(FieldGroup::Transfers);
    let all = FieldGroup::Transfers.fields().count();
    assert_eq!(app.inputs.row_text(transfers, &app.scenario), format!("{all} at default"));
    to_field(&mut app, "transfers");
    press(&mut app, "z");
    assert_eq!((shown(&app, FieldGroup::Transfers), app.inputs.row()), (all, transfers));
    press(&mut app, "jz");
    assert_eq!((shown(&app, FieldGroup::Transfers), app.inputs.row()), (0, transfers), "the group keeps the keys");
    let experts = InputRow::Group(FieldGroup::Experts);
    assert_eq!(app.inputs.row_text(experts, &app.scenario), "dense model");
    to_field(&mut app, "experts");
    press(&mut app, "<ret>");
    assert_eq!(shown(&app, FieldGroup::Experts), 0, "there is nothing to show");
}

/// A field that is set is seen in a group that is folded, and marked; its default is neither.
#[test]
fn what_is_set_is_seen_and_marked() {
    let mut app = explorer();
    assert!(!app.inputs.rows().any(|row| row == InputRow::Field(Field::Prefetch)));
    press(&mut app, ":prefetch 3<ret>");
    assert!(app.inputs.set.contains(&Field::Prefetch));
    press(&mut app, ":nodes 4<ret>");
    assert!(app.inputs.rows().any(|row| row == InputRow::Field(Field::Prefetch)), "it stays when another is changed");
    press(&mut app, "uu");
    press(&mut app, "m");
    assert!(!app.inputs.set.contains(&Field::Prefetch));
}

/// The palette knows the rare fields too, and opens their fold.
#[test]
fn the_palette_leads_to_a_rare_field() {
    let mut app = explorer();
    press(&mut app, ":set reshard<ret>");
    assert_eq!(app.inputs.field(), Some(Field::Reshard));
    press(&mut app, "off<ret>");
    assert!(!app.scenario.plan.sharding.reshard_after_forward);
}

/// A share and a count of ranks that no list offers: a digit begins it, and what no item holds is the value.
#[test]
fn a_value_beside_those_of_a_list_is_typed_into_it() {
    let mut app = explorer();
    to_field(&mut app, "recompute");
    press(&mut app, "<ret>45 %");
    let Some(Layer::List(list)) = &app.layer else { panic!("no list") };
    assert_eq!(list.typed_value(), Some((Effect::Give(Field::Recompute, "45 %".to_owned()), "45 %")));
    press(&mut app, "<ret>");
    assert_eq!(value(&app, "recompute"), "0.45");
    assert!(app.layer.is_none());
    press(&mut app, "<ret>full<ret>");
    assert_eq!(value(&app, "recompute"), "full", "an item that is named goes before what is typed");
    press(&mut app, "<ret>140 %<ret>");
    assert!(app.inputs.wrong(Field::Recompute).is_some(), "it stays, with its reason");
    press(&mut app, "u");
    to_field(&mut app, "shard");
    press(&mut app, "<ret>32<ret>");
    assert_eq!(value(&app, "shard"), "32");
    // A preset's list takes what it offers.
    to_field(&mut app, "model");
    press(&mut app, "<ret>9999<ret>");
    assert!(matches!(app.layer, Some(Layer::List(_))));
}
