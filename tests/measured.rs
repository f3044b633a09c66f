//! Predictions beside published step times and peaks of memory: the rows that the program carries, and
//! those of the folder that `SHARDSCOPE_MEASURED` names.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper of tests ends the test; the scores are for people"
)]

use std::fs;
use std::sync::Arc;
use std::thread;

use shardscope_engine::cost::{Factors, Payload, Rates};
use shardscope_engine::evaluate::{Workspace, summary};
use shardscope_engine::hardware::Group;
use shardscope_engine::model::Experts;
use shardscope_engine::plan::Format;
use shardscope_engine::presets::Library;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::scenario::file::parse;
use shardscope_engine::search::{Evaluator, Pool, pool};
use shardscope_engine::stack::Band;
use shardscope_engine::units::{BytesPerSecond, Count};
use shardscope_evidence::calibrate::{Coverage, FitOptions, FittedConstant, Prior, calibrate};
use shardscope_evidence::measured::{MeasuredRow, Metric, Validation, cases, read, validate};

/// All cores: nobody else waits for this machine.
fn all_cores() -> Pool {
    pool(Some(thread::available_parallelism().unwrap().get())).unwrap()
}

fn validated(rows: &[MeasuredRow]) -> Validation {
    let (cases, unbuilt) = cases(rows, &shardscope_presets::library());
    let pool = all_cores();
    let mut validation = validate(&cases, |scenarios| Evaluator::on(&pool).summaries(scenarios));
    validation.skipped.extend(unbuilt);
    validation
}

/// Checks the mean error over groups of a metric.
fn judge(validation: &Validation, metric: Metric, rows: usize, most: f64) {
    let scores = validation.scores(|one| one.metric == metric).unwrap();
    println!("{}: {scores:?}", metric.into_str());
    assert!(scores.rows >= rows, "{} of {rows} rows: {:?}", scores.rows, validation.skipped);
    assert!(scores.mean <= most, "mean error {:.4} of {}, at most {most}", scores.mean, metric.into_str());
}

/// What the program carries is predicted as well as when this was last set; each row names its source.
#[test]
fn embedded_rows_are_predicted() {
    let rows: Vec<MeasuredRow> =
        shardscope_presets::MEASURED.iter().flat_map(|(name, text)| read(name, text).0).collect();
    for row in &rows {
        assert!(row.text("source").len() > 5 && row.text("url_or_repo_path").len() > 5, "{}", row.id());
    }
    let validation = validated(&rows);
    assert!(validation.skipped.is_empty(), "{:?}", validation.skipped);
    judge(&validation, Metric::StepTime, 88, 0.05);
    judge(&validation, Metric::Memory, 8, 0.08);
}

/// Full tuning and `LoRA` on one device: peaks of memory are those of the allocator, and steps are as well predicted as when this
/// was last set. Laws of memory were made with the H200's rows at hand, and one constant of the host was set by them; the H100's
/// came after both, and chose nothing.
#[test]
fn steps_of_one_device_are_predicted() {
    for (name, text, count, time) in [
        ("one-h200.csv", include_str!("fixtures/measured/one-h200.csv"), 26, 0.06),
        ("one-h100.csv", include_str!("fixtures/measured/one-h100.csv"), 16, 0.07),
    ] {
        let (rows, faults) = read(name, text);
        assert!(faults.is_empty(), "{faults:?}");
        let validation = validated(&rows);
        assert!(validation.skipped.is_empty(), "{:?}", validation.skipped);
        judge(&validation, Metric::StepTime, count, time);
        judge(&validation, Metric::Memory, count, 0.01);
    }
}

/// Runs that their machines held and that predictions refuse: how their ids begin, by how many GiB at most, and why.
const REFUSED: [(&str, f64, &str); 6] = [
    ("bs176-", 0.5, "79.75 GiB predicted, of which an allocator sees 79.25: 0.6 % too much"),
    ("nemo-24", 1.0, "340 billion parameters, of which the source does not say what is recomputed: read as nothing"),
    ("fms-ed74fd5-70B-H100", 42.7, "'selective' of a 70B may be of more layers than the half that the stack takes"),
    ("dsaz-", 89.9, "ZeRO-3 may have kept state on the host, of which the source says nothing"),
    ("kwai-", 37.4, "a part of the activations was on the host, which a plan cannot say"),
    ("ievo-mem-00", 3.6, "75 GiB measured and 78.9 predicted, 80 GB being the device"),
];

/// A bar of a plot without recompute is what such a run would have needed: it did not run (arXiv 2205.05198, figure 1).
const NEVER_RAN: &str = "korth-f1mem-";

/// Checks that no run is refused but those named, and none of them by more than stands there; returns by how much at most.
fn refusals(validation: &Validation) -> [f64; REFUSED.len()] {
    let mut most = [0.0_f64; REFUSED.len()];
    for one in validation.residuals.iter().filter(|one| !one.id.starts_with(NEVER_RAN)) {
        let Some(more) = one.refused.map(|more| more.get() / (1_u64 << 30) as f64) else { continue };
        let place = REFUSED.iter().position(|(ids, ..)| one.id.starts_with(ids));
        let place = place.unwrap_or_else(|| panic!("{} ran, and is refused by {more:.1} GiB", one.id));
        let (ids, stated, why) = REFUSED[place];
        assert!(more <= stated + 1.0, "{} is refused by {more:.1} GiB, more than {stated} of {ids}: {why}", one.id);
        most[place] = most[place].max(more);
    }
    most
}

#[test]
fn embedded_runs_that_fitted_fit() {
    let rows: Vec<MeasuredRow> =
        shardscope_presets::MEASURED.iter().flat_map(|(name, text)| read(name, text).0).collect();
    println!("{:?}", refusals(&validated(&rows)));
}

#[test]
fn measured_runs_that_fitted_fit() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside");
        return;
    };
    for ((ids, stated, _), most) in REFUSED.iter().zip(refusals(&validated(&rows_of(&folder)))) {
        assert!((most - stated).abs() <= 1.0, "{ids}: {most:.1} GiB, {stated} stated");
    }
}

/// What a stack ran it can run: a row whose plan its stack lacks would contradict `[runs]` of the stack.
fn can_run(rows: &[MeasuredRow]) {
    let (cases, _) = cases(rows, &shardscope_presets::library());
    assert!(!cases.is_empty());
    for case in &cases {
        for scenario in &case.scenarios {
            assert_eq!(scenario.lacks(), [], "{} on {}", case.row.id(), scenario.stack.id);
        }
    }
}

#[test]
fn embedded_runs_lack_nothing() {
    let tables = shardscope_presets::MEASURED.iter();
    can_run(&tables.flat_map(|(name, text)| read(name, text).0).collect::<Vec<_>>());
}

#[test]
fn measured_runs_lack_nothing() {
    match std::env::var_os("SHARDSCOPE_MEASURED") {
        Some(folder) => can_run(&rows_of(&folder)),
        None => println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside"),
    }
}

/// torchtitan's peaks of December 2024 with tensor, pipeline and context ranks, in GiB of what the allocator held
/// (`benchmarks/llama3_h100_202412_torchtitan.md`, tables 4 to 6), and how far off each may be: 32 sequences in a pipeline of 8
/// are 8 micro-batches of 4 (`torchtitan/parallelisms/pipelining_utils.py`). The first of table 5 and the last of table 6, whose
/// micro-batches have as many tokens as the rest of table 6, hold up to 10 GiB more than these do.
const TITAN: [(&str, &str, f64, f64); 8] = [
    ("70b", "", 71.9, 0.06),
    ("70b", "AsyncTP", 67.6, 0.06),
    ("405b", "AsyncTP", 82.5, 0.11),
    ("405b", "AsyncTP; VP=2", 72.7, 0.06),
    ("405b-cp1", "AsyncTP", 75.3, 0.06),
    ("405b-cp2", "AsyncTP", 75.9, 0.06),
    ("405b-cp4", "AsyncTP", 77.1, 0.06),
    ("405b-cp8", "AsyncTP", 84.9, 0.14),
];

#[test]
fn peaks_of_torchtitan_in_two_to_four_dimensions() {
    const COLUMNS: &str = "id,cluster,num_gpus,stack,compiled,model,params_b,layers,hidden,heads,kv_heads,ffn_hidden,vocab,\
                           seq_len,micro_batch,global_batch,precision,strategy_class,tp,pp,cp,act_ckpt,metric_peak_mem_gb,notes";
    let rows = TITAN.iter().enumerate().map(|(index, (run, notes, gibibytes, _))| {
        let context = run.split_once("-cp").map_or(1, |(_, ranks)| ranks.parse::<u32>().unwrap());
        let shape = if *run == "70b" { "70.55,80,8192,64,8,28672" } else { "405.85,126,16384,128,8,53248" };
        let (devices, pipeline) = if *run == "70b" { (256, 1) } else { (512, 8) };
        let batch = match *run {
            "70b" => "8192,16,512".to_owned(),
            "405b" => "8192,4,256".to_owned(),
            _ => format!("{},1,{}", 32_768 * context, 64 / context),
        };
        format!(
            "{index},h100-96gb-hbm2e,{devices},torchtitan,yes,Llama 3.1 {run},{shape},128256,{batch},fp8,full_shard+3d,8,\
             {pipeline},{context},full,{gibibytes},{notes}"
        )
    });
    let text = std::iter::once(COLUMNS.to_owned()).chain(rows).collect::<Vec<_>>().join("\n");
    let validation = validated(&read("titan.csv", &text).0);
    assert_eq!((validation.residuals.len(), validation.skipped.len()), (TITAN.len(), 0), "{:?}", validation.skipped);
    for ((run, notes, _, most), found) in TITAN.iter().zip(&validation.residuals) {
        println!("{run} {notes}: {:+.1} %", 100.0 * found.error());
        assert!(found.error().abs() <= *most, "{run} {notes}: {:+.3}", found.error());
    }
}

/// Where more rows of the same sources lie, and those of newer ones.
const MORE_ROWS: [&str; 2] = ["second", "modern"];

/// All rows that the committed constants were fitted to: those of a folder, and of what lies in it.
fn all_rows_of(folder: &std::ffi::OsStr) -> Vec<MeasuredRow> {
    let folders = MORE_ROWS.map(|more| std::path::Path::new(folder).join(more));
    let more = folders.iter().filter(|folder| folder.is_dir()).flat_map(|folder| rows_of(folder.as_os_str()));
    rows_of(folder).into_iter().chain(more).collect()
}

/// The rows of a folder.
fn rows_of(folder: &std::ffi::OsStr) -> Vec<MeasuredRow> {
    let name = |file: &std::path::Path| file.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    files.iter().flat_map(|file| read(&name(file), &fs::read_to_string(file).unwrap()).0).collect()
}

#[test]
fn measured_rows_from_outside_are_predicted() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside");
        return;
    };
    let rows = rows_of(&folder);
    let validation = validated(&rows);
    let scored = rows.iter().filter(|row| row.text("scored") == "yes").count();
    // One names a layout that its model cannot have.
    judge(&validation, Metric::StepTime, scored - 1, 0.05);
    judge(&validation, Metric::Memory, 1, 0.10);
    let skill = validation.scores(|one| one.metric == Metric::StepTime).unwrap().skill();
    assert!(skill > 3.0, "hardly better than a constant for each device and stack: {skill}");
    println!("{:?}", validation.ranking);
}

/// Rows of post-training from outside, and by how much their peaks may be off, as nvidia-smi reads them: what is packed, so that
/// lengths are known. Sizes of models that are no presets are those of their configurations.
#[test]
fn measured_rows_of_post_training_are_predicted() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside");
        return;
    };
    let rows = rows_of(std::path::Path::new(&folder).join("post-training").as_os_str());
    let validation = validated(&rows);
    for one in &validation.residuals {
        println!("{} {:?}: {:+.1} %", one.id, one.metric, 100.0 * one.error());
    }
    for one in &validation.skipped {
        println!("{}: {}", one.id, one.why);
    }
    let memory = |one: &&shardscope_evidence::measured::Residual| one.metric == Metric::Memory;
    assert!(validation.residuals.iter().filter(memory).count() >= 2, "{:?}", validation.skipped);
    for one in validation.residuals.iter().filter(memory) {
        assert!((-0.25..=0.0).contains(&one.error()), "{}: {:+.3}", one.id, one.error());
        assert_eq!(one.refused, None, "{} ran", one.id);
    }
    // Every other row says why not, by its column.
    assert_eq!(validation.residuals.len() + validation.skipped.len(), rows.len());
    assert!(validation.skipped.iter().all(|one| one.why.contains('\'')), "{:?}", validation.skipped);
}

/// Constants that only one stack's program has.
const OF_ONE_STACK: [&str; 2] = ["runtimes.", "element_wise."];

/// Bands from rows that a fit has not seen hold 8 of 10 rows of groups that the bands have not seen. A constant of one
/// stack's program rests on five groups or more.
#[test]
fn measured_bands_hold() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside");
        return;
    };
    let library = shardscope_presets::library();
    let (mut cases, _) = cases(&all_rows_of(&folder), &library);
    cases.retain(|case| case.scenario().stack.calibration == "measured");
    let pool = all_cores();
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let asked = FitOptions { prior: Prior::None, own_sets: false, nested: false };
    let fitted = calibrate(&cases, &library.calibration("measured").unwrap(), asked, &evaluate, &|_| {}).unwrap();
    for Coverage { by, rows, groups, held, width } in &fitted.coverage {
        println!("{by:?}: {held:.3} of {rows} rows in {groups} groups, mean width {width:.3}");
        // No band is narrower than builds differ by, so that a class of one publication's rows may hold all of them.
        let wanted = if by.0 == "all" { 0.75..=0.9 } else { 0.65..=1.0 };
        assert!(wanted.contains(held), "{by:?}: {held}");
    }
    for FittedConstant { constant, stacks, groups, .. } in &fitted.constants {
        let path = constant.place.paths().join(" ");
        let own = stacks.len() == 1 && OF_ONE_STACK.iter().any(|start| path.starts_with(start));
        assert!(!own || *groups >= 5, "{} rests on {groups} groups of {stacks:?}", constant.name);
    }
    let committed = &library.calibration("measured").unwrap().bands;
    for (ours, found) in committed.iter().zip(&fitted.calibration.bands) {
        assert_eq!((&ours.stacks, ours.groups), (&found.stacks, found.groups), "run `calibrate` again");
        println!("{ours}: {} now {}", ours.half_width, found.half_width);
    }
    // A fit that begins where the last one ended goes on along valleys that rows leave flat.
    let off = |(ours, found): (&Band, &Band)| (ours.half_width - found.half_width).abs();
    let most = committed.iter().zip(&fitted.calibration.bands).map(off).fold(0.0, f64::max);
    assert!(most < 0.03, "a band is off by {most}: run `calibrate` again");
    assert_eq!(committed.len(), fitted.calibration.bands.len());
}

/// Published times of collectives against those of the calibration, whose latencies and rates are not fitted: a
/// row's hardware and the preset that stands for it.
const MACHINES: [(&str, &str); 5] = [
    ("A100", "a100-80gb-dgx"),
    ("A100-80GB (p4de)", "a100-80gb-dgx"),
    ("H100-80GB", "h100-80gb-dgx"),
    ("H100-80GB (p5)", "h100-80gb-dgx"),
    ("H200", "h200-141gb-dgx"),
];

/// Seconds of a collective over `ranks` devices that fill their nodes, on a stack that has the library's forms.
fn collective(library: &Library, cluster: &str, gigabits: Option<f64>, (kind, ranks, bytes): (&str, u32, f64)) -> f64 {
    let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
    file.set("hardware", cluster).unwrap();
    file.set("devices", &ranks.to_string()).unwrap();
    let mut scenario = library.resolve(&file).unwrap();
    if let (Some(gigabits), Some(level)) = (gigabits, Arc::make_mut(&mut scenario.cluster).levels.last_mut()) {
        level.injection = Some(BytesPerSecond::new(gigabits * 1e9 / 8.0));
    }
    let rates = Rates::new(&scenario, &Factors::default());
    let payload = Payload::plain(Count::new(bytes / 2.0), Format::Bf16);
    let group = Group::new(1, ranks);
    match kind {
        "all_reduce" => rates.all_reduce(payload, group).time.get(),
        _ => rates.gather(payload, group).time.get(),
    }
}

#[test]
fn measured_collectives_take_as_long() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured collectives from outside");
        return;
    };
    let library = shardscope_presets::library();
    let mut table = csv::Reader::from_path(std::path::Path::new(&folder).join("collectives.csv")).unwrap();
    let (mut errors, mut rows) = (0.0, 0.0);
    for row in table.records() {
        let row = row.unwrap();
        let number = |column: usize| row[column].parse::<f64>().ok().filter(|number| *number > 0.0);
        let machine = MACHINES.iter().find(|(name, _)| *name == &row[0]);
        let (Some((_, cluster)), Some(ranks), Some(bytes)) = (machine, number(2), number(4)) else { continue };
        let kind = &row[3];
        // Small messages between nodes show protocols that steps do not; SHARP adds up in switches between nodes.
        if bytes < 1e6 && &row[1] != "1" || row[7].contains("SHARP") || kind.contains('(') {
            continue;
        }
        let moved = bytes * (ranks - 1.0) / ranks * if kind == "all_reduce" { 2.0 } else { 1.0 };
        let measured = number(5).map(|time| time * 1e-6).or(number(6).map(|rate| moved / (rate * 1e9))).unwrap();
        let gigabits = row[7].contains("4x100").then_some(400.0);
        let predicted = collective(&library, cluster, gigabits, (kind, ranks as u32, bytes));
        println!("{:+6.1} %  {kind} of {bytes:.0} B over {ranks} {}", 100.0 * (predicted / measured - 1.0), &row[0]);
        errors += (predicted / measured).ln().abs();
        rows += 1.0;
    }
    println!("{rows} collectives, mean error {:.3} in the logarithm", errors / rows);
    assert!(rows >= 100.0 && errors / rows < 0.35);
}

/// A layout of Megatron-Core's on H100s, 256 sequences of 4,096 tokens a step: strategy, tensor, pipeline and expert ranks, and
/// tensor ranks inside an expert.
type Layout = (&'static str, [u32; 4]);

/// Layouts, and the seconds of a step of each.
type Measured = [(Layout, f64); 5];

/// Layouts without expert ranks, with them, and with a mesh of experts that is folded over attention's, of three models and
/// their devices, and the seconds that a step took (arXiv 2504.14960, table 3).
const FOLDING: [(&str, u32, Measured); 3] = [
    (
        "mixtral-8x22b",
        128,
        [
            (("zero3", [8, 1, 1, 8]), 48.31),
            (("zero3", [2, 1, 8, 1]), 8.87),
            (("zero1", [4, 1, 8, 4]), 5.67),
            (("zero1", [2, 8, 4, 2]), 4.48),
            (("zero1", [2, 8, 8, 1]), 4.21),
        ],
    ),
    (
        "qwen2-57b-a14b",
        64,
        [
            (("zero3", [2, 1, 1, 2]), 14.57),
            (("zero1", [4, 1, 4, 4]), 6.24),
            (("zero3", [1, 1, 8, 1]), 5.68),
            (("zero1", [2, 4, 4, 2]), 4.09),
            (("zero1", [2, 4, 4, 1]), 3.70),
        ],
    ),
    (
        "mixtral-8x22b-g8t8",
        128,
        [
            (("zero3", [8, 1, 1, 8]), 56.05),
            (("zero1", [8, 1, 8, 8]), 14.19),
            (("zero3", [4, 1, 8, 4]), 13.71),
            (("zero1", [2, 8, 8, 2]), 7.22),
            (("zero1", [4, 8, 8, 1]), 4.29),
        ],
    ),
];

/// A step of a layout, with tokens dropped at a capacity of 1 as in the paper.
fn folded(model: &str, devices: u32, (strategy, [tensor, pipeline, experts, inside]): Layout) -> Scenario {
    let library = shardscope_presets::library();
    let mut file = parse(&library.scenario_text("default").unwrap().text).unwrap();
    // The model first: it brings a sequence of its own.
    file.set("model", model).unwrap();
    file.set("strategy", strategy).unwrap();
    let numbers =
        [("devices", devices), ("tp", tensor), ("pp", pipeline), ("ep", experts), ("etp", inside), ("seq", 4096)];
    for (flag, number) in numbers.into_iter().chain([("global-batch", 256), ("micro-batch", 1), ("capacity", 1)]) {
        file.set(flag, &number.to_string()).unwrap();
    }
    for (flag, text) in [("hardware", "h100-80gb-dgx"), ("stack", "megatron-core-2026"), ("recompute", "none")] {
        file.set(flag, text).unwrap();
    }
    library.resolve(&file).unwrap()
}

/// Of two layouts that were measured more than 12 % apart the same one is predicted to be faster. The paper does not state
/// micro-batches and recompute: none is taken here.
#[test]
fn layouts_of_experts_are_as_fast_by_turns_as_measured() {
    for (model, devices, layouts) in FOLDING {
        let step = |layout: Layout| {
            let summary = summary(&folded(model, devices, layout), &mut Workspace::default()).unwrap();
            assert!(summary.fits, "{model}, {layout:?} ran");
            summary.step_time.get()
        };
        let steps = layouts.map(|(layout, measured)| (step(layout), measured));
        println!("{model}: predicted and measured {steps:.2?}");
        for (slower, (predicted, measured)) in steps.iter().enumerate() {
            for (faster, least) in steps[slower..].iter().filter(|(_, least)| measured / least > 1.12) {
                assert!(predicted > faster, "{model}: {predicted} for {measured} s, {faster} for {least} s");
            }
        }
    }
}

/// Of Llama 3 70B with eight experts in each layer, on 256 H100s, three layouts ran at 19.6, 38.8 and 41.6 % of the peak, and are
/// predicted within 15 % of it. Of the two that ran out of memory the one without a pipeline is refused; the other, which gathers
/// whole experts, is predicted to fit.
#[test]
fn a_layout_of_experts_that_ran_out_of_memory_is_refused() {
    let experts = shardscope_presets::library().model("mixtral-8x22b").unwrap().experts;
    let experts = experts.map(|experts| Experts { ffn_hidden: None, ..experts });
    let step = |layout: Layout| {
        let mut scenario = folded("llama3-70b", 256, (layout.0, [layout.1[0], layout.1[1], 1, layout.1[0]]));
        let [.., ranks, inside] = layout.1;
        Arc::make_mut(&mut scenario.model).experts = experts;
        (scenario.plan.experts.ranks, scenario.plan.experts.tensor) = (ranks, Some(inside));
        summary(&scenario, &mut Workspace::default()).unwrap()
    };
    assert!(!step(("zero1", [8, 1, 8, 8])).fits);
    for (layout, measured) in
        [(("zero3", [8, 1, 8, 8]), 0.196), (("zero1", [8, 8, 4, 8]), 0.388), (("zero1", [8, 16, 8, 1]), 0.416)]
    {
        let summary = step(layout);
        assert!(summary.fits && (summary.mfu / measured - 1.0).abs() < 0.15, "{layout:?}: {}", summary.mfu);
    }
}

/// The site's own test of LUMI holds an all-reduce of 128 MiB over 16 GCDs of two nodes to a bus bandwidth of 85 GB/s.
/// Inside a node four rings share no link: 4 x 36 GB/s as RCCL takes them, 4 x 50 by the data sheet.
#[test]
fn all_reduces_on_lumi() {
    let library = shardscope_presets::library();
    let bytes = 128.0 * 1024.0 * 1024.0;
    let bus = |ranks: f64| {
        let time = collective(&library, "mi250x-lumi", None, ("all_reduce", ranks as u32, bytes));
        2.0 * bytes * (ranks - 1.0) / ranks / time / 1e9
    };
    let (node, two_nodes) = (bus(8.0), bus(16.0));
    println!("{node:.1} GB/s in a node, {two_nodes:.1} GB/s between two");
    assert!((144.0 * 0.85..=200.0).contains(&node) && (two_nodes / 85.0 - 1.0).abs() < 0.15);
}
