//! Calls that fail.

use std::io::{Error, ErrorKind};

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The device is broken (`EIO`). A write stores half of its bytes; what a sync was for may be lost.
    Broken,
    /// There is no space (`ENOSPC`), for everything but reading. A write stores half of its bytes.
    Full,
}

impl Fault {
    /// Every fault.
    pub const ALL: [Self; 2] = [Self::Broken, Self::Full];

    /// The error, if this kind of call can fail so.
    pub(crate) fn error(self, reads: bool) -> Option<Error> {
        match (self, reads) {
            (Self::Broken, _) => Some(Error::other("the watched disk is broken")),
            (Self::Full, false) => Some(Error::new(ErrorKind::StorageFull, "the watched disk is full")),
            (Self::Full, true) => None,
        }
    }
}

/// When calls fail. Calls that only read are counted, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How.
    pub fault: Fault,
    /// The first call that fails, from 0 upwards.
    pub at: u64,
    /// Whether every later one fails, too, or only this one.
    pub lasting: bool,
}

impl Plan {
    pub(crate) fn error(&self, call: u64, reads: bool) -> Option<Error> {
        let fails = if self.lasting { call >= self.at } else { call == self.at };
        fails.then(|| self.fault.error(reads)).flatten()
    }
}
