//! The Unix socket: whom the kernel says is there, and what lies in its place.

use crate::served::{Served, home, open, settings, try_serve};
use crate::wire::request;
use proofport_gateway::config::ServeConfig;
use proofport_gateway::serve::CancellationToken;
use proofport_gateway::session::Sessions;
use proofport_tests::peer::Script;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_waits_for_an_operators_word_and_then_calls_without_a_token() {
    let (_peer, rig) = home(Script::answer(crate::OK)).await;
    let served = Served::new(rig, settings()).await;
    let bare = request("GET", "/v1/operations", &["host: whatever"], "");
    let waiting = served.unix().exchange(bare.as_bytes()).await;
    assert_eq!((waiting.status, &waiting.json()["code"]), (202, &"APPROVAL_PENDING".into()));
    assert!(waiting.json().get("request_id").is_none());
    let session = served.sessions.list().into_iter().find(|session| session.principal.starts_with("uid:"));
    let session = session.unwrap().id;
    served.sessions.allow(&session).await.unwrap();
    assert_eq!(served.unix().exchange(bare.as_bytes()).await.status, 200);
    // A token is as good here as over TCP, and a wrong one is not made up for by the process.
    let with = served.request("GET", "/v1/operations", "");
    assert_eq!(served.unix().exchange(with.as_bytes()).await.status, 200);
    let wrong = request("GET", "/v1/operations", &["host: x", "authorization: Bearer ppt_x"], "");
    assert_eq!(served.unix().exchange(wrong.as_bytes()).await.status, 401);
    served.sessions.end(&session).await.unwrap();
    let ended = served.unix().exchange(bare.as_bytes()).await;
    assert_eq!((ended.status, &ended.json()["code"]), (403, &"USER_DENIED".into()));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_left_socket_is_replaced_and_a_served_one_is_not() {
    let (_peer, rig) = home(Script::answer(crate::OK)).await;
    let path = rig.home().join("agent.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let served = Served::new(rig, ServeConfig::default()).await;
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let health = request("GET", "/healthz", &["host: x"], "");
    assert_eq!(served.unix().exchange(health.as_bytes()).await.status, 200);

    let (_other_peer, other) = home(Script::answer(crate::OK)).await;
    let host = open(&other).await;
    let sessions = Arc::new(Sessions::open(&host).unwrap());
    let busy = ServeConfig { agent_socket: Some(path.clone()), ..ServeConfig::default() };
    let error = try_serve(&host, &sessions, busy, &CancellationToken::new()).await.err().unwrap().to_string();
    assert!(error.contains("another process serves") && error.contains("agent_socket"), "{error}");
    assert_eq!(served.unix().exchange(health.as_bytes()).await.status, 200);
    served.stop().await;
    assert!(!path.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_port_is_named_and_leaves_no_socket() {
    let (_peer, rig) = home(Script::answer(crate::OK)).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let host = open(&rig).await;
    let sessions = Arc::new(Sessions::open(&host).unwrap());
    let busy = ServeConfig { http: Some(address), ..ServeConfig::default() };
    let error = try_serve(&host, &sessions, busy, &CancellationToken::new()).await.err().unwrap().to_string();
    assert!(error.contains(&address.to_string()) && error.contains("`http` in `[serve]`"), "{error}");
    assert!(!rig.home().join("agent.sock").exists());
}
