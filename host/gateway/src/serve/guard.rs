//! What keeps web pages away. A page in a browser on this machine can reach a loopback address, and by
//! rebinding its own name to that address it can even read what is answered; its requests then name a host
//! that is none of ours, or an origin.

use super::entrance::Line;
use crate::config::{ServeConfig, in_brackets};
use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// The names of the loopback addresses.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Whether a request may come in at all. No page can reach a Unix socket, and what clients name there as
/// the host is up to them.
pub(super) fn permits(line: &Line, headers: &HeaderMap, uri: &Uri, settings: &ServeConfig) -> bool {
    let names_us = match line {
        Line::Socket(_) => true,
        Line::Http => host(headers, uri).is_some_and(|host| is_ours(&host, &settings.hosts)),
    };
    names_us && headers.get_all(ORIGIN).iter().all(|origin| is_listed(origin.as_bytes(), &settings.origins))
}

/// The host that a request names: once, and the same one wherever it does.
fn host(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let mut named = headers.get_all(HOST).iter();
    let (first, more) = (named.next()?, named.next());
    let authority: Authority = first.to_str().ok()?.parse().ok()?;
    let is_other = |target: &Authority| !target.host().eq_ignore_ascii_case(authority.host());
    if more.is_some() || uri.authority().is_some_and(is_other) {
        return None;
    }
    Some(in_brackets(authority.host()).unwrap_or_else(|| authority.host().to_ascii_lowercase()))
}

fn is_ours(host: &str, listed: &[String]) -> bool {
    LOOPBACK.contains(&host) || listed.iter().any(|listed| listed == host)
}

fn is_listed(origin: &[u8], listed: &[String]) -> bool {
    listed.iter().any(|listed| origin.eq_ignore_ascii_case(listed.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn request(target: &str, fields: &[(&str, &str)]) -> (HeaderMap, Uri) {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        (headers, target.parse().unwrap())
    }

    #[test]
    fn only_requests_for_our_own_names_come_in_over_http() {
        let hosts = vec!["agents.internal".to_owned(), "[fd00::1]".to_owned()];
        let settings = ServeConfig { hosts, ..ServeConfig::default() };
        let check = |target: &str, fields: &[(&str, &str)], expected: bool| {
            let (headers, uri) = request(target, fields);
            assert_eq!(permits(&Line::Http, &headers, &uri, &settings), expected, "{target} {fields:?}");
        };
        for host in [
            "localhost",
            "LocalHost:7433",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:7433",
            "agents.internal",
            "[FD00:0::1]:1",
        ] {
            check("/healthz", &[("host", host)], true);
        }
        for host in
            ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "127.0.0.2", "", "a@localhost/"]
        {
            check("/healthz", &[("host", host)], false);
        }
        check("/healthz", &[], false);
        check("/healthz", &[("host", "localhost"), ("host", "localhost")], false);
        check("http://localhost/healthz", &[("host", "localhost:80")], true);
        check("http://evil.test/healthz", &[("host", "localhost")], false);
    }

    #[test]
    fn a_page_comes_in_only_where_its_origin_is_listed() {
        let settings =
            ServeConfig { origins: vec!["https://console.example".to_owned()], ..ServeConfig::default() };
        let check = |line: &Line, origins: &[&str], expected: bool| {
            let mut fields = vec![("host", "localhost")];
            fields.extend(origins.iter().map(|origin| ("origin", *origin)));
            let (headers, uri) = request("/v1/call", &fields);
            assert_eq!(permits(line, &headers, &uri, &settings), expected, "{origins:?}");
        };
        for line in [&Line::Http, &Line::Socket(None)] {
            check(line, &[], true);
            check(line, &["https://console.example"], true);
            check(line, &["HTTPS://Console.example"], true);
            for origin in ["null", "http://localhost:3000", "https://console.example.evil.test", ""] {
                check(line, &[origin], false);
            }
            check(line, &["https://console.example", "https://evil.test"], false);
        }
    }
}
