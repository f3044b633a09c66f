//! Where the user's files live, and what `config.toml` says.
//!
//! A setting comes from the command line, else from the environment (`SHARDSCOPE_CONFIG`,
//! `RAYON_NUM_THREADS`), else from `config.toml`, else from its default.
//!
//! The folder is the one that `--config` names (or that holds the file which it names), else
//! `$SHARDSCOPE_CONFIG` likewise, else `$XDG_CONFIG_HOME/shardscope` on every system, else where
//! [`directories`] says. A missing or unreadable one never stops the start.
//!
//! Not for the presets inside the folder ([`shardscope_engine::presets`]), nor for what the settings do.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de};

use shardscope_engine::problem::Problem;
use shardscope_engine::scenario::file::{self, FileError};
use shardscope_engine::search::MOST_THREADS;
use shardscope_library::disk::{self, InputKind};

/// Settings in `config.toml`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Threads of a sweep; `None` for the default of a shared machine.
    #[serde(deserialize_with = "threads")]
    pub threads: Option<usize>,
    /// How the explorer draws.
    pub terminal: Terminal,
    /// The user's own keys; what they may say is `app`'s to know.
    pub keys: toml::Table,
}

/// The `[terminal]` table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Terminal {
    /// Colours.
    #[serde(deserialize_with = "palette")]
    pub palette: ColorDepth,
    /// The terminal's background; `None` for what `COLORFGBG` says.
    pub theme: Option<Background>,
    /// Only ASCII glyphs, whatever the locale says.
    pub ascii: bool,
    /// Markers that curves are drawn with; `None` for what the locale and `TERM` say.
    pub markers: Option<Markers>,
    /// Whether the explorer takes the mouse, which then selects no text.
    pub mouse: bool,
    /// Fewer colours, fewer updates.
    pub low_bandwidth: bool,
}

/// Colours, as `--palette` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColorDepth {
    /// What the environment tells: `NO_COLOR`, `COLORTERM`, `TERM`.
    #[default]
    Auto,
    /// 24-bit colour.
    Truecolor,
    /// The 256 colours of xterm.
    Xterm256,
    /// The terminal's own 16 colours.
    Ansi16,
    /// None.
    None,
}

/// A terminal's background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Background {
    /// Light text on a dark background.
    Dark,
    /// Dark text on a light background.
    Light,
}

/// Markers that curves are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Markers {
    /// Eight dots in a cell.
    #[default]
    Braille,
    /// Two halves of a cell.
    Block,
    /// One dot in the middle.
    Dot,
    /// A full stop.
    Ascii,
}

impl Markers {
    /// Its name, as the file has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Braille => "braille",
            Self::Block => "block",
            Self::Dot => "dot",
            Self::Ascii => "ascii",
        }
    }
}

/// The words of [`ColorDepth`], on the command line and in the file.
pub const PALETTES: [(&str, ColorDepth); 5] = [
    ("auto", ColorDepth::Auto),
    ("truecolor", ColorDepth::Truecolor),
    ("256", ColorDepth::Xterm256),
    ("16", ColorDepth::Ansi16),
    ("none", ColorDepth::None),
];

/// A commented `config.toml` that changes nothing.
pub const DEFAULT: &str = include_str!("config/default.toml");

fn palette<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ColorDepth, D::Error> {
    let word = String::deserialize(deserializer)?;
    let known = PALETTES.iter().find(|(known, _)| *known == word);
    let words = || PALETTES.map(|(word, _)| word).join(", ");
    known.map(|(_, palette)| *palette).ok_or_else(|| de::Error::custom(format!("a palette is one of {}", words())))
}

fn threads<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    match u16::deserialize(deserializer)? {
        0 => Err(de::Error::custom("threads are counted from 1; leave the line out for the default")),
        threads if threads > MOST_THREADS => Err(de::Error::custom(format!("threads are at most {MOST_THREADS}"))),
        threads => Ok(Some(usize::from(threads))),
    }
}

/// Why a configuration cannot be used.
#[derive(Debug)]
pub enum Error {
    /// It could not be read.
    Read(io::Error),
    /// It has mistakes.
    Wrong(FileError),
}

/// Where the configuration is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The folder of `clusters/`, `stacks/`, `models/`, `strategies/` and `scenarios/`.
    pub folder: PathBuf,
    /// The configuration file itself.
    pub file: PathBuf,
    /// Whether the user named that file, so that it is missed if it is not there.
    pub named: bool,
}

impl Place {
    /// The place that the command line or the environment chooses; `None` without a home.
    pub fn find(flag: Option<&Path>) -> Option<Self> {
        match flag {
            Some(path) => Some(Self::named(path)),
            None => Self::from_environment(|name| std::env::var_os(name)),
        }
    }

    fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if let Some(path) = set("SHARDSCOPE_CONFIG") {
            return Some(Self::named(&path));
        }
        // The specification says to ignore a relative path.
        let xdg = set("XDG_CONFIG_HOME").filter(|path| path.is_absolute()).map(|path| path.join("shardscope"));
        let home = || disk::own_folders().map(|dirs| dirs.config_dir().to_owned());
        xdg.or_else(home).map(Self::in_folder)
    }

    /// The place that a path names: a folder, or a file in its folder.
    fn named(path: &Path) -> Self {
        if path.is_dir() {
            return Self::in_folder(path.to_owned());
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        Self { folder, file: path.to_owned(), named: true }
    }

    fn in_folder(folder: PathBuf) -> Self {
        Self { file: folder.join("config.toml"), folder, named: false }
    }

    /// Settings in the file; nothing where there is no file.
    pub fn read(&self) -> Result<Option<Config>, Error> {
        match disk::read_text(&self.file, InputKind::Configuration) {
            Ok(text) => parse(&text, &self.file).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Read(error)),
        }
    }
}

/// Where the problems of a file that was read stand in it.
pub fn mistakes(place: &Place, problems: &[Problem]) -> String {
    let text = disk::read_text(&place.file, InputKind::Configuration).unwrap_or_default();
    match file::Source::new(&text) {
        Ok(source) => source.mistakes(problems).in_file(&place.file.display().to_string()).to_string(),
        Err(error) => error.to_string(),
    }
}

fn parse(text: &str, file: &Path) -> Result<Config, Error> {
    file::read_unversioned(text).map_err(|error| Error::Wrong(error.in_file(&file.display().to_string())))
}

#[cfg(test)]
mod tests;
