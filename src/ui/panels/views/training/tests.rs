use super::*;
use shardscope_engine::testing;

/// [layered B5], `X_160` with 5 micro-batches layer by layer on 25 GB/s each way: tensor parallelism runs beside no
/// arithmetic and costs 1 + 520 / 3413 of it. The partitioned state needs 6240 flop/B of the 6400 that it has, 24.4 GB/s; the pipeline, which has
/// 307,200, 0.508 GB/s.
#[test]
fn what_never_hides_comes_before_the_tightest_link() {
    let scenario = testing::x_160_in(&shardscope_presets::library(), &[]);
    let said =
        network(&LinkNeeds::new(&scenario.checked().expect("a valid scenario")), &scenario, Theme::default(), 200)
            .to_string();
    let order = [
        "needs: node exposed (tensor x 1.15)",
        "system 24.4 of 25.0 GB/s (partitioned-state)",
        "system 0.508 of 25.0 GB/s (pipeline)",
    ];
    assert!(said.starts_with(order[0]), "{said}");
    let places = order.map(|part| said.find(part).unwrap_or_else(|| panic!("{part} is not in {said}")));
    assert!(places.is_sorted(), "{said}");
}
