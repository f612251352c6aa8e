use super::Home;
use crate::{AuditIdentity, VaultError};
use proofport_core::secret::Secret;

fn recipient() -> String {
    AuditIdentity::generate().recipient()
}

#[test]
fn a_recipient_is_set_once() {
    let mut home = Home::new();
    assert_eq!(home.vault.keys().unwrap().audit_recipient, None, "as in a vault that is older than the log");
    assert!(matches!(home.vault.set_audit_recipient("age1nothing"), Err(VaultError::BadAuditRecipient)));
    assert!(matches!(home.vault.rotate_audit_key(), Err(VaultError::NoAuditRecipient)));
    let recipient = recipient();
    home.vault.set_audit_recipient(&recipient).unwrap();
    home.vault.set_audit_recipient(&recipient).unwrap();
    let other = home.vault.set_audit_recipient(&self::recipient());
    assert!(matches!(other, Err(VaultError::AuditRecipientSet)), "{other:?}");
    assert_eq!(home.reopened().keys().unwrap().audit_recipient, Some(recipient));
    home.vault.lock();
    assert!(matches!(home.vault.set_audit_recipient(&self::recipient()), Err(VaultError::Locked)));
}

#[test]
fn signing_keys_are_stable_and_added_at_the_end() {
    let mut home = Home::new();
    let first = home.vault.keys().unwrap().audit_seeds;
    assert_eq!(first.len(), 1, "also before there is a recipient");
    home.vault.set_audit_recipient(&recipient()).unwrap();
    assert_eq!(home.vault.rotate_audit_key().unwrap(), 2);
    let keys = home.reopened().keys().unwrap();
    assert_eq!((keys.audit_seeds.len(), &keys.audit_seeds[0]), (2, &first[0]));
    assert_ne!(keys.audit_seeds[1], first[0]);
    assert_ne!(first[0], keys.event_mac);
    assert_ne!(first[0], Home::new().vault.keys().unwrap().audit_seeds[0]);
}

#[test]
fn key_files_are_read_as_they_are_written() {
    let identity = AuditIdentity::generate();
    let file = identity.file();
    let parse = |text: &str| AuditIdentity::parse(&Secret::new(text.as_bytes().to_vec()));
    assert_eq!(parse(&file).unwrap().recipient(), identity.recipient());
    let twice = format!("{}{}", &*file, &*file);
    for text in ["", "# nothing\n", "AGE-SECRET-KEY-1\n", &twice] {
        assert!(matches!(parse(text).map(|_| ()), Err(VaultError::BadAuditIdentity)), "{text}");
    }
}
