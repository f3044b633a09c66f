//! Progress on stderr, for people: a script sees nothing of it.

use std::fmt;
use std::io::{self, IsTerminal};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::app::Options;
use shardscope_engine::units::thousands;

/// The pause between two messages of what goes on: none is drawn sooner.
pub(super) const PAUSE: Duration = Duration::from_millis(125);

/// Runs a search of `count` results with a bar, and collects what it hands over by index; what it left out is `None`.
pub(super) fn collect<T: Clone + Send>(
    count: usize,
    of: &str,
    options: &Options,
    search: impl FnOnce(&(dyn Fn(usize, T) + Sync)),
) -> Vec<Option<T>> {
    let bar = bar(count, of, options);
    let found = Mutex::new(vec![None; count]);
    search(&|index, one| {
        // A panic elsewhere leaves each entry as whole as it was.
        found.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(one);
        bar.inc(1);
    });
    bar.finish_and_clear();
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// stderr, if that is a terminal, a few times a second.
fn target(low_bandwidth: bool) -> ProgressDrawTarget {
    if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr_with_hz(if low_bandwidth { 2 } else { 8 })
    } else {
        ProgressDrawTarget::hidden()
    }
}

/// A spinner with the current task and the count of evaluated scenarios, where the total is unknown.
pub(super) fn spinner(low_bandwidth: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(low_bandwidth));
    match ProgressStyle::with_template("{msg}: {pos} scenarios in {elapsed}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// That something goes on, and for how long.
pub(super) fn waiting(what: &'static str, options: &Options) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(options.terminal.low_bandwidth)).with_message(what);
    // Hidden bars need no thread that draws them.
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(500));
    }
    match ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar with rate and time left on stderr, if that is a terminal.
pub(super) fn bar(count: usize, of: &str, options: &Options) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count as u64), target(options.terminal.low_bandwidth));
    let rate = |state: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = write!(text, "{} per second", thousands(state.per_sec()));
    };
    match ProgressStyle::with_template(&format!("[{{bar:40}}] {{pos}} of {{len}} {of}, {{rate}}, {{eta}} left")) {
        Ok(style) => bar.with_style(style.with_key("rate", rate).progress_chars("=> ")),
        Err(_) => bar,
    }
}
