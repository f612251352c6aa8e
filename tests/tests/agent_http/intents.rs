//! A client that lost its answer sends the same call again, and meets the first.

use crate::OK;
use crate::served::{Served, call, home, id, settings};
use proofport_tests::peer::{Act, Script};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_is_met_while_it_is_under_way_and_later() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let (peer, rig) = home(held).await;
    let served = std::sync::Arc::new(Served::new(rig, settings()).await);
    let asking = std::sync::Arc::clone(&served);
    let first = tokio::spawn(async move { asking.call("plain", "{}").await });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let meanwhile = served.call("plain", "{ }").await;
    assert_eq!((meanwhile.status, &meanwhile.json()["code"]), (202, &"IN_PROGRESS".into()));
    assert_eq!(meanwhile.json()["repeated"], true);
    let waiting = std::sync::Arc::clone(&served);
    let target = format!("/v1/invocations/{}/wait?seconds=20", id(&meanwhile));
    let waited = tokio::spawn(async move { waiting.post(&target).await });
    peer.release();
    let (first, waited) = (first.await.unwrap(), waited.await.unwrap());
    let later = served.call("plain", "{}").await;
    for answer in [&first, &waited, &later] {
        assert_eq!((answer.status, id(answer)), (200, id(&meanwhile)), "{answer:?}");
    }
    assert_eq!((&first.json()["repeated"], &later.json()["repeated"]), (&false.into(), &true.into()));
    assert_eq!(peer.effects(), 1);
    let on_purpose = served.ask("POST", "/v1/call", &call("plain", "{}", Some("again"))).await;
    assert_eq!((on_purpose.status, peer.effects()), (200, 2));
    let Ok(served) = std::sync::Arc::try_unwrap(served) else { panic!("somebody still asks") };
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_sent_is_not_sent_once_it_is_cancelled() {
    let held = Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(OK.into()), Act::Close]);
    let (peer, rig) = home(held).await;
    let served = std::sync::Arc::new(Served::new(rig, settings()).await);
    let asking = std::sync::Arc::clone(&served);
    let first = tokio::spawn(async move { asking.call("plain", "{}").await });
    tokio::task::block_in_place(|| peer.wait_effects(1));
    let id = id(&served.call("plain", "{}").await);
    let cancelled = served.post(&format!("/v1/invocations/{id}/cancel")).await;
    // It is on its way, so that it is unknown until its answer is there.
    assert_eq!((cancelled.status, &cancelled.json()["outcome"]), (424, &"unknown".into()), "{cancelled:?}");
    peer.release();
    let first = first.await.unwrap();
    assert!(matches!(first.status, 200 | 424), "{first:?}");
    let waited = served.post(&format!("/v1/invocations/{id}/wait")).await;
    assert_eq!((waited.status, &waited.json()["outcome"]), (200, &"committed".into()), "{waited:?}");
    let Ok(served) = std::sync::Arc::try_unwrap(served) else { panic!("somebody still asks") };
    served.stop().await;
}
