//! A fitted calibration as a file: the text of the one that it began from, with new values and what each
//! rests on; everything else stays.

use serde::Serialize;
use toml::ser::ValueSerializer;
use toml_edit::{DocumentMut, Item, Key, Value};

use shardscope_engine::stack::Posterior;
use shardscope_engine::text::comment;
use shardscope_engine::units::Seconds;

use super::{Fitted, FittedConstant, FittedStack, Identifiability};

/// The most stacks that are named beside a value.
const NAMED: usize = 3;

/// `text` with the values of a fit; what is wrong with it if it is no calibration.
pub fn write(text: &str, Fitted { constants, stacks, calibration, .. }: &Fitted) -> Result<String, String> {
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| error.to_string())?;
    for found in constants.iter().filter(|found| found.determined != Identifiability::Without) {
        for path in found.constant.place.paths() {
            set(document.as_item_mut(), &path.split('.').collect::<Vec<_>>(), found);
        }
    }
    if !stacks.factors.is_empty() {
        document["stacks"] = Item::Table(stacks.factors.iter().map(factor).collect());
    }
    document["bands"] = toml_edit::value(lines("[", &calibration.bands, "]")?);
    if let Some(half_width) = calibration.peak_half_width {
        document["peak_half_width"] = toml_edit::value(half_width);
    }
    if let Some(Posterior { noise, constants }) = &calibration.posterior {
        let text = lines(&format!("{{ noise = {noise}, constants = ["), constants, "] }")?;
        document["posterior"] = toml_edit::value(text);
    }
    Ok(document.to_string())
}

/// A stack's factor, and the groups that it rests on.
fn factor(stack: &FittedStack) -> (Key, Value) {
    let groups = if stack.groups == 1 { "group" } else { "groups" };
    let rests_on = format!("+- {}, {} {groups}", stack.error, stack.groups);
    let mut value = Value::from(stack.factor);
    value.decor_mut().set_suffix(format!(" {}", comment(&rests_on).trim_end()));
    (Key::new(&stack.id), value)
}

/// A value with a list in it, each item in a line.
fn lines(begin: &str, items: &[impl Serialize], end: &str) -> Result<Value, String> {
    let mut text = begin.to_owned();
    for item in items {
        text.push_str("\n    ");
        item.serialize(ValueSerializer::new(&mut text)).map_err(|error| error.to_string())?;
        text.push(',');
    }
    text.push('\n');
    text.push_str(end);
    text.parse().map_err(|error: toml_edit::TomlError| error.to_string())
}

/// Follows a path, which may end in a place of a list, and sets what is there.
fn set(item: &mut Item, path: &[&str], found: &FittedConstant) {
    let Some((first, rest)) = path.split_first() else {
        if let Some(value) = item.as_value_mut() {
            *value = spelled(value, found.value);
            value.decor_mut().set_suffix(format!(" {}", comment(&rests_on(found)).trim_end()));
        }
        return;
    };
    // `attention_flash.1` is the second item of an array, not a key.
    if let (Some(list), Ok(index)) = (item.as_array_mut(), first.parse::<usize>()) {
        if let Some(value) = list.get_mut(index) {
            *value = spelled(value, found.value);
        }
        return;
    }
    if let Some(item) = item.as_table_like_mut().and_then(|table| table.get_mut(first)) {
        set(item, rest, found);
    }
}

/// A value in the form and with the spacing of the one that it replaces.
fn spelled(old: &Value, value: f64) -> Value {
    let mut new = match old.as_str() {
        Some(_) => Value::from(Seconds::new(value).exact()),
        None => Value::from(value),
    };
    *new.decor_mut() = old.decor().clone();
    new
}

/// To which rows a value is fitted, and how well they tell it.
fn rests_on(found: &FittedConstant) -> String {
    let stacks =
        if found.stacks.len() > NAMED { format!("{} stacks", found.stacks.len()) } else { found.stacks.join(", ") };
    let groups = if found.groups == 1 { "group" } else { "groups" };
    format!("fitted to {} {groups} of {stacks}; {}", found.groups, found.determined.into_str())
}
