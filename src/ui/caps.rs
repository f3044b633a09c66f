//! Capabilities of the terminal: colours, glyphs, and whether its line is slow.
//!
//! Decided once from flags and environment, without asking the terminal: an answer that comes late over SSH would be
//! read as keys. Not for the colours themselves, which are [`super::theme`]'s.

use crate::app::Options;
use crate::app::layer::page::Finding;
use crate::config::{Background, ColorDepth, Markers};

/// The depth of the terminal's colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Depth {
    /// None: bold, reverse and underline only.
    #[default]
    None,
    /// The 16 named colours of the user's own scheme.
    C16,
    /// The fixed palette of xterm.
    C256,
    /// Any colour.
    True,
}

impl Depth {
    /// Its name, as `--palette` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::C16 => "16",
            Self::C256 => "256",
            Self::True => "truecolor",
        }
    }
}

/// The user's own settings, by flag or configuration. They win over hints of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Colours; `None` leaves it to the environment.
    pub depth: Option<Depth>,
    /// Plain ASCII; `None` leaves it to the locale.
    pub ascii: Option<bool>,
    /// A light background; `None` leaves it to `COLORFGBG`.
    pub light: Option<bool>,
    /// The markers of curves; `None` leaves it to the locale and `TERM`.
    pub markers: Option<Markers>,
    /// Fewer bytes: 256 colours at most, fewer frames.
    pub low_bandwidth: bool,
}

impl From<&Options> for Overrides {
    fn from(options: &Options) -> Self {
        let depth = match options.terminal.palette {
            ColorDepth::Auto => None,
            ColorDepth::Truecolor => Some(Depth::True),
            ColorDepth::Xterm256 => Some(Depth::C256),
            ColorDepth::Ansi16 => Some(Depth::C16),
            ColorDepth::None => Some(Depth::None),
        };
        Self {
            depth,
            ascii: options.terminal.ascii.then_some(true),
            light: options.terminal.theme.map(|theme| theme == Background::Light),
            markers: options.terminal.markers,
            low_bandwidth: options.terminal.low_bandwidth,
        }
    }
}

/// Capabilities of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// Colours.
    pub depth: Depth,
    /// Whether only ASCII is safe.
    pub ascii: bool,
    /// Whether the background is light.
    pub light: bool,
    /// The markers of curves.
    pub markers: Markers,
    /// Whether the link is slow: fewer bytes are written.
    pub low_bandwidth: bool,
}

impl Caps {
    /// Decides from the environment (`env` looks a variable up) and from what the user said.
    ///
    /// Colours: the user's word, then `NO_COLOR` (not empty), then `COLORTERM` (`truecolor`, `24bit`), then `TERM`.
    /// OpenSSH does not forward `COLORTERM`, so `TERM` has to do there. Glyphs: the user's word, then the first of
    /// `LC_ALL`, `LC_CTYPE` and `LANG` that is set. Background: the user's word, then `COLORFGBG`.
    pub fn detect(env: &dyn Fn(&str) -> Option<String>, overrides: Overrides) -> Self {
        Self::found(env, overrides).0
    }

    /// Finds the capabilities, with the reason of each, for the diagnostics.
    pub fn found(env: &dyn Fn(&str) -> Option<String>, overrides: Overrides) -> (Self, Vec<Finding>) {
        let var = |name: &str| env(name).filter(|value| !value.is_empty());
        let said = |what: &str| format!("set by {what}");
        let limit = if overrides.low_bandwidth { Depth::C256 } else { Depth::True };
        let (depth, depth_why) = match overrides.depth {
            Some(depth) => (depth, said("--palette or config.toml")),
            None => depth(&var),
        };
        // A slow link takes back nothing that the user asked for by name.
        let held = overrides.depth.is_none() && depth > limit;
        let (depth, held) = if held { (limit, ", limited by --low-bandwidth") } else { (depth, "") };
        let (ascii, ascii_why) = match overrides.ascii {
            Some(ascii) => (ascii, said("--ascii or config.toml")),
            None => ascii(&var),
        };
        let (light, light_why) = match overrides.light {
            Some(light) => (light, said("config.toml")),
            None => light(&var),
        };
        let (markers, markers_why) = match overrides.markers {
            _ if ascii => (Markers::Ascii, "as the glyphs are".to_owned()),
            Some(markers) => (markers, said("config.toml")),
            // Few fonts lack half blocks, many lack Braille.
            None => (Markers::Block, "every font has them".to_owned()),
        };
        let finding = |what, value: &str, why: String, fix| Finding::new(what, value, &why, fix);
        let findings = vec![
            finding("colours", depth.name(), format!("{depth_why}{held}"), "--palette, or palette in config.toml"),
            finding(
                "glyphs",
                if ascii { "ASCII" } else { "Unicode" },
                ascii_why,
                "--ascii, ascii in config.toml, or a UTF-8 locale",
            ),
            finding("curves", markers.name(), markers_why, "markers in config.toml"),
            finding("background", if light { "light" } else { "dark" }, light_why, "theme in config.toml"),
        ];
        (Self { depth, ascii, light, markers, low_bandwidth: overrides.low_bandwidth }, findings)
    }
}

/// Terminals that show 256 colours without saying so in `TERM`.
const CAPABLE: [&str; 5] = ["kitty", "alacritty", "foot", "wezterm", "ghostty"];

fn depth(var: &dyn Fn(&str) -> Option<String>) -> (Depth, String) {
    if var("NO_COLOR").is_some() {
        return (Depth::None, "NO_COLOR is set".to_owned());
    }
    let term = var("TERM").unwrap_or_default();
    let colorterm = var("COLORTERM").unwrap_or_default();
    if ["truecolor", "24bit"].contains(&colorterm.to_ascii_lowercase().as_str()) {
        return (Depth::True, format!("COLORTERM={colorterm}"));
    }
    let depth = if term.is_empty() || term == "dumb" {
        Depth::None
    } else if term.contains("256color") || CAPABLE.iter().any(|name| term.contains(name)) {
        Depth::C256
    } else {
        Depth::C16
    };
    (depth, format!("TERM={term}, and COLORTERM does not say more"))
}

/// Whether only ASCII is safe.
fn ascii(var: &dyn Fn(&str) -> Option<String>) -> (bool, String) {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, var(name)?)));
    let Some((name, locale)) = set else { return (true, "no locale is set".to_owned()) };
    let lower = locale.to_ascii_lowercase();
    (!lower.contains("utf-8") && !lower.contains("utf8"), format!("{name}={locale}"))
}

/// `COLORFGBG` ends in the background's number: of the 16 colours, white (7) and the bright ones but grey are light.
fn light(var: &dyn Fn(&str) -> Option<String>) -> (bool, String) {
    let Some(pair) = var("COLORFGBG") else {
        return (false, "COLORFGBG is not set, and the terminal is not asked".to_owned());
    };
    let background = pair.rsplit(';').next().and_then(|number| number.parse::<u8>().ok());
    (background.is_some_and(|number| number == 7 || (9..=15).contains(&number)), format!("COLORFGBG={pair}"))
}

#[cfg(test)]
mod tests;
