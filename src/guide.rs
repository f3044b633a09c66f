//! The model in the order in which one asks about it: what is counted, what is not, where it is wrong.
//!
//! Text only.
#![doc = include_str!("guide.md")]
