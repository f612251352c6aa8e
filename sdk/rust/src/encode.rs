//! Percent-encoding by which no value can leave its place.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but RFC 3986's unreserved characters.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The bytes that the URL standard's form serialiser escapes; a space is handled apart.
const FORM: &AsciiSet = &NON_ALPHANUMERIC.remove(b'*').remove(b'-').remove(b'.').remove(b'_').remove(b' ');

/// One path segment (RFC 3986 section 3.3). None: `.`, `..` and the empty text have no spelling that
/// every parser takes for a segment.
pub(crate) fn segment(value: &str) -> Option<String> {
    match value {
        "" | "." | ".." => None,
        value => Some(utf8_percent_encode(value, RESERVED).to_string()),
    }
}

/// One `name=value` of a query component.
pub(crate) fn query_pair(name: &str, value: &str) -> String {
    format!("{}={}", utf8_percent_encode(name, RESERVED), utf8_percent_encode(value, RESERVED))
}

/// An `application/x-www-form-urlencoded` body.
pub(crate) fn form(fields: &[(&str, String)]) -> String {
    let plus = |text: &str| utf8_percent_encode(text, FORM).to_string().replace(' ', "+");
    let pairs: Vec<_> =
        fields.iter().map(|(name, value)| format!("{}={}", plus(name), plus(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::{form, query_pair, segment};

    #[test]
    fn no_segment_leaves_its_place() {
        let check = |input: &str, expected: Option<&str>| {
            assert_eq!(segment(input).as_deref(), expected, "{input:?}");
        };
        check("ch_1", Some("ch_1"));
        check("a/b", Some("a%2Fb"));
        check("../x", Some("..%2Fx"));
        check("a?b#c", Some("a%3Fb%23c"));
        check("%2e%2e", Some("%252e%252e"));
        check("a b\r\nX: y", Some("a%20b%0D%0AX%3A%20y"));
        check("é", Some("%C3%A9"));
        check("...", Some("..."));
        check("", None);
        check(".", None);
        check("..", None);
    }

    #[test]
    fn no_query_value_becomes_a_second_parameter() {
        let check = |name: &str, value: &str, expected: &str| {
            assert_eq!(query_pair(name, value), expected);
        };
        check("reference", "pp1", "reference=pp1");
        check("q", "a&admin=1", "q=a%26admin%3D1");
        check("q", "a b+c", "q=a%20b%2Bc");
        check("created[gte]", "17", "created%5Bgte%5D=17");
        check("q", "#;\\", "q=%23%3B%5C");
    }

    #[test]
    fn no_form_value_becomes_a_second_field() {
        let check = |fields: &[(&str, &str)], expected: &str| {
            let fields: Vec<_> = fields.iter().map(|(n, v)| (*n, (*v).to_owned())).collect();
            assert_eq!(form(&fields), expected);
        };
        check(&[], "");
        check(&[("a", "1"), ("b", "2")], "a=1&b=2");
        check(&[("metadata[x]", "y&amount=1")], "metadata%5Bx%5D=y%26amount%3D1");
        check(&[("d", "a b+c")], "d=a+b%2Bc");
        check(&[("d", "a%20b")], "d=a%2520b");
        check(&[("d", "é\r\n")], "d=%C3%A9%0D%0A");
        check(&[("d", "")], "d=");
    }
}
