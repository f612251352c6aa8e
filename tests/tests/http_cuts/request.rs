//! The peer goes away after every number of bytes of a request.

use crate::{Over, PATIENCE, TLS, TLS_H2, assert_unknown, exchange};
use proofport_tests::peer::{Act, Peer, Script, h2};

/// The server's first frame, without which a client of HTTP/2 need not go on.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

fn peer(over: Over, scripts: Vec<Script>) -> Peer {
    match over {
        Over::Plain => Peer::http(scripts),
        Over::Tls => Peer::https_as(scripts, TLS.clone()),
        // Bytes are all that is read here, so that a cut may fall anywhere in a frame.
        Over::Http2 => Peer::https_as(scripts, TLS_H2.clone()),
    }
}

fn script(over: Over, acts: impl IntoIterator<Item = Act>) -> Script {
    let settings = (over == Over::Http2).then(|| Act::Send(SETTINGS.to_vec()));
    Script(settings.into_iter().chain(acts).collect())
}

/// How many bytes a client sends in all.
async fn length(over: Over) -> usize {
    let peer = match over {
        Over::Plain | Over::Tls => peer(over, vec![Script(vec![Act::ReadRequest, Act::Close])]),
        Over::Http2 => {
            let script = h2::Script::opened([h2::Act::ReadRequest, h2::Act::Close]);
            Peer::https2_as(script, TLS_H2.clone())
        }
    };
    exchange(&peer, over).await.unwrap();
    peer.wait_ended(1);
    peer.received()[0].len()
}

async fn check(over: Over, end: Act) {
    let length = length(over).await;
    let scripts = (1..=length).map(|read| script(over, [Act::Read(read), end.clone()])).collect();
    let peer = peer(over, scripts);
    for read in 1..=length {
        let what = format!("{over:?}, {end:?} after {read} of {length}");
        // A connection that ends while it is made ready carries nothing; over HTTP/1.1 there is no such
        // time, since the first byte that is sent is the request's.
        let Some(exchange) = exchange(&peer, over).await else {
            assert_eq!(over, Over::Http2, "{what}");
            continue;
        };
        assert_unknown(&exchange, &what);
        assert!(!exchange.evidence.refused_stream && exchange.evidence.status.is_none(), "{what}");
        if over != Over::Http2 {
            assert!(exchange.evidence.bytes_offered >= read as u64, "{what}: {:?}", exchange.evidence);
        }
    }
    assert_eq!(peer.accepted(), length, "{over:?}, {end:?}: nothing was sent twice");
    assert_eq!(peer.effects(), 0);
}

#[tokio::test]
async fn over_plain_tcp() {
    check(Over::Plain, Act::Close).await;
    check(Over::Plain, Act::Reset).await;
}

#[tokio::test]
async fn over_tls() {
    check(Over::Tls, Act::Close).await;
    check(Over::Tls, Act::Reset).await;
    check(Over::Tls, Act::Cut).await;
}

#[tokio::test]
async fn over_http2() {
    check(Over::Http2, Act::Close).await;
    check(Over::Http2, Act::Reset).await;
    check(Over::Http2, Act::Cut).await;
}

/// A peer that reads nothing at all proves nothing either, once the request was handed over.
#[tokio::test]
async fn nothing_read_is_nothing_proved() {
    for over in [Over::Plain, Over::Tls, Over::Http2] {
        for end in [Act::Close, Act::Reset] {
            let peer = peer(over, vec![script(over, [Act::Step, end.clone()]); 10]);
            for n in 1..=10 {
                let what = format!("{over:?}, {end:?}");
                let going = exchange(&peer, over);
                let ended = async {
                    // The request is under way, or its connection is still being made ready.
                    tokio::task::yield_now().await;
                    peer.step();
                };
                // Well before any deadline of the exchange's own.
                let both = tokio::time::timeout(PATIENCE / 2, async { tokio::join!(going, ended) });
                let (exchange, ()) = both.await.unwrap_or_else(|_| panic!("{what}: the peer's end ends it"));
                if let Some(exchange) = exchange {
                    assert_unknown(&exchange, &what);
                }
                peer.wait_ended(n);
            }
            assert_eq!(peer.accepted(), 10);
        }
    }
}
