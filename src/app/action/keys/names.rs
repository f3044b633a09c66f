//! Names of keys, as the configuration has them, and back.

use crossterm::event::{KeyCode, KeyModifiers};

/// Keys that are no characters.
const NAMED: [(&str, KeyCode); 16] = [
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("space", KeyCode::Char(' ')),
];

/// The key of a name: `q`, `ctrl-c`, `pgup`, `f5`; or why it is none.
pub fn key(name: &str) -> Result<(KeyCode, KeyModifiers), String> {
    let (modifiers, rest) = match (name.strip_prefix("ctrl-"), name.strip_prefix("alt-")) {
        (Some(rest), _) if !rest.is_empty() => (KeyModifiers::CONTROL, rest),
        (_, Some(rest)) if !rest.is_empty() => (KeyModifiers::ALT, rest),
        _ => (KeyModifiers::NONE, name),
    };
    let mut letters = rest.chars();
    let code = match (letters.next(), letters.next()) {
        (Some(letter), None) => KeyCode::Char(letter),
        _ => find_key(rest)
            .ok_or_else(|| format!("'{name}' is not a key; write q, Q, ctrl-c, alt-x, {} or f1", list()))?,
    };
    let same = match code {
        KeyCode::Char('i') => "Tab",
        KeyCode::Char('j' | 'm') => "Enter",
        KeyCode::Char('h') => "Backspace",
        KeyCode::Char('[') => "Esc",
        _ => "",
    };
    if modifiers == KeyModifiers::CONTROL && !same.is_empty() {
        return Err(format!("a terminal sends the same for {name} and {same}; choose another key"));
    }
    Ok((code, modifiers))
}

fn find_key(name: &str) -> Option<KeyCode> {
    let known = NAMED.iter().find(|(known, _)| *known == name).map(|(_, code)| *code);
    let function = || name.strip_prefix('f')?.parse().ok().filter(|number| (1..=12).contains(number));
    known.or_else(|| function().map(KeyCode::F))
}

fn list() -> String {
    NAMED.map(|(name, _)| name).join(", ")
}

/// The name of a key.
pub fn name((code, modifiers): (KeyCode, KeyModifiers)) -> String {
    let known = NAMED.iter().find(|(_, known)| *known == code).map(|(name, _)| (*name).to_owned());
    let name = known.unwrap_or_else(|| match code {
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::F(number) => format!("f{number}"),
        other => format!("{other:?}"),
    });
    match modifiers {
        KeyModifiers::CONTROL => format!("ctrl-{name}"),
        KeyModifiers::ALT => format!("alt-{name}"),
        _ => name,
    }
}

/// A key as the footer shows it: with arrows as signs and `^` for Ctrl, or in ASCII.
pub fn shown(key: (KeyCode, KeyModifiers), ascii: bool) -> String {
    match (key, ascii) {
        ((KeyCode::Left, KeyModifiers::NONE), false) => "←".to_owned(),
        ((KeyCode::Down, KeyModifiers::NONE), false) => "↓".to_owned(),
        ((KeyCode::Up, KeyModifiers::NONE), false) => "↑".to_owned(),
        ((KeyCode::Right, KeyModifiers::NONE), false) => "→".to_owned(),
        ((KeyCode::PageUp, KeyModifiers::NONE), _) => "PgUp".to_owned(),
        ((KeyCode::PageDown, KeyModifiers::NONE), _) => "PgDn".to_owned(),
        ((KeyCode::BackTab, KeyModifiers::NONE), _) => "Shift-Tab".to_owned(),
        ((KeyCode::Char(letter), KeyModifiers::CONTROL), _) => format!("^{}", letter.to_ascii_uppercase()),
        ((KeyCode::Char(letter), KeyModifiers::NONE), _) if letter != ' ' => letter.to_string(),
        (key, _) => {
            let name = name(key);
            name[..1].to_uppercase() + &name[1..]
        }
    }
}
