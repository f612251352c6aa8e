//! An open HTTP connection, before, between and after exchanges.

use super::content::Content;
use super::http2::Tasks;
use super::transport::Transport;
use super::wire::{Counted, Wire};
use crate::figures;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use proofport_core::evidence::{Hop, HttpVersion, PeerIdentity};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::future::{Future, poll_fn};
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// The largest response head, in bytes. hyper's buffers are bounded by it too: it may already have
/// more than that when it looks at the head.
const LARGEST_HEAD: usize = 64 * 1024;

pub(super) type Io = TokioIo<Counted<Transport>>;

/// An open HTTP connection.
pub(super) struct Open {
    pub(super) peer: PeerIdentity,
    pub(super) hop: Hop,
    pub(super) wire: Wire,
    /// How many exchanges it has carried.
    pub(super) uses: u32,
    /// A second handle to the socket, to look at it past every buffer.
    socket: OwnedFd,
    speaker: Speaker,
    /// For as long as it is open.
    _counted: Option<figures::Counted>,
}

enum Speaker {
    /// Polled inside of an exchange only, so that nothing runs on when it ends.
    Http1 { sender: http1::SendRequest<Content>, driver: Option<Driver> },
    /// Runs beside its exchanges: the peer may ask for signs of life at any time.
    Http2 { sender: http2::SendRequest<Content>, _tasks: Tasks },
}

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How a connection was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// Nothing speaks against using it.
    Alive,
    /// The peer has ended it.
    Ended,
    /// The peer sent what nobody asked for.
    Stray,
}

/// What a connection is made of, before HTTP is spoken on it.
pub(super) struct Bare {
    pub(super) transport: Transport,
    pub(super) peer: PeerIdentity,
    pub(super) hop: Hop,
    pub(super) version: HttpVersion,
}

impl Open {
    /// Makes HTTP ready. HTTP/2 sends its preface and settings, and no request.
    pub(super) async fn new(bare: Bare) -> std::io::Result<Self> {
        let Bare { transport, peer, hop, version } = bare;
        let socket = transport.second_handle()?;
        let wire = Wire::new(peer.certificate.is_some(), version);
        let io: Io = TokioIo::new(Counted::new(transport, wire.clone()));
        let speaker = match version {
            HttpVersion::Http11 => {
                let (sender, connection) = http1::Builder::new()
                    .max_header_size(LARGEST_HEAD)
                    .max_buf_size(LARGEST_HEAD)
                    .handshake(io)
                    .await
                    .map_err(std::io::Error::other)?;
                // Its error, if any, reaches the exchange.
                let driver: Driver = Box::pin(async move {
                    let _ = connection.await;
                });
                Speaker::Http1 { sender, driver: Some(driver) }
            }
            HttpVersion::Http2 => {
                let tasks = Tasks::default();
                let (sender, connection) = http2::Builder::new(tasks.starter())
                    .max_header_list_size(LARGEST_HEAD as u32)
                    .handshake(io)
                    .await
                    .map_err(std::io::Error::other)?;
                tasks.start(async move {
                    let _ = connection.await;
                });
                Speaker::Http2 { sender, _tasks: tasks }
            }
        };
        Ok(Self { peer, hop, wire, uses: 0, socket, speaker, _counted: None })
    }

    /// The same, counted until it is closed.
    pub(super) fn counted(self, counted: figures::Counted) -> Self {
        Self { _counted: Some(counted), ..self }
    }

    pub(super) const fn version(&self) -> HttpVersion {
        match self.speaker {
            Speaker::Http1 { .. } => HttpVersion::Http11,
            Speaker::Http2 { .. } => HttpVersion::Http2,
        }
    }

    /// Looks at the socket itself: what tokio and hyper remember of it may be old.
    pub(super) fn life(&self) -> Life {
        let closed = match &self.speaker {
            Speaker::Http1 { sender, .. } => sender.is_closed(),
            Speaker::Http2 { sender, .. } => sender.is_closed(),
        };
        if closed {
            return Life::Ended;
        }
        let mut byte = [0_u8; 1];
        match rustix::net::recv(&self.socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Err(Errno::AGAIN) => Life::Alive,
            Ok((_, 0)) | Err(_) => Life::Ended,
            Ok((_, _)) => match &self.speaker {
                // Frames are read beside the exchanges, and a new TLS session may bring its tickets. What is
                // still unread on a kept connection may be its end.
                Speaker::Http2 { .. } if self.uses == 0 => Life::Alive,
                Speaker::Http2 { .. } => Life::Stray,
                Speaker::Http1 { .. } if self.uses == 0 && self.peer.certificate.is_some() => Life::Alive,
                Speaker::Http1 { .. } => Life::Stray,
            },
        }
    }

    /// Sends a request and works with its response, in one task with the connection.
    pub(super) async fn talk<T, F>(
        &mut self,
        request: Request<Content>,
        work: impl FnOnce(Pin<Box<dyn Future<Output = hyper::Result<Response<Incoming>>> + Send>>) -> F,
    ) -> T
    where
        F: Future<Output = T>,
    {
        self.uses = self.uses.saturating_add(1);
        match &mut self.speaker {
            Speaker::Http1 { sender, driver } => {
                let sending = Box::pin(sender.send_request(request));
                drive(driver, work(sending)).await
            }
            Speaker::Http2 { sender, .. } => {
                let sending = Box::pin(sender.send_request(request));
                work(sending).await
            }
        }
    }

    /// Whether it can carry another exchange, now that one has ended well. hyper gets to see what the
    /// peer sent beyond the response, which ends the connection.
    pub(super) fn is_reusable(&mut self) -> bool {
        match &mut self.speaker {
            Speaker::Http1 { sender, driver } => {
                let mut cx = Context::from_waker(Waker::noop());
                let runs = driver.as_mut().is_some_and(|driver| driver.as_mut().poll(&mut cx).is_pending());
                runs && sender.is_ready()
            }
            Speaker::Http2 { sender, .. } => sender.is_ready() && !sender.is_closed(),
        }
    }
}

/// Polls the connection for as long as `talk` needs it.
async fn drive<T>(driver: &mut Option<Driver>, talk: impl Future<Output = T>) -> T {
    let mut talk = pin!(talk);
    poll_fn(|cx| {
        if let Poll::Ready(done) = talk.as_mut().poll(cx) {
            return Poll::Ready(done);
        }
        // It is dropped at once, so that a request which it has not taken is given back as not sent.
        if driver.as_mut().is_some_and(|open| open.as_mut().poll(cx).is_ready()) {
            *driver = None;
        }
        talk.as_mut().poll(cx)
    })
    .await
}
