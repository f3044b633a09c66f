//! `support`: the runs behind a scenario.

use super::run::{Home, assert_contains, number};

/// Beside rows the band is theirs; on thousands of nodes it is wider, and what no row is near says so.
#[test]
fn what_stands_behind_a_scenario_is_told() {
    let home = Home::new();
    let of = |nodes: u32| {
        let run = format!(
            "support --hardware h100-80gb-dgx --stack llm-foundry-2024 --model mpt-7b --micro-batch 8 \
             --global-batch free --nodes {nodes}"
        );
        home.run(&format!("{run} --format json")).json(0)
    };
    let [near, far] = [8, 4096].map(of);
    assert!(number(&far["band"], "of_constants") > 2.0 * number(&near["band"], "of_constants"), "{near} {far}");
    // Its rows end at 512 devices: on 32,768 those of other stacks are the nearest. Neither part is less than builds differ by.
    assert!(number(&far["band"], "of_rows") >= number(&near["band"], "of_rows"), "{near} {far}");
    assert!(number(&far["band"], "half_width") > number(&near["band"], "half_width"), "{near} {far}");
    // Two independent parts: 3 and 4 % make 5 %.
    let [rows, constants, half] = ["of_rows", "of_constants", "half_width"].map(|key| number(&near["band"], key));
    assert!((rows.hypot(constants) - half).abs() < 1e-9);
    let all = |of: &serde_json::Value| of["counts"][5]["groups"].as_u64().expect("a count");
    assert!(all(&near) > 0 && all(&far) == 0, "{near} {far}");
    assert_eq!(near["nearest"][0]["stack"], "llm-foundry-2024");
    // At most six constants, those that leave most open foremost, and none on which the step does not lean.
    let open: Vec<f64> = near["constants"].as_array().expect("a list").iter().map(|one| number(one, "band")).collect();
    assert!((1..=6).contains(&open.len()) && open.is_sorted_by(|one, other| one >= other), "{open:?}");
    assert!(open.iter().all(|share| *share > 0.0), "{open:?}");
}

/// Nothing measured stands behind the peak of a machine; that is an answer, not an error.
#[test]
fn a_scenario_without_rows_has_an_answer() {
    let home = Home::new();
    let told = home.run("support --hardware v100-32gb-dgx2 --stack ideal --model mpt-7b --nodes 2");
    assert_eq!(told.code, Some(0));
    assert_contains(&told.stdout, &["no band", "stack ideal"]);
}
