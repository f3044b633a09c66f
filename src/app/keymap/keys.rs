//! Keys under the names that the table gives them: what says left, what closes, what takes.
//!
//! Not for what they ask for.

use crossterm::event::{KeyCode, KeyModifiers};

pub const NONE: KeyModifiers = KeyModifiers::NONE;
pub const CTRL: KeyModifiers = KeyModifiers::CONTROL;

pub type Keys = &'static [(KeyCode, KeyModifiers)];

pub const LEFT: Keys = &[(KeyCode::Left, NONE), (KeyCode::Char('h'), NONE)];
pub const RIGHT: Keys = &[(KeyCode::Right, NONE), (KeyCode::Char('l'), NONE)];
pub const UP: Keys = &[(KeyCode::Up, NONE), (KeyCode::Char('k'), NONE)];
pub const DOWN: Keys = &[(KeyCode::Down, NONE), (KeyCode::Char('j'), NONE)];
pub const FIRST: Keys = &[(KeyCode::Char('g'), NONE), (KeyCode::Home, NONE)];
pub const LAST: Keys = &[(KeyCode::Char('G'), NONE), (KeyCode::End, NONE)];
pub const PAGE_UP: Keys = &[(KeyCode::PageUp, NONE), (KeyCode::Char('u'), CTRL)];
pub const PAGE_DOWN: Keys = &[(KeyCode::PageDown, NONE), (KeyCode::Char('d'), CTRL)];
pub const LETTER_M: Keys = &[(KeyCode::Char('m'), NONE)];
pub const LETTER_T: Keys = &[(KeyCode::Char('t'), NONE)];
pub const LETTER_N: Keys = &[(KeyCode::Char('n'), NONE)];
pub const LETTER_R: Keys = &[(KeyCode::Char('r'), NONE)];
pub const LETTER_D: Keys = &[(KeyCode::Char('d'), NONE)];
pub const ZERO: Keys = &[(KeyCode::Char('0'), NONE)];
pub const TAKE: Keys = &[(KeyCode::Enter, NONE)];
pub const SEARCH: Keys = &[(KeyCode::Char('/'), NONE)];
pub const CLOSE: Keys = &[(KeyCode::Esc, NONE)];
pub const MORE: Keys = &[(KeyCode::Char('+'), NONE), (KeyCode::Char('='), NONE)];
pub const LESS: Keys = &[(KeyCode::Char('-'), NONE)];
pub const REMOVE: Keys = &[(KeyCode::Char('x'), NONE), (KeyCode::Delete, NONE)];
pub const LESS_LIMIT: Keys = &[(KeyCode::Char('['), NONE), (KeyCode::Left, NONE), (KeyCode::Char('h'), NONE)];
pub const MORE_LIMIT: Keys = &[(KeyCode::Char(']'), NONE), (KeyCode::Right, NONE), (KeyCode::Char('l'), NONE)];
pub const NEXT: Keys = &[(KeyCode::Tab, NONE)];
pub const PREVIOUS: Keys = &[(KeyCode::BackTab, NONE)];
pub const QUIT: Keys = &[(KeyCode::Char('q'), NONE), (KeyCode::Char('c'), CTRL)];
pub const INTERRUPT: Keys = &[(KeyCode::Char('c'), CTRL)];
pub const SUSPEND: Keys = &[(KeyCode::Char('z'), CTRL)];
