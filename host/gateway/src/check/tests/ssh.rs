//! SSH hosts, their keys, and what logs in to them.

use super::*;

const FINGERPRINT: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn with_key(setting: &mut Setting, secret: &str, destination: &str) {
    let destinations = vec![Destination::parse(destination).unwrap()];
    let uses = Uses { destinations, modes: vec![InjectionMode::SshKey] };
    setting.vault.set(&name(secret), Secret::new(b"canary-canary".to_vec()), uses, NOW).unwrap();
}

/// Lines 3 on of a connection whose table `ssh` begins so.
fn text(ssh: &str, credential: &str) -> String {
    format!(
        "[connections.shop]\nconnector = \"DIGEST\"\n[connections.shop.ssh]\n{ssh}\n[connections.shop.config]\n\
         account = \"acct_1\"\n[connections.shop.credentials.api_key]\n{credential}\n"
    )
}

/// The manifest under test takes no login over SSH, which is told each time.
const SLOT: &str = "connections.shop.credentials.api_key.mode: the connector's slot does not take ssh_key";

#[test]
fn a_host_has_keys_and_an_address_that_may_be_dialled() {
    let mut setting = Setting::new();
    with_key(&mut setting, "web-key", "ssh://web.example.com");
    let login = "secret = \"web-key\"\nmode = \"ssh_key\"";
    let known =
        format!("hosts = [\"me@web.example.com\", \"you@web.example.com\"]\nhost_keys = [\"{FINGERPRINT}\"]");
    setting.check(&text(&known, login), &[&format!("10 {SLOT}")]);
    fs::write(setting.path("known"), "other.example.com not-read\n").unwrap();
    setting.check(
        &text("hosts = [\"me@web.example.com\"]\nknown_hosts = \"known\"", login),
        &[
            "4 connections.shop.ssh.hosts[0]: no key of this host is known, and none is learnt by connecting",
            &format!("10 {SLOT}"),
        ],
    );
    fs::write(setting.path("known"), "web.example.com canary-canary\n").unwrap();
    setting.check(
        &text("hosts = [\"me@web.example.com\"]\nknown_hosts = \"known\"", login),
        &[
            "5 connections.shop.ssh.known_hosts: line 1 of the known_hosts text is about this host and can't be read",
            &format!("10 {SLOT}"),
        ],
    );
    let local = format!("hosts = [\"me@10.0.0.1\"]\nhost_keys = [\"{FINGERPRINT}\"]");
    let problems = check(&setting.config(&text(&local, login)), &setting.registry, None);
    assert_eq!(lines(&problems).len(), 2, "{problems:?}");
    assert!(lines(&problems)[0].starts_with("4 connections.shop.ssh.hosts[0]: "), "{problems:?}");
}

#[test]
fn a_login_is_permitted_where_it_goes() {
    let mut setting = Setting::new();
    with_key(&mut setting, "web-key", "ssh://web.example.com:2222");
    with_key(&mut setting, "phrase", "ssh://other.example.com");
    let ssh = format!("hosts = [\"me@web.example.com:2222\"]\nhost_keys = [\"{FINGERPRINT}\"]");
    let field = "connections.shop.credentials.api_key";
    setting.check(
        &text(&ssh, "secret = \"web-key\"\nmode = \"ssh_key\"\npassphrase = \"phrase\"\ncertificate = \"no.pub\""),
        &[
            &format!(
                "10 {field}.certificate: can't be read: No such file or directory (os error 2)"
            ),
            &format!("10 {SLOT}"),
            &format!(
                "10 {field}.passphrase: the secret does not permit the connection's host ssh://web.example.com:2222"
            ),
        ],
    );
    setting.check(
        &text(&ssh, "secret = \"shop-key\"\nmode = \"http_bearer\""),
        &[&format!("10 {field}.mode: is for HTTP, and the connection has no origins")],
    );
    let jump = format!(
        "{ssh}\n[connections.shop.ssh.jump]\nhost = \"me@jump.example.com\"\nhost_keys = [\"{FINGERPRINT}\"]\n\
         secret = \"web-key\"\nmode = \"ssh_key\""
    );
    setting.check(
        &text(&jump, "secret = \"web-key\"\nmode = \"ssh_key\""),
        &[
            "9 connections.shop.ssh.jump.secret: the secret does not permit the jump host ssh://jump.example.com",
            &format!("15 {SLOT}"),
        ],
    );
}
