//! The command palette: everything that can be asked for, by name, with its key. Its list is made from the table of
//! keys, from the fields, the figures of the map and the presets; what moves a cursor has no place in it.

use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::field::Type;
use shardscope_engine::scenario::{Field, Scenario};
use shardscope_report::figures::METRICS;

use crate::app::action::Action;
use crate::app::action::effect::Effect;
use crate::app::action::keys::{Binding, KeyLine, KeyPlace, names};
use crate::app::layer::list::{GIVES, Item};
use crate::app::views::inputs::Inputs;
use crate::app::views::{best, measured, sequences};

/// What people call some actions, beside the words of the table of keys.
const CALLED: &[(Action, &[&str])] = &[
    (Action::View(measured::SPEC.id), &["diagnose", "oom", "out of memory", "slow"]),
    (Action::View(sequences::SPEC.id), &["context", "longest", "sequence"]),
    (Action::View(best::SPEC.id), &["best", "optimize", "pareto", "search"]),
    (Action::Import, &["import", "load", "log", "oom", "out of memory", "sinfo"]),
    (Action::ExportPlan, &["export", "job", "launcher", "sbatch", "slurm", "trace"]),
    (Action::Screen, &["image", "picture", "screenshot", "svg"]),
    (Action::Adapt, &["edit", "vocab", "vocabulary"]),
    (Action::Help, &["keys"]),
    (Action::Quit, &["exit"]),
];

/// Everything, as seen from the panel or view that has the keys: fields first, then what belongs to it.
pub fn items(lines: &[KeyLine], here: KeyPlace, inputs: &Inputs, scenario: &Scenario) -> Vec<Item> {
    let mut lines: Vec<&KeyLine> = lines.iter().filter(|line| line.place.is_under_layers()).collect();
    lines.sort_by_key(|line| (line.place != here, line.place != KeyPlace::Panels));
    let bindings = lines.into_iter().flat_map(|line| line.bindings.iter().map(move |binding| (line, binding)));
    let acts = bindings.filter(|(_, binding)| !is_motion(binding.action)).map(|(line, binding)| act(line, binding));
    let fields = Field::all().map(|field| set(field, inputs, scenario));
    let metrics = METRICS.map(|metric| Item::new(format!("Map: {}", metric.word()), "", Effect::Metric(metric)));
    acts.chain(fields).chain(metrics).collect()
}

/// A field with the value that it has, found by any of its names, and by the words that it takes.
fn set(field: Field, inputs: &Inputs, scenario: &Scenario) -> Item {
    let spec = field.spec();
    let now = inputs.text(field, scenario);
    let mut item =
        Item::new(format!("{GIVES}{}: {}", spec.label, spec.help), format!("now {now}"), Effect::Choose(field))
            .called([spec.label, spec.flag, spec.axis.word]);
    if let Type::OneOf(words) = spec.takes {
        item.about = words.all.join(" ");
    }
    item
}

/// Every preset scenario to open, and every other preset to give to its field.
pub fn presets(library: &Library) -> Vec<Item> {
    let scenarios = library.entries(Kind::Scenario).map(|entry| {
        let name = format!("open {}: {}", entry.id, entry.name());
        Item::new(name, Kind::Scenario.word(), Effect::OpenPreset(entry.id.clone())).called([&entry.id])
    });
    let of_fields = Field::all().filter_map(|field| Some((field, Kind::from_field(field)?)));
    let given = of_fields.flat_map(|(field, kind)| {
        library.entries(kind).map(move |entry| {
            let name = format!("set {} to {}: {}", field.spec().label, entry.id, entry.name());
            Item::new(name, kind.word(), Effect::Give(field, entry.id.clone()))
                .called([entry.id.clone(), format!("{} {}", field.spec().label, entry.id)])
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
    let view = if let Action::View(view) = binding.action { view.name } else { line.hint };
    let called = CALLED.iter().filter(|(action, _)| *action == binding.action).flat_map(|(_, words)| *words);
    let words = std::iter::once(view).chain(called.copied()).filter(|word| !word.is_empty());
    Item::new(format!("{place}{name}"), key, Effect::Do(line.place, binding.action)).called(words)
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
