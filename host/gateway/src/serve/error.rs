//! Why a host can't serve.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// A host can't serve. Nothing was opened to anybody.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody listens at the socket's path.
    #[error("another process serves at {}: stop it, or set another `agent_socket` in `[serve]`", path.display())]
    SocketBusy {
        /// The path.
        path: PathBuf,
    },
    /// Something else has the socket's path.
    #[error("{} is there and is no socket: remove it, or set another `agent_socket` in `[serve]`", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The system has no room for so long a path.
    #[error("the path {} is too long for a socket (107 bytes are the most): set a shorter `agent_socket` in `[serve]`", path.display())]
    SocketPathTooLong {
        /// The path.
        path: PathBuf,
    },
    /// The socket is open to others than was configured.
    #[error("{} has mode {found:04o} and not {wanted:04o}, so that it is not served: its file system keeps no permissions", path.display())]
    SocketMode {
        /// The path.
        path: PathBuf,
        /// Its permission bits.
        found: u32,
        /// What they should be.
        wanted: u32,
    },
    /// The socket can't be made.
    #[error("could not {doing} {}: {source}", path.display())]
    Socket {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// Somebody listens at the address.
    #[error("{address} is in use: stop what listens there, or set another address as `http` in `[serve]`")]
    HttpBusy {
        /// The address.
        address: SocketAddr,
    },
    /// This user may not listen at the address.
    #[error("this user may not listen at {address}: set a port above 1023 as `http` in `[serve]`")]
    HttpForbidden {
        /// The address.
        address: SocketAddr,
    },
    /// The address can't be listened at.
    #[error("could not listen at {address}, which is `http` in `[serve]`: {source}")]
    Http {
        /// The address.
        address: SocketAddr,
        /// The operating system's answer.
        source: io::Error,
    },
}
