//! What a peer does, as data.

use std::collections::VecDeque;

/// One thing that a peer does with a connection. A script that ends without an end of the connection
/// ends with [`Act::Close`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads a whole request: head, and as much content as its Content-Length says.
    ReadRequest,
    /// Reads exactly this many bytes and leaves the rest where it is.
    Read(usize),
    /// Applies the effect, that is, logs it.
    Effect,
    /// Waits until the peer is released.
    Hold,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends FIN, over TLS with close_notify before it, and reads until the client ends as well.
    Close,
    /// Sends FIN without close_notify, and reads until the client ends as well.
    Cut,
    /// Sends RST.
    Reset,
    /// Leaves: FIN where everything was read, RST where not.
    Leave,
}

/// What a peer does with one connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Script(pub Vec<Act>);

impl Script {
    /// Reads a request, applies it, sends these bytes and closes.
    #[must_use]
    pub fn answer(bytes: impl Into<Vec<u8>>) -> Self {
        Self(vec![Act::ReadRequest, Act::Effect, Act::Send(bytes.into()), Act::Close])
    }

    /// Reads a request, applies it and never answers.
    #[must_use]
    pub fn silent() -> Self {
        Self(vec![Act::ReadRequest, Act::Effect, Act::Hold])
    }
}

/// A script for each connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Scripts {
    /// For the first connections, in order.
    pub each: VecDeque<Script>,
    /// For all others. None: they are reset.
    pub default: Option<Script>,
}

impl Scripts {
    pub(super) fn next(&mut self) -> Script {
        self.each.pop_front().or_else(|| self.default.clone()).unwrap_or_else(|| Script(vec![Act::Reset]))
    }
}

impl From<Script> for Scripts {
    fn from(script: Script) -> Self {
        Self { each: VecDeque::new(), default: Some(script) }
    }
}

impl From<Vec<Act>> for Scripts {
    fn from(acts: Vec<Act>) -> Self {
        Script(acts).into()
    }
}

impl From<Vec<Script>> for Scripts {
    fn from(each: Vec<Script>) -> Self {
        Self { each: each.into(), default: None }
    }
}
