//! HTTP/1.1 egress against scripted peers over real sockets. The peer's log is the truth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod completeness;
mod leaks;
mod requests;
mod setup;

use proofport_core::exchange::{Header, HttpRequest};
use proofport_core::origin::{Origin, OriginForm};
use proofport_core::time::UnixMillis;
use proofport_egress::{
    AddressPolicy, Credential, ExchangeOptions, HttpEgress, HttpExchange, HttpTarget, Injection, Outgoing,
    Pins, PoolLimits, SetupDeadlines, Trust, Watch,
};
use proofport_tests::peer::{Ca, Peer};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Longer than anything here takes, so that no test passes or fails by the clock.
const PATIENCE: Duration = Duration::from_secs(20);

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);
static TRUST: LazyLock<Trust> = LazyLock::new(|| Trust::with_pem(CA.pem().as_bytes()).unwrap());
static EGRESS: LazyLock<HttpEgress> = LazyLock::new(HttpEgress::new);

/// One call, with everything that a test may want to change.
struct Call {
    method: &'static str,
    path: &'static str,
    headers: Vec<Header>,
    body: Option<Vec<u8>>,
    extra: Vec<Header>,
    injection: Option<Injection>,
    options: ExchangeOptions,
    watch: Arc<dyn Watch>,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            method: "POST",
            path: "/v1/charges",
            headers: Vec::new(),
            body: Some(b"amount=100".to_vec()),
            extra: Vec::new(),
            injection: None,
            options: ExchangeOptions {
                deadline: PATIENCE,
                max_response_bytes: 1000,
                max_content_bytes: 10_000,
                replay_header: None,
                trusted_hops: Vec::new(),
                copies_matter: true,
                other_secrets: false,
                kept_headers: vec!["x-kept".to_owned(), "location".to_owned()],
            },
            watch: Arc::new(()),
        }
    }
}

fn header(name: &str, value: &str) -> Header {
    Header { name: name.to_owned(), value: value.to_owned() }
}

fn target(origin: Origin) -> HttpTarget {
    HttpTarget {
        connection: "c".to_owned(),
        origin,
        trust: TRUST.clone(),
        pins: Pins::none(),
        identity: None,
        proxy: None,
        http2: false,
        fresh: true,
        pool: PoolLimits { per_origin: 64, idle: Duration::ZERO },
        addresses: AddressPolicy::new(vec!["127.0.0.0/8".parse().unwrap()]),
        deadlines: SetupDeadlines {
            dns: PATIENCE,
            tcp_connect: PATIENCE,
            tls: PATIENCE,
            pool: PATIENCE,
            tunnel: PATIENCE,
            overall: PATIENCE * 3,
        },
        setup_attempts: 1,
    }
}

fn outgoing(origin: Origin, call: &Call) -> Outgoing {
    let request = HttpRequest {
        origin,
        method: call.method.to_owned(),
        path: OriginForm::parse(call.path).unwrap(),
        headers: call.headers.clone(),
        body: call.body.clone(),
        credential: None,
    };
    let credential = call.injection.as_ref().map(|injection| Credential::new(injection).unwrap());
    Outgoing::prepare(&request, &call.extra, credential.as_ref(), UnixMillis(0)).unwrap()
}

/// Makes the call and holds its evidence against what the peer saw.
async fn exchange(peer: &Peer, call: &Call) -> HttpExchange {
    let before = peer.accepted();
    let ready = EGRESS.connect(&target(peer.origin()), 1).await.result.unwrap();
    let loaded = ready.load(outgoing(peer.origin(), call)).unwrap();
    let exchange = loaded.exchange(&call.options, Arc::clone(&call.watch), None).await;
    let evidence = &exchange.evidence;
    let received = peer.received();
    assert_eq!(received.len(), before + 1, "one connection for one exchange");
    assert!(
        evidence.bytes_offered >= received.last().unwrap().len() as u64,
        "the peer can't have more than was offered: {evidence:?}"
    );
    // No claim of completeness without all of what it needs, and no response without that claim.
    if evidence.completion.is_some() {
        assert!(evidence.status.is_some() && evidence.cause.is_none() && evidence.body_digest.is_some());
    } else {
        assert!(evidence.cause.is_some() && evidence.body_digest.is_none() && exchange.response.is_none());
    }
    exchange
}
