//! The command palette: everything that can be asked for, by name, with its key. Its list is made from the table of
//! keys, from the fields, the figures of the map and the presets; what moves a cursor has no place in it.

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::Field;
use shardscope_report::figures::METRICS;

use crate::app::action::Action;
use crate::app::action::effect::Effect;
use crate::app::action::keys::{Binding, KeyLine, KeyPlace, names};
use crate::app::layer::list::Item;

/// Everything, as seen from the panel or view that has the keys: what belongs to it first.
pub fn items(lines: &[KeyLine], here: KeyPlace) -> Vec<Item> {
    let mut lines: Vec<&KeyLine> = lines.iter().filter(|line| line.place.is_under_layers()).collect();
    lines.sort_by_key(|line| (line.place != here, line.place != KeyPlace::Panels));
    let bindings = lines.into_iter().flat_map(|line| line.bindings.iter().map(move |binding| (line, binding)));
    let acts = bindings.filter(|(_, binding)| !is_motion(binding.action)).map(|(line, binding)| act(line, binding));
    let keyless = |name: String, effect| Item::new(name, "", effect);
    let fields = Field::all().map(|field| {
        let spec = field.spec();
        keyless(format!("set {}: {}", spec.label, spec.help), Effect::Choose(field))
    });
    let metrics = METRICS.map(|metric| keyless(format!("Map: {}", metric.word()), Effect::Metric(metric)));
    acts.chain(fields).chain(metrics).collect()
}

/// Every preset scenario to open, and every other preset to give to its field.
pub fn presets(library: &Library) -> Vec<Item> {
    let scenarios = library.entries(Kind::Scenario).map(|entry| {
        let name = format!("open {}: {}", entry.id, entry.name());
        Item::new(name, Kind::Scenario.word(), Effect::OpenPreset(entry.id.clone()))
    });
    let of_fields = Field::all().filter_map(|field| Some((field, Kind::from_field(field)?)));
    let given = of_fields.flat_map(|(field, kind)| {
        library.entries(kind).map(move |entry| {
            let name = format!("set {} to {}: {}", field.spec().label, entry.id, entry.name());
            Item::new(name, kind.word(), Effect::Give(field, entry.id.clone()))
        })
    });
    scenarios.chain(given).collect()
}

/// An action where it belongs.
fn act(line: &KeyLine, binding: &Binding) -> Item {
    let place = match line.place {
        KeyPlace::Panels => String::new(),
        place => format!("{}: ", place.title()),
    };
    let name = match binding.action {
        Action::Panel(panel) => format!("go to {}", panel.title()),
        _ => line.help.to_string(),
    };
    let key = binding.keys.first().map_or_else(String::new, |key| names::shown(*key, false));
    Item::new(format!("{place}{name}"), key, Effect::Do(line.place, binding.action))
}

/// Whether an action moves a cursor or a window, or belongs to the layer itself.
fn is_motion(action: Action) -> bool {
    use Action::{
        Close, Down, First, Last, Left, Less, More, NextPanel, PageDown, PageUp, Palette, PreviousPanel, Right, Type,
        Up,
    };
    matches!(
        action,
        Left | Right | Up | Down | First | Last | PageUp | PageDown | More | Less | NextPanel | PreviousPanel
    ) || matches!(action, Close | Palette | Type(_))
}

#[cfg(test)]
mod tests;
