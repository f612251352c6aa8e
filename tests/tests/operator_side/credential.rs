//! The operator socket gives nothing to whoever only reaches it, though he be the operator's own user.

use crate::agent::{Agent, program};
use crate::world::{Serving, World, secret};
use data_encoding::BASE64;
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_core::session::SessionStanding;
use proofport_gateway::operator_side::{
    AllowSession, Ask, Call, ClientError, Door, Failure, Fetch, Inspect, ListSessions, PATHS, Timeline,
};
use proofport_tests::rig::PASSPHRASE;
use std::time::{Duration, Instant};

fn login(passphrase: &str) -> String {
    format!("{{\"passphrase\":\"{}\"}}", BASE64.encode(passphrase.as_bytes()))
}

/// The credential that a process gets for the passphrase.
fn given(agent: &mut Agent, serving: &Serving) -> String {
    let (status, body) =
        agent.post(&serving.host.home().operator_socket(), "/login", "-", &login(PASSPHRASE));
    assert_eq!(status, 200, "{body}");
    let credential: String = serde_json::from_str(&body).unwrap();
    String::from_utf8(BASE64.decode(credential.as_bytes()).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_the_same_user_gets_nothing() {
    let world = World::new().await;
    let serving = world.serve().await;
    let socket = serving.host.home().operator_socket();
    let mut agent = serving.agent(&program());
    agent.knock();
    let session = serving.waiting().id;
    let mut operator = serving.agent(&program());
    let credential = given(&mut operator, &serving);
    let mine = operator.post(&socket, ListSessions::PATH, &credential, "{}");
    assert_eq!(mine.0, 200, "the credential is good where it was given: {mine:?}");

    let before = serving.recorded(EventKind::OperatorRefused);
    let mut refused = 0;
    // One that was looked over, one that was made up, none at all.
    for shown in [credential.as_str(), "ppo_aaaa", "-"] {
        let allow = agent.post(&socket, AllowSession::PATH, shown, &format!("{{\"session\":\"{session}\"}}"));
        assert_eq!(allow, (401, "{\"failure\":\"not_proved\"}".to_owned()), "{shown}");
        refused += 1;
    }
    for path in PATHS {
        assert_eq!(agent.post(&socket, path, &credential, "{}").0, 401, "{path}");
        refused += 1;
    }
    assert_eq!(agent.post(&socket, "/v1/no_such_thing", "-", "{}").0, 401, "not even what exists is said");
    refused += 1;
    assert_eq!(serving.recorded(EventKind::OperatorRefused) - before, refused, "each is on record");
    assert_eq!(serving.standing(SessionStanding::Allowed), [], "and nothing came of any");
    assert_eq!(agent.knock(), "waiting");
    // The operator is not disturbed, and an unknown thing is said to be one to him.
    assert_eq!(operator.post(&socket, ListSessions::PATH, &credential, "{}").0, 200);
    assert_eq!(operator.post(&socket, "/v1/no_such_thing", &credential, "{}").0, 400);
    assert_eq!(operator.post(&socket, Inspect::PATH, &credential, "{\"id\":7}").0, 400);
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_an_operators_alone() {
    let world = World::new().await;
    let serving = world.serve().await;
    let socket = serving.host.home().operator_socket();
    let mut operator = serving.agent(&program());
    let credential = given(&mut operator, &serving);
    let body =
        format!("{{\"operation\":\"c.act\",\"input\":\"{}\",\"call_key\":null}}", BASE64.encode(b"{}"));
    let (status, called) = operator.post(&socket, Call::PATH, &credential, &body);
    assert_eq!(status, 200, "{called}");
    let called: serde_json::Value = serde_json::from_str(&called).unwrap();
    let id = {
        let envelope: serde_json::Value = serde_json::from_str(called["envelope"].as_str().unwrap()).unwrap();
        RequestId::parse(envelope["request_id"].as_str().unwrap()).unwrap()
    };
    let ask = format!("{{\"id\":\"{id}\"}}");
    let (status, inspected) = operator.post(&socket, Inspect::PATH, &credential, &ask);
    assert_eq!(status, 200);
    assert!(inspected.contains("ACTION_ACCEPTED") && inspected.contains("\"protected\""), "{inspected}");
    let mut agent = serving.agent(&program());
    for path in [Inspect::PATH, Timeline::PATH, Fetch::PATH] {
        assert_eq!(
            agent.post(&socket, path, &credential, &ask),
            (401, "{\"failure\":\"not_proved\"}".to_owned())
        );
    }
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_passphrase_is_recorded_and_slows_down() {
    let world = World::new().await;
    let serving = world.serve().await;
    let wrong = async |text: &str| {
        let refused = serving.login(text).await.err().unwrap();
        assert!(matches!(refused, ClientError::Failure(Failure::WrongPassphrase)), "{refused}");
    };
    let start = Instant::now();
    for text in ["hunter2", "", "correct horse battery stapl"] {
        wrong(text).await;
    }
    assert!(start.elapsed() >= Duration::from_millis(250 + 500), "the second and third waited");
    assert_eq!(serving.recorded(EventKind::UnlockFailed), 3);
    let right = Instant::now();
    let client = serving.client().await;
    assert!(right.elapsed() >= Duration::from_millis(900), "so did the right one");
    client.ask(&ListSessions {}).await.unwrap();
    // It begins anew after a right one.
    let right = Instant::now();
    wrong("hunter2").await;
    serving.client().await;
    assert!(right.elapsed() < Duration::from_secs(20));
    // Whoever asks in numbers is sent away.
    let many: Vec<_> = (0..24)
        .map(|_| {
            let home = serving.host.home().clone();
            tokio::spawn(async move {
                Door::of(&home).await.unwrap().unwrap().login(&secret("hunter2")).await.err()
            })
        })
        .collect();
    let (mut busy, mut wrong) = (0, 0);
    for one in many {
        // The slow ones need not be waited for: only those who were sent away come at once.
        match tokio::time::timeout(Duration::from_secs(2), one).await {
            Ok(Ok(Some(ClientError::Failure(Failure::Busy)))) => busy += 1,
            Ok(Ok(Some(ClientError::Failure(Failure::WrongPassphrase)))) | Err(_) => wrong += 1,
            Ok(other) => panic!("{other:?}"),
        }
    }
    assert!(busy >= 16 - 1 && wrong >= 1, "{busy} {wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_is_the_owners_and_a_dead_hosts_is_replaced() {
    use std::os::unix::fs::{MetadataExt as _, symlink};
    let world = World::new().await;
    let socket = world.home().operator_socket();
    assert!(Door::of(&world.home()).await.unwrap().is_none());
    // What a host leaves that was killed, and what somebody else put there.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(Door::of(&world.home()).await.unwrap().is_none(), "nobody answers there");
    for left in [true, false] {
        if !left {
            symlink("/dev/null", &socket).unwrap();
        }
        let serving = world.serve().await;
        let found = std::fs::symlink_metadata(&socket).unwrap();
        assert_eq!(found.mode() & 0o777, 0o600);
        serving.client().await;
        serving.stop().await;
        assert!(!socket.exists());
    }
}
