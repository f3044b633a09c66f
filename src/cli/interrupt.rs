//! What SIGINT does: a search prints what was found so far, then the signal ends the process after all.

use std::io;
use std::sync::Arc;

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

use shardscope_engine::search::Cancel;

use super::exit::Failure;

/// Has the first SIGINT cancel a search; the second one ends the process at once.
pub(super) fn cancels(cancel: &Cancel) -> Result<(), Failure> {
    let flag = cancel.flag();
    flag::register_conditional_default(SIGINT, flag.clone()).map_err(|error| failed(&error))?;
    flag::register(SIGINT, flag).map_err(|error| failed(&error))?;
    Ok(())
}

/// Ends the process by the signal if that came: whoever waits for it must see that.
pub(super) fn ends(cancel: &Cancel) -> Result<(), Failure> {
    if cancel.is_cancelled() {
        low_level::emulate_default_handler(SIGINT).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Has SIGINT do nothing here from now on: it is for a program that this one waits for.
pub(super) fn is_left_to_others() -> Result<(), Failure> {
    flag::register(SIGINT, Arc::default()).map(drop).map_err(|error| failed(&error))
}

fn failed(error: &io::Error) -> Failure {
    Failure::Io(format!("signals: {error}"))
}
