//! The pool, and who the peer of a connection is, against scripted peers over real sockets. The peer's
//! log is the truth.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod addresses;
mod discard;
mod http2;
mod identity;
mod keys;
mod limits;
mod reuse;

use proofport_core::contract::Stage;
use proofport_core::evidence::{Cause, PeerIdentity, SetupAttempt};
use proofport_core::exchange::HttpRequest;
use proofport_core::origin::{Origin, OriginForm};
use proofport_core::time::UnixMillis;
use proofport_egress::{
    AddressPolicy, ExchangeOptions, HttpEgress, HttpExchange, HttpTarget, Outgoing, Pins, PoolLimits,
    SetupDeadlines, Trust,
};
use proofport_tests::peer::{Act, Ca, Script, Scripts};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Longer than anything here takes, so that no test passes or fails by the clock.
const PATIENCE: Duration = Duration::from_secs(20);

const NAMES: &[&str] = &["127.0.0.1", "localhost"];

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// One authority for all, since making keys is slow.
static CA: LazyLock<Ca> = LazyLock::new(Ca::new);
static TRUST: LazyLock<Trust> = LazyLock::new(|| Trust::with_pem(CA.pem().as_bytes()).unwrap());

fn target(origin: Origin) -> HttpTarget {
    HttpTarget {
        connection: "c".to_owned(),
        origin,
        trust: TRUST.clone(),
        pins: Pins::none(),
        identity: None,
        proxy: None,
        http2: false,
        fresh: false,
        pool: PoolLimits { per_origin: 8, idle: PATIENCE },
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

fn outgoing(origin: Origin, method: &str, body: Option<Vec<u8>>) -> Outgoing {
    let request = HttpRequest {
        origin,
        method: method.to_owned(),
        path: OriginForm::parse("/v1/charges").unwrap(),
        headers: Vec::new(),
        body,
        credential: None,
    };
    Outgoing::prepare(&request, &[], None, UnixMillis(0)).unwrap()
}

fn options() -> ExchangeOptions {
    ExchangeOptions {
        deadline: PATIENCE,
        max_response_bytes: 1000,
        max_content_bytes: 1000,
        kept_headers: Vec::new(),
        replay_header: None,
        trusted_hops: Vec::new(),
        copies_matter: true,
        other_secrets: false,
    }
}

/// How an exchange came about, and what was seen of it.
struct Done {
    attempts: Vec<SetupAttempt>,
    peer: PeerIdentity,
    exchange: HttpExchange,
}

async fn ask(egress: &HttpEgress, target: &HttpTarget) -> Done {
    exchange(egress, target, "GET", None).await
}

async fn exchange(egress: &HttpEgress, target: &HttpTarget, method: &str, body: Option<Vec<u8>>) -> Done {
    let setup = egress.connect(target, 1).await;
    let attempts = setup.attempts;
    let ready = setup.result.unwrap_or_else(|failure| panic!("{failure:?}: {attempts:?}"));
    let peer = ready.peer().clone();
    let loaded = ready.load(outgoing(target.origin.clone(), method, body)).unwrap();
    let exchange = loaded.exchange(&options(), Arc::new(()), None).await;
    // What setup says of reuse, the evidence says too.
    assert_eq!(attempts.last().unwrap().reused, exchange.evidence.reused);
    Done { attempts, peer, exchange }
}

impl Done {
    fn body(&self) -> Option<&[u8]> {
        self.exchange.response.as_ref().map(|response| response.body.as_slice())
    }

    /// Each attempt: its number, stage and cause, and whether it was of a kept connection.
    fn attempts(&self) -> Vec<(u32, Stage, Option<Cause>, bool)> {
        seen(&self.attempts)
    }
}

fn seen(attempts: &[SetupAttempt]) -> Vec<(u32, Stage, Option<Cause>, bool)> {
    attempts.iter().map(|attempt| (attempt.n, attempt.stage, attempt.cause, attempt.reused)).collect()
}

/// The attempts where a new connection was opened at once.
const NEW: [(u32, Stage, Option<Cause>, bool); 1] = [(1, Stage::HttpHandshake, None, false)];

/// The attempts where a kept connection was used.
const KEPT: [(u32, Stage, Option<Cause>, bool); 1] = [(1, Stage::Pool, None, true)];

/// The attempts where a kept connection was found to be of no use, and a new one was opened.
const STALE: [(u32, Stage, Option<Cause>, bool); 2] =
    [(1, Stage::Pool, Some(Cause::ConnectionStale), true), (2, Stage::HttpHandshake, None, false)];

/// One connection does this, and all others answer for as long as anybody asks.
fn first(acts: Vec<Act>) -> Scripts {
    Scripts { each: [Script(acts)].into(), default: Some(Script::keep_alive(9, OK)) }
}
