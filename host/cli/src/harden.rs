//! What the process does for its secrets before it has any.

use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit, umask};
use std::io;

/// Keeps other processes of this user from attaching to this one or reading its memory and its
/// environment under `/proc`, leaves no core file, and makes every new file private. To be called
/// before anything is read.
///
/// # Errors
/// When the kernel refuses; the program then has to end.
pub(crate) fn harden() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    umask(Mode::RWXG | Mode::RWXO);
    Ok(())
}

/// Lets a host of this user see again which program this process is. For a process that holds no secret and is
/// let in by what it is: an unprivileged host can't look at one that is not dumpable.
///
/// # Errors
/// When the kernel refuses.
pub(crate) fn be_seen() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}
