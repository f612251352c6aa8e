//! SSH hosts and what logs in to them.

use super::*;
use std::time::Duration;

const FINGERPRINT: &str = "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";

/// A connection with these lines in its table `ssh`.
fn text(lines: &str) -> String {
    format!("[connections.web]\nconnector = \"{DIGEST}\"\n[connections.web.ssh]\n{lines}\n")
}

fn web(lines: &str) -> SshConfig {
    let mut config = parse(&text(lines)).unwrap();
    config.connections.remove(&Name::parse("web").unwrap()).unwrap().ssh.unwrap()
}

#[test]
fn hosts_are_read_with_their_keys() {
    let plain = web("hosts = [\"deploy@web.example.com\"]");
    assert_eq!(plain.hosts()[0].to_string(), "deploy@web.example.com");
    assert_eq!((plain.raw_commands, plain.keepalive()), (false, Duration::from_secs(15)));
    assert!(plain.jump.is_none() && plain.keys.of(&plain.hosts()[0]).unwrap().is_empty());
    let full = web(&format!(
        "hosts = [\"deploy@web.example.com:2222\", \"root@10.0.0.1\"]\nhost_keys = [\"{FINGERPRINT}\", \"{KEY}\"]\n\
         host_authorities = [\"{KEY}\"]\nknown_hosts = \"known\"\nraw_commands = true\nkeepalive_seconds = 5\n\
         [connections.web.ssh.jump]\nhost = \"me@10.0.0.9:2200\"\nhost_keys = [\"{FINGERPRINT}\"]\nresolve = \"jump\"\n\
         secret = \"jump-key\"\nmode = \"ssh_key\"\npassphrase = \"jump-phrase\"\ncertificate = \"jump-cert.pub\"\n"
    ));
    let hosts: Vec<String> = full.hosts().iter().map(ToString::to_string).collect();
    assert_eq!(hosts, ["deploy@web.example.com:2222", "root@10.0.0.1"]);
    assert_eq!((full.keys.keys.len(), full.keys.authorities.len()), (2, 1));
    assert_eq!(full.keys.known_hosts.as_ref().unwrap().value, Path::new("/home/x/known"));
    assert_eq!((full.raw_commands, full.keepalive()), (true, Duration::from_secs(5)));
    let jump = full.jump.unwrap();
    assert_eq!((jump.host.value.to_string().as_str(), jump.resolves), ("me@10.0.0.9:2200", true));
    assert!(jump.address_policy().check("10.0.0.9".parse().unwrap()).is_ok());
    let Placement::SshKey { passphrase, certificate } = &jump.credential.placement.value else { panic!() };
    assert_eq!(passphrase.as_ref().unwrap().as_str(), "jump-phrase");
    assert_eq!(certificate.as_deref(), Some(Path::new("/home/x/jump-cert.pub")));
}

#[test]
fn every_mistake_is_named() {
    let check = |lines: &str, expected: &[&str]| {
        let problems = parse(&text(lines)).unwrap_err();
        let told: Vec<String> = problems
            .iter()
            .map(|problem| {
                let place = problem.place.unwrap();
                format!("{}:{} {}: {}", place.line, place.column, problem.field, problem.what)
            })
            .collect();
        assert_eq!(told, expected, "{lines}");
        assert!(!format!("{problems:?}").contains("CANARY"), "{problems:?}");
    };
    let host = "hosts = [\"deploy@web.example.com\"]\n";
    check("raw_commands = false", &["3:18 connections.web.ssh.hosts: is missing"]);
    check("hosts = []", &["4:9 connections.web.ssh.hosts: is empty, so nothing may be reached"]);
    check(
        "hosts = [\"web.example.com\", \"a@b.example\", \"a@b.example:22\", \"a@CANARY\"]",
        &[
            "4:10 connections.web.ssh.hosts[0]: an SSH host is `user@host` or `user@host:port`; the user has letters, \
             digits, `_`, `-`, `.`",
            "4:44 connections.web.ssh.hosts[2]: is listed already",
            "4:62 connections.web.ssh.hosts[3]: the host or port of an SSH host can't be read as such",
        ],
    );
    check(
        &format!(
            "{host}host_keys = [\"SHA256:CANARY\", \"CANARY\"]\nknown_hosts = \"\"\nraw_commands = \"yes\""
        ),
        &[
            "5:14 connections.web.ssh.host_keys[0]: a fingerprint is `SHA256:` and 43 characters of base64, as \
             `ssh-keygen -l` prints it",
            "5:31 connections.web.ssh.host_keys[1]: a host key is a fingerprint (`SHA256:…`) or the line of a public \
             key, as in `ssh_host_ed25519_key.pub`",
            "6:15 connections.web.ssh.known_hosts: is not a path",
            "7:16 connections.web.ssh.raw_commands: is of type string",
        ],
    );
    check(
        &format!("{host}keepalive_seconds = 0\nhost_key = \"CANARY\""),
        &[
            "5:21 connections.web.ssh.keepalive_seconds: is out of bounds",
            "6:1 connections.web.ssh.host_key: is not a known key",
        ],
    );
    check(
        &format!(
            "{host}[connections.web.ssh.jump]\nresolve = \"proxy\"\nsecret = \"k\"\nmode = \"http_bearer\""
        ),
        &[
            "5:22 connections.web.ssh.jump.host: is missing",
            "6:11 connections.web.ssh.jump.resolve: is neither \"host\" nor \"jump\"",
            "8:8 connections.web.ssh.jump.mode: the mode http_bearer does not log in over SSH",
        ],
    );
}
