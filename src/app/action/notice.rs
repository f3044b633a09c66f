//! What the status line says of what just happened, until the next key.

use std::borrow::Cow;
use std::ops::Deref;

/// A sentence for the status line, and how long it is true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// What happened, or cannot.
    Said(Cow<'static, str>),
    /// That something is still computed: once it is there, this is no longer to be said.
    Computing(&'static str),
}

impl Deref for Notice {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Said(said) => said,
            Self::Computing(what) => what,
        }
    }
}

impl From<&'static str> for Notice {
    fn from(said: &'static str) -> Self {
        Self::Said(said.into())
    }
}

impl From<String> for Notice {
    fn from(said: String) -> Self {
        Self::Said(said.into())
    }
}
