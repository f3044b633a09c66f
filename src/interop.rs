//! Other tools' files, in and out: models of Hugging Face read, plans written. Not for shardscope's own files
//! ([`crate::snapshot`]), nor for the disk.

pub mod fsdp2;
pub mod huggingface;
pub mod report;
