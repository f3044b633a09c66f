//! Reports the keys of a configuration that do not affect the shape.

use serde_json::{Map, Value};

use super::super::report::ImportReport;
use super::INSIDE;
use super::family::Families;
use super::keys::Keys;

/// Notes all keys that were not read.
pub(super) fn note(keys: &mut Keys<'_>, families: &Families) {
    let unread: Vec<String> = keys.unread().map(|(key, _)| key.clone()).collect();
    for key in unread {
        let place = keys.place(&key);
        keys.report.ignore(&place, families.reason(&key).unwrap_or("no shape is read from it"));
    }
}

/// Notes the keys around the decoder's configuration.
pub(super) fn note_around(outer: &Map<String, Value>, families: &Families, report: &mut ImportReport) {
    for key in outer.keys().filter(|key| !INSIDE.iter().any(|(inside, _)| inside == key)) {
        report.ignore(key, families.reason(key).unwrap_or("the decoder stands apart"));
    }
}
