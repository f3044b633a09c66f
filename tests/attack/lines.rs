//! Command lines of known flags with values that nobody means.

use super::harness::{Attack, Victim};

/// Lines that are tried where nobody asks for more.
const LINES: usize = 120;

const COMMANDS: [&str; 17] = [
    "eval",
    "sweep",
    "search --nodes 1",
    "plan",
    "limits",
    "support",
    "export",
    "presets",
    "validate",
    "calibrate",
    "merge",
    "import model",
    "import links",
    "import cluster",
    "import run",
    "import plan",
    "import trace",
];

/// Of files, only names without a folder: nothing outside the victim's home is read or written.
const VALUES: [&str; 40] = [
    "0",
    "1",
    "2",
    "8",
    "64",
    "-1",
    "1.5",
    "1e308",
    "-1e308",
    "nan",
    "inf",
    "4294967295",
    "4294967296",
    "18446744073709551616",
    "",
    " ",
    ",",
    "=",
    "--",
    "..",
    "1,2",
    "1..8",
    "nodes=1,2",
    "seq=1024,2048",
    "nodes=",
    "fsdp",
    "zero3",
    "1f1b",
    "interleaved",
    "full",
    "45%",
    "2T",
    "4M tokens",
    "8 GiB",
    "1e308 GB",
    "on",
    "json",
    "a100-80gb-dgx",
    "\u{202e}\u{1b}]52;c;eA==\u{7}",
    "mpt-7b",
];

/// The flags that a command's help names. So many threads as chance says would be an attack on this machine.
fn flags(victim: &Victim, command: &str) -> Vec<String> {
    let line: Vec<&str> = command.split(' ').chain(["--help"]).collect();
    let (_, help) = victim.run(&line);
    let words = help.split(|c: char| !(c.is_alphanumeric() || c == '-'));
    let flags = words.filter(|word| word.len() > 2 && word.starts_with("--") && *word != "--threads");
    let mut flags: Vec<String> = flags.map(str::to_owned).collect();
    flags.sort();
    flags.dedup();
    assert!(flags.len() > 2, "{command} has too few flags: {flags:?}");
    flags
}

#[test]
fn command_lines() {
    let victim = Victim::new();
    let commands = COMMANDS.map(|command| (command, flags(&victim, command)));
    Attack::new(LINES).run(|random, tried| {
        let (command, flags) = random.of(&commands);
        let mut line: Vec<&str> = command.split(' ').collect();
        if random.below(3) == 0 {
            line.push(random.of::<&str>(&VALUES));
        }
        for _ in 0..random.below(5) {
            line.push(random.of::<String>(flags));
            if random.below(6) > 0 {
                line.push(random.of::<&str>(&VALUES));
            }
        }
        println!("line {tried}: {line:?}");
        victim.run(&line);
    });
}
