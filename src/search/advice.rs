//! What would help a scenario: changes of its plan that let it fit or make it faster.
//!
//! [`fix()`] names the smallest single edits with which a scenario fits, for a report; an [`Adviser`] proposes whole rounds of
//! candidates and an [`AdviceRound`] keeps those that help, for a table. Not for what hardware would give, which are the
//! elasticities, nor for the best of a whole grid ([`super::tuned`], [`super::planner`], [`super::training`]).

mod adviser;
mod fix;
mod round;

pub use adviser::Adviser;
pub use fix::{Fixes, fix};
pub use round::{AdviceRound, Suggestion, WORTH, gains};
