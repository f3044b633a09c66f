//! Reads XML: the topology files of NCCL and RCCL, and `nvidia-smi -q -x`.

use roxmltree::{Document, Node, ParsingOptions};

use shardscope_engine::problem::Problem;

use super::facts::{DirectLinks, MachineFacts, Sourced};

/// Device names as the driver gives them, by PCI device id (`pci.ids`, NVIDIA, 2025).
const DEVICES: [(&str, &str); 16] = [
    ("0x1db5", "Tesla V100-SXM2-32GB"),
    ("0x1db6", "Tesla V100-PCIE-32GB"),
    ("0x20b0", "NVIDIA A100-SXM4-40GB"),
    ("0x20b2", "NVIDIA A100-SXM4-80GB"),
    ("0x20b5", "NVIDIA A100 80GB PCIe"),
    ("0x20f1", "NVIDIA A100-PCIE-40GB"),
    ("0x20f3", "NVIDIA A800-SXM4-80GB"),
    ("0x2230", "NVIDIA RTX A6000"),
    ("0x2321", "NVIDIA H100 NVL"),
    ("0x2324", "NVIDIA H800"),
    ("0x2330", "NVIDIA H100 80GB HBM3"),
    ("0x2331", "NVIDIA H100 PCIe"),
    ("0x2335", "NVIDIA H200"),
    ("0x233b", "NVIDIA H200 NVL"),
    ("0x2342", "NVIDIA GH200 480GB"),
    ("0x26b9", "NVIDIA L40S"),
];

/// The most elements in a file: a node has a few hundred.
const MOST_ELEMENTS: u32 = 100_000;

/// The deepest nesting of elements: about ten in a real file. The parser recurses once per level.
const MOST_DEPTH: u32 = 100;

/// Adds the facts in an XML file.
pub fn read(file: &str, text: &str, facts: &mut MachineFacts) -> Result<(), Problem> {
    bounded(file, text)?;
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_ELEMENTS };
    let wrong = |error| Problem::new(file, format!("it is not XML ({error})"), "give the file whole");
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
            Err(Problem::new(file, what, "give the topology file (NCCL_TOPO_DUMP_FILE), not that of graphs"))
        }
    }
}

/// The most attributes of an element: about ten in a real file. The parser compares each with all before it.
const MOST_ATTRIBUTES: usize = 100;

/// Refuses a text with elements too deep or with too many attributes, before parsing. Also refuses declarations, which
/// could hide elements and which no tool writes.
fn bounded(file: &str, text: &str) -> Result<(), Problem> {
    let refused = |what: &str| Err(Problem::new(file, what, "give the file as the tool wrote it"));
    let (mut rest, mut depth) = (text, 0_u32);
    while let Some((_, after)) = rest.split_once('<') {
        let skipped = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>")];
        let skipped = skipped.iter().find_map(|(begin, end)| Some((after.strip_prefix(begin)?, end)));
        if let Some((inside, end)) = skipped {
            rest = inside.split_once(end).map_or("", |(_, after)| after);
            continue;
        }
        let (tag, after) = tag(after);
        match tag.as_bytes().first() {
            Some(b'!') if tag.starts_with("!DOCTYPE") && !tag.contains('[') => {}
            Some(b'!') => return refused("it declares elements or entities"),
            Some(b'/') => depth = depth.saturating_sub(1),
            _ if tag.ends_with('/') => {}
            _ => depth += 1,
        }
        // The parser copies namespaces from element to element; no tool writes any.
        if tag.contains("xmlns") {
            return refused("it declares a space of names");
        }
        // Counts `=` inside quoted values too: no element has this many.
        if tag.bytes().filter(|byte| *byte == b'=').count() > MOST_ATTRIBUTES {
            return refused(&format!("an element has more than {MOST_ATTRIBUTES} attributes"));
        }
        if depth > MOST_DEPTH {
            return refused(&format!("its elements are nested beyond {MOST_DEPTH}"));
        }
        rest = after;
    }
    Ok(())
}

/// The inside of a tag, and the text after it; a `>` in a quoted attribute does not end the tag.
fn tag(text: &str) -> (&str, &str) {
    let mut quote = None;
    let end = text.find(|c| match (quote, c) {
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (Some(open), _) => {
            quote = quote.filter(|_| open != c);
            false
        }
        (None, _) => c == '>',
    });
    end.map_or((text, ""), |end| (&text[..end], &text[end + 1..]))
}

fn found_at<T>(file: &str, node: Node<'_, '_>, value: T) -> Sourced<T> {
    let line = node.document().text_pos_at(node.range().start).row;
    Sourced { value, place: format!("{file}:{line}") }
}

fn driver(file: &str, root: Node<'_, '_>, facts: &mut MachineFacts) -> Result<(), Problem> {
    let is = |node: &Node<'_, '_>, name: &str| node.tag_name().name() == name;
    let devices: Vec<_> = root.children().filter(|node| is(node, "gpu")).collect();
    for device in &devices {
        let text = |name: &str| device.descendants().find(|node| is(node, name)).and_then(|node| node.text());
        if text("current_mig").is_some_and(|mode| mode == "Enabled") {
            let at = found_at(file, *device, ()).place;
            return Err(Problem::new(at, "this device is cut into slices (MIG)", "give nodes of whole devices"));
        }
        if let Some(name) = text("product_name") {
            facts.names.push(found_at(file, *device, name.to_owned()));
        }
        let memory = device.children().find(|node| is(node, "fb_memory_usage"));
        let total = memory.and_then(|node| node.children().find(|node| is(node, "total"))?.text());
        facts.memory.extend(
            total
                .and_then(|total| total.strip_suffix(" MiB")?.parse().ok())
                .map(|total| found_at(file, *device, total)),
        );
    }
    facts.devices.push(found_at(file, root, devices.len() as u32));
    Ok(())
}

/// Devices are `<gpu>` or of PCI's display class; ports are `<net>` with a rate, or of PCI's network class.
fn topology(file: &str, root: Node<'_, '_>, facts: &mut MachineFacts) {
    let all = || root.descendants();
    let class =
        |node: &Node<'_, '_>, wanted: &str| node.attribute("class").is_some_and(|class| class.starts_with(wanted));
    let named = |name: &'static str| all().filter(move |node| node.tag_name().name() == name);
    // A dumped file has an element for each device; cloud vendors' files have only its PCI class.
    let devices = named("gpu").count().max(named("pci").filter(|node| class(node, "0x0302")).count());
    for node in named("pci").filter(|node| class(node, "0x0302")) {
        let name = DEVICES.iter().find(|(number, _)| node.attribute("device") == Some(number));
        facts.names.extend(name.map(|(_, name)| found_at(file, node, (*name).to_owned())));
    }
    // Links to a switch, or to each other device: their sum is what the device has.
    let links = named("gpu").map(|node| {
        let links = node.children().filter(|link| link.tag_name().name() == "nvlink");
        let counts = links.filter_map(|link| link.attribute("count")?.parse::<u32>().ok());
        found_at(file, node, DirectLinks { count: counts.fold(0, u32::saturating_add), wire: None })
    });
    facts.links.extend(links.filter(|links| links.value.count > 0));
    let pci = named("pci").filter(|node| class(node, "0x0207") || class(node, "0x0200")).count();
    facts.devices.push(found_at(file, root, devices as u32));
    let rates = named("net")
        .filter_map(|node| Some(found_at(file, node, node.attribute("speed")?.parse::<f64>().ok()? / 1000.0)));
    // A 1 Gb/s port is the node's management port.
    let fast: Vec<Sourced<f64>> = rates.filter(|rate| rate.value > 10.0).collect();
    let ports = pci.max(fast.len());
    if ports > 0 {
        facts.ports.push(found_at(file, root, ports as u32));
    }
    facts.rates.extend(fast);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a text.
    fn refusal(text: &str) -> String {
        read("it.xml", text, &mut MachineFacts::default()).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn elements_beyond_any_real_depth_are_refused_and_not_parsed() {
        let nested = |open: &str, close: &str, depth| {
            format!("<system version=\"1\">{}{}</system>", open.repeat(depth), close.repeat(depth))
        };
        // With the outermost one they are a hundred.
        assert_eq!(refusal(&nested("<a>", "</a>", 99)), "");
        for depth in [100, 4_000, 1_000_000] {
            // What only looks like an end does not count as one.
            for (open, close) in [
                ("<a>", "</a>"),
                ("<a x='/>'>", "</a>"),
                ("<a><!--></a>-->", "</a>"),
                ("<a><![CDATA[</a>]]>", "</a>"),
                ("<a><?p </a>?>", "</a>"),
            ] {
                let said = refusal(&nested(open, close, depth));
                assert!(said.contains("nested beyond 100"), "{depth} of {open}: {said}");
            }
        }
        assert_eq!(refusal(&nested("<a/><b></b>", "", 10_000)), "");
    }

    #[test]
    fn declarations_that_could_hide_elements_are_refused() {
        let named = r#"<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd"><system/>"#;
        assert_eq!(refusal(named), "");
        for inside in ["<!ENTITY a '<b><b>'>", "<!ELEMENT a '<!--'>", "<!-- it's -->"] {
            let said = refusal(&format!("<!DOCTYPE system [{inside}]><system>&a;</system>"));
            assert!(said.contains("declares"), "{inside}: {said}");
        }
    }
}
