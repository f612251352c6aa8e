use super::{CANARY, Home, NOW, name, secret, to, uses};
use crate::{CredentialError, Destination, Use};
use proofport_core::contract::InjectionMode::{self, HttpBearer, HttpHeader, SshKey, SshPassword};

#[test]
fn a_use_needs_both_destination_and_mode() {
    use CredentialError::{DestinationNotPermitted, ModeNotPermitted};
    let mut home = Home::new();
    let both = ["https://api.example.com", "https://api.example.com:8443", "ssh://db.example.com"];
    home.vault.set(&name("both"), secret(CANARY), uses(&both, &[HttpBearer, SshKey]), NOW).unwrap();
    let check = |destination: &str, mode: InjectionMode, expected: Result<(), CredentialError>| {
        let destination = to(destination);
        let got = home.vault.credential(&name("both"), None, &Use { destination: &destination, mode });
        assert_eq!(got.map(|_| ()), expected, "{destination} {mode}");
    };
    check("https://api.example.com", HttpBearer, Ok(()));
    check("https://api.example.com:443", HttpBearer, Ok(()));
    check("https://api.example.com:8443", HttpBearer, Ok(()));
    check("ssh://db.example.com", SshKey, Ok(()));
    check("ssh://db.example.com:22", SshKey, Ok(()));

    check("http://api.example.com", HttpBearer, Err(DestinationNotPermitted));
    check("https://api.example.com:444", HttpBearer, Err(DestinationNotPermitted));
    check("https://evil.example.com", HttpBearer, Err(DestinationNotPermitted));
    check("https://api.example.com.evil.test", HttpBearer, Err(DestinationNotPermitted));
    check("ssh://db.example.com:2222", SshKey, Err(DestinationNotPermitted));

    check("https://api.example.com", HttpHeader, Err(ModeNotPermitted));
    check("ssh://db.example.com", SshPassword, Err(ModeNotPermitted));
    // Each half is listed, but they don't belong together.
    check("ssh://db.example.com", HttpBearer, Err(ModeNotPermitted));
    check("https://api.example.com", SshKey, Err(ModeNotPermitted));
    // Both wrong: the mode is said first.
    check("https://evil.example.com", HttpHeader, Err(ModeNotPermitted));
}

#[test]
fn every_mode_works_where_it_belongs() {
    let mut home = Home::new();
    let all = uses(&["https://a.example", "ssh://a.example"], InjectionMode::ALL);
    home.vault.set(&name("all"), secret(CANARY), all, NOW).unwrap();
    for mode in InjectionMode::ALL.iter().copied() {
        let ssh = mode.as_str().starts_with("ssh_");
        for (destination, fits) in [("https://a.example", !ssh), ("ssh://a.example", ssh)] {
            let destination = to(destination);
            let got = home.vault.credential(&name("all"), None, &Use { destination: &destination, mode });
            assert_eq!(got.is_ok(), fits, "{destination} {mode}");
        }
    }
}

#[test]
fn destinations_are_read_strictly() {
    let check = |text: &str, expected: Option<&str>| {
        let got = Destination::parse(text).ok().map(|destination| destination.to_string());
        assert_eq!(got.as_deref(), expected, "{text}");
    };
    check("https://a.example", Some("https://a.example"));
    check("http://127.0.0.1:80", Some("http://127.0.0.1"));
    check("ssh://a.example", Some("ssh://a.example"));
    check("ssh://a.example:22", Some("ssh://a.example"));
    check("ssh://a.example:443", Some("ssh://a.example:443"));
    check("ssh://a.example:2222", Some("ssh://a.example:2222"));
    check("ssh://[::1]:2222", Some("ssh://[::1]:2222"));
    check("ssh://[2001:db8::443]", Some("ssh://[2001:db8::443]"));
    check("ssh://[::1]:443", Some("ssh://[::1]:443"));
    check("ssh://root@a.example", None);
    check("ssh://A.example", None);
    check("ssh://a.example/", None);
    check("ssh://", None);
    check("ssh://0x7f.1", None);
    check("ssh://a.example:0443", None);
    check("a.example", None);
    check("ftp://a.example", None);
    let error = Destination::parse("https://user:hunter2hunter2@a.example").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
}
