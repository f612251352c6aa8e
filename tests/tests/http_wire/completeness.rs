//! When a response is complete, and what is said of one that is not.

use crate::{CA, Call, exchange, header};
use proofport_core::evidence::{Cause, Completion, HttpEvidence};
use proofport_tests::peer::{Act, Peer, Script, Scripts};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Expected {
    status: Option<u16>,
    end: Result<Completion, Cause>,
    body: Option<&'static str>,
}

fn seen(evidence: &HttpEvidence) -> (Option<u16>, Result<Completion, Cause>) {
    (evidence.status, evidence.completion.ok_or_else(|| evidence.cause.unwrap()))
}

async fn check(peer: Peer, call: &Call, expected: Expected, what: &str) {
    let exchange = exchange(&peer, call).await;
    assert_eq!(seen(&exchange.evidence), (expected.status, expected.end), "{what}");
    assert!(exchange.evidence.request_complete, "{what}");
    let body = exchange.response.map(|response| String::from_utf8(response.body).unwrap());
    assert_eq!(body.as_deref(), expected.body, "{what}");
    assert_eq!(peer.effects(), 1, "{what}");
}

/// The same over plain TCP and over TLS.
async fn check_both(method: &'static str, answer: &[u8], expected: Expected) {
    let call = Call { method, ..Call::default() };
    let what = format!("{method} {}", String::from_utf8_lossy(answer));
    check(Peer::http(Script::answer(answer)), &call, expected, &what).await;
    check(Peer::https(Script::answer(answer), &CA), &call, expected, &what).await;
}

fn complete(status: u16, completion: Completion, body: &'static str) -> Expected {
    Expected { status: Some(status), end: Ok(completion), body: Some(body) }
}

fn broken(status: Option<u16>, cause: Cause) -> Expected {
    Expected { status, end: Err(cause), body: None }
}

#[tokio::test]
async fn framing_decides() {
    use Completion::{Chunked, ContentLength, NoContent};
    let cases: &[(&str, &str, Expected)] = &[
        ("POST", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", complete(200, ContentLength, "hello")),
        ("POST", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", complete(500, ContentLength, "")),
        ("POST", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi", complete(200, ContentLength, "hi")),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nhi",
            complete(200, ContentLength, "hi"),
        ),
        // What follows a complete response is not part of it.
        (
            "POST",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi, and more",
            complete(200, ContentLength, "hi"),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
            complete(200, Chunked, "hello"),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhe\r\n0\r\nx-trailer: 1\r\n\r\n",
            complete(200, Chunked, "he"),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            complete(200, Chunked, ""),
        ),
        ("DELETE", "HTTP/1.1 204 No Content\r\n\r\n", complete(204, NoContent, "")),
        ("GET", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", complete(304, NoContent, "")),
        ("HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", complete(200, NoContent, "")),
        // Interim responses settle nothing.
        (
            "POST",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hint\r\nx: y\r\n\r\nHTTP/1.1 201 Ok\r\ncontent-length: 1\r\n\r\n!",
            complete(201, ContentLength, "!"),
        ),
        ("POST", "HTTP/1.1 100 Continue\r\n\r\n", broken(None, Cause::Truncated)),
        (
            "POST",
            "HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
            broken(Some(101), Cause::UnexpectedUpgrade),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            broken(Some(200), Cause::AmbiguousFraming),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            broken(Some(200), Cause::ProtocolError),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!",
            broken(None, Cause::ProtocolError),
        ),
        ("POST", "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nhi", broken(None, Cause::ProtocolError)),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n",
            broken(Some(200), Cause::ProtocolError),
        ),
        (
            "POST",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n",
            broken(Some(200), Cause::ProtocolError),
        ),
        ("POST", "SSH-2.0-OpenSSH_9.6\r\n", broken(None, Cause::ProtocolError)),
        ("POST", "hello", broken(None, Cause::ProtocolError)),
        ("POST", "HTTP/2 200\r\n\r\n", broken(None, Cause::ProtocolError)),
        ("POST", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n", broken(None, Cause::ProtocolError)),
        ("POST", "", broken(None, Cause::ConnectionClosed)),
        ("POST", "HTTP/1.1 200 OK\r\ncontent-le", broken(None, Cause::Truncated)),
        ("POST", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell", broken(Some(200), Cause::Truncated)),
    ];
    for (method, answer, expected) in cases {
        check_both(method, answer.as_bytes(), *expected).await;
    }
}

#[tokio::test]
async fn only_tls_can_end_a_close_delimited_body() {
    let call = Call::default();
    let answer = || Act::Send(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec());
    let script = |end: Act| Script(vec![Act::ReadRequest, Act::Effect, answer(), end]);
    let cut = broken(Some(200), Cause::Truncated);
    check(Peer::http(script(Act::Close)), &call, cut, "FIN").await;
    let whole = complete(200, Completion::CloseNotify, "hello");
    check(Peer::https(script(Act::Close), &CA), &call, whole, "close_notify").await;
    check(Peer::https(script(Act::Cut), &CA), &call, cut, "FIN without close_notify").await;
    let reset = broken(Some(200), Cause::ConnectionReset);
    check(Peer::https(script(Act::Reset), &CA), &call, reset, "RST").await;
}

/// Cuts each response at every offset, in every way in which a connection can end.
#[tokio::test]
async fn no_part_of_a_response_is_complete() {
    let answers: [&[u8]; 4] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nb\r\nhello world\r\n0\r\nx-t: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
    ];
    for answer in answers {
        for (end, tls) in [(Act::Close, false), (Act::Reset, false), (Act::Close, true), (Act::Cut, true)] {
            // The last one is whole. An RST may overtake what was sent, so there it proves nothing.
            let whole = usize::from(end != Act::Reset);
            let script = |cut: usize| {
                let part = Act::Send(answer[..cut].to_vec());
                Script(vec![Act::ReadRequest, Act::Effect, part, end.clone()])
            };
            let scripts: Vec<Script> = (0..answer.len() + whole).map(script).collect();
            let peer = if tls { Peer::https(scripts, &CA) } else { Peer::http(scripts) };
            for cut in 0..answer.len() + whole {
                let exchange = exchange(&peer, &Call::default()).await;
                let what = format!("{end:?}, tls {tls}, at {cut} of {:?}", String::from_utf8_lossy(answer));
                if cut == answer.len() {
                    assert_eq!(exchange.response.unwrap().body, b"hello world", "{what}");
                    continue;
                }
                assert_eq!(exchange.evidence.completion, None, "{what}");
                let cause = exchange.evidence.cause.unwrap();
                let expected = match (end.clone(), cut) {
                    (Act::Reset, _) => Cause::ConnectionReset,
                    (_, 0) => Cause::ConnectionClosed,
                    (_, _) => Cause::Truncated,
                };
                assert_eq!(cause, expected, "{what}");
                assert!(exchange.evidence.bytes_read <= cut as u64, "{what}");
            }
            assert_eq!(peer.effects(), answer.len() + whole);
        }
    }
}

#[tokio::test]
async fn responses_are_bounded() {
    let body = "x".repeat(20);
    let sized = format!("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{body}");
    let chunked = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n14\r\n{body}\r\n0\r\n\r\n");
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{body}");
    for (max, sound) in [(19, false), (20, true), (0, false)] {
        for answer in [&sized, &chunked, &endless] {
            let mut call = Call::default();
            call.options.max_response_bytes = max;
            let exchange = exchange(&Peer::https(Script::answer(answer.as_bytes()), &CA), &call).await;
            let cause = if sound { None } else { Some(Cause::TooLarge) };
            assert_eq!(exchange.evidence.cause, cause, "{max} {answer}");
            assert_eq!(exchange.evidence.status, Some(200));
        }
    }
    let head = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "y".repeat(100_000));
    check_both("POST", head.as_bytes(), broken(None, Cause::ProtocolError)).await;
    // A promise of any size costs nothing.
    let huge = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", u64::MAX - 2);
    check_both("POST", huge.as_bytes(), broken(Some(200), Cause::TooLarge)).await;
}

#[tokio::test]
async fn the_deadline_ends_an_exchange_wherever_it_is() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";
    for (sent, status) in [(0, None), (10, None), (38, Some(200)), (42, Some(200))] {
        let part = Act::Send(answer[..sent].to_vec());
        let script = Script(vec![Act::ReadRequest, Act::Effect, part, Act::Hold]);
        let peer = Peer::http(script);
        let mut call = Call::default();
        call.options.deadline = Duration::from_millis(300);
        let exchange = exchange(&peer, &call).await;
        assert_eq!(seen(&exchange.evidence), (status, Err(Cause::DeadlinePassed)), "{sent}");
        assert_eq!(exchange.evidence.bytes_read, sent as u64);
        assert!(exchange.evidence.request_complete);
        assert_eq!(peer.effects(), 1);
    }
}

/// A peer that is done with us before it has read everything: its answer counts, and the request
/// was not complete.
#[tokio::test]
async fn an_early_answer_is_an_answer() {
    let answer = b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nretry-after: 7\r\n\r\nno".to_vec();
    for end in [Act::Hold, Act::Leave] {
        let script = Script(vec![Act::Read(10), Act::Send(answer.clone()), end.clone()]);
        let mut scripts = Scripts::from(script.clone());
        scripts.each = vec![script; 20].into();
        for peer in [Peer::http(scripts.clone()), Peer::https(scripts, &CA)] {
            for _ in 0..10 {
                let call = Call { body: Some(vec![b'x'; 16 << 20]), ..Call::default() };
                let exchange = exchange(&peer, &call).await;
                let what = format!("{end:?} {:?}", exchange.evidence);
                assert!(!exchange.evidence.request_complete, "{what}");
                assert_eq!(seen(&exchange.evidence), (Some(413), Ok(Completion::ContentLength)), "{what}");
                assert_eq!(exchange.retry_after_seconds, Some(7));
            }
        }
    }
}

#[tokio::test]
async fn only_kept_headers_are_shown() {
    let answer = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nX-Kept: a\r\nx-kept: b\r\nx-other: c\r\n\
                  x-request-id: req_1\r\nset-cookie: s=1\r\ncontent-length: 0\r\n\r\n";
    let exchange = exchange(&Peer::http(Script::answer(answer)), &Call::default()).await;
    let response = exchange.response.unwrap();
    // Not followed either: the peer would have seen it, or the exchange would have failed.
    assert_eq!(response.status, 302);
    let kept = [header("location", "http://127.0.0.1:1/"), header("x-kept", "a"), header("x-kept", "b")];
    assert_eq!(response.headers, kept);
    assert_eq!(exchange.diagnostic.remote_request_id.as_deref(), Some("req_1"));
}
