//! The text of a file in another tool's language, made by a writer of that language: no foreign text in it can be more
//! than the text that it is. Not for the disk.

use serde::Serialize;

use shardscope_engine::text::{comment, escaped, visible};
use shardscope_library::text::shell::ShellCode;

/// The text of a file. Only writers of a language make one; what they cannot write they refuse in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText(String);

impl FileText {
    /// A text of our own.
    pub fn own(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// A script.
    pub fn shell(code: ShellCode) -> Result<Self, String> {
        code.line().map(Self)
    }

    /// JSON over several lines.
    pub fn json(value: &impl Serialize) -> Result<Self, String> {
        let json = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
        Ok(Self(format!("{}\n", escaped(&json))))
    }

    /// YAML below lines of comments. All text is quoted: readers of YAML 1.1 take `no` for a switch and `1:30` for a number.
    pub fn yaml(head: &[String], value: &impl Serialize) -> Result<Self, String> {
        let options = serde_saphyr::ser_options! { quote_all: true };
        let yaml = serde_saphyr::to_string_with_options(value, options).map_err(|error| error.to_string())?;
        Ok(Self::below(head, &yaml))
    }

    /// TOML below lines of comments.
    pub fn toml(head: &[String], value: &impl Serialize) -> Result<Self, String> {
        let toml = toml::to_string(value).map_err(|error| error.to_string())?;
        Ok(Self::below(head, &format!("\n{toml}")))
    }

    fn below(head: &[String], text: &str) -> Self {
        let comments: String = head.iter().map(|line| comment(line)).collect();
        Self(comments + &visible(text))
    }

    /// What the file holds.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
