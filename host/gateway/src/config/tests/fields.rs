//! One field at a time.

use super::*;
use proofport_core::contract::{Effect, Repeat, RepeatKind};
use proofport_core::manifest::Contract;

#[test]
fn addresses_are_ranges() {
    check_in_connection("addresses = []\n", &[]);
    check_in_connection(
        "addresses = [\"0.0.0.0/0\", \"::/0\", \"localhost\", \"10.0.0.0/33\", \"127.0.0.1/32\"]\n",
        &[
            "4:14 connections.shop.addresses[0]: is the whole internet and every network behind this host",
            "4:27 connections.shop.addresses[1]: is the whole internet and every network behind this host",
            "4:35 connections.shop.addresses[2]: is neither an address nor a range",
            "4:48 connections.shop.addresses[3]: is neither an address nor a range",
        ],
    );
    check_in_connection(
        "addresses = \"127.0.0.1\"\n",
        &["4:13 connections.shop.addresses: is of type string"],
    );
}

#[test]
fn a_mode_has_exactly_its_companions() {
    let field = "connections.shop.credentials.api_key";
    let check = |lines: &str, expected: &[&str]| {
        let expected: Vec<String> = expected.iter().map(|line| line.replace('@', field)).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check_credential(&format!("secret = \"s\"\n{lines}\n"), &expected);
    };
    check("mode = \"http_bearer\"", &[]);
    check("mode = \"http_basic\"", &["4:31 @.user: is missing"]);
    check("mode = \"http_header\"", &["4:31 @.header: is missing"]);
    check("mode = \"http_query\"", &["4:31 @.query: is missing"]);
    check("mode = \"http_bearer\"\nuser = \"u\"", &["7:1 @.user: has no meaning with the mode http_bearer"]);
    check(
        "mode = \"http_query\"\nquery = \"q\"\nuser = \"u\"\nheader = \"h\"",
        &[
            "8:1 @.user: has no meaning with the mode http_query",
            "9:1 @.header: has no meaning with the mode http_query",
        ],
    );
    check("mode = \"tls_client_certificate\"", &[]);
    check(
        "mode = \"tls_client_certificate\"\nregion = \"r\"",
        &["7:1 @.region: has no meaning with the mode tls_client_certificate"],
    );
    let sigv4 = |id: &str, region: &str, service: &str| {
        format!(
            "mode = \"aws_sigv4\"\naccess_key_id = \"{id}\"\nregion = \"{region}\"\nservice = \"{service}\""
        )
    };
    check(&sigv4("AKIAEXAMPLE", "eu-central-1", "execute-api"), &[]);
    check(
        "mode = \"aws_sigv4\"",
        &["4:31 @.access_key_id: is missing", "4:31 @.region: is missing", "4:31 @.service: is missing"],
    );
    check(
        &format!("{}\nuser = \"u\"", sigv4("AKIAEXAMPLE", "auto", "s3")),
        &["10:1 @.user: has no meaning with the mode aws_sigv4"],
    );
    for bad in ["", "a/b", "a b", "é", &"a".repeat(129)] {
        check(
            &sigv4(bad, bad, bad),
            &[
                "7:17 @.access_key_id: is not an AWS access key id",
                "8:10 @.region: is not the name of an AWS region",
                "9:11 @.service: is not the name of an AWS service",
            ],
        );
    }
    for mode in ["ssh_key", "ssh_password", "ssh_keyboard_interactive"] {
        check(&format!("mode = \"{mode}\""), &[]);
    }
    check("mode = \"ssh_key\"\npassphrase = \"key-phrase\"\ncertificate = \"id-cert.pub\"", &[]);
    check(
        "mode = \"ssh_key\"\npassphrase = \"CANARY Phrase\"",
        &["7:14 @.passphrase: is not the name of a secret"],
    );
    check(
        "mode = \"ssh_password\"\ncertificate = \"id-cert.pub\"",
        &["7:1 @.certificate: has no meaning with the mode ssh_password"],
    );
    check("mode = \"ssh_key\"\ncertificate = \"\"", &["7:15 @.certificate: is not a path"]);
    check(
        "mode = \"http_basic\"\nuser = \"a:b\"",
        &["7:8 @.user: is not a user name of HTTP Basic (RFC 7617)"],
    );
    for header in ["Authorization", "cookie", "X-Api-Key", "x-auth"] {
        check(&format!("mode = \"http_header\"\nheader = \"{header}\""), &[]);
    }
    for header in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "connection",
        "Idempotency-Key",
        "proxy-authorization",
    ] {
        let what = "7:10 @.header: names a header that can't carry a credential";
        check(&format!("mode = \"http_header\"\nheader = \"{header}\""), &[what]);
    }
    for header in ["", "X Api", "X-Key: v", "é"] {
        let what = "7:10 @.header: is not the name of a header (RFC 9110 section 5.1)";
        check(&format!("mode = \"http_header\"\nheader = \"{header}\""), &[what]);
    }
    for query in ["", "a b", "a=b", "a&b"] {
        let what = "7:9 @.query: is not the name of a query parameter";
        check(&format!("mode = \"http_query\"\nquery = \"{query}\""), &[what]);
    }
    check_credential(
        "",
        &[
            "4:31 connections.shop.credentials.api_key.mode: is missing",
            "4:31 connections.shop.credentials.api_key.secret: is missing",
        ],
    );
}

#[test]
fn limits_have_bounds() {
    let check = |line: &str, expected: &[&str]| {
        check_in_connection(&format!("[connections.shop.limits]\n{line}\n"), expected);
    };
    check("request_bytes = 16777216", &[]);
    check("request_bytes = 16777217", &["5:17 connections.shop.limits.request_bytes: is out of bounds"]);
    check("setup_attempts = 0", &["5:18 connections.shop.limits.setup_attempts: is out of bounds"]);
    check("setup_attempts = -1", &["5:18 connections.shop.limits.setup_attempts: is out of bounds"]);
    check(
        "connect_seconds = 99999999999999999999",
        &["5:19 connections.shop.limits.connect_seconds: is out of bounds"],
    );
    check("connect_seconds = 1.5", &["5:19 connections.shop.limits.connect_seconds: is of type float"]);
    check("connections_per_origin = 1\nidle_seconds = 0\ncontent_bytes = 1", &[]);
    check("connections_per_origin = 256\nidle_seconds = 600\ncontent_bytes = 68719476736", &[]);
    check(
        "connections_per_origin = 0\nidle_seconds = 601\ncontent_bytes = 0",
        &[
            "5:26 connections.shop.limits.connections_per_origin: is out of bounds",
            "6:16 connections.shop.limits.idle_seconds: is out of bounds",
            "7:17 connections.shop.limits.content_bytes: is out of bounds",
        ],
    );
    check(
        "connections_per_origin = 257\nidle_seconds = -1\ncontent_bytes = 68719476737",
        &[
            "5:26 connections.shop.limits.connections_per_origin: is out of bounds",
            "6:16 connections.shop.limits.idle_seconds: is out of bounds",
            "7:17 connections.shop.limits.content_bytes: is out of bounds",
        ],
    );
    check("deadline_second = 5", &["5:1 connections.shop.limits.deadline_second: is not a known key"]);
    check("key_window_seconds = 91", &[]);
    check(
        "key_window_seconds = 90",
        &[
            "5:22 connections.shop.limits.key_window_seconds: is used up by one exchange's deadline and the clock margin",
        ],
    );
}

#[test]
fn settings_are_json() {
    let check = |lines: &str, expected: &[&str]| {
        check_in_connection(&format!("[connections.shop.config]\n{lines}\n"), expected);
    };
    check("a = 9223372036854775807", &[]);
    check("a = 18446744073709551616", &["5:5 connections.shop.config.a: does not fit into 64 bits"]);
    check("a = [1, nan]", &["5:9 connections.shop.config.a[1]: is a number that JSON does not have"]);
    check(
        "a.b = 2024-01-01",
        &["5:7 connections.shop.config.a.b: is a date or time, which JSON does not have"],
    );
    check_in_connection("config = 1\n", &["4:10 connections.shop.config: is of type integer"]);
}

#[test]
fn origins_are_read_strictly() {
    for (origin, what) in [
        (
            "https://api.example.com@evil.test/",
            "an origin has no user name or password in it (an `@` was found)",
        ),
        ("HTTPS://api.example.com", "an origin begins with `https://` or `http://`, in lower case"),
        ("hTtps://api.example.com", "an origin begins with `https://` or `http://`, in lower case"),
        (
            "http://[::ffff:10.0.0.1]",
            "write the address in its canonical form: a dotted quad, or IPv6 that is not IPv4-mapped",
        ),
        (
            "http://2130706433",
            "write the address in its canonical form: a dotted quad, or IPv6 that is not IPv4-mapped",
        ),
        (
            "https://*.example.com",
            "the host is not a DNS name in lower case, an IPv4 address or an IPv6 address in brackets",
        ),
        ("https://api.example.com:0", "the port is not a number from 1 to 65535 without leading zeros"),
    ] {
        let text = format!("[connections.a]\nconnector = \"DIGEST\"\norigins = [\"{origin}\"]\n");
        check(&text, &[&format!("3:12 connections.a.origins[0]: {what}")]);
    }
    check(
        "[connections.a]\nconnector = \"DIGEST\"\norigins = [\n  \"https://a.example\",\n  \"https://a.example:443\",\n]\n",
        &["5:3 connections.a.origins[1]: is listed already"],
    );
}

#[test]
fn a_connection_takes_a_contract_away_and_never_adds_one() {
    let config = parse(WHOLE).unwrap();
    let check = |connection: &str, repeat: Repeat, expected: RepeatKind| {
        let declared = Contract {
            effect: Effect::Write,
            repeat,
            statuses_before_work: vec![429],
            reconcile: None,
            batch: None,
            job_operation: None,
            completion_marker: None,
            stop_grace_seconds: None,
        };
        let got = config.connections[&Name::parse(connection).unwrap()].contract(&declared);
        assert_eq!(got.repeat.kind(), expected, "{connection}");
        assert_eq!(Contract { repeat: declared.repeat.clone(), ..got }, declared);
    };
    check("shop", Repeat::Idempotent, RepeatKind::None);
    check("shop", Repeat::None, RepeatKind::None);
    check("plain", Repeat::Idempotent, RepeatKind::Idempotent);
    check("plain", Repeat::None, RepeatKind::None);
}
