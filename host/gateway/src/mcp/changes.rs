//! The stream on which the older revision hears that the list of tools has changed. It belongs to no session
//! of the protocol's: whoever may ask may listen, and a stream that was lost is opened again.

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderValue, header};
use http_body::Frame;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

const CHANGED: &[u8] = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
/// A comment, so that a lost connection is noticed.
const ALIVE: &[u8] = b": alive\n\n";
const ALIVE_EVERY: Duration = Duration::from_secs(15);

struct Events(mpsc::Receiver<&'static [u8]>);

impl http_body::Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(Bytes::from_static(event)))))
    }
}

/// The stream of changes from here on. It ends with the host.
pub(super) fn stream(mut changes: watch::Receiver<u64>, stopping: CancellationToken) -> Response {
    changes.mark_unchanged();
    let (send, events) = mpsc::channel(1);
    tokio::spawn(async move {
        // The headers leave with the first bytes.
        let mut event = ALIVE;
        while send.send(event).await.is_ok() {
            event = tokio::select! {
                changed = changes.changed() => match changed {
                    Ok(()) => CHANGED,
                    Err(_) => return,
                },
                () = tokio::time::sleep(ALIVE_EVERY) => ALIVE,
                () = send.closed() => return,
                () = stopping.cancelled() => return,
            };
        }
    });
    let mut response = Response::new(Body::new(Events(events)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
