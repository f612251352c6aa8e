//! What a peer does in HTTP/2, as data.

use super::frame::Kind;
use crate::peer::scripts::ScriptList;

/// One thing that a peer does with a connection. A script that ends without an end of the connection
/// ends with [`Act::Close`].
///
/// What is sent on a stream goes to that of the request that was read last, unless [`Act::Stream`]
/// says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Reads the client's preface (RFC 9113 section 3.4), the 24 bytes alone. Anything else ends the
    /// script.
    ReadPreface,
    /// Sends SETTINGS with these identifiers and values. It must be the first frame that a client gets.
    Settings(Vec<(u16, u32)>),
    /// Reads the next request, in the order of their HEADERS, whole. Frames of others are kept for them.
    ReadRequest,
    /// Reads the next request's fields alone.
    ReadHeaders,
    /// Reads the rest of the current stream's request. If the client resets it first, the script ends.
    ReadBody,
    /// Reads until the client resets the current stream.
    ReadReset,
    /// Reads frames up to and with the next one of this type.
    ReadFrame(Kind),
    /// Makes this the current stream.
    Stream(u32),
    /// Applies the effect, that is, logs it.
    Effect,
    /// Tells the test that the script came this far.
    Signal,
    /// Waits until the peer is released.
    Hold,
    /// Waits for a step of the test, and takes it: no other script goes on with the same one.
    Step,
    /// Sends HEADERS with a final status.
    Headers {
        /// The status.
        status: u16,
        /// The other fields, names in lower case.
        headers: Vec<(String, String)>,
        /// Whether nothing follows.
        end_stream: bool,
    },
    /// Sends HEADERS with a status that announces a final one (RFC 9110 section 15.2).
    Informational(u16),
    /// Sends one DATA frame. Clients take up to 16,384 bytes, if they have not said otherwise.
    Data {
        /// The content.
        bytes: Vec<u8>,
        /// Whether nothing follows.
        end_stream: bool,
    },
    /// Sends HEADERS with these fields alone, which end the stream.
    Trailers(Vec<(String, String)>),
    /// Sends RST_STREAM with this [code](super::code).
    Reset(u32),
    /// Sends GOAWAY.
    GoAway {
        /// The last stream that was or may yet be looked at.
        last_stream: u32,
        /// The [code](super::code).
        code: u32,
    },
    /// Sends PING.
    Ping,
    /// Sends WINDOW_UPDATE: so many more bytes may be sent.
    WindowUpdate {
        /// The stream; 0 is the connection.
        stream: u32,
        /// How many bytes.
        increment: u32,
    },
    /// Sends any bytes, for example those of a [`Frame`](super::Frame).
    Raw(Vec<u8>),
    /// Sends FIN, over TLS with close_notify before it, and goes on.
    Fin,
    /// Sends FIN, over TLS with close_notify before it, and reads until the client ends as well.
    Close,
    /// Sends FIN without close_notify, and reads until the client ends as well.
    Cut,
    /// Sends an RST of TCP.
    ResetTcp,
    /// Leaves: FIN where everything was read, RST where not.
    Leave,
}

/// What a peer does with one connection.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Script(pub Vec<Act>);

/// Scripts in HTTP/2.
pub type Scripts = ScriptList<Script>;

impl Script {
    /// Opens the connection, and does this.
    #[must_use]
    pub fn opened(acts: impl IntoIterator<Item = Act>) -> Self {
        let opening = [Act::ReadPreface, Act::Settings(Vec::new())];
        Self(opening.into_iter().chain(acts).collect())
    }

    /// Opens the connection, reads a request, applies it, answers with this status and content and
    /// closes.
    #[must_use]
    pub fn answer(status: u16, content: impl Into<Vec<u8>>) -> Self {
        let [headers, data] = response(status, content.into());
        Self::opened([Act::ReadRequest, Act::Effect, headers, data, Act::Close])
    }

    /// Opens the connection, reads so many requests, applies each and answers it with this status and
    /// content; then waits until it is released, and closes.
    #[must_use]
    pub fn keep_alive(requests: usize, status: u16, content: impl Into<Vec<u8>>) -> Self {
        let [headers, data] = response(status, content.into());
        let one = [Act::ReadRequest, Act::Effect, headers, data];
        let all = std::iter::repeat_n(one, requests).flatten();
        Self::opened(all.chain([Act::Hold, Act::Close]))
    }

    /// Opens the connection, reads a request, applies it and never answers.
    #[must_use]
    pub fn silent() -> Self {
        Self::opened([Act::ReadRequest, Act::Effect, Act::Hold])
    }
}

fn response(status: u16, content: Vec<u8>) -> [Act; 2] {
    [
        Act::Headers { status, headers: Vec::new(), end_stream: false },
        Act::Data { bytes: content, end_stream: true },
    ]
}

impl From<Vec<Act>> for Scripts {
    fn from(acts: Vec<Act>) -> Self {
        Script(acts).into()
    }
}
