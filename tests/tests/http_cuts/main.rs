//! Connections cut at every byte of a request and of a response, in every way in which they can end: what
//! is not whole is unknown, whatever the wire looked like.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod request;
mod response;

use proofport_core::classify::{Judgement, Reading, judge};
use proofport_core::contract::{Effect, Outcome, Repeat};
use proofport_core::evidence::HttpEvidence;
use proofport_core::exchange::HttpRequest;
use proofport_core::manifest::Contract;
use proofport_core::origin::{Origin, OriginForm};
use proofport_core::time::UnixMillis;
use proofport_egress::{
    AddressPolicy, ExchangeOptions, HttpEgress, HttpExchange, HttpTarget, Outgoing, Pins, PoolLimits,
    SetupDeadlines, Trust,
};
use proofport_tests::peer::{Alpn, Ca, Peer};
use rustls::ServerConfig;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Longer than anything here takes, so that no test passes or fails by the clock.
const PATIENCE: Duration = Duration::from_secs(20);

/// The content of every response.
const CONTENT: &[u8] = b"hello world";

/// One authority and one server of each kind for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);
static TLS: LazyLock<Arc<ServerConfig>> = LazyLock::new(|| CA.server(&["127.0.0.1"]));
static TLS_H2: LazyLock<Arc<ServerConfig>> =
    LazyLock::new(|| CA.server_offering(&["127.0.0.1"], Alpn::Http2));
static TRUST: LazyLock<Trust> = LazyLock::new(|| Trust::with_pem(CA.pem().as_bytes()).unwrap());
static EGRESS: LazyLock<HttpEgress> = LazyLock::new(HttpEgress::new);

/// What a peer is reached over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Plain,
    Tls,
    Http2,
}

/// One effect to this peer; none if no connection came up. Nothing is kept and nothing tried twice.
async fn exchange(peer: &Peer, over: Over) -> Option<HttpExchange> {
    let origin = peer.origin();
    let ready = EGRESS.connect(&target(origin.clone(), over), 1).await.result.ok()?;
    let request = HttpRequest {
        origin,
        method: "POST".to_owned(),
        path: OriginForm::parse("/v1/charges").unwrap(),
        headers: Vec::new(),
        body: Some(b"amount=100&currency=eur".to_vec()),
        credential: None,
    };
    let outgoing = Outgoing::prepare(&request, &[], None, UnixMillis(0)).unwrap();
    let options = ExchangeOptions {
        deadline: PATIENCE,
        max_response_bytes: 1000,
        max_content_bytes: 1000,
        replay_header: None,
        trusted_hops: Vec::new(),
        copies_matter: true,
        other_secrets: false,
        kept_headers: Vec::new(),
    };
    let loaded = ready.load(outgoing).unwrap();
    Some(loaded.exchange(&options, Arc::new(()), None).await)
}

fn target(origin: Origin, over: Over) -> HttpTarget {
    HttpTarget {
        connection: "c".to_owned(),
        origin,
        trust: TRUST.clone(),
        pins: Pins::none(),
        identity: None,
        proxy: None,
        http2: over == Over::Http2,
        fresh: true,
        pool: PoolLimits { per_origin: 64, idle: Duration::ZERO },
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

/// What the core makes of an answer that nobody reads.
fn judged(evidence: &HttpEvidence) -> Judgement {
    let contract = Contract {
        effect: Effect::Write,
        repeat: Repeat::None,
        statuses_before_work: Vec::new(),
        reconcile: None,
        batch: None,
        job_operation: None,
        completion_marker: None,
        stop_grace_seconds: None,
    };
    judge(&evidence.clone().into(), &contract, Reading::None, None)
}

/// That nothing is known of this exchange.
#[track_caller]
fn assert_unknown(exchange: &HttpExchange, what: &str) {
    let evidence = &exchange.evidence;
    assert_eq!(judged(evidence).outcome, Outcome::Unknown, "{what}: {evidence:?}");
    assert_eq!((evidence.completion, exchange.response.is_none()), (None, true), "{what}: {evidence:?}");
    assert!(evidence.cause.is_some() && evidence.body_digest.is_none(), "{what}: {evidence:?}");
}
