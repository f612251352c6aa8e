//! A way to the server that is cut after so many bytes.

// A way that can't be made fails the test that wanted it.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How long nothing gets through before both ends learn of it: longer than the host's deadline.
const SILENCE: Duration = Duration::from_secs(4);

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether bytes to the server are counted; else those from it.
    pub sending: bool,
    /// So many get through.
    pub after: u64,
    /// How it looks to both ends.
    pub how: How,
}

/// What both ends see of a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// FIN.
    Closed,
    /// RST.
    Reset,
    /// Nothing any more.
    Silent,
}

impl How {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Reset, Self::Silent];

    /// Its word in counts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Reset => "reset",
            Self::Silent => "silent",
        }
    }
}

/// A port that leads to the server.
pub struct Cutter {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// For connections from now on.
    cut: Mutex<Option<Cut>>,
    /// Bytes to the server and from it, in all.
    passed: [AtomicU64; 2],
}

impl Cutter {
    /// A way to this address that is not cut.
    ///
    /// # Panics
    /// When no port is to be had.
    #[must_use]
    pub fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let ours = Arc::clone(&shared);
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // A server that is gone is a connection that ends.
                let Ok(far) = TcpStream::connect(server) else { continue };
                let cut = *ours.cut.lock().unwrap();
                for (sending, from, to) in [(true, &near, &far), (false, &far, &near)] {
                    let one = Way {
                        from: from.try_clone().unwrap(),
                        to: to.try_clone().unwrap(),
                        sending,
                        cut,
                        shared: Arc::clone(&ours),
                    };
                    thread::spawn(move || one.pass());
                }
            }
        });
        Self { address, shared }
    }

    /// Its port on loopback.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Cuts every connection from now on like this.
    ///
    /// # Panics
    /// When a thread of it panicked.
    pub fn set(&self, cut: Option<Cut>) {
        *self.shared.cut.lock().unwrap() = cut;
    }

    /// Bytes to the server and from it since this was asked last.
    pub fn passed(&self) -> [u64; 2] {
        self.shared.passed.each_ref().map(|passed| passed.swap(0, Ordering::Relaxed))
    }
}

/// One direction of a connection.
struct Way {
    from: TcpStream,
    to: TcpStream,
    sending: bool,
    cut: Option<Cut>,
    shared: Arc<Shared>,
}

impl Way {
    fn pass(mut self) {
        let cut = self.cut.filter(|cut| cut.sending == self.sending);
        let mut left = cut.map_or(u64::MAX, |cut| cut.after);
        let mut buffer = [0; 4096];
        loop {
            if let (0, Some(cut)) = (left, cut) {
                self.end(cut.how);
                return;
            }
            let most = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let Some(room) = buffer.get_mut(..most) else { return };
            let Ok(n @ 1..) = self.from.read(room) else { break };
            if self.to.write_all(&room[..n]).is_err() {
                break;
            }
            left -= n as u64;
            self.shared.passed[usize::from(!self.sending)].fetch_add(n as u64, Ordering::Relaxed);
        }
        let _ = self.to.shutdown(Shutdown::Write);
    }

    fn end(&self, how: How) {
        match how {
            How::Closed => {}
            How::Reset => {
                for socket in [&self.from, &self.to] {
                    // SO_LINGER of zero makes closing a reset (socket(7)).
                    let _ = rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO));
                }
            }
            How::Silent => {
                // Both ends keep their sockets for longer than the host waits, and nothing gets through.
                thread::park_timeout(SILENCE);
            }
        }
        for socket in [&self.from, &self.to] {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
