use super::{CANARY, CHEAP, Home, NOW, PASSPHRASE, bearer, name, read, secret, uses};
use crate::{CredentialError, KdfParams, State, Uses, Vault, VaultError};
use proofport_core::contract::InjectionMode;
use proofport_core::secret::Secret;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn what_is_stored_comes_back_after_reopening() {
    let mut home = Home::new();
    assert_eq!(home.vault.set(&name("stripe"), secret(CANARY), bearer(), NOW).unwrap(), 1);
    let vault = home.reopened();
    assert_eq!(read(&vault, "stripe", None), Ok((1, CANARY.to_owned())));
    assert_eq!(vault.list().unwrap(), home.vault.list().unwrap());
}

#[test]
fn binary_secrets_survive() {
    let mut home = Home::new();
    let bytes: Vec<u8> = (0..=255).collect();
    home.vault.set(&name("key"), Secret::new(bytes.clone()), bearer(), NOW).unwrap();
    let destination = super::to("https://api.example.com");
    let wanted = crate::Use { destination: &destination, mode: InjectionMode::HttpBearer };
    let got = home.reopened().credential(&name("key"), None, &wanted).unwrap();
    assert_eq!(got.secret.expose(), bytes);
}

#[test]
fn versions_are_counted_kept_and_never_reused() {
    let mut home = Home::new();
    let vault = &mut home.vault;
    let stripe = name("stripe");
    assert_eq!(vault.set(&stripe, secret("first-value"), bearer(), NOW).unwrap(), 1);
    assert_eq!(vault.rotate(&stripe, secret("second-value"), NOW.plus_seconds(1)).unwrap(), 2);
    assert_eq!(read(vault, "stripe", None), Ok((2, "second-value".to_owned())));
    assert_eq!(read(vault, "stripe", Some(1)), Ok((1, "first-value".to_owned())));
    assert_eq!(read(vault, "stripe", Some(3)), Err(CredentialError::Absent));
    assert_eq!(read(vault, "stripe", Some(0)), Err(CredentialError::Absent));
    let listed = vault.list().unwrap();
    let versions: Vec<_> = listed[0].versions.iter().map(|v| (v.version, v.created_at)).collect();
    assert_eq!(versions, [(1, NOW), (2, NOW.plus_seconds(1))]);

    vault.remove(&stripe).unwrap();
    assert_eq!(read(vault, "stripe", None), Err(CredentialError::Absent));
    assert!(vault.list().unwrap().is_empty());
    assert_eq!(vault.set(&stripe, secret("third-value"), bearer(), NOW).unwrap(), 3);
    assert_eq!(read(&home.reopened(), "stripe", Some(1)), Err(CredentialError::Absent));
}

#[test]
fn a_locked_vault_does_nothing() {
    let mut home = Home::new();
    home.vault.set(&name("stripe"), secret(CANARY), bearer(), NOW).unwrap();
    let recipient = home.vault.seal_recipient().to_owned();
    home.vault.lock();
    let vault = &mut home.vault;
    assert_eq!(vault.state(), State::Locked);
    assert_eq!(read(vault, "stripe", None), Err(CredentialError::Locked));
    assert_eq!(read(vault, "no-such", None), Err(CredentialError::Locked), "the first gate");
    assert!(matches!(vault.list(), Err(VaultError::Locked)));
    assert!(matches!(vault.keys().map(|_| ()), Err(VaultError::Locked)));
    assert!(matches!(vault.set(&name("b"), secret(CANARY), bearer(), NOW), Err(VaultError::Locked)));
    assert!(matches!(vault.rotate(&name("stripe"), secret(CANARY), NOW), Err(VaultError::Locked)));
    assert!(matches!(vault.remove(&name("stripe")), Err(VaultError::Locked)));
    assert!(matches!(vault.set_latch(false), Err(VaultError::Locked)));
    assert_eq!(vault.seal_recipient(), recipient);
    vault.unlock(&secret(PASSPHRASE)).unwrap();
    assert_eq!(read(vault, "stripe", None), Ok((1, CANARY.to_owned())));
}

#[test]
fn the_wrong_passphrase_is_named_as_such() {
    let home = Home::new();
    let mut vault = Vault::open(&home.path).unwrap();
    for wrong in
        ["correct horse battery stapl", "correct horse battery staple ", "x", "Correct horse battery staple"]
    {
        let error = vault.unlock(&secret(wrong)).unwrap_err();
        assert!(matches!(error, VaultError::WrongPassphrase { .. }), "{wrong}: {error}");
        assert!(!error.to_string().contains(wrong) || wrong == "x");
        assert_eq!(vault.state(), State::Locked);
    }
    assert!(matches!(vault.unlock(&secret("")), Err(VaultError::EmptyPassphrase)));
    vault.unlock(&secret(PASSPHRASE)).unwrap();
    assert!(vault.unlock(&secret("wrong")).is_err());
    assert_eq!(vault.state(), State::Unlocked, "a failed second unlock takes nothing away");
}

#[test]
fn creation_refuses_what_is_there() {
    let home = Home::new();
    let before = std::fs::read(&home.path).unwrap();
    let error = Vault::create(&home.path, &secret(PASSPHRASE), CHEAP).unwrap_err();
    assert!(matches!(error, VaultError::AlreadyExists { .. }), "{error}");
    assert_eq!(std::fs::read(&home.path).unwrap(), before);
    assert_eq!(std::fs::metadata(&home.path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_file_stays_private_and_alone_after_changes() {
    let mut home = Home::new();
    home.vault.set(&name("stripe"), secret(CANARY), bearer(), NOW).unwrap();
    assert_eq!(std::fs::metadata(&home.path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut names: Vec<_> = std::fs::read_dir(home.path.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["vault.json", "vault.json.lock"]);
}

#[test]
fn bad_secrets_are_refused_and_change_nothing() {
    let mut home = Home::new();
    home.vault.set(&name("taken"), secret(CANARY), bearer(), NOW).unwrap();
    let before = std::fs::read(&home.path).unwrap();
    let mut check = |to: &str, value: &str, uses: Uses, expected: &str| {
        let error = home.vault.set(&name(to), secret(value), uses, NOW).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains(value), "{shown}");
        assert_eq!(std::fs::read(&home.path).unwrap(), before);
    };
    let http = InjectionMode::HttpBearer;
    check("a", "1234567", bearer(), "shorter than 8 bytes");
    check("a", &"x".repeat(64 * 1024 + 1), bearer(), "longer than 64 KiB");
    check("taken", "another-value", bearer(), "proofport secret rotate taken");
    check("a", "another-value", uses(&[], &[http]), "at least one destination");
    check("a", "another-value", uses(&["https://a.example"], &[]), "at least one injection mode");
    check("a", "another-value", uses(&["ssh://a.example"], &[http]), "http_bearer needs a destination");
    let ssh = InjectionMode::SshKey;
    check("a", "another-value", uses(&["https://a.example"], &[http, ssh]), "ssh_key needs a destination");
    assert!(matches!(
        home.vault.rotate(&name("absent"), secret(CANARY), NOW),
        Err(VaultError::Absent { .. })
    ));
    assert!(matches!(home.vault.rotate(&name("taken"), secret("short"), NOW), Err(VaultError::TooShort)));
    assert!(matches!(home.vault.remove(&name("absent")), Err(VaultError::Absent { .. })));
}

#[test]
fn eight_bytes_are_enough() {
    let mut home = Home::new();
    home.vault.set(&name("a"), secret("12345678"), bearer(), NOW).unwrap();
    assert_eq!(read(&home.vault, "a", None), Ok((1, "12345678".to_owned())));
}

#[test]
fn costs_out_of_bounds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let check = |memory_kib, passes, lanes, fine: bool| {
        let params = KdfParams { memory_kib, passes, lanes };
        let path = folder.path().join(format!("{memory_kib}-{passes}-{lanes}"));
        let made = Vault::create(&path, &secret(PASSPHRASE), params);
        assert_eq!(made.is_ok(), fine, "{params:?}");
        assert_eq!(path.exists(), fine);
    };
    check(8, 1, 1, true);
    check(32, 2, 4, true);
    check(7, 1, 1, false);
    check(31, 1, 4, false);
    check(8, 0, 1, false);
    check(8, 17, 1, false);
    check(1024, 1, 0, false);
    check(1024, 1, 17, false);
    check(1024 * 1024 + 1, 1, 1, false);
    check(u32::MAX, 1, 1, false);
}

#[test]
fn the_operators_mark_outlives_everything_but_the_passphrase() {
    let mut home = Home::new();
    home.vault.set(&name("stripe"), secret(CANARY), bearer(), NOW).unwrap();
    assert!(!home.vault.latched());

    // Another process, which never had the passphrase, sets it.
    let mut other = Vault::open(&home.path).unwrap();
    other.set_latch(true).unwrap();
    assert!(other.latched());
    home.vault.refresh().unwrap();
    assert!(home.vault.latched());
    assert_eq!(home.vault.state(), State::Unlocked);
    assert_eq!(read(&home.vault, "stripe", None), Err(CredentialError::Locked));

    // A restart and an unlock don't clear it, nor does a change of the secrets.
    let mut again = home.reopened();
    assert!(again.latched());
    again.rotate(&name("stripe"), secret("second-value"), NOW).unwrap();
    assert!(again.latched());
    assert_eq!(read(&again, "stripe", None), Err(CredentialError::Locked));

    again.set_latch(false).unwrap();
    assert!(!home.reopened().latched());
    assert_eq!(read(&again, "stripe", None), Ok((2, "second-value".to_owned())));
}

#[test]
fn keys_are_stable_distinct_and_per_vault() {
    let home = Home::new();
    let (a, b) = (home.vault.keys().unwrap(), home.reopened().keys().unwrap());
    assert_eq!(a.event_mac, b.event_mac);
    assert_eq!(a.cache_mac, b.cache_mac);
    assert_eq!(a.operator_credential.expose(), b.operator_credential.expose());
    assert_eq!(a.seal_identity.expose(), b.seal_identity.expose());
    assert_ne!(a.event_mac, a.cache_mac);
    let other = Home::new().vault.keys().unwrap();
    assert_ne!(a.event_mac, other.event_mac);
    assert_ne!(a.operator_credential.expose(), other.operator_credential.expose());

    // The pair fits: what is sealed to the recipient opens with the identity.
    let recipient: age::x25519::Recipient = a.seal_recipient.parse().unwrap();
    let identity: age::x25519::Identity =
        std::str::from_utf8(a.seal_identity.expose()).unwrap().parse().unwrap();
    let sealed = age::encrypt(&recipient, b"body").unwrap();
    assert_eq!(age::decrypt(&identity, &sealed).unwrap(), b"body");
    assert_eq!(Vault::open(&home.path).unwrap().seal_recipient(), a.seal_recipient);
}

#[test]
fn nothing_readable_lies_on_disk_or_in_what_is_printed() {
    let mut home = Home::new();
    let uses = uses(&["https://hidden-host.example"], &[InjectionMode::AwsSigv4]);
    home.vault.set(&name("hidden-name"), secret(CANARY), uses, NOW).unwrap();
    let keys = home.vault.keys().unwrap();
    let file = std::fs::read(&home.path).unwrap();
    let identity = String::from_utf8(keys.seal_identity.expose().to_vec()).unwrap();
    let operator = String::from_utf8(keys.operator_credential.expose().to_vec()).unwrap();
    let text = String::from_utf8(file).unwrap();
    let hex = |bytes: &[u8]| data_encoding::HEXLOWER.encode(bytes);
    let base64 = |bytes: &[u8]| data_encoding::BASE64_NOPAD.encode(bytes);
    for hidden in
        [CANARY, PASSPHRASE, "hidden-name", "hidden-host", "aws_sigv4", &identity, &operator, "AGE-SECRET"]
    {
        assert!(!text.contains(hidden), "{hidden}");
        assert!(!text.contains(&hex(hidden.as_bytes())), "{hidden}");
        assert!(!text.contains(&base64(hidden.as_bytes())), "{hidden}");
    }
    assert!(!text.contains(&base64(&*keys.event_mac)));
    // Also not inside of the binary fields.
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    for field in ["contents", "data_key"] {
        let bytes = data_encoding::BASE64.decode(json[field].as_str().unwrap().as_bytes()).unwrap();
        for hidden in [CANARY, "hidden-name", "hidden-host", &identity] {
            assert!(!bytes.windows(hidden.len()).any(|w| w == hidden.as_bytes()), "{field} {hidden}");
        }
    }
    let shown = format!("{:?} {:?}", home.vault, home.vault.list().unwrap());
    assert!(!shown.contains(CANARY), "{shown}");
    let listed = serde_json::to_string(&home.vault.list().unwrap()).unwrap();
    assert!(listed.contains("hidden-name") && !listed.contains(CANARY), "{listed}");
}
