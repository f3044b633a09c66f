//! What holds of all scenarios, looked for in random ones ([`random`]).

mod agreement;
mod choices;
mod kernels;
mod saved;
mod state;
mod sums;

use proptest::prelude::*;
use shardscope_engine::scenario::Scenario;
use shardscope_engine::testing::random::{self, Draws};

/// Any scenario that can be laid out; it shrinks with the numbers that it is drawn from.
fn any_scenario() -> impl Strategy<Value = Scenario> {
    proptest::collection::vec(any::<u32>(), 400).prop_map(|numbers| random::scenario(&mut Draws::given(numbers)))
}
