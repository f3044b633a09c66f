//! The columns of a table of measured runs: what each says, for people who write one. Not for reading them
//! ([`super::row`], [`super::case`]).

use std::collections::BTreeMap;

use shardscope_library::text::csv::inert;

use super::row::NEEDED;

/// A column: its name, what the example has there, and what it means.
struct Column(&'static str, &'static str, &'static str);

/// All that are read, in the order of the template; then what tells a reader where a run comes from.
const COLUMNS: &[Column] = &[
    Column("id", "my-run", "a name of your own; each row has another one"),
    Column("cluster", "h100-80gb-dgx", "the machine, as `shardscope presets clusters` lists it"),
    Column(
        "inter_node_gbps",
        "",
        "gigabits per second and direction of all ports of a node; blank: as the preset says",
    ),
    Column("num_gpus", "64", "devices of the job"),
    Column("stack", "torchtitan", "the software, as `shardscope presets stacks` lists it; default where none is near"),
    Column("compiled", "yes", "yes with torch.compile; blank: no"),
    Column("model", "Llama 3.1 8B", "llama, mistral, qwen or gemma in it: gated MLP, RMSNorm, no biases; else as GPT"),
    Column(
        "params_b",
        "8.03",
        "billions of parameters: tells whether the embedding is tied; blank: the family's habit",
    ),
    Column("layers", "32", "layers of the transformer"),
    Column("hidden", "4096", "width of the model"),
    Column("heads", "32", "attention heads; blank: of 128 each"),
    Column("head_dim", "", "channels of a head; blank: hidden over heads"),
    Column("kv_heads", "8", "heads of keys and values; blank: as many as heads"),
    Column("ffn_hidden", "14336", "width inside the MLP; blank: four times hidden"),
    Column("vocab", "128256", "words of the vocabulary; blank: 51200"),
    Column("seq_len", "8192", "tokens of a sequence"),
    Column("micro_batch", "1", "sequences per data rank and micro-batch; blank: 1 in a pipeline, else up to 8"),
    Column("grad_accum", "", "micro-batches of a step; blank: what global_batch leaves, or 1"),
    Column("global_batch", "64", "sequences of an optimizer step; blank: data ranks x micro_batch x grad_accum"),
    Column("precision", "bf16", "as `--precision` takes it; blank: what the device is trained in"),
    Column(
        "strategy_class",
        "fsdp",
        "ddp, zero1, zero2, zero3, fsdp, hsdp, zero++ or any of `shardscope presets strategies`",
    ),
    Column("strategy", "", "`sharded over 8`: the ranks that share the optimizer's state; blank: as the strategy says"),
    Column("tp", "1", "tensor-parallel ranks; blank: 1"),
    Column("pp", "1", "pipeline stages; blank: 1"),
    Column("cp", "1", "context-parallel ranks; blank: 1"),
    Column("cp_kind", "", "ring, zigzag, all-gather, ulysses or usp: what these ranks send; blank: as the stack does"),
    Column("dp", "64", "data-parallel ranks; blank: num_gpus over tp x pp x cp"),
    Column("act_ckpt", "selective", "what is recomputed: none, selective, full, or a share of the layers like 0.5"),
    Column("attn", "", "flash1, flash2, sdpa, flash3, cudnn, plain or `fused softmax`; blank: the stack's"),
    Column("attention_kernel", "", "plain, sdpa, flash2, flash3 or cudnn, as the plan says it; blank: as `attn` says"),
    Column("step_time_s", "1.4", "seconds of an optimizer step: the median of those after the first ten, say"),
    Column("metric_peak_mem_gb", "", "peak memory of the fullest device in GiB, as the allocator reports it"),
    Column("scored", "yes", "no: keep the step time out of the comparison; blank: yes"),
    Column("group", "", "the same word for near-duplicates, which then count as one; blank: the id"),
    Column("source", "", "who measured it"),
    Column("url_or_repo_path", "", "where that stands"),
    Column(
        "notes",
        "",
        "`VP=4`: stages per pipeline rank; `nvidia-smi`: who read the memory; `balanced`: how the router was forced; \
         `DeepEP`, `A2A overlap`: how tokens reached experts; `one MTP layer`: it predicted a further token; else anything",
    ),
    Column("ep", "", "expert-parallel ranks; blank: 1"),
    Column("vp", "", "stages per pipeline rank; blank: as the notes say"),
    Column(
        "recompute_modules",
        "",
        "modules that selective recompute repeats: moe_act+layernorm; blank: the stack's own",
    ),
    Column("etp", "", "tensor ranks that share each expert; blank: as the stack has it"),
    Column("method", "", "full, lora or qlora: what was trained; blank: full"),
    Column("lora_rank", "", "rank of the adapters; blank: 16"),
    Column("lora_dropout", "", "share of their input that adapters drop; blank: 0"),
    Column("target_modules", "", "matrices with adapters: q_proj+v_proj, linear_qkv+linear_proj, all; blank: all"),
    Column(
        "frozen_format",
        "",
        "bf16, fp32, fp8, int8 or nf4: how frozen matrices are kept; blank: bf16, of qlora nf4",
    ),
    Column("cuda_graph", "", "full_iteration, scopes of a layer as attn+moe_router, or none; blank: none"),
    Column("master_weights", "", "none where the optimizer updates bf16 weights themselves; blank: fp32"),
    Column("loss", "", "whole, vocab-parallel, fused or chunked: how logits and loss are computed; blank: the stack's"),
    Column("loss_chunk", "", "tokens that a loss in chunks takes at a time; blank: the stack's"),
    Column("loss_format", "", "fp32 or bf16: of the head's product and the loss; blank: the stack's"),
    Column(
        "offload",
        "",
        "what the host keeps, as `--offload` takes it: checkpoints, activations, optimizer; blank: none",
    ),
    Column("moments", "", "fp32 or bf16: how the optimizer keeps its moments; blank: fp32"),
    Column("tp_overlap", "", "yes where tensor ranks' collectives ran beside products; blank: as the notes say"),
    Column("adapters", "", "lora or qlora, where `method` names another method; blank: as `method` says"),
    Column("reserved_mem_gb", "", "GiB that the allocator held; counts where metric_peak_mem_gb is blank"),
    Column("who", "", "the organisation that ran it: its rows are left out of a fit together; blank: the table's name"),
    Column("fp_recipe", "", "fp8-delayed, fp8-current, fp8-block, mxfp8 or nvfp4; blank: as `precision` says"),
];

/// A table to fill in: each column explained on a line that is skipped, the header, and one run.
pub fn template() -> String {
    let explained = COLUMNS.iter().map(|Column(name, _, meaning)| {
        let needed = if NEEDED.contains(name) { " (needed)" } else { "" };
        format!("# {name}{needed}: {meaning}\n")
    });
    let line = |cell: fn(&Column) -> &'static str| COLUMNS.iter().map(cell).collect::<Vec<_>>().join(",");
    let (header, example) = (line(|Column(name, ..)| name), line(|Column(_, example, _)| example));
    format!(
        "# Measured runs, one in a line; a line that begins with # is skipped. A row counts where it states seconds of a \
         step\n# or a peak of memory. The run below is invented: put yours in its place, then `shardscope validate \
         FILE.csv`.\n#\n{}{header}\n{example}\n",
        explained.collect::<String>()
    )
}

/// The columns that no row may leave blank, each with an example.
pub fn needed_columns() -> impl Iterator<Item = (&'static str, &'static str)> {
    let needed = COLUMNS.iter().filter(|Column(name, ..)| NEEDED.contains(name));
    needed.map(|Column(name, example, _)| (*name, *example))
}

pub fn is_column(name: &str) -> bool {
    COLUMNS.iter().any(|Column(known, ..)| *known == name)
}

/// A table with the cells of each row by column; a column that a row has not is blank.
pub fn table(rows: &[BTreeMap<String, String>]) -> String {
    let names = || COLUMNS.iter().map(|Column(name, ..)| *name);
    let lines = rows.iter().map(|row| names().map(|name| row.get(name).map_or("", String::as_str)).collect());
    let lines = std::iter::once(names().collect::<Vec<_>>()).chain(lines);
    lines.map(|cells| cells.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// A cell as CSV has it, and as no spreadsheet computes it. What begins with # would be a comment at the head of a line.
fn quoted(cell: &str) -> String {
    let cell = inert(cell);
    if cell.contains(['"', ',', '#', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::{Case, MeasuredRow, Reading, cases, read};
    use shardscope_engine::plan::{Extent, Offload, TrainMethod};
    use shardscope_engine::scenario::Layout;
    use shardscope_engine::units::Bytes;

    /// 64 ranks of one sequence; Llama 3.1 8B has 8.03e9 parameters (arXiv 2407.21783, table 3: 8B).
    #[test]
    fn the_template_is_a_table_that_reads_back() {
        let (rows, unread) = read("rows.csv", &template());
        assert!(unread.is_empty(), "{unread:?}");
        let (cases, skipped) = cases(&rows, &shardscope_presets::library());
        assert!(skipped.is_empty() && cases.len() == 1, "{skipped:?}");
        let case = &cases[0];
        assert_eq!((case.step_time, case.assumed.len()), (Some(1.4), 0), "{:?}", case.assumed);
        let scenario = case.scenario();
        assert_eq!((scenario.devices(), scenario.plan.micro_batch, scenario.plan.accumulate), (64, 1, 1));
        assert!((scenario.model.parameters() as f64 / 8.03e9 - 1.0).abs() < 0.001);
    }

    #[test]
    fn the_template_explains_every_column_of_the_published_tables() {
        let known = |name: &str| COLUMNS.iter().any(|Column(known, ..)| *known == name) || name == "step_time_from";
        for (file, text) in shardscope_presets::MEASURED {
            let unknown: Vec<&str> =
                text.lines().next().expect("a header").split(',').filter(|name| !known(name)).collect();
            assert!(unknown.is_empty(), "{file}: {unknown:?}");
        }
    }

    /// Words of users, of PyTorch (`ShardingStrategy`) and of DeepSpeed (stages), beside the presets' ids.
    #[test]
    fn strategies_go_by_the_names_that_users_know() {
        use Extent::{Device, Node, System};
        for (word, weights, reshards) in [
            ("fsdp", System, true),
            ("FSDP2", System, true),
            ("zero3", System, true),
            ("ZeRO-3", System, true),
            ("stage3", System, true),
            ("stage_2", Device, true),
            ("NO_SHARD", Device, true),
            ("full_shard", System, true),
            ("shard_grad_op", System, false),
            ("hybrid_shard", Node, true),
            ("hsdp", Node, true),
            ("mics", Node, true),
            ("zeropp", System, true),
            ("ddp", Device, true),
            ("zero-1", Device, true),
        ] {
            let text = template().replace(",fsdp,", &format!(",{word},"));
            let (cases, skipped) = cases(&read("rows.csv", &text).0, &shardscope_presets::library());
            assert!(skipped.is_empty(), "{word}: {skipped:?}");
            let sharding = &cases[0].scenario().plan.sharding;
            assert_eq!((&sharding.weights, sharding.reshard_after_forward), (&weights, reshards), "{word}");
        }
        let text = template().replace(",fsdp,", ",magic,");
        let (_, skipped) = cases(&read("rows.csv", &text).0, &shardscope_presets::library());
        assert!(skipped[0].why.contains("'magic' is unknown; write one of ddp, zero1, zero1-hier"), "{skipped:?}");
    }

    /// The template's run with other cells: the first scenario of its case.
    fn with(changes: &[(&str, &str)]) -> Result<Case, String> {
        let cells = COLUMNS.iter().map(|Column(name, example, _)| ((*name).to_owned(), (*example).to_owned()));
        let mut cells: BTreeMap<String, String> = cells.collect();
        cells.extend(changes.iter().map(|(name, cell)| ((*name).to_owned(), (*cell).to_owned())));
        Case::new(&MeasuredRow::from_cells("rows.csv", &cells), &shardscope_presets::library())
    }

    /// 64 devices are 8 nodes of 8. Over 16 of them lie two nodes: weights and gradients as well as the optimizer.
    #[test]
    fn a_hybrid_may_shard_over_several_nodes() {
        let over = |changes: &[(&str, &str)]| {
            let case = with(changes).expect("a case");
            let Layout { weights, gradients, optimizer, .. } = case.scenario().layout().expect("a layout");
            ([weights, gradients, optimizer], case.assumed.len())
        };
        let hybrid = ("strategy_class", "hsdp");
        assert_eq!(over(&[hybrid]), ([8; 3], 0));
        assert_eq!(over(&[hybrid, ("strategy", "sharded over 16")]), ([16; 3], 0));
        // What the notes alone say is named.
        assert_eq!(over(&[hybrid, ("notes", "sharded over 16")]), ([16; 3], 1));
        assert_eq!(over(&[hybrid, ("notes", "sharded over 8")]), ([8; 3], 0));
        // ZeRO-1 shards the optimizer's state alone.
        assert_eq!(over(&[("strategy_class", "zero1"), ("strategy", "sharded over 16")]), ([1, 1, 16], 0));
    }

    #[test]
    fn a_row_says_what_was_beside_the_run() {
        let plan = |changes: &[(&str, &str)]| with(changes).expect("a case").scenario().plan.clone();
        assert!(plan(&[("tp", "2"), ("dp", "32"), ("tp_overlap", "yes")]).tensor_overlap);
        assert_eq!(plan(&[("offload", "optimizer")]).offload, Offload::Optimizer);
        assert_eq!(plan(&[("adapters", "lora")]).tuning.method, TrainMethod::Lora);
        for (column, cell) in [("tp_overlap", "perhaps"), ("offload", "moon"), ("adapters", "dora2")] {
            let refused = with(&[(column, cell)]).expect_err(cell);
            assert!(refused.contains(&format!("column '{column}': '{cell}'")), "{refused}");
        }
    }

    /// What was allocated counts before what the allocator held.
    #[test]
    fn reserved_memory_counts_where_nothing_else_does() {
        // The default stack's rows say what was allocated, where nothing else is said.
        let of_default = [("stack", "default"), ("reserved_mem_gb", "70")];
        let peak = |changes: &[(&str, &str)]| with(changes).expect("a case").peak.expect("a peak");
        let held = peak(&of_default);
        assert_eq!((held.bytes, held.reading), (Bytes::GIB * 70.0, Reading::Reserved));
        let both = peak(&[of_default.as_slice(), &[("metric_peak_mem_gb", "60")]].concat());
        assert_eq!((both.bytes, both.reading), (Bytes::GIB * 60.0, Reading::Allocator));
    }

    /// A spreadsheet computes what begins with `=`; with an apostrophe before it, it reads back as it was.
    #[test]
    fn an_id_that_would_be_a_formula_is_written_as_text() {
        let row = |id: &str| BTreeMap::from([("id".to_owned(), id.to_owned())]);
        let text = table(&[row("=cmd|x"), row("@a,b"), row("plain")]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert!(
            lines[0].starts_with("'=cmd|x,") && lines[1].starts_with("\"'@a,b\",") && lines[2].starts_with("plain,")
        );
        let (rows, unread) = read("rows.csv", &text);
        assert_eq!((rows[0].id(), rows[1].id(), unread), ("=cmd|x".to_owned(), "@a,b".to_owned(), Vec::new()));
    }
}
