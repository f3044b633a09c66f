//! The kernels of a layer are what its sublayers sum up, whatever its kind, the plan and the software.

use shardscope_engine::cost::{DeviceTime, Factors, Rates};
use shardscope_engine::plan::pass::PerDirection;
use shardscope_engine::testing::random::{self, Draws};
use shardscope_engine::units::Seconds;

#[test]
fn the_kernels_of_a_layer_add_up_to_it() {
    let library = shardscope_presets::library();
    let toys = (0..1000).map(|seed| random::scenario(&mut Draws::seeded(seed)));
    let presets = (0..1000).map(|seed| random::of_presets(&library, &mut Draws::seeded(seed)));
    let parts: [fn(&DeviceTime) -> Seconds; 2] = [|time| time.time, |time| time.memory];
    let mut checks = 0;
    for scenario in toys.chain(presets) {
        let rates = Rates::new(&scenario, &Factors::default());
        for (kind, _) in scenario.model.kinds() {
            let (layer, PerDirection { forward, backward }) = (rates.layer(kind), rates.kernels(kind));
            for (kernels, sublayers) in [(forward, layer.forward), (backward, layer.backward)] {
                for part in parts {
                    let sum: Seconds = kernels.iter().map(|kernel| part(&kernel.time)).sum();
                    let whole = part(&sublayers.sum());
                    let apart = (sum - whole).get().abs() > 1e-12 * whole.get();
                    let job = (&scenario.model.id, &scenario.stack.id, &scenario.plan);
                    assert!(!apart, "{sum} is not {whole} for {kind:?} of {job:?}");
                    checks += 1;
                }
            }
        }
    }
    assert!(checks > 10_000, "{checks}");
}
