//! Plans that choose for each operator how its state is placed, after OSDP (IJCAI 2023, arXiv 2209.13258).
//!
//! [`classes`] is the exact search, whatever the costs are; [`profile`] feeds it from measured rows. Not for
//! batch and recompute of a plan whose sharding is settled ([`super::tuned`]).

pub mod classes;
pub mod profile;
