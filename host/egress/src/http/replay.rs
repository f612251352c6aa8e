//! The header by which a service marks the answer to the first request with an idempotency key.

use http::header::HeaderMap;

/// Whether a response is marked so: the header is there, and no line of it says the opposite.
pub(super) fn marks(headers: &HeaderMap, name: &str) -> bool {
    let mut values = headers.get_all(name).iter().map(|value| value.as_bytes().trim_ascii()).peekable();
    let denies = |value: &[u8]| {
        // A service that sends it with every answer says no in one of these words, `?0` by RFC 9651.
        [&b"false"[..], b"?0", b"0", b"no"].iter().any(|no| value.eq_ignore_ascii_case(no))
    };
    values.peek().is_some() && !values.any(denies)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn the_header_marks_by_being_there() {
        let check = |lines: &[(&'static str, &'static str)], expected: bool| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                // Names come from the wire in any case.
                let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
                headers.append(name, value.parse().unwrap());
            }
            assert_eq!(marks(&headers, "idempotent-replayed"), expected, "{lines:?}");
        };
        check(&[], false);
        check(&[("idempotent-replay", "true"), ("x-idempotent-replayed", "true")], false);
        for value in ["true", "", "?1", "1"] {
            check(&[("Idempotent-Replayed", value)], true);
        }
        for value in ["false", " FALSE ", "?0", "0", "No"] {
            check(&[("idempotent-replayed", value)], false);
        }
        check(&[("idempotent-replayed", "true"), ("idempotent-replayed", "true")], true);
        check(&[("idempotent-replayed", "true"), ("idempotent-replayed", "false")], false);
    }
}
