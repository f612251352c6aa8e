//! The peer of all measurements: a process of its own that answers `{}` to everything, or only to what
//! it meets for the second time.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It is answered.
    Answers,
    /// It is answered when it comes with a key that came before; the first time the connection ends
    /// instead.
    LosesTheFirst,
}

/// Serves until standard input ends.
///
/// # Errors
/// When it can't listen.
pub fn serve(manner: Manner) -> std::io::Result<ExitCode> {
    let known = Arc::new(Mutex::new(HashSet::new()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?.port())?;
        let gone = tokio::task::spawn_blocking(|| std::io::stdin().lock().read_line(&mut String::new()));
        tokio::pin!(gone);
        loop {
            tokio::select! {
                _ = &mut gone => return Ok(ExitCode::SUCCESS),
                accepted = listener.accept() => {
                    tokio::spawn(answer(accepted?.0, manner, Arc::clone(&known)));
                }
            }
        }
    })
}

/// Answers every request on this connection. The head is looked at as little as can be: this peer
/// shares the processors with what is measured.
async fn answer(mut stream: TcpStream, manner: Manner, known: Known) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut seen = Vec::with_capacity(4096);
    loop {
        if let Some(end) = request_end(&seen) {
            let request: Vec<u8> = seen.drain(..end).collect();
            if manner == Manner::LosesTheFirst && is_first(&request, &known) {
                return Ok(());
            }
            stream.write_all(ANSWER).await?;
        } else if stream.read_buf(&mut seen).await? == 0 {
            return Ok(());
        }
    }
}

/// The keys that came once and not twice.
type Known = Arc<Mutex<HashSet<String>>>;

fn is_first(request: &[u8], known: &Known) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some(key) = text.lines().find_map(|line| line.strip_prefix("idempotency-key:")) else { return true };
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    !known.remove(key) && known.insert(key.to_owned())
}

fn request_end(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let end = head + length.map_or(0, |length| length.trim().parse().unwrap_or(0));
    (bytes.len() >= end).then_some(end)
}

/// A running peer; it ends with this value.
pub struct Running {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

/// Starts the peer.
///
/// # Errors
/// When it does not come up.
pub fn start(manner: Manner) -> std::io::Result<Running> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg(match manner {
            Manner::Answers => "peer",
            Manner::LosesTheFirst => "peer-that-loses",
        })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let port = line.trim().parse().map_err(std::io::Error::other)?;
    Ok(Running { child, port })
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
