//! Case 30: places that are spelled strangely, and places that may not be dialled.

use crate::{CA, OK, Site, record};
use proofport_core::code::Code;
use proofport_core::contract::{Outcome, Stage};
use proofport_core::evidence::Cause;
use proofport_core::origin::Origin;
use proofport_core::secret::Secret;
use proofport_gateway::check::check as judge;
use proofport_gateway::config::Config;
use proofport_gateway::home::Home;
use proofport_gateway::registry::Registry;
use proofport_tests::peer::{Peer, Script};
use proofport_tests::rig::{PASSPHRASE, Rig};
use proofport_vault::Vault;

/// An input of the operation `aim`.
fn at(origin: &str, path: &str) -> String {
    serde_json::json!({ "at": [origin, path] }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_aims_at_listed_origins_in_plain_spelling() {
    let peer = Peer::http(Script::answer(OK));
    let other = Peer::http(Script::answer(OK));
    let port = peer.port();
    let rig = Site::of(peer.origin()).make().await;
    let open = rig.open().await;
    let origins = [
        format!("http://127.0.0.1:{port}@evil.test/"),
        format!("http://127.0.0.1:{port}@127.0.0.1:{}", other.port()),
        format!("https://api.example.com@127.0.0.1:{port}/"),
        format!("http://user:pass@127.0.0.1:{port}"),
        format!("HTTP://127.0.0.1:{port}"),
        format!("hTTp://127.0.0.1:{port}"),
        format!("https://127.0.0.1:{port}"),
        format!("//127.0.0.1:{port}"),
        format!("http:/127.0.0.1:{port}"),
        format!("http:\\\\127.0.0.1:{port}"),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.0.1:{port}?"),
        format!("http://127.0.0.1:{port}#"),
        format!("http://127.0.0.1.:{port}"),
        format!("http://127.1:{port}"),
        format!("http://2130706433:{port}"),
        format!("http://0x7f000001:{port}"),
        format!("http://0x7f.0.0.1:{port}"),
        format!("http://0177.0.0.1:{port}"),
        format!("http://[::ffff:127.0.0.1]:{port}"),
        format!("http://[::ffff:7f00:1]:{port}"),
        format!("http://localhost:{port}"),
        format!("http://LOCALHOST:{port}"),
        format!("http://127.0.0.1:0{port}"),
        "http://127.0.0.1".to_owned(),
        format!(" http://127.0.0.1:{port}"),
        format!("http://127.0.0.1:{}", other.port()),
        "http://169.254.169.254".to_owned(),
        "file:///etc/passwd".to_owned(),
    ];
    let paths = [
        "",
        "act",
        "*",
        "//evil.test/x",
        "///evil.test/x",
        "https://evil.test/",
        "https://api.example.com@evil.test/",
        "@evil.test/",
        ".evil.test/",
        ":80/",
        "\\\\evil.test",
        "/\\evil.test",
        "/a b",
        "/a#b",
        "/..",
        "/../x",
        "/a/%2e%2E/b",
        "/a/./b",
        "/%",
        "/%zz",
        "/a\r\nhost: evil.test",
        "/ü",
    ];
    let cases = origins.iter().map(|origin| (origin.as_str(), "/act")).chain(paths.map(|path| ("", path)));
    for (n, (origin, path)) in cases.enumerate() {
        let envelope = open.call_with("aim", &at(origin, path), Some(&format!("{n}"))).await;
        let got = (envelope.code(), envelope.outcome());
        assert_eq!(
            got,
            (Some(Code::InvalidTarget), Some(Outcome::NotAttempted)),
            "{origin} {path}: {envelope:?}"
        );
        let state = record(&open, &envelope);
        assert!(state.setup.is_empty() && state.attempts.is_empty(), "{origin} {path}: nothing is dialled");
        let text = serde_json::to_string(&envelope).unwrap();
        assert!(!text.contains("evil"), "{origin} {path}: {text}");
    }
    assert_eq!((peer.accepted(), other.accepted()), (0, 0));
    // In plain spelling it gets there.
    for origin in ["", &peer.origin().to_string()] {
        let envelope =
            open.call_with("aim", &at(origin, "/act?a=%2f"), Some(&format!("plain {origin}"))).await;
        assert!(envelope.ok(), "{origin}: {envelope:?}");
    }
    assert_eq!((peer.accepted(), other.accepted()), (2, 0));
    open.close();
}

/// What is wrong with a connection whose file says this, field by field.
fn problems(rig: &Rig, origins: &str, addresses: &str) -> Vec<String> {
    let home = Home::at(rig.home()).unwrap();
    let text = std::fs::read_to_string(home.config()).unwrap();
    let line = |key: &str| text.lines().find(|line| line.starts_with(key)).unwrap();
    let text = text
        .replace(line("origins = "), &format!("origins = {origins}"))
        .replace(line("addresses = "), &format!("addresses = {addresses}"));
    let config = match Config::parse(&text, &home.config()) {
        Ok(config) => config,
        Err(problems) => return problems.into_iter().map(|problem| problem.field).collect(),
    };
    let mut vault = Vault::open(&home.vault()).unwrap();
    vault.unlock(&Secret::new(PASSPHRASE.as_bytes().to_vec())).unwrap();
    let registry = Registry::open(home.connectors(), vault.keys().unwrap().registry_mac).unwrap();
    // Without the vault: which secret may go where is not the question here.
    judge(&config, &registry, None).into_iter().map(|problem| problem.field).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_lists_origins_in_plain_spelling() {
    let rig = Site::of(Origin::parse("https://127.0.0.1:8443").unwrap()).make().await;
    let check = |origin: &str, addresses: &str, fine: bool| {
        let found = problems(&rig, &format!("[{}]", serde_json::json!(origin)), addresses);
        let expected: &[&str] = if fine { &[] } else { &["connections.c.origins[0]"] };
        assert_eq!(found, expected, "{origin} with {addresses}");
    };
    check("https://api.example.com", "[]", true);
    check("https://api.example.com:8443", "[]", true);
    for origin in [
        "https://api.example.com@evil.test/",
        "https://api.example.com@evil.test",
        "HTTPS://api.example.com",
        "hTTps://api.example.com",
        "https://API.example.com",
        "https://api.example.com.",
        "https://api.example.com/",
        "https://api.example.com\\.evil.test",
        "https://[::ffff:10.0.0.1]",
        "https://[::ffff:a00:1]",
        "https://2130706433",
        "https://127.1",
        "https://0x7f000001",
        "https://0177.0.0.1",
        "//api.example.com",
        "ftp://api.example.com",
        "api.example.com",
        "",
    ] {
        check(origin, "[\"127.0.0.0/8\", \"10.0.0.0/8\", \"::ffff:0:0/96\"]", false);
    }
    // Addresses that are spelled well and may not be dialled.
    for address in
        ["10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "[::1]", "[fd00:ec2::254]"]
    {
        check(&format!("https://{address}"), "[]", false);
    }
    check("https://10.0.0.1", "[\"10.0.0.0/8\"]", true);
    check("https://[::1]", "[\"::1\"]", true);
    // A metadata service has to be meant.
    check("https://169.254.169.254", "[\"169.254.0.0/16\"]", false);
    check("https://169.254.169.254", "[\"169.254.169.254/31\"]", false);
    check("https://169.254.169.254", "[\"169.254.169.254\"]", true);
    check("https://[fd00:ec2::254]", "[\"fd00::/8\"]", false);
    check("https://[fd00:ec2::254]", "[\"fd00:ec2::254/128\"]", true);
    // Case 29: nothing listed is nothing allowed, and everything is not a range.
    assert_eq!(problems(&rig, "[]", "[]"), ["connections.c.origins"]);
    assert_eq!(
        problems(&rig, "[\"https://api.example.com\"]", "[\"0.0.0.0/0\"]"),
        ["connections.c.addresses[0]"]
    );
}

/// A name that leads to an address which may not be dialled.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_judged_by_its_address() {
    for (addresses, denied) in [("", true), ("\"127.0.0.2\", \"10.0.0.0/8\"", true), ("\"127.0.0.1\"", false)]
    {
        let peer = Peer::https(Script::answer(OK), &CA);
        let site = Site { addresses, limits: "setup_attempts = 4", ..Site::of(peer.origin_as("localhost")) };
        let rig = site.make().await;
        let open = rig.open().await;
        for operation in ["act", "look"] {
            let envelope = open.call(operation, "{}").await;
            let state = record(&open, &envelope);
            if !denied {
                assert!(envelope.ok(), "{envelope:?}");
                assert_eq!(state.setup.last().unwrap().address.as_deref(), Some("127.0.0.1"));
                continue;
            }
            let got = (envelope.code(), envelope.outcome());
            assert_eq!(got, (Some(Code::EgressDenied), Some(Outcome::NotAttempted)), "{envelope:?}");
            assert!(!state.setup.is_empty() && state.attempts.is_empty());
            for attempt in &state.setup {
                let ended = (attempt.stage, attempt.cause);
                assert_eq!(ended, (Stage::AddressCheck, Some(Cause::AddressDenied)), "{:?}", state.setup);
            }
        }
        assert_eq!(peer.accepted(), if denied { 0 } else { 2 });
        open.close();
    }
}
