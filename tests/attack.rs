//! What hostile people send: files of every kind, command lines, keys. Nothing panics, hangs, eats the memory, writes
//! where nobody asked, or says what commands a terminal.
//!
//! `SHARDSCOPE_ATTACK=600 cargo test --release --test integration attack:: -- --nocapture` attacks for 600 seconds in each way, and in
//! other ways every time; without it each takes a second or two and is the same every time.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests ends the test")]

mod files;
mod fixtures;
mod harness;
mod keys;
mod kills;
mod lines;
mod readers;
