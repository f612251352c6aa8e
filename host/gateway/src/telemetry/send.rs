//! One batch to a collector: a connection of its own, one request, one answer, within one time.

use super::otlp;
use crate::config::Collector;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::io;
use std::time::Duration;
use tokio::net::TcpStream;

/// In what time a batch must have been taken.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes of an answer that are read.
const LARGEST_ANSWER: usize = 64 * 1024;

/// Why a batch was not taken. Nothing of what a collector says is kept but its status.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// It can't be reached.
    #[error("it can't be reached: {0}")]
    Connect(#[source] io::Error),
    /// It did not answer in time.
    #[error("it did not take a batch within {} s", PATIENCE.as_secs())]
    TooSlow,
    /// It answered with something else than HTTP, or not to the end.
    #[error("it gave no whole answer")]
    Broken,
    /// It refused.
    #[error("it answered with status {}", .0.as_u16())]
    Refused(StatusCode),
}

/// Hands a batch over; how many of its spans were refused.
pub(super) async fn send(collector: &Collector, body: Vec<u8>) -> Result<u64, SendError> {
    tokio::time::timeout(PATIENCE, exchange(collector, body)).await.unwrap_or(Err(SendError::TooSlow))
}

async fn exchange(collector: &Collector, body: Vec<u8>) -> Result<u64, SendError> {
    let stream = TcpStream::connect(collector.address()).await.map_err(SendError::Connect)?;
    let broken = |_: hyper::Error| SendError::Broken;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let request = Request::builder()
        .method(Method::POST)
        .uri(otlp::PATH)
        .header(HOST, collector.to_string())
        .header(USER_AGENT, concat!("proofport/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, otlp::MEDIA_TYPE)
        .body(Full::new(Bytes::from(body)))
        .map_err(|_| SendError::Broken)?;
    let answered = async {
        let response = sender.send_request(request).await.map_err(broken)?;
        let status = response.status();
        if status != StatusCode::OK {
            return Err(SendError::Refused(status));
        }
        let answer = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await;
        Ok(otlp::rejected(&answer.map_err(|_| SendError::Broken)?.to_bytes()))
    };
    let mut answered = std::pin::pin!(answered);
    tokio::select! {
        biased;
        answer = &mut answered => answer,
        // Its error, if any, reaches the answer.
        _ = connection => answered.await,
    }
}
