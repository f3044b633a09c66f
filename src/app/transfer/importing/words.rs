//! What is typed or dropped: paths as a shell or a terminal quotes them, and options as the command line has them.

use std::env;
use std::path::PathBuf;

/// Files, and options beside them: `nodes.txt topo.txt --rate "400 GB/s"`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportWords {
    /// The files, in the order in which they were named.
    pub files: Vec<PathBuf>,
    /// Options without their dashes, each with its value.
    pub options: Vec<(String, String)>,
}

impl ImportWords {
    /// Reads a line as a shell would.
    pub fn read(line: &str) -> Result<Self, String> {
        let unclosed = || "a quotation mark has no end; close it".to_owned();
        let mut words = shlex::split(line).ok_or_else(unclosed)?.into_iter();
        let mut read = Self::default();
        while let Some(word) = words.next() {
            match word.strip_prefix("--") {
                None => read.files.push(path(&word)),
                Some(option) => {
                    let (option, value) = match option.split_once('=') {
                        Some((option, value)) => (option, Some(value.to_owned())),
                        None => (option, words.next()),
                    };
                    let value = value.ok_or_else(|| format!("--{option} has no value; write one behind it"))?;
                    read.options.push((option.to_owned(), value));
                }
            }
        }
        if read.files.is_empty() {
            return Err("no file is named; type its path".to_owned());
        }
        Ok(read)
    }

    /// What an option says.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(option, _)| option == name).map(|(_, value)| value.as_str())
    }

    /// Why an option is not taken, where it is none of these.
    pub fn others(&self, known: &[&str]) -> Option<String> {
        let (other, _) = self.options.iter().find(|(option, _)| !known.contains(&option.as_str()))?;
        let known = if known.is_empty() { "none".to_owned() } else { format!("--{}", known.join(", --")) };
        Some(format!("--{other} says nothing of this file; known here: {known}"))
    }
}

/// A path as a terminal hands it over: an address of a file, or one that begins at home.
pub fn path(word: &str) -> PathBuf {
    let word = word.strip_prefix("file://").unwrap_or(word);
    let home = || Some(PathBuf::from(env::var_os("HOME")?));
    match word.strip_prefix("~/").zip(home()) {
        Some((rest, home)) => home.join(rest),
        None => word.into(),
    }
}

/// Whether a pasted text is paths, as a terminal pastes files that are dropped on it.
pub fn is_path(text: &str) -> bool {
    let starts = |word: &String| ["/", "./", "../", "~/", "file://"].iter().any(|start| word.starts_with(start));
    !text.trim().contains('\n')
        && shlex::split(text.trim()).is_some_and(|words| !words.is_empty() && words.iter().all(starts))
}
