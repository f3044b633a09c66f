//! What random scenarios choose.

use shardscope_engine::plan::{Accumulation, Ema, Offload, Optimizer};
use shardscope_engine::scenario::Scenario;
use shardscope_engine::testing::random::{self, Draws};
use shardscope_engine::units::Share;

/// Whether a scenario makes it.
type Choice = fn(&Scenario) -> bool;

/// In twelve hundred scenarios of each kind every choice stands at least twenty times, beside others.
#[test]
fn every_choice_is_drawn() {
    let library = shardscope_presets::library();
    let toys: Vec<Scenario> = (0..1200).map(|seed| random::scenario(&mut Draws::seeded(seed))).collect();
    let presets: Vec<Scenario> = (0..1200).map(|seed| random::of_presets(&library, &mut Draws::seeded(seed))).collect();
    let choices: [(&str, Choice); 16] = [
        ("experts over ranks", |scenario| scenario.plan.experts.ranks > 1),
        ("tensor ranks of experts", |scenario| scenario.plan.experts.tensor.is_some()),
        ("adapters", |scenario| scenario.plan.tuning.freezes()),
        ("frozen layers", |scenario| scenario.model.frozen_layers > 0),
        ("frozen ends", |scenario| scenario.plan.tuning.ends.is_some()),
        ("further tokens", |scenario| scenario.model.mtp_layers > 0),
        ("operators", |scenario| !scenario.plan.operators.is_empty()),
        ("averages", |scenario| scenario.plan.ema != Ema::None),
        ("pages", |scenario| scenario.plan.paged_optimizer),
        ("Muon", |scenario| scenario.plan.optimizer == Optimizer::Muon),
        ("a pipeline", |scenario| scenario.plan.pipeline > 1),
        ("layer by layer", |scenario| scenario.plan.accumulation == Accumulation::Layered),
        ("a share on the host", |scenario| {
            scenario.plan.offload.optimizer() && scenario.plan.offload_ratio < Share::new(1.0)
        }),
        ("kinds of layers", |scenario| scenario.model.kinds().count() > 1),
        ("fewer than 16 bits", |scenario| scenario.plan.precision.is_low()),
        ("modules", |scenario| !scenario.plan.repeated_modules().is_of_stack()),
    ];
    for (name, has) in choices {
        for drawn in [&toys, &presets] {
            let count = drawn.iter().filter(|scenario| has(scenario)).count();
            assert!(count >= 20, "{name}: {count}");
        }
    }
    for offload in Offload::ALL {
        let count = toys.iter().filter(|scenario| scenario.plan.offload == *offload).count();
        assert!(count >= 20, "{offload}: {count}");
    }
}

/// Without numbers left all is plain, and the same seed draws the same.
#[test]
fn numbers_decide() {
    let plain = random::scenario(&mut Draws::given(Vec::new()));
    assert_eq!((plain.model.layers, plain.plan.offload, plain.plan.pipeline), (1, Offload::None, 1));
    let twice = [7, 7].map(|seed| random::scenario(&mut Draws::seeded(seed)));
    assert_eq!(twice[0], twice[1]);
}
