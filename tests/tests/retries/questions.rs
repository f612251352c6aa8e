//! What the host asks by itself.

use crate::{OK, answered, lost, says, site_of, status};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Retry, RetryOwner, Source};
use proofport_core::envelope::Envelope;
use proofport_core::event::EventKind;
use proofport_tests::peer::{Script, Scripts};
use proofport_tests::rig::caller;

/// What is claimed in the end, how many requests the peer got, and how long that took at least.
struct Expected {
    outcome: Outcome,
    code: Option<Code>,
    owner: RetryOwner,
    source: Option<Source>,
    requests: usize,
    seconds: u64,
}

const FOUND: Expected = Expected {
    outcome: Outcome::Committed,
    code: None,
    owner: RetryOwner::Nobody,
    source: Some(Source::RemoteQuery),
    requests: 2,
    seconds: 1,
};

const LEFT: Expected = Expected {
    outcome: Outcome::Unknown,
    code: Some(Code::OutcomeUnknown),
    owner: RetryOwner::Operator,
    source: Some(Source::TransportObserved),
    requests: 9,
    seconds: 150,
};

fn source(envelope: &Envelope) -> Option<String> {
    let json = serde_json::to_value(envelope).unwrap();
    json["evidence"]["source"].as_str().map(str::to_owned)
}

/// `then`: what every later connection meets.
async fn check(operation: &str, more: &str, each: Vec<Script>, then: Option<Script>, expected: Expected) {
    let what = format!("{operation} {} {more}", each.len());
    let scripts = Scripts { each: each.into(), default: then };
    let (peer, rig, clock) = site_of("inquires", scripts, more).await;
    let open = rig.open().await;
    let first = open.call(operation, "{}").await;
    let id = first.request_id().unwrap();
    assert_eq!(first.outcome(), Some(Outcome::Unknown), "{what}: {first:?}");
    let envelope = open.broker.wait(&id, &caller()).await.envelope;
    let got = (envelope.outcome(), envelope.code(), envelope.retry_owner(), source(&envelope));
    let expected_source = expected.source.map(|source| source.to_string());
    let wanted = (Some(expected.outcome), expected.code, expected.owner, expected_source);
    assert_eq!(got, wanted, "{what}: {envelope:?}");
    assert_eq!(peer.accepted(), expected.requests, "{what}");
    assert!(clock.seconds() >= expected.seconds, "{what}: after {} s", clock.seconds());
    // Asking sends no effect.
    let writes = peer.received().iter().filter(|request| request.starts_with(b"POST")).count();
    let timeline = open.broker.timeline(&id).unwrap();
    let count = |kind: EventKind| timeline.iter().filter(|recorded| recorded.event.kind() == kind).count();
    assert_eq!(count(EventKind::DispatchStarted), writes, "{what}");
    assert!(open.broker.unknowns().unwrap().len() == usize::from(expected.outcome == Outcome::Unknown));
    // There is nothing left to do, whoever comes next.
    open.close();
    let open = rig.open().await;
    assert_eq!(open.broker.wait(&id, &caller()).await.envelope.outcome(), Some(expected.outcome), "{what}");
    assert_eq!(peer.accepted(), expected.requests, "{what}");
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_asks_until_it_knows_or_has_asked_enough() {
    for operation in ["once", "same", "keyed"] {
        check(operation, "", vec![lost(), says("yes")], None, FOUND).await;
        let later = Expected { requests: 4, seconds: 7, ..FOUND };
        check(operation, "", vec![lost(), says("?"), says("?"), says("yes")], None, later).await;
    }
    check("once", "", vec![lost()], Some(says("?")), LEFT).await;
    // Nothing can be asked: every try counts.
    check("once", "", vec![lost()], Some(Script(Vec::new())), LEFT).await;
    check("once", "", vec![lost()], Some(answered(&status("503 Service Unavailable"))), LEFT).await;
}

/// Law 3 and the declared delay: what is not there yet may still come.
#[tokio::test(flavor = "multi_thread")]
async fn absence_settles_after_its_time_and_not_before() {
    let absent = Expected {
        outcome: Outcome::Rejected,
        code: Some(Code::ConfirmedAbsent),
        owner: RetryOwner::Caller,
        source: Some(Source::RemoteQuery),
        requests: 4,
        seconds: 60,
    };
    let three = "[connections.c.reconciliations]\nattempts = 3\nfirst_delay_millis = 1000\n";
    check("once", three, vec![lost()], Some(says("no")), absent).await;
    let late = vec![lost(), says("no"), says("no"), says("yes")];
    check("once", three, late, None, Expected { requests: 4, seconds: 60, ..FOUND }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_asks_where_the_admin_wants_none() {
    let none = "[connections.c.reconciliations]\nattempts = 0\n";
    let asked = Expected { requests: 1, seconds: 0, ..LEFT };
    check("once", none, vec![lost()], Some(says("yes")), asked).await;
    let short = "[connections.c.reconciliations]\ntotal_seconds = 20\n";
    // 2, 4 and 8 seconds fit at most.
    let peer_got = 4;
    let scripts = Scripts { each: vec![lost()].into(), default: Some(says("?")) };
    let (peer, rig, clock) = site_of("inquires", scripts, short).await;
    let open = rig.open().await;
    let id = open.call("once", "{}").await.request_id().unwrap();
    open.broker.wait(&id, &caller()).await;
    assert!((peer_got..=6).contains(&peer.accepted()), "{}", peer.accepted());
    assert!(clock.seconds() <= 20, "{}", clock.seconds());
    open.close();
}

/// The repeats come first, and what they leave open is asked about.
#[tokio::test(flavor = "multi_thread")]
async fn repeats_that_are_spent_leave_the_questions() {
    let retries = "[connections.c.retries]\nattempts = 2\nfirst_delay_millis = 1000\n";
    for operation in ["same", "keyed"] {
        let each = vec![lost(), lost(), says("yes")];
        check(operation, retries, each, None, Expected { requests: 3, ..FOUND }).await;
    }
    let (peer, rig, _) = site_of("inquires", vec![lost(), answered(OK)].into(), retries).await;
    let open = rig.open().await;
    assert!(open.call("same", "{}").await.ok());
    assert_eq!(peer.accepted(), 2);
    open.close();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_says_that_the_host_asks_and_a_person_may_all_the_same() {
    let scripts = vec![lost(), says("?"), says("yes")];
    let (peer, rig, clock) = site_of("inquires", scripts.into(), "").await;
    let open = rig.open().await;
    let first = open.call("once", "{}").await;
    let id = first.request_id().unwrap();
    assert_eq!((first.retry(), first.retry_owner()), (Retry::Reconcile, RetryOwner::Host), "{first:?}");
    assert!(first.retry_after_seconds().is_some_and(|seconds| (1..=2).contains(&seconds)), "{first:?}");
    // An operator need not wait, and takes nothing away.
    let asked = open.broker.reconcile(&id).await.unwrap().envelope;
    assert_eq!((asked.outcome(), asked.retry_owner()), (Some(Outcome::Unknown), RetryOwner::Host));
    assert_eq!((peer.accepted(), clock.seconds()), (2, 0));
    assert!(open.broker.wait(&id, &caller()).await.envelope.ok());
    // A stranger waits for nothing.
    let stranger = proofport_broker::Caller {
        principal: "x".to_owned(),
        session: "one".to_owned(),
        authority: proofport_broker::Authority::Operator,
    };
    let refused = open.broker.wait(&id, &stranger).await.envelope;
    assert_eq!(refused.code(), Some(Code::NoSuchInvocation));
    open.close();
}
