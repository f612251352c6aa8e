//! Carrying out a script, and the log of what happened.

use super::script::{Act, Script};
use super::stream::Stream;
use rustls::ServerConfig;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long anything is waited for before the test is given up.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(super) struct Log {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    received: Vec<Vec<u8>>,
    pub(super) effects: usize,
    pub(super) ended: usize,
    resumed: usize,
    released: bool,
    stopped: bool,
}

impl Log {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let done = change(&mut self.lock());
        self.changed.notify_all();
        done
    }

    pub(super) fn received(&self) -> Vec<Vec<u8>> {
        self.lock().received.clone()
    }

    pub(super) fn effects(&self) -> usize {
        self.lock().effects
    }

    pub(super) fn resumed(&self) -> usize {
        self.lock().resumed
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    pub(super) fn release(&self) {
        self.change(|state| state.released = true);
    }

    pub(super) fn stop(&self) {
        self.change(|state| (state.released, state.stopped) = (true, true));
    }

    /// Makes room for a connection's bytes; its place.
    pub(super) fn accepted_one(&self) -> usize {
        self.change(|state| {
            state.received.push(Vec::new());
            state.received.len() - 1
        })
    }

    pub(super) fn wait(&self, what: &str, done: impl Fn(&State) -> bool) {
        let (_state, waited) = self
            .changed
            .wait_timeout_while(self.lock(), PATIENCE, |state| !done(state))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "the peer waited in vain for {what}");
    }

    fn hold(&self) {
        let held = self.changed.wait_while(self.lock(), |state| !state.released);
        drop(held.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Carries the script out.
pub(super) fn serve(
    index: usize,
    stream: TcpStream,
    tls: Option<Arc<ServerConfig>>,
    script: Script,
    log: &Log,
) {
    let connection = Connection { index, stream: Stream::new(stream, tls), consumed: 0, log };
    // An error means that the client went first, which is its right and ends the script.
    let _ = connection.run(script);
    log.change(|state| state.ended += 1);
}

struct Connection<'a> {
    index: usize,
    stream: Stream,
    /// How many of the received bytes belong to requests that were read.
    consumed: usize,
    log: &'a Log,
}

impl Connection<'_> {
    fn run(mut self, script: Script) -> io::Result<()> {
        for act in script.0 {
            match act {
                Act::ReadRequest => self.read_request()?,
                Act::Read(bytes) => self.read_exactly(bytes)?,
                Act::Effect => self.log.change(|state| state.effects += 1),
                Act::Hold => self.log.hold(),
                Act::Send(bytes) => self.stream.send(&bytes)?,
                Act::Close => break,
                Act::Cut => return self.end(),
                Act::Reset => return self.stream.reset(),
                Act::Leave => return Ok(()),
            }
        }
        self.stream.close_notify()?;
        self.end()
    }

    /// Reads at most this many bytes and logs them; fails at the end of the stream.
    fn read(&mut self, most: usize) -> io::Result<()> {
        let mut buffer = vec![0; most];
        let read = self.stream.read(&mut buffer)?;
        self.log.change(|state| state.received[self.index].extend_from_slice(&buffer[..read]));
        if read == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn unconsumed(&self) -> Vec<u8> {
        self.log.lock().received[self.index][self.consumed..].to_vec()
    }

    fn read_exactly(&mut self, bytes: usize) -> io::Result<()> {
        loop {
            let have = self.unconsumed().len();
            if have >= bytes {
                self.consumed += bytes;
                return Ok(());
            }
            self.read(bytes - have)?;
        }
    }

    fn read_request(&mut self) -> io::Result<()> {
        let length = loop {
            let have = self.unconsumed();
            if let Some(end) = have.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4 + content_length(&have[..end]);
            }
            self.read(4096)?;
        };
        let resumed = usize::from(self.stream.is_resumed());
        self.log.change(|state| state.resumed += resumed);
        self.read_exactly(length)
    }

    /// Ends our direction and reads until the client ends its own, so that what it sends meets no
    /// RST.
    fn end(mut self) -> io::Result<()> {
        self.stream.fin()?;
        loop {
            match self.read(4096) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    assert!(!head.contains("transfer-encoding"), "the peer reads no request with a transfer coding");
    let field = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    field.map_or(0, |value| value.trim().parse().unwrap())
}
