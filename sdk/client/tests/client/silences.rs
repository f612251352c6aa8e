//! Requests on the wire: what they carry, where they don't go, and what is claimed when no answer comes.

use crate::host::{Host, Reply, TOKEN, answer, failure, sent, success};
use proofport_client::{
    Call, CallError, Cause, Client, InvalidToken, Malformed, NoAnswer, NotLoopback, Reach, Token,
};
use serde_json::json;
use std::io::ErrorKind;
use std::time::Duration;

fn call() -> Call {
    Call::new("crm.create", &json!({"name": "x"})).unwrap()
}

async fn no_answer(client: &Client) -> NoAnswer {
    match client.call(&call()).await {
        Err(CallError::NoAnswer(no_answer)) => no_answer,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn where_nobody_listens_nothing_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let client = Client::unix(folder.path().join("agent.sock"));
    let expected = NoAnswer { reach: Reach::NotReached, cause: Cause::Connect(ErrorKind::NotFound) };
    assert_eq!(no_answer(&client).await, expected);

    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = port.local_addr().unwrap();
    drop(port);
    let client = Client::http(address, Token::new(TOKEN).unwrap()).unwrap();
    let expected = NoAnswer { reach: Reach::NotReached, cause: Cause::Connect(ErrorKind::ConnectionRefused) };
    assert_eq!(no_answer(&client).await, expected);
}

#[tokio::test]
async fn an_answer_that_does_not_come_whole_is_none() {
    let whole = answer(200, "application/json", "", success(json!(1)).to_string().as_bytes());
    let head = whole.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
    for bytes in [0, 1, 12, head, head + 4, head + 5, whole.len() - 1] {
        let host = Host::unix(vec![Reply::Raw(whole[..bytes].to_vec())]);
        let expected = NoAnswer { reach: Reach::MayHaveReached, cause: Cause::Broken };
        assert_eq!(no_answer(&host.client).await, expected, "{bytes} bytes");
        host.got();
    }
    let host = Host::unix(vec![Reply::Raw(b"no HTTP at all\r\n\r\n".to_vec())]);
    let expected = NoAnswer { reach: Reach::MayHaveReached, cause: Cause::Broken };
    assert_eq!(no_answer(&host.client).await, expected);
    host.got();
}

#[tokio::test]
async fn patience_ends() {
    let patience = Duration::from_millis(300);
    let expected = NoAnswer { reach: Reach::MayHaveReached, cause: Cause::Deadline(patience) };
    let host = Host::unix(vec![Reply::Silence]).with(|client| client.with_patience(patience));
    assert_eq!(no_answer(&host.client).await, expected);
    host.got();
    // A listener that never takes a connection in has not read a byte; the system has.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::http(listener.local_addr().unwrap(), Token::new(TOKEN).unwrap()).unwrap();
    assert_eq!(no_answer(&client.with_patience(patience)).await, expected);
}

#[tokio::test]
async fn nothing_is_followed_and_no_status_is_repeated() {
    let elsewhere = Host::http(Vec::new()).await;
    for status in [301, 302, 303, 307, 308, 408, 425, 429, 500, 502, 503, 504] {
        let more = "location: /v1/elsewhere\r\nretry-after: 0\r\n";
        let host = Host::http(vec![Reply::Raw(answer(status, "", more, b""))]).await;
        let error = host.client.call(&call()).await.unwrap_err();
        assert_eq!(error, CallError::Malformed(Malformed::NoEnvelope(status)));
        assert_eq!(host.lines(), ["POST /v1/call"]);
    }
    elsewhere.got();
}

#[tokio::test]
async fn a_request_carries_what_it_must_and_no_more() {
    let refused =
        || sent(failure(["USER_DENIED", "not_attempted", "never", "nobody", "stop_and_report"], None));
    let host = Host::http(vec![refused()]).await;
    host.client.call(&call()).await.unwrap_err();
    let head = host.got().remove(0).head;
    let mut fields: Vec<&str> =
        head.lines().skip(1).filter(|line| !line.starts_with("host: 127.0.0.1:")).collect();
    fields.sort_unstable();
    assert_eq!(
        fields,
        [
            "accept: application/json, application/problem+json",
            &format!("authorization: Bearer {TOKEN}"),
            "connection: close",
            "content-length: 47",
            "content-type: application/json",
        ]
    );
    let host = Host::unix(vec![refused()]);
    host.client.call(&call()).await.unwrap_err();
    let head = host.got().remove(0).head;
    assert!(!head.contains("authorization") && head.contains("\r\nhost: localhost\r\n"), "{head}");
    let host = Host::unix(vec![refused()]).with(|client| client.with_token(Token::new(TOKEN).unwrap()));
    host.client.call(&call()).await.unwrap_err();
    assert!(host.got().remove(0).head.contains(&format!("authorization: Bearer {TOKEN}")));
}

#[tokio::test]
async fn nothing_prints_the_token() {
    let token = Token::new(TOKEN).unwrap();
    let client = Client::http("[::1]:7433".parse().unwrap(), token.clone()).unwrap();
    let host = Host::http(vec![Reply::Raw(answer(500, "text/plain", "", TOKEN.as_bytes()))]).await;
    let error = host.client.call(&call()).await.unwrap_err();
    for text in [format!("{token:?}"), format!("{client:#?}"), format!("{error:?}"), error.to_string()] {
        assert!(!text.contains("canary") && !text.contains("7f3c2a91"), "{text}");
    }
    host.got();
}

#[test]
fn a_token_stays_on_this_machine() {
    let check = |address: &str, expected: bool| {
        let client = Client::http(address.parse().unwrap(), Token::new(TOKEN).unwrap());
        assert_eq!(client.map(|_| ()), if expected { Ok(()) } else { Err(NotLoopback) }, "{address}");
    };
    for address in ["127.0.0.1:7433", "127.9.9.9:1", "[::1]:7433"] {
        check(address, true);
    }
    for address in ["0.0.0.0:7433", "192.168.0.1:7433", "[::]:7433", "[::ffff:10.0.0.1]:1", "8.8.8.8:80"] {
        check(address, false);
    }
    for text in ["", "  ", "a b", "a\r\nx: y", "ä", "a\u{7f}"] {
        assert_eq!(Token::new(text).map(|_| ()), Err(InvalidToken), "{text:?}");
    }
    assert!(Token::new(" token\n").is_ok(), "as a file has it");
}
