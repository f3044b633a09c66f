//! Reading, writing and editing scenario files, and what their mistakes say.

use proptest::prelude::*;

use crate::plan::{
    Accumulation, Extent, Extents, FlopCount, Format, Layers, Offload, Operator, Optimizer, Placement, Plan, Precision,
    Recompute, Reduction, Schedule, Sharding, Site, Size, Wire,
};
use crate::presets::Library;
use crate::scenario::field::{Type, Value};

use super::*;

const TEXT: &str = r#"format = 1
name = "A 7B model on 8 nodes"
cluster = "h100-80gb-dgx"
stack = "default"
model = "mpt-7b"
strategy = "fsdp"

[plan]
nodes = 8
micro_batch = 2
recompute = 0.5
shard = "node"
"#;

fn file() -> ScenarioFile {
    parse(TEXT).expect("valid")
}

/// All extents over the whole job, bf16 on the wire: what `fsdp` is.
fn sharding() -> Sharding {
    let wire = Wire { weights: Format::Bf16, gradients: Format::Bf16, boundary: Format::Bf16, block: 8000 };
    Sharding {
        weights: Extent::System,
        gradients: Extent::System,
        optimizer: Extent::System,
        secondary: None,
        wire,
        reshard_after_forward: true,
        two_hop_gradients: false,
        sums_each_micro_batch: false,
    }
}

fn message(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn what_is_absent_is_as_in_a_new_plan() {
    let text = "format = 1\ncluster = \"c\"\nstack = \"s\"\nmodel = \"m\"\nstrategy = \"f\"\n";
    let plan = parse(text).expect("valid").plan.plan(&sharding(), 2048).expect("plan");
    assert_eq!(plan, Plan::new(sharding(), 2048));
}

#[test]
fn what_is_there_reaches_the_plan() {
    let plan = file().plan.plan(&sharding(), 2048).expect("plan");
    assert_eq!((plan.size, plan.micro_batch, plan.sequence), (Size::Nodes(8), 2, 2048));
    assert_eq!(plan.recompute, Recompute::Share(0.5));
    // All three extents of fsdp are equal, so all three move.
    let extents = [plan.sharding.weights, plan.sharding.gradients, plan.sharding.optimizer];
    assert_eq!(extents, [Extent::Node, Extent::Node, Extent::Node]);
}

#[test]
fn nothing_sharded_is_nothing_to_move() {
    let ddp = Sharding { weights: Extent::Device, gradients: Extent::Device, optimizer: Extent::Device, ..sharding() };
    assert_eq!(file().plan.plan(&ddp, 2048).expect_err("ddp").field, "plan.shard");
}

/// A text that a field takes, as the field writes it itself.
fn text_of(field: Field) -> &'static str {
    match field.spec().takes {
        Type::Id => "a",
        Type::Count(..) => "2",
        Type::Factor | Type::Share => "0.5",
        Type::Tokens => "300000000000",
        Type::Money => "2.5 EUR",
        Type::Batch => "4M tokens",
        Type::Switch => "on",
        Type::Extent => "package",
        Type::Recompute => "selective",
        Type::RecomputeModules => "moe_act+layernorm",
        Type::HostModules => "core_attn+attn_proj",
        Type::StageSizes => "7,8",
        Type::Imbalance => "balanced",
        Type::Capacity => "1.25",
        Type::DispatchFormats => "fp8+bf16+fp8+bf16",
        Type::LoraTargets => "q,v",
        Type::Beside => "adapters-off",
        Type::OneOf(words) => words.all[1],
    }
}

#[test]
fn each_flag_sets_what_it_gets() {
    let mut file = file();
    for field in Field::all() {
        let (flag, text) = (field.spec().flag, text_of(field));
        file.set(flag, text).expect(flag);
        assert_eq!(file.get(flag).as_deref(), Some(text), "{flag}");
    }
    let back = parse(&file.to_toml().expect("text")).expect("valid");
    assert_eq!(back, file);
    for flag in Field::all().filter(|field| field.is_in_plan()).map(|field| field.spec().flag) {
        file.set(flag, "").expect("no text is the default");
        assert_eq!(file.get(flag), None, "{flag}");
    }
    assert_eq!(file.plan, PlanFile::default());
}

#[test]
fn a_field_takes_what_hangs_on_it_along() {
    let mut file = file();
    file.set("seq", "4096").expect("seq");
    file.set("model", "mpt-30b").expect("model");
    assert_eq!(file.get("seq"), None, "a model brings its own sequence length");
    file.set("strategy", "hsdp").expect("strategy");
    assert_eq!(file.get("shard"), None, "a strategy brings its own extents");
    file.set("devices", "12").expect("devices");
    assert_eq!((file.get("nodes"), file.get("devices")), (None, Some("12".to_owned())));
    file.set("nodes", "2").expect("nodes");
    assert_eq!((file.get("nodes"), file.get("devices")), (Some("2".to_owned()), None));
    assert_eq!(file.name, None, "the name was another scenario's");
}

#[test]
fn a_factor_of_1_is_the_hardware_as_it_is() {
    let mut file = file();
    for flag in ["bandwidth", "memory-factor"] {
        file.set(flag, "0.25").expect("a factor");
        file.set(flag, "1").expect("a factor");
        assert_eq!(file.get(flag), None);
    }
}

#[test]
fn a_text_that_cannot_stand_changes_nothing() {
    let mut file = file();
    for (flag, text, fix) in [
        ("micro-batch", "two", "whole number"),
        ("micro-batch", "-1", "whole number"),
        ("nodes", "99999999999", "too large: write a smaller whole number"),
        ("precision", "int3", "bf16, fp16, fp8, fp8-delayed, fp8-current, fp8-block, mxfp8, nvfp4, fp32"),
        ("recompute", "1.5", "from 0 to 1"),
        ("shard", "0", "count of ranks"),
        ("tokens", "nan", "like 300B or 300e9"),
        ("bandwidth", "12.5 GB/s", "like 0.5 or 50%"),
        ("memory-factor", "abc", "like 0.5 or 50%"),
        ("hardware", "", "presets"),
        ("model", "a\u{1b}[2J", "presets"),
        ("colour", "red", "hardware, stack"),
    ] {
        let problem = file.set(flag, text).expect_err(flag);
        assert!(problem.fix.contains(fix), "{flag}: {problem}");
        assert!(!problem.to_string().chars().any(char::is_control), "{flag}");
    }
    assert_eq!(file, self::file());
}

#[test]
fn of_reproduces_any_placement() {
    let library = Library::embedded();
    let mut scenario = library.resolve(&file()).expect("scenario");
    scenario.plan.sharding.weights = Extent::Device;
    scenario.plan.sharding.optimizer = Extent::System;
    scenario.plan.tokens = Some(300e9);
    let file = ScenarioFile::of(&scenario);
    assert_eq!(library.resolve(&file), Ok(scenario));
    assert_eq!(file.get("shard").as_deref(), Some("node"), "the first sharded extent is now that of the gradients");
    assert_eq!(parse(&file.to_toml().expect("text")), Ok(file));
}

#[test]
fn problems_stand_at_their_fields() {
    let (_, source) = read::<ScenarioFile>(TEXT, FORMAT).expect("valid");
    let place = |field: &str| {
        let problem = Problem { field: field.to_owned(), what: String::new(), fix: String::new() };
        let Mistake { line, column, .. } = source.mistakes(&[problem]).mistakes[0];
        (line, column)
    };
    assert_eq!(place("cluster"), (3, 1));
    assert_eq!(place("plan.micro_batch"), (10, 1));
    assert_eq!(place("plan.sharding.weights"), (12, 1), "'shard' decides the extents");
    assert_eq!(place("plan.tensor"), (8, 2), "an absent field stands at its table");
    assert_eq!(place("nowhere"), (1, 1));
}

#[test]
fn mistakes_come_all_at_once_in_the_order_of_the_text() {
    let (_, source) = read::<ScenarioFile>(TEXT, FORMAT).expect("valid");
    let problem = |field: &str| Problem { field: field.to_owned(), what: "is wrong".into(), fix: "fix it".into() };
    let error = source.mistakes(&[problem("plan.nodes"), problem("cluster")]).in_file("a\u{1b}.toml");
    let lines = "a\u{fffd}.toml:3:1: cluster: is wrong; fix it\na\u{fffd}.toml:9:1: plan.nodes: is wrong; fix it";
    assert_eq!(error.to_string(), lines);
}

#[test]
fn one_field_that_causes_several_problems_is_named_once() {
    let (_, source) = read::<ScenarioFile>(TEXT, FORMAT).expect("valid");
    let problem = |field: &str| Problem { field: field.to_owned(), what: "is wrong".into(), fix: "fix it".into() };
    let error = source.mistakes(&[problem("plan.sharding.weights"), problem("plan.sharding.gradients")]);
    assert_eq!(error.to_string(), "text:12:1: plan.shard: is wrong; fix it");
}

#[test]
fn operators_are_placed_apart_in_words() {
    let list = r#"
[[plan.operators]]
operator = "layer"
extents = { weights = "node", gradients = "node", optimizer = "system" }

[[plan.operators]]
layers = "0-3"
operator = "mlp"
extents = { weights = "device" }
split = 4
"#;
    let file = parse(&format!("{TEXT}{list}")).expect("valid");
    let plan = file.plan.plan(&sharding(), 2048).expect("plan");
    assert_eq!(plan.operators, file.plan.operators);
    let [layer, mlp] = &plan.operators[..] else { panic!("two: {plan:?}") };
    assert_eq!((layer.layers, layer.operator, layer.split), (None, Operator::Layer, 1));
    assert_eq!((mlp.layers, mlp.split), (Some(Layers { first: 0, last: 3 }), 4));
    assert_eq!((&mlp.extents.weights, &mlp.extents.gradients), (&Some(Extent::Device), &None));
    // The last entry that names an operator decides.
    let entries = [Site::Mlp(3), Site::Mlp(4), Site::Attention(0), Site::Embedding].map(|site| plan.placement(site));
    assert_eq!(entries, [Some(1), Some(0), Some(0), None]);
    let wrong = |from: &str, to: &str| message(&format!("{TEXT}{}", list.replace(from, to)));
    let layers = wrong("0-3", "3-0");
    assert!(layers.starts_with("text:19:10: plan.operators[1].layers: layers are written as"), "{layers}");
    let operator = wrong("\"mlp\"", "\"norm\"");
    assert!(operator.contains("an operator is one of attention, mlp, embedding, head, layer, all"), "{operator}");
}

#[test]
fn a_model_or_strategy_places_operators_anew() {
    let mut file = file();
    let list = "[[plan.operators]]\noperator = \"mlp\"\n";
    for (flag, id) in [("model", "mpt-30b"), ("strategy", "hsdp")] {
        file.plan.operators = parse(&format!("{TEXT}{list}")).expect("valid").plan.operators;
        file.set(flag, id).expect(flag);
        assert_eq!(file.plan.operators, [], "{flag}");
    }
}

/// The model's id stands on line 5 at column 9; what a file says in prose may have lines.
#[test]
fn names_and_ids_are_one_line_of_at_most_200_characters() {
    let named = |name: &str| message(&TEXT.replace("mpt-7b", name));
    for end in ["\\n", "\\r\\n", "\\u2028", "\\u2029"] {
        assert_eq!(named(&format!("x{end}y")), "text:5:9: model: must be one line; take the line break out", "{end}");
    }
    for end in ["\\r", "\\u000b", "\\f", "\\u0085"] {
        assert_eq!(named(&format!("x{end}y")), "text:5:9: model: holds control characters; remove them", "{end}");
    }
    assert_eq!(named(&"x".repeat(201)), "text:5:9: model: must have at most 200 characters; shorten it");
    let key = message(&TEXT.replace("nodes = 8", "\"no\\ndes\" = 8"));
    assert_eq!(key, "text:9:1: plan.no des: must be one line; take the line break out");
    for name in ["about", "look", "x.note", "x.source"] {
        let text = format!("{name} = \"\"\"\ntwo\nlines{}\"\"\"", "x".repeat(200));
        assert!(Source::new(&text).is_ok(), "{name}");
    }
}

/// What a snapshot says of its figures is as long as it needs, and one line each.
#[test]
fn caveats_are_lines_of_any_length() {
    let caveats = |text: &str| format!("[evaluation]\ncaveats = [\"short\", \"{text}\"]\n");
    assert!(Source::new(&caveats(&"x".repeat(201))).is_ok());
    let refused = Source::new(&caveats("two\\nlines")).map(|_| ()).expect_err("a line break").to_string();
    assert!(refused.contains("evaluation.caveats[1]: must be one line"), "{refused}");
}

#[test]
fn formats_newer_than_known_are_refused() {
    let newer = message(&TEXT.replace("format = 1", "format = 2"));
    let this = env!("CARGO_PKG_VERSION");
    assert!(newer.contains(&format!("use a shardscope newer than {this}")), "{newer}");
    let newer = message(&TEXT.replace("format = 1", "format = 9\nversion = \"7.1.0\""));
    assert!(newer.contains("use shardscope 7.1.0, which wrote it"), "{newer}");
}

fn counts() -> impl Strategy<Value = Option<u32>> {
    prop::option::of(any::<u32>())
}

fn of_words<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = Option<T>> {
    prop::option::of(prop::sample::select(all))
}

fn any_extent() -> impl Strategy<Value = Option<Extent>> {
    prop::option::of(prop_oneof![
        "[a-z]{1,8}".prop_map(|name| name.parse().expect("extent")),
        (1_u32..).prop_map(Extent::Ranks)
    ])
}

prop_compose! {
    fn placements()(
        layers in prop::option::of((0..100_u32, 0..100_u32)),
        operator in prop::sample::select(Operator::ALL),
        extents in prop::array::uniform3(any_extent()),
        split in any::<u32>(),
    ) -> Placement {
        let [weights, gradients, optimizer] = extents;
        let layers = layers.map(|(first, more)| Layers { first, last: first + more });
        Placement { layers, operator, extents: Extents { weights, gradients, optimizer }, split }
    }
}

prop_compose! {
    /// Files of every shape: each field of the plan there or not.
    fn files()(
        name in prop::option::of("[ -~äλ]{0,20}"),
        about in prop::option::of("[ -~äλ\n]{0,20}"),
        ids in prop::array::uniform4("[a-z0-9.-]{1,12}"),
        shard in any_extent(),
        operators in prop::collection::vec(placements(), 0..3),
        numbers in prop::array::uniform10(counts()),
        tokens in prop::option::of(any::<f64>().prop_filter("NaN differs from itself", |tokens| !tokens.is_nan())),
        words in (of_words(Schedule::ALL), of_words(Accumulation::ALL), of_words(Precision::ALL),
            of_words(Optimizer::ALL), of_words(Offload::ALL), of_words(Reduction::ALL), of_words(FlopCount::ALL)),
        recompute in prop::option::of(prop_oneof![Just(Recompute::None), Just(Recompute::Selective),
            Just(Recompute::Full), (0.0..1.0).prop_map(Recompute::Share)]),
        full in any::<bool>(),
    ) -> ScenarioFile {
        let [cluster, stack, model, strategy] = ids;
        let counts = [Field::Nodes, Field::Tensor, Field::Context, Field::Pipeline, Field::StagesPerRank,
            Field::MicroBatch, Field::Accumulate, Field::Sequence, Field::Prefetch];
        let (schedule, accumulation, precision, optimizer, offload, reduction, flop_count) = words;
        let mut plan = PlanFile::default();
        (plan.sharding, plan.operators) = (full.then(sharding), operators);
        counts.into_iter().zip(numbers).for_each(|(field, count)| plan.put(field, count.map(Value::from)));
        for (field, value) in [
            (Field::Schedule, schedule.map(Value::from)),
            (Field::Accumulation, accumulation.map(Value::from)),
            (Field::Precision, precision.map(Value::from)),
            (Field::Optimizer, optimizer.map(Value::from)),
            (Field::Offload, offload.map(Value::from)),
            (Field::Reduction, reduction.map(Value::from)),
            (Field::FlopCount, flop_count.map(Value::from)),
            (Field::Recompute, recompute.map(Value::from)),
            (Field::Reshard, full.then_some(Value::Switch(false))),
            (Field::Qwz, Some(Value::Switch(full))),
            (Field::Hpz, shard.clone().map(Value::from)),
            (Field::Shard, shard.map(Value::from)),
            (Field::Tokens, tokens.map(Value::from)),
            (Field::Bandwidth, tokens.map(Value::from)),
        ] {
            plan.put(field, value);
        }
        let caveats = about.iter().filter(|line| !line.chars().any(char::is_control)).cloned().collect();
        ScenarioFile { format: FORMAT, name, about, look: None, caveats, cluster, stack, model, strategy, plan, post_training: PostTrainingTable::default(), published: None, shape: None, machine: None, unknown: Vec::new() }
    }
}

proptest! {
    #[test]
    fn a_file_reads_back_as_it_was_written(file in files()) {
        let text = file.to_toml().expect("text");
        prop_assert_eq!(parse(&text), Ok(file), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_mutated_file_is_read_or_refused_in_printable_words(at in 0..TEXT.len(), length in 0_usize..20, put in ".{0,6}") {
        let end = (at + length).min(TEXT.len());
        let text = format!("{}{put}{}", &TEXT[..at], &TEXT[end..]);
        if let Err(error) = parse(&text) {
            let message = error.to_string();
            prop_assert!(message.lines().all(|line| !line.chars().any(char::is_control)), "{message:?}");
            prop_assert!(error.mistakes.iter().all(|mistake| mistake.line >= 1 && mistake.column >= 1));
        }
    }

    #[test]
    fn any_text_sets_a_field_or_is_refused(field in 0..Field::all().count(), text in ".{0,12}") {
        let mut file = file();
        let flag = Field::all().nth(field).expect("a field").spec().flag;
        if file.set(flag, &text).is_ok() {
            let shown = file.get(flag);
            let mut again = file.clone();
            again.set(flag, shown.as_deref().unwrap_or("")).expect("what is shown can be set");
            prop_assert_eq!(again, file);
        }
    }
}

/// [frontier D6]: ZeRO++ is ZeRO-3 with three switches on.
#[test]
fn the_three_parts_of_zeropp_are_switches() {
    let library = Library::embedded();
    let sharding = |strategy: &str, switches: &[(&str, &str)]| {
        let mut file = file();
        for (flag, text) in std::iter::once(&("strategy", strategy)).chain(switches) {
            file.set(flag, text).expect("valid");
            assert_eq!(file.get(flag).as_deref(), Some(*text));
        }
        library.resolve(&file).expect("valid").plan.sharding
    };
    let (on, off) =
        ([("qwz", "on"), ("hpz", "node"), ("qgz", "on")], [("qwz", "off"), ("hpz", "device"), ("qgz", "off")]);
    assert_eq!(sharding("zero3", &on), sharding("zeropp", &[]));
    assert_eq!(sharding("zeropp", &off), sharding("zero3", &[]));
    assert_eq!(sharding("zeropp", &on), sharding("zeropp", &[]), "what is on stays as it is");
    let quantised = sharding("zero3", &on[..1]);
    assert_eq!((quantised.wire.weights, quantised.secondary), (Format::Int8, None));
    assert!(file().set("qwz", "yes").expect_err("no switch").fix.contains("on or off"));
}

/// The file with one published figure.
fn with_published(figure: &str) -> String {
    format!("{TEXT}\n[published]\nsource = \"a paper\"\nfigures = [\n  {{ {figure} }},\n]\n")
}

#[test]
fn published_figures_have_units_and_partners() {
    let amount = |figure: &str| {
        let file = parse(&with_published(figure)).expect(figure);
        let figure = file.published.expect("published").figures.remove(0);
        (figure.amount().expect("an amount").to_string(), figure.to_string())
    };
    let step = amount("what = \"step-time\", value = \"3.5 s\", tolerance = 0.1");
    assert_eq!(step, ("3.50 s".to_owned(), "step time".to_owned()));
    let speedup = amount("what = \"speedup\", strategy = \"zeropp\", over = \"zero3\", value = 2, tolerance = 0.1");
    assert_eq!(speedup, ("2".to_owned(), "speedup of zeropp over zero3".to_owned()));
    for (figure, says) in [
        ("what = \"step-time\", value = 3.5, tolerance = 0.1", "write the number with its unit, in quotes"),
        ("what = \"step-time\", value = \"3.5 GiB\", tolerance = 0.1", "the unit is unknown"),
        ("what = \"speedup\", value = 2.7, tolerance = 0.1", "name a strategy beside a speedup"),
        ("what = \"mfu\", value = 0.5, from_nodes = 2, tolerance = 0.1", "name the nodes beside a scaling-efficiency"),
        ("what = \"mfu\", value = 0.5, tolerance = 0", "choose a share up to 1"),
    ] {
        let message = message(&with_published(figure));
        assert!(message.contains(says) && message.starts_with("text:17:"), "{message}");
    }
}

#[test]
fn more_figures_than_a_publication_has_are_refused() {
    let figure = "what = \"mfu\", value = 0.5, tolerance = 0.1";
    let many = |count: usize| with_published(&vec![figure; count].join(" },\n  { "));
    assert!(parse(&many(100)).is_ok());
    let message = message(&many(40_000));
    assert!(message.contains("40000 figures are too many; keep at most 100"), "{message}");
}

#[test]
fn an_unknown_published_quantity_is_refused_with_the_list() {
    let message = message(&with_published("what = \"iteration\", value = \"3.5 s\", tolerance = 0.1"));
    assert!(message.contains("`iteration`") && message.contains("`step-time`"), "{message}");
    assert!(message.contains("`scaling-efficiency`"), "{message}");
}

#[test]
fn what_was_published_is_of_the_scenario_as_it_was() {
    let mut file = parse(&with_published("what = \"mfu\", value = 0.5, tolerance = 0.1")).expect("valid");
    assert_eq!(parse(&file.to_toml().expect("text")), Ok(file.clone()));
    file.set("nodes", "4").expect("valid");
    assert_eq!(file.published, None);
}
