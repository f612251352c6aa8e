//! Callers that go away: nothing is cancelled by that, and an answer counts as delivered once it was written
//! out, and not before.

use crate::OK;
use crate::served::{Served, call, home, settings};
use proofport_core::event::EventKind;
use proofport_core::id::RequestId;
use proofport_gateway::{Authority, Caller};
use proofport_tests::peer::{Act, Peer, Script};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

fn held() -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close])
}

/// Sends a call, goes away while the remote has not answered, and lets it answer. Which call it was.
async fn left(peer: &Peer, served: &Served) -> String {
    let mut stream = served.http().connect().await;
    let request = served.request("POST", "/v1/call", &call("plain", "{}", None));
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::task::block_in_place(|| peer.wait_effects(1));
    drop(stream);
    // By the time that this is answered, the end of the connection before it was seen.
    assert_eq!(served.get("/v1/operations").await.status, 200);
    peer.release();
    let newest = served.host.broker().journal().invocations(1).unwrap();
    newest[0].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_on_when_its_caller_is_gone() {
    let (peer, rig) = home(held()).await;
    let served = Served::new(rig, settings()).await;
    let id = left(&peer, &served).await;
    let waited = served.post(&format!("/v1/invocations/{id}/wait")).await;
    assert_eq!((waited.status, &waited.json()["outcome"]), (200, &"committed".into()), "{waited:?}");
    let again = served.call("plain", "{}").await;
    assert_eq!((again.status, &again.json()["repeated"]), (200, &true.into()));
    assert_eq!(again.json()["request_id"], id);
    assert_eq!(peer.effects(), 1);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_delivered_when_it_was_written_out_and_not_before() {
    let (peer, rig) = home(held()).await;
    let served = Served::new(rig, settings()).await;
    let id = left(&peer, &served).await;
    let caller =
        Caller { principal: "agent:tester".to_owned(), session: String::new(), authority: Authority::Agent };
    let parsed = RequestId::parse(&id).unwrap();
    // What is looked at here goes to nobody.
    let delivery = served.host.broker().watch(&parsed, &caller, Duration::from_secs(20)).await;
    assert!(delivery.envelope.ok(), "{:?}", delivery.envelope);
    drop(delivery);
    let marked = |served: &Served| served.events(&id).contains(&EventKind::ResultDelivered);
    // A mark rides along with a later commit, at the latest when the journal is closed.
    let served = served.restarted().await;
    assert!(!marked(&served));
    assert_eq!(served.get(&format!("/v1/invocations/{id}")).await.status, 200);
    let served = served.restarted().await;
    assert!(marked(&served));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_serves_many_requests() {
    let (_peer, rig) = home(Script::answer(OK)).await;
    let served = Served::new(rig, settings()).await;
    let mut stream = served.http().connect().await;
    let one = served.request("GET", "/healthz", "").replace("connection: close\r\n", "");
    let last = served.request("GET", "/healthz", "");
    stream.write_all(format!("{one}{one}{last}").as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes).matches("{\"status\":\"serving\"}").count(), 3);
    served.stop().await;
}
