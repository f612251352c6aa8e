//! Taking connections in and speaking HTTP/1.1 on them.

use super::Doors;
use super::entrance::Line;
use super::guard;
use super::handover::{Outbox, Wire};
use crate::session::Peer;
use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Request, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

/// How long accepting rests when the system has no more to give.
const REST: Duration = Duration::from_millis(100);

/// What every connection is served with. Cheap to clone.
#[derive(Clone)]
pub(super) struct Reception {
    pub(super) doors: Arc<Doors>,
    pub(super) router: Router,
    /// One permit for each connection.
    pub(super) permits: Arc<Semaphore>,
    /// What serves connections, so that its end can be waited for.
    pub(super) tracker: TaskTracker,
    /// Cuts what has not ended by itself.
    pub(super) cut: CancellationToken,
}

impl Reception {
    /// Takes in who comes by the Unix socket until the host stops.
    pub(super) async fn unix(self, listener: UnixListener) {
        let stopping = self.doors.stopping.clone();
        let accepting = async {
            loop {
                let Some((stream, _)) = taken(listener.accept().await).await else { continue };
                let peer = Peer::of(&stream).inspect_err(|error| {
                    tracing::debug!(%error, "the process behind a connection is not known");
                });
                // Only then, so that neither way in keeps a place for somebody who never comes.
                let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
                let line = Line::Socket(peer.ok().map(Arc::new));
                let serving = self.clone().serve(stream, line);
                self.tracker.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
        };
        tokio::select! {
            () = stopping.cancelled() => {}
            () = accepting => {}
        }
    }

    /// Takes in who comes over TCP until the host stops.
    pub(super) async fn http(self, listener: TcpListener) {
        let stopping = self.doors.stopping.clone();
        let accepting = async {
            loop {
                let Some((stream, _)) = taken(listener.accept().await).await else { continue };
                // Only then, so that neither way in keeps a place for somebody who never comes.
                let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
                // Answers are written in one piece, which should not wait for another.
                let _ = stream.set_nodelay(true);
                let serving = self.clone().serve(stream, Line::Http);
                self.tracker.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
        };
        tokio::select! {
            () = stopping.cancelled() => {}
            () = accepting => {}
        }
    }

    /// Serves a connection until it ends. When the host stops, the request that is under way is the last.
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin, line: Line) {
        let outbox = Outbox::default();
        let service = service_fn(|request| {
            let (reception, line, outbox) = (self.clone(), line.clone(), outbox.clone());
            async move { Ok::<_, Infallible>(reception.answer(request, line, outbox).await) }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.doors.settings.request_time());
        let wire = TokioIo::new(Wire::new(stream, outbox.clone()));
        let mut connection = pin!(builder.serve_connection(wire, service));
        tokio::select! {
            ended = connection.as_mut() => return told(ended),
            () = self.doors.stopping.cancelled() => connection.as_mut().graceful_shutdown(),
        }
        tokio::select! {
            ended = connection.as_mut() => told(ended),
            () = self.cut.cancelled() => tracing::info!("a connection was cut, since the host stops"),
        }
    }

    async fn answer(self, mut request: Request<Incoming>, line: Line, outbox: Outbox) -> Response {
        let settings = &self.doors.settings;
        let mut response = if guard::permits(&line, request.headers(), request.uri(), settings) {
            request.extensions_mut().insert(line);
            request.extensions_mut().insert(outbox);
            match self.router.oneshot(request.map(Body::new)).await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        } else {
            // Whoever it is, is told nothing.
            StatusCode::FORBIDDEN.into_response()
        };
        let fields = response.headers_mut();
        fields.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

/// What was accepted; after a failure nothing, and a rest.
async fn taken<T>(accepted: io::Result<T>) -> Option<T> {
    match accepted {
        Ok(taken) => Some(taken),
        Err(error) => {
            // Either whoever came is gone again, or there are no descriptors left for now.
            tracing::warn!(%error, "a connection could not be taken in");
            tokio::time::sleep(REST).await;
            None
        }
    }
}

fn told(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
