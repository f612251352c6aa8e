//! What this version of h2 means by its errors. `host/egress/src/http/http2.rs` takes REFUSED_STREAM for a
//! proof when h2 says that the peer sent it, so a release that says so of anything else must not pass.

use h2::{Error, Reason};
use proofport_tests::peer::Peer;
use proofport_tests::peer::h2::{Act, Script, code};
use tokio::net::TcpStream;

/// What h2 says of an error: of the peer, by RST_STREAM, by GOAWAY, made by h2, its code.
type Said = (bool, bool, bool, bool, Option<Reason>);

fn said(error: &Error) -> Said {
    (error.is_remote(), error.is_reset(), error.is_go_away(), error.is_library(), error.reason())
}

/// How a request to a peer that does this after its fields ends; `ours` resets it from here instead.
async fn end(acts: Vec<Act>, ours: Option<Reason>) -> Said {
    let opened = Script::opened(std::iter::once(Act::ReadHeaders).chain(acts));
    let peer = Peer::http2(opened);
    let stream = TcpStream::connect(("127.0.0.1", peer.port())).await.unwrap();
    let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
    let driver = tokio::spawn(connection);
    let request = http::Request::post("http://127.0.0.1/act").body(()).unwrap();
    let (response, mut content) = sender.send_request(request, false).unwrap();
    if let Some(reason) = ours {
        content.send_reset(reason);
    }
    let error = response.await.unwrap_err();
    peer.release();
    driver.abort();
    said(&error)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reset_of_the_peer_is_told_from_one_of_ours() {
    let theirs = |reason| (true, true, false, false, Some(reason));
    for (number, reason) in [(code::REFUSED_STREAM, Reason::REFUSED_STREAM), (code::CANCEL, Reason::CANCEL)] {
        assert_eq!(end(vec![Act::Reset(number), Act::Hold], None).await, theirs(reason));
    }
    // The same code, made here: no word of the peer's.
    let (remote, _, _, _, reason) = end(vec![Act::Hold], Some(Reason::REFUSED_STREAM)).await;
    assert_eq!((remote, reason), (false, Some(Reason::REFUSED_STREAM)));
    // The same code of a whole connection is no stream's.
    let go_away = Act::GoAway { last_stream: 0, code: code::REFUSED_STREAM };
    let said = end(vec![go_away, Act::Hold], None).await;
    assert_eq!(said, (true, false, true, false, Some(Reason::REFUSED_STREAM)));
    // What h2 finds wrong itself is its own word.
    let early = Act::Data { bytes: b"{}".to_vec(), end_stream: true };
    let (remote, _, _, library, _) = end(vec![early, Act::Hold], None).await;
    assert_eq!((remote, library), (false, true));
}
