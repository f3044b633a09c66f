//! shardscope: how long a step of sharded training takes, where the time and the memory go, and why.

pub mod app;
pub mod bounds;
pub mod cli;
pub mod config;
pub mod cost;
pub mod evaluate;
pub mod hardware;
pub mod model;
pub mod plan;
pub mod presets;
pub mod program;
pub mod report;
pub mod scenario;
pub mod search;
pub mod sim;
pub mod snapshot;
pub mod stack;
pub mod term;
pub mod ui;
pub mod units;

#[cfg(test)]
mod testing;
