use super::*;

macro_rules! output {
    ($file:literal) => {
        ($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/topo/", $file)))
    };
}

const FILES: [(&str, &str); 22] = [
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
    output!("scontrol-show-node-dgx-a100-mig.txt"),
    output!("slurm22-scontrol-node-h100.txt"),
    output!("slurm22-scontrol-partition.txt"),
    output!("slurm22-sinfo-o.txt"),
    output!("slurm22-sinfo.txt"),
];

fn of(names: &[&str], wishes: MachineWishes<'_>) -> Result<Imported<FoundMachine>, Vec<ImportError>> {
    let files: Vec<_> = FILES.iter().filter(|(file, _)| names.contains(file)).collect();
    assert_eq!(files.len(), names.len(), "{names:?}");
    let files: Vec<_> = files.into_iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
    machine(&files, &Library::embedded(), wishes)
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

/// A login node alone: 64 nodes of 8 H100, beside 16 of MI250, which is another kind.
#[test]
fn sinfo_gives_nodes_of_the_device_that_is_asked_for() {
    let said = refused("slurm22-sinfo-o.txt", MachineWishes { nodes: None, ..whole() });
    assert!(said.contains("64 of h100, 16 of mi250") && said.contains("--device"), "{said}");
    let wishes = MachineWishes { nodes: None, device: Some("h100-80gb-dgx"), ..whole() };
    let found = of(&["slurm22-sinfo-o.txt"], wishes).expect("it is told").made.cluster;
    assert_eq!((found.nodes, found.devices_per_node()), (Some(64), 8));
}

#[test]
fn what_no_file_says_is_refused_with_the_option_that_does() {
    let nothing = MachineWishes::default();
    for (file, wishes, said) in [
        ("nvidia-smi-list-L-h100.txt", nothing, "--rate"),
        ("nvidia-smi-list-L-h100.txt", MachineWishes { nodes: None, ..whole() }, "--nodes"),
        ("nvidia-smi-topo-m-a100x8-10nic.txt", whole(), "--device"),
        ("nvidia-smi-list-L-l40s.txt", whole(), "no preset has 'NVIDIA L40S'"),
        ("nvidia-smi-qx-a100-sxm4.xml", whole(), "MIG"),
        ("scontrol-show-node-dgx-a100-mig.txt", whole(), "'3g.40gb' is a slice"),
        ("slurm22-sinfo.txt", whole(), "says nothing of devices"),
    ] {
        let found = refused(file, wishes);
        assert!(found.contains(said), "{file}: {found}");
    }
    let files = [("g.xml".to_owned(), "<graphs version=\"1\"></graphs>".to_owned())];
    let errors = machine(&files, &Library::embedded(), whole()).expect_err("it is no topology");
    assert!(errors[0].to_string().contains("not that of graphs"), "{errors:?}");
    let both = of(&["nvidia-smi-list-L-h100.txt", "slurm22-scontrol-node-h100.txt"], whole()).expect_err("1 and 8");
    assert!(both[0].to_string().contains("files of one kind of node"), "{both:?}");
}

/// Two ports of 400 Gb/s are 2 x 50 GB/s.
#[test]
fn ports_have_the_rate_that_ibstat_prints() {
    let ports = "CA 'mlx5_0'\n\tPort 1:\n\t\tState: Active\n\t\tRate: 400\nCA 'mlx5_1'\n\tPort 1:\n\t\tRate: 400\n";
    let node = "NodeName=gpu1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) State=IDLE\n";
    let files = [("ib".to_owned(), ports.to_owned()), ("node".to_owned(), node.to_owned())];
    let found = machine(&files, &Library::embedded(), MachineWishes::default()).expect("all is told").made.cluster;
    assert_eq!(found.levels.last().and_then(|level| level.injection), Some(BytesPerSecond::new(100e9)));
    assert_eq!((found.nodes, found.devices_per_node()), (Some(1), 8));
}

/// Cut at each tenth, a byte changed, doubled: read or refused.
#[test]
fn broken_outputs_are_read_or_refused() {
    let library = Library::embedded();
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
