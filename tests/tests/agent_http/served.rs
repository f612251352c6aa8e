//! A host that serves, opened as the program opens it.

use crate::agreed::agrees;
use crate::wire::{Answer, Place, request};
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_gateway::config::ServeConfig;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, OpenOptions};
use proofport_gateway::serve::{CancellationToken, Mounted, Parts, ServeError, Serving};
use proofport_gateway::session::Sessions;
use proofport_tests::peer::{Peer, Scripts};
use proofport_tests::rig::{PASSPHRASE, Rig, Wanted, name};
use std::sync::Arc;

/// A host that serves over HTTP at a free port, and an agent's token.
pub(crate) struct Served {
    pub(crate) rig: Rig,
    pub(crate) host: Arc<Host>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) serving: Serving,
    pub(crate) token: String,
    /// Cancelled when it begins to stop.
    pub(crate) stopping: CancellationToken,
}

/// How tests serve.
pub(crate) fn settings() -> ServeConfig {
    ServeConfig { http: Some("127.0.0.1:0".parse().unwrap()), ..ServeConfig::default() }
}

/// A home whose connection `c` is the guest of every contract, to a peer with these scripts.
pub(crate) async fn home(scripts: impl Into<Scripts>) -> (Peer, Rig) {
    let peer = Peer::http(scripts);
    let origin = peer.origin();
    (peer, home_at(origin).await)
}

/// The same with whatever is at this origin.
pub(crate) async fn home_at(origin: Origin) -> Rig {
    // What fails, fails at once; nothing is kept open, so that a connection is a call.
    let limits = "idle_seconds = 0\nsetup_attempts = 1\nrequest_bytes = 65536";
    Rig::new(&Wanted::new("contracts", origin, "").limits(limits)).await
}

pub(crate) async fn open(rig: &Rig) -> Arc<Host> {
    let passphrase = Secret::new(PASSPHRASE.as_bytes().to_vec());
    let options = OpenOptions::program(Connections::All);
    Arc::new(Host::open(Home::at(rig.home()).unwrap(), &passphrase, options).await.unwrap())
}

/// Serves, or says why not.
pub(crate) async fn try_serve(
    host: &Arc<Host>,
    sessions: &Arc<Sessions>,
    settings: ServeConfig,
    stopping: &CancellationToken,
) -> Result<Serving, ServeError> {
    let (host, sessions) = (Arc::clone(host), Arc::clone(sessions));
    let (mounted, stopping) = (Mounted::default(), stopping.clone());
    Serving::start(Parts { host, sessions, settings, mounted, stopping }).await
}

impl Served {
    pub(crate) async fn new(rig: Rig, settings: ServeConfig) -> Self {
        let mut served = Self::with(rig, settings, String::new()).await;
        let (_, token) = served.sessions.token(&name("tester")).await.unwrap();
        served.token = String::from_utf8(token.expose().to_vec()).unwrap();
        served
    }

    async fn with(rig: Rig, settings: ServeConfig, token: String) -> Self {
        let host = open(&rig).await;
        let sessions = Arc::new(Sessions::open(&host).unwrap());
        let stopping = CancellationToken::new();
        let serving = try_serve(&host, &sessions, settings, &stopping).await.unwrap();
        Self { rig, host, sessions, serving, token, stopping }
    }

    /// Stops the host, and serves the same home anew. Tokens stay what they are.
    pub(crate) async fn restarted(self) -> Self {
        let token = self.token.clone();
        Self::with(self.stop().await, settings(), token).await
    }

    pub(crate) fn http(&self) -> Place {
        Place::Http(self.serving.http().unwrap())
    }

    pub(crate) fn unix(&self) -> Place {
        Place::Unix(self.serving.socket().to_owned())
    }

    /// A request as this host's agent sends it.
    pub(crate) fn request(&self, method: &str, target: &str, body: &str) -> String {
        let token = format!("authorization: Bearer {}", self.token);
        request(method, target, &["host: localhost", &token, "content-type: application/json"], body)
    }

    /// Sends it, and holds the answer against the document.
    pub(crate) async fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let answer = self.http().exchange(self.request(method, target, body).as_bytes()).await;
        agrees(method, target, &answer);
        answer
    }

    pub(crate) async fn get(&self, target: &str) -> Answer {
        self.ask("GET", target, "").await
    }

    pub(crate) async fn post(&self, target: &str) -> Answer {
        self.ask("POST", target, "").await
    }

    /// Calls an operation of the connection with an input.
    pub(crate) async fn call(&self, operation: &str, input: &str) -> Answer {
        self.ask("POST", "/v1/call", &call(operation, input, None)).await
    }

    /// Which events are on record about an invocation.
    pub(crate) fn events(&self, id: &str) -> Vec<EventKind> {
        let history = self.host.broker().timeline(&RequestId::parse(id).unwrap()).unwrap();
        history.iter().map(|recorded| recorded.event.kind()).collect()
    }

    /// Stops the host and gives the home back.
    pub(crate) async fn stop(self) -> Rig {
        self.serving.stop().await.unwrap();
        self.rig
    }
}

/// The body of a call.
pub(crate) fn call(operation: &str, input: &str, key: Option<&str>) -> String {
    let key = key.map(|key| format!(",\"call_key\":\"{key}\"")).unwrap_or_default();
    format!("{{\"operation\":\"c.{operation}\",\"input\":{input}{key}}}")
}

/// The id in an answer.
pub(crate) fn id(answer: &Answer) -> String {
    answer.json()["request_id"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
}
