//! A scenario that is saved and read is the same.

use std::sync::Arc;

use shardscope_engine::scenario::file;
use shardscope_engine::testing::random::{self, Draws};
use shardscope_engine::units::Bytes;

/// Whatever a plan says, and whether its cluster and its model are presets or stand in the file.
#[test]
fn a_scenario_that_is_saved_and_read_is_the_same() {
    let library = shardscope_presets::library();
    for seed in 0..600 {
        let mut draws = Draws::seeded(seed);
        let mut scenario = random::of_presets(&library, &mut draws);
        if draws.seldom() {
            let cluster = Arc::make_mut(&mut scenario.cluster);
            (cluster.id, cluster.device.memory) = ("own".to_owned(), Bytes::new(5e10));
        }
        if draws.seldom() {
            Arc::make_mut(&mut scenario.model).id = "own".to_owned();
        }
        // The format that a method implies is said in a file.
        let tuning = &mut scenario.plan.tuning;
        tuning.frozen = tuning.freezes().then(|| tuning.frozen_format());
        let text = library.file(&scenario).to_toml().expect("TOML");
        let file = file::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let read = library.resolve(&file).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        assert_eq!(read.plan, scenario.plan, "seed {seed}:\n{text}");
        assert_eq!((&read.model, &read.cluster.id), (&scenario.model, &scenario.cluster.id), "seed {seed}:\n{text}");
        assert!(read == scenario, "seed {seed}:\n{text}");
    }
}
