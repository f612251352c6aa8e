//! What happens when a commit fails.

use std::io::Write as _;

/// The exit status of a process that a failed commit ended (`EX_SOFTWARE`).
pub const EXIT_STATUS: i32 = 70;

/// What ends the process after a failed commit. It gets one line that says what failed. Nothing that
/// was waiting has been or will be acknowledged.
pub struct FatalHook(Box<dyn FnOnce(String) + Send>);

impl FatalHook {
    /// Something else than [`FatalHook::exit`]: for tests, or to end the process in another way. If it
    /// returns, the journal stays dead and every append fails.
    #[must_use]
    pub fn new(hook: impl FnOnce(String) + Send + 'static) -> Self {
        Self(Box::new(hook))
    }

    /// Prints the line on standard error and ends the process at once with [`EXIT_STATUS`].
    #[must_use]
    pub fn exit() -> Self {
        Self::new(|line| {
            // Whether anybody reads it or not, the process ends.
            let _ = writeln!(std::io::stderr(), "{line}");
            std::process::exit(EXIT_STATUS)
        })
    }

    pub(crate) fn call(self, line: String) {
        (self.0)(line);
    }
}

impl Default for FatalHook {
    fn default() -> Self {
        Self::exit()
    }
}
