//! Yes, no, and nobody.

use crate::{Desk, agent, approve, asked, call, only_card, over};
use proofport_broker::{DecideError, Reach};
use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome};
use proofport_core::id::RequestId;

/// When the host is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restart {
    Never,
    WhileItWaits,
    OnceApproved,
}

fn posts(desk: &Desk) -> usize {
    desk.peer.received().iter().filter(|request| request.starts_with(b"POST")).count()
}

/// Everything that can be asked before is; the card binds what is sent; the answer comes at once and the work
/// after it, whatever host is there by then.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_is_what_is_sent() {
    let check = async |operation: &str, before: usize, after: usize, effects: usize, restart: Restart| {
        let what = format!("{operation} {restart:?}");
        let desk = Desk::new("inquires", "").await;
        let mut open = desk.open().await;
        let id = asked(&open, operation).await;
        assert_eq!((desk.peer.accepted(), posts(&desk)), (before, 0), "{what}");
        if restart == Restart::WhileItWaits {
            open.close();
            open = desk.open().await;
        }
        let card = only_card(&open);
        assert_eq!((card.request_id, card.session.as_str()), (id, "one"), "{what}");
        assert_eq!(card.target, desk.peer.origin().to_string(), "{what}");
        let pending = open.broker.result(&id, &agent("one")).envelope;
        assert_eq!(
            (pending.code(), pending.action()),
            (Some(Code::ApprovalPending), Some(Action::RequestApproval))
        );
        let said = open.broker.approve(&id, Some(card.request), Reach::Usual).await.unwrap().envelope;
        // Recorded and answered at once; nothing is sent before the host's hands come to it.
        assert_eq!(said.code(), Some(Code::InProgress), "{what}");
        assert_eq!(desk.peer.accepted(), before, "{what}");
        assert!(open.broker.approvals().unwrap().is_empty(), "{what}");
        if restart == Restart::OnceApproved {
            open.close();
            open = desk.open().await;
            assert_eq!(desk.peer.accepted(), before, "{what}: a start sends nothing");
        }
        let done = over(&open, &id).await;
        assert!(done.ok(), "{what}: {done:?}");
        assert_eq!(desk.peer.accepted(), after, "{what}");
        assert_eq!(posts(&desk), effects, "{what}");
        // The same call again meets the first.
        let again = call(&open, operation).await;
        if effects > 0 {
            assert!(again.ok() && again.repeated() && again.request_id() == Some(id), "{what}: {again:?}");
            assert_eq!(desk.peer.accepted(), after, "{what}");
        }
        open.close();
    };
    for restart in [Restart::Never, Restart::WhileItWaits, Restart::OnceApproved] {
        check("once", 0, 1, 1, restart).await;
        check("keyed", 0, 1, 1, restart).await;
        check("prepared", 1, 2, 1, restart).await;
        check("follow", 0, 1, 0, restart).await;
    }
}

/// A key that was minted before the question is the one that is sent after it.
#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_keyed_call_outlives_the_question() {
    let desk = Desk::new("promises", "").await;
    let open = desk.open().await;
    let id = asked(&open, "keyed").await;
    open.close();
    let open = desk.open().await;
    approve(&open, &id, Reach::Usual).await;
    assert!(over(&open, &id).await.ok());
    let request = desk.peer.received().remove(0);
    let request = String::from_utf8(request).unwrap().to_ascii_lowercase();
    assert!(request.contains("idempotency-key: ") && request.contains("authorization: "), "{request}");
    open.close();
}

enum End {
    No,
    Silence,
    Cancelled,
}

/// Case 24: nobody answered is not a denial, and neither runs, then or later.
#[tokio::test(flavor = "multi_thread")]
async fn a_no_and_a_silence_are_told_apart() {
    let check = async |end: End, restart: bool, code: Code| {
        let desk = Desk::new("inquires", "[connections.c.approvals]\nseconds = 60\n").await;
        let mut open = desk.open().await;
        let id = asked(&open, "once").await;
        if restart {
            open.close();
            open = desk.open().await;
            assert_eq!(only_card(&open).request_id, id);
        }
        match end {
            End::No => {
                open.broker.deny(&id, None).await.unwrap();
            }
            End::Silence => {
                desk.clock.forward(59);
                assert_eq!(only_card(&open).request_id, id);
                desk.clock.forward(1);
            }
            End::Cancelled => {
                open.broker.cancel(&id, &agent("one")).await;
            }
        }
        let ended = over(&open, &id).await;
        assert_eq!((ended.code(), ended.outcome()), (Some(code), Some(Outcome::NotAttempted)), "{ended:?}");
        assert_eq!(serde_json::to_value(&ended).unwrap()["retryable"], false);
        let late = open.broker.approve(&id, None, Reach::Usual).await;
        assert!(matches!(late, Err(DecideError::NotWaiting)), "{:?}", late.err());
        assert_eq!(desk.peer.accepted(), 0);
        assert!(open.broker.approvals().unwrap().is_empty());
        open.close();
        // A host that comes back has not forgotten, either.
        let open = desk.open().await;
        assert_eq!(open.broker.result(&id, &agent("one")).envelope.code(), Some(code));
        assert!(open.broker.approvals().unwrap().is_empty());
        open.close();
    };
    for restart in [false, true] {
        check(End::No, restart, Code::UserDenied).await;
        check(End::Silence, restart, Code::ApprovalExpired).await;
        check(End::Cancelled, restart, Code::CallerCancelled).await;
    }
}

/// Case 18: whoever calls again while somebody is asked, or at work, meets the first call.
#[tokio::test(flavor = "multi_thread")]
async fn duplicates_of_a_pending_call_are_one_question() {
    let desk = Desk::new("inquires", "").await;
    let open = desk.open().await;
    let read = asked(&open, "follow").await;
    let again = call(&open, "follow").await;
    assert_eq!((again.request_id(), again.repeated()), (Some(read), true), "{again:?}");
    let other = crate::call_in(&open, "two", "follow", crate::input_of("follow")).await.request_id().unwrap();
    for id in [read, other] {
        open.broker.deny(&id, None).await.unwrap();
    }
    let id = asked(&open, "once").await;
    for code in [Code::ApprovalPending, Code::InProgress] {
        let again = call(&open, "once").await;
        assert_eq!((again.request_id(), again.code(), again.repeated()), (Some(id), Some(code), true));
        if code == Code::ApprovalPending {
            assert_eq!(only_card(&open).request_id, id);
            approve(&open, &id, Reach::Usual).await;
        }
    }
    assert!(over(&open, &id).await.ok());
    assert_eq!(desk.peer.accepted(), 1);
    open.close();
}

/// What was looked at is what is decided; another's, or nobody's, is neither shown nor decided.
#[tokio::test(flavor = "multi_thread")]
async fn a_word_is_about_what_was_looked_at() {
    let desk = Desk::new("inquires", "").await;
    let open = desk.open().await;
    let id = asked(&open, "once").await;
    let other = proofport_core::digest::Digest::of_bytes(b"another request");
    for decided in
        [open.broker.approve(&id, Some(other), Reach::Usual).await, open.broker.deny(&id, Some(other)).await]
    {
        assert!(matches!(decided, Err(DecideError::OtherRequest)), "{:?}", decided.err());
    }
    let nobody = RequestId::from_random([7; 16]);
    let decided = open.broker.approve(&nobody, None, Reach::Usual).await;
    assert!(matches!(decided, Err(DecideError::NoSuchInvocation)), "{:?}", decided.err());
    assert_eq!(only_card(&open).request_id, id);
    open.close();
}

/// A session that only ever asks is not put before people without end.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_so_many_questions_open_and_no_more() {
    let desk = Desk::new("inquires", "").await;
    let open = desk.open().await;
    for n in 0..64 {
        let pending = crate::call_in(&open, "one", "once", &format!("{{\"n\":{n}}}")).await;
        assert!(pending.request_id().is_some(), "{n}: {pending:?}");
    }
    let over = crate::call_in(&open, "one", "once", "{\"n\":64}").await;
    assert_eq!((over.code(), over.request_id()), (Some(Code::ApprovalPending), None));
    let other = crate::call_in(&open, "two", "once", "{\"n\":64}").await;
    assert!(other.request_id().is_some(), "{other:?}");
    assert_eq!(open.broker.approvals().unwrap().len(), 65);
    open.close();
}
