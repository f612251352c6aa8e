//! A proxy of our own that opens tunnels, notes what it is told, and cuts them where it is told to.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// How many bytes a tunnel carries each way before it is closed at both ends.
#[derive(Clone, Copy)]
pub(crate) struct Carries {
    pub(crate) to_origin: usize,
    pub(crate) to_client: usize,
}

impl Carries {
    pub(crate) const ALL: Self = Self { to_origin: usize::MAX, to_client: usize::MAX };
}

/// What a relay was told.
#[derive(Clone, Default)]
struct Noted {
    /// The heads of all requests.
    heads: Vec<String>,
    /// What clients said through tunnels.
    through: Vec<u8>,
}

/// A running relay; it ends when dropped.
pub(crate) struct Relay {
    address: SocketAddr,
    noted: Arc<Mutex<Noted>>,
    stopped: Arc<AtomicBool>,
}

impl Relay {
    /// Opens each tunnel to this origin, wherever it is asked to.
    pub(crate) fn to(origin: SocketAddr, carries: Carries) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (noted, stopped) = (Arc::<Mutex<Noted>>::default(), Arc::<AtomicBool>::default());
        let (notes, stop) = (Arc::clone(&noted), Arc::clone(&stopped));
        thread::spawn(move || {
            for client in listener.incoming() {
                if stop.load(Ordering::Acquire) {
                    return;
                }
                let (Ok(client), notes) = (client, Arc::clone(&notes)) else { return };
                // An error means that somebody went, which is their right.
                thread::spawn(move || serve(client, origin, carries, &notes).ok());
            }
        });
        Self { address, noted, stopped }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first line of every request.
    pub(crate) fn asked(&self) -> Vec<String> {
        let heads = &self.noted.lock().unwrap().heads;
        heads.iter().map(|head| head.lines().next().unwrap_or_default().to_owned()).collect()
    }

    /// What clients said through tunnels.
    pub(crate) fn through(&self) -> Vec<u8> {
        self.noted.lock().unwrap().through.clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
        // Wakes the thread that accepts; if that fails, it is gone already.
        TcpStream::connect(self.address).ok();
    }
}

fn serve(
    mut client: TcpStream,
    origin: SocketAddr,
    carries: Carries,
    noted: &Arc<Mutex<Noted>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.extend(byte);
    }
    noted.lock().unwrap().heads.push(String::from_utf8_lossy(&head).into_owned());
    let origin = TcpStream::connect(origin)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    let (from_origin, to_client) = (origin.try_clone()?, client.try_clone()?);
    let back = thread::spawn(move || pump(from_origin, to_client, carries.to_client, |_| ()).ok());
    let note = |bytes: &[u8]| noted.lock().unwrap().through.extend_from_slice(bytes);
    let pumped = pump(client, origin, carries.to_origin, note);
    back.join().ok();
    pumped
}

/// Carries at most so many bytes, then ends both ends.
fn pump(mut from: TcpStream, mut to: TcpStream, most: usize, note: impl Fn(&[u8])) -> io::Result<()> {
    let (mut left, mut buffer) = (most, [0; 4096]);
    while left > 0 {
        let room = left.min(buffer.len());
        let read = from.read(&mut buffer[..room])?;
        if read == 0 {
            return to.shutdown(Shutdown::Write);
        }
        note(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        left -= read;
    }
    to.shutdown(Shutdown::Both)?;
    from.shutdown(Shutdown::Both)
}
