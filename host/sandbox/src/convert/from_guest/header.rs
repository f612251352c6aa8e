//! Header fields (RFC 9110 section 5).

/// The lower-case form of a field name, if it is one.
pub(super) fn name(text: &str) -> Option<String> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    (!text.is_empty() && text.len() <= 256 && text.bytes().all(token)).then(|| text.to_ascii_lowercase())
}

/// Whether a text is a field value: visible ASCII, spaces and tabs within.
pub(super) fn is_value(text: &str) -> bool {
    let allowed = |b: u8| b == b'\t' || (b' '..=b'~').contains(&b);
    text.len() <= 8 * 1024 && text.bytes().all(allowed) && text.trim_matches([' ', '\t']) == text
}

/// Whether a response header may be kept: it carries no credential in either direction.
pub(super) fn may_be_kept(lower_case_name: &str) -> bool {
    !matches!(
        lower_case_name,
        "set-cookie"
            | "set-cookie2"
            | "cookie"
            | "authorization"
            | "proxy-authorization"
            | "www-authenticate"
            | "proxy-authenticate"
            | "authentication-info"
            | "proxy-authentication-info"
            | "x-amz-security-token"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tokens_in_lower_case() {
        let check =
            |text: &str, expected: Option<&str>| assert_eq!(name(text).as_deref(), expected, "{text:?}");
        check("Content-Type", Some("content-type"));
        check("x_y.z!", Some("x_y.z!"));
        for bad in ["", "a b", "a:b", "a\r\nb", "é", "a\0", "a(b)"] {
            check(bad, None);
        }
    }

    #[test]
    fn values_hold_no_line_break() {
        for good in ["", "text/plain; charset=utf-8", "a\tb", "~"] {
            assert!(is_value(good), "{good:?}");
        }
        for bad in ["a\r\nx: y", "a\n", "\0", "é", " a", "a ", "\u{7f}"] {
            assert!(!is_value(bad), "{bad:?}");
        }
    }
}
