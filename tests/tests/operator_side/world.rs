//! A host that serves: its operator socket, and a door for agents that says of each whether it may call.

use crate::agent::Agent;
use proofport_core::event::{Event, EventKind};
use proofport_core::secret::Secret;
use proofport_core::session::SessionStanding;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, HostError, OpenOptions};
use proofport_gateway::operator_side::{self, Client, ClientError, Door, OperatorSide};
use proofport_gateway::session::{Admission, Peer, SessionView, Sessions};
use proofport_tests::peer::{Peer as Remote, Script};
use proofport_tests::rig::{PASSPHRASE, Wanted, make_home};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

/// A home with one connection, in a folder of its own.
pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) remote: Remote,
}

/// A host that serves on it.
pub(crate) struct Serving {
    pub(crate) host: Arc<Host>,
    pub(crate) sessions: Arc<Sessions>,
    side: Option<OperatorSide>,
    door: JoinHandle<()>,
    pub(crate) socket: PathBuf,
}

pub(crate) fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Remote::http(Script::answer(OK))).await
    }

    pub(crate) async fn with(remote: Remote) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let wanted = Wanted::new("good", remote.origin(), "key").limits("setup_attempts = 1");
        make_home(&folder.path().join("home"), &wanted).await;
        std::fs::write(folder.path().join("passphrase"), format!("{PASSPHRASE}\n")).unwrap();
        Self { folder, remote }
    }

    pub(crate) fn home(&self) -> Home {
        Home::at(self.folder.path().join("home")).unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Adds lines to `proofport.toml`.
    pub(crate) fn configure(&self, lines: &str) {
        let path = self.home().config();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{lines}\n{text}")).unwrap();
    }

    pub(crate) async fn open(&self) -> Result<Host, HostError> {
        Host::open(self.home(), &secret(PASSPHRASE), OpenOptions::program(Connections::All)).await
    }

    pub(crate) async fn serve(&self) -> Serving {
        let host = Arc::new(self.open().await.unwrap());
        let sessions = Arc::new(Sessions::open(&host).unwrap());
        let side = operator_side::start(Arc::clone(&host), Arc::clone(&sessions)).unwrap();
        let socket = self.path("agent.sock");
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).unwrap();
        let door = tokio::spawn(door(listener, Arc::clone(&sessions)));
        Serving { host, sessions, side: Some(side), door, socket }
    }
}

/// Says of everybody who comes whether he may call.
async fn door(listener: UnixListener, sessions: Arc<Sessions>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let said = match sessions.of_process(&Peer::of(&stream).unwrap()) {
            Admission::Admitted(caller) => format!("admitted {} {}", caller.session, caller.principal),
            Admission::Waiting => "waiting".to_owned(),
            Admission::Ended => "ended".to_owned(),
        };
        let _ = stream.write_all(format!("{said}\n").as_bytes()).await;
    }
}

impl Serving {
    pub(crate) async fn client(&self) -> Client {
        self.login(PASSPHRASE).await.unwrap()
    }

    pub(crate) async fn login(&self, passphrase: &str) -> Result<Client, ClientError> {
        Door::of(self.host.home()).await.unwrap().expect("it serves").login(&secret(passphrase)).await
    }

    pub(crate) fn agent(&self, program: &Path) -> Agent {
        Agent::start(program, &self.socket)
    }

    /// The sessions that stand so.
    pub(crate) fn standing(&self, standing: SessionStanding) -> Vec<SessionView> {
        self.sessions.list().into_iter().filter(|view| view.standing == standing).collect()
    }

    /// The only session that waits.
    pub(crate) fn waiting(&self) -> SessionView {
        let [view] = <[_; 1]>::try_from(self.standing(SessionStanding::Waiting)).unwrap();
        view
    }

    /// How many events of this kind the host has on record.
    pub(crate) fn recorded(&self, kind: EventKind) -> usize {
        let events = self.host.broker().journal().host_events(usize::MAX).unwrap();
        events.iter().filter(|recorded| Event::kind(&recorded.event) == kind).count()
    }

    /// Ends the host, so that the home can be opened again.
    pub(crate) async fn stop(mut self) {
        self.side.take().unwrap().stop().await;
        self.door.abort();
        let _ = (&mut self.door).await;
        self.host.broker().stop().await;
        self.host.broker().journal().clone().close().unwrap();
    }
}
