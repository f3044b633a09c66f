//! Keys as no hand presses them, on a real terminal: whatever came before, Ctrl-C ends the program at once.

use super::harness::Attack;
use crate::terminal::harness::{Options, READY, Session};

/// Sessions where nobody asks for more.
const SESSIONS: usize = 6;

/// The most memory that is resident after it, in MB.
const MOST_MEGABYTES: f64 = 250.0;

/// Keys, sequences, and the beginnings of sequences. Nothing that ends or stops the program.
const PIECES: [&str; 28] = [
    "\r",
    "\x1b",
    "\t",
    "\x7f",
    "\x15",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[H",
    "\x1b[F",
    "\x1b[<0;9;9M",
    "\x1b[<0;9;9m",
    "\x1b[<64;5;5M",
    "\x1b[200~x\x1b[201~",
    "\x1b[200~abc",
    "\x1b[<0;1",
    "\x1b]52;c;",
    "\x1bP",
    "\x1b_",
    "\x1b[1;",
    "\x1bO",
    "\u{202e}",
    "\u{e0041}",
    "é",
    "日本",
];

#[test]
fn keys() {
    Attack::new(SESSIONS).run(|random, tried| {
        let folder = tempfile::tempdir().unwrap();
        let mut session = Session::start(folder.path(), &Options::default());
        session.wait_for(READY);
        for _ in 0..random.below(12) {
            let mut keys = String::new();
            for _ in 0..random.below(400) {
                match random.below(3) {
                    0 => keys.push_str(random.of::<&str>(&PIECES)),
                    // Nothing here quits.
                    _ => keys.push(char::from(b' ' + random.below(95) as u8)),
                }
            }
            let keys = keys.replace('q', "");
            println!("session {tried}: {keys:?}");
            session.press(&keys);
        }
        let (_, most) = session.resident();
        assert!(most < MOST_MEGABYTES, "{most} MB");
        session.press("\x03");
        assert!(session.end().success());
        session.wait_until_restored();
    });
}
