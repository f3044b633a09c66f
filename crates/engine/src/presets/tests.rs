use std::collections::BTreeSet;

use super::*;
use crate::hardware::{Architecture, Group, MAX_LEVELS, Network};
use crate::plan::Sharding;
use crate::stack::Collectives;
use crate::units::{BytesPerSecond, Watts};

/// The ids of the interface contract.
const CLUSTERS: &str = "a100-40gb-dgx a100-80gb-dgx a100-40gb-juwels a100-40gb-perlmutter a100-80gb-jeanzay a800-80gb \
    h800-80gb h100-80gb-dgx h100-96gb-hbm2e h200-141gb-dgx gh200-96gb-alps v100-32gb-dgx1 v100-32gb-dgx2 \
    mi250x-frontier mi250x-lumi mi250-mosaic a100-80gb-nvlink16 titan-rtx-pcie h200-141gb-4node b200-dgx b300-dgx \
    gb200-nvl72 gb300-nvl72 h100-pcie-80gb h100-nvl-94gb h200-nvl-141gb gh200-96gb-jupiter a100-pcie-80gb a30 mi355x mi350x mi325x \
    mi300x pvc-aurora rtx-pro-6000-server l40s l4 a10g-24gb a6000-48gb rtx5090 rtx4090 rtx3090";
/// Architectures without an entry in the calibration, of whose devices no run is fitted.
const UNMEASURED: [&str; 5] = ["ada", "ampere-ga102", "blackwell-rtx", "cdna4", "xe-hpc"];
const STACKS: &str = "default ideal deepspeed-zero3-2021 deepspeed-zero3-2022 deepspeed-zeropp-2023 fms-fsdp internevo jax-xla-2024 \
    jax-xla-2025 maxtext-2024 llm-foundry-2023 llm-foundry-2024 megatron-2021 megatron-2022 megatron-2024 megatron-bridge-2025 \
    megatron-deepspeed-2022 megatron-deepspeed-2023 megatron-kwai megatron-lumi-2023 mi250x-various mosaic-2023 nanotron nemo-2024 nemo-2025 \
    torchtitan various accelerate torchtitan-2025 torchtitan-2026 torchtune-2025 automodel-2026 xtuner-2025 hf-trainer-2024 litgpt-2024 \
    hf-deepspeed-2024 peft-2025 megatron-core-2026 mlperf-nemo-v5.0 mlperf-nemo-v5.1 mlperf-nemo-v6.0 mlperf-rocm \
    primus-megatron-2025 hai-llm-2024";
const MODELS: &str = "mpt-125m mpt-350m mpt-760m mpt-1b mpt-3b mpt-7b mpt-13b mpt-30b mpt-70b gpt3-175b gpt-neox-10b \
    gpt-neox-20b gpt-18b-zeropp opt-30b gpt-48x1536 gpt-8x7168 llama-2-7b llama-2-13b llama-2-34b llama-2-70b llama-3.1-8b \
    llama-3.1-70b llama-3.1-405b mixtral-8x7b deepseek-v3 gemma3-27b megatron-1.7b megatron-3.6b megatron-7.5b megatron-18b megatron-39b \
    megatron-76b megatron-145b megatron-310b megatron-530b megatron-1t fsdp-1.3b fsdp-7b fsdp-13b fsdp-30b fsdp-66b \
    fsdp-175b fsdp-310b x-32 x-108 x-160 llama2-7b llama3-8b llama3-70b llama3.1-8b llama3.1-70b llama3.1-405b \
    llama4-scout llama4-maverick mixtral-8x22b \
    mixtral-8x22b-g8t8 deepseek-v2 deepseek-v2-lite kimi-k2 qwen3-8b qwen3-32b qwen3-30b-a3b qwen3-235b-a22b \
    qwen3-coder-480b-a35b qwen3-next-80b-a3b qwen3.5-27b qwen3.5-35b-a3b qwen3.5-122b-a10b qwen3.5-397b-a17b \
    nemotron-h-8b nemotron-h-56b nemotron-3-nano nemotron-3.5-lightning nemotron-3-super nemotron-3-ultra \
    deepseek-v3.2 glm-5 kimi-linear-48b-a3b \
    qwen2-57b-a14b gpt-oss-20b gpt-oss-120b grok-1 glm-4.5 glm-4.5-air minimax-m2.5 ling-1t \
    gemma3-1b gemma3-4b gemma3-12b olmoe3-tiny-64e olmoe3-small-64e olmoe3-medium-64e olmoe3-medium-96e \
    olmoe3-medium-128e olmoe3-large-128e olmoe3-ultra-128e olmoe3-ultra-256e olmoe3-8l-32e olmoe3-8l-48e \
    glm-4.7 mimo-v2-flash step-3.7-flash gemma4-26b-a4b qwen2.5-7b qwen2.5-14b qwen3-4b";
const SCENARIOS: &str = "default h100-7b zeropp-18b-v100 frontier-20b-384 frontier-20b osdp-48x1536 osdp-8x7168 fsdp-limits-13b \
    layered-x-160 lora-70b modular-gpt3-175b dpo-8b grpo-7b";
const STRATEGIES: &str = "ddp zero1 zero1-hier zero2 zero3 fsdp hsdp mics zeropp zero-topo";

fn ids(library: &Library, kind: Kind) -> BTreeSet<&str> {
    library.entries(kind).map(|entry| entry.id.as_str()).collect()
}

/// The embedded text of a preset.
fn text(kind: Kind, id: &str) -> Arc<str> {
    Library::embedded().entries(kind).find(|entry| entry.id == id).unwrap().text.clone()
}

/// Every preset of a kind that the program carries.
fn all<P: Preset>(presets: &ById<P>) -> Vec<Arc<P>> {
    presets.ids().map(|id| presets.find(id).expect(id)).collect()
}

#[test]
fn the_ids_of_the_contract_are_there() {
    let library = Library::embedded();
    for (kind, words) in [
        (Kind::Cluster, CLUSTERS),
        (Kind::Stack, STACKS),
        (Kind::Model, MODELS),
        (Kind::Strategy, STRATEGIES),
        (Kind::Scenario, SCENARIOS),
    ] {
        assert_eq!(ids(&library, kind), words.split_whitespace().collect(), "{}", kind.folder());
    }
}

#[test]
fn every_figure_has_a_source() {
    let library = Library::embedded();
    let mut sources = Vec::new();
    for cluster in all(&library.clusters) {
        let levels = cluster.levels.iter().map(|level| &level.source);
        let all = levels.chain([&cluster.source, &cluster.device.source]);
        sources.extend(all.map(|source| (cluster.id.clone(), source.clone())));
    }
    sources.extend(all(&library.stacks).into_iter().map(|stack| (stack.id.clone(), stack.source.clone())));
    sources.extend(
        all(&library.calibrations).into_iter().map(|calibration| (calibration.id.clone(), calibration.source.clone())),
    );
    sources.extend(all(&library.models).into_iter().map(|model| (model.id.clone(), model.source.clone())));
    sources.extend(all(&library.strategies).into_iter().map(|strategy| (strategy.id.clone(), strategy.source.clone())));
    for (id, source) in sources {
        assert!(source.len() > 10, "{id}: '{source}'");
    }
}

#[test]
fn clusters_have_their_levels_and_calibrations_their_architectures() {
    let library = Library::embedded();
    let measured = library.calibration("measured").unwrap();
    for cluster in all(&library.clusters) {
        let named: Vec<&str> = cluster.levels.iter().map(|level| level.name.as_str()).collect();
        let wanted: &[&str] = match cluster.id.as_str() {
            id if id.starts_with("mi250") => &["package", "node", "system"],
            id if id.ends_with("nvl72") => &["node", "rack", "system"],
            "h100-nvl-94gb" | "a6000-48gb" => &["pair", "node", "system"],
            "h200-nvl-141gb" => &["bridge", "node", "system"],
            _ => &["node", "system"],
        };
        assert_eq!(named, wanted, "{}", cluster.id);
        let architecture = cluster.device.architecture.as_str();
        let entry = measured.architectures.contains_key(architecture);
        assert_ne!(entry, UNMEASURED.contains(&architecture), "{}: {architecture}", cluster.id);
        assert!(Architecture::named(architecture).is_known(), "{}: {architecture}", cluster.id);
    }
    for stack in all(&library.stacks) {
        let wanted = if stack.id == "ideal" { "ideal" } else { "measured" };
        assert_eq!(stack.calibration, wanted, "{}", stack.id);
    }
}

#[test]
fn a_stack_has_the_keys_of_the_one_that_it_is_like() {
    let mut library = Library::embedded();
    let add = |library: &mut Library, text: &str| library.add(Kind::Stack, "ours", text, Origin::Embedded);
    let head = "format = 1\nname = 'Ours'\nsource = 'made up'\n";
    add(&mut library, &format!("{head}like = 'nemo-2025'\ndropout = true\n[collectives]\nper_layer = 3\n")).unwrap();
    let (ours, nemo) = (library.stack("ours").unwrap(), library.stack("nemo-2025").unwrap());
    assert_eq!((ours.id.as_str(), ours.name.as_str(), ours.dropout, nemo.dropout), ("ours", "Ours", true, false));
    assert_eq!((ours.kernels.as_deref(), &ours.runs), (Some("late-2024"), &nemo.runs));
    let collectives = Collectives { per_layer: ours.collectives.per_layer, ..nemo.collectives.clone() };
    assert_eq!(ours.collectives, collectives);
    assert_ne!(ours.collectives, nemo.collectives);
    for (line, said) in [
        ("like = 'nothing'", "like: there is no 'nothing'"),
        ("like = 1", "like: must be the id of another preset"),
        ("like = 'nemo-2025'\nattention = 'none'", "unknown variant `none`"),
        ("like = 'nemo-2025'\nunknown = 1", "unknown field `unknown`"),
    ] {
        let error = add(&mut library, &format!("{head}{line}\n")).unwrap_err();
        assert!(error.contains(said), "{line}: {error}");
    }
}

#[test]
fn aliases_shard_alike() {
    let library = Library::embedded();
    let sharding = |id: &str| library.strategy(id).unwrap().sharding.clone();
    assert_eq!(sharding("zero3"), sharding("fsdp"));
    assert_eq!(sharding("hsdp"), Sharding { sums_each_micro_batch: true, ..sharding("mics") });
}

/// In whole MB/s.
fn mega(rate: BytesPerSecond) -> u64 {
    (rate.get() / 1e6).round() as u64
}

/// Rates of rings on Frontier in MB/s, by hand from the OLCF user guide's links.
#[test]
fn rings_on_frontier() {
    let cluster = Library::embedded().cluster("mi250x-frontier").unwrap();
    let network = Network::new(&cluster, [1.0; MAX_LEVELS], [1.0; MAX_LEVELS]);
    let rate = |stride, size, level: usize| mega(network.ring(Group::new(stride, size))[level].rate);
    // The two GCDs of a package: 4 links of 50 GB/s.
    assert_eq!(rate(1, 2, 0), 200_000);
    // All eight of a node: 0-1-3-2-4-5-7-6 and 0-1-5-4-2-3-7-6 share no link, and each runs both ways: 4 rings of 50 GB/s,
    // as in RCCL's models of this node.
    assert_eq!(rate(1, 8, 1), 200_000);
    // Four, two packages: 0-1 200, 1-3 50, 3-2 200, 2-0 50, both ways.
    assert_eq!(rate(1, 4, 1), 100_000);
    // One GCD of each package, both such groups at once: 0-2-4-6 and 1-3-7-5, each both ways.
    assert_eq!(rate(2, 4, 1), 100_000);
    // GCDs 0 and 4 have no link: data pass through others at 50 GB/s.
    assert_eq!(rate(4, 2, 1), 50_000);
    // All ranks of many nodes in one ring: min(8 x 25, 100) GB/s per node.
    assert_eq!(rate(1, 64, 2), 100_000);
    // One rank of each node, eight such groups at once: an eighth of the node's 100 GB/s.
    assert_eq!(rate(8, 8, 2), 12_500);
}

/// Rates of rings in meshes in MB/s, by hand: a group of n has n - 1 of a device's links.
#[test]
fn rings_in_meshes() {
    let library = Library::embedded();
    let rate = |id: &str, stride, size| {
        let cluster = library.cluster(id).unwrap();
        mega(Network::new(&cluster, [1.0; MAX_LEVELS], [1.0; MAX_LEVELS]).ring(Group::new(stride, size))[0].rate)
    };
    // Seven links of 64 GB/s; every second device of a node makes four, which have three links each.
    for (stride, size, expected) in [(1, 8, 448_000), (1, 4, 192_000), (2, 4, 192_000), (1, 2, 64_000)] {
        assert_eq!(rate("mi300x", stride, size), expected, "{size} devices, {stride} apart");
    }
    // Three links of 150 GB/s. A switch gives each device its whole rate in any group.
    assert_eq!([4, 2].map(|size| rate("gh200-96gb-jupiter", 1, size)), [450_000, 150_000]);
    assert_eq!([8, 2].map(|size| rate("b200-dgx", 1, size)), [900_000, 900_000]);
}

/// A rack of 18 trays of 4 is one NVLink domain, and each device has a port of its own beyond it, in MB/s.
#[test]
fn rings_over_racks() {
    let cluster = Library::embedded().cluster("gb200-nvl72").unwrap();
    assert_eq!((cluster.devices_per_node(), cluster.devices_in(1)), (4, Some(72)));
    assert_eq!([1, 2].map(|level| cluster.place(level)), ["between nodes", "between racks"]);
    let network = Network::new(&cluster, [1.0; MAX_LEVELS], [1.0; MAX_LEVELS]);
    let per_rank = |stride, size, level: usize| mega(network.ring(Group::new(stride, size))[level].per_rank);
    assert_eq!([per_rank(1, 72, 1), per_rank(1, 144, 2), per_rank(72, 2, 2)], [900_000, 50_000, 50_000]);
}

/// Inter-node rates per node in MB/s, by hand from the adapters.
#[test]
fn rings_between_nodes() {
    let library = Library::embedded();
    // Adapters times their rate: 8 x 200 Gb/s, 8 x 400 Gb/s, 4 x 100 Gb/s, 4 x 200 Gb/s, 16 x 200 Gb/s.
    for (id, per_node, expected) in [
        ("a100-80gb-dgx", 8, 200_000),
        ("h100-80gb-dgx", 8, 400_000),
        ("a100-80gb-jeanzay", 8, 50_000),
        ("a100-40gb-juwels", 4, 100_000),
        ("a100-80gb-nvlink16", 16, 400_000),
    ] {
        let cluster = library.cluster(id).unwrap();
        assert_eq!(cluster.devices_per_node(), per_node, "{id}");
        let network = Network::new(&cluster, [1.0; MAX_LEVELS], [1.0; MAX_LEVELS]);
        let spans = network.ring(Group::new(1, 4 * per_node));
        assert_eq!(mega(spans[cluster.level("system").unwrap()].rate), expected, "{id}");
    }
}

#[test]
fn a_price_and_a_power_are_typed_and_never_negative() {
    let good = text(Kind::Cluster, "h800-80gb");
    let with = |line: &str| format!("{line}\n{good}");
    let mut library = Library::default();
    let priced = with("price_per_device_hour = '2.50 EUR'\nwatts_per_device = '1.2 kW'");
    library.add(Kind::Cluster, "dear", &priced, Origin::Embedded).unwrap();
    let dear = library.cluster("dear").unwrap();
    assert_eq!(dear.price_per_device_hour.unwrap().to_string(), "2.50 EUR");
    assert_eq!(dear.watts_per_device, Some(Watts::new(1200.0)));
    library
        .add(Kind::Cluster, "bare", &with("price_per_device_hour = 2\nwatts_per_device = 700"), Origin::Embedded)
        .unwrap();
    assert_eq!(library.cluster("bare").unwrap().watts_per_device, Some(Watts::new(700.0)));
    for (line, field) in [
        ("price_per_device_hour = '-1 EUR'", "price_per_device_hour"),
        ("price_per_device_hour = -2.5", "price_per_device_hour"),
        ("watts_per_device = -700", "watts_per_device"),
        ("watts_per_device = '-700 W'", "watts_per_device"),
    ] {
        let what = library.add(Kind::Cluster, "dear", &with(line), Origin::Embedded).unwrap_err();
        let place = format!("line 1, column {}: {field}: ", field.len() + 4);
        assert!(what.starts_with(&place) && what.contains("not negative"), "{line}: {what}");
    }
}

#[test]
fn an_id_is_found_in_any_case() {
    let library = Library::embedded();
    assert_eq!(library.model("GPT-OSS-20B").unwrap().id, "gpt-oss-20b");
    assert_eq!(library.cluster("H100-80GB-DGX").unwrap().id, "h100-80gb-dgx");
}

#[test]
fn an_unknown_id_names_its_neighbours() {
    let library = Library::embedded();
    let unknown = library.cluster("h200").unwrap_err();
    assert_eq!(unknown.near[0], "h200-141gb-dgx");
    let said = unknown.to_string();
    assert!(said.starts_with("no cluster 'h200'; did you mean h200-141gb-dgx"), "{said}");
    assert!(said.ends_with("? `shardscope presets clusters` lists them"), "{said}");
    assert_eq!(
        library.model("\u{1b}[2J").unwrap_err().to_string(),
        "no model '\u{fffd}[2J'; `shardscope presets models` lists them"
    );
    assert_eq!(library.model("llama-2-7").unwrap_err().near[0], "llama-2-7b");
    let said = |unknown: Unknown| unknown.to_string();
    let scenario = said(library.model("osdp-48x1536").unwrap_err());
    assert!(scenario.contains("it is a scenario: give it in place of a file, without a flag"), "{scenario}");
    let cluster = said(library.model("h100-80gb-dgx").unwrap_err());
    assert!(cluster.contains("it is a cluster: --hardware"), "{cluster}");
}
