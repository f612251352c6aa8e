mod ssh;

use super::*;
use crate::config::Config;
use crate::testing::{manifest, name};
use proofport_core::contract::InjectionMode;
use proofport_core::digest::Digest;
use proofport_core::secret::Secret;
use proofport_core::time::UnixMillis;
use proofport_vault::{Destination, KdfParams, Uses};
use std::fs;
use std::path::PathBuf;
use zeroize::Zeroizing;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
const MODULE: &[u8] = b"module";

/// A home with one approved connector, and a vault with three secrets.
struct Setting {
    folder: tempfile::TempDir,
    registry: Registry,
    vault: Vault,
}

fn passphrase() -> Secret {
    Secret::new(b"correct horse".to_vec())
}

impl Setting {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut registry = Registry::open(folder.path().join("connectors"), Zeroizing::new([7; 32])).unwrap();
        registry.approve(MODULE, manifest(), NOW).unwrap();
        let kdf = KdfParams { memory_kib: 8, passes: 1, lanes: 1 };
        let mut vault = Vault::create(&folder.path().join("vault.json"), &passphrase(), kdf).unwrap();
        for (secret, origin, mode) in [
            ("shop-key", "https://api.example.com", InjectionMode::HttpBearer),
            ("proxy-key", "http://proxy.example.com:3128", InjectionMode::HttpBasic),
            ("local-key", "http://127.0.0.1:8080", InjectionMode::HttpHeader),
        ] {
            let uses = Uses { destinations: vec![Destination::parse(origin).unwrap()], modes: vec![mode] };
            vault.set(&name(secret), Secret::new(b"canary-canary".to_vec()), uses, NOW).unwrap();
        }
        Self { folder, registry, vault }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(file)
    }

    fn config(&self, text: &str) -> Config {
        let text = text.replace("DIGEST", &Digest::of_bytes(MODULE).to_string());
        Config::parse(&text, &self.path("proofport.toml")).unwrap()
    }

    /// Each expected line is `line field: what`.
    fn check(&self, text: &str, expected: &[&str]) {
        let problems = check(&self.config(text), &self.registry, Some(&self.vault));
        assert_eq!(lines(&problems), expected, "\n{text}\n{problems:#?}");
        let told = format!("{problems:?}");
        assert!(!told.contains("canary-"), "{told}");
    }
}

fn lines(problems: &[Problem]) -> Vec<String> {
    let line = |problem: &Problem| problem.place.map_or(0, |place| place.line);
    problems.iter().map(|problem| format!("{} {}: {}", line(problem), problem.field, problem.what)).collect()
}

/// Right in every respect.
const RIGHT: &str = "[connections.shop]
connector = \"DIGEST\"
origins = [\"https://api.example.com\"]
[connections.shop.config]
account = \"acct_1\"
[connections.shop.credentials.api_key]
secret = \"shop-key\"
mode = \"http_bearer\"
";

#[test]
fn what_is_right_has_no_problem() {
    let setting = Setting::new();
    setting.check(RIGHT, &[]);
    setting.check("", &[]);
    setting.check(
        &RIGHT
            .replace("https://api.example.com\"]", "http://127.0.0.1:8080\"]\naddresses = [\"127.0.0.1\"]")
            .replace("shop-key", "local-key")
            .replace("http_bearer\"", "http_header\"\nheader = \"x-key\""),
        &[],
    );
}

#[test]
fn an_unapproved_connector_is_told_with_those_that_are() {
    let setting = Setting::new();
    let text = RIGHT.replace("DIGEST", &Digest::of_bytes(b"other").to_string());
    let problems = check(&setting.config(&text), &setting.registry, Some(&setting.vault));
    assert_eq!(lines(&problems), ["2 connections.shop.connector: no connector with this digest is approved"]);
    assert!(
        problems[0].todo.contains(&format!("shop 1.2.3 is {}", Digest::of_bytes(MODULE))),
        "{}",
        problems[0]
    );
    let empty = Registry::open(setting.path("none"), Zeroizing::new([7; 32])).unwrap();
    assert_eq!(check(&setting.config(&text), &empty, None).len(), 1);
}

#[test]
fn a_changed_module_is_told() {
    let setting = Setting::new();
    let module = setting.path("connectors").join(format!("{}.wasm", Digest::of_bytes(MODULE).hex()));
    fs::write(&module, b"other").unwrap();
    let told = format!(
        "2 connections.shop.connector: {}",
        setting.registry.module(&Digest::of_bytes(MODULE)).unwrap_err()
    );
    setting.check(RIGHT, &[&told]);
    fs::remove_file(&module).unwrap();
    let told = format!(
        "2 connections.shop.connector: {}",
        setting.registry.module(&Digest::of_bytes(MODULE)).unwrap_err()
    );
    setting.check(RIGHT, &[&told]);
}

#[test]
fn settings_obey_the_connectors_schema() {
    let setting = Setting::new();
    let check = |settings: &str, expected: &[&str]| {
        setting.check(&RIGHT.replace("account = \"acct_1\"", settings), expected);
    };
    check("", &["4 connections.shop.config: lacks `account`, which the connector requires"]);
    check(
        "account = 7",
        &["5 connections.shop.config.account: breaks the connector's config schema: `\"type\": \"string\"`"],
    );
    check(
        "account = \"canary-canary\"\nlevel = 10\n[connections.shop.config.deep]\nwhen = \"canary-canary\"\n",
        &[
            "5 connections.shop.config.account: breaks the connector's config schema: `\"pattern\": \"^acct_[0-9]+$\"`",
            "6 connections.shop.config.level: breaks the connector's config schema: `\"maximum\": 9`",
            "8 connections.shop.config.deep.when: breaks the connector's config schema: `\"format\": \"date\"`",
        ],
    );
    check(
        "account = \"acct_1\"\nacount = 1\nsk_live_4eC39HqLyjWDarjtT1zdp7dc = 2",
        &["4 connections.shop.config: has keys that the connector does not know: acount, ?"],
    );
    let without = RIGHT.replace("[connections.shop.config]\naccount = \"acct_1\"\n", "");
    setting.check(&without, &["1 connections.shop.config: lacks `account`, which the connector requires"]);
}

#[test]
fn a_schema_that_can_not_be_used_is_told() {
    let mut setting = Setting::new();
    for schema in [
        serde_json::json!({ "type": "nonsense" }),
        serde_json::json!({ "type": "object", "$ref": "https://example.com/outside.json" }),
    ] {
        let mut changed = manifest();
        changed.config_schema = schema;
        setting.registry.approve(MODULE, changed, NOW).unwrap();
        setting.check(RIGHT, &["2 connections.shop.connector: the connector's config schema can't be used"]);
    }
}

#[test]
fn every_slot_is_bound_and_no_other() {
    let setting = Setting::new();
    setting.check(
        &RIGHT.replace("credentials.api_key", "credentials.apikey"),
        &[
            "1 connections.shop.credentials.api_key: is a slot of the connector and bound to no secret",
            "6 connections.shop.credentials.apikey: is not a slot of the connector",
        ],
    );
}

#[test]
fn slot_and_secret_both_permit_a_use() {
    let setting = Setting::new();
    let check = |from: &str, to: &str, expected: &[&str]| setting.check(&RIGHT.replace(from, to), expected);
    let secret = "7 connections.shop.credentials.api_key.secret";
    let mode = "8 connections.shop.credentials.api_key.mode";
    check("\"shop-key\"", "\"canary-canary\"", &[&format!("{secret}: the vault has no secret of this name")]);
    check(
        "http_bearer\"",
        "http_basic\"\nuser = \"u\"",
        &[
            &format!("{secret}: the secret does not permit the mode http_basic"),
            &format!("{mode}: the connector's slot does not take http_basic"),
        ],
    );
    check(
        "http_bearer\"",
        "http_header\"\nheader = \"x-key\"",
        &[&format!("{secret}: the secret does not permit the mode http_header")],
    );
    check(
        ".com\"]",
        ".com\", \"https://api.example.com:8443\", \"https://evil.example\"]",
        &[
            &format!(
                "{secret}: the secret does not permit the connection's origin https://api.example.com:8443"
            ),
            &format!("{secret}: the secret does not permit the connection's origin https://evil.example"),
        ],
    );
    check(
        "http_bearer\"",
        "http_header\"\nheader = \"X-Request-Key\"",
        &[
            &format!("{secret}: the secret does not permit the mode http_header"),
            "8 connections.shop.credentials.api_key.header: is the header in which the connector's operations carry \
             their idempotency key",
        ],
    );
}

/// Case 23: a budget makes nothing repeatable.
#[test]
fn repeats_need_a_contract() {
    let setting = Setting::new();
    let retries = format!("{RIGHT}\n[connections.shop.retries]\n");
    setting.check(&retries, &[]);
    let line = RIGHT.lines().count() + 3;
    let taken_away = retries.replace("origins", "repeat = \"none\"\norigins");
    let told = format!(
        "{line} connections.shop.retries: no operation of this connection may be repeated: none is idempotent or \
         keyed by its contract"
    );
    setting.check(&taken_away, &[&told]);
}

#[test]
fn looks_need_a_job() {
    let looks = format!("{RIGHT}\n[connections.shop.following]\n");
    let told = format!(
        "{} connections.shop.following: no operation of this connection submits a job that another one follows",
        RIGHT.lines().count() + 2
    );
    Setting::new().check(&looks, &[&told]);
}

#[test]
fn a_credential_does_not_travel_unencrypted() {
    let setting = Setting::new();
    let permitted = |origin: &str| {
        let text = RIGHT.replace(
            "https://api.example.com\"]",
            &format!("{origin}\"]\naddresses = [\"127.0.0.1\", \"::1\"]"),
        );
        let problems = check(&setting.config(&text), &setting.registry, None);
        lines(&problems)
    };
    let told = ["3 connections.shop.origins[0]: a credential would travel unencrypted"];
    assert_eq!(permitted("http://api.example.com"), told);
    assert_eq!(permitted("http://localhost"), told, "a name is whatever the resolver says");
    assert_eq!(permitted("http://8.8.8.8"), told);
    for fine in ["http://127.0.0.1:80", "http://[::1]", "https://api.example.com"] {
        assert!(permitted(fine).is_empty(), "{fine}");
    }
}

#[test]
fn a_proxys_secret_permits_the_proxy() {
    let setting = Setting::new();
    let check = |url: &str, secret: &str, expected: &[&str]| {
        let proxy =
            format!("[connections.shop.proxy]\nurl = \"{url}\"\nuser = \"u\"\nsecret = \"{secret}\"\n");
        setting.check(&format!("{RIGHT}{proxy}"), expected);
    };
    let field = "12 connections.shop.proxy.secret";
    check("http://proxy.example.com:3128", "proxy-key", &[]);
    check(
        "http://proxy.example.com:8080",
        "proxy-key",
        &[&format!("{field}: the secret does not permit the proxy's origin http://proxy.example.com:8080")],
    );
    check(
        "http://proxy.example.com:3128",
        "shop-key",
        &[
            &format!("{field}: the secret does not permit the mode http_basic"),
            &format!("{field}: the secret does not permit the proxy's origin http://proxy.example.com:3128"),
        ],
    );
    check(
        "http://proxy.example.com:3128",
        "canary-canary",
        &[&format!("{field}: the vault has no secret of this name")],
    );
    // The origins' secrets are judged as ever.
    let text = format!(
        "{}[connections.shop.proxy]\nurl = \"http://proxy.example.com:3128\"\n",
        RIGHT.replace("shop-key", "absent")
    );
    setting.check(
        &text,
        &["7 connections.shop.credentials.api_key.secret: the vault has no secret of this name"],
    );
}

#[test]
fn a_loopback_origin_behind_a_proxy_elsewhere_is_not_on_this_host() {
    let setting = Setting::new();
    let told = |url: &str| {
        let text = RIGHT
            .replace("https://api.example.com\"]", "http://127.0.0.1:80\"]\naddresses = [\"127.0.0.1\"]");
        let proxy = format!("[connections.shop.proxy]\nurl = \"{url}\"\nresolve = \"proxy\"\n");
        lines(&check(&setting.config(&format!("{text}{proxy}")), &setting.registry, None))
    };
    let unencrypted = ["3 connections.shop.origins[0]: a credential would travel unencrypted"];
    assert_eq!(told("http://proxy.example.com:3128"), unencrypted);
    assert_eq!(told("http://10.0.0.1:3128"), unencrypted);
    assert_eq!(told("http://localhost:3128"), unencrypted, "a name is whatever the resolver says");
    for here in ["http://127.0.0.1:3128", "http://[::1]:3128"] {
        assert!(told(here).is_empty(), "{here}");
    }
}

#[test]
fn an_address_that_may_not_be_dialled_is_told() {
    let setting = Setting::new();
    let text = RIGHT.replace(
        "https://api.example.com\"]",
        "https://10.0.0.1\", \"https://169.254.169.254\"]\naddresses = [\"169.254.0.0/16\"]",
    );
    let problems = check(&setting.config(&text), &setting.registry, None);
    assert_eq!(
        lines(&problems),
        [
            "3 connections.shop.origins[0]: private addresses may not be dialled unless the connection lists them",
            "3 connections.shop.origins[1]: metadata service addresses may not be dialled unless the connection lists them",
        ]
    );
    let text =
        RIGHT.replace(".com\"]", ".com\"]\nredirect_origins = [\"https://a.example\", \"https://10.0.0.1\"]");
    let problems = check(&setting.config(&text), &setting.registry, None);
    assert_eq!(
        lines(&problems),
        [
            "4 connections.shop.redirect_origins[1]: private addresses may not be dialled unless the connection lists them"
        ]
    );
}

#[test]
fn a_file_of_authorities_is_read() {
    let setting = Setting::new();
    let text = RIGHT.replace("[connections.shop.config]", "ca_file = \"ca.pem\"\n[connections.shop.config]");
    let told = |found: &str| {
        let problems = check(&setting.config(&text), &setting.registry, Some(&setting.vault));
        let lines = lines(&problems);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with("4 connections.shop.ca_file: ") && lines[0].contains(found),
            "{lines:?}"
        );
    };
    told("can't be read");
    fs::write(setting.path("ca.pem"), "no certificate").unwrap();
    told("no certificate in this file");
}

#[test]
fn a_locked_vault_is_told_and_the_rest_is_judged() {
    let mut setting = Setting::new();
    setting.vault.lock();
    setting.check(
        &RIGHT.replace("acct_1", "x"),
        &[
            "0 : secrets can't be checked: the vault is locked",
            "5 connections.shop.config.account: breaks the connector's config schema: `\"pattern\": \"^acct_[0-9]+$\"`",
        ],
    );
    let text = RIGHT.replace("shop-key", "absent");
    assert!(
        check(&setting.config(&text), &setting.registry, None).is_empty(),
        "no vault, no judgement of secrets"
    );
}

#[test]
fn a_client_certificate_needs_tls() {
    let setting = Setting::new();
    let text = RIGHT.replace("http_bearer", "tls_client_certificate");
    let slot = "8 connections.shop.credentials.api_key.mode: the connector's slot does not take tls_client_certificate";
    let secret = "7 connections.shop.credentials.api_key.secret: the secret does not permit the mode tls_client_certificate";
    setting.check(&text, &[secret, slot]);
    // Not even a loopback address may do without.
    let text = text.replace(
        "origins = [\"https://api.example.com\"]",
        "addresses = [\"127.0.0.1\"]\norigins = [\"https://api.example.com\", \"http://127.0.0.1:8080\"]",
    );
    let problems = check(&setting.config(&text), &setting.registry, None);
    let plain = "9 connections.shop.credentials.api_key.mode: a client certificate is shown in TLS, which http://127.0.0.1:8080 does not use";
    assert_eq!(lines(&problems), [plain, &slot.replacen('8', "9", 1)]);
}

#[test]
fn connections_do_not_hide_each_others_problems() {
    let setting = Setting::new();
    let second = RIGHT
        .replace("connections.shop", "connections.second")
        .replace("http_bearer", "http_query\"\nquery = \"k");
    let text = format!("{}{second}", RIGHT.replace("acct_1", "x"));
    setting.check(
        &text,
        &[
            "5 connections.shop.config.account: breaks the connector's config schema: `\"pattern\": \"^acct_[0-9]+$\"`",
            "15 connections.second.credentials.api_key.secret: the secret does not permit the mode http_query",
            "16 connections.second.credentials.api_key.mode: the connector's slot does not take http_query",
        ],
    );
}
