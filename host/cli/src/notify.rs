//! What a service manager is told (`sd_notify(3)`): one datagram a state, to the socket that it names.

use std::ffi::OsString;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

const VARIABLE: &str = "NOTIFY_SOCKET";

/// Whoever started the program and wants to know how it is, if anybody does.
pub(crate) struct Manager {
    socket: Option<OsString>,
}

impl Manager {
    pub(crate) fn from_environment() -> Self {
        Self { socket: std::env::var_os(VARIABLE).filter(|socket| !socket.is_empty()) }
    }

    /// Tells a state. Nothing depends on its being heard.
    pub(crate) fn tell(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        let address = match socket.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
            _ => SocketAddr::from_pathname(Path::new(socket)),
        };
        let told =
            address.and_then(|address| UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address));
        if let Err(error) = told {
            tracing::warn!(%error, "the service manager could not be told");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_arrives_by_path_and_by_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let abstract_name = format!("proofport-test-{}", std::process::id());
        let by_name = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let check = |socket: OsString, listener: UnixDatagram| {
            Manager { socket: Some(socket) }.tell("READY=1");
            let mut buffer = [0; 32];
            let read = listener.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..read], b"READY=1");
        };
        check(path.clone().into(), UnixDatagram::bind(&path).unwrap());
        check(format!("@{abstract_name}").into(), UnixDatagram::bind_addr(&by_name).unwrap());
        Manager { socket: None }.tell("READY=1");
        Manager { socket: Some("/nobody/there".into()) }.tell("READY=1");
    }
}
