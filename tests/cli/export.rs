//! `export`: the files that it writes, Python that compiles, and what is refused.

use std::process::Command;

use serde_json::Value;

use super::run::{Home, assert_contains, run};

const SMALL: &str = "--hardware titan-rtx-pcie --model mpt-125m --seq 512 --precision fp32 --nodes 1";

#[test]
fn a_plan_goes_from_the_search_to_fsdp2() {
    let home = Home::new();
    let plan = home.run(&format!("plan {SMALL} --memory-limit 4GB --out plan.toml"));
    assert_eq!((plan.code, plan.stderr.as_str()), (Some(0), ""));
    let export = home.run("export ./plan.toml --to fsdp2 --out pytorch");
    assert_eq!((export.code, export.stderr.as_str()), (Some(0), ""));
    assert_contains(&export.stdout, &["fsdp2.json", "fsdp2.py"]);
    let text = std::fs::read_to_string(home.path().join("pytorch/fsdp2.json")).expect("written");
    let spec: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((spec["format"].as_u64(), spec["ranks"].as_u64()), (Some(1), Some(8)));
    let modules = spec["modules"].as_array().expect("a list");
    assert!(modules.iter().any(|module| module["path"] == "tok_embeddings"));
    // Neither command writes over a file.
    for again in ["export ./plan.toml --to fsdp2 --out pytorch", &format!("plan {SMALL} --out plan.toml")] {
        assert_eq!(home.run(again).code, Some(1), "{again}");
    }
}

#[test]
fn without_a_folder_the_specification_is_printed() {
    let printed = run(&format!("export {SMALL} --to fsdp2"));
    let spec: Value = serde_json::from_str(&printed.stdout).expect("JSON");
    assert_eq!((printed.code, spec["modules"][0]["shard"].as_u64()), (Some(0), Some(8)));
}

/// The loader is Python that compiles; where there is no Python, that is said, and CI has one.
#[test]
fn the_loader_compiles() {
    let home = Home::new();
    assert_eq!(home.run(&format!("export {SMALL} --to fsdp2 --out here")).code, Some(0));
    let python = Command::new("python3").args(["-m", "py_compile", "here/fsdp2.py"]).current_dir(home.path()).output();
    match python {
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => {
            eprintln!("not compiled: python3: {error}");
            assert!(std::env::var_os("CI").is_none(), "CI compiles it");
        }
    }
}

#[test]
fn what_fsdp2_has_no_part_in_is_refused() {
    let lines = run("export --to fsdp2 --hardware a100-80gb-dgx --model mpt-7b --tp 2 --nodes 1");
    assert_contains(&lines.refused().join("\n"), &["--tp", "data-parallel ranks alone", "choose 1"]);
    assert_contains(&run("export").refused().join("\n"), &["--to"]);
}
