//! A proxy before a real server that loses answers: the server reads the whole request and carries it
//! out, and the client's connection closes without a byte of the answer. To the client it is a server
//! that stopped after it had read the request.

use crate::plain_http::{Message, exchange, read_message};
use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The proxy; it ends when dropped.
pub struct ReadThenDie {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: SocketAddr,
    losing: AtomicBool,
    lost: AtomicUsize,
    ended: AtomicBool,
}

impl ReadThenDie {
    /// A proxy on a free port before this server. It loses every answer until
    /// [`heal`](Self::heal).
    ///
    /// # Errors
    /// When no port can be had.
    pub fn before(upstream: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            upstream,
            losing: AtomicBool::new(true),
            lost: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.ended.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let shared = Arc::clone(&accepting);
                // A broken connection ends here and is the client's to notice.
                std::thread::spawn(move || shared.serve(stream).ok());
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its origin, as a connection spells it.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// From now on answers get through, so that the client can ask what became of its request.
    pub fn heal(&self) {
        self.shared.losing.store(false, Ordering::SeqCst);
    }

    /// From now on answers get lost again.
    pub fn relapse(&self) {
        self.shared.losing.store(true, Ordering::SeqCst);
    }

    /// How many requests the server has answered in full without the client learning it. It is
    /// counted before the client's connection closes.
    #[must_use]
    pub fn answers_lost(&self) -> usize {
        self.shared.lost.load(Ordering::SeqCst)
    }
}

impl Drop for ReadThenDie {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        // Wakes the accepting thread; where this fails, the process is ending anyway.
        TcpStream::connect(self.address).ok();
    }
}

impl Shared {
    fn serve(&self, mut client: TcpStream) -> io::Result<()> {
        let mut requests = BufReader::new(client.try_clone()?);
        while let Some(request) = read_message(&mut requests)? {
            let answer: Message = exchange(self.upstream, &request.bytes())?;
            if self.losing.load(Ordering::SeqCst) {
                self.lost.fetch_add(1, Ordering::SeqCst);
                return Ok(());
            }
            client.write_all(&answer.bytes())?;
        }
        Ok(())
    }
}
