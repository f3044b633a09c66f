//! How much of a shared machine a thread takes. Not for what runs on it.

/// Has this thread give way, where a thread has a priority of its own: to keys on the screen and to everyone else.
pub fn give_way() {
    // Linux alone gives each thread a priority; elsewhere this would slow the screen's thread too.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(5);
}
