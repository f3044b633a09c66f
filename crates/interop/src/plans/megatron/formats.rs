//! Formats of products and gradients, CUDA graphs, and dispatch to experts, in both directions.

use shardscope_engine::plan::{Capacity, CudaGraphs, DispatchFormats, Dispatcher, Format, GradientFormat, Precision};
use shardscope_engine::scenario::Field;

use super::super::deviation::Deviation;
use super::super::draft::PlanDraft;
use super::super::settings::{Setting, ToolSettings};
use super::super::table::Codec;
use super::super::writer::{Line, PlanWriter};
use super::{FP32, on};
use crate::megatron::{DTYPE, FORMATS, RECIPE, RECIPES, recipe, storage};

/// The format of products, and fp8's scaling recipe.
pub(super) const PRECISION: Codec = Codec::new(&[Field::Precision], read_precision, write_precision);

fn read_precision(settings: &mut ToolSettings, draft: &mut PlanDraft) {
    let set: Vec<(Precision, Setting)> =
        FORMATS.into_iter().filter_map(|(name, format)| Some((format, on(settings, name)?))).collect();
    let dtype = settings.take(DTYPE);
    let stored = dtype.as_ref().and_then(|dtype| Some((storage(&dtype.text)?, dtype)));
    let first = set.first().map(|(format, setting)| (*format, setting));
    let scaled = settings.take(RECIPE).map(|setting| (recipe(&setting.text), setting));
    let scaled = match &scaled {
        // A log names the recipe even if nothing is in fp8.
        Some((_, setting)) if first.is_none_or(|(format, _)| format != Precision::Fp8) => {
            draft.report.ignore(&setting.place, "nothing is in fp8");
            None
        }
        Some((None, setting)) => {
            let why = format!("how '{}' scales fp8 is not known", setting.text);
            return draft.refuse(&setting.place, why, Field::Precision);
        }
        Some((Some(precision), setting)) => Some((*precision, setting)),
        None => None,
    };
    match scaled.or(first).or(stored) {
        Some((format, setting)) => draft.take(Field::Precision, format, &setting.place),
        None => draft.assume(
            Field::Precision,
            Precision::Fp32,
            "neither --bf16 nor --fp16 is there, and the default is fp32",
        ),
    }
}

fn write_precision(writer: &mut PlanWriter) -> Vec<Line> {
    let precision = writer.plan().precision;
    let stored = (precision != Precision::Fp32).then(|| Line::new(precision.storage().word(), true));
    let format = match precision {
        Precision::Nvfp4 => Some(("fp4_format", "e2m1")),
        // With block scaling, gradients are in e4m3 too.
        Precision::Fp8Block | Precision::Mxfp8 => Some(("fp8_format", "e4m3")),
        precision if precision.is_low() => Some(("fp8_format", "hybrid")),
        _ => None,
    };
    let scaled = RECIPES.iter().find(|(_, own)| *own == precision).map(|(word, _)| (RECIPE, *word));
    let named = [format, scaled].into_iter().flatten().map(|(name, word)| Line::new(name, word));
    stored.into_iter().chain(named).collect()
}

/// The format of gradients: bf16 if asked for, whatever the optimizer copies them into. fp32 is the default with bf16
/// weights, and read only from a switch.
pub(super) const GRADIENTS: Codec = Codec::new(
    &[Field::GradientFormat],
    |settings, draft| {
        let (coarse, fine) = (on(settings, GRADIENTS_BF16), on(settings, GRADIENTS_FP32));
        let copied = settings.take("main_grads_dtype").filter(|copied| !FP32.contains(&copied.text.as_str()));
        if let Some(setting) = coarse.or(copied) {
            draft.take(Field::GradientFormat, GradientFormat::Bf16, &setting.place);
        } else if let Some(setting) = fine {
            draft.take(Field::GradientFormat, GradientFormat::Fp32, &setting.place);
        }
    },
    |writer| {
        let name = |format| if format == GradientFormat::Bf16 { GRADIENTS_BF16 } else { GRADIENTS_FP32 };
        writer.plan().gradients.map(|format| Line::new(name(format), true)).into_iter().collect()
    },
);

const GRADIENTS_FP32: &str = "accumulate_allreduce_grads_in_fp32";
const GRADIENTS_BF16: &str = "grad_reduce_in_bf16";

/// CUDA graphs of a whole iteration, or of parts of layers: by an older switch, or by the implementation and its scope.
pub(super) const GRAPHS: Codec = Codec::new(
    &[Field::CudaGraphs],
    |settings, draft| {
        let scope = settings.take(SCOPE);
        let whole = scope.is_some_and(|scope| scope.text.contains(WHOLE_GRAPH));
        let switch = on(settings, "enable_cuda_graph").or_else(|| on(settings, "external_cuda_graph"));
        let own = settings.take(GRAPHED_BY).filter(|own| own.text != "none");
        if let Some(setting) = own.or(switch) {
            let graphs = if whole { CudaGraphs::Full } else { CudaGraphs::Layer };
            draft.take(Field::CudaGraphs, graphs, &setting.place);
        }
    },
    |writer| match writer.plan().cuda_graphs {
        CudaGraphs::None => Vec::new(),
        CudaGraphs::Layer => vec![Line::new(GRAPHED_BY, "transformer_engine")],
        CudaGraphs::Full => vec![Line::new(GRAPHED_BY, "local"), Line::new(SCOPE, WHOLE_GRAPH)],
    },
);

const GRAPHED_BY: &str = "cuda_graph_impl";
const SCOPE: &str = "cuda_graph_scope";
/// The scope of a graph that holds forward and backward of all micro-batches.
const WHOLE_GRAPH: &str = "full_iteration";

/// Expert capacity: inputs are padded up to it, or only cut down to it.
pub(super) const CAPACITY: Codec = Codec::new(
    &[Field::Capacity],
    |settings, draft| {
        let filled = on(settings, FILLED).is_some();
        let Some(factor) = on(settings, FACTOR).filter(|factor| !factor.text.starts_with('-')) else { return };
        if filled {
            draft.read(Field::Capacity, &factor.text, &factor.place);
        } else {
            draft.report.ignore(&factor.place, "experts are not filled up: what they drop is not predicted");
        }
    },
    |writer| match writer.plan().experts.capacity {
        Capacity::Factor(factor) => vec![Line::new(FACTOR, factor.to_string()), Line::new(FILLED, true)],
        Capacity::None => Vec::new(),
    },
);

const FACTOR: &str = "moe_expert_capacity_factor";
const FILLED: &str = "moe_pad_expert_input_to_capacity";

/// The library that dispatches tokens under expert parallelism.
pub(super) const DISPATCHER: Codec = Codec::new(
    &[Field::Dispatcher],
    |settings, draft| {
        let (own, backend) = (settings.take(CARRIER), settings.take(BACKEND));
        match (own, backend) {
            (Some(own), backend) if own.text == FLEXIBLE => {
                // DeepEP is the default backend.
                let named = backend.as_ref().map_or(Dispatcher::DeepEp.word(), |backend| backend.text.as_str());
                match named.parse::<Dispatcher>() {
                    Ok(library) => draft.take(Field::Dispatcher, library, &own.place),
                    Err(_) => {
                        draft.refuse(&own.place, format!("exchanges by '{named}' are not known"), Field::Dispatcher);
                    }
                }
            }
            (Some(own), _) if own.text == Dispatcher::AllToAll.word() => {
                draft.take(Field::Dispatcher, Dispatcher::AllToAll, &own.place);
            }
            (Some(own), _) => draft.report.ignore(&own.place, "exchanges are counted as all-to-alls"),
            (None, Some(backend)) => draft.report.ignore(&backend.place, "the dispatcher is not the one that has it"),
            (None, None) => {}
        }
    },
    |writer| match writer.plan().experts.dispatcher {
        Dispatcher::AllToAll if writer.plan().experts.ranks == 1 => Vec::new(),
        Dispatcher::AllToAll => vec![Line::new(CARRIER, Dispatcher::AllToAll.word())],
        library => vec![Line::new(CARRIER, FLEXIBLE), Line::new(BACKEND, library.word())],
    },
);

const CARRIER: &str = "moe_token_dispatcher_type";
const BACKEND: &str = "moe_flex_dispatcher_backend";
/// The dispatcher with a choice of backends.
const FLEXIBLE: &str = "flex";

/// Formats of tokens sent to experts, and of gradients of their outputs; the other two directions are in bf16.
pub(super) const DISPATCHED: Codec = Codec::new(
    &[Field::DispatchFormat],
    |settings, draft| {
        let [dispatch, combine] = WAYS.map(|way| settings.take(way));
        let Some(setting) = dispatch.as_ref().or(combine.as_ref()) else { return };
        let format = |set: Option<&Setting>| match set {
            Some(set) if set.text == NARROW => Format::Fp8,
            _ => Format::Bf16,
        };
        let mut formats = DispatchFormats::all(Format::Bf16);
        (formats.dispatch.forward, formats.combine.backward) = (format(dispatch.as_ref()), format(combine.as_ref()));
        draft.take(Field::DispatchFormat, formats, &setting.place);
    },
    |writer| {
        let word = |format: Format| if format == Format::Fp8 { NARROW } else { format.word() };
        let ways = writer.plan().experts.formats.and_then(ways).into_iter().flatten();
        WAYS.into_iter().zip(ways).map(|(name, way)| Line::new(name, word(way))).collect()
    },
)
.losing(&[Deviation::unsaid(Field::DispatchFormat, |asked, _| {
    asked.plan().experts.formats.is_some_and(|formats| ways(formats).is_none())
})
.alone()]);

const WAYS: [&str; 2] = ["moe_dispatch_fwd_dtype", "moe_combine_bwd_dtype"];
const NARROW: &str = "mxfp8";

/// The two formats that may have 8 bits; `None` if the plan has others.
fn ways(DispatchFormats { dispatch, combine }: DispatchFormats) -> Option<[Format; 2]> {
    let ways = [dispatch.forward, combine.backward];
    let known = ways.iter().all(|way| matches!(way, Format::Bf16 | Format::Fp8));
    (known && [dispatch.backward, combine.forward] == [Format::Bf16; 2]).then_some(ways)
}
