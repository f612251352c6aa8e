//! A job that the remote took on: submitted once, and looked at by calls of their own.

use crate::{lost, says, site_of, taken_on};
use proofport_broker::FollowError;
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_tests::peer::{Script, Scripts};
use proofport_tests::rig::caller;
use serde_json::Value;

fn job(envelope: &Envelope) -> Value {
    serde_json::to_value(envelope).unwrap()["job"].clone()
}

fn id(value: &Value) -> RequestId {
    RequestId::parse(value.as_str().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_look_is_a_call_of_its_own_and_nothing_is_submitted_again() {
    let scripts = vec![taken_on(), says("pending"), says("done")];
    let (peer, rig, _) = site_of("inquires", scripts.into(), "").await;
    let open = rig.open().await;
    let submitted = open.call("submit", "{}").await;
    assert!(submitted.ok(), "{submitted:?}");
    let parent = submitted.request_id().unwrap();
    let told = job(&submitted);
    assert_eq!((told["id"].as_str(), told["operation"].as_str()), (Some("job-1"), Some("c.follow")));
    assert!(told["followed_by"].is_null() && told["submitted_by"].is_null(), "{told}");
    // Calling again meets the submission, whatever became of the job.
    assert!(open.call("submit", "{}").await.repeated());
    let look = open.broker.follow(&parent, &caller()).await.unwrap().envelope;
    assert!(look.ok(), "{look:?}");
    assert_ne!(look.request_id(), Some(parent));
    let told = job(&look);
    assert_eq!((told["id"].as_str(), id(&told["submitted_by"])), (Some("job-1"), parent));
    assert_eq!(id(&job(&open.result(&parent))["followed_by"]), look.request_id().unwrap());
    let over = open.broker.follow(&parent, &caller()).await.unwrap().envelope;
    assert!(over.ok() && job(&over).is_null(), "{over:?}");
    assert_eq!(id(&job(&open.result(&parent))["followed_by"]), over.request_id().unwrap());
    assert!(open.call("submit", "{}").await.repeated());
    assert_eq!((peer.accepted(), peer.effects()), (3, 1));
    let sent: Vec<_> = peer.received().iter().map(|r| String::from_utf8_lossy(r).into_owned()).collect();
    assert!(sent[1..].iter().all(|request| request.starts_with("GET /jobs/job-1 ")), "{sent:?}");
    // Only the caller's own, and only where a job was submitted.
    let stranger = proofport_broker::Caller {
        principal: "x".to_owned(),
        session: "one".to_owned(),
        authority: proofport_broker::Authority::Operator,
    };
    let refused = open.broker.follow(&parent, &stranger).await.err();
    assert!(matches!(refused, Some(FollowError::NoSuchInvocation)), "{refused:?}");
    let none = open.broker.follow(&over.request_id().unwrap(), &caller()).await.err();
    assert!(matches!(none, Some(FollowError::NoJob)), "{none:?}");
    open.close();
}

/// A submission whose answer was lost has no job to follow, and is not made again.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_submission_is_followed_by_nothing() {
    let following = "[connections.c.following]\n";
    let (peer, rig, _) = site_of("inquires", vec![lost()].into(), following).await;
    let open = rig.open().await;
    let submitted = open.call("submit", "{}").await;
    assert_eq!(submitted.outcome(), Some(Outcome::Unknown));
    let parent = submitted.request_id().unwrap();
    let refused = open.broker.follow(&parent, &caller()).await.err();
    assert!(matches!(refused, Some(FollowError::NoJob)), "{refused:?}");
    assert_eq!(open.broker.wait(&parent, &caller()).await.envelope.outcome(), Some(Outcome::Unknown));
    assert_eq!(peer.accepted(), 1);
    open.close();
}

/// The host's own looks are announced, outlive it, and end: with the job, or at their deadline.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_follows_until_the_job_or_its_time_is_over() {
    let check = async |terms: &str, then: Vec<Script>, default: Option<Script>, looks: usize, most: u64| {
        let following = format!("[connections.c.following]\nfirst_delay_millis = 1000\n{terms}");
        let each: Vec<Script> = [taken_on()].into_iter().chain(then).collect();
        let scripts = Scripts { each: each.into(), default };
        let (peer, rig, clock) = site_of("inquires", scripts, &following).await;
        let open = rig.open().await;
        let submitted = open.call("submit", "{}").await;
        let parent = submitted.request_id().unwrap();
        assert!(submitted.ok() && peer.accepted() == 1, "{submitted:?}");
        open.close();
        // The next host goes on with it, and starts nothing by starting.
        let open = rig.open().await;
        assert_eq!(peer.accepted(), 1);
        let who = caller();
        let envelope = open.broker.wait(&parent, &who).await.envelope;
        assert!(envelope.ok(), "{envelope:?}");
        assert_eq!((peer.accepted(), peer.effects()), (1 + looks, 1), "{terms}");
        assert!(clock.seconds() <= most, "{terms}: {} s", clock.seconds());
        let timeline = open.broker.timeline(&parent).unwrap();
        let events = timeline.iter().filter(|recorded| recorded.event.kind() == EventKind::JobFollowed);
        assert_eq!(events.count(), 1 + looks, "{terms}");
        open.close();
        let open = rig.open().await;
        open.broker.wait(&parent, &who).await;
        assert_eq!(peer.accepted(), 1 + looks, "{terms}: it goes on after its end");
        open.close();
    };
    check("", vec![says("pending"), says("pending"), says("done")], None, 3, 7).await;
    check("", vec![says("failed")], None, 1, 1).await;
    // A look that learns nothing is one of them.
    check("", vec![Script(Vec::new()), says("done")], None, 2, 3).await;
    check("attempts = 4\n", Vec::new(), Some(says("pending")), 4, 15).await;
    check("total_seconds = 1\nlongest_delay_millis = 1000\n", Vec::new(), Some(says("pending")), 1, 1).await;
}

/// A vault that is locked lets nobody look.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_vault_lets_nobody_look() {
    let (peer, rig, _) = site_of("inquires", vec![taken_on()].into(), "").await;
    let open = rig.open().await;
    let parent = open.call("submit", "{}").await.request_id().unwrap();
    open.vault.write().unwrap().lock();
    let refused = open.broker.follow(&parent, &caller()).await.err();
    assert!(matches!(refused, Some(FollowError::VaultLocked)), "{refused:?}");
    assert_eq!(open.call("follow", "{\"job\":\"job-1\"}").await.code(), Some(Code::VaultLocked));
    assert_eq!(peer.accepted(), 1);
    open.close();
}
