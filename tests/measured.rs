//! Predictions beside published step times and peaks of memory: the rows that the program carries, and
//! those of the folder that `SHARDSCOPE_MEASURED` names.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper of tests ends the test; the scores are for people"
)]

use std::fs;
use std::sync::Arc;

use shardscope::calibrate::{Coverage, FitQuestion, FittedConstant, Prior, calibrate};
use shardscope::cost::{Factors, Payload, Rates};
use shardscope::hardware::Group;
use shardscope::measured::{MeasuredRow, Metric, Validation, cases, read, validate};
use shardscope::plan::Format;
use shardscope::presets::Library;
use shardscope::scenario::Scenario;
use shardscope::scenario::file::parse;
use shardscope::search::{Evaluator, pool};
use shardscope::units::{BytesPerSecond, Count};

fn validated(rows: &[MeasuredRow]) -> Validation {
    let (cases, unbuilt) = cases(rows, &Library::embedded());
    let pool = pool(None).unwrap();
    let mut validation = validate(&cases, |scenarios| Evaluator::on(&pool).summaries(scenarios));
    validation.skipped.extend(unbuilt);
    validation
}

/// Checks the mean error over groups of a metric.
fn judge(validation: &Validation, metric: Metric, rows: usize, most: f64) {
    let scores = validation.scores(|one| one.metric == metric).unwrap();
    println!("{}: {scores:?}", metric.name());
    assert!(scores.rows >= rows, "{} of {rows} rows: {:?}", scores.rows, validation.skipped);
    assert!(scores.mean <= most, "mean error {:.4} of {}, at most {most}", scores.mean, metric.name());
}

/// What the program carries is predicted as well as when this was last set; each row names its source.
#[test]
fn embedded_rows_are_predicted() {
    let rows: Vec<MeasuredRow> = Library::measured().iter().flat_map(|(name, text)| read(name, text).0).collect();
    for row in &rows {
        assert!(row.text("source").len() > 5 && row.text("url_or_repo_path").len() > 5, "{}", row.id());
    }
    let validation = validated(&rows);
    assert!(validation.skipped.is_empty(), "{:?}", validation.skipped);
    judge(&validation, Metric::StepTime, 88, 0.05);
    judge(&validation, Metric::Memory, 8, 0.08);
}

/// The rows of a folder, all of which the committed constants were fitted to.
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
    let library = Library::embedded();
    let (mut cases, _) = cases(&rows_of(&folder), &library);
    cases.retain(|case| case.scenario().stack.calibration == "measured");
    let pool = pool(None).unwrap();
    let evaluate = |scenarios: &[Scenario]| Evaluator::on(&pool).summaries(scenarios);
    let asked = FitQuestion { prior: Prior::None, own_sets: false };
    let fitted = calibrate(&cases, &library.calibration("measured").unwrap(), asked, &evaluate, &|_| {}).unwrap();
    for Coverage { by, rows, groups, held, width } in &fitted.coverage {
        println!("{by:?}: {held:.3} of {rows} rows in {groups} groups, mean width {width:.3}");
        let wanted = if by.0 == "all" { 0.75..=0.85 } else { 0.65..=0.92 };
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
        assert!((ours.half_width - found.half_width).abs() < 0.01, "{} is {}", ours, found.half_width);
    }
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
    let group = Group { stride: 1, size: ranks };
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
    let library = Library::embedded();
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
