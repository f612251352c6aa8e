//! Calling again: one intent, one effect.

use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_journal::BodyKind;
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use proofport_tests::rig::{Rig, Wanted};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
const REFUSED: &str = "HTTP/1.1 422 Unprocessable Content\r\ncontent-length: 2\r\n\r\n{}";

async fn rig(scripts: Scripts) -> (Peer, Rig) {
    let peer = Peer::http(scripts);
    let rig = Rig::new(&Wanted::new("good", peer.origin(), "key")).await;
    (peer, rig)
}

fn each(scripts: Vec<Script>) -> Scripts {
    Scripts { each: scripts.into(), default: Some(Script::answer(OK)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_call_is_met_again_also_after_a_restart() {
    let (peer, rig) = rig(each(vec![])).await;
    let open = rig.open().await;
    let first = open.call("act", r#"{"a":1,"b":2}"#).await;
    let again = open.call("act", r#"{ "b": 2, "a": 1 }"#).await;
    open.close();
    let open = rig.open().await;
    let restarted = open.call("act", r#"{"a":1,"b":2}"#).await;
    for repeated in [&again, &restarted] {
        assert!(repeated.ok() && repeated.repeated());
        assert_eq!(repeated.request_id(), first.request_id());
        assert_eq!(repeated.result(), first.result());
    }
    assert_eq!(peer.effects(), 1);
    let on_purpose = open.call_with("act", r#"{"a":1,"b":2}"#, Some("second")).await;
    assert!(on_purpose.ok() && !on_purpose.repeated());
    assert_eq!(peer.effects(), 2);
    // Without a key the newest of the same input is met.
    assert_eq!(open.call("act", r#"{"a":1,"b":2}"#).await.request_id(), on_purpose.request_id());
    let other_input = open.call_with("act", r#"{"a":2}"#, Some("second")).await;
    assert_eq!(other_input.code(), Some(Code::CallKeyReused));
    assert_eq!(peer.effects(), 2);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_call_is_met_and_not_sent_again() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let (peer, rig) = rig(each(vec![lost])).await;
    let open = rig.open().await;
    let first = open.call("act", "{}").await;
    assert_eq!((first.code(), first.outcome()), (Some(Code::OutcomeUnknown), Some(Outcome::Unknown)));
    let again = open.call("act", "{}").await;
    assert!(again.repeated());
    assert_eq!((again.request_id(), again.outcome()), (first.request_id(), Some(Outcome::Unknown)));
    assert_eq!((peer.effects(), peer.accepted()), (1, 1));
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_is_tried_anew() {
    let (peer, rig) = rig(each(vec![Script::answer(REFUSED)])).await;
    let open = rig.open().await;
    let first = open.call("act", "{}").await;
    assert_eq!(first.code(), Some(Code::RemoteRejected));
    let second = open.call("act", "{}").await;
    assert!(second.ok() && !second.repeated());
    assert_ne!(first.request_id(), second.request_id());
    assert_eq!(peer.accepted(), 2);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_in_flight_is_met() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let (peer, rig) = rig(each(vec![held])).await;
    let open = std::sync::Arc::new(rig.open().await);
    let first = tokio::spawn({
        let open = std::sync::Arc::clone(&open);
        async move { open.call("act", "{}").await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let second = open.call("act", "{}").await;
    assert_eq!((second.code(), second.outcome()), (Some(Code::InProgress), Some(Outcome::Unknown)));
    assert!(second.repeated());
    peer.release();
    let first = first.await.unwrap();
    assert!(first.ok());
    assert_eq!(first.request_id(), second.request_id());
    assert_eq!(peer.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_with_a_key_hides_no_unknown_one() {
    let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
    let refused = Script(vec![Act::ReadRequest, Act::Send(REFUSED.into()), Act::Close]);
    let (peer, rig) = rig(each(vec![lost, refused])).await;
    let open = rig.open().await;
    let unknown = open.call("act", "{}").await;
    assert_eq!(unknown.outcome(), Some(Outcome::Unknown));
    let rejected = open.call_with("act", "{}", Some("other")).await;
    assert_eq!(rejected.outcome(), Some(Outcome::Rejected));
    let again = open.call("act", "{}").await;
    assert_eq!((again.request_id(), again.repeated()), (unknown.request_id(), true));
    assert_eq!((peer.effects(), peer.accepted()), (1, 2));
    open.close();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_are_one() {
    let (peer, rig) = rig(each(vec![])).await;
    let open = std::sync::Arc::new(rig.open().await);
    for round in 0..10 {
        let input = format!("{{\"round\":{round}}}");
        let lanes = (0..12).map(|_| {
            let (open, input) = (std::sync::Arc::clone(&open), input.clone());
            tokio::spawn(async move { open.call("act", &input).await })
        });
        let mut ids = Vec::new();
        for lane in lanes.collect::<Vec<_>>() {
            let envelope = lane.await.unwrap();
            assert_ne!(envelope.code(), Some(Code::Internal), "{envelope:?}");
            assert_ne!(envelope.outcome(), Some(Outcome::NotAttempted), "{envelope:?}");
            ids.push(envelope.request_id().unwrap());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "round {round}");
        assert_eq!(peer.effects(), round + 1);
    }
}

/// An admin who takes the contract away, or gives it back, makes nobody forget what was sent under the
/// other one.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_contract_meets_what_was_sent_before() {
    for (operation, then) in [("same", [true, false]), ("keyed", [true, false]), ("same", [false, true])] {
        let lost = Script(vec![Act::ReadRequest, Act::Effect, Act::Close]);
        let peer = Peer::http(each(vec![lost]));
        let wanted = Wanted::new("promises", peer.origin(), "key");
        let rig = Rig::new(&wanted).await;
        let file = rig.home().join("proofport.toml");
        let plain = std::fs::read_to_string(&file).unwrap();
        let mut answers = Vec::new();
        for none in then {
            let line = if none { "[connections.c]\nrepeat = \"none\"\n" } else { "[connections.c]\n" };
            std::fs::write(&file, plain.replace("[connections.c]\n", line)).unwrap();
            let open = rig.open().await;
            answers.push(open.call_with(operation, "{}", Some("a key")).await);
            let other = open.call_with(operation, r#"{"other":1}"#, Some("a key")).await;
            assert_eq!(other.code(), Some(Code::CallKeyReused), "{operation}, {then:?}");
            open.close();
        }
        let [first, again] = answers.try_into().unwrap();
        assert_eq!(first.outcome(), Some(Outcome::Unknown), "{first:?}");
        assert!(again.repeated() && again.request_id() == first.request_id(), "{then:?}: {again:?}");
        assert_eq!((peer.effects(), peer.accepted()), (1, 1), "{operation}, {then:?}");
    }
}

/// What was refused before it was bound is on record by its digest alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_input_is_not_kept() {
    let (peer, rig) = rig(each(vec![])).await;
    let open = rig.open().await;
    let large = format!(r#"{{"text":"{}"}}"#, "a".repeat(2 << 20));
    for (operation, input, code) in [
        ("act", large.as_str(), Code::PayloadLimit),
        ("act", "[1]", Code::InvalidInput),
        ("nothing", "{}", Code::UnsupportedAction),
    ] {
        let envelope = open.call(operation, input).await;
        assert_eq!(envelope.code(), Some(code), "{envelope:?}");
        let id = envelope.request_id().unwrap();
        let kept = open.broker.journal().body(&id, BodyKind::Input).unwrap();
        assert!(kept.is_none(), "{code}");
    }
    let done = open.call("act", "{}").await;
    let kept = open.broker.journal().body(&done.request_id().unwrap(), BodyKind::Input).unwrap();
    assert_eq!(kept.as_deref().map(Vec::as_slice), Some(b"{}".as_slice()));
    assert_eq!(peer.effects(), 1);
    open.close();
}
