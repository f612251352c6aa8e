//! Contents that don't arrive whole: nothing of them is kept, and nothing is claimed of them.

use crate::{Framing, bytes, home, path, stored};
use proofport_core::code::Code;
use proofport_core::contract::{Action, Outcome, Retry};
use proofport_core::evidence::{Cause, HttpEvidence};
use proofport_journal::CHUNK_BYTES;
use proofport_tests::peer::{Act, Peer, Script};
use proofport_tests::rig::Open;

const LENGTH: usize = 2 * CHUNK_BYTES + 100;

/// One call that must fail, and what was seen of it.
pub(crate) async fn fails(open: &Open, operation: &str, input: &str, what: &str) -> HttpEvidence {
    let envelope = open.call(operation, input).await;
    assert!(!envelope.ok() && envelope.content().is_none(), "{what}: {envelope:?}");
    if operation == "export" {
        assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{what}: {envelope:?}");
        assert_eq!(envelope.code(), Some(Code::RemoteResultIncomplete), "{what}: {envelope:?}");
    }
    let not_taken = envelope.retry() == Retry::Never && envelope.action() == Some(Action::StopAndReport);
    let id = envelope.request_id().unwrap();
    assert_eq!(stored(open.broker.journal(), &id), None, "{what}");
    assert_eq!(open.result(&id).content(), None, "{what}");
    let history = open.broker.timeline(&id).unwrap();
    let seen = history.iter().rev().find_map(|recorded| evidence(&recorded.event)).expect(what);
    if operation == "fetch" {
        // It would be too much again; a cut one may come whole.
        let too_much = matches!(seen.cause, Some(Cause::TooLarge | Cause::ContentNotStored));
        assert_eq!(not_taken, too_much, "{what}: {envelope:?}");
    }
    seen
}

pub(crate) fn evidence(event: &proofport_core::event::Event) -> Option<HttpEvidence> {
    use proofport_core::event::Event;
    if let Event::AttemptEnded(ended) = event {
        ended.evidence.http().cloned()
    } else if let Event::QueryExchanged(facts) = event {
        facts.evidence.http().cloned()
    } else {
        None
    }
}

/// What the folder of contents holds: nothing at all.
fn assert_nothing_kept(open: &Open, home: &std::path::Path, what: &str) {
    assert_eq!(open.broker.journal().contents_bytes(), 0, "{what}");
    let folder = home.join("results");
    let left = std::fs::read_dir(folder).map_or(0, Iterator::count);
    assert_eq!(left, 0, "{what}");
}

async fn check(framing: Framing, operation: &str, end: Act) {
    let content = bytes(LENGTH, 2);
    let all = framing.answer(&content).1.len();
    let cuts = [0, 1, CHUNK_BYTES, CHUNK_BYTES + 40, LENGTH - 1, all - 1];
    let contents: Vec<_> = cuts.iter().map(|cut| (content.clone(), Some(*cut))).collect();
    let peer = framing.peer(&contents, &end);
    let rig = home(&peer, "").await;
    let open = rig.open().await;
    for (n, cut) in cuts.iter().enumerate() {
        let what = format!("{framing:?}, {operation}, {end:?} after {cut} of {all}");
        let seen = fails(&open, operation, &path(&n.to_string()), &what).await;
        assert!(seen.completion.is_none() && seen.body_digest.is_none(), "{what}: {seen:?}");
        assert_eq!(peer.effects(), n + 1, "{what}");
        assert_nothing_kept(&open, &rig.home(), &what);
    }
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_content_is_no_content() {
    for framing in Framing::ALL {
        for operation in framing.operations() {
            check(framing, operation, Act::Reset).await;
            // What close_notify ends is whole by definition.
            if framing != Framing::Close {
                check(framing, operation, Act::Close).await;
            } else {
                check(framing, operation, Act::Cut).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_over_its_limit_is_refused() {
    for framing in Framing::ALL {
        for operation in framing.operations() {
            let what = format!("{framing:?}, {operation}");
            let contents = [LENGTH + 1, LENGTH].map(|length| (bytes(length, 3), None));
            let peer = framing.peer(&contents, &Act::Close);
            let rig = home(&peer, &format!("content_bytes = {LENGTH}")).await;
            let open = rig.open().await;
            let seen = fails(&open, operation, &path("large"), &what).await;
            assert_eq!((seen.status, seen.cause), (Some(200), Some(Cause::TooLarge)), "{what}");
            assert_nothing_kept(&open, &rig.home(), &what);
            // What just fits goes through.
            let envelope = open.call(operation, &path("fits")).await;
            assert!(envelope.ok(), "{what}: {envelope:?}");
            let id = envelope.request_id().unwrap();
            assert!(stored(open.broker.journal(), &id).unwrap() == contents[1].0, "{what}");
            open.close();
        }
    }
}

/// A failure's content is the connector's to read, and is not stored.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_success_is_stored() {
    for (operation, outcome) in [("fetch", None), ("export", Some(Outcome::Rejected))] {
        let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 4\r\n\r\nnone";
        let peer = Peer::http(Script(vec![Act::ReadRequest, Act::Send(answer.into()), Act::Close]));
        let rig = home(&peer, "").await;
        let open = rig.open().await;
        let envelope = open.call(operation, &path("absent")).await;
        assert!(!envelope.ok() && envelope.content().is_none(), "{envelope:?}");
        assert!(outcome.is_none() || envelope.outcome() == outcome, "{envelope:?}");
        assert_nothing_kept(&open, &rig.home(), operation);
        open.close();
    }
}
