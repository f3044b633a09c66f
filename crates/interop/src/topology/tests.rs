use super::*;
use shardscope_engine::units::Seconds;

macro_rules! output {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/topo/", $file)))
    };
}

const FILES: [(&str, &str); 31] = [
    output!("ibv-devinfo-v.txt"),
    output!("nccl-topo-ndv5-h100.xml"),
    output!("nccl-topo-p4d-a100.xml"),
    output!("nvidia-smi-list-L-h100.txt"),
    output!("nvidia-smi-list-L-l40s.txt"),
    output!("nvidia-smi-nvlink-s-h100.txt"),
    output!("nvidia-smi-nvlink-s-l40s.txt"),
    output!("nvidia-smi-q-h100.txt"),
    output!("nvidia-smi-q-l40s.txt"),
    output!("nvidia-smi-query-gpu-h100.txt"),
    output!("nvidia-smi-query-gpu-l40s.txt"),
    output!("nvidia-smi-qx-a100-sxm4.xml"),
    output!("nvidia-smi-table-h100.txt"),
    output!("nvidia-smi-table-l40s.txt"),
    output!("nvidia-smi-topo-m-a100x8-10nic.txt"),
    output!("nvidia-smi-topo-m-h100.txt"),
    output!("nvidia-smi-topo-m-l40s.txt"),
    output!("rccl-topo-mi200-8p-90a.xml"),
    output!("rocm-smi-showproductname.txt"),
    output!("rocm-smi-showtopo.txt"),
    output!("rocm-smi.json"),
    output!("scontrol-show-node-dgx-a100-mig.txt"),
    output!("slurm22-scontrol-node-h100.txt"),
    output!("slurm22-scontrol-nodes-16.txt"),
    output!("slurm22-scontrol-o.txt"),
    output!("slurm22-scontrol-partition.txt"),
    output!("slurm22-sinfo-o.txt"),
    output!("slurm22-sinfo-states.txt"),
    output!("slurm22-sinfo.json"),
    output!("slurm22-sinfo.txt"),
    output!("slurm23-sinfo.json"),
];

fn of(names: &[&str], wishes: MachineWishes<'_>) -> Result<Imported<FoundMachine>, Vec<Problem>> {
    let files: Vec<_> = FILES.iter().filter(|(file, _)| names.contains(file)).collect();
    assert_eq!(files.len(), names.len(), "{names:?}");
    let files: Vec<_> = files.into_iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    machine(&files, &shardscope_presets::library(), wishes)
}

fn refused(name: &str, wishes: MachineWishes<'_>) -> String {
    let errors = of(&[name], wishes).expect_err(name);
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Eight ports of 400 Gb/s: 8 x 50 GB/s a node.
fn whole<'a>() -> MachineWishes<'a> {
    MachineWishes { nodes: Some(4), rate: Some(BytesPerSecond::new(400e9)), ..MachineWishes::default() }
}

/// The facts of the files, found apart from this reader: the device's preset and devices of a node.
#[test]
fn each_tool_s_output_gives_device_and_count() {
    for (file, device, devices) in [
        ("nvidia-smi-list-L-h100.txt", "NVIDIA H100-SXM5-80GB", 1),
        ("nvidia-smi-q-h100.txt", "NVIDIA H100-SXM5-80GB", 1),
        ("nvidia-smi-query-gpu-h100.txt", "NVIDIA H100-SXM5-80GB", 1),
        ("nvidia-smi-table-h100.txt", "NVIDIA H100-SXM5-80GB", 1),
        ("nvidia-smi-nvlink-s-h100.txt", "NVIDIA H100-SXM5-80GB", 1),
        ("slurm22-scontrol-node-h100.txt", "NVIDIA H100-SXM5-80GB", 8),
    ] {
        let found = of(&[file], whole()).unwrap_or_else(|errors| panic!("{file}: {errors:?}")).made.cluster;
        assert_eq!((found.device.name.as_str(), found.devices_per_node()), (device, devices), "{file}");
        assert_eq!(found.nodes, Some(4), "{file}");
    }
    for (file, preset, devices) in [
        ("nvidia-smi-topo-m-a100x8-10nic.txt", "a100-40gb-dgx", 8),
        ("nccl-topo-p4d-a100.xml", "a100-40gb-dgx", 8),
        ("nccl-topo-ndv5-h100.xml", "h100-80gb-dgx", 8),
        ("rccl-topo-mi200-8p-90a.xml", "mi250x-lumi", 8),
        ("nvidia-smi-topo-m-h100.txt", "h100-80gb-dgx", 1),
    ] {
        let found = of(&[file], MachineWishes { device: Some(preset), ..whole() });
        let found = found.unwrap_or_else(|errors| panic!("{file}: {errors:?}")).made.cluster;
        assert_eq!(found.devices_per_node(), devices, "{file}");
        let system = found.levels.last().expect("a level");
        // 400 GB/s shared by the devices of a node.
        assert_eq!(system.bandwidth, BytesPerSecond::new(400e9 / f64::from(devices)), "{file}");
    }
}

/// Hand-counted: 64 of H100 beside 16 of MI250; amd01 to amd16; 001, 002, 003, 004 and 006 of gpu beside two of amd, or
/// the same five with one of them in a second partition. Nodes of the other kind are named with their count.
#[test]
fn each_node_counts_once_in_all_states_and_partitions() {
    for (file, device, nodes, ignored) in [
        ("slurm22-sinfo-o.txt", "h100-80gb-dgx", 64, Some(("mi250", "16 nodes"))),
        ("slurm22-sinfo-states.txt", "h100-80gb-dgx", 64, Some(("mi250", "16 nodes"))),
        ("slurm22-sinfo-states.txt", "mi250x-lumi", 16, Some(("h100", "64 nodes"))),
        ("slurm22-scontrol-nodes-16.txt", "mi250x-lumi", 16, None),
        ("slurm22-scontrol-o.txt", "mi250x-lumi", 16, None),
        ("slurm22-sinfo.json", "h100-80gb-dgx", 5, Some(("mi250", "2 nodes"))),
        ("slurm23-sinfo.json", "h100-80gb-dgx", 5, None),
    ] {
        let wishes = MachineWishes { nodes: None, device: Some(device), ..whole() };
        let found = of(&[file], wishes).unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        assert_eq!((found.made.cluster.nodes, found.made.cluster.devices_per_node()), (Some(nodes), 8), "{file}");
        let others: Vec<_> = found.report.ignored.iter().filter(|other| other.why.contains("another kind")).collect();
        assert_eq!(others.len(), usize::from(ignored.is_some()), "{file}: {others:?}");
        if let Some((name, count)) = ignored {
            assert!(others[0].field == name && others[0].why.starts_with(count), "{file}: {others:?}");
        }
    }
    let said = refused("slurm22-sinfo-o.txt", MachineWishes { nodes: None, ..whole() });
    assert!(said.contains("64 of h100, 16 of mi250") && said.contains("--device"), "{said}");
    // What the driver calls the device says which nodes are meant.
    let both =
        of(&["slurm22-sinfo-states.txt", "rocm-smi-showproductname.txt"], MachineWishes { nodes: None, ..whole() });
    let said = both.expect_err("three presets have it")[0].to_string();
    assert!(said.contains("'AMD Instinct MI250X' may be any of"), "{said}");
}

/// 62 + 2 nodes of the partition gpu; those of big may be among them. `sinfo -N` has no count, and names each node.
#[test]
fn tables_without_names_or_counts_say_what_they_can() {
    let machine = |text: &str| {
        let files = [("it".to_owned(), text.to_owned())];
        machine(&files, &shardscope_presets::library(), MachineWishes { nodes: None, ..whole() }).expect("it is told")
    };
    let found = machine("gpu|62|gpu:h100:8\ngpu|2|gpu:h100:8\nbig|32|gpu:h100:8\n");
    assert_eq!(found.made.cluster.nodes, Some(64));
    let assumed = found.report.assumed.iter().find(|one| one.field == "nodes").expect("it is said");
    assert!(assumed.value == "64" && assumed.why.contains("without names"), "{assumed:?}");
    for (text, nodes) in [
        ("NODELIST|GRES\ngpu1|gpu:h100:8\ngpu2|gpu:h100:8\ngpu2|gpu:h100:8\n", 2),
        ("gpu1|gpu:h100:8\ngpu2|gpu:h100:8\ngpu2|gpu:h100:8\n", 2),
        ("h100|2|gpu:h100:8|gpu[1-2]|idle\nh100|1|gpu:h100:8|gpu7|mix\n", 3),
        // As many as are listed, whatever else looks like a name.
        ("gpu|3|gpu:h100:8|ndr,h100|gpu[1-3]|idle\n", 3),
    ] {
        let found = machine(text);
        assert_eq!(found.made.cluster.nodes, Some(nodes), "{text}");
        assert!(found.report.assumed.iter().all(|one| one.field != "nodes"), "{text}");
    }
    // 2 x 4 devices are fewer than 3 x 8.
    let found = machine("a|2|gpu:h100:4|a[1-2]\nb|3|gpu:h100:8|b[1-3]\n");
    assert_eq!((found.made.cluster.nodes, found.made.cluster.devices_per_node()), (Some(3), 8));
    assert_eq!(
        (found.report.ignored[0].field.as_str(), found.report.ignored[0].why.as_str()),
        ("h100", "2 nodes of another kind, 4 devices each")
    );
}

/// Of 28 pairs 2 x 6 are within a half and 16 are not.
#[test]
fn rocm_smi_gives_devices_and_how_they_are_joined() {
    let lumi = MachineWishes { device: Some("mi250x-lumi"), ..whole() };
    for (file, pcie) in
        [("rocm-smi-showtopo.txt", true), ("rocm-smi.json", false), ("rocm-smi-showproductname.txt", false)]
    {
        let found = of(&[file], lumi).unwrap_or_else(|errors| panic!("{file}: {errors:?}"));
        assert_eq!(found.made.cluster.devices_per_node(), 8, "{file}");
        let said = found.report.text();
        assert_eq!(said.contains("16 of 28 pairs of devices are joined by PCIe"), pcie, "{file}: {said}");
    }
    let said = refused("rocm-smi.json", whole());
    assert!(said.contains("'AMD INSTINCT MI250 (MCM) OAM AC MBA' may be any of mi250x-frontier"), "{said}");
    let types = r#"{"system": {"(Topology) Link type between DRM devices 0 and 1": "PCIE"}}"#;
    let found =
        machine(&[("types".to_owned(), types.to_owned())], &shardscope_presets::library(), lumi).expect("two devices");
    assert!(found.report.text().contains("1 of 1 pairs"), "{}", found.report.text());
}

fn of_text(text: &str, wishes: MachineWishes<'_>) -> Result<Imported<FoundMachine>, Vec<Problem>> {
    machine(&[("it".to_owned(), text.to_owned())], &shardscope_presets::library(), wishes)
}

fn told(text: &str, wishes: MachineWishes<'_>) -> Imported<FoundMachine> {
    of_text(text, wishes).unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn refusal(text: &str, wishes: MachineWishes<'_>) -> String {
    of_text(text, wishes).expect_err(text)[0].to_string()
}

/// The matrix of `nvidia-smi topo -m` of so many devices.
fn matrix(devices: usize, joined: impl Fn(usize, usize) -> &'static str) -> String {
    let all = |cell: &dyn Fn(usize) -> String| (0..devices).map(cell).collect::<Vec<_>>().concat();
    let cell = |one, other| if one == other { " X " } else { joined(one, other) };
    let row = |one| all(&|other| format!("\t{}", cell(one, other)));
    let rows = all(&|one| format!("GPU{one}{}\t0-19\t0\n", row(one)));
    format!("{}\tCPU Affinity\tNUMA Affinity\n{rows}", all(&|device| format!("\tGPU{device}")))
}

/// A hybrid cube mesh, as `nvidia-smi` prints it on a DGX-1 with V100 and on AWS p3.16xlarge.
const DGX1: [[&str; 8]; 8] = [
    ["X", "NV1", "NV1", "NV2", "NV2", "SYS", "SYS", "SYS"],
    ["NV1", "X", "NV2", "NV1", "SYS", "NV2", "SYS", "SYS"],
    ["NV1", "NV2", "X", "NV2", "SYS", "SYS", "NV1", "SYS"],
    ["NV2", "NV1", "NV2", "X", "SYS", "SYS", "SYS", "NV1"],
    ["NV2", "SYS", "SYS", "SYS", "X", "NV1", "NV1", "NV2"],
    ["SYS", "NV2", "SYS", "SYS", "NV1", "X", "NV2", "NV1"],
    ["SYS", "SYS", "NV1", "SYS", "NV1", "NV2", "X", "NV2"],
    ["SYS", "SYS", "SYS", "NV1", "NV2", "NV1", "NV2", "X"],
];

/// Data sheets, each direction: 12 links of 25 GB/s through a switch are the A100's 300, as are 4 to each of 3; 18 the
/// H100's 450, as are 6 to each of 3 of a GH200's; 2 to each of 3 the V100's 150, and the 6 of each in a DGX-1, which
/// lead to 4 of 7.
#[test]
fn numbers_of_links_are_those_of_the_preset() {
    for (preset, text, rate) in [
        ("a100-80gb-dgx", matrix(8, |_, _| "NV12"), 300e9),
        ("a100-40gb-juwels", matrix(4, |_, _| "NV4"), 300e9),
        ("h100-80gb-dgx", matrix(8, |_, _| "NV18"), 450e9),
        ("h800-80gb", matrix(8, |_, _| "NV8"), 200e9),
        ("gh200-96gb-alps", matrix(4, |_, _| "NV6"), 450e9),
        ("v100-32gb-dgx1", matrix(4, |_, _| "NV2"), 150e9),
        ("v100-32gb-dgx1", matrix(8, |one, other| DGX1[one][other]), 150e9),
        (
            "h100-80gb-dgx",
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: G)\n".to_owned() + &"\t Link 0: 26.562 GB/s\n".repeat(18),
            450e9,
        ),
    ] {
        let found = told(&text, MachineWishes { device: Some(preset), ..whole() });
        let node = &found.made.cluster.levels[0];
        assert_eq!((node.bandwidth, found.made.cluster.levels.len()), (BytesPerSecond::new(rate), 2), "{preset}");
        let taken = found.report.taken.iter().find(|one| one.field == "node.bandwidth");
        assert!(taken.is_some_and(|one| one.place.starts_with("it:")), "{}", found.report.text());
    }
}

/// 4 links to each of 7 are 100 GB/s through a switch or 700 as a mesh; 8 links 200.
#[test]
fn other_links_than_the_preset_s_are_refused() {
    let h100 = MachineWishes { device: Some("h100-80gb-dgx"), ..whole() };
    let pcie = matrix(4, |one, other| if one / 2 == other / 2 { "PHB" } else { "SYS" });
    let pairs = matrix(4, |one, other| if one / 2 == other / 2 { "NV12" } else { "SYS" });
    for (text, said) in [
        (matrix(8, |_, _| "NV4"), "NV4 to each other device, 25.0 GB/s a link: 100 GB/s through a switch, or 700 GB/s"),
        (
            "GPU 0: NVIDIA H100 80GB HBM3 (UUID: G)\n".to_owned() + &"\t Link 0: 26.562 GB/s\n".repeat(8),
            "200 GB/s, and the preset has 450 GB/s",
        ),
        (pcie.clone(), "6 of 6 pairs of devices are joined by PCIe"),
        (pairs.clone(), "4 of 6 pairs of devices are joined by PCIe"),
    ] {
        let found = refusal(&text, h100);
        assert!(found.contains(said) && found.contains("--node-bandwidth"), "{found}");
    }
    // A preset on PCIe has no other links.
    told(&pcie, MachineWishes { device: Some("titan-rtx-pcie"), ..whole() });
    let said = MachineWishes { node_bandwidth: Some(BytesPerSecond::new(20e9)), ..h100 };
    let cluster = told(&pcie, said).made.cluster;
    assert_eq!((cluster.levels[0].bandwidth, cluster.levels.len()), (BytesPerSecond::new(20e9), 2));
    // Pairs are a level of their own: 12 x 25 GB/s inside, 20 between.
    let cluster = told(&pairs, said).made.cluster;
    let levels: Vec<_> = cluster.levels.iter().map(|level| (level.members, level.bandwidth.get())).collect();
    assert_eq!(levels[..2], [(Some(2), 300e9), (Some(2), 20e9)]);
}

/// Packages of MI250X hold two devices: `mi250:8` counts devices as the preset has them, `mi250:4` its packages, and two
/// may be either, unless a driver lists the devices.
#[test]
fn packages_of_two_devices_are_told_from_devices() {
    let node = |count| format!("gpu|10|gpu:mi250:{count}|n[01-10]\n");
    let frontier = MachineWishes { nodes: None, device: Some("mi250x-frontier"), ..whole() };
    let found = told(&node(4), frontier);
    assert_eq!(found.made.cluster.devices_per_node(), 8);
    let assumed = found.report.assumed.iter().find(|one| one.field == "packages of a node").expect("it is said");
    assert!(assumed.value == "4" && assumed.why.contains("packages of 2"), "{assumed:?}");
    let found = told(&node(8), frontier);
    assert!(found.made.cluster.devices_per_node() == 8 && !found.report.text().contains("packages"));
    let said = refusal(&node(2), frontier);
    assert!(said.contains("2 may be devices of a node, or packages of 2, which are 4 devices"), "{said}");
    let files = [
        ("slurm".to_owned(), node(2)),
        ("rocm".to_owned(), "GPU[0]\t: a: b\nGPU[1]\t: a: b\nGPU[2]\t: a: b\nGPU[3]\t: a: b\n".to_owned()),
    ];
    let found = machine(&files, &shardscope_presets::library(), frontier).expect("four devices");
    assert_eq!(found.made.cluster.devices_per_node(), 4);
}

/// Columns of a width, as `sinfo` prints them without bars; a cell that fills its column is cut.
#[test]
fn tables_of_a_width_are_read() {
    let wishes = MachineWishes { nodes: None, device: Some("a100-40gb-dgx"), ..whole() };
    for (text, nodes) in [
        (
            "NODELIST   NODES PARTITION STATE GRES\nn01   1   gpu*  alloc gpu:a100:8\nn02   1  gpu*  idle  gpu:a100:8\nn01  1  debug  alloc gpu:a100:8\n",
            2,
        ),
        (
            "PARTITION   NODES   GRES   NODELIST  STATE\nboost*  3456  gpu:a100:4  lrdn[0001-3456]  idle\nserial  2  (null)  login[06-07]  idle\n",
            3456,
        ),
        ("PARTITION NODES(A/I/O/T) GRES\ngpu 5/6/1/12 gpu:a100:8(S:0,1)\n", 12),
        ("n01 1 gpu* alloc gpu:a100:4(S:0),gpu:a100:4(S:1)\n", 1),
    ] {
        assert_eq!(told(text, wishes).made.cluster.nodes, Some(nodes), "{text}");
    }
    for text in ["NODELIST GRES\nn01 gpu:nvidia_a100_80gb\n", "NODELIST GRES STATE\nn01 gpu:nvidia_a100_80gbidle\n"] {
        assert!(refusal(text, wishes).contains("a cell is cut"), "{text}");
    }
    let both = refusal("n|2|gpu:a100:4,gpu:v100:4|n[1-2]\n", MachineWishes { nodes: None, ..whole() });
    assert!(both.contains("several kinds"), "{both}");
}

/// PCI functions name devices, and a driver's memory is the device's: 65,536 MiB are 64 GiB.
#[test]
fn numbers_of_devices_name_them_and_memory_is_the_driver_s() {
    let xml = |number: &str, links: u32| {
        let gpu = format!("<gpu dev=\"0\"><nvlink target=\"0\" count=\"{links}\"/></gpu>");
        format!("<system version=\"1\"><pci class=\"0x030200\" device=\"{number}\">{gpu}</pci></system>")
    };
    assert_eq!(told(&xml("0x2330", 18), whole()).made.cluster.device.name, "NVIDIA H100-SXM5-80GB");
    assert_eq!(told(&xml("0x20b0", 12), whole()).made.cluster.device.name, "NVIDIA A100-SXM4-40GB");
    assert!(refusal(&xml("0x2330", 12), whole()).contains("300 GB/s, and the preset has 450 GB/s"));
    assert_eq!(told(&xml("0x2331", 0), whole()).made.cluster.device.name, "NVIDIA H100 PCIe");
    let forms = |name: &str| format!("name, memory.total [MiB]\n{name}, 81920 MiB\n");
    assert!(refusal(&forms("NVIDIA H800 PCIe"), whole()).contains("is the PCIE form"));
    assert_eq!(told(&forms("NVIDIA A100 80GB PCIe"), whole()).made.cluster.device.compute_units, 108);
    let custom = "name, memory.total [MiB]\nNVIDIA A100-SXM-64GB, 65536 MiB\n";
    let found = told(custom, MachineWishes { device: Some("a100-80gb-dgx"), ..whole() });
    assert_eq!(found.made.cluster.device.memory, Bytes::new(64.0 * f64::from(1 << 30)));
    let other = told("GPU 0: NVIDIA L40S (UUID: G)\n", MachineWishes { device: Some("h100-80gb-dgx"), ..whole() });
    assert!(other.report.text().contains("where it:1 has 'NVIDIA L40S'"), "{}", other.report.text());
}

/// What `rocm-smi` prints alone: two devices, of which one name is known to the presets of MI250X.
#[test]
fn the_table_of_rocm_smi_lists_devices() {
    let text = "==== Concise Info ====\nDevice  [Model : Revision]  Temp\n0  [0x0b0c : 0x00]  38.0C  0%   0%\n   AMD Instinct \
                MI250X\n1  [0x0b0c : 0x00]  44.0C  0%   0%\n   AMD Instinct MI250X\n==== End ====\n";
    let found = told(text, MachineWishes { device: Some("mi250x-lumi"), ..whole() });
    assert_eq!(found.made.cluster.devices_per_node(), 2);
    assert!(refusal(text, whole()).contains("'AMD Instinct MI250X' may be any of"));
}

/// One card of a host, without NVLink. Three tools say its memory, 46,068 MiB; `-q` has the 65,536 MiB of BAR1 too.
#[test]
fn each_tool_names_a_card_on_pcie() {
    for tool in ["list-L", "q", "table", "query-gpu", "nvlink-s"] {
        let found = of(&[&format!("nvidia-smi-{tool}-l40s.txt")], whole()).expect(tool).made.cluster;
        assert_eq!(found.device.name, "NVIDIA L40S", "{tool}");
        if ["q", "table", "query-gpu"].contains(&tool) {
            assert_eq!(found.device.memory, Bytes::new(46_068.0 * f64::from(1 << 20)), "{tool}");
        }
    }
}

/// Every preset's device is known by its own name to whoever reads a driver's list: as that preset, as one of the same device,
/// or as one of several that the message names.
#[test]
fn every_preset_s_device_is_known_in_its_tools_outputs() {
    let library = shardscope_presets::library();
    let mut missed = Vec::new();
    for id in library.entries(shardscope_engine::presets::Kind::Cluster).map(|entry| entry.id.clone()) {
        let name = library.cluster(&id).expect("a preset").device.name.clone();
        let text = match name.split(' ').next() {
            Some("AMD") => format!("GPU: 0\n    ASIC:\n        MARKET_NAME: {name}\n"),
            Some("Intel") => format!("| 0 | Device Name: {name} |\n"),
            _ => format!("GPU 0: {name} (UUID: G)\n"),
        };
        // A package of two dies is no single device.
        let text = if id.starts_with("mi250") { text.clone() + &text.replace("GPU: 0", "GPU: 1") } else { text };
        match of_text(&text, MachineWishes { nodes: Some(1), ..MachineWishes::default() }) {
            Ok(found) if found.made.cluster.device.name == name => {}
            Err(errors) if errors[0].to_string().contains("may be any of") && errors[0].to_string().contains(&id) => {}
            other => missed.push(format!("{id}: {other:?}")),
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// What drivers print of cards that are presets, and what schedulers call them. The V100 of 16 GB is sold under the same name as
/// that of 32: public issues of meta-llama/llama-cookbook (234) and QwenLM/Qwen3-VL (938).
#[test]
fn names_of_drivers_and_schedulers() {
    for (name, preset) in [
        ("NVIDIA RTX A6000", "a6000-48gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA H200 NVL", "h200-nvl-141gb"),
        ("NVIDIA H200", "h200-141gb-dgx"),
        ("NVIDIA B200", "b200-dgx"),
        ("NVIDIA GH200 480GB", "gh200-96gb-alps"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"),
        ("Tesla V100-SXM2-32GB", "v100-32gb-dgx1"),
        ("Tesla V100-SXM3-32GB", "v100-32gb-dgx2"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-dgx"),
    ] {
        let found =
            told(&format!("GPU 0: {name} (UUID: G)\n"), MachineWishes { nodes: Some(1), ..MachineWishes::default() });
        assert!(found.made.cluster.source.ends_with(&format!("as {preset}")), "{name}: {}", found.made.cluster.source);
        assert_eq!(found.made.cluster.devices_per_node(), 1, "{name}");
    }
    for (gres, preset) in [("rtx3090", "rtx3090"), ("a6000", "a6000-48gb"), ("l40s", "l40s")] {
        let found = told(&format!("gpu|1|gpu:{gres}:4|n1\n"), MachineWishes { nodes: None, ..whole() });
        assert!(found.made.cluster.source.ends_with(&format!("as {preset}")), "{gres}: {}", found.made.cluster.source);
    }
    let old = "GPU 0: Tesla V100-SXM2-16GB (UUID: G)\n";
    assert!(refusal(old, whole()).contains("'Tesla V100-SXM2-16GB' has 16 GB, which no preset of it has"));
    let found = told(old, MachineWishes { device: Some("v100-32gb-dgx1"), ..whole() });
    assert_eq!(found.made.cluster.device.memory, Bytes::new(16.0 * f64::from(1 << 30)));
    assert!(refusal("GPU 0: NVIDIA GeForce RTX 3090 Ti (UUID: G)\n", whole()).contains("no preset has"));
}

/// Four RTX A6000 whose matrix shows bridges keep their pairs; with `PCIe` alone, and of three cards, there are none.
#[test]
fn bridges_between_cards_are_an_option() {
    let cards = |count: usize| "GPU 0: NVIDIA RTX A6000 (UUID: G)\n".repeat(count);
    let levels = |text: &str| {
        let found = told(text, MachineWishes { nodes: Some(1), ..MachineWishes::default() }).made.cluster;
        found.levels.iter().map(|level| (level.name.clone(), level.members)).collect::<Vec<_>>()
    };
    let level = |name: &str, members| (name.to_owned(), members);
    assert_eq!(levels(&cards(4)), [level("pair", Some(2)), level("node", Some(2)), level("system", None)]);
    assert_eq!(levels(&cards(3)), [level("node", Some(3)), level("system", None)]);
    let pcie = cards(4) + &matrix(4, |one, other| if one / 2 == other / 2 { "PHB" } else { "SYS" });
    assert_eq!(levels(&pcie), [level("node", Some(4)), level("system", None)]);
}

/// `amd-smi` of `ROCm` 6.4 and later (`ROCm/rocm-systems`, pull request 7372): four devices that XGMI joins, and what `static` says.
#[test]
fn amd_smi_lists_devices_and_links() {
    let places = ["0000:05:00.0", "0000:26:00.0", "0000:46:00.0", "0000:65:00.0"];
    let row = |at: usize| {
        let cells = (0..4).map(|other| if at == other { "SELF         " } else { "XGMI         " }).collect::<String>();
        format!("{} {cells}\n", places[at])
    };
    let topology =
        format!("LINK TYPE TABLE:\n             {}\n{}", places.join(" "), (0..4).map(row).collect::<String>());
    let one = MachineWishes { nodes: Some(1), ..MachineWishes::default() };
    let found = told(&topology, MachineWishes { device: Some("mi300x"), ..one });
    assert_eq!(found.made.cluster.devices_per_node(), 4);
    let device = |number: u32| {
        format!(
            "GPU: {number}\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n    VRAM:\n        TYPE: HBM\n        SIZE: 196592 MB\n"
        )
    };
    let found = told(&(0..8).map(device).collect::<String>(), one);
    assert_eq!(
        (found.made.cluster.device.name.as_str(), found.made.cluster.devices_per_node()),
        ("AMD Instinct MI300X", 8)
    );
}

#[test]
fn what_no_file_says_is_refused_with_the_option_that_does() {
    let nothing = MachineWishes::default();
    for (file, wishes, said) in [
        ("nvidia-smi-list-L-h100.txt", nothing, "--rate"),
        ("nvidia-smi-list-L-h100.txt", MachineWishes { nodes: None, ..whole() }, "--nodes"),
        ("nvidia-smi-topo-m-a100x8-10nic.txt", whole(), "--device"),
        ("nvidia-smi-topo-m-l40s.txt", whole(), "no file names the devices"),
        ("slurm22-scontrol-partition.txt", whole(), "no file names the devices"),
        ("nvidia-smi-qx-a100-sxm4.xml", whole(), "MIG"),
        ("scontrol-show-node-dgx-a100-mig.txt", whole(), "'3g.40gb' is a slice"),
        ("slurm22-sinfo.txt", whole(), "no file names the devices"),
        ("ibv-devinfo-v.txt", MachineWishes { rate: None, ..whole() }, "no file names the devices"),
    ] {
        let found = refused(file, wishes);
        assert!(found.contains(said), "{file}: {found}");
    }
    let files = [("g.xml".to_owned(), "<graphs version=\"1\"></graphs>".to_owned())];
    let errors = machine(&files, &shardscope_presets::library(), whole()).expect_err("it is no topology");
    assert!(errors[0].to_string().contains("not that of graphs"), "{errors:?}");
    let both = of(&["nvidia-smi-list-L-h100.txt", "slurm22-scontrol-node-h100.txt"], whole()).expect_err("1 and 8");
    assert!(both[0].to_string().contains("files of one kind of node"), "{both:?}");
}

/// Two ports of 400 Gb/s are 2 x 50 GB/s, four of 4 x 100 Gb/s 4 x 50; a port that is down carries nothing.
#[test]
fn ports_have_the_rate_that_ibstat_and_ibv_devinfo_print() {
    let down = "CA 'mlx5_2'\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n";
    let ports = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\nCA 'mlx5_1'\n\tPort 1:\n\t\tRate: 400\n";
    let node = "NodeName=gpu1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) State=IDLE\n";
    let lanes = FILES.iter().find(|(file, _)| *file == "ibv-devinfo-v.txt").expect("a file").1;
    for (ports, rate) in [(ports.to_owned() + down, 100e9), (lanes.to_owned(), 200e9)] {
        let files = [("ib".to_owned(), ports), ("node".to_owned(), node.to_owned())];
        let found = machine(&files, &shardscope_presets::library(), MachineWishes::default()).expect("all is told");
        let cluster = found.made.cluster;
        assert_eq!(cluster.levels.last().and_then(|level| level.injection), Some(BytesPerSecond::new(rate)));
        assert_eq!((cluster.nodes, cluster.devices_per_node()), (Some(1), 8));
        assert!(found.report.ignored.iter().any(|one| one.why == "a port that is down"), "{:?}", found.report);
    }
    // Eight ports near devices, of which a rate is known: 8 x 25 GB/s.
    let files = ["nvidia-smi-topo-m-a100x8-10nic.txt"]
        .map(|name| (name.to_owned(), FILES.iter().find(|(file, _)| *file == name).expect("a file").1.to_owned()));
    let files = [files[0].clone(), ("ib".to_owned(), "\tPort 1:\n\t\tState: Active\n\t\tRate: 200\n".to_owned())];
    let wishes = MachineWishes { nodes: Some(4), device: Some("a100-40gb-dgx"), ..MachineWishes::default() };
    let found = machine(&files, &shardscope_presets::library(), wishes).expect("all is told").made.cluster;
    assert_eq!(found.levels.last().and_then(|level| level.injection), Some(BytesPerSecond::new(200e9)));
    let status = "Infiniband device 'mlx5_0' port 1 status:\n\tstate:\t\t 4: ACTIVE\n\trate:\t\t 400 Gb/sec (4X NDR)\nInfiniband \
                  device 'mlx5_1' port 1 status:\n\tstate:\t\t 1: DOWN\n\trate:\t\t 10 Gb/sec (4X SDR)\n";
    let found = told(&(status.to_owned() + node), MachineWishes::default()).made.cluster;
    assert_eq!(found.levels.last().and_then(|level| level.injection), Some(BytesPerSecond::new(50e9)));
    let short = "hca_id:\tmlx5_0\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n".to_owned();
    let errors = machine(&[("ib".to_owned(), short)], &shardscope_presets::library(), whole()).expect_err("no rate");
    assert!(errors[0].to_string().contains("ib:3: a port without a rate; give `ibv_devinfo -v`"), "{errors:?}");
}

/// Cut at each tenth, a byte changed, doubled: read or refused.
#[test]
fn broken_outputs_are_read_or_refused() {
    let library = shardscope_presets::library();
    for (file, text) in FILES {
        let cut = |tenth: usize| text.chars().take(text.len() * tenth / 10).collect::<String>();
        let changed = |at: usize| text.chars().enumerate().map(|(i, c)| if i % 61 == at { '9' } else { c }).collect();
        let versions = (0..10).map(cut).chain((0..5).map(changed)).chain([text.repeat(2)]);
        for version in versions {
            for device in [None, Some("mi250x-lumi"), Some("h100-80gb-dgx")] {
                let files = [(file.to_owned(), version.clone())];
                match machine(&files, &library, MachineWishes { device, ..whole() }) {
                    Ok(imported) => assert_eq!(imported.made.cluster.problems(), [], "{file}"),
                    Err(errors) => assert!(!errors.is_empty()),
                }
            }
        }
    }
}

/// A file of these lines, on A100s: nodes, devices of each, and the partition.
fn slurm(text: &str) -> Result<(Option<u32>, u32, Option<String>), String> {
    let files = [("sinfo.txt".to_owned(), text.to_owned())];
    let wishes = MachineWishes { nodes: None, device: Some("a100-80gb-dgx"), ..whole() };
    let found = machine(&files, &shardscope_presets::library(), wishes);
    let cluster = found.map_err(|errors| errors[0].to_string())?.made.cluster;
    Ok((cluster.nodes, cluster.devices_per_node(), cluster.queue.as_ref().map(|queue| queue.partition.clone())))
}

/// Columns of the manual page of `sinfo`, with and without a header: processors and memory count no nodes.
#[test]
fn columns_of_sinfo_are_told_apart() {
    for (text, nodes, devices) in [
        ("gpu[01-04] 128 1031000 gpu:a100:8", 4, 8),
        ("gpu-01|128|1031000|gpu:a100:8\ngpu-02|128|1031000|gpu:a100:8", 2, 8),
        ("gpu01 idle 0/128/0/128 1031000 gpu:a100:8\ngpu02 mixed 64/64/0/128 1031000 gpu:a100:8", 2, 8),
        ("gpu* 64 gpu:a100:8", 64, 8),
        ("gpu|64|gpu:a100:8|96|gpu[001-064]|idle~", 64, 8),
        ("gpu001 gpu:a100:4(S:0-1)\ngpu002 gpu:a100:4(S:0-1)", 2, 4),
        ("NODELIST GRES_USED GRES\nnode[01-04] gpu:a100:2(IDX:0-1) gpu:a100:8", 4, 8),
        ("NODELIST GRES GRES_USED\nnode[01-04] gpu:a100:8 gpu:a100:0(IDX:N/A)", 4, 8),
        ("NODES GRES_USED GRES NODELIST\n2 gpu:a100:4 gpu:a100:8 n[1-2]", 2, 8),
        ("node[1-3] gpu:a100:2(IDX:0-1) gpu:a100:8", 3, 8),
        ("NODELIST CPUS MEMORY GRES\ngpu[01-04] 128 1031000 gpu:a100:8", 4, 8),
        // Two types in one node: the larger part of the machine counts.
        (
            "PARTITION NODES GRES NODELIST\ngpu 4 gpu:a100:4,mps:400 g[01-04]\ngpu 2 gpu:a100:2,gpu:a100_80g:2 g[05-06]",
            4,
            4,
        ),
    ] {
        let found = slurm(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!((found.0, found.1), (Some(nodes), devices), "{text}");
    }
    for text in ["gpu 128 1031000 gpu:a100:8", "gpu01 128 gpu:a100:8"] {
        assert!(slurm(text).unwrap_err().contains("no header says which number counts nodes"), "{text}");
    }
    let other = slurm("PARTITION NODES GRES\na 4 gpu:v100:4\nb 2 gpu:h100:8").unwrap_err();
    assert!(other.contains("which a100-80gb-dgx has not"), "{other}");
}

/// The partition with most of the nodes, its longest job of a day, and its 32 nodes at most.
#[test]
fn a_partition_and_what_bounds_its_jobs_are_kept() {
    for file in ["slurm22-sinfo-o.txt", "slurm22-sinfo-states.txt"] {
        let wishes = MachineWishes { nodes: None, device: Some("h100-80gb-dgx"), ..whole() };
        let queue = of(&[file], wishes).expect(file).made.cluster.queue.expect("a queue");
        let said = (queue.partition.as_str(), queue.longest, queue.nodes);
        assert_eq!(said, ("gpu", Some(Seconds::new(86_400.0)), Some(32)), "{file}");
        let by_name = of(&[file], MachineWishes { device: Some("h100"), ..wishes }).expect(file).made.cluster;
        assert_eq!((by_name.device.name.as_str(), by_name.queue), ("NVIDIA H100-SXM5-80GB", Some(queue)), "{file}");
        assert!(refused(file, MachineWishes { device: None, ..wishes }).contains("like --device h100"), "{file}");
    }
    // The same of scontrol, whose nodes say no partition; the default one of two alike.
    let wishes = MachineWishes { device: Some("h100-80gb-dgx"), ..whole() };
    let files = ["slurm22-scontrol-node-h100.txt", "slurm22-scontrol-partition.txt"];
    assert_eq!(of(&files, wishes).expect("a cluster").made.cluster.queue, None);
    let two = "PARTITION NODES GRES TIMELIMIT\nlong 4 gpu:a100:8 7-00:00:00\nshort* 4 gpu:a100:8 30:00";
    assert_eq!(slurm(two).map(|found| found.2), Ok(Some("short".to_owned())));
}
