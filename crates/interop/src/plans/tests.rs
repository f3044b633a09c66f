//! Export, then import, gives the same plan in every field that the tool's file says.

use proptest::prelude::*;

use super::asked::PlanQuery;
use super::*;
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::scenario::Layout;
use shardscope_engine::scenario::file::FORMAT;

/// A plan in words, as flags have it.
#[expect(clippy::too_many_lines, reason = "a list of words for each field")]
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
        one_of(&["adam", "adam", "sgd-momentum", "muon", "adam8bit"]),
        one_of(&[
            "llama-3.1-8b",
            "llama-3.1-70b",
            "llama-3.1-405b",
            "llama-2-70b",
            "mpt-7b",
            "mixtral-8x7b",
            "gpt3-175b",
            "nemotron-h-8b",
            "nemotron-3-nano",
            "deepseek-v3.2",
            "qwen3-next-80b-a3b",
        ]),
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
        one_of(&["stack", "stack", "whole", "vocab-parallel", "fused", "chunked"]),
        one_of(&["", "256", "512"]),
        one_of(&["", "fp32", "bf16"]),
    );
    let trained = (
        one_of(&["full", "full", "full", "lora", "qlora"]),
        one_of(&["8", "16", "64"]),
        one_of(&["all", "attention", "q,v", "gate,up,down", "q,k,v,o"]),
        one_of(&["", "", "bf16", "int8", "nf4", "nf4-single"]),
        one_of(&["0", "0", "0", "2"]),
        one_of(&["off", "off", "on"]),
        one_of(&["1", "1", "2", "8"]),
        one_of(&["", "", "1", "2"]),
        one_of(&["0", "0.05", "0.1"]),
    );
    let methods = (
        one_of(&["sft", "dpo", "dpo", "kto", "orpo", "reward"]),
        one_of(&["resident", "precomputed", "host", "adapters-off", "none"]),
        one_of(&["longest", "packed", "fixed"]),
        one_of(&["all", "completions"]),
        one_of(&["512", "1024"]),
    );
    // Most plans differ from the usual one in a few fields: a tool lacks any that differs in all.
    let said = prop::collection::vec(0..4_u8, 49);
    let parts = (mesh, batch, state, rest, exchanges, trained, methods, said);
    parts.prop_map(|(mesh, batch, state, rest, exchanges, trained, methods, said)| {
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
            ("loss", exchanges.6),
            ("loss-chunk", exchanges.7),
            ("loss-format", exchanges.8),
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
            ("train", trained.0),
            ("lora-rank", trained.1),
            ("lora-targets", trained.2),
            ("lora-dropout", trained.8),
            ("frozen-format", trained.3),
            ("frozen-layers", trained.4),
            ("paged-optimizer", trained.5),
            ("ep", trained.6),
            ("etp", trained.7),
            ("method", methods.0),
            ("reference", methods.1),
            ("padding", methods.2),
            ("logits", methods.3),
            ("response-max", methods.4),
        ];
        let always = |flag: &str| ["model", "strategy", "devices"].contains(&flag);
        let words = words.into_iter().zip(said).filter(|((flag, _), said)| *said == 0 || always(flag));
        words.map(|(word, _)| word).collect()
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

/// A word that no entry has would stand for the first tool.
#[test]
fn every_tool_that_other_modules_name_is_one_of_the_table() {
    let named = [
        PlanTarget::ACCELERATE,
        PlanTarget::TRAINER,
        PlanTarget::DEEPSPEED,
        PlanTarget::MEGATRON,
        PlanTarget::TORCHTITAN,
        PlanTarget::TORCHTUNE,
        PlanTarget::SBATCH,
    ];
    for target in named.into_iter().chain(TARGETS.map(|(target, ..)| target)) {
        assert_eq!(PlanTarget::all().filter(|known| *known == target).count(), 1, "{target:?}");
    }
}

fn asked(scenario: &Scenario) -> PlanQuery<'_> {
    PlanQuery::new(scenario.checked().expect("a layout"))
}

/// What is exported for, in which version, and what else has to be said to read the file.
const TARGETS: [(PlanTarget, Option<&str>, &[Field]); 10] = [
    (PlanTarget::ACCELERATE, None, &[Field::Model, Field::MicroBatch, Field::Accumulate, Field::Sequence]),
    (PlanTarget::TRAINER, None, &[Field::Model, Field::Devices, Field::Sequence, Field::Method]),
    (PlanTarget("llama-factory"), None, &[Field::Model, Field::Devices]),
    (PlanTarget("ms-swift"), None, &[Field::Model, Field::Devices, Field::ResponseMax]),
    (PlanTarget::DEEPSPEED, None, &[Field::Model, Field::Devices, Field::Sequence, Field::Recompute]),
    (PlanTarget::DEEPSPEED, Some("0.18"), &[Field::Model, Field::Devices, Field::Sequence, Field::Recompute]),
    (PlanTarget::MEGATRON, None, &[]),
    (PlanTarget::TORCHTITAN, None, &[]),
    (PlanTarget::TORCHTITAN, Some("0.2.2"), &[]),
    (PlanTarget::TORCHTUNE, None, &[Field::Devices]),
];

/// What a file of a run says in no way: how long it is, what it costs, what the machine might be.
const NOT_OF_A_RUN: [Field; 9] = [
    Field::Tokens,
    Field::Examples,
    Field::Epochs,
    Field::Packing,
    Field::ResponseMax,
    Field::Price,
    Field::FlopCount,
    Field::Bandwidth,
    Field::Memory,
];

fn round_trip(scenario: &Scenario, (target, version, beside): (PlanTarget, Option<&str>, &[Field]), library: &Library) {
    let tool = target.asked(target.version(version).expect("a version"));
    let exported = export(target, version, scenario, &JobWishes::default());
    if tool.lacks(&asked(scenario)).any(|lack| lack.fix.is_some()) {
        assert!(exported.is_err(), "what the tool lacks is refused");
        return;
    }
    let exported = match exported {
        Ok(exported) => exported,
        Err(errors) => {
            assert!(summary(scenario, &mut Workspace::default()).is_err(), "{errors:?}");
            return;
        }
    };
    let text = exported.text.as_str();
    // One cluster states drives, and the other no limit of its hosts' memory.
    let cluster = if text.contains("nvme") { "h200-141gb-dgx" } else { "h800-80gb" };
    let mut fields = vec![(Field::Cluster, Value::Id(cluster.into())), (Field::Stack, Value::Id("default".into()))];
    fields.extend(beside.iter().filter_map(|field| Some((*field, field.meant(scenario)?))));
    let wishes = PlanWishes { fields, ..PlanWishes::default() };
    let files = [LauncherFile { name: exported.file, text }];
    let imported = match import(&files, wishes, library) {
        Ok(imported) => imported,
        // The cluster with drives states its hosts' memory too, and the scenario's had room.
        Err(errors) if errors.iter().all(|error| error.what.contains("of a host's memory")) => return,
        Err(errors) => panic!("{errors:?}\n{text}"),
    };
    let report = &imported.report;
    let back = library.resolve(&imported.made.scenario).expect("a scenario");
    let (before, after) = (asked(scenario), asked(&back));
    for field in Field::all().filter(|field| field.is_in_plan() && !NOT_OF_A_RUN.contains(field)) {
        // What the file leaves unsaid is in the tool's table.
        let is_lacked = || tool.lacks(&before).any(|lack| lack.field == field);
        let unsaid =
            before.value(field).is_some_and(|value| field.usual() != Some(value)) && !exported.said.contains(&field);
        let of_values = !matches!(field, Field::Reduction | Field::Accumulation | Field::Reshard | Field::Precision);
        assert!(!unsaid || !of_values || is_lacked(), "{field} is unsaid and not lacked\n{text}");
        // What changes nothing, or is of ranks that are named themselves.
        let of_ranks = matches!(field, Field::Schedule | Field::StagesPerRank)
            && before.value(Field::Pipeline) != after.value(Field::Pipeline);
        // Megatron-LM's loss over tensor ranks is that of a part of the vocabulary each, without a word.
        let without_a_word = field == Field::Loss && target == PlanTarget::MEGATRON;
        if field.idle_in(&scenario.plan).is_some() || of_ranks || without_a_word {
            continue;
        }
        let (planned, found) = (before.value(field), after.value(field));
        if exported.fields.contains(&field) {
            assert_eq!(planned, found, "{field}\n{text}");
        } else if planned != found && (planned.is_some() || found.is_some()) {
            let named = text.contains(&format!(": {} ", field.key())) || text.contains(&format!("\"{} ", field.key()));
            let said = report.taken.iter().map(|taken| &taken.field).chain(report.assumed.iter().map(|it| &it.field));
            let is_said = planned.is_none() && said.into_iter().any(|said| said == field.key());
            assert!(named || is_said, "{field} is {planned:?} there and {found:?} back, and no file names it:\n{text}");
        }
    }
    // The Trainer's mesh stands in another file.
    if exported.notes.is_empty() && !text.contains("launch with both") {
        // A copy over one rank is none.
        let layouts = [*before.layout(), *after.layout()]
            .map(|layout| Layout { secondary: layout.secondary.filter(|ranks| *ranks > 1), ..layout });
        assert_eq!(layouts[0], layouts[1], "{text}");
    }
    let of_model = |note: &String| note.contains("the model's table") || note.starts_with("model ");
    // A model that scores answers has another head than the one that the arguments say.
    if target == PlanTarget::MEGATRON && !scenario.model.scores && !exported.notes.iter().any(of_model) {
        assert_eq!(scenario.model.counts(), back.model.counts(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn what_is_exported_is_imported_as_the_same_plan(words in plans()) {
        let library = shardscope_presets::library();
        if let Some(scenario) = scenario(&words, &library) {
            for target in TARGETS {
                round_trip(&scenario, target, &library);
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
            PlanTarget::ACCELERATE,
            None,
            "model=llama-3.1-8b strategy=hsdp devices=64 shard=8 tp=2 cp=2 recompute=full offload=state",
        ),
        (PlanTarget::DEEPSPEED, None, "model=llama-3.1-8b strategy=zeropp devices=64 offload=all prefetch=3"),
        (PlanTarget::DEEPSPEED, Some("0.18"), "model=llama-3.1-8b strategy=mics devices=64"),
        (
            PlanTarget::MEGATRON,
            None,
            "model=mixtral-8x7b strategy=zero1 shard=4 devices=64 tp=2 cp=2 pp=2 schedule=interleaved stages-per-rank=2 \
             accumulate=8 recompute=0.5 precision=fp8 offload=optimizer",
        ),
        (
            PlanTarget::MEGATRON,
            None,
            "model=mixtral-8x7b strategy=zero1 devices=64 tp=2 accumulate=8 recompute=none offload=activations",
        ),
        (PlanTarget::MEGATRON, None, "model=nemotron-h-8b strategy=zero1 devices=8 tp=2 accumulate=4 recompute=0.5"),
        (
            PlanTarget::MEGATRON,
            None,
            "model=deepseek-v3 strategy=zero1 devices=512 pp=8 ep=64 mtp-layers=1 accumulate=64",
        ),
        (PlanTarget::MEGATRON, None, "model=deepseek-v3.2 strategy=zero1 devices=512 pp=8 ep=64 accumulate=64"),
        (PlanTarget::MEGATRON, None, "model=deepseek-v2-lite strategy=zero1 devices=8 ep=8 accumulate=4"),
        (PlanTarget::MEGATRON, None, "model=qwen3-next-80b-a3b strategy=zero1 devices=64 ep=32 accumulate=4"),
        (PlanTarget::MEGATRON, None, "model=glm-4.5-air strategy=zero1 devices=64 tp=2 ep=32 accumulate=4"),
        (
            PlanTarget::TORCHTITAN,
            None,
            "model=llama-3.1-70b strategy=hsdp shard=8 devices=64 pp=2 schedule=breadth-first stages-per-rank=2 \
             accumulate=8 micro-batch=2 recompute=selective offload=state reshard=off",
        ),
        (
            PlanTarget::TORCHTITAN,
            Some("0.2.2"),
            "model=llama-3.1-8b strategy=hsdp shard=8 devices=64 tp=2 pp=2 schedule=breadth-first stages-per-rank=2 \
             accumulate=8 micro-batch=2 recompute=selective precision=fp8 offload=state reshard=off",
        ),
        (PlanTarget::TRAINER, None, "model=llama-3.1-8b strategy=ddp devices=8 train=qlora lora-rank=8 accumulate=4"),
        (
            PlanTarget::TRAINER,
            None,
            "model=llama-3.1-8b strategy=fsdp devices=8 method=dpo reference=precomputed padding=longest seq=2048 recompute=full",
        ),
        (
            PlanTarget("llama-factory"),
            None,
            "model=llama-3.1-8b strategy=ddp devices=8 method=kto train=lora lora-rank=8 padding=longest seq=2048 accumulate=4",
        ),
        (
            PlanTarget("llama-factory"),
            None,
            "model=llama-3.1-8b strategy=fsdp devices=8 method=orpo padding=longest seq=2048 recompute=full micro-batch=2",
        ),
        (
            PlanTarget("ms-swift"),
            None,
            "model=llama-3.1-8b strategy=fsdp devices=8 method=dpo reference=resident padding=packed seq=4096 recompute=full",
        ),
        (
            PlanTarget("ms-swift"),
            None,
            "model=llama-3.1-8b strategy=ddp devices=8 method=reward train=qlora padding=longest",
        ),
        (
            PlanTarget::TORCHTUNE,
            None,
            "model=llama-3.1-8b strategy=fsdp devices=8 train=lora lora-targets=q,v accumulate=4 recompute=full \
             master-weights=none moments=bf16",
        ),
        (
            PlanTarget::TORCHTUNE,
            None,
            "model=llama-3.1-8b strategy=hsdp shard=8 devices=64 tp=2 accumulate=4 recompute=full compile=on offload=all \
             master-weights=none moments=bf16",
        ),
    ] {
        let scenario = scenario(&words(text), &library).expect("a plan");
        let exported = export(target, version, &scenario, &JobWishes::default()).expect("a file");
        assert_eq!(exported.notes, [""; 0], "{text}");
        let target = TARGETS.into_iter().find(|(other, of, _)| *other == target && *of == version);
        round_trip(&scenario, target.expect("a target"), &library);
    }
}
