//! What answers under a key mean, and what is no repeat of what was sent.

use crate::budget::{DONE, Expected, THREE, UNKNOWN, check};
use crate::{Leaping, OK, answered, lost, site, status};
use proofport_broker::Broker;
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, RetryOwner, Source};
use proofport_core::event::{Event, EventKind};
use proofport_core::exchange::Request;
use proofport_core::id::RequestId;
use proofport_core::time::UnixMillis;
use proofport_journal::{Batch, Body, BodyKind};
use proofport_tests::peer::Script;

const REFUSED: Expected = Expected {
    outcome: Outcome::Rejected,
    code: Some(Code::RemoteRejected),
    retry: Retry::AfterCorrection,
    owner: RetryOwner::Caller,
    requests: 2,
};

/// An answer with this line and a header that marks the first request's answer, or says that it does not.
fn marked(line: &str, value: &str) -> Script {
    answered(&format!("HTTP/1.1 {line}\r\nIdempotent-Replayed: {value}\r\ncontent-length: 2\r\n\r\n{{}}"))
}

/// Law 3: a later refusal settles an earlier unknown where the contract calls it the first one's answer.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_requests_answer_settles_it() {
    let gone = "404 Not Found";
    check("marked", THREE, vec![lost(), marked(gone, "true"), answered(OK)], 1, REFUSED).await;
    let twice = vec![lost(), lost(), marked(gone, "true"), answered(OK)];
    check("marked", THREE, twice, 3, Expected { requests: 3, ..REFUSED }).await;
    check("marked", THREE, vec![lost(), marked("200 OK", "true")], 1, Expected { requests: 2, ..DONE }).await;
    let unmarked = || vec![lost(), answered(&status(gone)), answered(&status(gone)), answered(OK)];
    check("marked", THREE, unmarked(), 3, Expected { requests: 3, ..UNKNOWN }).await;
    let denied = || vec![lost(), marked(gone, "false"), marked(gone, "false"), answered(OK)];
    check("marked", THREE, denied(), 3, Expected { requests: 3, ..UNKNOWN }).await;
    // A contract that names no such header knows none, and half an answer is nobody's.
    let stray = || vec![lost(), marked(gone, "true"), marked(gone, "true"), answered(OK)];
    check("keyed", THREE, stray(), 3, Expected { requests: 3, ..UNKNOWN }).await;
    let cut = || {
        answered(&format!("HTTP/1.1 {gone}\r\nidempotent-replayed: true\r\ncontent-length: 9\r\n\r\n{{}}"))
    };
    let code = Some(Code::RemoteResultIncomplete);
    check(
        "marked",
        THREE,
        vec![lost(), cut(), cut(), answered(OK)],
        3,
        Expected { requests: 3, code, ..UNKNOWN },
    )
    .await;
}

/// The connector reads a refusal in it; the contract says that the first one may yet be carried out.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_that_still_runs_is_waited_for() {
    let running = || answered(&status("409 Conflict"));
    check("marked", THREE, vec![running(), running(), answered(OK)], 3, Expected { requests: 3, ..DONE })
        .await;
    let spent = vec![running(), running(), running(), answered(OK)];
    check("marked", THREE, spent, 3, Expected { requests: 3, ..UNKNOWN }).await;
    let (retry, owner) = (Retry::SameIdempotencyKey, RetryOwner::Operator);
    check("marked", "", vec![running(), answered(OK)], 0, Expected { retry, owner, ..UNKNOWN }).await;
}

/// Stores another request for an invocation than the one that it sent.
async fn store(broker: &Broker, id: RequestId, request: &Request) {
    let source = Source::TransportObserved;
    let noted =
        Event::EvidenceAttached { source, source_sequence: 0, outcome: Outcome::Unknown, child: None };
    let mut batch = Batch::new(Some(id), UnixMillis(Leaping::START), vec![noted]);
    batch.bodies = vec![Body { kind: BodyKind::Request, bytes: serde_json::to_vec(request).unwrap() }];
    broker.journal().append(batch).await.unwrap();
}

/// Case 22: other bytes are refused before they leave, under whatever key, and the record says why.
#[tokio::test(flavor = "multi_thread")]
async fn other_bytes_are_not_sent_as_a_repeat() {
    for (operation, code) in [("keyed", Code::IdempotencyMismatch), ("same", Code::FingerprintMismatch)] {
        let (peer, rig, _) = site(vec![lost(), answered(OK), answered(OK)], "").await;
        let open = rig.open().await;
        let id = open.call(operation, "{}").await.request_id().unwrap();
        let stored = open.broker.journal().body(&id, BodyKind::Request).unwrap().unwrap();
        let sent: Request = serde_json::from_slice(&stored).unwrap();
        let Request::Http(mut http) = sent.clone() else { panic!("{sent:?}") };
        http.body = Some(b"another amount".to_vec());
        store(&open.broker, id, &Request::Http(http)).await;

        let envelope = open.broker.retry(&id).await.unwrap().envelope;
        assert_eq!(envelope.outcome(), Some(Outcome::Unknown), "{operation}: {envelope:?}");
        let timeline = open.broker.timeline(&id).unwrap();
        let dispatches = timeline.iter().filter(|r| r.event.kind() == EventKind::DispatchStarted).count();
        let refused: Vec<_> = timeline
            .iter()
            .filter_map(|recorded| {
                let Event::AttemptEnded(end) = &recorded.event else { return None };
                end.code.filter(|_| end.outcome == Outcome::NotAttempted)
            })
            .collect();
        assert_eq!((dispatches, refused), (1, vec![code]), "{operation}");
        let requests = peer.received().iter().filter(|request| !request.is_empty()).count();
        assert_eq!((requests, peer.effects()), (1, 1), "{operation}");

        // With its own bytes it may go out.
        store(&open.broker, id, &sent).await;
        let envelope = open.broker.retry(&id).await.unwrap().envelope;
        assert!(envelope.ok(), "{operation}: {envelope:?}");
        open.close();
    }
}
