//! ZeRO++ and Frontier's three levels against what was published of them; the notes' sections are in brackets.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper of tests ends the test")]

pub mod run;

mod bars;
mod log;
mod published;
mod ratios;
mod volumes;
