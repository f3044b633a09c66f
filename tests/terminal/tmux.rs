//! What users really have: the explorer inside tmux. Where tmux is missing nothing is tested; in CI it must be there.

use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};

use super::harness::PROGRAM;

const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);

/// A tmux of its own with a shell in it.
struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// A window with a shell; `None` where there is no tmux.
    fn open((columns, rows): (u16, u16)) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI has no tmux: install it");
            eprintln!("there is no tmux: nothing was tested");
            return None;
        }
        let tmux = Self { folder: tempdir().unwrap() };
        let size = [columns.to_string(), rows.to_string()];
        let shell = "env PS1='ready> ' HOME=\"$PWD\" sh";
        let new = tmux.run(&["-f", "/dev/null", "-u", "new-session", "-d", "-x", &size[0], "-y", &size[1], shell]);
        assert!(new.status.success(), "{new:?}");
        tmux.wait_for("ready>");
        Some(tmux)
    }

    /// The same, with the explorer running.
    fn explorer(size: (u16, u16)) -> Option<Self> {
        let tmux = Self::open(size)?;
        tmux.start("default");
        Some(tmux)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.path().join("socket")).args(arguments);
        command.current_dir(self.folder.path()).env_remove("TMUX").env("LC_ALL", "C.UTF-8");
        command.env_remove("NO_COLOR").env_remove("COLORTERM").output().unwrap()
    }

    fn start(&self, arguments: &str) {
        self.keys(&[&format!("{PROGRAM} {arguments}"), "Enter"]);
        self.wait_for("quit");
        self.wait_for("FITS");
    }

    /// Presses keys by tmux's names; other texts are typed.
    fn keys(&self, keys: &[&str]) {
        assert!(self.run(&[&["send-keys"], keys].concat()).status.success());
    }

    /// Types a text, letter by letter.
    fn text(&self, text: &str) {
        assert!(self.run(&["send-keys", "-l", text]).status.success());
    }

    /// The window, with its styles if `styled`.
    fn screen(&self, styled: bool) -> String {
        let arguments: &[&str] = if styled { &["capture-pane", "-p", "-e"] } else { &["capture-pane", "-p"] };
        String::from_utf8(self.run(arguments).stdout).unwrap()
    }

    fn wait(&self, what: &str, condition: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !condition(&self.screen(false)) {
            assert!(start.elapsed() < DEADLINE, "not {what}:\n{}", self.screen(false));
            thread::sleep(POLL);
        }
    }

    fn wait_for(&self, text: &str) {
        self.wait(&format!("showing '{text}'"), |screen| screen.contains(text));
    }

    /// Waits until the shell asks for a command: what is typed before may still be the program's.
    fn wait_for_shell(&self) {
        self.wait("back in the shell", |screen| screen.lines().rfind(|line| !line.is_empty()) == Some("ready>"));
    }

    /// Chooses a value of a field: its place, what to type in its list, and how the value is shown then.
    fn choose(&self, field: usize, search: &str, shown: &str) {
        self.text("1g");
        self.text(&"j".repeat(field));
        self.keys(&["Enter"]);
        self.wait_for("type to filter");
        self.text(search);
        self.keys(&["Enter"]);
        self.wait(&format!("choosing {shown}"), |screen| !screen.contains("found") && screen.contains(shown));
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Tmux {
    /// Leaves no tmux behind when a test fails.
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn it_is_drawn_in_colours_and_leaves_the_shell_as_it_was() {
    let Some(tmux) = Tmux::explorer((100, 30)) else { return };
    let styled = tmux.screen(true);
    // 256 colours, as TERM says there; a cursor in reverse.
    assert!(styled.contains("\x1b[38;5;") || styled.contains(";5;"), "{styled}");
    assert!(!styled.contains("38;2;"), "{styled}");
    tmux.text("q");
    tmux.wait_for_shell();
    tmux.keys(&["echo still-here", "Enter"]);
    tmux.wait("echoing", |screen| screen.lines().any(|line| line == "still-here"));
}

#[test]
fn a_window_of_any_size_is_drawn() {
    let Some(tmux) = Tmux::explorer((100, 30)) else { return };
    tmux.run(&["resize-window", "-x", "20", "-y", "3"]);
    tmux.wait_for("small");
    tmux.run(&["resize-window", "-x", "130", "-y", "40"]);
    tmux.wait("showing all panels", |screen| screen.contains("4 Timeline") && screen.contains("3 Memory"));
}

#[test]
fn a_copied_map_is_in_tmuxs_buffer() {
    let Some(tmux) = Tmux::open((100, 30)) else { return };
    tmux.run(&["set", "-s", "set-clipboard", "on"]);
    tmux.start("default");
    tmux.wait("completing the map", |screen| !screen.contains("computing"));
    tmux.text("2y");
    tmux.wait_for("clipboard");
    let start = Instant::now();
    while !tmux.run(&["show-buffer"]).stdout.starts_with(b"x,y,metric,value,fits") {
        assert!(start.elapsed() < DEADLINE, "{:?}", tmux.run(&["show-buffer"]));
        thread::sleep(POLL);
    }
}

#[test]
fn it_stops_and_comes_back_with_fg() {
    let Some(tmux) = Tmux::explorer((100, 30)) else { return };
    tmux.keys(&["C-z"]);
    tmux.wait("in the shell", |screen| screen.contains("ready>") && !screen.contains("FITS"));
    tmux.keys(&["fg", "Enter"]);
    tmux.wait_for("FITS");
    tmux.text("2l");
    tmux.wait_for("Enter applies it");
    tmux.text("q");
    tmux.wait_for_shell();
}

/// A person who has never seen it: opens it, chooses Frontier and the 20B model, finds the best cell, pins it, changes to
/// sharding on three levels, compares, exports, quits and opens the export again.
#[test]
fn a_newcomers_whole_visit() {
    let Some(tmux) = Tmux::explorer((80, 24)) else { return };
    tmux.choose(4, "frontier", "mi250x-frontier");
    tmux.choose(0, "neox-20b", "gpt-neox-20b");
    tmux.text("2");
    tmux.wait("the whole map", |screen| screen.contains("2 Throughput") && !screen.contains("computing"));
    tmux.text("b");
    tmux.wait("following the cursor", |screen| screen.lines().next().unwrap_or_default().contains("\u{b7} 1 node "));
    tmux.keys(&["Enter"]);
    tmux.wait_for("FITS");
    tmux.text("p");
    tmux.wait_for("pinned: ");
    tmux.choose(11, "zero-topo", "zero-topo");
    // On the one node it does not fit, and the screen says what would let it.
    tmux.wait("saying what would fit", |screen| screen.contains("DOES NOT FIT") && screen.contains("would fit"));
    tmux.choose(15, "full", "full");
    tmux.wait("evaluating it", |screen| {
        screen.contains("FITS") && !screen.contains("computing") && !screen.contains("found")
    });
    tmux.text("p");
    tmux.wait_for("pinned as B");
    tmux.text("c");
    tmux.wait("comparing both", |screen| {
        ["B \u{2212} A", "step time", "TFLOP/s"].iter().all(|part| screen.contains(part))
    });
    tmux.text("e");
    tmux.wait_for("exported to ");
    let mut files =
        std::fs::read_dir(tmux.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let file = files.find(|name| name.contains("zero-topo")).unwrap();
    let headline = |tmux: &Tmux| tmux.screen(false).lines().take(3).collect::<String>();
    tmux.text("q");
    tmux.wait_for_shell();
    tmux.start(&file);
    let shown = headline(&tmux);
    assert!(shown.contains("gpt-neox-20b") && shown.contains("zero-topo") && shown.contains("FITS"), "{shown}");
}
