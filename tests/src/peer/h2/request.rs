//! Requests, put together from frames.

use super::fields::{Fields, decode};
use super::frame::{END_HEADERS, END_STREAM, Frame, Kind};
use loona_hpack::Decoder;
use std::io;

/// A request, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Request {
    /// Its stream: 1, 3, 5, … for a client's first, second, third, ….
    pub stream: u32,
    /// Its fields in order, pseudo-header fields as well, values decoded.
    pub fields: Vec<(String, String)>,
    /// Its content.
    pub body: Vec<u8>,
    /// Its trailer fields.
    pub trailers: Vec<(String, String)>,
    /// Whether END_STREAM was read.
    pub ended: bool,
    /// The error code with which the client reset its stream.
    pub reset: Option<u32>,
}

impl Request {
    /// The first field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }

    /// The method; empty if there is none.
    #[must_use]
    pub fn method(&self) -> &str {
        self.field(":method").unwrap_or_default()
    }

    /// The path with the query; empty if there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        self.field(":path").unwrap_or_default()
    }
}

/// Puts a connection's requests together.
pub(super) struct Assembly {
    decoder: Decoder<'static>,
    /// A field block that is not yet whole: stream, whether it ends it, the bytes.
    open: Option<(u32, bool, Vec<u8>)>,
}

impl Assembly {
    pub(super) fn new() -> Self {
        Self { decoder: Decoder::new(), open: None }
    }

    /// Adds what a frame of the client says to its requests.
    pub(super) fn add(&mut self, frame: &Frame, requests: &mut Vec<Request>) -> io::Result<()> {
        let malformed = || io::Error::from(io::ErrorKind::InvalidData);
        let request = requests.iter_mut().find(|request| request.stream == frame.stream);
        match frame.kind {
            Kind::Headers => {
                let content = frame.content().ok_or_else(malformed)?;
                self.open = Some((frame.stream, frame.has(END_STREAM), content.to_vec()));
                self.close_block(frame, requests)
            }
            Kind::Continuation => {
                let (_, _, block) = self.open.as_mut().ok_or_else(malformed)?;
                block.extend_from_slice(&frame.payload);
                self.close_block(frame, requests)
            }
            Kind::Data => {
                let (request, content) = request.zip(frame.content()).ok_or_else(malformed)?;
                request.body.extend_from_slice(content);
                request.ended |= frame.has(END_STREAM);
                Ok(())
            }
            Kind::Reset => {
                let request = request.ok_or_else(malformed)?;
                request.reset = Some(frame.code());
                Ok(())
            }
            Kind::Priority
            | Kind::Settings
            | Kind::PushPromise
            | Kind::Ping
            | Kind::GoAway
            | Kind::WindowUpdate
            | Kind::Other(_) => Ok(()),
        }
    }

    /// Reads the block, if this frame was its last.
    fn close_block(&mut self, frame: &Frame, requests: &mut Vec<Request>) -> io::Result<()> {
        let Some((stream, ended, block)) = self.open.take_if(|_| frame.has(END_HEADERS)) else {
            return Ok(());
        };
        let fields: Fields = decode(&mut self.decoder, &block)?;
        match requests.iter_mut().find(|request| request.stream == stream) {
            Some(request) => (request.trailers, request.ended) = (fields, ended),
            None => requests.push(Request { stream, fields, ended, ..Request::default() }),
        }
        Ok(())
    }
}
