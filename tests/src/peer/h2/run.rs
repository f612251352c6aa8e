//! Carrying out a script in HTTP/2.

use super::fields::encode;
use super::frame::{ACK, END_HEADERS, END_STREAM, Frame, HEAD, Kind};
use super::request::{Assembly, Request};
use super::script::{Act, Script};
use crate::peer::wire::Wire;
use std::io;

/// What a client's first bytes are (RFC 9113 section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(in crate::peer) fn run(wire: Wire<'_>, script: Script) -> io::Result<()> {
    Connection { wire, assembly: Assembly::new(), taken: 0, stream: 0 }.run(script)
}

struct Connection<'a> {
    wire: Wire<'a>,
    assembly: Assembly,
    /// How many requests the script has taken up.
    taken: usize,
    /// The current stream.
    stream: u32,
}

impl Connection<'_> {
    fn run(mut self, script: Script) -> io::Result<()> {
        for act in script.0 {
            match act {
                Act::ReadPreface => {
                    if self.wire.take(PREFACE.len())? != PREFACE {
                        return Err(io::ErrorKind::InvalidData.into());
                    }
                }
                Act::Settings(settings) => {
                    let each =
                        |(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
                    self.send(Kind::Settings, 0, 0, settings.iter().flat_map(each).collect())?;
                }
                Act::ReadRequest => {
                    self.read_headers()?;
                    self.read_body()?;
                }
                Act::ReadHeaders => self.read_headers()?,
                Act::ReadBody => self.read_body()?,
                Act::ReadReset => {
                    while self.current(|request| request.reset).flatten().is_none() {
                        self.read_frame(true)?;
                    }
                }
                Act::ReadFrame(kind) => while self.read_frame(true)? != kind {},
                Act::Stream(stream) => self.stream = stream,
                Act::Effect => self.wire.log.change(|state| state.effects += 1),
                Act::Signal => self.wire.log.change(|state| state.signals += 1),
                Act::Hold => self.wire.log.hold(),
                Act::Step => self.wire.log.take_step(),
                Act::Headers { status, headers, end_stream } => {
                    self.send_headers(Some(status), &headers, end_stream)?;
                }
                Act::Informational(status) => self.send_headers(Some(status), &[], false)?,
                Act::Data { bytes, end_stream } => {
                    self.send(Kind::Data, if end_stream { END_STREAM } else { 0 }, self.stream, bytes)?;
                }
                Act::Trailers(fields) => self.send_headers(None, &fields, true)?,
                Act::Reset(code) => self.send(Kind::Reset, 0, self.stream, code.to_be_bytes().to_vec())?,
                Act::GoAway { last_stream, code } => {
                    let payload = [last_stream.to_be_bytes(), code.to_be_bytes()].concat();
                    self.send(Kind::GoAway, 0, 0, payload)?;
                }
                Act::Ping => self.send(Kind::Ping, 0, 0, b"proofprt".to_vec())?,
                Act::WindowUpdate { stream, increment } => {
                    self.send(Kind::WindowUpdate, 0, stream, increment.to_be_bytes().to_vec())?;
                }
                Act::Raw(bytes) => self.wire.send(&bytes)?,
                Act::Fin => self.wire.fin()?,
                Act::Close => break,
                Act::Cut => {
                    self.wire.cut()?;
                    return self.read_to_end();
                }
                Act::ResetTcp => return self.wire.reset(),
                Act::Leave => return Ok(()),
            }
        }
        self.wire.fin()?;
        self.read_to_end()
    }

    fn send(&mut self, kind: Kind, flags: u8, stream: u32, payload: Vec<u8>) -> io::Result<()> {
        self.wire.send(&Frame { kind, flags, stream, payload }.bytes())
    }

    fn send_headers(
        &mut self,
        status: Option<u16>,
        fields: &[(String, String)],
        end_stream: bool,
    ) -> io::Result<()> {
        let status = status.map(|status| status.to_string());
        let status = status.iter().map(|status| (":status", status.as_str()));
        let fields = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let flags = END_HEADERS | if end_stream { END_STREAM } else { 0 };
        self.send(Kind::Headers, flags, self.stream, encode(status.chain(fields)))
    }

    /// Takes up the next request: its stream is the current one.
    fn read_headers(&mut self) -> io::Result<()> {
        loop {
            let stream = self.wire.note(|log| log.requests.get(self.taken).map(|request| request.stream));
            if let Some(stream) = stream {
                (self.taken, self.stream) = (self.taken + 1, stream);
                return Ok(());
            }
            self.read_frame(true)?;
        }
    }

    fn read_body(&mut self) -> io::Result<()> {
        loop {
            match self.current(|request| (request.ended, request.reset)) {
                Some((true, _)) => break,
                Some((false, Some(_))) => return Err(io::ErrorKind::ConnectionReset.into()),
                Some((false, None)) | None => self.read_frame(true)?,
            };
        }
        self.wire.request_read();
        Ok(())
    }

    /// Asks the current stream's request.
    fn current<T>(&self, ask: impl FnOnce(&Request) -> T) -> Option<T> {
        self.wire.note(|log| log.requests.iter().find(|request| request.stream == self.stream).map(ask))
    }

    /// Reads one frame, logs it, answers it where it wants an answer, and adds it to the requests.
    fn read_frame(&mut self, answer: bool) -> io::Result<Kind> {
        let head = self.wire.peek(HEAD)?;
        let mut bytes = self.wire.take(HEAD + Frame::length(&head))?;
        let frame = Frame::read(&head, bytes.split_off(HEAD));
        let kind = frame.kind;
        if answer && matches!(kind, Kind::Settings | Kind::Ping) && !frame.has(ACK) {
            // A PING is answered with its payload, SETTINGS with none.
            let payload = if kind == Kind::Ping { frame.payload.clone() } else { Vec::new() };
            self.send(kind, ACK, 0, payload)?;
        }
        self.wire.note(|log| {
            let added = self.assembly.add(&frame, &mut log.requests);
            log.frames.push(frame);
            added
        })?;
        Ok(kind)
    }

    /// Reads until the client ends its direction, so that what it sends meets no RST.
    fn read_to_end(mut self) -> io::Result<()> {
        loop {
            match self.read_frame(false) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}
