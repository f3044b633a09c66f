//! The guide: the chapters of `docs/`, which `shardscope guide` shows and which come with the program.
//!
//! In the code, `shardscope-engine` says what things are, what each takes, and what a step takes; the chapter on the model
//! follows.
//!
#![doc = include_str!("../docs/model.md")]

/// A text of the guide.
#[derive(Debug, Clone, Copy)]
pub struct Chapter {
    /// The name of its file, which is what the command line calls it.
    pub name: &'static str,
    /// Text of the chapter, in Markdown.
    pub text: &'static str,
}

impl Chapter {
    /// Heading of the chapter: the task that its reader wants to do.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

macro_rules! chapters {
    ($($name:literal)*) => {
        /// All chapters, in the order to read them.
        pub const CHAPTERS: &[Chapter] =
            &[$(Chapter { name: $name, text: include_str!(concat!("../docs/", $name, ".md")) }),*];
    };
}

chapters! {
    "explorer" "keys" "terminals"
    "command-line" "options" "fields" "figures" "formats" "presets" "glossary"
    "search" "pipelines" "experts" "fine-tuning" "post-training" "context" "loss" "operators" "limits" "training" "frontier"
    "import" "export" "sweeps" "python"
    "evidence" "held-out" "constants" "model" "speed"
}
