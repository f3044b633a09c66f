//! The binary: reports bugs, hands the command line to [`shardscope::cli`] and ends with its exit code.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

use std::io::Write;
use std::panic::UnwindSafe;

use color_eyre::config::{HookBuilder, Theme};
use shardscope::cli::{self, Exit, log};
use shardscope::term;
use shardscope_engine::text::visible;

fn main() -> Exit {
    report_panics();
    guarded(|| cli::run(std::env::args_os()))
}

/// Runs the program; a panic, which the hook has reported by then, is a bug.
fn guarded(program: impl FnOnce() -> Exit + UnwindSafe) -> Exit {
    std::panic::catch_unwind(program).unwrap_or(Exit::Bug)
}

/// Has panics reported in the log, and on stderr where the explorer does not show them. A stderr that has gone must not
/// make it worse.
fn report_panics() {
    let (panics, _) = HookBuilder::default()
        .theme(Theme::new())
        .display_env_section(false)
        .panic_section("This is a bug in shardscope: please report it, with the command that led here.")
        .into_hooks();
    std::panic::set_hook(Box::new(move |info| {
        // In plain text: a panic may repeat what a file says.
        let report = panics.panic_report(info).to_string();
        log::line(&report);
        if term::may_print() {
            let _ = writeln!(std::io::stderr(), "{}", visible(&report));
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_bug_and_its_exit_code_is_70() {
        assert_eq!(guarded(|| panic!("on purpose")) as u8, 70);
        assert_eq!(guarded(|| Exit::Done), Exit::Done);
    }
}
