//! What a peer does in HTTP/1.1, as data.

use super::scripts::Scripts;

/// One thing that a peer does with a connection. A script that ends without an end of the connection
/// ends with [`Act::Close`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Goes on only with a client that speaks HTTP/1.1: one that agreed on `h2` by ALPN, or begins with
    /// the preface of HTTP/2 (RFC 9113 section 3.4), gets an RST. Waits for the first four bytes.
    Http1Only,
    /// Reads a whole request: head, and as much content as its Content-Length says. Several in a row
    /// read one connection's requests one after another, also those that came in one go.
    ReadRequest,
    /// Reads a request's head alone, to answer early or to invite its content.
    ReadHead,
    /// Reads the content of the request whose head was read, by its Content-Length.
    ReadBody,
    /// Reads exactly this many bytes and leaves the rest where it is.
    Read(usize),
    /// Applies the effect, that is, logs it.
    Effect,
    /// Tells the test that the script came this far.
    Signal,
    /// Waits until the peer is released.
    Hold,
    /// Waits for a step of the test, and takes it: no other script goes on with the same one.
    Step,
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends FIN, over TLS with close_notify before it, and goes on.
    Fin,
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

    /// Reads so many requests on one connection, applies each and answers it with these bytes; then
    /// waits until it is released, and closes.
    #[must_use]
    pub fn keep_alive(requests: usize, bytes: impl Into<Vec<u8>>) -> Self {
        let one = [Act::ReadRequest, Act::Effect, Act::Send(bytes.into())];
        let all = std::iter::repeat_n(one, requests).flatten();
        Self(all.chain([Act::Hold, Act::Close]).collect())
    }

    /// Reads a request, applies it and never answers.
    #[must_use]
    pub fn silent() -> Self {
        Self(vec![Act::ReadRequest, Act::Effect, Act::Hold])
    }
}

impl From<Vec<Act>> for Scripts {
    fn from(acts: Vec<Act>) -> Self {
        Script(acts).into()
    }
}
