//! What lies between this host and an origin.

use super::*;
use proofport_broker::Fresh;
use std::net::IpAddr;

fn shop(lines: &str) -> ConnectionConfig {
    let text = format!(
        "[connections.shop]\nconnector = \"DIGEST\"\norigins = [\"https://api.example.com\"]\n{lines}"
    );
    parse(&text).unwrap().connections.remove(&Name::parse("shop").unwrap()).unwrap()
}

#[test]
fn a_connection_without_these_keys_has_the_defaults() {
    let plain = shop("");
    assert_eq!((plain.proxy, plain.pins, plain.redirect_origins), (None, vec![], vec![]));
    assert_eq!((plain.trusted_hops, plain.fresh_connections), (vec![], Fresh::Unrepeatable));
    assert!(!plain.no_repeating_hops);
    let limits = plain.limits;
    assert_eq!((limits.connections_per_origin, limits.idle_seconds), (8, 30));
    assert_eq!(limits.content_bytes, 1024 * 1024 * 1024);
}

#[test]
fn everything_is_read() {
    let shop = shop(&format!(
        "pins = [\"{DIGEST}\"]\nredirect_origins = [\"https://api.example.com\", \"https://b.example:8443\"]\n\
         trusted_hops = [\"Edge 1\", \"shield\"]\nfresh_connections = \"always\"\nrepeating_hops = \"none\"\n\
         [connections.shop.limits]\nconnections_per_origin = 2\nidle_seconds = 5\ncontent_bytes = 7\n\
         [connections.shop.proxy]\nurl = \"http://10.0.0.1:3128\"\nresolve = \"proxy\"\naddresses = [\"10.1.0.0/16\"]\n\
         secret = \"proxy-key\"\nuser = \"me\"\n",
    ));
    assert_eq!(shop.pins(), [Digest::parse(DIGEST).unwrap()]);
    let origins: Vec<String> = shop.redirect_origins().iter().map(ToString::to_string).collect();
    assert_eq!(origins, ["https://api.example.com", "https://b.example:8443"]);
    let hops: Vec<String> = shop.trusted_hops().into_iter().map(String::from).collect();
    assert_eq!(hops, ["Edge 1", "shield"]);
    assert_eq!(shop.fresh_connections, Fresh::Always);
    assert!(shop.no_repeating_hops);
    let limits = shop.limits;
    assert_eq!((limits.connections_per_origin, limits.idle().as_secs(), limits.content_bytes), (2, 5, 7));
    let proxy = shop.proxy.unwrap();
    assert_eq!(
        (proxy.origin.value.to_string().as_str(), proxy.resolve),
        ("http://10.0.0.1:3128", Resolve::Proxy)
    );
    assert_eq!(proxy.place, Place { line: 13, column: 19 });
    let credential = proxy.credential.as_ref().unwrap();
    assert_eq!((credential.user.as_str(), credential.secret.value.as_str()), ("me", "proxy-key"));
    let may = |address: &str| proxy.address_policy().check(address.parse::<IpAddr>().unwrap()).is_ok();
    assert!(may("10.0.0.1") && may("10.1.2.3") && may("1.1.1.1"));
    assert!(!may("10.0.0.2") && !may("127.0.0.1"));
}

/// A proxy with these lines, which begin at line 5; `@` stands for its section.
fn check_proxy(lines: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(|e| e.replace("@.", "connections.shop.proxy.")).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    check_in_connection(&format!("[connections.shop.proxy]\n{lines}\n"), &expected);
}

#[test]
fn a_proxy_is_plain_http_with_a_port() {
    for url in ["http://proxy.example:3128", "http://127.0.0.1:8080", "http://[::1]:80", "http://h:80"] {
        check_proxy(&format!("url = \"{url}\""), &[]);
    }
    for (url, what) in [
        ("https://proxy.example:3128", "asks for TLS with the proxy itself, which this version can't do"),
        ("http://proxy.example", "names no port, and proxies have no usual one"),
        ("http://[::80]", "names no port, and proxies have no usual one"),
        ("http://u:p@proxy.example:3128", "an origin has no user name or password in it (an `@` was found)"),
        ("socks5://proxy.example:1080", "an origin begins with `https://` or `http://`, in lower case"),
        ("proxy.example:3128", "an origin begins with `https://` or `http://`, in lower case"),
        (
            "http://proxy.example:3128/",
            "an origin ends after host and port: no path, query, fragment or backslash",
        ),
        ("http://h:0", "the port is not a number from 1 to 65535 without leading zeros"),
    ] {
        check_proxy(&format!("url = \"{url}\""), &[&format!("5:7 @.url: {what}")]);
    }
    check_proxy("", &["4:19 @.url: is missing"]);
    check_proxy("url = 1", &["5:7 @.url: is of type integer"]);
    check_proxy("url = \"http://h:1\"\nport = 3128", &["6:1 @.port: is not a known key"]);
    check_in_connection("proxy = \"http://h:1\"\n", &["4:9 connections.shop.proxy: is of type string"]);
}

#[test]
fn a_proxys_section_is_read_to_its_end() {
    let right = "url = \"http://h:1\"\n";
    for word in ["host", "proxy"] {
        check_proxy(&format!("{right}resolve = \"{word}\""), &[]);
    }
    for value in ["\"Host\"", "\"\"", "\"local\""] {
        let what = "6:11 @.resolve: is neither \"host\" nor \"proxy\"";
        check_proxy(&format!("{right}resolve = {value}"), &[what]);
    }
    check_proxy(&format!("{right}resolve = true"), &["6:11 @.resolve: is of type boolean"]);
    check_proxy(
        &format!("{right}addresses = [\"10.0.0.1/8\"]"),
        &["6:14 @.addresses[0]: has bits set behind its prefix"],
    );
    check_proxy(&format!("{right}user = \"u\""), &["4:19 @.secret: is missing"]);
    check_proxy(&format!("{right}secret = \"s\""), &["4:19 @.user: is missing"]);
    check_proxy(
        &format!("{right}secret = \"S\"\nuser = \"a:b\""),
        &[
            "6:10 @.secret: is not the name of a secret",
            "7:8 @.user: is not a user name of HTTP Basic (RFC 7617)",
        ],
    );
    check_proxy(
        "url = \"x\"\nresolve = \"x\"\nsecret = 1\nuser = 2\naddresses = 3",
        &[
            "5:7 @.url: an origin begins with `https://` or `http://`, in lower case",
            "6:11 @.resolve: is neither \"host\" nor \"proxy\"",
            "7:10 @.secret: is of type integer",
            "8:8 @.user: is of type integer",
            "9:13 @.addresses: is of type integer",
        ],
    );
}

#[test]
fn a_plain_origin_is_resolved_by_the_proxy() {
    let check_origins = |origins: &str, lines: &str, expected: &[&str]| {
        let text = format!(
            "[connections.a]\nconnector = \"DIGEST\"\norigins = [{origins}]\n[connections.a.proxy]\nurl = \"http://h:1\"\n{lines}\n"
        );
        check(&text, expected);
    };
    let what =
        "can't be \"host\" while an origin is plain http: a proxy resolves such an origin's name itself";
    for plain in ["\"http://a.example\"", "\"https://b.example\", \"http://a.example\""] {
        check_origins(plain, "", &[&format!("4:16 connections.a.proxy.resolve: {what}")]);
        check_origins(plain, "resolve = \"host\"", &[&format!("6:11 connections.a.proxy.resolve: {what}")]);
        check_origins(plain, "resolve = \"proxy\"", &[]);
        // One mistake is enough.
        check_origins(
            plain,
            "resolve = \"x\"",
            &["6:11 connections.a.proxy.resolve: is neither \"host\" nor \"proxy\""],
        );
    }
    check_origins("\"https://a.example\"", "", &[]);
}

#[test]
fn pins_are_digests_of_certificates() {
    check_in_connection("pins = []\n", &[]);
    check_in_connection(&format!("pins = [\"{DIGEST}\"]\n"), &[]);
    let digest = "not a digest: it is `sha256:` and 64 lower-case hexadecimal digits";
    check_in_connection(
        &format!("pins = [\"{DIGEST}\", \"sha256/AAAA\", \"{DIGEST}\", 1]\n"),
        &[
            &format!("4:84 connections.shop.pins[1]: {digest}"),
            "4:99 connections.shop.pins[2]: is listed already",
            "4:174 connections.shop.pins[3]: is of type integer",
        ],
    );
    check_in_connection("pins = \"x\"\n", &["4:8 connections.shop.pins: is of type string"]);
    check(
        &format!(
            "[connections.a]\nconnector = \"DIGEST\"\norigins = [\"https://a.example\", \"http://b.example\"]\npins = [\"{DIGEST}\"]\n"
        ),
        &["4:1 connections.a.pins: can't hold for a plain http origin, which shows no certificate"],
    );
}

#[test]
fn effects_are_redirected_to_https_origins() {
    // One that is an origin already is not listed twice by being listed here.
    check_in_connection("redirect_origins = [\"https://api.example.com\", \"https://b.example\"]\n", &[]);
    check_in_connection(
        "redirect_origins = [\"http://b.example\", \"https://c.example/\", \"https://d.example\", \"https://d.example:443\"]\n",
        &[
            "4:21 connections.shop.redirect_origins[0]: is plain http, and an effect is redirected to https only",
            "4:41 connections.shop.redirect_origins[1]: an origin ends after host and port: no path, query, fragment or backslash",
            "4:84 connections.shop.redirect_origins[3]: is listed already",
        ],
    );
}

#[test]
fn of_repeating_hops_only_their_absence_can_be_said() {
    check_in_connection("repeating_hops = \"none\"\n", &[]);
    for value in ["true", "\"some\"", "[]", "\"\""] {
        let wrong = "4:18 connections.shop.repeating_hops: can only be \"none\"";
        check_in_connection(&format!("repeating_hops = {value}\n"), &[wrong]);
    }
}

#[test]
fn trusted_hops_are_names() {
    check_in_connection("trusted_hops = [\"Edge 1\", \"edge 1\", \"10.0.0.1\"]\n", &[]);
    let hop = "not the name of an intermediary: 1 to 128 characters of printable ASCII";
    check_in_connection(
        "trusted_hops = [\"a\", \"\", \"é\", \"a\"]\n",
        &[
            &format!("4:22 connections.shop.trusted_hops[1]: {hop}"),
            &format!("4:26 connections.shop.trusted_hops[2]: {hop}"),
            "4:31 connections.shop.trusted_hops[3]: is listed already",
        ],
    );
    let many = |n: usize| (0..n).map(|i| format!("\"h{i}\"")).collect::<Vec<_>>().join(", ");
    check_in_connection(&format!("trusted_hops = [{}]\n", many(64)), &[]);
    check_in_connection(
        &format!("trusted_hops = [{}]\n", many(65)),
        &["4:16 connections.shop.trusted_hops: has more than 64 elements"],
    );
}

#[test]
fn fresh_connections_are_a_word() {
    use Fresh::{Always, Effects, Never};
    let read = |word: &str| shop(&format!("fresh_connections = \"{word}\"\n")).fresh_connections;
    assert_eq!((read("effects"), read("always"), read("never")), (Effects, Always, Never));
    for value in ["\"default\"", "\"unrepeatable\"", "\"Never\""] {
        let what = "is none of \"effects\", \"always\" and \"never\"";
        check_in_connection(
            &format!("fresh_connections = {value}\n"),
            &[&format!("4:21 connections.shop.fresh_connections: {what}")],
        );
    }
    check_in_connection(
        "fresh_connections = false\n",
        &["4:21 connections.shop.fresh_connections: is of type boolean"],
    );
}
