//! Predictions beside published step times and peaks of memory: the rows that the program carries, and
//! those of the folder that `SHARDSCOPE_MEASURED` names.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a helper of tests ends the test; the scores are for people"
)]

use std::fs;

use shardscope::measured::{Metric, Row, Validation, cases, read, validate};
use shardscope::presets::Library;
use shardscope::search::{pool, summaries};

fn validated(rows: &[Row]) -> Validation {
    let (cases, unbuilt) = cases(rows, &Library::embedded());
    let pool = pool(None).unwrap();
    let mut validation = validate(&cases, |scenarios| summaries(scenarios, &pool));
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
    let rows: Vec<Row> = Library::measured().iter().flat_map(|(name, text)| read(name, text).0).collect();
    for row in &rows {
        assert!(row.text("source").len() > 5 && row.text("url_or_repo_path").len() > 5, "{}", row.id());
    }
    let validation = validated(&rows);
    assert!(validation.skipped.is_empty(), "{:?}", validation.skipped);
    judge(&validation, Metric::StepTime, 88, 0.10);
    judge(&validation, Metric::Memory, 8, 0.40);
}

#[test]
fn measured_rows_from_outside_are_predicted() {
    let Some(folder) = std::env::var_os("SHARDSCOPE_MEASURED") else {
        println!("SHARDSCOPE_MEASURED is not set: there are no measured rows from outside");
        return;
    };
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "csv"));
    files.sort();
    let name = |file: &std::path::Path| file.file_name().unwrap().to_string_lossy().into_owned();
    let rows: Vec<Row> =
        files.iter().flat_map(|file| read(&name(file), &fs::read_to_string(file).unwrap()).0).collect();
    let validation = validated(&rows);
    let scored = rows.iter().filter(|row| row.text("scored") == "yes").count();
    judge(&validation, Metric::StepTime, scored, 0.095);
    judge(&validation, Metric::Memory, 1, 0.35);
    let skill = validation.scores(|one| one.metric == Metric::StepTime).unwrap().skill();
    assert!(skill > 1.5, "hardly better than a constant for each device and stack: {skill}");
    println!("{:?}", validation.ranking);
}
