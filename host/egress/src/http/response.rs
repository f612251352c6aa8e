//! What an exchange leaves behind: evidence, the response after the guard, and diagnostics.

use super::cause::Broken;
use super::exchange::{Whole, is_from_origin};
use super::http2::Told;
use super::outgoing::Target;
use super::proxy_status;
use super::redirect::{self, Redirect};
use super::replay;
use super::retry_after;
use super::wire::Seen;
use crate::dial::micros;
use crate::guard::Guard;
use http::header::{CONTENT_ENCODING, HeaderMap};
use http::{StatusCode, Version};
use proofport_core::digest::Digest;
use proofport_core::evidence::{Hop, HttpEvidence, HttpVersion};
use proofport_core::exchange::{Header, HttpResponse};
use proofport_core::proxy_status::{Hop as HopName, ProxyErrorType, ProxyStatusEntry, refusal};
use proofport_core::time::UnixMillis;
use std::error::Error as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Headers in which services name their side of an exchange.
const REQUEST_IDS: [&str; 6] =
    ["request-id", "x-request-id", "x-amzn-requestid", "x-amz-request-id", "x-github-request-id", "cf-ray"];

/// The longest remote request id that is kept, in bytes.
const LONGEST_REQUEST_ID: usize = 128;

/// What came of one exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpExchange {
    /// What was seen.
    pub evidence: HttpEvidence,
    /// The response, masked; only where it is complete and nothing had to be withheld. A withheld or
    /// incomplete body is discarded: it may hold a secret that can't be masked.
    pub response: Option<HttpResponse>,
    /// How long a complete response asks to wait.
    pub retry_after_seconds: Option<u32>,
    /// Where a complete 307 or 308 sends the request on. Nothing follows it here.
    pub redirect: Option<Redirect>,
    /// For operators only.
    pub diagnostic: ExchangeDiagnostic,
}

/// For the protected record: correlation and the local error. Passed through the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeDiagnostic {
    /// The local error and what caused it, outermost first.
    pub cause_chain: Vec<String>,
    /// How the remote named this exchange.
    pub remote_request_id: Option<String>,
    /// When the request was handed over.
    pub started_at: UnixMillis,
    /// When the exchange ended.
    pub ended_at: UnixMillis,
}

/// A final response's head.
pub(super) struct Head {
    pub(super) status: StatusCode,
    pub(super) version: Version,
    pub(super) headers: HeaderMap,
}

/// Everything that was seen, before the guard.
pub(super) struct Report<'a> {
    pub(super) head: Option<Head>,
    pub(super) result: Result<Whole, Broken>,
    pub(super) seen: Seen,
    pub(super) started_at: SystemTime,
    pub(super) elapsed: Duration,
    pub(super) version: HttpVersion,
    pub(super) hop: Hop,
    pub(super) reused: bool,
    pub(super) interim: u32,
    pub(super) target: Target,
    pub(super) trusted_hops: &'a [HopName],
    pub(super) replay_header: Option<&'a str>,
    pub(super) may_be_repeated: bool,
    /// Whether a secret was injected for this request or another of the invocation.
    pub(super) is_secret: bool,
}

impl Report<'_> {
    pub(super) fn finish(self, guard: &Guard, kept_headers: &[String]) -> HttpExchange {
        let Self { head, result, seen, started_at, elapsed, version, hop, reused, interim, .. } = self;
        let told = match (&result, version) {
            (Err(broken), HttpVersion::Http2) => broken.told(),
            (Ok(_) | Err(_), HttpVersion::Http11 | HttpVersion::Http2) => Told::Nothing,
        };
        let proxies = head.as_ref().map(|head| said_by_proxies(&head.headers, guard)).unwrap_or_default();
        let mut evidence = HttpEvidence {
            bytes_offered: seen.taken.saturating_add(seen.doubtful),
            bytes_read: seen.read,
            request_complete: seen.request_complete,
            status: head.as_ref().map(|head| head.status.as_u16()),
            completion: None,
            cause: None,
            from_origin: head.as_ref().is_some_and(|head| is_from_origin(head.status.as_u16(), hop)),
            masked: 0,
            withheld: false,
            body_digest: None,
            micros: micros(elapsed),
            version,
            reused,
            hop,
            interim,
            // Before any header: neither ours nor hyper's reading has seen one.
            refused_stream: told == Told::Refused && head.is_none() && seen.read == 0,
            http2_error: told.code(),
            not_forwarded: None,
            proxy_status: proxies,
            may_be_repeated: self.may_be_repeated,
            replayed: false,
        };
        let diagnostic = ExchangeDiagnostic {
            cause_chain: result.as_ref().err().map(|broken| chain(broken, guard)).unwrap_or_default(),
            remote_request_id: head.as_ref().and_then(|head| request_id(&head.headers, guard)),
            started_at: unix_millis(started_at),
            ended_at: unix_millis(started_at + elapsed),
        };
        let (mut response, mut retry_after_seconds, mut redirect) = (None, None, None);
        match (result, head) {
            (Ok(content), Some(head)) => {
                evidence.completion = Some(content.completion);
                let Whole { bytes, stored, .. } = content;
                evidence.body_digest = stored.is_none().then(|| Digest::of_bytes(&bytes));
                evidence.not_forwarded = not_forwarded(&evidence.proxy_status, self.trusted_hops);
                evidence.from_origin &= evidence.not_forwarded.is_none();
                let marked = self.replay_header.is_some_and(|name| replay::marks(&head.headers, name));
                evidence.replayed = evidence.from_origin && marked;
                let Target { origin, path } = &self.target;
                redirect = redirect::read(head.status.as_u16(), &head.headers, origin, path, guard);
                retry_after_seconds = retry_after::seconds(&head.headers);
                let mut shown =
                    Shown { guard, masked: 0, withheld: self.is_secret && is_coded(&head.headers) };
                let headers = shown.headers(&head.headers, kept_headers);
                let body = shown.pass(bytes);
                let (stored, hits) = stored.map_or((None, 0), |(stored, hits)| (Some(stored), hits));
                shown.masked = shown.masked.saturating_add(hits);
                evidence.masked = shown.masked;
                evidence.withheld = shown.withheld;
                if !shown.withheld {
                    response = Some(HttpResponse { status: head.status.as_u16(), headers, body, stored });
                }
            }
            (Err(broken), _) => evidence.cause = Some(broken.cause(&seen, told)),
            // Content is read after a head only.
            (Ok(_), None) => {}
        }
        HttpExchange { evidence, response, retry_after_seconds, redirect, diagnostic }
    }
}

/// A response on its way through the guard.
struct Shown<'a> {
    guard: &'a Guard,
    masked: u32,
    withheld: bool,
}

impl Shown<'_> {
    fn pass(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let scan = self.guard.scan(bytes);
        self.masked = self.masked.saturating_add(scan.hits);
        self.withheld |= scan.bytes.is_none();
        scan.bytes.unwrap_or_default()
    }

    /// The kept headers whose values are text, in order of arrival.
    fn headers(&mut self, headers: &HeaderMap, kept: &[String]) -> Vec<Header> {
        let mut shown = Vec::new();
        for (name, value) in headers {
            let Ok(text) = value.to_str() else { continue };
            if kept.iter().any(|kept| kept == name.as_str()) {
                let value = self.pass(text.as_bytes().to_vec());
                shown.extend(String::from_utf8(value).map(|value| Header { name: name.to_string(), value }));
            }
        }
        shown
    }
}

/// What proxies say. Their names are theirs to choose, so a field that holds a secret says nothing.
fn said_by_proxies(headers: &HeaderMap, guard: &Guard) -> Vec<ProxyStatusEntry> {
    let said = proxy_status::read(headers);
    let clean = |entry: &ProxyStatusEntry| guard.is_clean(entry.hop.as_str().as_bytes());
    if said.entries().iter().all(clean) { said.entries().to_vec() } else { Vec::new() }
}

fn not_forwarded(entries: &[ProxyStatusEntry], trusted: &[HopName]) -> Option<ProxyErrorType> {
    if trusted.is_empty() { None } else { refusal(entries, trusted) }
}

/// Whether the content is in a coding that the guard can't see through. We ask for none.
pub(super) fn is_coded(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

fn chain(broken: &Broken, guard: &Guard) -> Vec<String> {
    let Broken::Http(error) = broken else { return Vec::new() };
    let mut chain = vec![guard.scrub(&error.to_string())];
    let mut next = error.source();
    while let Some(error) = next {
        chain.push(guard.scrub(&error.to_string()));
        next = error.source();
    }
    chain
}

fn request_id(headers: &HeaderMap, guard: &Guard) -> Option<String> {
    let value = REQUEST_IDS.iter().find_map(|name| headers.get(*name))?.to_str().ok()?;
    let fits = value.len() <= LONGEST_REQUEST_ID && guard.is_clean(value.as_bytes());
    fits.then(|| value.to_owned())
}

fn unix_millis(time: SystemTime) -> UnixMillis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
