//! [`KeyReader`] as terminals send them, and every other byte.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn ctrl_c_is_one_however_it_is_spelt() {
    for bytes in ["\x03", "\x1b[27;5;99~", "\x1b[99;5u"] {
        assert_eq!(read(&[bytes.as_bytes()]), [Input::Interrupt], "{bytes:?}");
    }
}

/// What bytes mean that come in pieces, and then nothing more.
fn read(pieces: &[&[u8]]) -> Vec<Input> {
    let (mut keys, mut said) = (KeyReader::default(), Vec::new());
    for piece in pieces {
        keys.take(piece, &mut |input| said.push(input));
    }
    keys.settle(&mut |input| said.push(input));
    assert_eq!(keys.patience(), None, "something is still waited for");
    said
}

fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Key(KeyEvent::new(code, modifiers))
}

#[test]
fn keys_are_what_terminals_send() {
    let (none, alt, control) = (KeyModifiers::NONE, KeyModifiers::ALT, KeyModifiers::CONTROL);
    for (bytes, code, modifiers) in [
        ("j", KeyCode::Char('j'), none),
        ("G", KeyCode::Char('G'), KeyModifiers::SHIFT),
        ("é", KeyCode::Char('é'), none),
        ("日", KeyCode::Char('日'), none),
        ("\r", KeyCode::Enter, none),
        ("\n", KeyCode::Char('j'), control),
        ("\t", KeyCode::Tab, none),
        ("\x7f", KeyCode::Backspace, none),
        ("\x15", KeyCode::Char('u'), control),
        ("\x1b", KeyCode::Esc, none),
        ("\x1b\x1b", KeyCode::Esc, none),
        ("\x1bx", KeyCode::Char('x'), alt),
        ("\x1b[A", KeyCode::Up, none),
        ("\x1bOB", KeyCode::Down, none),
        ("\x1b[1;5C", KeyCode::Right, control),
        ("\x1b[1;3D", KeyCode::Left, alt),
        ("\x1b[H", KeyCode::Home, none),
        ("\x1b[4~", KeyCode::End, none),
        ("\x1b[5~", KeyCode::PageUp, none),
        ("\x1b[3;2~", KeyCode::Delete, KeyModifiers::SHIFT),
        ("\x1b[Z", KeyCode::BackTab, KeyModifiers::SHIFT),
        ("\x1bOP", KeyCode::F(1), none),
        ("\x1b[[A", KeyCode::F(1), none),
        ("\x1b[15~", KeyCode::F(5), none),
        ("\x1b[24~", KeyCode::F(12), none),
        ("\x1b[27;5;106~", KeyCode::Char('j'), control),
    ] {
        assert_eq!(read(&[bytes.as_bytes()]), [pressed(code, modifiers)], "{bytes:?}");
        // However the line cuts it, as long as no pause ends it.
        let cut: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
        assert_eq!(read(&cut), [pressed(code, modifiers)], "{bytes:?} in pieces");
    }
}

#[test]
fn the_mouse_says_where_it_is() {
    assert_eq!(read(&[b"\x1b[<0;5;6M\x1b[<0;5;6m"]), [Input::Mouse(Gesture::Click, (4, 5))]);
    assert_eq!(
        read(&[b"\x1b[<65;1;1M\x1b[<36;300;2M"]),
        [Input::Mouse(Gesture::WheelDown, (0, 0)), Input::Mouse(Gesture::Drag, (299, 1)),]
    );
    assert_eq!(read(&[b"\x1b[<0;99999;1M\x1b[<;;M\x1b[<M"]), []);
}

#[test]
fn a_key_that_is_let_go_of_is_no_key() {
    for (event, counts) in [("", true), (":1", true), (":2", true), (":3", false)] {
        let said = read(&[format!("\x1b[106;1{event}u").as_bytes()]);
        assert_eq!(said == [pressed(KeyCode::Char('j'), KeyModifiers::NONE)], counts, "{event}");
    }
}

#[test]
fn pasted_text_is_no_key() {
    let text = "q\r:quit\x1b[A \x1b[20";
    let pasted = format!("\x1b[200~{text}\x1b[201~j");
    assert_eq!(
        read(&[pasted.as_bytes()]),
        [Input::Paste(text.to_owned()), pressed(KeyCode::Char('j'), KeyModifiers::NONE)]
    );
    let long = [b"\x1b[200~".as_slice(), &vec![b'x'; 1 << 20], PASTE_END].concat();
    let [Input::Paste(kept)] = &read(&[&long])[..] else { panic!("one paste") };
    assert_eq!(kept.len(), MOST_PASTED);
    assert_eq!(read(&[b"\x1b[200~abc"]), [Input::Paste("abc".to_owned())], "an unfinished one ends in silence");
}

#[test]
fn what_is_unfinished_means_nothing_and_is_forgotten() {
    for unfinished in ["\x1b[<0;1", "\x1b[", "\x1bO", "\x1b[1;", "\u{e9}"] {
        let mut keys = KeyReader::default();
        let bytes = unfinished.as_bytes();
        let cut = if unfinished.is_ascii() { bytes } else { &bytes[..1] };
        keys.take(cut, &mut |input| panic!("{input:?}"));
        assert_eq!(keys.patience(), Some(UNFINISHED));
        keys.settle(&mut |input| panic!("{input:?}"));
        let mut said = Vec::new();
        keys.take(b"q", &mut |input| said.push(input));
        assert_eq!(said, [pressed(KeyCode::Char('q'), KeyModifiers::NONE)], "{unfinished:?}");
    }
}

/// Bytes as terminals send them, cut and mixed.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        b"\x1b[200~".as_slice(),
        PASTE_END,
        b"\x1b[<0;1",
        b"\x1b",
        b"\x1bO",
        b"\x1b]52;c;",
        b"\x1bP",
        b"j",
        b";65535M",
    ]);
    let part = prop_oneof![known.prop_map(<[u8]>::to_vec), vec(any::<u8>(), 0..40)];
    vec(part, 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn ctrl_c_is_heard_whatever_came_before(bytes in bytes(), piece in 1_usize..5000) {
        let mut keys = KeyReader::default();
        for piece in bytes.chunks(piece) {
            keys.take(piece, &mut |_| ());
            prop_assert!(keys.sequence.len() < LONGEST);
            prop_assert!(keys.paste.as_ref().is_none_or(|paste| paste.text.len() <= MOST_PASTED));
        }
        let mut said = Vec::new();
        keys.take(b"j\x03j", &mut |input| said.push(input));
        prop_assert_eq!(said, vec![Input::Interrupt]);
        prop_assert!(keys.patience().is_none());
    }
}
