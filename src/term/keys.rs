//! Meaning of bytes from the terminal: keys, gestures of the mouse, pasted text.
//!
//! Three promises, whatever comes: Ctrl-C is heard at once; pasted text is never taken for keys; what is unfinished
//! neither grows nor waits for ever. Not for reading the bytes, nor for what a key means ([`crate::app::action::keys`]).

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::state::pointing::Gesture;

/// How long the rest of a sequence may take to come: an Esc by itself is a key after that.
const UNFINISHED: Duration = Duration::from_millis(25);

/// How long the rest of a paste may take to come, over a line that stalls.
const UNFINISHED_PASTE: Duration = Duration::from_secs(3);

/// The longest sequence that means anything here is the mouse's, `ESC [ < 64 ; 65535 ; 65535 M`.
const LONGEST: usize = 32;

/// The most bytes of a paste that are kept: far more than any field takes.
const MOST_PASTED: usize = 4096;

/// How a paste ends, which begins with `ESC [ 200 ~`.
const PASTE_END: &[u8] = b"\x1b[201~";

const ESC: u8 = 0x1b;
const CTRL_C: u8 = 0x03;

/// Input of a person at the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    Key(KeyEvent),
    /// The mouse did something at a column and a row.
    Mouse(Gesture, (u16, u16)),
    Paste(String),
    /// Ctrl-C, before which nothing else counts.
    Interrupt,
}

/// The bytes of what is not finished yet.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    sequence: Vec<u8>,
    paste: Option<Paste>,
}

#[derive(Debug, Default)]
struct Paste {
    text: Vec<u8>,
    /// How many of the last bytes may be the first ones of its end.
    matched: usize,
}

/// Meaning of a sequence of bytes so far.
enum Meaning {
    Unfinished,
    Nothing,
    PasteBegins,
    Input(Input),
}

impl KeyReader {
    /// Takes bytes as they come, and says what they mean.
    pub(super) fn take(&mut self, bytes: &[u8], say: &mut impl FnMut(Input)) {
        // No text in UTF-8 and no sequence that is understood holds this byte, so it is looked for before anything else.
        if bytes.contains(&CTRL_C) {
            *self = Self::default();
            return say(Input::Interrupt);
        }
        for byte in bytes {
            self.take_byte(*byte, say);
        }
    }

    fn take_byte(&mut self, byte: u8, say: &mut impl FnMut(Input)) {
        if let Some(paste) = &mut self.paste {
            if paste.ends_with(byte) {
                self.settle(say);
            }
            return;
        }
        if byte == ESC && self.sequence.len() > 1 {
            // A new sequence begins: what there is of the old one is worth nothing.
            self.sequence.clear();
        }
        self.sequence.push(byte);
        match meaning(&self.sequence) {
            Meaning::Unfinished if self.sequence.len() < LONGEST => return,
            Meaning::Unfinished | Meaning::Nothing => {}
            Meaning::PasteBegins => self.paste = Some(Paste::default()),
            Meaning::Input(input) => say(input),
        }
        self.sequence.clear();
    }

    /// How long to wait for more before [`Self::settle`]; for ever where nothing is unfinished.
    pub(super) fn patience(&self) -> Option<Duration> {
        match &self.paste {
            Some(_) => Some(UNFINISHED_PASTE),
            None => (!self.sequence.is_empty()).then_some(UNFINISHED),
        }
    }

    /// Nothing more came: an Esc was a key, a paste is whole, and half a sequence means nothing.
    pub(super) fn settle(&mut self, say: &mut impl FnMut(Input)) {
        let Self { sequence, paste } = std::mem::take(self);
        if let Some(paste) = paste {
            say(Input::Paste(String::from_utf8_lossy(&paste.text).into_owned()));
        } else if sequence == [ESC] {
            say(Input::Key(KeyCode::Esc.into()));
        }
    }
}

impl Paste {
    /// Takes a byte; whether it is the last one of the end.
    fn ends_with(&mut self, byte: u8) -> bool {
        if PASTE_END[self.matched] == byte {
            self.matched += 1;
            return self.matched == PASTE_END.len();
        }
        // The end has one Esc, its first byte: what seemed to be the end was text, and a new end begins here or nowhere.
        let (seemed, begins) = (&PASTE_END[..self.matched], byte == ESC);
        self.text.extend(seemed.iter().copied().chain((!begins).then_some(byte)));
        self.text.truncate(MOST_PASTED);
        self.matched = usize::from(begins);
        false
    }
}

fn meaning(bytes: &[u8]) -> Meaning {
    match bytes {
        [ESC] | [ESC, b'O'] => Meaning::Unfinished,
        [ESC, ESC] => key(KeyCode::Esc, KeyModifiers::NONE),
        [ESC, b'O', last] => named(*last).map_or(Meaning::Nothing, |code| key(code, KeyModifiers::NONE)),
        [ESC, b'[', rest @ ..] => control_sequence(rest),
        [ESC, rest @ ..] => match meaning(rest) {
            Meaning::Input(Input::Key(pressed)) => key(pressed.code, pressed.modifiers | KeyModifiers::ALT),
            other => other,
        },
        [byte] if byte.is_ascii() => single(*byte),
        _ => letter(bytes),
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Meaning {
    Meaning::Input(Input::Key(KeyEvent::new(code, modifiers)))
}

/// A key that is one byte of ASCII.
fn single(byte: u8) -> Meaning {
    let control = |letter: u8| key(KeyCode::Char(char::from(letter)), KeyModifiers::CONTROL);
    match byte {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE),
        0x7f => key(KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        0x01..=0x1a => control(byte - 1 + b'a'),
        0x1c..=0x1f => control(byte - 0x1c + b'4'),
        _ => character(char::from(byte)),
    }
}

fn character(c: char) -> Meaning {
    key(KeyCode::Char(c), if c.is_uppercase() { KeyModifiers::SHIFT } else { KeyModifiers::NONE })
}

/// A letter in UTF-8, of which some bytes may still come.
fn letter(bytes: &[u8]) -> Meaning {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().next().map_or(Meaning::Nothing, character),
        Err(error) if error.error_len().is_none() => Meaning::Unfinished,
        Err(_) => Meaning::Nothing,
    }
}

/// The keys that xterm names by a letter (`CSI A`, `SS3 A`).
const fn named(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'Z' => KeyCode::BackTab,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

/// The keys that the VT220 names by a number (`CSI 5 ~`).
const fn numbered(number: u16) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number as u8 - 10),
        17..=21 => KeyCode::F(number as u8 - 11),
        23..=26 => KeyCode::F(number as u8 - 12),
        28..=29 => KeyCode::F(number as u8 - 13),
        31..=34 => KeyCode::F(number as u8 - 14),
        _ => return None,
    })
}

/// What follows `ESC [`: parameters, then one last byte (ECMA-48, 5.4).
fn control_sequence(bytes: &[u8]) -> Meaning {
    let (parameters, last) = match bytes {
        [] | [b'['] | [.., 0x20..=0x3f] => return Meaning::Unfinished,
        // The keys F1 to F5 of Linux's console.
        [b'[', letter @ b'A'..=b'E'] => return key(KeyCode::F(letter - b'A' + 1), KeyModifiers::NONE),
        [parameters @ .., last @ 0x40..=0x7e] => (parameters, *last),
        _ => return Meaning::Nothing,
    };
    let Ok(text) = std::str::from_utf8(parameters) else { return Meaning::Nothing };
    if let Some(place) = text.strip_prefix('<') {
        return mouse(place, last).map_or(Meaning::Nothing, Meaning::Input);
    }
    // Where a terminal says more of a key than it is asked for, this is one that is let go of.
    if text.ends_with(":3") {
        return Meaning::Nothing;
    }
    let mut numbers = text.split(';').map(|number| number.split(':').next()?.parse::<u16>().ok());
    let [first, second, third] = [(); 3].map(|()| numbers.next().flatten());
    let letter = |code: u16| char::from_u32(code.into()).filter(|c| !c.is_control()).map(KeyCode::Char);
    let code = match (last, first) {
        (b'~', Some(200)) => return Meaning::PasteBegins,
        // Where xterm, or tmux for it, names all keys alike (modifyOtherKeys).
        (b'~', Some(27)) => third.and_then(letter),
        (b'~', Some(number)) => numbered(number),
        (b'u', Some(code)) => letter(code),
        _ => named(last),
    };
    let modifiers = if last == b'Z' { KeyModifiers::SHIFT } else { modifiers(second.unwrap_or(1)) };
    match code {
        // However a terminal spells it.
        Some(KeyCode::Char('c')) if modifiers == KeyModifiers::CONTROL => Meaning::Input(Input::Interrupt),
        Some(code) => key(code, modifiers),
        None => Meaning::Nothing,
    }
}

/// The modifiers as xterm counts them, from 1: 1 for Shift, 2 for Alt, 4 for Control.
fn modifiers(number: u16) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let all = [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)];
    all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, modifier)| modifier).collect()
}

/// What the mouse did, in SGR's form: `button ; column ; row`, then `M`, or `m` where a button is let go of.
fn mouse(text: &str, last: u8) -> Option<Input> {
    let mut numbers = text.split(';').map(|number| number.parse::<u16>().ok());
    let (button, column, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    // Shift, Alt and Control (4, 8, 16) change nothing.
    let gesture = match (button & !(4 | 8 | 16), last) {
        (0, b'M') => Gesture::Click,
        (32, b'M') => Gesture::Drag,
        (64, b'M') => Gesture::WheelUp,
        (65, b'M') => Gesture::WheelDown,
        _ => return None,
    };
    Some(Input::Mouse(gesture, (column.saturating_sub(1), row.saturating_sub(1))))
}

#[cfg(test)]
mod tests;
