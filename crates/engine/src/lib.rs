//! How long a step of sharded training takes on a cluster, whether it fits, where its time and memory
//! go, and why.
//!
//! A [`scenario::Scenario`] (cluster, software stack, model and plan) goes in, an
//! [`evaluate::Evaluation`] comes out; everything else calls that once or many times.
//!
//! ```
//! use shardscope_engine::{scenario::file, search};
//!
//! // Clusters, stacks, models and so on, from texts that a package of data carries.
//! let library = shardscope_presets::library();
//! let mut file = file::parse(&library.scenario_text("default")?.text)?;
//! file.set("hardware", "a100-80gb-dgx")?;
//! file.set("nodes", "16")?;
//! let scenario = library.resolve(&file).map_err(|problems| problems[0].clone())?;
//! let evaluation = search::full(&scenario, &mut Default::default()).map_err(|problems| problems[0].clone())?;
//! assert!(evaluation.summary.step_time.get() > 0.0);
//! println!("{} a step, limited by {}", evaluation.summary.step_time, evaluation.bottleneck().name(&scenario));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Many scenarios at once are a [`search::Sweep`]:
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use shardscope_engine::scenario::file;
//! use shardscope_engine::search::{Cell, Evaluator, Sweep, pool};
//!
//! let library = shardscope_presets::library();
//! let file = file::parse(&library.scenario_text("default")?.text)?;
//! let base = library.resolve(&file).map_err(|problems| problems[0].clone())?;
//! let sweep = Sweep { base, x: "nodes=1..64".parse()?, y: "shard=node,system".parse()?, tune: false };
//! let fitting = AtomicUsize::new(0);
//! sweep.run(&Evaluator::on(&pool(None)?), 0, &|_, cell| {
//!     if matches!(cell, Cell::Possible { summary, .. } if summary.fits) {
//!         fitting.fetch_add(1, Ordering::Relaxed);
//!     }
//! });
//! assert!(fitting.into_inner() > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Read on in the order in which knowledge flows: [`units`], [`hardware`], [`model`], [`plan`], [`stack`],
//! [`scenario`], [`presets`]; [`cost`] and [`bounds`]; [`program`], [`sim`], [`evaluate`], [`search`].

#![warn(missing_docs)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

// The texts of the presets name the engine by its own name, and its tests take them in.
#[cfg(test)]
extern crate self as shardscope_engine;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod bounds;
pub mod cost;
pub mod evaluate;
pub mod hardware;
pub mod model;
pub mod plan;
pub mod presets;
pub mod problem;
pub mod program;
pub mod scenario;
pub mod search;
pub mod sim;
pub mod stack;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod units;
