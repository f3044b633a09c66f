//! What a list says beside each preset: the figures by which one is chosen. Not for what a preset is.

use shardscope_engine::hardware::Cluster;
use shardscope_engine::presets::{Kind, Library};
use shardscope_engine::scenario::Field;
use shardscope_engine::units::{counted, short, thousands};

/// What decides: memory, devices and network of a cluster, size and sequence of a model, what a stack stands for.
pub fn note(library: &Library, field: Field, id: &str) -> Option<String> {
    match Kind::from_field(field)? {
        Kind::Cluster => library.cluster(id).ok().map(|cluster| of_cluster(&cluster)),
        Kind::Model => library.model(id).ok().map(|model| {
            let sequence = thousands(f64::from(model.sequence));
            format!("{} parameters, sequences of {sequence}", counted(model.parameters() as f64))
        }),
        Kind::Stack => library.stack(id).ok().map(|stack| stack.about.clone()),
        _ => library.title(field, id).map(str::to_owned),
    }
}

/// `8 x 64.0 GiB, 25.0 GB/s per 2 GPUs between nodes`.
fn of_cluster(cluster: &Cluster) -> String {
    let inside = format!("{} x {}", cluster.devices_per_node(), cluster.device.memory);
    let Some(outermost) = cluster.levels.len().checked_sub(1) else { return inside };
    let shared = match cluster.sharing(outermost) {
        shared if shared > 1.0 => format!(" per {} GPUs", short(shared, 2)),
        _ => String::new(),
    };
    format!("{inside}, {}{shared} {}", cluster.levels[outermost].bandwidth, cluster.place(outermost))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::tests::explorer;

    #[test]
    fn a_list_says_what_decides() {
        let library = explorer().library;
        let note = |field, id| note(&library, field, id).unwrap();
        // A DGX A100 of 8 GPUs, each with its own HDR port.
        assert_eq!(note(Field::Cluster, "a100-80gb-dgx"), "8 x 80.0 GiB, 25.0 GB/s between nodes");
        // Frontier: 8 GCDs, which share 4 ports of 25 GB/s.
        assert_eq!(note(Field::Cluster, "mi250x-frontier"), "8 x 64.0 GiB, 25.0 GB/s per 2 GPUs between nodes");
        assert!(note(Field::Model, "gpt-neox-20b").starts_with("20.6B parameters"));
    }
}
