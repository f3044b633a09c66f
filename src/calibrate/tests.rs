use std::collections::BTreeMap;

use crate::measured::{cases, read};
use crate::presets::Library;
use crate::search::{pool, summaries};

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
    let (cases, skipped) = cases(&read("rows.csv", &table(seconds)).0, &Library::embedded());
    assert!(skipped.is_empty(), "{skipped:?}");
    cases
}

fn embedded() -> Calibration {
    (*Library::embedded().calibration("measured").expect("it is embedded")).clone()
}

/// What the rows take under a calibration.
fn planted(calibration: &Calibration) -> BTreeMap<String, f64> {
    let cases = under(&built(&BTreeMap::new()), &[Arc::new(calibration.clone())], |_| 0);
    let pool = pool(Some(1)).expect("a thread");
    let validation = measured::validate(&cases, |scenarios| summaries(scenarios, &pool));
    validation.residuals.into_iter().map(|one| (one.id, one.predicted)).collect()
}

fn fitted(seconds: &BTreeMap<String, f64>, threads: usize) -> Fitted {
    let pool = pool(Some(threads)).expect("threads");
    let evaluate = |scenarios: &[Scenario]| summaries(scenarios, &pool);
    calibrate(&built(seconds), &embedded(), &evaluate, &|_| {}).expect("rows")
}

/// Times of a device that is slower than the calibration says are explained, on any number of threads alike.
#[test]
fn a_planted_change_is_found() {
    let mut slower = embedded();
    let usual = slower.get("matmul-ampere").expect("a constant");
    slower.set("matmul-ampere", usual - 0.1);
    let seconds = planted(&slower);
    let found = fitted(&seconds, 2);
    let alone = fitted(&seconds, 1);
    assert_eq!((&found.constants, &found.crossed.residuals), (&alone.constants, &alone.crossed.residuals));
    let mean = |validation: &Validation| validation.scores(|_| true).expect("rows").mean;
    assert!(mean(&found.before) > 0.05, "{}", mean(&found.before));
    assert!(mean(&found.after) < 0.02, "{}", mean(&found.after));
    let of = |name: &str| found.constants.iter().find(|found| found.constant.name == name).expect("a constant");
    let matmul = of("matmul-ampere");
    assert!((matmul.value - (usual - 0.1)).abs() < 0.05, "{matmul:?}");
    assert_eq!((matmul.groups, matmul.stacks.as_slice()), (3, &["default".to_owned()][..]));
    // Nothing here runs on an H100, with plain attention or across nodes.
    for name in ["matmul-hopper", "plain-score-bytes", "latency-between"] {
        let one = of(name);
        assert_eq!((one.determined, one.groups), (Determined::Without, 0), "{name}");
        assert!((one.value - one.before).abs() < 1e-12, "{name}");
    }
}

#[test]
fn the_file_keeps_its_comments_and_reads_back() {
    let library = Library::embedded();
    let entry = library.entries(crate::presets::Kind::Calibration).find(|entry| entry.id == "measured").expect("it is");
    let found = fitted(&planted(&embedded()), 2);
    let text = write(&entry.text, &found.constants).expect("a calibration");
    let comments =
        |text: &str| text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(comments(&text), comments(&entry.text));
    let mut read: Calibration = toml::from_str(&text).expect("a calibration");
    read.id.clone_from(&found.calibration.id);
    assert_eq!(read, found.calibration);
    let line = text.lines().find(|line| line.starts_with("matmul = ")).expect("the first is ampere's");
    assert!(line.contains("# fitted to 3 groups of default; "), "{line}");
}

#[test]
fn groups_stay_together_and_sources_apart() {
    let (cases, calibration) = (built(&planted(&embedded())), embedded());
    let pool = pool(Some(1)).expect("a thread");
    let evaluate = |scenarios: &[Scenario]| summaries(scenarios, &pool);
    let before = measured::validate(&cases, evaluate);
    let model = Model::new(&cases, &calibration, &before, &evaluate);
    let folds = holdout::folds(&model);
    assert_eq!((model.len(), &folds[..]), (4, &[0, 1, 2, 2][..]));
    // Rows of a group share its weight.
    assert!(model.weights.iter().zip([1.0, 1.0, 0.5, 0.5]).all(|(weight, share)| (weight - share).abs() < 1e-12));
    // One file and no large job: nothing can be left out whole.
    assert!(holdout::wholes(&model).is_empty());
}

#[test]
fn values_are_written_with_three_digits() {
    for (value, expected) in [(0.002_674_9, 0.002_67), (1.979_96e11, 1.98e11), (0.999_9, 1.0)] {
        assert!((rounded(value) - expected).abs() < 1e-12 * expected, "{value}");
    }
}
