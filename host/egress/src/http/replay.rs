//! The header by which a service marks the answer to the first request with an idempotency key.

use http::header::HeaderMap;

/// Whether a response is marked so: the header is there, and every value of it says yes, by nothing or by one
/// of these words, `?1` by RFC 9651. Whatever else it may say is no ground for taking a refusal for the first
/// request's.
pub(super) fn marks(headers: &HeaderMap, name: &str) -> bool {
    let lines = headers.get_all(name).iter();
    // Intermediaries may join the lines of a header (RFC 9110 section 5.2).
    let mut values = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).peekable();
    let agrees = |value: &[u8]| {
        let yes = [&b""[..], b"true", b"?1", b"1", b"yes"];
        yes.iter().any(|word| value.trim_ascii().eq_ignore_ascii_case(word))
    };
    values.peek().is_some() && values.all(agrees)
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
        for value in ["false", " FALSE ", "?0", "0", "No", "MISS", "none", "off", "?0;x", "\"false\"", "2"] {
            check(&[("idempotent-replayed", value)], false);
        }
        check(&[("idempotent-replayed", "true"), ("idempotent-replayed", "true")], true);
        check(&[("idempotent-replayed", "true, true")], true);
        check(&[("idempotent-replayed", "true, false")], false);
        check(&[("idempotent-replayed", "false, false")], false);
        check(&[("idempotent-replayed", "true"), ("idempotent-replayed", "false")], false);
    }
}
