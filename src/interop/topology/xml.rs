//! XML: the topology that NCCL and RCCL read, and `nvidia-smi -q -x`.

use roxmltree::{Document, Node, ParsingOptions};

use crate::interop::report::ImportError;

use super::facts::{MachineFacts, Said};

/// The most elements of a file: a node has some hundreds.
const MOST_ELEMENTS: u32 = 100_000;

/// Adds what an XML file says.
pub fn read(file: &str, text: &str, facts: &mut MachineFacts) -> Result<(), ImportError> {
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_ELEMENTS };
    let wrong = |error| ImportError::new(file, format!("it is not XML ({error})"), "give the file whole");
    let document = Document::parse_with_options(text, options).map_err(wrong)?;
    let root = document.root_element();
    match root.tag_name().name() {
        "nvidia_smi_log" => driver(file, root, facts),
        "system" => {
            topology(file, root, facts);
            Ok(())
        }
        other => {
            let what = format!("<{other}> says nothing of a machine");
            Err(ImportError::new(file, what, "give the topology file (NCCL_TOPO_DUMP_FILE), not that of graphs"))
        }
    }
}

fn said<T>(file: &str, node: Node<'_, '_>, value: T) -> Said<T> {
    let line = node.document().text_pos_at(node.range().start).row;
    Said { value, place: format!("{file}:{line}") }
}

fn driver(file: &str, root: Node<'_, '_>, facts: &mut MachineFacts) -> Result<(), ImportError> {
    let is = |node: &Node<'_, '_>, name: &str| node.tag_name().name() == name;
    let devices: Vec<_> = root.children().filter(|node| is(node, "gpu")).collect();
    for device in &devices {
        let text = |name: &str| device.descendants().find(|node| is(node, name)).and_then(|node| node.text());
        if text("current_mig").is_some_and(|mode| mode == "Enabled") {
            let at = said(file, *device, ()).place;
            return Err(ImportError::new(at, "this device is cut into slices (MIG)", "give nodes of whole devices"));
        }
        if let Some(name) = text("product_name") {
            facts.names.push(said(file, *device, name.to_owned()));
        }
        let memory = device.children().find(|node| is(node, "fb_memory_usage"));
        let total = memory.and_then(|node| node.children().find(|node| is(node, "total"))?.text());
        facts.memory.extend(
            total.and_then(|total| total.strip_suffix(" MiB")?.parse().ok()).map(|total| said(file, *device, total)),
        );
    }
    facts.devices.push(said(file, root, devices.len() as u32));
    Ok(())
}

/// Devices are `<gpu>` or of a display's class, ports `<net>` with a rate or of a network's class.
fn topology(file: &str, root: Node<'_, '_>, facts: &mut MachineFacts) {
    let all = || root.descendants();
    let class =
        |node: &Node<'_, '_>, wanted: &str| node.attribute("class").is_some_and(|class| class.starts_with(wanted));
    let named = |name: &'static str| all().filter(move |node| node.tag_name().name() == name);
    // A dumped file has an element for each device; those of clouds have its PCI class alone.
    let devices = named("gpu").count().max(named("pci").filter(|node| class(node, "0x0302")).count());
    let pci = named("pci").filter(|node| class(node, "0x0207") || class(node, "0x0200")).count();
    facts.devices.push(said(file, root, devices as u32));
    let rates =
        named("net").filter_map(|node| Some(said(file, node, node.attribute("speed")?.parse::<f64>().ok()? / 1000.0)));
    // 1 Gb/s is the port that a node is managed by.
    let fast: Vec<Said<f64>> = rates.filter(|rate| rate.value > 10.0).collect();
    let ports = pci.max(fast.len());
    if ports > 0 {
        facts.ports.push(said(file, root, ports as u32));
    }
    facts.rates.extend(fast);
}
