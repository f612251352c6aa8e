//! Taking back: it acts at the next boundary, and rewrites nothing that was dispatched.

use crate::{Agent, LONG, Place, refused, writes};
use proofport_client::{CallError, Code};

const AUTO: &str =
    "[connections.c.approvals]\nreads = \"auto\"\nwrites = \"auto\"\noperations.busy = \"each\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_is_over_at_once() {
    let place = Place::new("promises", Vec::new(), AUTO).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    let done = agent.call("act", 1).await.unwrap();
    let waiting = agent.asked("busy", 2).await;
    // A secret.
    assert_eq!(host.operator(&["secret", "remove", "secret"]).0, 0);
    refused(agent.call("act", 3).await, Code::CredentialUnavailable);
    // What waits for a person may be approved, and is not sent.
    assert_eq!(host.operator(&["approve", waiting.as_str(), "--yes"]).0, 14);
    refused(agent.client.wait(&waiting, LONG).await, Code::CredentialUnavailable);
    // What was done stays done.
    assert!(agent.client.result(done.request_id()).await.is_ok());
    // A connector.
    let (_, listed) = host.operator(&["connector", "list"]);
    let digest = listed["connectors"][0]["digest"].as_str().unwrap().to_owned();
    let (status, revoked) = host.operator(&["connector", "revoke", &digest]);
    assert_eq!((status, revoked["digest"].as_str()), (0, Some(digest.as_str())), "{revoked}");
    assert!(agent.client.operations().await.unwrap().is_empty());
    refused(agent.call("act", 4).await, Code::UnsupportedAction);
    assert_eq!(host.operator(&["connector", "revoke", &digest]).0, 1);
    // A session.
    assert_eq!(host.operator(&["session", "end", &agent.session]).0, 0);
    match agent.call("act", 5).await {
        Err(CallError::Answered(envelope)) => assert_eq!(envelope.code(), Some(Code::UserDenied)),
        other => panic!("{other:?}"),
    }
    assert_eq!(writes(&place.peer), 1);
}

/// A locked vault names nothing, and lets nothing begin; unlocked, everything is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_host_names_nothing() {
    let place = Place::new("promises", Vec::new(), AUTO).await;
    let host = place.serve();
    let agent = Agent::new(&host, "mailer");
    assert!(!agent.client.operations().await.unwrap().is_empty());
    assert_eq!(host.operator(&["vault", "lock"]).0, 0);
    match agent.client.operations().await {
        Err(CallError::Answered(envelope)) => assert_eq!(envelope.code(), Some(Code::VaultLocked)),
        other => panic!("{other:?}"),
    }
    refused(agent.call("act", 1).await, Code::VaultLocked);
    assert_eq!(place.peer.accepted(), 0);
    assert_eq!(host.operator(&["vault", "unlock"]).0, 0);
    agent.call("act", 1).await.unwrap();
    assert_eq!(writes(&place.peer), 1);
}
