//! One child is on its way once, whoever sends it: a call of the whole made anew, a retry of its children, or
//! a retry of theirs.

use super::*;
use std::sync::Arc;

const LATER: &str = "HTTP/1.1 429 X\r\ncontent-length: 2\r\n\r\n{}";

fn all_done() -> Script {
    applied(bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 201)]))
}

/// The whole is refused, and only two of its children may be sent again.
fn refused_but_two() -> Script {
    let answer = bulk(&[(0, "a", 409), (1, "b", 429), (2, "c", 429)]);
    applied(answer.replace("200 OK", "422 Unprocessable Content"))
}

fn two_done() -> String {
    bulk(&[(0, "b", 201), (1, "c", 201)])
}

fn held(answer: String) -> Script {
    Script(vec![Act::ReadRequest, Act::Effect, Act::Hold, Act::Send(answer.into()), Act::Close])
}

/// What a step of a story must come to: done anew as this call, met as that one, or not sent because of it.
#[derive(Debug, PartialEq, Eq)]
enum Came {
    Anew,
    Met(usize),
    Refused(usize),
}

/// A step: the same call again, or a retry of what an earlier step made.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call,
    Retry(usize),
}

/// Tells a story, with a restart before each step, and counts what the peer saw.
async fn check(what: &str, scripts: Vec<Script>, story: &[(Step, Came)]) {
    let (peer, rig) = rig(scripts).await;
    let mut ids: Vec<RequestId> = Vec::new();
    for (n, (step, expected)) in story.iter().enumerate() {
        let host = rig.open().await;
        let place = |id: RequestId| ids.iter().position(|known| *known == id).unwrap();
        let answer = match step {
            Step::Call => Ok(host.call("same", INPUT).await),
            Step::Retry(of) => retry(&host, &ids[*of]).await,
        };
        let came = match answer {
            Ok(envelope) if envelope.repeated() => Came::Met(place(envelope.request_id().unwrap())),
            Ok(envelope) => {
                ids.push(envelope.request_id().unwrap());
                Came::Anew
            }
            Err(RetryBatchError::MadeAnew { by }) => Came::Refused(place(by)),
            Err(other) => panic!("{what}, step {n}: {other:?}"),
        };
        assert_eq!(came, *expected, "{what}, step {n}: {step:?}");
        assert_eq!(peer.accepted(), ids.len(), "{what}, step {n}");
        host.close();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_child_is_sent_from_two_places() {
    use Came::{Anew, Met, Refused};
    use Step::{Call, Retry};
    let later = || applied(LATER);
    // Called anew, and then its children of the first.
    check(
        "a call made anew",
        vec![later(), all_done()],
        &[(Call, Anew), (Call, Anew), (Retry(0), Refused(1)), (Call, Met(1))],
    )
    .await;
    check(
        "a call made anew that is lost",
        vec![later(), lost()],
        &[(Call, Anew), (Call, Anew), (Retry(0), Refused(1))],
    )
    .await;
    // Its children first, and then the call.
    check(
        "children sent again",
        vec![later(), all_done()],
        &[(Call, Anew), (Retry(0), Anew), (Call, Met(1)), (Retry(0), Met(1))],
    )
    .await;
    // What is met has each of the children, or says nothing of the others' success.
    check(
        "some children sent again",
        vec![refused_but_two(), applied(two_done())],
        &[(Call, Anew), (Retry(0), Anew), (Call, Met(0)), (Retry(0), Met(1))],
    )
    .await;
    // Over two links, from either end.
    check(
        "children of children",
        vec![later(), later(), all_done()],
        &[(Call, Anew), (Retry(0), Anew), (Retry(1), Anew), (Call, Met(2)), (Retry(1), Met(2))],
    )
    .await;
    check(
        "a call made anew after a refused retry",
        vec![later(), later(), all_done()],
        &[(Call, Anew), (Retry(0), Anew), (Call, Anew), (Retry(1), Refused(2)), (Retry(0), Met(1))],
    )
    .await;
    // Two calls that were refused: the children are sent from one of them.
    check(
        "children of two calls",
        vec![later(), later(), all_done()],
        &[(Call, Anew), (Call, Anew), (Retry(1), Anew), (Retry(0), Refused(2)), (Call, Met(2))],
    )
    .await;
}

/// Another key is another intent: then it was done again on purpose.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_with_another_key_hinders_nothing() {
    let (peer, rig) = rig(vec![applied(LATER), all_done(), all_done()]).await;
    let host = rig.open().await;
    let id = host.call("same", INPUT).await.request_id().unwrap();
    assert!(host.call_with("same", INPUT, Some("on purpose")).await.ok());
    assert!(retry(&host, &id).await.unwrap().ok());
    assert_eq!(peer.effects(), 3);
    host.close();
}

/// The call waits for the children that are on their way, and then sends nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_does_not_overtake_its_children() {
    let (peer, rig) = rig(vec![refused_but_two(), held(two_done()), all_done()]).await;
    let host = Arc::new(rig.open().await);
    let id = host.call("same", INPUT).await.request_id().unwrap();
    let retrying = tokio::spawn({
        let host = Arc::clone(&host);
        async move { retry(&host, &id).await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(2));
    let mut calling = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.call("same", INPUT).await }
    });
    // It is not answered before the children are, which are held.
    let early = tokio::time::timeout(std::time::Duration::from_millis(200), &mut calling).await;
    assert!(early.is_err(), "{early:?}");
    peer.release();
    assert!(retrying.await.unwrap().unwrap().ok());
    let answer = calling.await.unwrap();
    assert!(answer.repeated() && answer.request_id() == Some(id), "{answer:?}");
    assert_eq!((peer.effects(), peer.accepted()), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn children_do_not_overtake_a_call() {
    let all = bulk(&[(0, "a", 201), (1, "b", 201), (2, "c", 201)]);
    let (peer, rig) = rig(vec![refused_but_two(), held(all)]).await;
    let host = Arc::new(rig.open().await);
    let id = host.call("same", INPUT).await.request_id().unwrap();
    let calling = tokio::spawn({
        let host = Arc::clone(&host);
        async move { host.call("same", INPUT).await }
    });
    tokio::task::block_in_place(|| peer.wait_effects(2));
    let refused = retry(&host, &id).await;
    assert!(matches!(refused, Err(RetryBatchError::UnderWay)), "{refused:?}");
    peer.release();
    let anew = calling.await.unwrap();
    assert!(anew.ok() && !anew.repeated());
    let refused = retry(&host, &id).await;
    assert!(matches!(refused, Err(RetryBatchError::MadeAnew { by }) if Some(by) == anew.request_id()));
    assert_eq!((peer.effects(), peer.accepted()), (2, 2));
}

/// What is unknown is sent again by the name that it had; what was refused has a new one.
#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_child_keeps_its_name() {
    let check = async |second: u16, third: u16, same: bool| {
        let first = applied(bulk(&[(0, "a", 201), (1, "b", second), (2, "c", third)]));
        let again = bulk(&[(0, "c", 0)]);
        let (peer, rig) = rig(vec![first, applied(again), applied(bulk(&[(0, "c", 201)]))]).await;
        let host = rig.open().await;
        let id = host.call("same", INPUT).await.request_id().unwrap();
        let once = retry(&host, &id).await.unwrap();
        assert_eq!(sent(&peer, 1)["call"] == sent(&peer, 0)["call"], same, "{second} {third}");
        let linked = once.request_id().unwrap();
        let record = host.broker.diagnostic(&linked).unwrap().unwrap();
        let reference = record.state().binding.as_ref().unwrap().reference.clone();
        assert_eq!(reference == id.reference(), same);
        // And hands it on.
        let twice = retry(&host, &linked).await.unwrap();
        assert!(twice.ok(), "{twice:?}");
        assert_eq!(sent(&peer, 2)["call"], sent(&peer, 1)["call"]);
        host.close();
    };
    check(409, 0, true).await;
    check(409, 429, false).await;
}

/// Whoever may have carried something out is asked again the way that was bound, under the same promise.
#[tokio::test(flavor = "multi_thread")]
async fn another_way_or_promise_sends_nothing() {
    let check = async |what: &str, third: u16, change: &dyn Fn(String) -> String, permitted: bool| {
        let first = applied(bulk(&[(0, "a", 201), (1, "b", 409), (2, "c", third)]));
        let (peer, rig) = rig(vec![first, applied(bulk(&[(0, "c", 201)]))]).await;
        let host = rig.open().await;
        let id = host.call("same", INPUT).await.request_id().unwrap();
        host.close();
        let config = rig.home().join("proofport.toml");
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, change(before.clone())).unwrap();
        let host = rig.open().await;
        let got = retry(&host, &id).await;
        if permitted {
            assert!(got.unwrap().ok(), "{what}");
        } else {
            assert!(matches!(got, Err(RetryBatchError::BindingChanged)), "{what}: {got:?}");
            assert_eq!(peer.accepted(), 1, "{what}");
        }
        host.close();
        // What was restored is gone on from.
        std::fs::write(&config, before).unwrap();
        let host = rig.open().await;
        assert!(retry(&host, &id).await.unwrap().ok(), "{what}");
        assert_eq!(peer.accepted(), 2, "{what}");
        host.close();
    };
    let line =
        |line: &'static str| move |toml: String| toml.replacen("addresses", &format!("{line}\naddresses"), 1);
    let redirects = line("redirect_origins = [\"https://elsewhere.example\"]");
    check("nothing", 0, &|toml| toml, true).await;
    check("no promise any more", 0, &line("repeat = \"none\""), false).await;
    check("no promise any more, refused", 429, &line("repeat = \"none\""), false).await;
    check("redirects", 0, &redirects, false).await;
    check("redirects, refused", 429, &redirects, true).await;
}
