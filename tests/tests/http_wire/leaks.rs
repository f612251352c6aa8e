//! A peer that reflects the credential, in every shape, in every place.

use crate::{CA, Call, exchange, header};
use proofport_core::evidence::{Cause, Completion};
use proofport_core::secret::Secret;
use proofport_egress::guard::MARKER;
use proofport_egress::{Credential, Injection};
use proofport_tests::peer::{Act, Peer, Script};

const CANARY: &str = "canary/Zm9v+BAR&42";

fn bearer() -> Option<Injection> {
    Some(Injection::Bearer(Secret::new(CANARY.as_bytes().to_vec())))
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 401 Unauthorized\r\n{head}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Everything that could be stored, shown or logged.
fn printed(exchange: &proofport_egress::HttpExchange) -> String {
    format!(
        "{exchange:?} {:?}",
        exchange.response.as_ref().map(|r| String::from_utf8_lossy(&r.body).into_owned())
    )
}

async fn check(head: &str, body: &[u8], masked: u32, shown: Option<&[u8]>) {
    let call = Call { injection: bearer(), ..Call::default() };
    let exchange = exchange(&Peer::https(Script::answer(answer(head, body)), &CA), &call).await;
    let what = format!("{head} {}", String::from_utf8_lossy(body));
    let evidence = &exchange.evidence;
    // What was withheld from view was still a complete refusal.
    assert_eq!(
        (evidence.status, evidence.completion),
        (Some(401), Some(Completion::ContentLength)),
        "{what}"
    );
    assert_eq!((evidence.masked, evidence.withheld), (masked, shown.is_none()), "{what}");
    assert_eq!(exchange.response.as_ref().map(|response| response.body.as_slice()), shown, "{what}");
    assert!(!printed(&exchange).contains("canary"), "{what}");
}

#[tokio::test]
async fn a_reflected_credential_is_masked_or_withheld() {
    let marker = MARKER;
    let plain = format!("bad token {CANARY}, {CANARY}!");
    check("", plain.as_bytes(), 2, Some(format!("bad token {marker}, {marker}!").as_bytes())).await;
    check("", b"bad token", 0, Some(b"bad token")).await;
    let percent: String = CANARY.bytes().map(|b| format!("%{b:02x}")).collect();
    let json = format!("{{\"t\":\"{}\"}}", CANARY.replace('/', "\\/").replace('&', "\\u0026"));
    let shapes = [
        percent.clone(),
        "canary%2FZm9v%2BBAR%2642".to_owned(),
        data_encoding::BASE64.encode(CANARY.as_bytes()),
        data_encoding::BASE64.encode(format!("authorization: Bearer {CANARY}\r\n").as_bytes()),
        data_encoding::BASE64URL_NOPAD.encode(CANARY.as_bytes()),
        data_encoding::HEXUPPER.encode(CANARY.as_bytes()),
        json,
        CANARY.replace('&', "&amp;"),
        CANARY.to_ascii_uppercase(),
        // Cut in half.
        CANARY[..CANARY.len() / 2].to_owned(),
        CANARY[CANARY.len() / 2..].to_owned(),
    ];
    for shape in shapes {
        check("", format!("bad token {shape}, sorry").as_bytes(), 0, None).await;
        // One exact hit does not excuse another shape.
        check("", format!("bad token {CANARY} {shape}").as_bytes(), 1, None).await;
    }
    // The kept header is masked too, others are not shown at all.
    check(&format!("x-kept: {CANARY}\r\nx-other: {CANARY}\r\n"), b"", 1, Some(b"")).await;
    check(&format!("x-kept: {percent}\r\n"), b"fine", 0, None).await;
    // The guard sees through no coding, and none was asked for.
    check("content-encoding: gzip\r\n", b"\x1f\x8b", 0, None).await;
}

/// The secret is found wherever the transport, the framing or the buffers cut it.
#[tokio::test]
async fn chunk_borders_hide_nothing() {
    for cut in 0..=CANARY.len() {
        let (left, right) = CANARY.split_at(cut);
        let chunk = |part: &str| match part.len() {
            0 => String::new(),
            length => format!("{length:x}\r\n{part}\r\n"),
        };
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
        let script = Script(vec![
            Act::ReadRequest,
            Act::Send((head + &chunk(left)).into_bytes()),
            Act::Send(format!("{}0\r\n\r\n", chunk(right)).into_bytes()),
        ]);
        let call = Call { injection: bearer(), ..Call::default() };
        let exchange = exchange(&Peer::http(script), &call).await;
        assert_eq!(exchange.response.unwrap().body, MARKER.as_bytes());
        assert_eq!(exchange.evidence.masked, 1);
    }
}

#[tokio::test]
async fn every_way_of_attaching_is_guarded() {
    let secret = || Secret::new(CANARY.as_bytes().to_vec());
    let token = data_encoding::BASE64.encode(format!("user:{CANARY}").as_bytes());
    let name = || "x-key".to_owned();
    let cases: Vec<(Injection, String)> = vec![
        (Injection::Bearer(secret()), format!("authorization: Bearer {CANARY}\r\n")),
        (
            Injection::Basic { user: "user".to_owned(), password: secret() },
            format!("authorization: Basic {token}\r\n"),
        ),
        (Injection::Header { name: name(), secret: secret() }, format!("x-key: {CANARY}\r\n")),
        (
            Injection::Query { name: name(), secret: secret() },
            "?x-key=canary%2FZm9v%2BBAR%2642 HTTP".to_owned(),
        ),
    ];
    for (injection, sent) in cases {
        // Before the injection moves: what was attached is also recognised in what is made of answers.
        let guard = Credential::new(&injection).unwrap().guard();
        assert!(!guard.is_clean(sent.as_bytes()), "{sent}");
        let reflected = answer("", sent.as_bytes());
        let peer = Peer::http(Script::answer(reflected));
        let exchange = exchange(&peer, &Call { injection: Some(injection), ..Call::default() }).await;
        peer.wait_ended(1);
        let received = String::from_utf8(peer.received().remove(0)).unwrap();
        assert!(received.contains(&sent), "{received}");
        assert!(exchange.evidence.masked == 1 || exchange.evidence.withheld, "{sent}");
        let printed = printed(&exchange);
        assert!(!printed.contains("canary") && !printed.contains(&token), "{sent}");
    }
}

/// On every path that fails, with the secret in the request line and in what came back.
#[tokio::test]
async fn failures_print_no_secret() {
    let reflected = format!("HTTP/1.1 400 {CANARY}\r\n{CANARY}\r\nx-request-id: {CANARY}\r\n\r\n");
    let header_line =
        format!("HTTP/1.1 200 OK\r\nx-request-id: {CANARY}\r\ncontent-length: 99\r\n\r\n{CANARY}");
    let chunk = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{CANARY}\r\n");
    let scripts = [
        (Script::answer(reflected), Cause::ProtocolError),
        (Script::answer(header_line), Cause::Truncated),
        (Script::answer(chunk), Cause::ProtocolError),
        (Script::answer(CANARY), Cause::ProtocolError),
        (Script(vec![Act::ReadRequest, Act::Reset]), Cause::ConnectionReset),
        (Script(vec![Act::ReadRequest, Act::Close]), Cause::ConnectionClosed),
    ];
    for (script, cause) in scripts {
        let injection =
            Injection::Query { name: "key".to_owned(), secret: Secret::new(CANARY.as_bytes().to_vec()) };
        let call = Call { injection: Some(injection), extra: vec![header("x-a", "b")], ..Call::default() };
        let exchange = exchange(&Peer::http(script.clone()), &call).await;
        assert_eq!(exchange.evidence.cause, Some(cause), "{script:?}");
        assert!(!printed(&exchange).contains("canary"), "{exchange:?}");
        assert!(exchange.diagnostic.remote_request_id.is_none());
    }
}
