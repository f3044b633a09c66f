use super::*;
use crate::presets::Library;
use crate::scenario::file;

/// [layered B5], `X_160` with 5 micro-batches layer by layer on 25 GB/s each way: tensor parallelism runs beside no
/// arithmetic and costs 1 + 520 / 3413 of it. The partitioned state needs 6240 flop/B of the 6400 that it has, 24.4 GB/s; the pipeline, which has
/// 307,200, 0.508 GB/s.
#[test]
fn what_never_hides_comes_before_the_tightest_link() {
    let library = Library::embedded();
    let mut file = file::parse(&library.scenario_text("default").unwrap().text).unwrap();
    for (flag, value) in [
        ("hardware", "a100-80gb-nvlink16"),
        ("stack", "ideal"),
        ("model", "x-160"),
        ("strategy", "zero3"),
        ("nodes", "2415"),
        ("tp", "16"),
        ("pp", "5"),
        ("stages-per-rank", "32"),
        ("accumulate", "5"),
        ("accumulation", "layered"),
        ("recompute", "full"),
    ] {
        file.set(flag, value).unwrap();
    }
    let scenario = library.resolve(&file).unwrap();
    let said = network(&scenario, Theme::default(), 200).to_string();
    let order = [
        "to hide: node never (tensor x 1.15)",
        "system 24.4 of 25.0 GB/s (partitioned-state)",
        "system 0.508 of 25.0 GB/s (pipeline)",
    ];
    assert!(said.starts_with(order[0]), "{said}");
    let places = order.map(|part| said.find(part).unwrap_or_else(|| panic!("{part} is not in {said}")));
    assert!(places.is_sorted(), "{said}");
}
