//! All tests of the program from outside, in one binary: each would link the whole program again.

mod architecture;
mod attack;
mod bad_files;
mod cli;
mod documents;
mod frontier;
mod interleavings;
mod licences;
mod measured;
mod models;
mod predictions;
mod properties;
mod relations;
mod terminal;
