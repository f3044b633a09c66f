//! What the scenarios of the gate leave out: presets without a row, and fields that stand in too few.

use std::collections::BTreeSet;

use rayon::prelude::*;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::field::Field;

use super::scenarios::{self, Question};
use super::steps::{scenario, steps};

/// Rows that must depend on a field.
const ROWS: usize = 10;

/// Fields of a row that are not at their defaults: what is wrong shows where several meet.
const TOGETHER: usize = 3;

#[test]
fn every_preset_has_a_row() {
    let (library, questions) = (shardscope_presets::library(), scenarios::all());
    for field in Field::all().filter(|field| !field.is_in_plan()) {
        let kind = Kind::from_field(field).expect("a preset");
        let asked: BTreeSet<&str> = questions.iter().filter_map(|question| question.value(field.key())).collect();
        let left: Vec<&str> =
            library.entries(kind).map(|preset| preset.id.as_str()).filter(|id| !asked.contains(id)).collect();
        assert!(left.is_empty(), "no row has {field} {}", left.join(", "));
    }
}

/// A row counts for a field that it says where the step is evaluated, and without the field is another one or none.
#[test]
fn every_field_changes_ten_rows_beside_two_others() {
    let (library, questions) = (shardscope_presets::library(), scenarios::all());
    let fields: Vec<Field> = Field::all().collect();
    let few = fields.par_iter().filter_map(|field| {
        let rows = questions.iter().filter(|question| changes(&library, question, *field)).take(ROWS).count();
        (rows < ROWS).then(|| format!("{field} in {rows}"))
    });
    let few: Vec<String> = few.collect();
    assert!(few.is_empty(), "fields in fewer than {ROWS} rows: {}; add them to a family", few.join(", "));
}

fn changes(library: &Library, question: &Question, field: Field) -> bool {
    let said = |field: &Field| question.value(field.key()).is_some() && is_said(library, question, *field);
    if !said(&field) || Field::all().filter(said).take(TOGETHER).count() < TOGETHER {
        return false;
    }
    let answers = steps(&[question.clone(), question.without(field.key())]);
    let [(_, with), (_, without)] = &answers.rows[..] else { panic!("two rows") };
    let refused = &with[0];
    refused.is_empty() && with != without
}

/// Whether a row gives a field another value than it has without being said.
fn is_said(library: &Library, question: &Question, field: Field) -> bool {
    let value = |question: &Question| scenario(library, question).ok().and_then(|scenario| field.value(&scenario));
    value(question) != value(&question.without(field.key()))
}
