//! What the terminal can show: how many colours, which glyphs, how many bytes.
//!
//! Decided once from flags and environment, without asking the terminal: an answer that comes late over SSH would be
//! read as keys. Not for the colours themselves, which are [`super::theme`]'s.

use std::str::FromStr;

/// How many colours the terminal shows.
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

impl FromStr for Depth {
    type Err = String;

    /// Reads a name; `auto` is the caller's.
    fn from_str(text: &str) -> Result<Self, String> {
        [Self::None, Self::C16, Self::C256, Self::True]
            .into_iter()
            .find(|depth| depth.name() == text)
            .ok_or_else(|| format!("'{text}' is no palette: use auto, truecolor, 256, 16 or none"))
    }
}

/// What the user said, by flag or configuration. It wins over whatever the environment hints at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overrides {
    /// Colours; `None` leaves it to the environment.
    pub depth: Option<Depth>,
    /// Plain ASCII; `None` leaves it to the locale.
    pub ascii: Option<bool>,
    /// A light background; `None` leaves it to `COLORFGBG`.
    pub light: Option<bool>,
    /// Fewer bytes: 256 colours at most, fewer frames.
    pub low_bandwidth: bool,
}

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Caps {
    /// Colours.
    pub depth: Depth,
    /// Whether only ASCII is safe.
    pub ascii: bool,
    /// Whether the background is light.
    pub light: bool,
    /// Whether bytes are dear.
    pub low_bandwidth: bool,
}

impl Caps {
    /// Decides from the environment (`env` looks a variable up) and from what the user said.
    ///
    /// Colours: the user's word, then `NO_COLOR` (not empty), then `COLORTERM` (`truecolor`, `24bit`), then `TERM`.
    /// OpenSSH does not forward `COLORTERM`, so `TERM` has to do there. Glyphs: the user's word, then the first of
    /// `LC_ALL`, `LC_CTYPE` and `LANG` that is set. Background: the user's word, then `COLORFGBG`.
    pub fn detect(env: &dyn Fn(&str) -> Option<String>, overrides: Overrides) -> Self {
        let var = |name: &str| env(name).filter(|value| !value.is_empty());
        let limit = if overrides.low_bandwidth { Depth::C256 } else { Depth::True };
        Self {
            depth: overrides.depth.unwrap_or_else(|| depth(&var).min(limit)),
            ascii: overrides.ascii.unwrap_or_else(|| !utf8(&var)),
            light: overrides.light.unwrap_or_else(|| light(&var)),
            low_bandwidth: overrides.low_bandwidth,
        }
    }
}

/// Terminals that show 256 colours without saying so in `TERM`.
const CAPABLE: [&str; 5] = ["kitty", "alacritty", "foot", "wezterm", "ghostty"];

fn depth(var: &dyn Fn(&str) -> Option<String>) -> Depth {
    if var("NO_COLOR").is_some() {
        return Depth::None;
    }
    let term = var("TERM").unwrap_or_default();
    let colorterm = var("COLORTERM").unwrap_or_default().to_ascii_lowercase();
    if colorterm == "truecolor" || colorterm == "24bit" {
        Depth::True
    } else if term.is_empty() || term == "dumb" {
        Depth::None
    } else if term.contains("256color") || CAPABLE.iter().any(|name| term.contains(name)) {
        Depth::C256
    } else {
        Depth::C16
    }
}

fn utf8(var: &dyn Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(var).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// `COLORFGBG` ends in the background's number: of the 16 colours, white (7) and the bright ones but grey are light.
fn light(var: &dyn Fn(&str) -> Option<String>) -> bool {
    let background = var("COLORFGBG").and_then(|pair| pair.rsplit(';').next()?.parse::<u8>().ok());
    background.is_some_and(|number| number == 7 || (9..=15).contains(&number))
}

#[cfg(test)]
mod tests;
