use super::*;
use crate::address::AddressPolicy;
use crate::inject::{Credential, Injection};
use crate::{HttpEgress, HttpTarget, Outgoing, Pins, PoolLimits, SetupDeadlines, Trust};
use http::{HeaderMap, HeaderName};
use proofport_core::digest::Digest;
use proofport_core::exchange::HttpRequest;
use proofport_core::origin::{Origin, OriginForm};
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn target(origin: &Origin) -> HttpTarget {
    HttpTarget {
        connection: "c".to_owned(),
        origin: origin.clone(),
        trust: Trust::system(),
        pins: Pins::none(),
        identity: None,
        proxy: None,
        http2: false,
        fresh: false,
        pool: PoolLimits { per_origin: 1, idle: PATIENCE },
        addresses: AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]),
        deadlines: SetupDeadlines {
            dns: PATIENCE,
            tcp_connect: PATIENCE,
            tls: PATIENCE,
            pool: PATIENCE,
            tunnel: PATIENCE,
            overall: PATIENCE,
        },
        setup_attempts: 1,
    }
}

fn options(other_secrets: bool) -> ExchangeOptions {
    ExchangeOptions {
        deadline: PATIENCE,
        max_response_bytes: 1000,
        max_content_bytes: 1000,
        kept_headers: Vec::new(),
        replay_header: None,
        trusted_hops: Vec::new(),
        copies_matter: true,
        other_secrets,
    }
}

/// A request that is about to go to the peer.
async fn load(egress: &HttpEgress, listener: &TcpListener, secret: Option<&str>) -> Loaded {
    let origin = Origin::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let request = HttpRequest {
        origin: origin.clone(),
        method: "POST".to_owned(),
        path: OriginForm::parse("/").unwrap(),
        headers: Vec::new(),
        body: None,
        credential: None,
    };
    let credential = secret
        .map(|secret| Credential::new(&Injection::Bearer(Secret::new(secret.as_bytes().to_vec()))).unwrap());
    let outgoing = Outgoing::prepare(&request, &[], credential.as_ref(), UnixMillis(0)).unwrap();
    egress.connect(&target(&origin), 1).await.result.unwrap().load(outgoing).unwrap()
}

async fn listen() -> TcpListener {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap()
}

/// Reads a request's head and answers it.
async fn answer(stream: &mut TcpStream, response: &str) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    stream.write_all(response.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn an_answer_to_nothing_is_paired_with_no_request() {
    let (egress, listener) = (HttpEgress::new(), listen().await);
    let first = load(&egress, &listener, None).await;
    let (mut peer, _) = listener.accept().await.unwrap();
    let options = options(false);
    let (exchange, ()) = tokio::join!(
        first.exchange(&options, Arc::new(()), None),
        answer(&mut peer, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    );
    assert_eq!(exchange.evidence.status, Some(200));

    let second = load(&egress, &listener, None).await;
    assert_eq!(second.found_dead(1), None);
    // The caller makes its intent durable, and the peer loses patience with an idle connection.
    peer.write_all(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    tokio::time::timeout(PATIENCE, async {
        while second.found_dead(1).is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    let exchange = second.exchange(&options, Arc::new(()), None).await;
    let evidence = &exchange.evidence;
    assert!(evidence.reused);
    assert_eq!(evidence.cause, Some(Cause::ConnectionStale));
    assert_eq!((evidence.status, evidence.bytes_offered, evidence.request_complete), (None, 0, false));
    let mut received = Vec::new();
    // It was closed with the answer unread, which may look like a reset.
    let _ = peer.read_to_end(&mut received).await;
    assert_eq!(received, b"");
}

/// Takes everything and forgets it.
struct Sink;

impl ContentSink for Sink {
    fn push(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn finish(&self) -> io::Result<(u64, Digest)> {
        Ok((0, Digest::of_bytes(b"")))
    }
}

/// Whether coded content may be shown, and stored.
async fn check_coded(secret: Option<&str>, other_secrets: bool, allowed: bool) {
    const CODED: &str = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nzz";
    for sink in [None, Some(Arc::new(Sink) as Arc<dyn ContentSink>)] {
        let (egress, listener, stores) = (HttpEgress::new(), listen().await, sink.is_some());
        let loaded = load(&egress, &listener, secret).await;
        let (mut peer, _) = listener.accept().await.unwrap();
        let options = options(other_secrets);
        let (exchange, ()) =
            tokio::join!(loaded.exchange(&options, Arc::new(()), sink), answer(&mut peer, CODED));
        let context = (secret, other_secrets, stores);
        assert_eq!(exchange.response.is_some(), allowed, "{context:?}");
        assert_eq!(exchange.evidence.withheld, !allowed && !stores, "{context:?}");
        let cause = Some(Cause::ContentNotStored).filter(|_| !allowed && stores);
        assert_eq!(exchange.evidence.cause, cause, "{context:?}");
    }
}

#[tokio::test]
async fn coded_content_is_kept_back_from_every_secret() {
    check_coded(None, false, true).await;
    check_coded(Some("canary-1"), false, false).await;
    check_coded(None, true, false).await;
    check_coded(Some("canary-1"), true, false).await;
}

fn check_open(status: u16, lines: &[(&str, &str)], expected: bool) {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
    }
    let status = StatusCode::from_u16(status).unwrap();
    let head = Head { status, version: Version::HTTP_11, headers };
    assert_eq!(stays_open(&head, HttpVersion::Http11), expected, "{status} {lines:?}");
}

#[test]
fn connections_stay_open_unless_something_speaks_against_it() {
    let (cl, te) = ("content-length", "transfer-encoding");
    check_open(200, &[(cl, "5")], true);
    check_open(200, &[("connection", "x, Close")], false);
    check_open(204, &[], true);
    check_open(204, &[(cl, "0")], true);
    check_open(204, &[(cl, "5")], false);
    check_open(204, &[(te, "chunked")], false);
    // What a GET would have had.
    check_open(304, &[(cl, "5")], true);
}

/// Whether a connection is kept on which this was seen.
fn check_well(version: HttpVersion, unflushed: bool, completion: Completion, expected: bool) {
    let head = Head { status: StatusCode::OK, version: Version::HTTP_11, headers: HeaderMap::new() };
    let seen = Seen { request_complete: true, unflushed, ..Seen::default() };
    let result = Ok(Whole { bytes: Vec::new(), completion, stored: None });
    let got = went_well(&result, &seen, Some(&head), version);
    assert_eq!(got, expected, "{version:?} {unflushed} {completion:?}");
}

#[test]
fn a_connection_that_holds_bytes_of_a_request_back_is_not_kept() {
    check_well(HttpVersion::Http11, false, Completion::ContentLength, true);
    check_well(HttpVersion::Http11, true, Completion::ContentLength, false);
    check_well(HttpVersion::Http11, false, Completion::CloseNotify, false);
    check_well(HttpVersion::Http2, true, Completion::EndStream, true);
}

/// Whether another task of the only thread goes on during the work.
async fn check_aside(bytes: usize, expected: bool) {
    let (tell, told) = mpsc::channel();
    let work = async move {
        let other = tokio::spawn(async move { tell.send(()) });
        let patience = if expected { PATIENCE } else { Duration::ZERO };
        let went_on = aside(bytes, || told.recv_timeout(patience).is_ok());
        let _ = other.await;
        went_on
    };
    assert_eq!(tokio::spawn(work).await.unwrap(), expected, "{bytes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_long_search_holds_nobody_up() {
    check_aside(LARGE, true).await;
    check_aside(0, false).await;
}

#[tokio::test]
async fn one_thread_has_no_elsewhere() {
    check_aside(LARGE, false).await;
}
