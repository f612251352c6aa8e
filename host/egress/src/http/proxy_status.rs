//! `Proxy-Status` (RFC 9209): what intermediaries say of a response, read as one structured field.
//! What it proves is decided in the core.

use http::HeaderMap;
use proofport_core::proxy_status::{ErrorMention, Hop, ProxyErrorType, ProxyStatusEntry};
use sfv::{BareItem, Item, List, ListEntry, Parser, Version};

/// The field's name.
pub(super) const PROXY_STATUS: &str = "proxy-status";

/// The most bytes that are read, all lines together.
const LARGEST: usize = 8 * 1024;

/// The most entries that are read: more hops than a request passes.
const MOST_ENTRIES: usize = 16;

/// What a message's `Proxy-Status` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProxyStatus {
    /// These entries, the hop nearest to the origin first; none where the field is absent.
    Said(Vec<ProxyStatusEntry>),
    /// The field can't be read as a whole, so nothing in it counts (RFC 9651 section 4.2).
    Malformed,
}

impl ProxyStatus {
    /// What may be relied on: nothing of a field that can't be read.
    pub(super) fn entries(&self) -> &[ProxyStatusEntry] {
        match self {
            Self::Said(entries) => entries,
            Self::Malformed => &[],
        }
    }
}

/// Reads every line of the field as one List. A List that is too large for a chain of hops is
/// malformed too.
pub(super) fn read(headers: &HeaderMap) -> ProxyStatus {
    let mut joined = Vec::new();
    for (index, line) in headers.get_all(PROXY_STATUS).iter().enumerate() {
        if index > 0 {
            joined.extend_from_slice(b", ");
        }
        joined.extend_from_slice(line.as_bytes());
        if joined.len() > LARGEST {
            return ProxyStatus::Malformed;
        }
    }
    entries(&joined).map_or(ProxyStatus::Malformed, ProxyStatus::Said)
}

fn entries(field: &[u8]) -> Option<Vec<ProxyStatusEntry>> {
    // RFC 9209 defines the field by RFC 8941, which has no dates and display strings.
    let list: List = Parser::new(field).with_version(Version::Rfc8941).parse().ok()?;
    if list.len() > MOST_ENTRIES {
        return None;
    }
    list.iter().map(entry).collect()
}

fn entry(member: &ListEntry) -> Option<ProxyStatusEntry> {
    let item = match member {
        ListEntry::Item(item) => item,
        ListEntry::InnerList(_) => return None,
    };
    Some(ProxyStatusEntry { hop: hop(item)?, error: item.params.get("error").map(mention) })
}

fn hop(item: &Item) -> Option<Hop> {
    let text = match &item.bare_item {
        BareItem::String(text) => text.as_str(),
        BareItem::Token(token) => token.as_str(),
        BareItem::Integer(_)
        | BareItem::Decimal(_)
        | BareItem::ByteSequence(_)
        | BareItem::Boolean(_)
        | BareItem::Date(_)
        | BareItem::DisplayString(_) => return None,
    };
    Hop::parse(text).ok()
}

/// An error of the wrong type is an error all the same.
fn mention(value: &BareItem) -> ErrorMention {
    let token = value.as_token().and_then(|token| ProxyErrorType::parse(token.as_str()));
    token.map_or(ErrorMention::Unregistered, ErrorMention::Known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// Each expected entry is `name`, `name!error` or, unregistered, `name!?`; none: malformed.
    fn check_bytes(lines: &[&[u8]], expected: Option<&[&str]>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(PROXY_STATUS, HeaderValue::from_bytes(line).unwrap());
        }
        let shown = |entry: &ProxyStatusEntry| {
            let hop = entry.hop.as_str();
            match entry.error {
                None => hop.to_owned(),
                Some(ErrorMention::Known(error)) => format!("{hop}!{error}"),
                Some(ErrorMention::Unregistered) => format!("{hop}!?"),
            }
        };
        let status = read(&headers);
        let got: Option<Vec<String>> = match &status {
            ProxyStatus::Said(entries) => Some(entries.iter().map(shown).collect()),
            ProxyStatus::Malformed => None,
        };
        let expected: Option<Vec<String>> = expected.map(|e| e.iter().map(ToString::to_string).collect());
        assert_eq!(got, expected, "{lines:?}");
        assert_eq!(status.entries().len(), expected.map_or(0, |entries| entries.len()), "{lines:?}");
    }

    fn check(lines: &[&str], expected: Option<&[&str]>) {
        let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        check_bytes(&lines, expected);
    }

    #[test]
    fn entries_are_read_in_order() {
        check(&[], Some(&[]));
        check(&[""], Some(&[]));
        check(&["FooProxy, ExampleCDN"], Some(&["FooProxy", "ExampleCDN"]));
        check(&["FooProxy", "ExampleCDN"], Some(&["FooProxy", "ExampleCDN"]));
        check(&["\"Example CDN\"; error=dns_timeout"], Some(&["Example CDN!dns_timeout"]));
        check(
            &[
                "a;next-hop=\"b:80\";error=connection_refused;details=\"x, y; error=dns_error\", b;received-status=502",
            ],
            Some(&["a!connection_refused", "b"]),
        );
        check(&["a;error=something_new"], Some(&["a!?"]));
    }

    #[test]
    fn an_error_of_the_wrong_type_is_no_known_one() {
        for value in ["\"dns_error\"", "1", "1.5", "?1", ":ZG5zX2Vycm9y:", "DNS_ERROR", "dns_error/x"] {
            check(&[&format!("a;error={value}")], Some(&["a!?"]));
        }
        // A bare parameter is true.
        check(&["a;error"], Some(&["a!?"]));
        // The last of the same name counts (RFC 9651 section 4.2.3.2).
        check(&["a;error=dns_error;error=connection_terminated"], Some(&["a!connection_terminated"]));
        check(&["a;error=dns_error;error=\"x\""], Some(&["a!?"]));
        // Parameter names are in lower case.
        check(&["a;Error=dns_error"], None);
        // Other parameters are nobody's business, whatever their types.
        check(&["a;next-hop=1;details=?0;received-status=\"x\""], Some(&["a"]));
    }

    #[test]
    fn what_can_not_be_read_says_nothing() {
        for line in [
            "(a b)",
            "a, (b;error=dns_error)",
            "()",
            "1",
            "1.5",
            "?1",
            ":YQ==:",
            "@1659578233",
            "%\"x\"",
            "a;when=@1659578233",
            "a,",
            ",a",
            "a,,b",
            "a b",
            "a;",
            "a;error=",
            "a;error=dns_error x",
            "\"open",
            "\"\\x\"",
            "\"\"",
            "=",
            "a\tb",
        ] {
            check(&[line], None);
            // One bad member spoils the good ones.
            check(&["good;error=dns_error", line], None);
        }
        check(&["a", ""], None);
        check_bytes(&["\"é\"".as_bytes()], None);
        check_bytes(&[b"a;error=\xff"], None);
    }

    #[test]
    fn sizes_are_bounded() {
        let many = |n: usize| vec!["a"; n].join(", ");
        check(&[&many(MOST_ENTRIES)], Some(&["a"; MOST_ENTRIES]));
        check(&[&many(MOST_ENTRIES + 1)], None);
        check(&vec!["a"; MOST_ENTRIES + 1], None);
        let long = "a".repeat(128);
        check(&[&long], Some(&[&long]));
        check(&[&"a".repeat(129)], None);
        let padded = |n: usize| format!("a;details=\"{}\"", "x".repeat(n - 12));
        check(&[&padded(LARGEST)], Some(&["a"]));
        check(&[&padded(LARGEST + 1)], None);
        check(&["a", &padded(LARGEST)], None);
        check(&[&"a;b".repeat(1_000_000)], None);
    }
}
