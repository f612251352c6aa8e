//! HTTP/2 from frames, as hyper's client understands it.

use crate::{CA, PATIENCE, address, client};
use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use proofport_tests::peer::h2::{Act, Frame, Kind, Script, code, setting};
use proofport_tests::peer::{Peer, ScriptList};
use rustls::pki_types::ServerName;
use std::error::Error;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

type Client = SendRequest<Full<Bytes>>;

/// A final answer: status, content, trailers.
type Answer = (u16, Vec<u8>, Option<HeaderMap>);

async fn plain(peer: &Peer) -> Client {
    let stream = TcpStream::connect(address(peer)).await.unwrap();
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

/// A client over TLS, with what ALPN chose.
pub(crate) async fn over_tls(address: SocketAddr) -> Client {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::IpAddress(address.ip().into());
    let stream = TlsConnector::from(client(&["h2"], None)).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Sends a request; its answer, or every word of what went wrong.
pub(crate) async fn post(client: &mut Client, path: &str, body: &[u8]) -> Result<Answer, String> {
    let request = Request::post(format!("http://x{path}")).header("x-long", "v".repeat(5000));
    let request = request.body(Full::from(body.to_vec())).unwrap();
    let told = |error: hyper::Error| {
        let cause = error.source().map(ToString::to_string).unwrap_or_default();
        format!("{error}: {cause}")
    };
    let response = client.send_request(request).await.map_err(told)?;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.map_err(told)?;
    let trailers = body.trailers().cloned();
    Ok((status, body.to_bytes().to_vec(), trailers))
}

fn headers(status: u16, end_stream: bool) -> Act {
    Act::Headers { status, headers: vec![("x-kept".to_owned(), "1".to_owned())], end_stream }
}

fn data(bytes: &[u8], end_stream: bool) -> Act {
    Act::Data { bytes: bytes.to_vec(), end_stream }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_read_and_answered_plain_and_over_tls() {
    for tls in [false, true] {
        let script = Script::answer(201, "made");
        let peer = if tls { Peer::https2(script, &CA) } else { Peer::http2(script) };
        let mut client = if tls { over_tls(address(&peer)).await } else { plain(&peer).await };
        assert_eq!(post(&mut client, "/v1?q=1", b"amount=1").await, Ok((201, b"made".to_vec(), None)));
        drop(client);
        peer.wait_ended(1);
        let request = peer.requests().remove(0).remove(0);
        assert_eq!((request.method(), request.path(), request.stream), ("POST", "/v1?q=1", 1));
        assert_eq!(request.field("x-long").map(str::len), Some(5000));
        assert_eq!((request.body.as_slice(), request.ended, request.reset), (&b"amount=1"[..], true, None));
        assert_eq!((peer.effects(), peer.accepted()), (1, 1));
        // Its log is made of all that came: the preface, and the frames.
        let frames: Vec<u8> = peer.frames().remove(0).iter().flat_map(Frame::bytes).collect();
        assert_eq!(peer.received(), [[&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frames].concat()]);
        let protocol = peer.sessions().remove(0).and_then(|session| session.protocol);
        assert_eq!(protocol.as_deref(), tls.then_some("h2"));
    }
}

/// What a client makes of what happens after the request was read. Where its words matter, the peer holds:
/// an end of the connection could overtake what came before it.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_go_wrong_in_every_way() {
    let trailers = HeaderMap::from_iter([("x-sum".parse().unwrap(), "1".parse().unwrap())]);
    let whole = |status, body: &[u8], trailers| Ok((status, body.to_vec(), trailers));
    let head = || headers(200, false);
    let raw = |kind, stream, payload: &[u8]| {
        Act::Raw(Frame { kind, flags: 0, stream, payload: payload.to_vec() }.bytes())
    };
    let cases: Vec<(Vec<Act>, Result<Answer, &str>)> = vec![
        (vec![headers(204, true)], whole(204, b"", None)),
        (vec![Act::Informational(103), head(), data(b"a", false), data(b"b", true)], whole(200, b"ab", None)),
        (
            vec![head(), data(b"a", false), Act::Trailers(vec![("x-sum".to_owned(), "1".to_owned())])],
            whole(200, b"a", Some(trailers)),
        ),
        (vec![Act::Reset(code::REFUSED_STREAM), Act::Hold], Err("refused stream")),
        (vec![Act::Reset(code::INTERNAL_ERROR), Act::Hold], Err("internal error")),
        (vec![head(), data(b"a", false), Act::Reset(code::CANCEL), Act::Hold], Err("no longer needed")),
        (
            vec![Act::GoAway { last_stream: 0, code: code::NO_ERROR }, Act::Hold],
            Err("not a result of an error"),
        ),
        (
            vec![Act::GoAway { last_stream: 1, code: code::NO_ERROR }, headers(204, true)],
            whole(204, b"", None),
        ),
        (vec![Act::GoAway { last_stream: 1, code: code::PROTOCOL_ERROR }], Err("")),
        (vec![raw(Kind::Other(200), 1, b"?"), headers(204, true)], whole(204, b"", None)),
        (vec![data(b"a", true), Act::Hold], Err("protocol error")),
        (vec![Act::Raw(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()), Act::Hold], Err("frame with invalid size")),
        (vec![head(), data(b"a", false), Act::Cut], Err("")),
        (vec![head(), Act::Close], Err("")),
        (vec![Act::ResetTcp], Err("")),
        (vec![Act::Leave], Err("")),
    ];
    for (acts, expected) in cases {
        let said = format!("{acts:?}");
        let acts = [Act::ReadRequest, Act::Effect].into_iter().chain(acts);
        let peer = Peer::http2(Script::opened(acts));
        let mut client = plain(&peer).await;
        let answer =
            timeout(PATIENCE, post(&mut client, "/", b"")).await.unwrap_or_else(|_| panic!("{said}"));
        match expected {
            Ok(expected) => assert_eq!(answer, Ok(expected), "{said}"),
            Err(words) => {
                assert!(answer.as_ref().is_err_and(|error| error.contains(words)), "{said} {answer:?}")
            }
        }
        assert_eq!((peer.effects(), peer.accepted()), (1, 1), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_carries_several_requests_and_can_end_while_idle() {
    let one = [Act::ReadRequest, headers(204, true)];
    let peer = Peer::http2(Script::opened([&one[..], &one, &[Act::Step, Act::Fin, Act::Signal]].concat()));
    let mut client = plain(&peer).await;
    for path in ["/a", "/b"] {
        assert_eq!(post(&mut client, path, b"").await, Ok((204, Vec::new(), None)));
    }
    let requests = peer.requests().remove(0);
    assert_eq!(
        requests.iter().map(|one| (one.stream, one.path())).collect::<Vec<_>>(),
        [(1, "/a"), (3, "/b")]
    );
    peer.wait_requests(2);
    peer.step();
    peer.wait_signals(1);
    assert!(post(&mut client, "/c", b"").await.is_err());
    assert_eq!(peer.accepted(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_request_is_answered_before_the_first() {
    let peer = Peer::http2(Script::opened([
        Act::ReadRequest,
        Act::ReadRequest,
        headers(202, true),
        Act::Step,
        Act::Stream(1),
        headers(201, true),
    ]));
    let client = plain(&peer).await;
    let [mut one, mut two] = [client.clone(), client];
    let first = tokio::spawn(async move { post(&mut one, "/first", b"").await });
    let second = tokio::spawn(async move { post(&mut two, "/second", b"").await });
    peer.wait_requests(2);
    let paths: Vec<String> = peer.requests()[0].iter().map(|request| request.path().to_owned()).collect();
    // Which of the two the client sends first is its own affair.
    let (early, late) = if paths[1] == "/second" { (second, first) } else { (first, second) };
    assert_eq!(early.await.unwrap(), Ok((202, Vec::new(), None)));
    assert!(!late.is_finished());
    peer.step();
    assert_eq!(late.await.unwrap(), Ok((201, Vec::new(), None)));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_peer_gives_credit_and_learns_of_resets_and_pings() {
    let body = vec![b'x'; 200_000];
    let credit = |stream| Act::WindowUpdate { stream, increment: 200_000 };
    let settings = Act::Settings(vec![(setting::MAX_CONCURRENT_STREAMS, 1)]);
    let large = [
        Act::ReadPreface,
        settings,
        Act::ReadHeaders,
        Act::Signal,
        Act::Step,
        credit(0),
        credit(1),
        Act::ReadBody,
        Act::Ping,
        Act::ReadFrame(Kind::Ping),
        headers(204, true),
    ];
    let abandoned = Script::opened([Act::ReadRequest, Act::Signal, Act::ReadReset, Act::Effect]);
    let peer = Peer::http2(ScriptList::from(vec![Script(large.to_vec()), abandoned]));
    let mut client = plain(&peer).await;
    let sent = body.clone();
    let answer = tokio::spawn(async move { post(&mut client, "/", &sent).await });
    peer.wait_signals(1);
    peer.step();
    assert_eq!(answer.await.unwrap(), Ok((204, Vec::new(), None)));
    assert_eq!(peer.requests()[0][0].body, body);
    assert!(peer.frames()[0].iter().any(|frame| (frame.kind, frame.flags) == (Kind::Ping, 1)));

    let mut client = plain(&peer).await;
    let call = tokio::spawn(async move { post(&mut client, "/", b"").await });
    peer.wait_signals(2);
    call.abort();
    peer.wait_effects(1);
    assert_eq!(peer.requests()[1][0].reset, Some(code::CANCEL));
}

/// What hyper never sends: padding, a priority, a field block in two frames, trailers.
#[test]
fn a_request_is_put_together_from_every_kind_of_frame() {
    let peer = Peer::http2(Script::answer(204, ""));
    let mut stream = crate::connect(address(&peer));
    let frame = |kind, flags, stream, payload: &[u8]| {
        Frame { kind, flags, stream, payload: payload.to_vec() }.bytes()
    };
    // `:method: POST` and `:path: /` of the static table, then a literal (RFC 7541 appendix A and section 6.2.2).
    let opening = [&[2][..], &[0, 0, 0, 0, 16], &[0x83, 0x84, 0x00, 0x01], &[0, 0]].concat();
    let sent = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(Kind::Settings, 0, 0, b""),
        frame(Kind::Headers, 0x8 | 0x20, 1, &opening),
        frame(Kind::Continuation, 0x4, 1, b"a\x01b"),
        frame(Kind::Data, 0x8, 1, b"\x03hi\0\0\0"),
        frame(Kind::Headers, 0x1 | 0x4, 1, b"\0\x01c\x01d"),
    ];
    std::io::Write::write_all(&mut stream, &sent.concat()).unwrap();
    peer.wait_requests(1);
    let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let request = peer.requests().remove(0).remove(0);
    assert_eq!(request.fields, [field(":method", "POST"), field(":path", "/"), field("a", "b")]);
    assert_eq!((request.body, request.trailers), (b"hi".to_vec(), vec![field("c", "d")]));
}
