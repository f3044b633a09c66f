//! Reads models of Hugging Face, launchers' plans, logs of runs and benchmarks, and profilers' traces; writes plans and
//! traces. Not for shardscope's own files ([`shardscope_report::snapshot`]), nor for the disk.

pub mod content;
pub mod export;
mod file_text;
pub mod fsdp2;
pub mod huggingface;
pub mod import;
pub mod job_array;
pub mod kineto;
mod megatron;
pub mod nccl;
pub mod out_of_memory;
pub mod plans;
pub mod report;
pub mod runs;
pub mod runs_in;
pub mod topology;
mod torchtitan;
pub mod trace;

pub use file_text::FileText;
