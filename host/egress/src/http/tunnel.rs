//! A tunnel through a proxy: CONNECT (RFC 9110 section 9.3.6).

use super::proxy_status::{self, PROXY_STATUS, ProxyStatus};
use http::{HeaderMap, HeaderValue, StatusCode};
use std::io::{self, ErrorKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// The largest head of an answer, in bytes.
const LARGEST_HEAD: usize = 16 * 1024;

/// The most headers of an answer.
const MOST_HEADERS: usize = 64;

/// The most interim answers before the final one.
const MOST_INTERIM: usize = 8;

/// Why there is no tunnel. Nothing of a request has left: the bytes that did are about the tunnel
/// itself. No text of the proxy's is in here but the names of hops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TunnelFailure {
    /// Our own input or output failed.
    #[error("the connection to the proxy failed: {0}")]
    Io(ErrorKind),
    /// The proxy closed the connection before it began to answer.
    #[error("the proxy closed the connection")]
    Closed,
    /// The proxy closed the connection within its answer's head.
    #[error("the proxy's answer ended within its head")]
    Truncated,
    /// The answer's head is larger than 16 KiB.
    #[error("the head of the proxy's answer is too large")]
    HeadTooLarge,
    /// The answer is not HTTP/1, or switches to a protocol that nobody asked for.
    #[error("the proxy's answer is not HTTP/1.1")]
    Malformed,
    /// There was no final answer after 8 interim ones.
    #[error("the proxy sent too many interim answers")]
    TooManyInterim,
    /// Bytes followed the agreement before we had said anything through the tunnel.
    #[error("the tunnel's far end spoke first")]
    StrayBytes,
    /// The proxy wants credentials, or others than it got (407).
    #[error("the proxy wants other credentials")]
    AuthenticationRequired,
    /// The proxy did not open the tunnel.
    #[error("the proxy refused the tunnel with status {status}")]
    Refused {
        /// Its status.
        status: StatusCode,
        /// What the hops say of it.
        proxy_status: ProxyStatus,
    },
}

impl From<io::Error> for TunnelFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error.kind())
    }
}

/// Asks the proxy at the stream's other end for a tunnel to `authority`, which is a host and a port as
/// an [`Origin`](proofport_core::origin::Origin) or a socket address spells them. `authorization` is
/// the value of `Proxy-Authorization`. The stream comes back with nothing read beyond the answer's head.
///
/// It waits for as long as the proxy takes: the caller has the deadline.
///
/// # Errors
/// See [`TunnelFailure`]. The stream is closed then: what stands behind a refusal's head is not read.
pub(super) async fn open(
    mut stream: TcpStream,
    authority: &str,
    authorization: Option<&HeaderValue>,
) -> Result<TcpStream, TunnelFailure> {
    stream.write_all(&request(authority, authorization)).await?;
    for _ in 0..=MOST_INTERIM {
        let (head, more) = read_head(&mut stream).await?;
        let (status, headers) = parse(&head)?;
        // Content-Length and Transfer-Encoding mean nothing in an agreement, which has no content.
        match status.as_u16() {
            101 => return Err(TunnelFailure::Malformed),
            100..=199 => {}
            200..=299 if more => return Err(TunnelFailure::StrayBytes),
            200..=299 => return Ok(stream),
            407 => return Err(TunnelFailure::AuthenticationRequired),
            _ => return Err(TunnelFailure::Refused { status, proxy_status: headers }),
        }
    }
    Err(TunnelFailure::TooManyInterim)
}

fn request(authority: &str, authorization: Option<&HeaderValue>) -> Zeroizing<Vec<u8>> {
    let credentials = authorization.map_or(0, HeaderValue::len);
    // In one piece from the start, since growing would leave a copy of the credentials behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(64 + 2 * authority.len() + credentials));
    for part in ["CONNECT ", authority, " HTTP/1.1\r\nHost: ", authority, "\r\n"] {
        bytes.extend_from_slice(part.as_bytes());
    }
    if let Some(value) = authorization {
        bytes.extend_from_slice(b"Proxy-Authorization: ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Reads to the end of a head and no byte further. Whether a byte has come that is behind it.
async fn read_head(stream: &mut TcpStream) -> Result<(Vec<u8>, bool), TunnelFailure> {
    let mut head = Vec::new();
    let mut line = 0_usize;
    // More than a head may be, so that whatever has come behind one is seen.
    let mut ahead = vec![0; LARGEST_HEAD + 1];
    loop {
        let come = stream.peek(&mut ahead).await?;
        let Some(fresh) = ahead.get(..come).filter(|fresh| !fresh.is_empty()) else {
            return Err(if head.is_empty() { TunnelFailure::Closed } else { TunnelFailure::Truncated });
        };
        let end = fresh.iter().position(|byte| {
            let ends = *byte == b'\n' && line == 0;
            match *byte {
                b'\n' => line = 0,
                b'\r' => {}
                _ => line += 1,
            }
            ends
        });
        let take = end.map_or(come, |last| last + 1);
        let begin = head.len();
        if begin + take > LARGEST_HEAD {
            return Err(TunnelFailure::HeadTooLarge);
        }
        head.resize(begin + take, 0);
        // These bytes are there already.
        stream.read_exact(head.get_mut(begin..).unwrap_or_default()).await?;
        if end.is_some() {
            return Ok((head, come > take));
        }
    }
}

fn parse(head: &[u8]) -> Result<(StatusCode, ProxyStatus), TunnelFailure> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = response.parse(head).map_err(|_| TunnelFailure::Malformed)?;
    if parsed != httparse::Status::Complete(head.len()) {
        return Err(TunnelFailure::Malformed);
    }
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok());
    let status = status.ok_or(TunnelFailure::Malformed)?;
    let mut headers = HeaderMap::new();
    for field in response.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(PROXY_STATUS)) {
        let value = HeaderValue::from_bytes(field.value).map_err(|_| TunnelFailure::Malformed)?;
        headers.append(PROXY_STATUS, value);
    }
    Ok((status, proxy_status::read(&headers)))
}

#[cfg(test)]
mod tests;
