//! Plans as other tools take them. Not for shardscope's own files ([`crate::snapshot`]), nor for writing to disk.

pub mod fsdp2;
