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
use crate::python::{Program, PythonServer, StartError};
use serde_json::Value;
use std::io;
use std::net::SocketAddr;

/// A key that it takes.
pub const KEY: &str = "sk_test_localstripe";

/// Runs the server as its own program does, but keeps its state in memory (it would write to one file
/// in the system's temporary folder, shared by all that run), and ends with the process that started it.
const PROGRAM: Program = Program {
    name: "localstripe",
    text: r"
import os, sys, threading
from localstripe import resources, server

resources.Store.dump_to_disk = lambda self: None

def end_with_parent():
    sys.stdin.read()
    os._exit(0)

threading.Thread(target=end_with_parent, daemon=True).start()
server.start()
",
    arguments: &["--from-scratch", "--port", "0"],
    before_port: "http://[::]:",
};

/// The running server; it ends when dropped.
pub struct LocalStripe(PythonServer);

impl LocalStripe {
    /// A server with nothing in it, on a free port, ready for requests.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start() -> Result<Self, StartError> {
        PythonServer::start(&PROGRAM).map(Self)
    }

    /// See [`PythonServer::port`].
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.0.port()
    }

    /// See [`PythonServer::address`].
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// See [`PythonServer::origin`].
    #[must_use]
    pub fn origin(&self) -> String {
        self.0.origin()
    }

    /// See [`PythonServer::stop`].
    ///
    /// # Errors
    /// When it can't be killed.
    pub fn stop(&mut self) -> io::Result<()> {
        self.0.stop()
    }

    /// See [`PythonServer::freeze`].
    ///
    /// # Errors
    /// When it has ended.
    pub fn freeze(&self) -> io::Result<()> {
        self.0.freeze()
    }

    /// See [`PythonServer::thaw`].
    ///
    /// # Errors
    /// When it has ended.
    pub fn thaw(&self) -> io::Result<()> {
        self.0.thaw()
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
}
