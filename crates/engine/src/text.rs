//! The one filter for foreign text: no byte of a file or an argument commands a terminal, hides what is said, or becomes
//! code in a file that is written.
//!
//! Everything that is printed passes [`visible`] or [`escaped`] in `cli::output`, and every cell of a screen is looked at
//! in `ui`. [`printable`] also makes one line of it, for messages and tables. Not for our own colours and motions, nor for
//! the languages that are written, each of which has one writer.

use std::borrow::Cow;
use std::fmt::Write;

/// Stands for what is not shown.
pub const REPLACEMENT: char = char::REPLACEMENT_CHARACTER;

/// The most characters of foreign text that a message repeats.
const MOST_SHOWN: usize = 1000;

/// Whether a character commands a terminal (C0, DEL and C1), or shows nothing where it stands: what turns the direction
/// of text, is of no width, is a tag, ends a line in its own way, or is ignored by default (Unicode's
/// `Default_Ignorable_Code_Point` and its invisible characters of the category Cf).
pub const fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a byte is a printing character of ASCII, as nearly all are: whole texts of them take no look at each character.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}

/// Lines of text as a terminal may have them: of what is hidden only ends of lines and tabs are kept.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Every byte is looked at, many at once: that is faster than to stop at the first.
    if text.bytes().fold(true, |plain, byte| plain & (byte == b'\n' || is_plain(byte))) {
        return Cow::Borrowed(text);
    }
    let kept = |c: char| matches!(c, '\n' | '\t') || !is_hidden(c);
    if text.chars().all(kept) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\r\n", "\n");
    Cow::Owned(text.chars().map(|c| if kept(c) { c } else { REPLACEMENT }).collect())
}

/// JSON that says the same in characters that are seen: outside its strings nothing is hidden but the ends of lines.
pub fn escaped(json: &str) -> Cow<'_, str> {
    let kept = |c: char| c == '\n' || !is_hidden(c);
    if json.chars().all(kept) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if kept(c) {
            text.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // A string takes every text.
            let _ = write!(text, "\\u{unit:04x}");
        }
    }
    Cow::Owned(text)
}

/// Foreign text in one line, cut where it is very long.
pub fn printable(text: &str) -> String {
    one_line(text).into_owned()
}

/// The same, borrowed where it is so already.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_SHOWN && text.bytes().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c {
        '\n' | '\t' => ' ',
        c if is_hidden(c) => REPLACEMENT,
        c => c,
    };
    text.chars().map(shown).take(MOST_SHOWN).collect()
}

/// The most characters of a name or an id.
pub(crate) const MOST_OF_NAME: usize = 200;

/// A name made of foreign text: one line of at most 200 characters.
pub fn name(text: &str) -> String {
    printable(text).chars().take(MOST_OF_NAME).collect()
}

/// Why a text is no single line; `None` where it is one.
pub(crate) fn no_line(text: &str) -> Option<&'static str> {
    text.contains(ends_line).then_some("must be one line; take the line break out")
}

/// Why a text is no name or id; `None` where it is one.
pub fn no_name(text: &str) -> Option<&'static str> {
    let is_long = text.chars().nth(MOST_OF_NAME).is_some();
    no_line(text).or_else(|| is_long.then_some("must have at most 200 characters; shorten it"))
}

/// Whether a character ends a line, for Unicode or for any reader.
const fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// A line of a comment as shells, YAML, TOML and Python have it, whatever the text.
pub fn comment(text: &str) -> String {
    format!("# {}\n", printable(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clipboard written by OSC 52, a CSI in one byte, an overridden direction, no width, a tag, a line end of Unicode.
    const HOSTILE: &str = "a\u{1b}]52;c;eA==\u{7}b\u{9b}2Jc\u{202e}d\u{200b}e\u{e0041}f\u{2028}g\u{7f}";

    #[test]
    fn what_is_hidden_is_seen_to_have_been_there() {
        assert_eq!(visible(HOSTILE), "a�]52;c;eA==�b�2Jc�d�e�f�g�");
        assert_eq!(visible("two\r\nlines\tand\ra"), "two\nlines\tand�a");
        assert_eq!(printable("two\nlines\u{feff}"), "two lines�");
        assert!(matches!(visible("größer, ≥ 1 日本\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_name_is_one_line_of_200_characters() {
        for end in ["\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
            let broken = format!("a{end}b");
            assert_eq!(no_name(&broken), Some("must be one line; take the line break out"), "{broken:?}");
            assert_eq!((no_name(&name(&broken)), comment(&broken).lines().count()), (None, 1), "{broken:?}");
        }
        assert_eq!(no_name(&"é".repeat(200)), None);
        assert!(no_name(&"é".repeat(201)).is_some_and(|why| why.contains("200")));
        assert_eq!(name(&"é".repeat(300)), "é".repeat(200));
    }

    #[test]
    fn json_says_the_same_in_characters_that_are_seen() {
        let json = serde_json::to_string_pretty(&[HOSTILE, "größer"]).unwrap();
        let escaped = escaped(&json);
        assert!(escaped.chars().all(|c| c == '\n' || !is_hidden(c)), "{escaped}");
        assert!(escaped.contains(r"\u202e") && escaped.contains(r"\udb40\udc41") && escaped.contains("größer"));
        assert_eq!(serde_json::from_str::<Vec<String>>(&escaped).unwrap(), [HOSTILE, "größer"]);
    }
}
