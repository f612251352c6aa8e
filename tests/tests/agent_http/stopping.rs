//! A host that stops loses nothing of what is under way.

use crate::OK;
use crate::served::{Served, call, home, id, settings};
use proofport_tests::peer::{Act, Script};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_under_way_is_answered_before_the_host_ends() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let (peer, rig) = home(held).await;
    let served = Served::new(rig, settings()).await;
    let place = served.http();
    let request = served.request("POST", "/v1/call", &call("plain", "{}", None));
    let under_way = {
        let (place, request) = (place.clone(), request.clone());
        tokio::spawn(async move { place.exchange(request.as_bytes()).await })
    };
    // Somebody keeps a connection.
    let mut kept = place.connect().await;
    kept.write_all(served.request("GET", "/healthz", "").replace("connection: close\r\n", "").as_bytes())
        .await
        .unwrap();
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let met = id(&served.call("plain", "{}").await);
    let begun = served.stopping.clone();
    let stopping = tokio::spawn(served.restarted());
    begun.cancelled().await;
    assert!(!stopping.is_finished());
    peer.release();
    let answer = under_way.await.unwrap();
    assert_eq!((answer.status, &answer.json()["outcome"]), (200, &"committed".into()), "{answer:?}");
    // Who kept a connection is left once its answer is there.
    kept.read_to_end(&mut Vec::new()).await.unwrap();
    let served = stopping.await.unwrap();
    let again = served.get(&format!("/v1/invocations/{met}")).await;
    assert_eq!((again.status, &again.json()["outcome"]), (200, &"committed".into()));
    assert_eq!(peer.effects(), 1);
    served.stop().await;
}
