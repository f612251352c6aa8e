//! A real `localstripe`: somebody else's implementation of a part of Stripe's API, run as a process.
//!
//! What it does, as tried with 1.15.10, where that differs from Stripe or matters to a test:
//!
//! - **Keys.** Any key that begins with `sk_` and has more than five characters is taken, as bearer
//!   token or as basic user name; anything else is a 401 with an error object.
//! - **Idempotency.** `Idempotency-Key` is ignored: the same request twice is two objects. It is a peer
//!   that breaks a declared contract, and nothing marks an answer as replayed.
//! - **Creates** take form fields in Stripe's spelling, `metadata[…]` and lists in `[]` included, and
//!   refuse unknown ones with a 400. Among the unknown ones are a payment intent's `description` and a
//!   refund's `reason`. A currency may be any text. A customer that does not exist is a 404.
//! - **Lists** know `limit` and `starting_after`, and show the oldest first (refunds: the newest).
//!   `created[gte]` is a 400 for customers and payment intents and a 500 for refunds; refunds can be
//!   narrowed by `payment_intent`.
//! - **Payment intents** with `payment_method=pm_card_visa` are `requires_confirmation`, and
//!   `succeeded` once confirmed; a second confirmation is a 400. `pm_card_chargeCustomerFail` is
//!   declined when confirmed: 402, `card_declined`, and the intent is `requires_payment_method` again.
//!   (`pm_card_visa_chargeDeclined` is not declined.) To confirm with a `payment_method` is a 500.
//! - **Refunds** by `payment_intent` succeed at once, in any amount. Of an intent that was never
//!   confirmed they are a 500 in plain text, and nothing was made.
//! - Errors have a `type` and a `message`, and a `code` only when a card was declined.

use crate::plain_http::exchange;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A key that it takes.
pub const KEY: &str = "sk_test_localstripe";

/// How long it may take to start, in seconds.
const START_SECONDS: u64 = 60;

/// Runs the server as its own program does, but keeps its state in memory (it would write to one file
/// in the system's temporary folder, shared by all that run), and ends with the process that started it.
const PROGRAM: &str = r"
import os, sys, threading
from localstripe import resources, server

resources.Store.dump_to_disk = lambda self: None

def end_with_parent():
    sys.stdin.read()
    os._exit(0)

threading.Thread(target=end_with_parent, daemon=True).start()
server.start()
";

/// The running server; it ends when dropped.
pub struct LocalStripe {
    child: Child,
    port: u16,
}

/// Why there is no server.
#[derive(Debug)]
pub enum StartError {
    /// The Python environment is missing.
    NotSetUp(PathBuf),
    /// It ended or said nothing; what it wrote to standard error.
    Failed(String),
    /// Something failed on our side.
    Io(io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotSetUp(python) => {
                write!(f, "localstripe is not set up ({} is missing): run make setup", python.display())
            }
            Self::Failed(said) => write!(f, "localstripe did not start: {said}"),
            Self::Io(error) => write!(f, "localstripe could not be run: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl LocalStripe {
    /// A server with nothing in it, on a free port, ready for requests.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start() -> Result<Self, StartError> {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.venv/bin/python");
        if !python.exists() {
            return Err(StartError::NotSetUp(python));
        }
        let mut said = tempfile::tempfile()?;
        let mut child = Command::new(python)
            .args(["-c", PROGRAM, "--from-scratch", "--port", "0"])
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said.try_clone()?)
            .spawn()?;
        let port = child.stdout.take().and_then(announced_port);
        // From here on dropping it ends the process.
        let server = Self { child, port: port.unwrap_or_default() };
        if port.is_none() {
            drop(server);
            return Err(StartError::Failed(read_all(&mut said)?));
        }
        Ok(server)
    }

    /// Its port on the loopback addresses.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its origin, as a connection spells it.
    #[must_use]
    pub fn origin(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Stops it for good: its port refuses connections afterwards.
    ///
    /// # Errors
    /// When it can't be killed.
    pub fn stop(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Suspends it: the system still accepts connections for it, and nothing reads them.
    ///
    /// # Errors
    /// When it has ended.
    pub fn freeze(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When it has ended.
    pub fn thaw(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Asks it directly, past everything that is tested: status and body. `form` makes it a POST.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, path: &str, form: Option<&str>) -> io::Result<(u16, Value)> {
        self.ask_with_key(KEY, path, form)
    }

    /// Like [`ask`](Self::ask), with a key of the test's own.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask_with_key(&self, key: &str, path: &str, form: Option<&str>) -> io::Result<(u16, Value)> {
        let (method, body) = form.map_or(("GET", ""), |form| ("POST", form));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {key}\r\nidempotency-key: same\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            self.address(),
            body.len(),
        );
        let answer = exchange(self.address(), request.as_bytes())?;
        let status = answer.status().ok_or(io::ErrorKind::InvalidData)?;
        Ok((status, serde_json::from_slice(&answer.body).unwrap_or_default()))
    }

    /// By its own count, how many it holds of `customers`, `payment_intents`, `refunds` or `charges`.
    ///
    /// # Errors
    /// When it does not say.
    pub fn count(&self, resource: &str) -> io::Result<u64> {
        let (_, list) = self.ask(&format!("/v1/{resource}?limit=1"), None)?;
        list["total_count"].as_u64().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let id = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        let id = Pid::from_raw(id).ok_or(io::ErrorKind::NotFound)?;
        kill_process(id, signal).map_err(io::Error::from)
    }
}

impl Drop for LocalStripe {
    fn drop(&mut self) {
        // Where it has already ended, there is nothing left to do.
        self.stop().ok();
    }
}

/// Waits for the line that says where it listens, which it prints once it does.
fn announced_port(stdout: impl Read + Send + 'static) -> Option<u16> {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        // Read to the end, so that it never waits for a reader.
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let port =
                line.split("http://[::]:").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
            if let Some(port) = port {
                send.send(port).ok();
            }
        }
    });
    receive.recv_timeout(Duration::from_secs(START_SECONDS)).ok()
}

fn read_all(file: &mut File) -> io::Result<String> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    Ok(text)
}
