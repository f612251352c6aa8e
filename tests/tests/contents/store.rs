//! The store's own limits: how much, for how long, and for whom.

use crate::broken::fails;
use crate::{Framing, bytes, home, path, stored, wanted};
use proofport_broker::{CallRequest, Clock, SystemClock};
use proofport_core::code::Code;
use proofport_core::contract::Outcome;
use proofport_core::envelope::Envelope;
use proofport_core::evidence::Cause;
use proofport_core::id::OperationName;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use proofport_gateway::home::Home;
use proofport_gateway::host::{Connections, Host, OpenOptions};
use proofport_journal::{CHUNK_BYTES, JournalError};
use proofport_tests::peer::Act;
use proofport_tests::rig::{PASSPHRASE, Rig, caller, name};
use std::sync::Arc;
use std::time::Duration;

/// A host as the program opens it, with everything that happens at its start.
async fn open(rig: &Rig, clock: Arc<dyn Clock>) -> Host {
    let passphrase = Secret::new(PASSPHRASE.as_bytes().to_vec());
    let options = OpenOptions { clock, ..OpenOptions::program(Connections::All) };
    Host::open(Home::at(rig.home()).unwrap(), &passphrase, options).await.unwrap()
}

async fn call(host: &Host, operation: &str, input: &str) -> Envelope {
    let operation = OperationName { connection: name("c"), operation: name(operation) };
    let request = CallRequest { operation, input: input.into(), call_key: None, caller: caller() };
    let delivery = host.broker().call(request).await;
    let envelope = delivery.envelope.clone();
    delivery.confirmed();
    envelope
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_costs_the_content_and_nothing_else() {
    for (operation, lines) in [
        ("export", format!("contents_bytes = {}\nreserve_bytes = 0", 2 * CHUNK_BYTES)),
        ("fetch", format!("contents_bytes = {}\nreserve_bytes = 0", 2 * CHUNK_BYTES)),
        ("export", "contents_bytes = 0\nreserve_bytes = 0".to_owned()),
    ] {
        let contents = [(bytes(3 * CHUNK_BYTES, 4), None), (bytes(100, 5), None), (bytes(200, 6), None)];
        let peer = Framing::Length.peer(&contents, &Act::Close);
        let rig = Rig::new(&wanted(&peer, &format!("[store]\n{lines}\n"), "")).await;
        let host = open(&rig, Arc::new(SystemClock)).await;
        let envelope = call(&host, operation, &path("large")).await;
        let what = format!("{operation}, {lines}: {envelope:?}");
        assert!(!envelope.ok() && envelope.content().is_none(), "{what}");
        if operation == "export" {
            let got = (envelope.outcome(), envelope.code());
            assert_eq!(got, (Some(Outcome::Unknown), Some(Code::RemoteResultIncomplete)), "{what}");
        }
        let id = envelope.request_id().unwrap();
        let journal = host.broker().journal();
        assert_eq!((stored(journal, &id), journal.contents_bytes()), (None, 0), "{what}");
        let history = host.broker().timeline(&id).unwrap();
        let causes: Vec<Cause> =
            history.iter().filter_map(|recorded| crate::broken::evidence(&recorded.event)?.cause).collect();
        assert_eq!(causes, [Cause::ContentNotStored], "{what}");
        // The host goes on, and stores what there is room for.
        let fits = !lines.starts_with("contents_bytes = 0");
        for (n, (content, _)) in contents.iter().enumerate().skip(1) {
            let envelope = call(&host, operation, &path(&n.to_string())).await;
            assert_eq!(envelope.ok(), fits, "{what}: {envelope:?}");
            let kept = stored(host.broker().journal(), &envelope.request_id().unwrap());
            assert_eq!(kept.as_ref(), fits.then_some(content), "{what}");
        }
        assert_eq!(peer.effects(), 3);
        host.close().unwrap();
        // Nothing was lost with it.
        let host = open(&rig, Arc::new(SystemClock)).await;
        assert_eq!(host.broker().result(&id, &caller()).envelope.code(), envelope.code(), "{what}");
        host.close().unwrap();
    }
}

/// A clock that is ahead of the system's.
struct Ahead(Duration);

impl Clock for Ahead {
    fn now(&self) -> UnixMillis {
        SystemClock.now().plus_seconds(self.0.as_secs())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_past_its_time_is_removed_at_the_start() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let content = bytes(CHUNK_BYTES + 1, 7);
    let peer = Framing::Length.peer(&[(content.clone(), None)], &Act::Close);
    let rig = Rig::new(&wanted(&peer, "[store]\nkeep_days = 2\nreserve_bytes = 0\n", "")).await;
    let host = open(&rig, Arc::new(SystemClock)).await;
    let first = call(&host, "export", &path("kept")).await;
    let id = first.request_id().unwrap();
    host.close().unwrap();
    for (days, there) in [(0, true), (1, true), (3, false)] {
        let host = open(&rig, Arc::new(Ahead(DAY * days))).await;
        let kept = stored(host.broker().journal(), &id);
        assert_eq!(kept.as_ref(), there.then_some(&content), "after {days} days");
        // What was settled stays on record; what can't be had any more is not offered.
        let envelope = host.broker().result(&id, &caller()).envelope;
        assert_eq!(envelope.outcome(), first.outcome(), "{envelope:?}");
        let code = (!there).then_some(Code::ResultUnavailable);
        assert_eq!((envelope.code(), envelope.ok()), (code, there), "{envelope:?}");
        assert_eq!(envelope.content(), first.content().filter(|_| there), "{envelope:?}");
        host.close().unwrap();
    }
}

/// Bodies that are locked can be stored and not read.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_host_gives_no_content() {
    let content = bytes(CHUNK_BYTES + 1, 8);
    let peer = Framing::Length.peer(&[(content.clone(), None)], &Act::Close);
    let rig = home(&peer, "").await;
    let open = rig.open().await;
    let envelope = open.call("export", &path("locked")).await;
    let id = envelope.request_id().unwrap();
    let journal = open.broker.journal();
    let found = journal.content(&id).unwrap().unwrap();
    journal.lock_bodies();
    assert!(matches!(journal.content(&id), Err(JournalError::BodiesLocked)));
    assert!(matches!(found.chunk(0), Err(JournalError::BodiesLocked)), "nor one that was found before");
    drop(found);
    open.close();
    let open = rig.open().await;
    assert!(stored(open.broker.journal(), &id).unwrap() == content);
    open.close();
}

/// A content belongs to its record: a second call of the same intent gets the first's.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_fetches_nothing() {
    let contents = [(bytes(1000, 9), None), (bytes(1000, 10), Some(10))];
    let peer = Framing::Length.peer(&contents, &Act::Close);
    let rig = home(&peer, "").await;
    let open = rig.open().await;
    let first = open.call_with("export", &path("same"), Some("key")).await;
    let again = open.call_with("export", &path("same"), Some("key")).await;
    assert!(again.repeated() && again.request_id() == first.request_id(), "{again:?}");
    assert_eq!((again.content(), peer.effects()), (first.content(), 1));
    let kept = stored(open.broker.journal(), &first.request_id().unwrap());
    assert!(kept.unwrap() == contents[0].0);
    let _ = fails(&open, "export", &path("other"), "a cut one beside it").await;
    assert!(stored(open.broker.journal(), &first.request_id().unwrap()).unwrap() == contents[0].0);
    open.close();
}
