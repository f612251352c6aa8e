//! Other people's intermediaries between the host and a peer: squid and nginx from Debian, and scripted
//! proxies that do what those never do. What is claimed is held against what the peers saw.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod environment;
mod forward;
mod login;
mod relay;
mod reverse;
mod squid;
mod suite;
mod tunnel;

use proofport_core::code::Code;
use proofport_core::contract::{InjectionMode, Outcome};
use proofport_core::envelope::Envelope;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_core::state::State;
use proofport_gateway::home::Home;
use proofport_tests::peer::{Act, Ca, Peer, Script, Scripts};
use proofport_tests::rig::{self, Open, Rig, Wanted, name};
use proofport_tests::squid::{Squid, SquidOptions};
use proofport_vault::{Destination, Uses, Vault};
use std::net::{SocketAddr, TcpListener};
use std::sync::LazyLock;

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// The user who logs in at proxies.
const USER: &str = "agent";

/// Their password: ugly enough to be found in any shape.
const PASSWORD: &str = "pr0xy+/=p4ssw0rd&%20-0a1b2c3d4e5f";

/// A host with one connection, `c`.
struct Setting {
    rig: Rig,
    open: Open,
}

/// What is between the host and the origin.
#[derive(Clone, Copy, Default)]
struct Way<'a> {
    /// The proxy.
    proxy: Option<SocketAddr>,
    /// Who resolves.
    resolve: &'static str,
    /// The password for the proxy, if it is to get one.
    password: Option<&'a str>,
    /// More lines for the connection's table.
    more: &'a str,
    /// Whether deadlines are of a second: for what never comes.
    impatient: bool,
}

impl<'a> Way<'a> {
    /// Through this proxy, with addresses that the host checks.
    fn tunnel(proxy: SocketAddr) -> Self {
        Self { proxy: Some(proxy), resolve: "host", ..Self::default() }
    }

    /// Through this proxy, which finds the origin itself.
    fn forward(proxy: SocketAddr) -> Self {
        Self { proxy: Some(proxy), resolve: "proxy", ..Self::default() }
    }

    fn with_password(self, password: &'a str) -> Self {
        Self { password: Some(password), ..self }
    }

    fn impatient(self, impatient: bool) -> Self {
        Self { impatient, ..self }
    }

    fn with(self, more: &'a str) -> Self {
        Self { more, ..self }
    }
}

impl Setting {
    /// A guest's connection to this origin. Deadlines are longer than anything here takes, unless the way
    /// is impatient; a failed connection is not tried again.
    async fn new(guest: &'static str, origin: Origin, way: Way<'_>) -> Self {
        let mut wanted = Wanted::new(guest, origin, "key");
        wanted.more = format!("ca_file = \"ca.pem\"\n{}\n", way.more);
        if let Some(proxy) = way.proxy {
            let login = way.password.map(|_| format!("user = \"{USER}\"\nsecret = \"proxy\"\n"));
            wanted.more.push_str(&format!(
                "[connections.c.proxy]\nurl = \"http://{proxy}\"\nresolve = \"{}\"\n{}",
                way.resolve,
                login.unwrap_or_default()
            ));
        }
        let seconds = if way.impatient { 1 } else { 20 };
        let limits = format!("deadline_seconds = {seconds}\nconnect_seconds = {seconds}\nsetup_attempts = 1");
        let rig = Rig::new(&wanted.limits(&limits)).await;
        std::fs::write(rig.home().join("ca.pem"), CA.pem()).unwrap();
        if let (Some(proxy), Some(password)) = (way.proxy, way.password) {
            let mut vault = Vault::open(&Home::at(rig.home()).unwrap().vault()).unwrap();
            vault.unlock(&Secret::new(rig::PASSPHRASE.as_bytes().to_vec())).unwrap();
            set(&mut vault, password, proxy);
        }
        let open = rig.open().await;
        Self { rig, open }
    }

    async fn call(&self, operation: &str) -> Envelope {
        self.open.call(operation, "{}").await
    }

    /// What is on record of a call.
    fn state(&self, envelope: &Envelope) -> State {
        let record = self.open.broker.diagnostic(&envelope.request_id().unwrap()).unwrap().unwrap();
        record.state().clone()
    }
}

/// Stores the proxy's password for a proxy at this address.
fn set(vault: &mut Vault, password: &str, proxy: SocketAddr) {
    let origin = Origin::parse(&format!("http://{proxy}")).unwrap();
    let uses =
        Uses { destinations: vec![Destination::Origin(origin)], modes: vec![InjectionMode::HttpBasic] };
    vault.set(&name("proxy"), Secret::new(password.as_bytes().to_vec()), uses, rig::now()).unwrap();
}

/// What is claimed, for comparing.
fn claim(envelope: &Envelope) -> (Option<Code>, Outcome) {
    (envelope.code(), envelope.outcome().unwrap())
}

/// Holds a claim about one call against what the peers behind everything saw of it: they were made for
/// this call alone.
fn hold(what: &str, envelope: &Envelope, peers: &[&Peer]) {
    let effects: usize = peers.iter().map(|peer| peer.effects()).sum();
    match envelope.outcome().unwrap() {
        Outcome::NotAttempted => {
            let seen = peers.iter().flat_map(|peer| peer.received()).flatten().count();
            assert_eq!((seen, effects), (0, 0), "{what}: not attempted means no byte: {envelope:?}");
        }
        Outcome::Rejected => assert_eq!(effects, 0, "{what}: rejected means no effect: {envelope:?}"),
        Outcome::Committed => assert_eq!(effects, 1, "{what}: committed means one effect: {envelope:?}"),
        Outcome::Unknown => assert!(effects <= 1, "{what}: nothing is sent twice: {envelope:?}"),
    }
}

/// Whether a script waits for what never comes.
fn holds(script: &Script) -> bool {
    script.0.contains(&Act::Hold)
}

fn start(options: SquidOptions) -> Squid {
    Squid::start(options).unwrap_or_else(|error| panic!("{error}"))
}

/// A squid that wants the password.
fn guarded() -> Squid {
    start(SquidOptions { auth: Some((USER.to_owned(), PASSWORD.to_owned())), ..SquidOptions::default() })
}

/// This script on every connection.
fn always(script: Script) -> Scripts {
    Scripts { each: Default::default(), default: Some(script) }
}

fn address(peer: &Peer) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], peer.port()))
}

/// An address at which nobody listens: bound, then let go.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn origin(text: &str) -> Origin {
    Origin::parse(text).unwrap()
}
