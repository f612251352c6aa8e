//! How a response's end is known (RFC 9112 section 6.3), read strictly from its head. hyper decodes
//! the content; what it lets pass is refused here.

use http::header::{CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use http::{Method, StatusCode, Version};
use proofport_core::evidence::Cause;

/// What will prove that a response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// It has no content.
    NoContent,
    /// This many bytes of content.
    Length(u64),
    /// The chunked coding's terminator.
    Chunked,
    /// The end of the connection.
    Close,
    /// The end of the HTTP/2 stream.
    Stream,
}

impl Framing {
    /// Reads the framing.
    ///
    /// # Errors
    /// When there is none that can be relied on.
    pub(super) fn of(
        method: &Method,
        status: StatusCode,
        version: Version,
        headers: &HeaderMap,
    ) -> Result<Self, Cause> {
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Cause::UnexpectedUpgrade);
        }
        if has_no_class(status) {
            return Err(Cause::ProtocolError);
        }
        let lengths = headers.contains_key(CONTENT_LENGTH);
        let codings = headers.contains_key(TRANSFER_ENCODING);
        if lengths && codings {
            return Err(Cause::AmbiguousFraming);
        }
        let length = if lengths { Some(length(headers).ok_or(Cause::ProtocolError)?) } else { None };
        let no_content = [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
        if method == Method::HEAD || no_content {
            return Ok(Self::NoContent);
        }
        if codings {
            let mut values = headers.get_all(TRANSFER_ENCODING).iter();
            let only_chunked = values.next().is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"chunked"))
                && values.next().is_none();
            // We send no TE, so that no other coding may be used, and HTTP/1.0 has none at all.
            return if only_chunked && version == Version::HTTP_11 {
                Ok(Self::Chunked)
            } else {
                Err(Cause::ProtocolError)
            };
        }
        Ok(length.map_or(Self::Close, Self::Length))
    }
}

impl Framing {
    /// The framing of an HTTP/2 response: its stream's end. A Content-Length that doesn't agree with it
    /// is an error of the protocol, which the HTTP/2 library finds.
    ///
    /// # Errors
    /// When the response has what HTTP/2 doesn't (RFC 9113 sections 8.2.2, 8.6).
    pub(super) fn of_http2(status: StatusCode, headers: &HeaderMap) -> Result<Self, Cause> {
        match status {
            StatusCode::SWITCHING_PROTOCOLS => Err(Cause::UnexpectedUpgrade),
            _ if has_no_class(status) || headers.contains_key(TRANSFER_ENCODING) => Err(Cause::ProtocolError),
            _ => Ok(Self::Stream),
        }
    }
}

/// Whether a status means nothing (RFC 9110 section 15): then nobody knows what the rest means.
fn has_no_class(status: StatusCode) -> bool {
    status.as_u16() >= 600
}

/// The one Content-Length; several that are equal count as one (RFC 9110 section 8.6).
pub(super) fn length(headers: &HeaderMap) -> Option<u64> {
    let mut found = None;
    for value in headers.get_all(CONTENT_LENGTH) {
        for digits in value.to_str().ok()?.split(',').map(|digits| digits.trim_matches([' ', '\t'])) {
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            let number: u64 = digits.parse().ok()?;
            if found.is_some_and(|found| found != number) {
                return None;
            }
            found = Some(number);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, method: &Method, lines: &[(&str, &str)], expected: Result<Framing, Cause>) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let got = Framing::of(method, status, Version::HTTP_11, &headers);
        assert_eq!(got, expected, "{method} {status} {lines:?}");
    }

    #[test]
    fn framing_is_read_strictly() {
        let (cl, te) = ("content-length", "transfer-encoding");
        let get = &Method::GET;
        check(200, get, &[(cl, "5")], Ok(Framing::Length(5)));
        check(200, get, &[(cl, "5"), (cl, "5")], Ok(Framing::Length(5)));
        check(200, get, &[(cl, "5, 5")], Ok(Framing::Length(5)));
        check(200, get, &[(cl, "0")], Ok(Framing::Length(0)));
        check(200, get, &[(te, "Chunked")], Ok(Framing::Chunked));
        check(200, get, &[], Ok(Framing::Close));
        for odd in ["", "+5", "-5", "5, 6", "5,", "0x5", "5 5", "99999999999999999999"] {
            check(200, get, &[(cl, odd)], Err(Cause::ProtocolError));
        }
        check(200, get, &[(cl, "5"), (cl, "6")], Err(Cause::ProtocolError));
        check(200, get, &[(cl, "5"), (te, "chunked")], Err(Cause::AmbiguousFraming));
        for odd in ["gzip", "gzip, chunked", "chunked, chunked", "identity", "chunked, gzip", "xchunked"] {
            check(200, get, &[(te, odd)], Err(Cause::ProtocolError));
        }
        check(200, get, &[(te, "chunked"), (te, "chunked")], Err(Cause::ProtocolError));
        check(204, get, &[], Ok(Framing::NoContent));
        check(304, get, &[(cl, "5")], Ok(Framing::NoContent));
        check(200, &Method::HEAD, &[(cl, "5")], Ok(Framing::NoContent));
        check(200, &Method::HEAD, &[(te, "chunked")], Ok(Framing::NoContent));
        check(204, get, &[(cl, "5"), (te, "chunked")], Err(Cause::AmbiguousFraming));
        check(101, get, &[], Err(Cause::UnexpectedUpgrade));
    }

    #[test]
    fn http_1_0_has_no_codings() {
        let mut headers = HeaderMap::new();
        headers.insert(TRANSFER_ENCODING, "chunked".parse().unwrap());
        let got = Framing::of(&Method::GET, StatusCode::OK, Version::HTTP_10, &headers);
        assert_eq!(got, Err(Cause::ProtocolError));
    }
}
