//! A plan as torchtitan's settings, and what torchtitan does otherwise.

use crate::torchtitan::{MODELS, TitanModel};
use shardscope_engine::model::Model;
use shardscope_engine::plan::{Compile, Precision, Recompute, Sharded};
use shardscope_engine::scenario::{Field, Value};

use super::super::lacks::{ALIKE, Deviation, ONE_EXTENT, SUMS_EACH, ToolTable, WEIGHTS_TOO, WHOLE_CONTEXT};
use super::super::writer::{Line, PlanWriter};
use super::command::configured;
use super::{
    COMPILE, COMPONENTS, CONVERTERS, EAGER, FLOAT, FP8_RECIPE, GLOBAL, KEYS, LOCAL, MICRO, MODE, OPTION, PER_STAGE,
    REPLICATE, RESHARD, SHARD, TENSOR, TENSORWISE,
};

/// Versions that [`write()`] is for, the newest first.
pub(crate) const VERSIONS: &[&str] = &["0.3.0", "0.2.2"];

/// What its file says, and what torchtitan does otherwise.
pub(crate) const TABLE: ToolTable = ToolTable {
    keys: &[KEYS],
    also: Some(&[
        &[Field::Precision, Field::Compile, Field::Reshard, Field::Recompute, Field::StagesPerRank],
        &[Field::MicroBatch, Field::Accumulate, Field::GlobalBatch, Field::Devices],
        // FSDP2 reduces gradients at each micro-batch where nothing else is said, as nothing is in `torchtitan/train.py`.
        &[Field::Reduction],
    ]),
    deviations: &[
        Deviation::sentence(
            Field::Model,
            |asked, _| flavor(&asked.job.model).is_none(),
            |asked, version| format!("torchtitan {version} has no model of the shape of '{}'", asked.job.model.id),
        )
        .alone()
        .refused(|| {
            let known: Vec<&str> = MODELS.iter().filter(|model| model.exported).map(|model| model.preset).collect();
            format!("choose one of {}", known.join(", "))
        }),
        ONE_EXTENT,
        WEIGHTS_TOO,
        WHOLE_CONTEXT,
        SUMS_EACH,
        ALIKE,
        Deviation::instead_of(
            Field::Precision,
            |asked, version| {
                asked.plan().precision != Precision::Fp8 && config_in_fp8(&asked.job.model, version).is_some()
            },
            |asked, version| {
                format!("{} computes in fp8", config_in_fp8(&asked.job.model, version).unwrap_or_default())
            },
        )
        .alone(),
        Deviation::instead(
            Field::Precision,
            |asked, version| {
                let in_bf16 = version == "0.3.0" && config_in_fp8(&asked.job.model, version).is_none();
                in_bf16 && asked.plan().precision.is_low()
            },
            "another config function switches fp8 on",
        )
        .alone(),
        Deviation::instead(
            Field::Precision,
            |asked, version| {
                let has = matches!(asked.plan().precision, Precision::Fp8 | Precision::Fp8Current | Precision::Mxfp8);
                version != "0.3.0" && asked.plan().precision.is_low() && !has
            },
            "torchtitan scales fp8 by the tensor at hand, or in blocks as mxfp8",
        )
        .alone(),
        Deviation::instead(
            Field::TensorOverlap,
            |asked, _| asked.plan().tensor_overlap && asked.plan().compile == Compile::Off,
            "it is compiled code whose collectives run beside the products",
        ),
        Deviation::instead_of(
            Field::StagesPerRank,
            |asked, _| {
                let (layers, stages) = (asked.job.model.layers, asked.stages());
                stages > 1 && layers.div_ceil(layers.div_ceil(stages)) != stages
            },
            |asked, _| {
                let layers = asked.job.model.layers;
                format!("torchtitan cuts {layers} layers by those of a stage, {}", layers.div_ceil(asked.stages()))
            },
        ),
    ],
};

/// Its name and flavour of a model.
fn flavor(model: &Model) -> Option<&'static TitanModel> {
    MODELS.iter().find(|known| known.exported && known.preset == model.id)
}

/// The configuration of a model in 0.3.
fn config(model: &TitanModel) -> String {
    format!("{}_{}", model.name, model.flavor.to_lowercase())
}

/// The same, where it computes in fp8.
fn config_in_fp8(model: &Model, version: &str) -> Option<String> {
    let config = flavor(model).filter(|_| version == "0.3.0").map(config)?;
    configured(&config, CONVERTERS).map(|_| config)
}

/// The lines of its file or of its command; none where it has no such model.
pub fn write(version: &str, writer: &mut PlanWriter) -> Vec<Line> {
    let Some(model) = flavor(&writer.scenario.model) else { return Vec::new() };
    let config = config(model);
    let mut lines = if version == "0.3.0" {
        let mut lines = vec![Line::new("module", model.name), Line::new("config", config.as_str())];
        // What the configuration says otherwise.
        lines
            .extend((writer.layout.tensor == 1 && configured(&config, TENSOR).is_some()).then(|| Line::new(TENSOR, 1)));
        let compiled = writer.plan().compile != Compile::Off;
        lines.extend(
            (!compiled && configured(&config, COMPILE).is_some()).then(|| Line::new("compile.no-enable", true)),
        );
        lines
    } else {
        vec![Line::new("model.name", model.name), Line::new("model.flavor", model.flavor)]
    };
    lines.extend(writer.lines(KEYS));
    // 0.3 has the optimizer in the configuration's function.
    lines.retain(|line| version != "0.3.0" || !line.name.starts_with("optimizer."));
    write_precision(version, &mut lines, writer);
    write_compile(&mut lines, writer);
    write_mesh(&mut lines, writer);
    write_batch(version, &mut lines, writer);
    write_stages(&mut lines, writer);
    lines.extend(writer.line(MODE, Field::Recompute));
    if version != "0.3.0" && writer.plan().recompute == Recompute::Selective {
        lines.push(Line::new(OPTION, "op"));
    }
    writer.leave(&[Field::Devices], "the launcher's");
    writer.say(Field::Reduction);
    lines
}

fn write_precision(version: &str, lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let format = match writer.plan().precision {
        Precision::Fp32 => "float32",
        _ => "bfloat16",
    };
    lines.push(Line::new(FLOAT, format));
    match writer.plan().precision {
        // The configuration's function says how it computes.
        _ if version == "0.3.0" => {}
        Precision::Fp8 | Precision::Fp8Current => {
            lines.push(Line::new(CONVERTERS, vec!["quantize.linear.float8"]));
            if writer.plan().precision == Precision::Fp8Current {
                lines.push(Line::new(FP8_RECIPE, TENSORWISE));
            }
        }
        Precision::Mxfp8 => lines.push(Line::new(CONVERTERS, vec!["quantize.linear.mx"])),
        _ => {}
    }
    writer.say(Field::Precision);
}

fn write_compile(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let components = match writer.plan().compile {
        Compile::Off => return,
        Compile::Layer => vec!["model"],
        Compile::On => vec!["model", "loss"],
    };
    writer.say(Field::Compile);
    lines.extend([Line::new(COMPILE, true), Line::new(COMPONENTS, components)]);
}

fn write_mesh(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let shards = writer.asked.fsdp2_shards();
    let context = writer.layout.context;
    lines.push(Line::new(REPLICATE, shards.copies));
    lines.push(Line::new(SHARD, shards.over / context));
    let again = match shards.first {
        Some(Sharded::Weights) => writer.say(Field::Reshard) != Some(&Value::Switch(false)),
        Some(_) => false,
        None => return,
    };
    lines.push(Line::new(RESHARD, if again { "always" } else { "never" }));
}

fn write_batch(version: &str, lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let plan = writer.plan();
    let pipelined = writer.layout.pipeline > 1;
    let local =
        if pipelined { u64::from(plan.micro_batch) * u64::from(plan.accumulate) } else { plan.micro_batch.into() };
    lines.push(Line::new(LOCAL, local));
    lines.extend(writer.line(GLOBAL, Field::GlobalBatch));
    if pipelined {
        lines.push(Line::new(MICRO, plan.micro_batch));
        if version == "0.3.0" {
            // It is refused with CUDA graphs.
            lines.push(Line::new(EAGER, true));
        }
    }
    writer.say(Field::MicroBatch);
    writer.say(Field::Accumulate);
}

/// Stages as layers of each, the first and the last no smaller than the others.
fn write_stages(lines: &mut Vec<Line>, writer: &mut PlanWriter) {
    let (layers, stages) = (writer.scenario.model.layers, writer.asked.stages());
    if stages == 1 {
        return;
    }
    let each = layers.div_ceil(stages);
    writer.say(Field::StagesPerRank);
    lines.push(Line::new(PER_STAGE, each));
    lines.push(Line::new("parallelism.pipeline_parallel_first_stage_less_layers", 0));
    lines.push(Line::new("parallelism.pipeline_parallel_last_stage_less_layers", 0));
}
