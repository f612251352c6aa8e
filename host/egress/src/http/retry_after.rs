//! `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date. A date is read against the
//! response's own `Date`, so that no clock of ours is asked.

use http::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// The delay that the remote asks for, in seconds; none where it is absent, repeated or unreadable.
pub(super) fn seconds(headers: &HeaderMap) -> Option<u32> {
    let value = only(headers, &RETRY_AFTER)?;
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        // Longer than a century is as good as for ever.
        return Some(value.parse().unwrap_or(u32::MAX));
    }
    let until = date(value)?;
    let now = date(only(headers, &DATE)?)?;
    u32::try_from((until - now).whole_seconds().max(0)).ok()
}

fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value.trim())
}

/// An IMF-fixdate; the obsolete forms are not read.
fn date(text: &str) -> Option<OffsetDateTime> {
    text.ends_with(" GMT").then(|| OffsetDateTime::parse(text, &Rfc2822).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[(HeaderName, &str)], expected: Option<u32>) {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, value.parse().unwrap());
        }
        assert_eq!(seconds(&headers), expected, "{lines:?}");
    }

    #[test]
    fn delays_are_read() {
        let now = || (DATE, "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[], None);
        check(&[(RETRY_AFTER, "0")], Some(0));
        check(&[(RETRY_AFTER, "120")], Some(120));
        check(&[(RETRY_AFTER, "99999999999")], Some(u32::MAX));
        check(&[(RETRY_AFTER, "1"), (RETRY_AFTER, "2")], None);
        for odd in ["", "-1", "+1", "1.5", "1 s", "soon", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            check(&[(RETRY_AFTER, odd), now()], None);
        }
        check(&[(RETRY_AFTER, "Sun, 06 Nov 1994 08:51:37 GMT"), now()], Some(120));
        check(&[(RETRY_AFTER, "Sun, 06 Nov 1994 08:40:37 GMT"), now()], Some(0));
        check(&[(RETRY_AFTER, "Sun, 06 Nov 1994 08:51:37 GMT")], None);
        check(&[(RETRY_AFTER, "Sunday, 06-Nov-94 08:51:37 GMT"), now()], None);
    }
}
