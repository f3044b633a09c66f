//! A process that is killed while it writes leaves the old file or the new one, whole.

use std::thread;
use std::time::Duration;

use super::harness::{Attack, Victim};

/// Kills where nobody asks for more.
const KILLS: usize = 60;

#[test]
fn while_a_file_is_written() {
    let victim = Victim::new();
    let line = |nodes: &'static str| ["export", "--to", "fsdp2", "--nodes", nodes, "--force", "--out", "out"];
    let [old, new] = ["2", "4"].map(|nodes| {
        assert_eq!(victim.run(&line(nodes)).0, 0);
        victim.read("out/fsdp2.json").unwrap()
    });
    assert_ne!(old, new);
    Attack::new(KILLS).run(|random, tried| {
        let mut child = victim.command(&line(if tried % 2 == 0 { "2" } else { "4" })).spawn().unwrap();
        thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = victim.read("out/fsdp2.json").unwrap();
        assert!(left == old || left == new, "kill {tried} left {} bytes", left.len());
    });
}
