//! Export, then import, gives the same plan in every field that the tool's file says.

use proptest::prelude::*;

use super::writer::PlanWriter;
use super::*;
use shardscope_engine::scenario::Layout;
use shardscope_engine::scenario::file::FORMAT;

/// A plan in words, as flags have it.
fn plans() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let one_of = |words: &'static [&'static str]| prop::sample::select(words).prop_map(str::to_owned);
    let mesh = (
        one_of(&["1", "2", "4", "8", "16", "64"]),
        one_of(&["1", "1", "2", "4"]),
        one_of(&["1", "1", "2"]),
        one_of(&["1", "1", "2", "4"]),
        one_of(&["1f1b", "gpipe", "interleaved", "breadth-first"]),
        one_of(&["1", "2"]),
    );
    let batch = (one_of(&["1", "2", "3"]), one_of(&["4", "8", "16"]), one_of(&["2048", "4096"]));
    let state = (
        one_of(&["ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp", "zeropp", "zero-topo", "zero1-hier"]),
        one_of(&["", "2", "4", "8"]),
        one_of(&["on", "off"]),
        one_of(&["none", "optimizer", "state", "checkpoints", "all", "optimizer-nvme", "state-nvme", "all-nvme"]),
        one_of(&["0", "1", "3"]),
        one_of(&["off", "layer", "on"]),
    );
    let rest = (
        one_of(&["none", "selective", "full", "0.5", "0.25"]),
        one_of(&["bf16", "fp16", "fp8", "fp8-delayed", "fp8-current", "fp8-block", "fp32"]),
        one_of(&["adam", "sgd-momentum", "muon"]),
        one_of(&["llama-3.1-8b", "llama-2-70b", "mpt-7b", "mixtral-8x7b", "gpt3-175b"]),
        one_of(&["stack", "moe_act+layernorm", "core_attn"]),
        one_of(&["none", "layer", "full"]),
        one_of(&["1", "0.5"]),
        one_of(&["fp32", "bf16"]),
        one_of(&["fp32", "none"]),
        one_of(&["", "", "bf16", "fp32"]),
        one_of(&["none", "1.25"]),
        one_of(&["0", "0", "1"]),
    );
    let exchanges = (
        one_of(&["alltoall", "deepep", "hybridep"]),
        one_of(&["", "bf16", "fp8+bf16+bf16+bf16", "fp8+bf16+fp8+bf16", "fp8"]),
        one_of(&["on", "on", "off"]),
        one_of(&["off", "on"]),
        one_of(&["none", "none", "device", "host"]),
        one_of(&["on", "on", "off"]),
    );
    (mesh, batch, state, rest, exchanges).prop_map(|(mesh, batch, state, rest, exchanges)| {
        let words = [
            ("model", rest.3),
            ("strategy", state.0),
            ("devices", mesh.0),
            ("shard", state.1),
            ("micro-batch", batch.0),
            ("accumulate", batch.1),
            ("seq", batch.2),
            ("recompute", rest.0),
            ("recompute-modules", rest.4),
            ("precision", rest.1),
            ("cuda-graphs", rest.5),
            ("offload-ratio", rest.6),
            ("moments", rest.7),
            ("master-weights", rest.8),
            ("gradient-format", rest.9),
            ("capacity", rest.10),
            ("mtp-layers", rest.11),
            ("dispatcher", exchanges.0),
            ("dispatch-format", exchanges.1),
            ("clip-norm", exchanges.2),
            ("offload-overlap", exchanges.3),
            ("ema", exchanges.4),
            ("host-pinned", exchanges.5),
            ("compile", state.5),
            ("tp", mesh.1),
            ("cp", mesh.2),
            ("pp", mesh.3),
            ("schedule", mesh.4),
            ("stages-per-rank", mesh.5),
            ("optimizer", rest.2),
            ("offload", state.3),
            ("prefetch", state.4),
            ("reshard", state.2),
        ];
        words.into_iter().collect()
    })
}

/// The scenario of such words, where there is one.
fn scenario(words: &[(&str, String)], library: &Library) -> Option<Scenario> {
    let text = format!(
        "format = {FORMAT}\ncluster = \"h100-80gb-dgx\"\nstack = \"default\"\nmodel = \"mpt-7b\"\nstrategy = \"fsdp\"\n"
    );
    let mut file = file::parse(&text).expect("a scenario");
    for (flag, text) in words {
        file.set(flag, text).expect("a flag");
    }
    library.resolve(&file).ok().filter(|scenario| scenario.layout().is_ok())
}

fn writer(scenario: &Scenario) -> PlanWriter<'_> {
    PlanWriter::new(scenario, scenario.layout().expect("a layout"))
}

/// What a target's file is called, and what else has to be said to read it.
const TARGETS: [(PlanTarget, &[Field]); 5] = [
    (PlanTarget::Accelerate, &[Field::Model, Field::MicroBatch, Field::Accumulate, Field::Sequence]),
    (PlanTarget::DeepSpeed, &[Field::Model, Field::Devices, Field::Sequence, Field::Recompute]),
    (PlanTarget::Megatron, &[]),
    (PlanTarget::Torchtitan, &[]),
    (PlanTarget::Torchtune, &[Field::Devices]),
];

fn round_trip(scenario: &Scenario, target: PlanTarget, beside: &[Field], library: &Library) {
    let version = (target == PlanTarget::Torchtitan).then_some("0.2.2");
    let runs = target.runs(target.version(version).expect("a version")).expect("a tool says what it runs");
    let exported = export(target, version, scenario, &JobWishes::default());
    if !scenario.lacks_of(target.name(), &runs).is_empty() {
        assert!(exported.is_err(), "what the tool lacks is refused");
        return;
    }
    let Ok(exported) = exported else {
        assert!(
            matches!(target, PlanTarget::Torchtitan | PlanTarget::Torchtune)
                && !scenario.model.id.starts_with("llama-3.1"),
            "only torchtitan and torchtune lack models"
        );
        return;
    };
    // One cluster states drives, and the other no limit of its hosts' memory.
    let drives = exported.text.as_str().contains("nvme");
    let cluster = if drives { "h200-141gb-dgx" } else { "h800-80gb" };
    let mut fields = vec![(Field::Cluster, Value::Id(cluster.into())), (Field::Stack, Value::Id("default".into()))];
    fields.extend(beside.iter().filter_map(|field| Some((*field, field.meant(scenario)?))));
    let wishes = PlanWishes { fields, ..PlanWishes::default() };
    let files = [LauncherFile { name: exported.file, text: exported.text.as_str() }];
    let imported =
        import(&files, wishes, library).unwrap_or_else(|errors| panic!("{errors:?}\n{}", exported.text.as_str()));
    let back = library.resolve(&imported.made.scenario).expect("a scenario");
    let (before, after) = (writer(scenario), writer(&back));
    for field in &exported.fields {
        assert_eq!(before.value(*field), after.value(*field), "{field}\n{}", exported.text.as_str());
    }
    if exported.notes.is_empty() {
        // A copy over one rank is none.
        let layouts = [before.layout, after.layout]
            .map(|layout| Layout { secondary: layout.secondary.filter(|ranks| *ranks > 1), ..layout });
        assert_eq!(layouts[0], layouts[1], "{}", exported.text.as_str());
    }
    if target == PlanTarget::Megatron && !exported.notes.iter().any(|note| note.contains("the model's table")) {
        assert_eq!(scenario.model.counts(), back.model.counts(), "{}", exported.text.as_str());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn what_is_exported_is_imported_as_the_same_plan(words in plans()) {
        let library = shardscope_presets::library();
        if let Some(scenario) = scenario(&words, &library) {
            for (target, beside) in TARGETS {
                round_trip(&scenario, target, beside, &library);
            }
        }
    }
}

/// The generator reaches plans that each target says without a note, and most fields of each.
#[test]
fn plans_without_a_note_are_among_them() {
    let library = shardscope_presets::library();
    let words = |text: &'static str| {
        let pairs = text.split_whitespace().map(|pair| pair.split_once('=').expect("a pair"));
        pairs.map(|(flag, value)| (flag, value.to_owned())).collect::<Vec<_>>()
    };
    for (target, version, text) in [
        (
            PlanTarget::Accelerate,
            None,
            "model=llama-3.1-8b strategy=hsdp devices=64 shard=8 tp=2 cp=2 recompute=full offload=state",
        ),
        (PlanTarget::DeepSpeed, None, "model=llama-3.1-8b strategy=zeropp devices=64 offload=all prefetch=3"),
        (PlanTarget::DeepSpeed, Some("0.18"), "model=llama-3.1-8b strategy=mics devices=64"),
        (
            PlanTarget::Megatron,
            None,
            "model=mixtral-8x7b strategy=zero1 shard=4 devices=64 tp=2 cp=2 pp=2 schedule=interleaved stages-per-rank=2 \
             accumulate=8 recompute=0.5 precision=fp8 offload=optimizer",
        ),
        (
            PlanTarget::Megatron,
            None,
            "model=mixtral-8x7b strategy=zero1 devices=64 tp=2 accumulate=8 recompute=none offload=activations",
        ),
        (
            PlanTarget::Torchtitan,
            Some("0.2.2"),
            "model=llama-3.1-8b strategy=hsdp shard=8 devices=64 tp=2 pp=2 schedule=breadth-first stages-per-rank=2 \
             accumulate=8 micro-batch=2 recompute=selective precision=fp8 offload=state reshard=off",
        ),
        (
            PlanTarget::Torchtune,
            None,
            "model=llama-3.1-8b strategy=hsdp shard=8 devices=64 tp=2 accumulate=4 recompute=full compile=on offload=all \
             master-weights=none moments=bf16",
        ),
    ] {
        let scenario = scenario(&words(text), &library).expect("a plan");
        let exported = export(target, version, &scenario, &JobWishes::default()).expect("a file");
        assert_eq!(exported.notes, [""; 0], "{text}");
        let beside = TARGETS.iter().find(|(other, _)| *other == target).map_or(&[][..], |(_, beside)| beside);
        if version != Some("0.18") {
            round_trip(&scenario, target, beside, &library);
        }
    }
}
