//! Languages that are written, each by one writer: foreign text gets into none of them as code.
//!
//! What hides or commands in a text is [`shardscope_engine::text`]'s to filter. Not for reading what others wrote.

pub mod csv;
pub mod shell;
