//! A number of actions, so many at once.

use crate::rig::Open;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a load came to.
#[derive(Debug, Serialize)]
pub struct Load {
    /// How many were in flight at once.
    pub at_once: usize,
    /// How many were carried out.
    pub actions: usize,
    /// How many did not succeed.
    pub failed: usize,
    /// Actions a second.
    pub per_second: f64,
    /// The median, in microseconds.
    pub p50_micros: u64,
    /// The 99th percentile, in microseconds.
    pub p99_micros: u64,
    /// Syncs of the journal's file for each action; none where there is no journal.
    pub syncs_per_action: Option<f64>,
    /// This process's memory afterwards, in KiB.
    pub resident_kib: u64,
}

fn load(at_once: usize, mut times: Vec<Option<Duration>>, took: Duration, syncs: Option<u64>) -> Load {
    let actions = times.len();
    let failed = times.iter().filter(|time| time.is_none()).count();
    times.retain(Option::is_some);
    times.sort();
    let at = |share: f64| {
        let index = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
        times.get(index).copied().flatten().map_or(u64::MAX, super::micros)
    };
    Load {
        at_once,
        actions,
        failed,
        per_second: actions as f64 / took.as_secs_f64(),
        p50_micros: at(0.5),
        p99_micros: at(0.99),
        syncs_per_action: syncs.map(|syncs| syncs as f64 / actions as f64),
        resident_kib: super::resident_kib().unwrap_or(0),
    }
}

/// Full calls of an operation through a host. `name` keeps the intents of different loads apart.
pub async fn host(
    open: &Arc<Open>,
    operation: &'static str,
    name: &str,
    at_once: usize,
    actions: usize,
) -> Load {
    let before = open.syncs.count();
    let start = Instant::now();
    let lanes: Vec<_> = (0..at_once)
        .map(|lane| {
            let (open, name) = (Arc::clone(open), name.to_owned());
            tokio::spawn(async move {
                let mut times = Vec::new();
                for i in 0..actions / at_once {
                    let input = format!("{{\"name\":\"{name}\",\"lane\":{lane},\"i\":{i}}}");
                    let start = Instant::now();
                    let envelope = open.call(operation, &input).await;
                    times.push(envelope.ok().then(|| start.elapsed()));
                }
                times
            })
        })
        .collect();
    let times = join(lanes).await;
    load(at_once, times, start.elapsed(), Some(open.syncs.count() - before))
}

/// The same requests by hyper alone.
pub async fn raw(port: u16, at_once: usize, actions: usize, keep: bool) -> Load {
    let start = Instant::now();
    let lanes: Vec<_> = (0..at_once).map(|_| tokio::spawn(raw_lane(port, actions / at_once, keep))).collect();
    let times = join(lanes).await;
    load(at_once, times, start.elapsed(), None)
}

async fn join(lanes: Vec<tokio::task::JoinHandle<Vec<Option<Duration>>>>) -> Vec<Option<Duration>> {
    let mut times = Vec::new();
    for lane in lanes {
        times.extend(lane.await.unwrap_or_default());
    }
    times
}

async fn raw_lane(port: u16, actions: usize, keep: bool) -> Vec<Option<Duration>> {
    let mut times = Vec::new();
    let mut kept = None;
    for _ in 0..actions {
        let start = Instant::now();
        let sender = match kept.take() {
            Some(sender) => Some(sender),
            None => connect(port).await,
        };
        let done = match sender {
            Some(mut sender) => {
                let ok = once(&mut sender, port).await;
                if keep && ok {
                    kept = Some(sender);
                }
                ok
            }
            None => false,
        };
        times.push(done.then(|| start.elapsed()));
    }
    times
}

async fn connect(port: u16) -> Option<http1::SendRequest<Full<Bytes>>> {
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(connection);
    Some(sender)
}

async fn once(sender: &mut http1::SendRequest<Full<Bytes>>, port: u16) -> bool {
    let request = hyper::Request::post("/act")
        .header("host", format!("127.0.0.1:{port}"))
        .body(Full::new(Bytes::from_static(b"{}")));
    let Ok(request) = request else { return false };
    let Ok(response) = sender.send_request(request).await else { return false };
    response.status().is_success() && response.into_body().collect().await.is_ok()
}
