use std::collections::BTreeMap;

use crate::measured::{Residual, cases, read};
use shardscope_engine::evaluate::COVERAGE_SIGMA;
use shardscope_engine::search::{Evaluator, pool};
use shardscope_engine::stack::ConstantId;
use shardscope_engine::stack::constants::named;
use shardscope_engine::stack::{Division, Likeness};

use super::bands::UnseenResidual;
use super::*;

/// One A100 and four sizes of a model, each its own group but the last two; seconds are put in by id.
fn table(seconds: &BTreeMap<String, f64>) -> String {
    let header = "id,cluster,stack,num_gpus,strategy_class,model,layers,hidden,heads,vocab,seq_len,micro_batch,\
                  global_batch,act_ckpt,precision,group,scored,step_time_s";
    let rows = [("a", "a", 1024, 2), ("b", "b", 2048, 2), ("c", "c", 4096, 1), ("d", "c", 4096, 2)];
    let row = |(id, group, hidden, batch): (&str, &str, u32, u32)| {
        let seconds = seconds.get(id).copied().unwrap_or(1.0);
        let heads = hidden / 128;
        format!(
            "{id},a100-80gb-dgx,default,1,ddp,MPT,8,{hidden},{heads},50368,2048,{batch},{batch},none,bf16,{group},yes,\
             {seconds}"
        )
    };
    let rows: Vec<String> = rows.into_iter().map(row).collect();
    format!("{header}\n{}\n", rows.join("\n"))
}

fn built(seconds: &BTreeMap<String, f64>) -> Vec<Case> {
    let (cases, skipped) = cases(&read("rows.csv", &table(seconds)).0, &shardscope_presets::library());
    assert!(skipped.is_empty(), "{skipped:?}");
    cases
}

fn embedded() -> Calibration {
    (*shardscope_presets::library().calibration("measured").expect("it is embedded")).clone()
}

/// What the rows take under a calibration.
fn planted(calibration: &Calibration) -> BTreeMap<String, f64> {
    let cases = recalibrated(&built(&BTreeMap::new()), &[Arc::new(calibration.clone())], |_| 0);
    let pool = pool(Some(1)).expect("a thread");
    let validation = measured::validate(&cases, |scenarios| Evaluator::on(&pool).summaries(scenarios));
    validation.residuals.into_iter().map(|one| (one.id, one.predicted)).collect()
}

const FROM_SCRATCH: FitOptions = FitOptions { prior: Prior::None, own_sets: false, nested: false };

const OWN_ROWS: FitOptions = FitOptions { prior: Prior::Shipped, own_sets: false, nested: false };

fn fitted(seconds: &BTreeMap<String, f64>, threads: usize) -> Fitted {
    let pool = pool(Some(threads)).expect("threads");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    calibrate(&built(seconds), &embedded(), FROM_SCRATCH, &evaluate, &|_| {}).expect("rows")
}

/// Times of a host that is slower than the calibration says are explained, on any number of threads alike.
#[test]
fn a_planted_change_is_found() {
    let mut slower = embedded();
    let fixed = named("micro-batch").expect("a constant");
    let usual = slower.get(fixed).expect("an entry");
    slower.set(fixed, usual + 0.015);
    let seconds = planted(&slower);
    let found = fitted(&seconds, 2);
    let alone = fitted(&seconds, 1);
    assert_eq!((&found.constants, &found.crossed.residuals), (&alone.constants, &alone.crossed.residuals));
    let mean = |validation: &Validation| validation.scores(|_| true).expect("rows").mean;
    assert!(mean(&found.before) > 0.05, "{}", mean(&found.before));
    assert!(mean(&found.after) < 0.5 * mean(&found.before), "{}", mean(&found.after));
    let of = |name: &str| found.constants.iter().find(|found| found.constant.name == name).expect("a constant");
    let fixed = of("micro-batch");
    // The prior holds it back, as a group that is 6 % off would.
    assert!((0.3..1.0).contains(&((fixed.value - usual) / 0.015)), "{fixed:?}");
    assert_eq!((fixed.groups, fixed.stacks.as_slice()), (3, &["default".to_owned()][..]));
    // What is published is not fitted.
    assert!(found.constants.iter().all(|one| one.constant.is_fitted()));
    // Nothing here runs on an H100 or with plain attention.
    for name in ["flash2-hopper", "plain-score-bytes"] {
        let one = of(name);
        assert_eq!((one.determined, one.groups), (Identifiability::Without, 0), "{name}");
        assert!((one.value - one.before).abs() < 1e-12, "{name}");
    }
}

/// Own peaks of a loss that holds fewer bytes per logit are explained by it, and by nothing that step times tell.
#[test]
fn a_planted_change_of_memory_is_found() {
    let table = |peaks: &BTreeMap<String, f64>| {
        let header = "id,cluster,stack,num_gpus,strategy_class,model,layers,hidden,heads,vocab,seq_len,micro_batch,\
                      global_batch,act_ckpt,precision,group,scored,metric_peak_mem_gb";
        let rows = [1024, 1536, 2048, 3072].map(|hidden| {
            let id = format!("h{hidden}");
            let peak = peaks.get(&id).copied().unwrap_or(1.0);
            format!("{id},a100-80gb-dgx,torchtitan,1,ddp,MPT,8,{hidden},16,50368,2048,4,4,none,bf16,{id},no,{peak}")
        });
        let (cases, skipped) =
            cases(&read("rows.csv", &format!("{header}\n{}\n", rows.join("\n"))).0, &shardscope_presets::library());
        assert!(skipped.is_empty(), "{skipped:?}");
        cases
    };
    let pool = pool(Some(2)).expect("threads");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let mut leaner = embedded();
    leaner.set(named("logits-torch").expect("a constant"), 8.0);
    let planted = recalibrated(&table(&BTreeMap::new()), &[Arc::new(leaner)], |_| 0);
    let planted = measured::validate(&planted, evaluate).residuals.into_iter();
    let peaks = planted.map(|one| (one.id, one.predicted / f64::from(1 << 30))).collect();
    let found = calibrate(&table(&peaks), &embedded(), OWN_ROWS, &evaluate, &|_| {}).expect("rows");
    let mean = |validation: &Validation| validation.scores(|one| one.metric == Metric::Memory).expect("rows").mean;
    assert!(mean(&found.before) > 0.05, "{}", mean(&found.before));
    assert!(mean(&found.after) < 0.9 * mean(&found.before), "{}", mean(&found.after));
    let of = |name: &str| found.constants.iter().find(|found| found.constant.name == name).expect("a constant");
    let logits = of("logits-torch");
    assert!((8.0..13.5).contains(&logits.value) && logits.groups == 4, "{logits:?}");
    for name in ["flash-backward", "own-compute", "logits-vocab-parallel"] {
        assert_eq!(of(name).determined, Identifiability::Without, "{name}");
    }
}

/// Eight sizes of a model, each its own group, half of them in another file, on a host that is slower than is usual. All constants but one are usual: it alone is worth more than its standard error, in every fold, and rows that no
/// part of a fit has seen are met.
#[test]
fn nested_folds_keep_the_constant_that_rows_ask_for() {
    let header = table(&BTreeMap::new()).lines().next().expect("a header").to_owned();
    let rows = |seconds: &BTreeMap<String, f64>| {
        let row = |place: u32| {
            let (id, heads) = (format!("h{place}"), 8 + 4 * place);
            let (hidden, time) = (128 * heads, seconds.get(&id).copied().unwrap_or(1.0));
            format!("{id},a100-80gb-dgx,default,1,ddp,MPT,8,{hidden},{heads},50368,2048,2,2,none,bf16,{id},yes,{time}")
        };
        let file = |name: &str, places: std::ops::Range<u32>| {
            read(name, &format!("{header}\n{}\n", places.map(row).collect::<Vec<_>>().join("\n"))).0
        };
        let (cases, skipped) =
            cases(&[file("one.csv", 0..4), file("two.csv", 4..8)].concat(), &shardscope_presets::library());
        assert!(skipped.is_empty(), "{skipped:?}");
        cases
    };
    let pool = pool(Some(2)).expect("threads");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let mut slower = embedded();
    ConstantId::all().for_each(|id| assert!(slower.set(id.constant(), id.constant().usual)));
    slower.set(named("micro-batch").expect("a constant"), 0.015);
    let planted = recalibrated(&rows(&BTreeMap::new()), &[Arc::new(slower)], |_| 0);
    let planted = measured::validate(&planted, evaluate).residuals.into_iter();
    let seconds = planted.map(|one| (one.id, one.predicted)).collect();
    let asked = FitOptions { nested: true, ..FROM_SCRATCH };
    let told = std::cell::RefCell::new(Vec::new());
    let begins = |part: &str| told.borrow_mut().push(part.to_owned());
    let found =
        calibrate(&rows(&seconds), &embedded(), asked, &evaluate, &begins).expect("rows").nested.expect("groups");
    assert!(told.borrow().contains(&"nested: without two.csv".to_owned()), "{told:?}");
    let groups: usize = found.by_group.folds.iter().filter_map(|fold| Some(fold.step_time?.groups)).sum();
    assert_eq!((groups, found.by_source.folds.len()), (8, 2));
    for NestedScores { folds, step_time, memory } in [&found.by_group, &found.by_source] {
        // The factor of the one stack takes part of what the host does.
        assert!(step_time.expect("step times").mean < 0.03 && memory.is_none(), "{step_time:?}");
        assert!(folds.iter().all(|fold| fold.held.iter().all(|constant| constant.name != "micro-batch")), "{folds:?}");
    }
    // What else says how long a host takes, or how much of that shows, may stay beside it; of kernels and wires nothing.
    let stays = found.verdicts.iter().filter(|verdict| verdict.stays()).map(|verdict| verdict.constant.name);
    let stays: Vec<&str> = stays.collect();
    assert!(stays.contains(&"micro-batch"), "{stays:?}");
    assert!(stays.iter().all(|name| *name == "micro-batch" || name.starts_with("host-")), "{stays:?}");
    let fixed = found.verdicts.iter().find(|verdict| verdict.constant.name == "micro-batch").expect("it is judged");
    assert!(fixed.with < 0.03 && fixed.without > 3.0 * fixed.with, "{fixed:?}");
}

#[test]
fn the_file_keeps_its_comments_and_reads_back() {
    let library = shardscope_presets::library();
    let entry = library
        .entries(shardscope_engine::presets::Kind::Calibration)
        .find(|entry| entry.id == "measured")
        .expect("it is");
    let found = fitted(&planted(&embedded()), 2);
    let text = write(&entry.text, &found).expect("a calibration");
    let comments =
        |text: &str| text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(comments(&text), comments(&entry.text));
    let mut read: Calibration = toml::from_str(&text).expect("a calibration");
    read.id.clone_from(&found.calibration.id);
    assert_eq!(read, found.calibration);
    let line = text.lines().find(|line| line.starts_with("micro_batch = ")).expect("a line");
    assert!(line.contains("# fitted to 3 groups of default; "), "{line}");
}

/// Rows of one stack on one node: only the bars of all rows have rows, and a share of 4.4 % is within 4.5 %.
#[test]
fn bars_judge_the_sets_that_have_rows() {
    let found = fitted(&planted(&embedded()), 2);
    let judged = judge(&found);
    assert!(judged.iter().all(|one| one.bar.set == "all" && one.bar.figure != JudgedFigure::Larger), "{judged:?}");
    let mean = judged.iter().find(|one| one.bar.figure == JudgedFigure::Mean).expect("all rows");
    let scores = found.crossed.scores(|_| true).expect("rows");
    assert_eq!((mean.count, mean.value.to_bits(), mean.null), (3, scores.mean.to_bits(), Some(scores.null_mean)));
    let met = |judged: JudgedBar| judged.met();
    let of = |one: &JudgedBar, values: [f64; 2]| values.map(|value| met(JudgedBar { value, ..*one }));
    assert_eq!(of(mean, [0.044, 0.046]), [Some(true), Some(false)]);
    let skill = judged.iter().find(|one| one.bar.figure == JudgedFigure::Skill).expect("all rows");
    assert_eq!(of(skill, [3.1, 2.9]), [Some(true), Some(false)]);
    let reported = BARS.iter().find(|bar| bar.limit().is_none()).expect("JAX's");
    assert_eq!(met(JudgedBar { bar: reported, ..*mean }), None);
}

/// Every stack that a bar names is a preset, so that no misspelt set is without rows unseen.
#[test]
fn bars_name_stacks_that_exist() {
    let library = shardscope_presets::library();
    assert!(!BARS.is_empty(), "bars.toml is read");
    let unknown = BARS.iter().flat_map(|bar| &bar.stacks).filter(|stack| library.stack(stack).is_err());
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn groups_stay_together_and_sources_apart() {
    let (cases, calibration) = (built(&planted(&embedded())), embedded());
    let pool = pool(Some(1)).expect("a thread");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let before = measured::validate(&cases, evaluate);
    let model = FitModel::new(&cases, &calibration, &before, &evaluate);
    let folds = holdout::folds(&model);
    assert_eq!((model.len(), &folds[..]), (4, &[0, 1, 2, 2][..]));
    // Rows of a group share its weight.
    assert!(model.weights.iter().zip([1.0, 1.0, 0.5, 0.5]).all(|(weight, share)| (weight - share).abs() < 1e-12));
    // One file and no large job: nothing can be left out whole.
    assert!(holdout::held_out_sets(&model, true).is_empty());
}

/// Two rows of group c stand in two files: whichever file is left out, the fit sees neither. Two files of one organisation are
/// one source.
#[test]
fn near_duplicates_of_a_source_are_left_out_with_it() {
    let (text, calibration) = (table(&planted(&embedded())), embedded());
    let lines: Vec<&str> = text.lines().collect();
    let pool = pool(Some(1)).expect("a thread");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let left_out = |who: [&str; 3]| {
        let file = |name: &str, own: &[(usize, &str)]| {
            let rows = own.iter().map(|(line, who)| format!("\n{},{who}", lines[*line]));
            read(name, &format!("{},who{}", lines[0], rows.collect::<String>())).0
        };
        let two = file("x/two\u{1b}.csv", &[(2, who[1]), (4, who[2])]);
        let rows = [file("x/one.csv", &[(1, who[0]), (3, who[0])]), two].concat();
        let (cases, _) = cases(&rows, &shardscope_presets::library());
        let before = measured::validate(&cases, evaluate);
        let model = FitModel::new(&cases, &calibration, &before, &evaluate);
        let sets = holdout::held_out_sets(&model, true).into_iter();
        sets.map(|one| (one.name, one.out, one.related)).collect::<Vec<_>>()
    };
    let set = |name: &str, out: [bool; 4], related: [bool; 4]| (name.to_owned(), out.to_vec(), related.to_vec());
    let one = set("one.csv", [true, true, false, false], [true, true, false, true]);
    let two = set("two\u{fffd}.csv", [false, false, true, true], [false, true, true, true]);
    assert_eq!(left_out([""; 3]), [one, two]);
    let other = set("two\u{fffd}.csv", [false, false, false, true], [false, true, false, true]);
    // Without the lab's three rows and the near-duplicate of one of them nothing is left to fit, so that they are no set.
    assert_eq!(left_out(["a lab", "a lab", ""]), [other]);
}

/// The A100 has rows in two files; those of the MI250X are all in one, of 8 and 16 devices: each size is left out by itself,
/// and both are scored under one name.
#[test]
fn sizes_of_an_architecture_of_one_source_are_left_out_one_at_a_time() {
    let (text, calibration) = (table(&planted(&embedded())), embedded());
    let lines: Vec<&str> = text.lines().collect();
    let of = |name: &str, rows: &[String]| read(name, &format!("{}\n{}\n", lines[0], rows.join("\n"))).0;
    let ported = |line: &str, devices: u32, id: &str| {
        let row = line.replacen("a100-80gb-dgx,default,1,", &format!("mi250x-lumi,default,{devices},"), 1);
        let (batch, wide) = (if row.contains(",1,1,") { ",1,1," } else { ",2,2," }, format!(",1,{devices},"));
        format!("{id}{}", &row[1..].replacen(batch, &wide, 1).replace(",c,yes", &format!(",{id},yes")))
    };
    let lumi = [ported(lines[3], 8, "x"), ported(lines[3], 16, "y")];
    let rows = [of("one.csv", &[lines[1].to_owned()]), of("two.csv", &[lines[2].to_owned()]), of("lumi.csv", &lumi)];
    let (cases, skipped) = cases(&rows.concat(), &shardscope_presets::library());
    assert!(skipped.is_empty(), "{skipped:?}");
    let pool = pool(Some(1)).expect("a thread");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let before = measured::validate(&cases, evaluate);
    let model = FitModel::new(&cases, &calibration, &before, &evaluate);
    let sizes = holdout::held_out_sets(&model, true).into_iter().filter(|one| one.why == HoldOutReason::Size);
    let told: Vec<_> = sizes.map(|one| (one.name, one.out)).collect();
    let name = "cdna2, one size at a time".to_owned();
    assert_eq!(told, [(name.clone(), vec![false, false, true, false]), (name, vec![false, false, false, true])]);
    let found = calibrate(&cases, &calibration, FROM_SCRATCH, &evaluate, &|_| {}).expect("rows");
    let sizes: Vec<_> = found.left_out.iter().filter(|one| one.why == HoldOutReason::Size).collect();
    assert_eq!(sizes.iter().map(|one| one.scores.rows).collect::<Vec<_>>(), [2]);
}

#[test]
fn values_are_written_with_three_digits() {
    for (value, expected) in [(0.002_674_9, 0.002_67), (1.979_96e11, 1.98e11), (0.999_9, 1.0)] {
        assert!((rounded(value) - expected).abs() < 1e-12 * expected, "{value}");
    }
}

/// A row of `group`, predicted at 1 s where `measured` were measured.
fn missed(stack: &str, group: usize, error: f64) -> Residual {
    Residual {
        id: format!("{stack} {group} {error}"),
        group: format!("{stack} {group}"),
        stack: stack.to_owned(),
        hardware: "a100-80gb-dgx".to_owned(),
        class: "ddp".to_owned(),
        across: false,
        choice: String::new(),
        metric: Metric::StepTime,
        reading: None,
        refused: None,
        p_fits: 1.0,
        predicted: 1.0,
        // Too slow and too fast by turns: the band is as wide on both sides.
        measured: libm::exp(if group.is_multiple_of(2) { error } else { -error }),
        null: f64::NAN,
        band: None,
    }
}

fn unseen_residuals(residuals: &[Residual]) -> Vec<UnseenResidual<'_>> {
    let run = |stack| Likeness {
        stack,
        architecture: "ampere",
        division: Division::Replicated,
        across_nodes: false,
        experts: false,
        part: false,
        device: "A100",
        devices: 8,
        precision: shardscope_engine::plan::Precision::Bf16,
    };
    residuals.iter().map(|residual| UnseenResidual { run: run(residual.stack.as_str()), residual, open: 0.0 }).collect()
}

/// Ten groups of a stack are off by 1 to 10 %, and each has a second row that is off by nothing; the rank is
/// 0.8 x 11 = 8.8, of which the ten halves that are off by nothing make 5; the 7th and the 8th half of the others
/// reach 8.5 and 9.
#[test]
fn bands_hold_eight_of_ten_groups() {
    let rows = (1..=10).flat_map(|group| [missed("a", group, group as f64 / 100.0), missed("a", group, 0.0)]);
    let few = (1..=3).map(|group| missed("b", group, 0.5));
    let rows: Vec<Residual> = rows.chain(few).collect();
    let unseen: Vec<Residual> = (1..=4).map(|group| missed("a", group, f64::from(group as u32) / 10.0)).collect();
    let found = bands::bands(&unseen_residuals(&rows), &unseen_residuals(&unseen), 0.0);
    let told: Vec<(usize, Option<Division>, f64, u32, u32)> =
        found.iter().map(|band| (band.stacks.len(), band.division, band.half_width, band.groups, band.rows)).collect();
    // All 13 groups: rank 0.8 x 14 = 11.2, past the 10 of stack a, so one of those that are off by 0.5. Of four
    // groups that were left out whole: rank 0.8 x 5 = 4, the last.
    let expected = [
        (1, Some(Division::Replicated), 0.08, 10, 20),
        (1, None, 0.08, 10, 20),
        (2, None, 0.5, 13, 23),
        (0, None, 0.4, 4, 4),
    ];
    assert_eq!(told, expected);
    let serves = |stack: &str, architecture: &str, division| {
        let run = Likeness { stack, architecture, division, ..unseen_residuals(&rows)[0].run };
        found.iter().find(|band| band.serves(&run)).map(|band| band.half_width)
    };
    assert_eq!(serves("a", "ampere", Division::Replicated), Some(0.08));
    assert_eq!(serves("b", "ampere", Division::Replicated), Some(0.5));
    assert_eq!(serves("unheard of", "ampere", Division::Split), Some(0.4));
    assert_eq!(serves("a", "volta", Division::Replicated), None);
    // Three groups cannot tell what 8 of 10 are: 0.8 x 4 is more than 3.
    let few: Vec<Residual> = (1..=3).map(|group| missed("b", group, 0.5)).collect();
    assert_eq!(bands::bands(&unseen_residuals(&few), &[], 0.0), []);
    // Builds differ by 0.1 and more: the narrow ones widen to that, the wide ones stay.
    let apart = bands::bands(&unseen_residuals(&rows), &unseen_residuals(&unseen), 0.1);
    assert_eq!(apart.iter().map(|band| band.half_width).collect::<Vec<_>>(), [0.1, 0.1, 0.5, 0.4]);
}

/// Four groups are off by 0.5, of which the constants' own half width explains 0.3: what is left is
/// (0.25 - 0.09)^(1/2) = 0.4. A row that the constants explain alone needs nothing. As a band of another source, whose
/// constants leave nothing open, 0.4 holds none of its rows; that source's 0.5 holds all of these.
#[test]
fn what_the_constants_leave_open_is_not_counted_twice() {
    let [rows, others] = ["a", "b"].map(|stack| (1..=4).map(|group| missed(stack, group, 0.5)).collect::<Vec<_>>());
    let of = |half_width: f64| {
        unseen_residuals(&rows)
            .into_iter()
            .map(|miss| UnseenResidual { open: half_width / COVERAGE_SIGMA, ..miss })
            .collect::<Vec<_>>()
    };
    let half_width = |residuals: &[UnseenResidual<'_>]| bands::bands(residuals, &[], 0.0)[0].half_width;
    for (open, left) in [(0.0, 0.5), (0.3, 0.4), (0.6, 0.0)] {
        assert!((half_width(&of(open)) - left).abs() < 1e-9, "{open}");
    }
    let sources = [of(0.3), unseen_residuals(&others)];
    let held = bands::source_coverage(&[], &sources, &sources, 0.0);
    assert_eq!(held.iter().map(|one| (one.rows, one.held)).collect::<Vec<_>>(), [(8, 0.5), (8, 0.5)]);
}

/// Of ten groups that are off by 1 to 10 %, each judged by the other nine, of which the rank is 0.8 x 10 = 8: the
/// eight nearest are within what the eighth of the others is off, 9 and 10 % are beyond 8 %.
#[test]
fn coverage_is_of_rows_that_the_band_has_not_seen() {
    let rows: Vec<Residual> = (1..=10).map(|group| missed("a", group, group as f64 / 100.0)).collect();
    let coverage = bands::coverage(&unseen_residuals(&rows), &[], 0.0);
    assert_eq!(coverage.len(), 1, "no class has 20 groups: {coverage:?}");
    assert_eq!((coverage[0].by.0, coverage[0].rows, coverage[0].groups), ("all", 10, 10));
    assert!((coverage[0].held - 0.8).abs() < 1e-12);
    // The nearest eight have the band of the ninth, the others that of the eighth.
    let width = (8.0 * 0.09_f64.exp_m1() + 2.0 * 0.08_f64.exp_m1()) / 10.0;
    assert!((coverage[0].width - width).abs() < 1e-12, "{coverage:?}");
}

/// One row of a device whose kernels are slower: the posterior lets it count, and what it does not depend on stays.
#[test]
fn one_row_moves_what_it_tells_and_nothing_else() {
    // Rows that are met determine what kernels do; how far sources differ is assumed.
    let known = fitted(&planted(&embedded()), 1).calibration;
    let mut slower = known.clone();
    assert!(slower.set(named("own-compute").expect("a constant"), 0.87));
    let seconds = planted(&slower);
    let only = |id: &str| built(&seconds).into_iter().filter(|case| case.row.id() == id).collect::<Vec<_>>();
    let pool = pool(Some(1)).expect("a thread");
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let found = calibrate(&only("c"), &known, OWN_ROWS, &evaluate, &|_| {}).expect("a row");
    let error = |validation: &Validation| validation.scores(|_| true).expect("rows").mean;
    assert!(error(&found.after) < 0.9 * error(&found.before), "{:?} {:?}", found.after, found.before);
    // The rest of the same device is nearer too.
    let rest = |calibration: &Calibration| {
        let cases = recalibrated(&built(&seconds), &[Arc::new(calibration.clone())], |_| 0);
        error(&measured::validate(&cases, evaluate))
    };
    assert!(rest(&found.calibration) < rest(&known));
    for FittedConstant { constant, before, value, groups, .. } in &found.constants {
        assert!(*groups > 0 || (value - before).abs() < 1e-12, "{}", constant.name);
    }
    // The row is known now: a step like it is surer than before, and nothing is less sure.
    let sure = |calibration: &Calibration| {
        let posterior = calibration.posterior().expect("a posterior");
        matrices::covariance(posterior) + matrices::spread(posterior)
    };
    let (before, after) = (sure(&known), sure(&found.calibration));
    for id in ConstantId::all() {
        let [before, after] = [&before, &after].map(|covariance| covariance[(id.index(), id.index())]);
        assert!(after <= before * 1.02, "{}: {after} {before}", id.constant().name);
    }
    assert!(found.calibration.bands.ends_with(&known.bands), "bands of others serve where one's own do not");
    // Without rows the prior's centre is the solution, so that a row which is met changes nothing.
    let met = calibrate(
        &built(&planted(&known)).into_iter().filter(|case| case.row.id() == "c").collect::<Vec<_>>(),
        &known,
        OWN_ROWS,
        &evaluate,
        &|_| {},
    );
    let met = met.expect("a row");
    let moved = met.constants.iter().map(|one| (one.value - one.before).abs() / one.constant.range());
    assert!(moved.fold(0.0, f64::max) < 0.01);
}

/// The comment behind a constant's first number in the file of a calibration: to which rows it is fitted.
fn rests_on(document: &toml_edit::DocumentMut, constant: &Constant) -> String {
    let path = constant.place.paths().swap_remove(0);
    let mut item = document.as_item();
    for key in path.split('.') {
        let Some(table) = item.as_table_like() else { break };
        item = table.get(key).expect("a place");
    }
    let comment = item.as_value().and_then(|value| value.decor().suffix()?.as_str());
    let comment = comment.unwrap_or_default().trim().trim_start_matches("# ");
    comment.split(';').next().unwrap_or_default().trim_start_matches("fitted to ").to_owned()
}

#[test]
fn the_guide_lists_every_constant_as_the_calibration_has_it() {
    let library = shardscope_presets::library();
    let calibration = library.calibration("measured").expect("embedded");
    let posterior = calibration.posterior().expect("fitted");
    let entry = library
        .entries(shardscope_engine::presets::Kind::Calibration)
        .find(|entry| entry.id == "measured")
        .expect("it is");
    let document: toml_edit::DocumentMut = entry.text.parse().expect("a calibration");
    let rows =
        shardscope_engine::stack::constants::CONSTANTS.iter().zip(&posterior.constants).map(|(constant, known)| {
            let short = |value: f64| shardscope_engine::units::short(value, 3);
            let unit = if constant.unit.is_empty() { String::new() } else { format!(" {}", constant.unit) };
            let value = short(calibration.get(constant).expect("a place"));
            let [error, spread] = [known.error, known.spread].map(short);
            let range = format!("{} to {}", short(constant.low), short(constant.high));
            let rows = rests_on(&document, constant);
            format!(
                "| {} | {value}{unit} | {error} | {spread} | {range} | {rows} | {} |\n",
                constant.name, constant.meaning
            )
        });
    let head = "| Constant | Value | Error | Between sources | Bounds | Fitted to | What it stands for |\n\
                |---|---|---|---|---|---|---|\n";
    let table = head.to_owned() + &rows.collect::<String>();
    let guide = include_str!("../../../../docs/constants.md");
    assert!(guide.contains(&table), "docs/constants.md lacks this table of constants:\n{table}");
}
