//! What is wrong with a file: where it stands, what it is and how to fix it.

use std::fmt;

pub use crate::text::printable;

/// One mistake in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong and how to fix it.
    pub message: String,
}

/// Everything that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The file's name; empty until it is known.
    pub file: String,
    /// The mistakes, at least one, in the order of the text.
    pub mistakes: Vec<Mistake>,
}

impl FileError {
    /// The same mistakes, in a file with this name.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        Self { file: printable(file), ..self }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = if self.file.is_empty() { "text" } else { &self.file };
        for (index, Mistake { line, column, message }) in self.mistakes.iter().enumerate() {
            let end = if index + 1 == self.mistakes.len() { "" } else { "\n" };
            write!(f, "{file}:{line}:{column}: {message}{end}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}
