//! What is turned away at the door, and how.

use crate::served::{Served, call, home, settings};
use crate::wire::{Answer, read, request};
use proofport_core::id::Name;
use proofport_gateway::config::ServeConfig;
use proofport_tests::peer::{Peer, Script};
use tokio::io::AsyncWriteExt as _;

const TYPE: &str = "content-type: application/json";

async fn served(settings: ServeConfig) -> (Peer, Served) {
    let (peer, rig) = home(Script::answer(crate::OK)).await;
    (peer, Served::new(rig, settings).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn only_agents_with_a_token_come_in_over_http() {
    let (peer, served) = served(settings()).await;
    let good = format!("authorization: Bearer {}", served.token);
    let lower = format!("authorization: bearer {}", served.token);
    let check = async |fields: &[&str], expected: u16| {
        let fields: Vec<&str> = ["host: localhost"].iter().chain(fields).copied().collect();
        let answer = served.http().exchange(request("GET", "/v1/operations", &fields, "").as_bytes()).await;
        assert_eq!(answer.status, expected, "{fields:?}: {answer:?}");
        if expected == 401 {
            assert_eq!(answer.field("www-authenticate"), Some("Bearer"));
            assert_eq!(answer.json()["code"], "USER_DENIED");
        }
    };
    check(&[&good], 200).await;
    check(&[&lower], 200).await;
    let basic = format!("authorization: Basic {}", served.token);
    let shorter = &good[..good.len() - 1];
    for fields in
        [&[][..], &["authorization: Bearer "], &["authorization: Bearer ppt_x"], &[&basic], &[shorter]]
    {
        check(fields, 401).await;
    }
    check(&[&good, &good], 401).await;
    // An ended session is told apart from an unknown token: it was let in once.
    let session = served.sessions.list()[0].id;
    served.sessions.end(&session).await.unwrap();
    check(&[&good], 403).await;
    assert_eq!(peer.accepted(), 0);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_invocation_is_as_unknown_as_none() {
    let (_peer, served) = served(settings()).await;
    let id = crate::served::id(&served.call("plain", "{}").await);
    let (_, other) = served.sessions.token(&Name::parse("other").unwrap()).await.unwrap();
    let other = format!("authorization: Bearer {}", String::from_utf8_lossy(other.expose()));
    for (method, what) in [
        ("GET", ""),
        ("POST", "/wait"),
        ("POST", "/reconcile"),
        ("POST", "/retry"),
        ("POST", "/cancel"),
        ("GET", "/content"),
    ] {
        let target = format!("/v1/invocations/{id}{what}");
        let text = request(method, &target, &["host: localhost", &other], "");
        let answer = served.http().exchange(text.as_bytes()).await;
        assert_eq!((answer.status, &answer.json()["code"]), (404, &"NO_SUCH_INVOCATION".into()), "{what}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_do_not_come_in() {
    let origins = vec!["https://console.example".to_owned()];
    let (peer, served) =
        served(ServeConfig { origins, hosts: vec!["agents.internal".to_owned()], ..settings() }).await;
    let token = format!("authorization: Bearer {}", served.token);
    let body = call("plain", "{}", None);
    let check = async |fields: &[&str], expected: u16| {
        let fields: Vec<&str> = [token.as_str(), TYPE].iter().chain(fields).copied().collect();
        for (method, target, body) in [("POST", "/v1/call", body.as_str()), ("GET", "/healthz", "")] {
            let answer = served.http().exchange(request(method, target, &fields, body).as_bytes()).await;
            assert_eq!(answer.status, expected, "{fields:?}: {answer:?}");
            assert_eq!(answer.body.is_empty(), expected == 403, "{answer:?}");
        }
    };
    for host in ["host: evil.test", "host: 127.0.0.1.evil.test", "host: 10.0.0.1", "host:"] {
        check(&[host], 403).await;
    }
    for origin in ["origin: http://localhost", "origin: null", "origin: https://evil.test"] {
        check(&["host: localhost", origin], 403).await;
    }
    assert_eq!(peer.accepted(), 0);
    check(&["host: agents.internal:7433"], 200).await;
    check(&["host: [::1]:7433", "origin: https://console.example"], 200).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_no_call_is_refused_in_closed_words() {
    let (peer, served) = served(settings()).await;
    let call = call("plain", "{}", None);
    let marked = "zz-not-to-be-repeated-zz";
    for (kind, body, expected, code) in [
        (TYPE, "{", 400, "INVALID_INPUT"),
        (TYPE, "\u{feff}{}", 400, "INVALID_INPUT"),
        (TYPE, &format!("{{\"operation\":\"{marked}"), 400, "INVALID_INPUT"),
        (TYPE, &"[".repeat(100_000), 400, "INVALID_INPUT"),
        (TYPE, "call", 400, "INVALID_INPUT"),
        (TYPE, "[]", 422, "INVALID_INPUT"),
        (TYPE, "null", 422, "INVALID_INPUT"),
        (TYPE, "[\"c.plain\",{},\"key\"]", 422, "INVALID_INPUT"),
        (TYPE, "{}", 422, "INVALID_INPUT"),
        (TYPE, &format!("{{\"operation\":\"{marked}!\",\"input\":{{}}}}"), 422, "INVALID_INPUT"),
        (TYPE, &format!("{},\"{marked}\":1}}", &call[..call.len() - 1]), 422, "INVALID_INPUT"),
        (TYPE, &format!("{},\"call_key\":null}}", &call[..call.len() - 1]), 422, "INVALID_INPUT"),
        (TYPE, &format!("{},\"operation\":\"c.plain\"}}", &call[..call.len() - 1]), 422, "INVALID_INPUT"),
        ("content-type: text/plain", &call, 415, "INVALID_INPUT"),
        ("content-type: application/jsonx", &call, 415, "INVALID_INPUT"),
        ("accept: application/json", &call, 415, "INVALID_INPUT"),
    ] {
        let token = format!("authorization: Bearer {}", served.token);
        let text = request("POST", "/v1/call", &["host: localhost", &token, kind], body);
        let answer = served.http().exchange(text.as_bytes()).await;
        assert_eq!(
            (answer.status, answer.json()["code"].as_str()),
            (expected, Some(code)),
            "{kind} {body:.60}"
        );
        assert!(!String::from_utf8_lossy(&answer.body).contains("zz-not"), "{answer:?}");
        crate::agreed::agrees("POST", "/v1/call", &answer);
    }
    assert_eq!(peer.accepted(), 0);
    let spaced = request(
        "POST",
        "/v1/call",
        &[
            "host: localhost",
            &format!("authorization: Bearer {}", served.token),
            "content-type: Application/JSON; charset=utf-8",
        ],
        &call,
    );
    assert_eq!(served.http().exchange(spaced.as_bytes()).await.status, 200);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_beyond_the_limit_is_not_read() {
    let (peer, served) = served(ServeConfig { request_bytes: 2048, ..settings() }).await;
    let fits = format!("{:2048}", call("plain", "{}", None));
    assert_eq!(served.ask("POST", "/v1/call", &fits).await.status, 200);
    let is_refused = |answer: &Answer| {
        assert_eq!((answer.status, &answer.json()["code"]), (413, &"PAYLOAD_LIMIT".into()));
        assert_eq!(answer.field("connection"), Some("close"));
    };
    is_refused(&served.ask("POST", "/v1/call", &format!("{fits} ")).await);
    // Announced and never sent: the answer comes without it.
    let announced = served.request("POST", "/v1/call", "").replace("length: 0", "length: 99999999999");
    is_refused(&served.http().exchange(announced.as_bytes()).await);
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096));
    let chunked =
        served.request("POST", "/v1/call", "").replace("content-length: 0", "transfer-encoding: chunked");
    is_refused(&served.http().exchange(format!("{chunked}{}", chunk.repeat(64)).as_bytes()).await);
    assert_eq!(peer.accepted(), 1);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_sends_too_slowly_is_left() {
    let (peer, served) = served(ServeConfig { request_seconds: 1, ..settings() }).await;
    let whole = served.request("POST", "/v1/call", &call("plain", "{}", None));
    // The head alone, and a body that stops in its middle.
    let mut stream = served.http().connect().await;
    stream.write_all(&whole.as_bytes()[..whole.len() - 5]).await.unwrap();
    let answer = read(&mut stream).await;
    assert_eq!((answer.status, &answer.json()["code"]), (408, &"INVALID_INPUT".into()));
    assert_eq!(answer.field("connection"), Some("close"));
    let mut stream = served.http().connect().await;
    stream.write_all(&whole.as_bytes()[..40]).await.unwrap();
    let mut bytes = Vec::new();
    tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut bytes).await.unwrap();
    assert!(bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 408"), "{bytes:?}");
    assert_eq!(peer.accepted(), 0);
    served.stop().await;
}

/// A way in that nobody uses keeps no place from the other.
#[tokio::test(flavor = "multi_thread")]
async fn one_connection_at_a_time_serves_both_ways_in() {
    let (_peer, served) = served(ServeConfig { connections: 1, ..settings() }).await;
    let text = request("GET", "/healthz", &["host: localhost"], "");
    for place in [served.http(), served.unix(), served.http(), served.unix()] {
        assert_eq!(place.exchange(text.as_bytes()).await.status, 200);
    }
    served.stop().await;
}
