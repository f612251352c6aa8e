//! Which script serves a connection, and serving it.

use super::log::Log;
use super::script::Script;
use super::scripts::Scripts;
use super::wire::Wire;
use super::{h2, http1};
use rustls::ServerConfig;
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

/// What a peer speaks, with its scripts.
pub(super) enum Speaks {
    Http1(Scripts),
    Http2(h2::Scripts),
    /// What ALPN chooses.
    Either(Arc<Mutex<(Scripts, h2::Scripts)>>),
}

/// What serves one connection. No script: it is reset.
pub(super) enum Part {
    Http1(Option<Script>),
    Http2(Option<h2::Script>),
    /// The next script of the protocol that ALPN chooses.
    Agreed(Arc<Mutex<(Scripts, h2::Scripts)>>),
}

impl Speaks {
    /// The next connection's part.
    pub(super) fn next(&mut self) -> Part {
        match self {
            Self::Http1(scripts) => Part::Http1(scripts.next()),
            Self::Http2(scripts) => Part::Http2(scripts.next()),
            Self::Either(scripts) => Part::Agreed(Arc::clone(scripts)),
        }
    }
}

/// Carries the connection's script out.
pub(super) fn serve(index: usize, stream: TcpStream, tls: Option<Arc<ServerConfig>>, part: Part, log: &Log) {
    // An error means that the client went first, which is its right and ends the script.
    let _ = run(Wire::new(index, stream, tls, log), part);
    log.change(|state| state.ended += 1);
}

fn run(mut wire: Wire<'_>, part: Part) -> io::Result<()> {
    match part {
        Part::Http1(Some(script)) => http1::run(wire, script),
        Part::Http2(Some(script)) => h2::run(wire, script),
        Part::Http1(None) | Part::Http2(None) => wire.reset(),
        Part::Agreed(scripts) => {
            wire.handshake()?;
            let agreed = {
                let mut scripts = scripts.lock().unwrap_or_else(PoisonError::into_inner);
                if wire.is_http2_agreed() {
                    Part::Http2(scripts.1.next())
                } else {
                    Part::Http1(scripts.0.next())
                }
            };
            run(wire, agreed)
        }
    }
}
