//! MCP over standard input and output: a process that carries one client's messages to the running host, over
//! the agents' socket, so that the host sees which process asks, or is shown its token. It holds no other secret,
//! opens no home and decides nothing.
//!
//! Every message has a connection of its own, so that a host that was started again is simply there for the
//! next one. What the carrier answers itself is what its own wire proves: nothing was sent where no host was
//! reached, and `unknown` where the way broke, under the call's id where the host had named it. To know that
//! early, a call without a progress token gets one of the carrier's, and the host names the call in the first
//! progress after its acceptance is on disk (`proofport/request_id` in the notification's `_meta`).

mod events;
mod exchange;
mod host;
mod lines;
mod message;
mod reply;

use exchange::Going;
use host::Host;
pub use host::NoToken;
use lines::{Line, Lines};
use message::{Message, Unfit};
use proofport_core::secret::Secret;
use serde_json::Value;
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The agents' socket in a home.
pub const SOCKET: &str = "agent.sock";

/// The longest message of a client's, in bytes.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// How many answers may wait for a client that does not read.
const WAITING: usize = 64;

/// What carries a client's messages; cheap to clone.
#[derive(Clone)]
struct Shim {
    host: Host,
    out: mpsc::Sender<Vec<u8>>,
    /// The version of the handshake, where there was one.
    agreed: Arc<Mutex<Option<String>>>,
    /// The requests that are being carried, by what the client calls them.
    going: Arc<Mutex<HashMap<String, Going>>>,
}

/// Where the host is, and how it is told who asks.
#[derive(Clone)]
pub struct Route(Host);

impl Route {
    /// By this socket. The host looks at the process, unless a token is shown to it.
    ///
    /// # Errors
    /// When the token is none.
    pub fn new(socket: &Path, token: Option<&Secret>) -> Result<Self, NoToken> {
        Host::at(socket, token).map(Self)
    }
}

/// Carries a client's messages to the host until the client has no more to say and has all its answers, or does
/// not listen any more.
///
/// # Errors
/// When the client can't be read from or written to.
pub async fn run(
    Route(host): Route,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let (out, answers) = mpsc::channel(WAITING);
    let writer = tokio::spawn(write(output, answers));
    let shim = Shim { host, out, agreed: Arc::default(), going: Arc::default() };
    let (mut requests, mut streams) = (JoinSet::new(), JoinSet::new());
    let mut lines = Lines::new(input, MOST_BYTES);
    let mut count = 0_u64;
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            Some(_) = requests.join_next() => continue,
            () = shim.out.closed() => break,
        };
        let Some(line) = line else { break };
        let read = match line {
            Line::Whole(line) => Message::read(&line),
            Line::TooLong => Err(Unfit::TooLong),
        };
        match read.map(|message| (message.name(), message)) {
            Ok((Some(name), message)) => {
                count += 1;
                let ours = format!("proofport-shim-{count}");
                let streams_on = message.method == "subscriptions/listen";
                let carried = exchange::request(shim.clone(), name, message, ours);
                if streams_on {
                    streams.spawn(carried)
                } else {
                    requests.spawn(carried)
                };
            }
            Ok((None, message)) => {
                if message.method == "notifications/initialized" {
                    streams.spawn(exchange::changes(shim.clone()));
                }
                requests.spawn(exchange::notification(shim.clone(), message));
            }
            Err(Unfit::NoMessage(id)) => shim.say(&reply::no_message(id)).await,
            Err(Unfit::TooLong) => shim.say(&reply::too_long()).await,
            Err(Unfit::Answer) => {}
        }
    }
    while requests.join_next().await.is_some() {}
    streams.shutdown().await;
    drop(shim);
    writer.await.map_err(io::Error::other)?
}

async fn write(mut output: impl AsyncWrite + Unpin, mut answers: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(answer) = answers.recv().await {
        output.write_all(&answer).await?;
        output.flush().await?;
    }
    Ok(())
}

impl Shim {
    /// Says something to the client. One that does not listen any more is no trouble.
    async fn say(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        // The loop sees that nobody listens.
        let _ = self.out.send(line).await;
    }

    fn agreed(&self) -> Option<String> {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn agree(&self, version: &str) {
        *self.agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(version.to_owned());
    }

    fn enter(&self, name: &str, going: Going) {
        self.going.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), going);
    }

    fn going(&self, name: &str) -> Option<Going> {
        self.going.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    fn leave(&self, name: &str) {
        self.going.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
