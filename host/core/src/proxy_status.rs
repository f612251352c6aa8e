//! What intermediaries say of their handling in `Proxy-Status` (RFC 9209), and when that proves that
//! a request did not reach the origin.

use crate::closed::closed_enum;
use serde::{Deserialize, Serialize};

closed_enum! {
    /// The proxy error types of RFC 9209 section 2.3. `host/core/data/proxy-error-types.txt` says what
    /// each proves, and why.
    pub enum ProxyErrorType {
        /// The lookup of the next hop's name took too long.
        DnsTimeout = "dns_timeout",
        /// The lookup of the next hop's name failed.
        DnsError = "dns_error",
        /// The hop does not know where this request should go.
        DestinationNotFound = "destination_not_found",
        /// The hop takes the next one to be down.
        DestinationUnavailable = "destination_unavailable",
        /// The hop may not connect to that address.
        DestinationIpProhibited = "destination_ip_prohibited",
        /// There is no route to that address.
        DestinationIpUnroutable = "destination_ip_unroutable",
        /// The next hop refused the connection.
        ConnectionRefused = "connection_refused",
        /// The connection ended before the response did.
        ConnectionTerminated = "connection_terminated",
        /// Opening the connection took too long.
        ConnectionTimeout = "connection_timeout",
        /// Nothing more came over the connection in time.
        ConnectionReadTimeout = "connection_read_timeout",
        /// Nothing more could be written to the connection in time.
        ConnectionWriteTimeout = "connection_write_timeout",
        /// The hop has as many connections to the next one as it may have.
        ConnectionLimitReached = "connection_limit_reached",
        /// TLS with the next hop failed, at whatever point.
        TlsProtocolError = "tls_protocol_error",
        /// The next hop's certificate was not believed.
        TlsCertificateError = "tls_certificate_error",
        /// The next hop sent a TLS alert.
        TlsAlertReceived = "tls_alert_received",
        /// The hop made a 4xx answer in the origin's place.
        HttpRequestError = "http_request_error",
        /// The hop's rules forbid the request.
        HttpRequestDenied = "http_request_denied",
        /// The response broke off.
        HttpResponseIncomplete = "http_response_incomplete",
        /// The response's header section is too large.
        HttpResponseHeaderSectionSize = "http_response_header_section_size",
        /// A header of the response is too large.
        HttpResponseHeaderSize = "http_response_header_size",
        /// The response's content is too large.
        HttpResponseBodySize = "http_response_body_size",
        /// The response's trailer section is too large.
        HttpResponseTrailerSectionSize = "http_response_trailer_section_size",
        /// A trailer of the response is too large.
        HttpResponseTrailerSize = "http_response_trailer_size",
        /// The response's transfer coding can't be decoded.
        HttpResponseTransferCoding = "http_response_transfer_coding",
        /// The response's content coding can't be decoded.
        HttpResponseContentCoding = "http_response_content_coding",
        /// The whole response took too long.
        HttpResponseTimeout = "http_response_timeout",
        /// The next hop did not upgrade the protocol.
        HttpUpgradeFailed = "http_upgrade_failed",
        /// The next hop broke HTTP otherwise.
        HttpProtocolError = "http_protocol_error",
        /// The hop answered by itself.
        ProxyInternalResponse = "proxy_internal_response",
        /// Something in the hop failed.
        ProxyInternalError = "proxy_internal_error",
        /// The hop is configured wrongly.
        ProxyConfigurationError = "proxy_configuration_error",
        /// The request came back to a hop that had forwarded it.
        ProxyLoopDetected = "proxy_loop_detected",
    }
}

closed_enum! {
    /// What a proxy error type says of the request's way on from the hop that reports it.
    pub enum Forwarded {
        /// The type itself says that the request did not go to the next hop.
        No = "no",
        /// It may have gone.
        Unsure = "unsure",
    }
}

impl ProxyErrorType {
    /// What the type says of the request's way on. It is about one hop's last try: of a hop that
    /// retries, it says nothing about the tries before.
    #[must_use]
    pub const fn forwarded(self) -> Forwarded {
        match self {
            Self::DnsTimeout
            | Self::DnsError
            | Self::DestinationNotFound
            | Self::DestinationIpProhibited
            | Self::DestinationIpUnroutable
            | Self::ConnectionRefused
            | Self::ConnectionTimeout
            | Self::ConnectionLimitReached
            | Self::TlsCertificateError
            | Self::HttpRequestDenied => Forwarded::No,
            Self::DestinationUnavailable
            | Self::ConnectionTerminated
            | Self::ConnectionReadTimeout
            | Self::ConnectionWriteTimeout
            | Self::TlsProtocolError
            | Self::TlsAlertReceived
            | Self::HttpRequestError
            | Self::HttpResponseIncomplete
            | Self::HttpResponseHeaderSectionSize
            | Self::HttpResponseHeaderSize
            | Self::HttpResponseBodySize
            | Self::HttpResponseTrailerSectionSize
            | Self::HttpResponseTrailerSize
            | Self::HttpResponseTransferCoding
            | Self::HttpResponseContentCoding
            | Self::HttpResponseTimeout
            | Self::HttpUpgradeFailed
            | Self::HttpProtocolError
            | Self::ProxyInternalResponse
            | Self::ProxyInternalError
            | Self::ProxyConfigurationError
            | Self::ProxyLoopDetected => Forwarded::Unsure,
        }
    }
}

/// The longest name of a hop, in bytes.
pub const LONGEST_HOP: usize = 128;

/// The name by which an intermediary identifies itself: 1 to [`LONGEST_HOP`] bytes of printable ASCII.
/// Two are the same if every character is, however the field spelled them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hop(String);

impl Hop {
    /// Reads a name.
    ///
    /// # Errors
    /// When it is empty, too long, or holds anything but printable ASCII.
    pub fn parse(text: &str) -> Result<Self, InvalidHop> {
        let printable = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
        if printable && (1..=LONGEST_HOP).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidHop)
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Hop {
    type Error = InvalidHop;
    fn try_from(text: String) -> Result<Self, InvalidHop> {
        Self::parse(&text)
    }
}

impl From<Hop> for String {
    fn from(hop: Hop) -> Self {
        hop.0
    }
}

/// The text is not the name of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an intermediary: 1 to {LONGEST_HOP} characters of printable ASCII")]
pub struct InvalidHop;

/// An error that an entry carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorMention {
    /// One of the registered types.
    Known(ProxyErrorType),
    /// Anything else, so that a newer type, or one that is no token, is not taken for no error.
    Unregistered,
}

/// What one intermediary says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyStatusEntry {
    /// Who says it.
    pub hop: Hop,
    /// The error that it met, if it says so.
    pub error: Option<ErrorMention>,
}

/// The error type by which these entries prove that the request did not reach the origin; none where
/// they don't. `entries` are in the field's order: the hop nearest to the origin comes first, the one
/// nearest to us last. `trusted` are the hops which the admin knows to tell the truth and not to retry.
///
/// It is proved when all of this holds:
/// - exactly one entry carries an error, and the error's type says that nothing was forwarded;
/// - that entry comes first: a hop before it would have handled a response, and so the request;
/// - it and every hop after it are trusted, since any one on the way to us could have written what
///   stands before its own entry, or have tried elsewhere before.
#[must_use]
pub fn refusal(entries: &[ProxyStatusEntry], trusted: &[Hop]) -> Option<ProxyErrorType> {
    let (reporting, nearer) = entries.split_first()?;
    let Some(ErrorMention::Known(error)) = reporting.error else { return None };
    let alone = nearer.iter().all(|entry| entry.error.is_none());
    let known = entries.iter().all(|entry| trusted.contains(&entry.hop));
    match error.forwarded() {
        Forwarded::No if alone && known => Some(error),
        Forwarded::No | Forwarded::Unsure => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = include_str!("../data/proxy-error-types.txt");

    #[test]
    fn the_enum_and_its_table_are_the_same() {
        let rows: Vec<Vec<&str>> = TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        for (index, row) in rows.iter().enumerate() {
            let [name, forwarded, section, why] = row[..] else { panic!("four columns: {row:?}") };
            let known = ProxyErrorType::parse(name).unwrap_or_else(|| panic!("{name} is no variant"));
            assert_eq!(Forwarded::parse(forwarded), Some(known.forwarded()), "{name}");
            // RFC 9209 has them in one sequence, so that a row too many or out of place shows.
            assert_eq!(section, format!("2.3.{}", index + 1), "{name}");
            assert!(!why.is_empty(), "{name}");
        }
        let names: Vec<&str> = rows.iter().map(|row| row[0]).collect();
        let variants: Vec<&str> = ProxyErrorType::ALL.iter().map(|known| known.as_str()).collect();
        assert_eq!(variants, names);
        assert_eq!(names.len(), 32);
    }

    /// `name` or `name!error`; `?` is an unregistered one.
    fn entries(text: &str) -> Vec<ProxyStatusEntry> {
        let entry = |text: &str| {
            let (hop, error) = text.split_once('!').map_or((text, None), |(hop, e)| (hop, Some(e)));
            let known = |error| ProxyErrorType::parse(error).map(ErrorMention::Known);
            let error = error.map(|error| known(error).unwrap_or(ErrorMention::Unregistered));
            ProxyStatusEntry { hop: Hop::parse(hop).unwrap(), error }
        };
        text.split_whitespace().map(entry).collect()
    }

    fn check(said: &str, trusted: &[&str], expected: Option<ProxyErrorType>) {
        let trusted: Vec<Hop> = trusted.iter().map(|hop| Hop::parse(hop).unwrap()).collect();
        assert_eq!(refusal(&entries(said), &trusted), expected, "{said} with {trusted:?}");
    }

    #[test]
    fn a_refusal_is_proved_or_not() {
        use ProxyErrorType::{ConnectionRefused, HttpRequestDenied};
        let both = ["far", "near"];
        check("far!http_request_denied", &both, Some(HttpRequestDenied));
        check("far!connection_refused near", &both, Some(ConnectionRefused));
        check("near!connection_refused", &["near"], Some(ConnectionRefused));
        // Nothing is said, or nothing that proves it.
        check("", &both, None);
        check("far near", &both, None);
        check("far!?", &both, None);
        check("far!connection_terminated", &both, None);
        check("far!destination_unavailable", &both, None);
        check("far!proxy_internal_response", &both, None);
        // More than one error.
        check("far!connection_refused near!connection_refused", &both, None);
        check("far!connection_refused near!?", &both, None);
        check("far!connection_terminated near!connection_refused", &both, None);
        check("far!connection_refused near!connection_terminated", &both, None);
        // A hop nearer to the origin handled a response.
        check("far near!connection_refused", &both, None);
        // Not trusted, wherever it stands.
        check("far!connection_refused", &[], None);
        check("far!connection_refused near", &["far"], None);
        check("far!connection_refused near", &["near"], None);
        check("far!connection_refused mid near", &both, None);
        check("Far!connection_refused", &both, None);
    }

    #[test]
    fn each_type_alone_is_a_refusal_where_nothing_was_forwarded() {
        for error in ProxyErrorType::ALL {
            let expected = (error.forwarded() == Forwarded::No).then_some(*error);
            check(&format!("hop!{error}"), &["hop"], expected);
        }
    }

    #[test]
    fn hops_are_bounded_ascii() {
        for good in ["a", "Example CDN", "proxy-3.example.com", "10.0.0.1", "\"", &"a".repeat(LONGEST_HOP)] {
            assert_eq!(Hop::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "é", "a\n", "a\tb", "\u{7f}", &"a".repeat(LONGEST_HOP + 1)] {
            assert_eq!(Hop::parse(bad), Err(InvalidHop), "{bad:?}");
        }
    }

    #[test]
    fn entries_keep_their_form() {
        let said = entries("far!dns_error mid!? near");
        let json = r#"[{"hop":"far","error":{"known":"dns_error"}},{"hop":"mid","error":"unregistered"},{"hop":"near","error":null}]"#;
        assert_eq!(serde_json::to_string(&said).unwrap(), json);
        assert_eq!(serde_json::from_str::<Vec<ProxyStatusEntry>>(json).unwrap(), said);
        assert!(serde_json::from_str::<ProxyStatusEntry>(r#"{"hop":"é","error":null}"#).is_err());
    }
}
