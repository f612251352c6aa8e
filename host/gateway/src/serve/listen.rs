//! Where agents find the host: its Unix socket, and the address for HTTP.

use super::error::ServeError;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// A socket's file. It is removed with this value, unless somebody else's has its place by then.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours =
            fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.identity);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "the socket could not be removed");
        }
    }
}

/// Listens at a Unix socket that only those may connect to whom `mode` names. A socket that a dead host left
/// is replaced; one at which somebody listens is not.
///
/// # Errors
/// See [`ServeError`].
pub(crate) fn unix(path: &Path, mode: u32) -> Result<(UnixListener, SocketFile), ServeError> {
    let failed = |doing| move |source| ServeError::Socket { doing, path: path.to_owned(), source };
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => match UnixStream::connect(path) {
            Ok(_) => return Err(ServeError::SocketBusy { path: path.to_owned() }),
            // Nobody listens, so nobody misses it.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed("replace"))?;
            }
            Err(source) => return Err(failed("look at")(source)),
        },
        Ok(_) => return Err(ServeError::NotASocket { path: path.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(source) => return Err(failed("look at")(source)),
    }
    let listener = UnixListener::bind(path).map_err(|source| {
        let path = path.to_owned();
        if source.kind() == ErrorKind::AddrInUse {
            ServeError::SocketBusy { path }
        } else if source.kind() == ErrorKind::InvalidInput {
            ServeError::SocketPathTooLong { path }
        } else {
            ServeError::Socket { doing: "make the socket", path, source }
        }
    })?;
    let made = fs::symlink_metadata(path).map_err(failed("look at"))?;
    let file = SocketFile { path: path.to_owned(), identity: (made.dev(), made.ino()) };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed("set the permissions of"))?;
    let found = fs::symlink_metadata(path).map_err(failed("look at"))?.mode() & 0o777;
    if found != mode {
        return Err(ServeError::SocketMode { path: path.to_owned(), found, wanted: mode });
    }
    Ok((listener, file))
}

/// Listens for HTTP at an address.
///
/// # Errors
/// See [`ServeError`].
pub(super) async fn http(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source: io::Error| {
        if source.kind() == ErrorKind::AddrInUse {
            ServeError::HttpBusy { address }
        } else if source.kind() == ErrorKind::PermissionDenied {
            ServeError::HttpForbidden { address }
        } else {
            ServeError::Http { address, source }
        }
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_left_socket_is_replaced_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let refused = |path: &Path, says: &str| {
            let text = unix(path, 0o600).unwrap_err().to_string();
            assert!(text.contains(says) && text.contains(path.to_str().unwrap()), "{text}");
        };
        // A process that dies leaves its socket's file.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let (listener, file) = unix(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o660);
        refused(&path, "another process serves");
        drop((listener, file));
        assert!(!path.exists());
        fs::write(&path, "mine").unwrap();
        refused(&path, "is no socket");
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        refused(&folder.path().join("none/agent.sock"), "could not make the socket");
        refused(&folder.path().join("a".repeat(120)), "too long");
    }

    #[tokio::test]
    async fn the_socket_of_a_successor_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.sock");
        let (_first, file) = unix(&path, 0o600).unwrap();
        fs::remove_file(&path).unwrap();
        let _second = unix(&path, 0o600).unwrap();
        drop(file);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn an_address_in_use_is_named() {
        let (_listener, address) = http("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let text = http(address).await.unwrap_err().to_string();
        assert!(text.contains(&address.to_string()) && text.contains("`http` in `[serve]`"), "{text}");
    }
}
