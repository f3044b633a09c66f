//! Meanings of a cell's words: spellings differ from source to source, so they are read by the
//! words in them. Not for what stands for a blank cell.

use shardscope_engine::plan::{CudaGraphs, Dispatcher, Module, Precision, Recompute, RecomputeModules};
use shardscope_engine::stack::Attention;

/// A precision: the recipe of fewest bits of a mixture wins, then bf16.
pub(super) fn precision(cell: &str) -> Option<Precision> {
    let cell = cell.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| cell.contains(word));
    [
        (&["nvfp4"][..], Precision::Nvfp4),
        (&["mxfp8"], Precision::Mxfp8),
        (&["fp8-delayed"], Precision::Fp8Delayed),
        (&["fp8-current"], Precision::Fp8Current),
        (&["fp8-block", "1x128"], Precision::Fp8Block),
        (&["fp8", "float8"], Precision::Fp8),
        (&["bf16", "bfloat16"], Precision::Bf16),
        (&["fp16", "float16", "half"], Precision::Fp16),
        (&["fp32", "float32", "tf32", "single"], Precision::Fp32),
    ]
    .into_iter()
    .find_map(|(words, precision)| has(words).then_some(precision))
}

/// CUDA graphs as `implementation:scopes` has them: a whole iteration, or parts of layers. A router alone is as if there
/// were none.
pub(super) fn cuda_graphs(cell: &str) -> CudaGraphs {
    match cell {
        "" | "none" | "no" => CudaGraphs::None,
        cell if cell.contains("full") => CudaGraphs::Full,
        cell if cell.contains("moe_router") && !cell.contains("attn") => CudaGraphs::None,
        _ => CudaGraphs::Layer,
    }
}

/// Recomputation: none, full, what the stack selects, or the share of layers that a
/// cell names (`4 of 32 layers`, `0.5`).
pub(super) fn recompute(cell: &str) -> Option<Recompute> {
    let cell = cell.to_lowercase();
    let words: Vec<&str> = cell.split(|c: char| !c.is_ascii_alphanumeric() && c != '.').collect();
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(word));
    if has(&["selective", "select", "sel", "core"]) {
        return Some(Recompute::Selective);
    }
    let numbers: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    match numbers[..] {
        [part, whole] if cell.contains(" of ") && part <= whole && whole > 0.0 => {
            return Some(Recompute::Share(part / whole));
        }
        [share] if (0.0..=1.0).contains(&share) => return Some(Recompute::Share(share)),
        _ => {}
    }
    if has(&["full", "yes", "true", "on", "all", "every", "block", "uniform"]) {
        return Some(Recompute::Full);
    }
    has(&["none", "no", "not", "off", "false", "without"]).then_some(Recompute::None)
}

/// Modules that are computed again, joined by +; `norm` and `shared_expert` are Megatron-Core's `layernorm` and
/// `shared_experts`. `None` where the cell is blank or has another word, which says nothing sure. Parts that no model here
/// has, like several residual streams, are left out: the rest of the run is predicted without them.
pub(super) fn modules(cell: &str) -> Option<RecomputeModules> {
    let module = |word: &str| match word.trim() {
        "norm" => Some(Module::Norms),
        "shared_expert" => Some(Module::SharedExperts),
        word => word.parse().ok(),
    };
    let modules: Option<RecomputeModules> = cell.split('+').map(module).collect();
    Some(modules?.iter().filter(|module| module.is_counted()).collect())
}

/// An attention kernel; `None` where the cell says no more than `flash`, or nothing.
pub(super) fn attention(cell: &str) -> Option<Attention> {
    let cell = cell.to_lowercase();
    if cell.contains("fused softmax") || cell.contains("no flash") {
        return Some(Attention::FusedSoftmax);
    }
    let versions = [
        ("flash1", Attention::Flash1),
        ("flash-1", Attention::Flash1),
        ("flash2", Attention::Flash2),
        ("flash-2", Attention::Flash2),
        ("sdpa", Attention::Flash2),
        ("flash3", Attention::Flash3),
        ("flash-3", Attention::Flash3),
        ("cudnn", Attention::Flash3),
    ];
    let named = versions.into_iter().find(|(word, _)| cell.contains(word)).map(|(_, kernel)| kernel);
    named.or_else(|| (cell.contains("plain") || cell.contains("torch")).then_some(Attention::Plain))
}

/// The number behind a key in a note: `after("...; VP=5; ...", "VP=")` is 5.
pub(super) fn after(note: &str, key: &str) -> Option<f64> {
    let rest = &note[note.find(key)? + key.len()..];
    let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..digits].trim_end_matches('.').parse().ok()
}

/// The layers without experts that a note about a model's first layers gives: `truncated to 4 layers (1 dense)` has one.
pub(super) fn dense_layers(note: &str) -> Option<u32> {
    let (before, _) = note.split_once(" dense)")?;
    before.rsplit_once('(')?.1.parse().ok()
}

/// Whether a peak of memory is in bytes or decimal units, where sources count in GiB.
pub(super) fn decimal_peak(note: &str) -> bool {
    note.contains("1e9 bytes") || note.contains("MiB") && !note.contains("GiB")
}

/// The month in the name of a published file, as in 202506: `llama3-8b_h200_202506_....md`, `..._2025-06_....md`.
pub(super) fn month(path: &str) -> Option<u32> {
    let joined = path.replace('-', "");
    let numbers = joined.split(|c: char| !c.is_ascii_digit()).filter(|digits| digits.len() == 6);
    numbers.filter_map(|digits| digits.parse().ok()).find(|month| (201_001..210_013).contains(month))
}

/// Whether a note says that the router was forced to spread tokens evenly.
pub(super) fn balanced(note: &str) -> bool {
    let note = note.to_lowercase();
    ["balanced", "forced balance", "force_load_balancing"].iter().any(|words| note.contains(words))
}

/// The library that carried tokens to their experts, if a note names it.
pub(super) fn dispatcher(note: &str) -> Option<Dispatcher> {
    let note = note.to_lowercase();
    let named = |dispatcher: &&Dispatcher| note.contains(dispatcher.word());
    // Notes call Megatron's own the all-to-all dispatcher.
    let own = || note.contains("all-to-all dispatcher").then_some(Dispatcher::AllToAll);
    Dispatcher::ALL.iter().find(named).copied().or_else(own)
}

/// Layers that predicted further tokens, as a note says: in words, or as `m` in Megatron's layout of stages.
pub(super) fn further_layers(note: &str) -> u32 {
    u32::from(["one MTP layer", "tmL", "m|L"].iter().any(|words| note.contains(words)))
}

/// Whether a note says that exchanges with experts ran beside compute.
pub(super) fn hides_exchanges(note: &str) -> bool {
    let said =
        ["A2A overlap", "overlap ON", "overlap_moe_expert_parallel_comm"].iter().any(|words| note.contains(words));
    said && !note.contains("no A2A overlap")
}

/// Whether a note says that the products of tensor parallelism were cut so that collectives run beside them: PyTorch's
/// async tensor parallelism.
pub(crate) fn cuts_products(notes: &str) -> bool {
    ["Async TP", "AsyncTP", "async TP"].iter().any(|name| notes.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_read_by_their_words() {
        for (cell, wanted) in [
            ("bf16+float8-linear(fp8 all-gather)", Some(Precision::Fp8)),
            ("fp8(fine-grained 1x128/128x128)", Some(Precision::Fp8Block)),
            ("fp8-current", Some(Precision::Fp8Current)),
            ("mxfp8", Some(Precision::Mxfp8)),
            ("amp_bf16/DEFAULT", Some(Precision::Bf16)),
            ("bf16/fp16 AMP", Some(Precision::Bf16)),
            ("TF32", Some(Precision::Fp32)),
            ("", None),
        ] {
            assert_eq!(precision(cell), wanted, "{cell}");
        }
        for (cell, wanted) in [
            ("none", CudaGraphs::None),
            ("transformer_engine:attn+moe_router+moe_preprocess", CudaGraphs::Layer),
            ("transformer_engine:moe_router+moe_preprocess", CudaGraphs::None),
            ("local:full_iteration", CudaGraphs::Full),
            ("", CudaGraphs::None),
        ] {
            assert_eq!(cuda_graphs(cell), wanted, "{cell}");
        }
        for (cell, wanted) in [
            ("selective(ours: recompute activation func+norm, offload)", Some(Recompute::Selective)),
            ("Full AC", Some(Recompute::Full)),
            ("no", Some(Recompute::None)),
            ("8 of 32 layers", Some(Recompute::Share(0.25))),
            ("0.5", Some(Recompute::Share(0.5))),
            ("unclear", None),
            ("", None),
        ] {
            assert_eq!(recompute(cell), wanted, "{cell}");
        }
        for (cell, wanted) in [
            ("moe_act+norm+shared_expert", Some("moe_act+layernorm+shared_experts")),
            ("mla_up_proj+mhc", Some("mla_up_proj")),
            ("norm+mla_up_proj(not read here)", None),
            ("", None),
        ] {
            assert_eq!(modules(cell).map(|modules| modules.to_string()).as_deref(), wanted, "{cell}");
        }
        for (cell, wanted) in [
            ("other(fused softmax, no flash)", Some(Attention::FusedSoftmax)),
            ("flash(TE/cuDNN)", Some(Attention::Flash3)),
            ("flash2.0.4", Some(Attention::Flash2)),
            ("flash", None),
        ] {
            assert_eq!(attention(cell), wanted, "{cell}");
        }
    }

    #[test]
    fn a_note_says_how_tokens_reached_their_experts() {
        for (note, wanted, hidden, even) in [
            ("dispatcher hybridep; overlap_moe_expert_parallel_comm", Some(Dispatcher::HybridEp), true, false),
            ("FORCED BALANCE; DeepEP, no A2A overlap", Some(Dispatcher::DeepEp), false, true),
            ("moe_router_force_load_balancing; alltoall", Some(Dispatcher::AllToAll), false, true),
            ("forced balanced routing; overlap ON", None, true, true),
            ("NeMo 25.04; recompute not stated", None, false, false),
        ] {
            assert_eq!((dispatcher(note), hides_exchanges(note), balanced(note)), (wanted, hidden, even), "{note}");
        }
    }

    #[test]
    fn the_name_of_a_file_gives_its_month() {
        for (path, wanted) in [
            (
                "github:pytorch/torchtitan@b5bcd76c6:benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md",
                Some(202_506),
            ),
            ("benchmarks/asyncTP_llama3_h100_2025-06_torchtitan.md", Some(202_506)),
            ("github:pytorch/torchtitan@3faaa1a0d:docs/performance.md", None),
            ("github:Lightning-AI/litgpt@26857050:extensions/thunder/README.md", None),
        ] {
            assert_eq!(month(path), wanted, "{path}");
        }
    }

    #[test]
    fn a_note_gives_the_number_behind_a_key() {
        assert_eq!(after("NeMo 24.07; VP=10; task=x", "VP="), Some(10.0));
        assert_eq!(after("offload alpha=0.276 (activations)", "alpha="), Some(0.276));
        assert_eq!(after("VP=; task=SFT", "VP="), None);
        assert_eq!(after("nothing", "VP="), None);
    }

    #[test]
    fn a_note_says_what_was_cut_and_in_which_unit_a_peak_is() {
        for (note, dense, decimal) in [
            ("truncated to 4 layers (1 dense); GiB; allocated MiB by stage, measured: 32343 / 45776", Some(1), false),
            ("peak 100072.02 MiB", None, true),
            ("(all dense)", None, false),
        ] {
            assert_eq!((dense_layers(note), decimal_peak(note)), (dense, decimal), "{note}");
        }
    }
}
