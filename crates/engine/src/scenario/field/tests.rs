//! What the guide says of fields is what the table says.

use super::*;
use crate::plan::Schedule;

/// What a field takes, in words.
fn values(takes: Type) -> String {
    match takes {
        Type::Id => "an id".to_owned(),
        Type::Count(least, _) => format!("a count from {least}"),
        Type::Factor => "a factor above 0".to_owned(),
        Type::Share => "a share".to_owned(),
        Type::Tokens => "a number".to_owned(),
        Type::Money => "a price".to_owned(),
        Type::Batch => "sequences, tokens or `free`".to_owned(),
        Type::Switch => "on, off".to_owned(),
        Type::Extent => "a level, or a count of ranks".to_owned(),
        Type::Recompute => "none, selective, full, or a share".to_owned(),
        Type::RecomputeModules => "modules joined by +, or `stack`".to_owned(),
        Type::HostModules => "modules joined by +, or `none`".to_owned(),
        Type::StageSizes => "a count for each stage, or `balanced`".to_owned(),
        Type::Imbalance => "a factor from 1, `balanced` or `usual`".to_owned(),
        Type::Capacity => "a factor above 0, or `none`".to_owned(),
        Type::DispatchFormats => "a format, or four joined by +".to_owned(),
        Type::LoraTargets => "`all`, `attention`, `mlp`, or a list of matrices".to_owned(),
        Type::Beside => "none, resident, host, adapters-off, precomputed, or a model".to_owned(),
        Type::OneOf(words) => words.all.join(", "),
    }
}

#[test]
fn the_guide_lists_every_field_as_the_table_has_it() {
    let rows = Field::all().map(|field| {
        let FieldSpec { path, flag, takes, default, help, axis, .. } = field.spec();
        format!("| `{path}` | `--{flag}` | `{}` | {} | {default} | {help} |\n", axis.word, values(*takes))
    });
    let head = "| In files | Flag | Axis | Values | Default | What it is |\n|---|---|---|---|---|---|\n";
    let table = head.to_owned() + &rows.collect::<String>();
    let chapter = include_str!("../../../../../docs/fields.md");
    assert!(chapter.contains(&table), "docs/fields.md lacks this table of fields:\n{table}");
}

#[test]
fn names_are_taken_once() {
    let twice = |name: fn(&FieldSpec) -> &'static str| {
        Field::all().find(|field| Field::all().filter(|other| name(other.spec()) == name(field.spec())).count() > 1)
    };
    assert_eq!((twice(|spec| spec.flag), twice(|spec| spec.path), twice(|spec| spec.label)), (None, None, None));
}

/// A search has something to try for each field that it may change, and advice for each that it names.
#[test]
fn searched_and_advised_fields_have_steps() {
    let scenario = crate::testing::scenario();
    let library = crate::presets::Library::embedded();
    for field in Field::all() {
        let FieldSpec { search, advice, .. } = *field.spec();
        if search == SearchRole::Fixed && advice == (0, 0) {
            continue;
        }
        let steps = crate::search::options::options(field, &scenario, &library);
        assert!(steps.len() > 1, "{field} has no steps: {steps:?}");
        assert!(
            steps.iter().all(|step| matches!(step, Value::Id(_)) || field.put(step, &mut scenario.clone()).is_ok())
        );
    }
}

/// A default that is a value, and not words on where it comes from, is what a new plan has.
#[test]
fn a_default_is_what_a_new_plan_has() {
    let plan = Plan::new(crate::testing::scenario().plan.sharding, 2048);
    let known: Vec<Field> = Field::all().filter(|field| field.usual().is_some()).collect();
    for field in &known {
        assert!(field.in_plan(&plan).is_none_or(|value| Some(&value) == field.usual()), "{field}");
    }
    assert!(known.contains(&Field::Tensor) && known.contains(&Field::ClipNorm) && !known.contains(&Field::Sequence));
}

/// The way out of stages that do not count names every schedule under which they do.
#[test]
fn stages_without_effect_have_every_schedule_of_several_as_a_way_out() {
    let plan = Plan { pipeline: 2, stages_per_rank: 2, ..crate::testing::scenario().plan };
    let Idle { fix, .. } = Field::StagesPerRank.idle_in(&plan).expect("1f1b has one stage on each rank");
    let several = Schedule::ALL.iter().filter(|schedule| schedule.rules().virtual_stages);
    let named: Vec<&str> = several.map(|schedule| schedule.word()).collect();
    assert_eq!(fix, format!("choose schedule {}", named.join(" or ")));
}
