//! A whole host over HTTP against scripted peers: what it claims, what is on record, and what the peer
//! saw. The peer's log is the truth.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod cancel;
mod identity;
mod pool;
mod redirects;
mod sigv4;
mod targets;

use proofport_broker::{Clock as _, SystemClock};
use proofport_core::contract::InjectionMode;
use proofport_core::envelope::Envelope;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_core::state::State;
use proofport_gateway::home::Home;
use proofport_tests::peer::{Act, Ca, Peer, Script};
use proofport_tests::rig::{CANARY, Open, PASSPHRASE, Rig, Wanted, name};
use proofport_vault::{Destination, Uses, Vault};
use std::sync::LazyLock;

const NAMES: &[&str] = &["127.0.0.1", "localhost"];

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);

/// A home whose one connection, `c`, is of the guest `courier`.
struct Site {
    /// Where it goes.
    origins: Vec<Origin>,
    /// Where else its secret may go.
    also: Vec<Origin>,
    /// How its secret is attached.
    mode: InjectionMode,
    /// What that needs in the file.
    companions: &'static str,
    secret: String,
    /// More lines for the connection's table in `proofport.toml`.
    more: String,
    /// The lines of its limits.
    limits: &'static str,
    /// The ranges in its `addresses`.
    addresses: &'static str,
}

impl Site {
    /// A connection to this origin with a bearer token, which believes in [`CA`].
    fn of(origin: Origin) -> Self {
        Self {
            origins: vec![origin],
            also: Vec::new(),
            mode: InjectionMode::HttpBearer,
            companions: "",
            secret: CANARY.to_owned(),
            more: String::new(),
            limits: "setup_attempts = 1",
            addresses: "\"127.0.0.0/8\"",
        }
    }

    async fn make(&self) -> Rig {
        let mut wanted = Wanted::new("courier", self.origins[0].clone(), "");
        wanted.more = format!("ca_file = \"ca.pem\"\n{}", self.more);
        wanted = wanted.limits(self.limits);
        let rig = Rig::new(&wanted).await;
        let home = Home::at(rig.home()).unwrap();
        std::fs::write(rig.home().join("ca.pem"), CA.pem()).unwrap();
        let mut vault = Vault::open(&home.vault()).unwrap();
        vault.unlock(&Secret::new(PASSPHRASE.as_bytes().to_vec())).unwrap();
        let destinations = self.origins.iter().chain(&self.also).cloned().map(Destination::Origin).collect();
        let uses = Uses { destinations, modes: vec![self.mode] };
        let value = Secret::new(self.secret.clone().into_bytes());
        vault.set(&name("secret"), value, uses, SystemClock.now()).unwrap();
        let origins: Vec<String> = self.origins.iter().map(|origin| format!("\"{origin}\"")).collect();
        let text = std::fs::read_to_string(home.config()).unwrap();
        let text = text
            .replace(&format!("origins = [{}]", origins[0]), &format!("origins = [{}]", origins.join(", ")))
            .replace("addresses = [\"127.0.0.0/8\"]", &format!("addresses = [{}]", self.addresses));
        let (mode, companions) = (self.mode, self.companions);
        let slot = format!(
            "[connections.c.credentials.key]\nsecret = \"secret\"\nmode = \"{mode}\"\n{companions}\n"
        );
        std::fs::write(home.config(), format!("{text}\n{slot}")).unwrap();
        rig
    }
}

/// What is on record of an answer's invocation.
fn record(open: &Open, envelope: &Envelope) -> State {
    open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap().unwrap().state().clone()
}

/// Reads a request, applies no effect, and answers with this.
fn says(answer: impl Into<Vec<u8>>) -> Script {
    Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close])
}

/// The text of what a peer's connection received.
fn received(peer: &Peer, connection: usize) -> String {
    String::from_utf8(peer.received()[connection].clone()).unwrap()
}

/// A port of 127.0.0.1 on which nobody listens.
fn nobody() -> Origin {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    Origin::parse(&format!("https://{free}")).unwrap()
}
