//! The text of a file in another tool's language. Only a writer of that language makes one, and quotes foreign text so
//! that it cannot inject code. Not for the disk.

use serde::Serialize;

use shardscope_engine::text::{comment, escaped, visible};
use shardscope_library::text::shell::ShellCode;

/// The text of a file. Only a language's writer makes one; it returns an error message for what it cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText(String);

impl FileText {
    /// A constant text of this program.
    pub fn own(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// A shell script.
    pub fn shell(code: ShellCode) -> Result<Self, String> {
        code.line().map(Self)
    }

    /// Pretty-printed JSON.
    pub fn json(value: &impl Serialize) -> Result<Self, String> {
        let json = serde_json::to_string_pretty(value).map_err(|error| error.to_string())?;
        Ok(Self(format!("{}\n", escaped(&json))))
    }

    /// YAML below comment lines. All text is quoted: YAML 1.1 reads `no` as a switch and `1:30` as a number.
    pub fn yaml(head: &[String], value: &impl Serialize) -> Result<Self, String> {
        let options = serde_saphyr::ser_options! { quote_all: true };
        let yaml = serde_saphyr::to_string_with_options(value, options).map_err(|error| error.to_string())?;
        Ok(Self::below(head, &yaml))
    }

    /// TOML below comment lines.
    pub fn toml(head: &[String], value: &impl Serialize) -> Result<Self, String> {
        let toml = toml::to_string(value).map_err(|error| error.to_string())?;
        Ok(Self::below(head, &format!("\n{toml}")))
    }

    fn below(head: &[String], text: &str) -> Self {
        let comments: String = head.iter().map(|line| comment(line)).collect();
        Self(comments + &visible(text))
    }

    /// The file's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
