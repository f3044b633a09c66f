//! `presets`: lists what can be chosen with its key figures, or prints a preset's file.

use shardscope_engine::hardware::Cluster;
use shardscope_engine::model::Model;
use shardscope_engine::plan::Strategy;
use shardscope_engine::presets::{Kind, Library, Origin, PresetFile, Unknown};
use shardscope_engine::scenario::file;
use shardscope_engine::text::printable;
use shardscope_engine::units::{short, significant, thousands};

use super::args::{KINDS, PresetsArgs};
use super::exit::{Exit, Failure};
use super::output;
use super::session::Session;

pub(super) fn run(session: &Session, presets: &PresetsArgs) -> Result<Exit, Failure> {
    let kinds: Vec<Kind> = match presets.kind {
        Some(kind) => vec![kind],
        None => KINDS.into(),
    };
    let text = match &presets.show {
        Some(id) => file_of(&session.library, &kinds, id)?,
        None => kinds.iter().map(|kind| list(&session.library, *kind)).collect::<Vec<_>>().join("\n"),
    };
    output::result(&text)?;
    Ok(Exit::Done)
}

/// The text of a preset's file.
fn file_of(library: &Library, kinds: &[Kind], id: &str) -> Result<String, Failure> {
    let found: Vec<&PresetFile> =
        kinds.iter().flat_map(|kind| library.entries(*kind)).filter(|entry| entry.id == id).collect();
    match found[..] {
        [entry] => Ok(shown(library, entry)),
        [] => {
            let unknown = kinds.iter().filter_map(|kind| unknown(library, *kind, id));
            let likely = |unknown: &Unknown| kinds.len() == 1 || !unknown.near.is_empty();
            let mut lines: Vec<String> = unknown.filter(likely).map(|unknown| unknown.to_string()).collect();
            if lines.is_empty() {
                lines.push(format!("no preset '{id}'; `shardscope presets` lists them"));
            }
            Err(Failure::Input(lines))
        }
        _ => {
            let kinds: Vec<&str> = found.iter().map(|entry| entry.kind.folder()).collect();
            Err(Failure::input(format!("'{id}' is in {}; name the kind before --show", kinds.join(" and in "))))
        }
    }
}

/// A preset's file; under that of a model its exact counts, as a comment.
fn shown(library: &Library, entry: &PresetFile) -> String {
    let model = library.model(&entry.id).ok().filter(|_| entry.kind == Kind::Model);
    let counts = model.map_or_else(String::new, |model| format!("\n# {}\n", model.counts()));
    format!("{}{counts}", entry.text)
}

fn unknown(library: &Library, kind: Kind, id: &str) -> Option<Unknown> {
    match kind {
        Kind::Cluster => library.cluster(id).err(),
        Kind::Stack => library.stack(id).err(),
        Kind::Calibration => library.calibration(id).err(),
        Kind::Model => library.model(id).err(),
        Kind::Strategy => library.strategy(id).err(),
        Kind::Scenario => library.scenario_text(id).err(),
    }
}

/// A table of one kind: id, name, key figures, and where the user's own come from.
fn list(library: &Library, kind: Kind) -> String {
    let mut header = vec![kind.folder(), "name"];
    header.extend(columns(kind));
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    for entry in library.entries(kind) {
        let mut row = vec![entry.id.clone(), entry.name().to_owned()];
        row.extend(figures(library, entry).unwrap_or_default());
        row.resize(2 + columns(kind).len(), String::new());
        row.extend(mark(entry));
        rows.push(row.iter().map(|cell| printable(cell)).collect());
    }
    aligned(&rows)
}

/// Heads of the key figures of a kind.
fn columns(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Cluster => &["memory", "peak", "per node", "intra-node", "inter-node"],
        Kind::Stack => &["about"],
        Kind::Calibration => &[],
        Kind::Model => &["parameters", "layers", "hidden", "heads", "seq"],
        Kind::Strategy => &["weights", "gradients", "optimizer", "wire"],
        Kind::Scenario => &["cluster", "stack", "model", "strategy"],
    }
}

/// The key figures of a preset, as many as its kind has columns.
fn figures(library: &Library, entry: &PresetFile) -> Option<Vec<String>> {
    let id = entry.id.as_str();
    Some(match entry.kind {
        Kind::Cluster => of_cluster(library.cluster(id).ok()?.as_ref()),
        Kind::Stack => vec![library.stack(id).ok()?.about.clone()],
        Kind::Calibration => Vec::new(),
        Kind::Model => of_model(library.model(id).ok()?.as_ref()),
        Kind::Strategy => of_strategy(library.strategy(id).ok()?.as_ref()),
        Kind::Scenario => {
            let file = file::parse(&entry.text).ok()?;
            vec![file.cluster, file.stack, file.model, file.strategy]
        }
    })
}

fn of_cluster(cluster: &Cluster) -> Vec<String> {
    let device = &cluster.device;
    let peak = device.peak.bf16.or(device.peak.fp16).unwrap_or(device.peak.fp32);
    let rate = |index: usize| match (cluster.levels[index].bandwidth, cluster.sharing(index)) {
        (rate, shared) if shared > 1.0 => format!("{rate} shared by {}", short(shared, 2)),
        (rate, _) => rate.to_string(),
    };
    let shown = |index: Option<usize>| index.map_or_else(String::new, rate);
    vec![
        device.memory.to_string(),
        peak.to_string(),
        cluster.devices_per_node().to_string(),
        shown(cluster.level("node")),
        shown(cluster.levels.len().checked_sub(1)),
    ]
}

fn of_model(model: &Model) -> Vec<String> {
    let parameters = format!("{}B", significant(model.parameters() as f64 / 1e9, 3));
    let counts = [model.layers, model.hidden, model.heads, model.sequence];
    std::iter::once(parameters).chain(counts.map(|count| thousands(f64::from(count)))).collect()
}

fn of_strategy(strategy: &Strategy) -> Vec<String> {
    let sharding = &strategy.sharding;
    let wire = format!("{}, {}", sharding.wire.weights, sharding.wire.gradients);
    [&sharding.weights, &sharding.gradients, &sharding.optimizer]
        .map(ToString::to_string)
        .into_iter()
        .chain([wire])
        .collect()
}

/// Marks what is the user's own.
fn mark(entry: &PresetFile) -> Option<String> {
    let Origin::File(path) = &entry.origin else { return None };
    let what = if entry.overrides_embedded { "yours, overrides the preset" } else { "yours" };
    Some(format!("{what}: {}", path.display()))
}

/// Columns as wide as their texts; the first row is the head.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
