//! A Unix socket on the way to a server, which can be gone in the middle of an exchange.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpStream, UnixListener};
use tokio::task::{JoinHandle, JoinSet};

/// The socket; gone with everything on it when dropped.
pub struct SocketWay {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl SocketWay {
    /// A socket at `path` that leads to the server at `to`.
    ///
    /// # Panics
    /// When it can't be bound.
    #[must_use]
    pub fn open(path: &Path, to: SocketAddr) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let task = tokio::spawn(async move {
            // Dropped with this task, and every connection with it.
            let mut connections = JoinSet::new();
            while let Ok((mut near, _)) = listener.accept().await {
                connections.spawn(async move {
                    let mut far = TcpStream::connect(to).await.unwrap();
                    copy_bidirectional(&mut near, &mut far).await.ok();
                });
            }
        });
        Self { path: path.to_owned(), task }
    }

    /// The socket is gone, and every connection on it.
    pub async fn die(mut self) {
        self.task.abort();
        (&mut self.task).await.ok();
    }
}

impl Drop for SocketWay {
    fn drop(&mut self) {
        self.task.abort();
        std::fs::remove_file(&self.path).ok();
    }
}
