//! `proofport serve`, as people and service managers run it.

use crate::OK;
use crate::served::{call, home};
use crate::wire::{Place, request};
use proofport_core::contract::Outcome;
use proofport_gateway::{Authority, Caller};
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::program::program;
use proofport_tests::rig::{PASSPHRASE, Rig, name};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use tokio::io::AsyncWriteExt as _;

/// The program, serving a home.
pub(crate) struct Program {
    child: Child,
    pub(crate) rig: Rig,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// `proofport serve` for this home.
fn command(rig: &Rig) -> Command {
    let passphrase = rig.dir.path().join("passphrase");
    std::fs::write(&passphrase, format!("{PASSPHRASE}\n")).unwrap();
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(program);
    let mut command = Command::new(&*PROGRAM);
    command.env_clear().env("PROOFPORT_HOME", rig.home()).args(["serve", "--json", "--passphrase-file"]);
    command.arg(passphrase).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn configure(rig: &Rig, serve: &str) {
    let file = rig.home().join("proofport.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("{text}\n[serve]\n{serve}\n")).unwrap();
}

/// A token, made before the host runs.
async fn token(rig: &Rig) -> String {
    let host = crate::served::open(rig).await;
    let sessions = proofport_gateway::session::Sessions::open(&host).unwrap();
    let (_, token) = sessions.token(&name("tester")).await.unwrap();
    host.broker().journal().clone().close().unwrap();
    String::from_utf8(token.expose().to_vec()).unwrap()
}

impl Program {
    /// Runs it until it says where it listens.
    pub(crate) async fn start(rig: Rig, manager: Option<&std::path::Path>) -> Self {
        configure(&rig, "http = \"127.0.0.1:0\"");
        let token = token(&rig).await;
        tokio::task::block_in_place(|| {
            let mut command = command(&rig);
            if let Some(socket) = manager {
                command.env("NOTIFY_SOCKET", socket);
            }
            let mut child = command.spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
            let ready: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{}", said(&mut child)));
            assert_eq!(ready["ready"], true);
            assert_eq!(ready["agent_socket"], rig.home().join("agent.sock").to_str().unwrap());
            let address = ready["http"].as_str().unwrap().strip_prefix("http://").unwrap().parse().unwrap();
            Self { child, rig, address, token }
        })
    }

    pub(crate) fn request(&self, method: &str, target: &str, body: &str) -> String {
        let token = format!("authorization: Bearer {}", self.token);
        request(method, target, &["host: localhost", &token, "content-type: application/json"], body)
    }

    pub(crate) fn place(&self) -> Place {
        Place::Http(self.address)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Ends it, and says how it ended.
    fn ended(&mut self) -> (Option<i32>, String) {
        tokio::task::block_in_place(|| {
            let status = self.child.wait().unwrap();
            (status.code(), said(&mut self.child))
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Where it has already ended, there is nothing left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn said(child: &mut Child) -> String {
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn it_says_where_it_listens_and_stops_when_it_is_told() {
    let (peer, rig) = home(Script::answer(OK)).await;
    let notified = rig.dir.path().join("notify");
    let manager = UnixDatagram::bind(&notified).unwrap();
    let told = || {
        let mut bytes = [0; 64];
        let read = tokio::task::block_in_place(|| manager.recv(&mut bytes)).unwrap();
        String::from_utf8(bytes[..read].to_vec()).unwrap()
    };
    let mut program = Program::start(rig, Some(&notified)).await;
    assert_eq!(told(), "READY=1");
    let body = call("plain", "{}", None);
    let answer = program.place().exchange(program.request("POST", "/v1/call", &body).as_bytes()).await;
    assert_eq!((answer.status, peer.effects()), (200, 1), "{answer:?}");
    // Nobody else serves the same home meanwhile, and the refusal names the reason.
    let second = tokio::task::block_in_place(|| command(&program.rig).output().unwrap());
    let text = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{text}");
    assert!(text.contains("in use") || text.contains("another"), "{text}");
    program.signal(Signal::TERM);
    assert_eq!(told(), "STOPPING=1");
    let (status, text) = program.ended();
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(&program.address.to_string()) && text.contains("agent.sock"), "{text}");
    assert!(!text.contains(&program.token) && !text.contains(PASSPHRASE), "{text}");
    assert!(!program.rig.home().join("agent.sock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_leaves_at_once_and_the_record_says_unknown() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold]);
    let (peer, rig): (Peer, Rig) = home(held).await;
    let mut program = Program::start(rig, None).await;
    let request = program.request("POST", "/v1/call", &call("plain", "{}", None));
    let mut asking = program.place().connect().await;
    asking.write_all(request.as_bytes()).await.unwrap();
    tokio::task::block_in_place(|| peer.wait_effects(1));
    program.signal(Signal::INT);
    // The first is heard once the socket is gone.
    while program.rig.home().join("agent.sock").exists() {
        tokio::task::yield_now().await;
    }
    program.signal(Signal::INT);
    let (status, text) = program.ended();
    assert_eq!(status, Some(12), "{text}");
    let host = crate::served::open(&program.rig).await;
    let newest = host.broker().journal().invocations(1).unwrap();
    let caller =
        Caller { principal: "agent:tester".to_owned(), session: String::new(), authority: Authority::Agent };
    let found = host.broker().result(&newest[0], &caller).envelope;
    assert_eq!(found.outcome(), Some(Outcome::Unknown), "{found:?}");
    assert_eq!(peer.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_keeps_it_from_serving_is_named() {
    let (_peer, rig) = home(Script::answer(OK)).await;
    let plain = std::fs::read_to_string(rig.home().join("proofport.toml")).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap();
    let busy = std::net::TcpListener::bind(taken);
    let check = |serve: &str, status: i32, says: &[&str]| {
        std::fs::write(rig.home().join("proofport.toml"), format!("{plain}\n[serve]\n{serve}\n")).unwrap();
        let output = tokio::task::block_in_place(|| command(&rig).output().unwrap());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}");
        for word in says {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
    };
    check("http = \"0.0.0.0:7433\"", 2, &["serve.http", "http_anywhere"]);
    check("htttp = \"127.0.0.1:0\"", 2, &["serve.htttp", "`http`"]);
    check(&format!("http = \"{taken}\""), 1, &[&taken.to_string(), "in use"]);
    drop(busy);
    std::fs::write(rig.home().join("file"), "").unwrap();
    check("agent_socket = \"file\"", 1, &["is no socket"]);
    check(&format!("agent_socket = \"{}\"", "a".repeat(150)), 1, &["too long"]);
}
