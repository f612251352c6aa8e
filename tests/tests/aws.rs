//! The AWS connector through a whole host, against moto, over a way that loses requests and answers. What is
//! claimed is compared with what moto has.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

use proofport_broker::{Clock, SystemClock};
use proofport_core::code::Code;
use proofport_core::contract::{InjectionMode, Outcome, Retry, RetryOwner};
use proofport_core::event::EventKind;
use proofport_core::time::UnixMillis;
use proofport_tests::canary::assert_absent_below;
use proofport_tests::cutter::{Cut, Cutter, How};
use proofport_tests::moto::Moto;
use proofport_tests::rig::{CANARY, Open, Rig, Stored};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The answer is lost after its first byte, and what the request did stays done.
const ANSWER: Cut = Cut { sending: false, after: 1, how: How::Reset };

/// The request is lost after its first byte.
const REQUEST: Cut = Cut { sending: true, after: 1, how: How::Reset };

struct Site {
    moto: Moto,
    cutter: Cutter,
    rig: Rig,
}

/// A home whose connection is for this service, with this config, and lines beside it.
async fn site(service: &str, config: impl Fn(&Moto) -> String, more: &str) -> Site {
    let moto = Moto::start().unwrap_or_else(|error| panic!("{error}"));
    let cutter = Cutter::to(moto.address());
    let origin = format!("http://127.0.0.1:{}", cutter.port());
    let toml = format!(
        "[connections.c]\nconnector = \"DIGEST\"\norigins = [\"{origin}\"]\naddresses = [\"127.0.0.1\"]\n\
         repeating_hops = \"none\"\n[connections.c.limits]\nsetup_attempts = 1\nidle_seconds = 0\n{more}\n\
         [connections.c.config.{service}]\n{}\n\
         [connections.c.credentials.access_key]\nsecret = \"key\"\nmode = \"aws_sigv4\"\n\
         access_key_id = \"AKIDEXAMPLE\"\nregion = \"us-east-1\"\nservice = \"{service}\"\n",
        config(&moto)
    );
    let secret = Stored { name: "key", value: CANARY, destination: &origin, mode: InjectionMode::AwsSigv4 };
    let rig = Rig::declared("proofport-connector-aws", &[secret], &toml).await;
    Site { moto, cutter, rig }
}

fn input(value: &Value) -> String {
    value.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_is_created_once_and_found_again() {
    let Site { moto, cutter, rig } = site("s3", |_| "bucket = \"reports\"".to_owned(), "").await;
    moto.ask_by_path("s3", "PUT /reports", "").unwrap();
    let open = rig.open().await;
    let object = |key: &str| input(&json!({ "key": key, "content": "hello" }));
    let there = |key: &str| moto.ask_by_path("s3", &format!("GET /reports/{key}"), "").unwrap();
    let first = open.call("s3_create_object", &object("a.txt")).await;
    assert!(first.ok(), "{first:?}");
    assert_eq!(there("a.txt"), (200, "hello".to_owned()));
    // Somebody else's object is not overwritten: the precondition refuses a second one.
    let second = open.call_with("s3_create_object", &object("a.txt"), Some("again")).await;
    let got = (second.outcome(), second.code());
    assert_eq!(got, (Some(Outcome::Rejected), Some(Code::RemoteRejected)), "{second:?}");

    cutter.set(Some(ANSWER));
    let lost = open.call("s3_create_object", &object("b.txt")).await;
    let got = (lost.outcome(), lost.retry(), lost.retry_owner());
    assert_eq!(got, (Some(Outcome::Unknown), Retry::Reconcile, RetryOwner::Host), "{lost:?}");
    assert_eq!(there("b.txt").0, 200);
    cutter.set(None);
    let found = open.broker.reconcile(&lost.request_id().unwrap()).await.unwrap().envelope;
    assert!(found.ok(), "{found:?}");

    cutter.set(Some(REQUEST));
    let lost = open.call("s3_create_object", &object("c.txt")).await;
    assert_eq!(lost.outcome(), Some(Outcome::Unknown), "{lost:?}");
    cutter.set(None);
    assert_eq!(there("c.txt").0, 404);
    // It may have been deleted since: that it is not there proves nothing.
    let open_still = open.broker.reconcile(&lost.request_id().unwrap()).await.unwrap().envelope;
    assert_eq!(open_still.outcome(), Some(Outcome::Unknown), "{open_still:?}");
    open.close();
    assert_absent_below(CANARY, &rig.home());
}

/// A clock that can be put forward.
struct Ahead(AtomicU64);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        UnixMillis(SystemClock.now().0 + self.0.load(Ordering::SeqCst))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_deleted_absence_is_proof_in_its_time() {
    let config = |_: &Moto| "bucket = \"reports\"\nnever_deleted = true".to_owned();
    let Site { moto, cutter, mut rig } = site("s3", config, "").await;
    moto.ask_by_path("s3", "PUT /reports", "").unwrap();
    let ahead = Arc::new(Ahead(AtomicU64::new(0)));
    rig.clock = Arc::<Ahead>::clone(&ahead);
    let open = rig.open().await;
    cutter.set(Some(REQUEST));
    let object = input(&json!({ "key": "a.txt", "content": "hello" }));
    let id = open.call("s3_create_object", &object).await.request_id().unwrap();
    cutter.set(None);
    let early = open.broker.reconcile(&id).await.unwrap().envelope;
    assert_eq!(early.outcome(), Some(Outcome::Unknown), "{early:?}");
    ahead.0.store(61_000, Ordering::SeqCst);
    let absent = open.broker.reconcile(&id).await.unwrap().envelope;
    let got = (absent.outcome(), absent.code());
    assert_eq!(got, (Some(Outcome::Rejected), Some(Code::ConfirmedAbsent)), "{absent:?}");
    assert_eq!(moto.ask_by_path("s3", "GET /reports/a.txt", "").unwrap().0, 404);
    open.close();
}

fn attempts(open: &Open, envelope: &proofport_core::envelope::Envelope) -> usize {
    let timeline = open.broker.timeline(&envelope.request_id().unwrap()).unwrap();
    timeline.iter().filter(|recorded| recorded.event.kind() == EventKind::DispatchStarted).count()
}

/// The queue drops what it has seen under the same id within five minutes: the host repeats by itself until
/// it is answered, and one message is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_sent_again_under_its_own_id() {
    let retries =
        "[connections.c.retries]\nattempts = 20\nfirst_delay_millis = 50\nlongest_delay_millis = 200";
    let config = |moto: &Moto| format!("queues_at = \"{}\"", moto.queues_at());
    let Site { moto, cutter, rig } = site("sqs", config, retries).await;
    let queue = json!({ "QueueName": "q.fifo", "Attributes": { "FifoQueue": "true" } });
    assert_eq!(moto.ask("sqs", "AmazonSQS.CreateQueue", &queue).unwrap().0, 200);
    let open = Arc::new(rig.open().await);
    cutter.set(Some(ANSWER));
    let message = input(&json!({ "queue": "q.fifo", "message": "pay", "group": "g" }));
    let calling = tokio::spawn({
        let open = Arc::clone(&open);
        async move { open.call("sqs_send_fifo", &message).await }
    });
    while moto.messages("q.fifo").unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    cutter.set(None);
    let envelope = calling.await.unwrap();
    assert!(envelope.ok(), "{envelope:?}");
    assert!(attempts(&open, &envelope) > 1);
    assert_eq!(moto.messages("q.fifo").unwrap(), 1);
    Arc::into_inner(open).unwrap().close();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_whose_launch_was_not_answered_is_found_by_its_token() {
    let Site { moto, cutter, rig } = site("ec2", |_| String::new(), "").await;
    let open = rig.open().await;
    cutter.set(Some(ANSWER));
    let launch = input(&json!({ "image_id": "ami-12345678", "instance_type": "t3.micro", "count": 1 }));
    let lost = open.call("ec2_run_instances", &launch).await;
    let got = (lost.outcome(), lost.retry());
    assert_eq!(got, (Some(Outcome::Unknown), Retry::Reconcile), "{lost:?}");
    assert_eq!(moto.instances().unwrap(), 1);
    cutter.set(None);
    let found = open.broker.reconcile(&lost.request_id().unwrap()).await.unwrap().envelope;
    assert!(found.ok(), "{found:?}");
    assert_eq!((moto.instances().unwrap(), attempts(&open, &found)), (1, 1));
    open.close();
}
