//! Law 8 and revocation: what changed since it was approved, or was taken back, is not sent.

use crate::{Desk, agent, approve, asked, call, over};
use proofport_broker::{Clock as _, DecideError, Reach, ReconcileError};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::digest::Digest;
use proofport_core::event::{Event, HostEvent};
use proofport_core::secret::Secret;
use proofport_core::session::{DecidedBy, SessionFacts, SessionId, TokenFacts, Who};
use proofport_journal::Batch;
use proofport_tests::peer::{Act, Script};
use proofport_tests::rig::{Open, name};
use std::sync::PoisonError;

/// What happens between the question, the word and the work.
#[derive(Clone, Copy, Debug)]
enum Change {
    Rotated,
    Removed,
    ContractTaken,
    SessionEnded,
    ConnectorRevoked,
}

async fn happen(desk: &Desk, open: Open, change: Change) -> Open {
    let vault = |open: &Open| std::sync::Arc::clone(&open.vault);
    match change {
        Change::Rotated => {
            let (value, now) = (Secret::new(b"another value".to_vec()), proofport_tests::rig::now());
            vault(&open).write().unwrap().rotate(&name("secret"), value, now).unwrap();
            open
        }
        Change::Removed => {
            vault(&open).write().unwrap_or_else(PoisonError::into_inner).remove(&name("secret")).unwrap();
            open
        }
        Change::ContractTaken => {
            open.close();
            let file = desk.rig.home().join("proofport.toml");
            let text = std::fs::read_to_string(&file).unwrap();
            std::fs::write(&file, text.replacen("[connections.c]", "[connections.c]\nrepeat = \"none\"", 1))
                .unwrap();
            desk.open().await
        }
        Change::SessionEnded => {
            open.broker.end_session("one").await.unwrap();
            open
        }
        Change::ConnectorRevoked => {
            let digest = open.broker.connections().next().unwrap().connector.digest();
            open.broker.revoke_connector(&digest).await.unwrap();
            open
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_since_is_not_sent() {
    let check = async |change: Change, approved_first: bool, code: Code| {
        let what = format!("{change:?}, approved first: {approved_first}");
        let desk = Desk::new("promises", "").await;
        let mut open = desk.open().await;
        let id = asked(&open, "same").await;
        if approved_first {
            approve(&open, &id, Reach::Usual).await;
            open = happen(&desk, open, change).await;
        } else {
            open = happen(&desk, open, change).await;
            match (change, open.broker.approve(&id, None, Reach::Usual).await) {
                // What was taken back is asked about no more.
                (Change::SessionEnded | Change::ConnectorRevoked, Err(DecideError::NotWaiting)) => {}
                (Change::Rotated | Change::Removed | Change::ContractTaken, Ok(_)) => {}
                (_, decided) => panic!("{what}: {:?}", decided.map(|said| said.envelope)),
            }
        }
        let ended = over(&open, &id).await;
        assert_eq!(
            (ended.code(), ended.outcome()),
            (Some(code), Some(Outcome::NotAttempted)),
            "{what}: {ended:?}"
        );
        assert_eq!(desk.peer.accepted(), 0, "{what}");
        open.close();
    };
    for approved_first in [false, true] {
        check(Change::Rotated, approved_first, Code::FingerprintMismatch).await;
        check(Change::Removed, approved_first, Code::CredentialUnavailable).await;
        check(Change::ContractTaken, approved_first, Code::FingerprintMismatch).await;
        check(Change::SessionEnded, approved_first, Code::UserDenied).await;
        check(Change::ConnectorRevoked, approved_first, Code::UnsupportedAction).await;
    }
}

/// What was taken back begins nothing, and leaves what was dispatched as it is.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_begins_nothing() {
    for (change, code) in [
        (Change::Removed, Code::CredentialUnavailable),
        (Change::SessionEnded, Code::UserDenied),
        (Change::ConnectorRevoked, Code::UnsupportedAction),
    ] {
        let desk = Desk::new("promises", "[connections.c.approvals]\nwrites = \"auto\"\n").await;
        let open = desk.open().await;
        let before = call(&open, "act").await;
        assert!(before.ok(), "{change:?}: {before:?}");
        let open = happen(&desk, open, change).await;
        let after = crate::call_in(&open, "one", "act", r#"{"n":2}"#).await;
        assert_eq!(
            (after.code(), after.outcome()),
            (Some(code), Some(Outcome::NotAttempted)),
            "{change:?}: {after:?}"
        );
        assert!(open.broker.result(&before.request_id().unwrap(), &agent("one")).envelope.ok());
        assert_eq!(desk.peer.accepted(), 1);
        open.close();
    }
}

/// While the vault is locked nothing is approved, what was approved waits, and questions lapse all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_vault_sends_nothing_that_was_approved() {
    let desk = Desk::new("promises", "[connections.c.approvals]\nseconds = 60\n").await;
    let open = desk.open().await;
    let approved = asked(&open, "act").await;
    approve(&open, &approved, Reach::Usual).await;
    let waiting = asked(&open, "same").await;
    open.vault.write().unwrap().set_latch(true).unwrap();
    let decided = open.broker.approve(&waiting, None, Reach::Usual).await;
    assert!(matches!(decided, Err(DecideError::VaultLocked)), "{:?}", decided.err());
    desk.clock.forward(60);
    assert_eq!(over(&open, &waiting).await.code(), Some(Code::ApprovalExpired));
    assert_eq!(desk.peer.accepted(), 0);
    // Approved for a minute, it waited for longer.
    open.vault.write().unwrap().set_latch(false).unwrap();
    desk.clock.forward(2);
    assert_eq!(over(&open, &approved).await.code(), Some(Code::ApprovalExpired));
    assert_eq!(desk.peer.accepted(), 0);
    open.close();
}

/// A session that was ended before the host came back stays ended: what was approved for it is not sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_lets_no_ended_session_go_on() {
    let desk = Desk::new("promises", "").await;
    let open = desk.open().await;
    let id = SessionId::from_random([9; 16]);
    let pending = crate::call_in(&open, &id.to_string(), "act", "{}").await;
    let call = pending.request_id().unwrap();
    approve(&open, &call, Reach::Usual).await;
    let who = Who::Token(TokenFacts { agent: name("a"), token: Digest::of_bytes(b"token") });
    let facts = SessionFacts { id, by: DecidedBy::Operator, who };
    let event = HostEvent::SessionDecided { allowed: false, session: Some(Box::new(facts)) };
    let journal = open.broker.journal().clone();
    journal.append(Batch::new(None, desk.clock.now(), vec![Event::Host(event)])).await.unwrap();
    drop(journal);
    open.close();
    let open = desk.open().await;
    let ended = over(&open, &call).await;
    assert_eq!(ended.code(), Some(Code::UserDenied), "{ended:?}");
    assert_eq!(desk.peer.accepted(), 0);
    open.close();
}

/// A revoked connector is not even asked what became of what it sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_connector_asks_nothing() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let more =
        "[connections.c.approvals]\nwrites = \"auto\"\n[connections.c.reconciliations]\nattempts = 0\n";
    let desk = Desk::with("inquires", more, vec![lost]).await;
    let open = desk.open().await;
    let id = call(&open, "once").await.request_id().unwrap();
    let open = happen(&desk, open, Change::ConnectorRevoked).await;
    let asked = open.broker.reconcile(&id).await;
    assert!(matches!(asked, Err(ReconcileError::BindingChanged)), "{:?}", asked.err());
    assert_eq!(desk.peer.accepted(), 1);
    open.close();
}
