//! What can be found out about the terminal and the host, for the page of diagnostics.

use std::{env, io};

use crate::app::layer::page::Finding;
use crate::app::{App, Options};
use crate::ui::caps::{Caps, Overrides};

use super::screen::Screen;

/// Everything that was found out.
pub(super) fn find(app: &App, screen: &Screen, options: &Options) -> io::Result<Vec<Finding>> {
    let var = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let (_, mut findings) = Caps::found(&var, Overrides::from(options));
    let (width, height) = screen.size()?;
    findings.insert(0, Finding::new("size", &format!("{width} x {height}"), "reported by the terminal", ""));
    findings.push(bytes(options));
    findings.push(Finding::new(
        "mouse",
        if app.mouse.taken { "taken" } else { "the terminal's" },
        if app.mouse.taken { "with Shift the terminal selects text" } else { "" },
        "the key &, or mouse in config.toml",
    ));
    findings.push(keys(&var));
    findings.push(clipboard(&var));
    findings.extend(files(app, options));
    Ok(findings)
}

fn bytes(options: &Options) -> Finding {
    let (value, why) = if options.terminal.low_bandwidth {
        ("few", "maps are drawn twice a second at most, in 256 colours at most")
    } else {
        ("as needed", "maps are drawn ten times a second at most")
    };
    Finding::new("bytes", value, why, "--low-bandwidth, or low_bandwidth in config.toml")
}

/// Who stands between the keyboard and this program.
fn keys(var: &dyn Fn(&str) -> Option<String>) -> Finding {
    let between = [("TMUX", "tmux"), ("STY", "screen"), ("ZELLIJ", "zellij"), ("SSH_CONNECTION", "SSH")];
    let found: Vec<&str> = between.iter().filter(|(name, _)| var(name).is_some()).map(|(_, word)| *word).collect();
    let value = if found.is_empty() { "direct".to_owned() } else { format!("through {}", found.join(", ")) };
    let why = if found.contains(&"tmux") { "Esc may come late: set -s escape-time 10" } else { "" };
    Finding::new("keys", &value, why, "[keys] in config.toml")
}

fn clipboard(var: &dyn Fn(&str) -> Option<String>) -> Finding {
    let why = if var("TMUX").is_some() {
        "tmux passes it on after: set -s set-clipboard on"
    } else {
        "the terminal may ignore it: Y and w write files"
    };
    Finding::new("clipboard", "the terminal's, by OSC 52", why, "")
}

fn files(app: &App, options: &Options) -> Vec<Finding> {
    let config = match &options.config {
        None => Finding::new("settings", "the defaults", "no home directory", "--config FILE"),
        Some(file) => {
            let why = if file.exists() { "" } else { "not found: the defaults are used" };
            let fix = "shardscope config --default prints one";
            Finding::new("settings", &file.display().to_string(), why, fix)
        }
    };
    let threads =
        options.threads.map_or_else(|| "one less than the cores, at most 4".to_owned(), |threads| threads.to_string());
    let threads = Finding::new("threads", &threads, "of a sweep", "--threads, RAYON_NUM_THREADS, or config.toml");
    let (undo, _) = app.history.depth();
    let held = format!("{undo} edits can be undone, {} scenarios are pinned", app.pins.all().len());
    vec![config, threads, Finding::new("held", &held, "", "")]
}
