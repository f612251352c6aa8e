use super::{CANARY, CHEAP, Home, NOW, PASSPHRASE, bearer, name, read, secret};
use crate::contents::Contents;
use crate::file::{Latch, VaultFile};
use crate::{KdfParams, Vault, VaultError};
use std::path::Path;

/// Opens, unlocks and reads both secrets.
fn everything(path: &Path) -> Result<[(u32, String); 2], VaultError> {
    let mut vault = Vault::open(path)?;
    vault.unlock(&secret(PASSPHRASE))?;
    Ok(["first", "second"].map(|name| read(&vault, name, None).unwrap()))
}

fn filled() -> Home {
    let mut home = Home::new();
    home.vault.set(&name("first"), secret(CANARY), bearer(), NOW).unwrap();
    home.vault.set(&name("second"), secret("another-value"), bearer(), NOW).unwrap();
    home
}

fn expected() -> [(u32, String); 2] {
    [(1, CANARY.to_owned()), (1, "another-value".to_owned())]
}

#[test]
fn every_flipped_byte_is_an_error_or_changes_nothing() {
    let home = filled();
    let whole = std::fs::read(&home.path).unwrap();
    let copy = home.path.with_extension("copy");
    let mut refused = 0;
    for at in 0..whole.len() {
        for mask in [0x01, 0x20, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            std::fs::write(&copy, &bytes).unwrap();
            match everything(&copy) {
                Ok(read) => assert_eq!(read, expected(), "byte {at}"),
                Err(VaultError::WrongPassphrase { .. }) => {
                    panic!("byte {at}: damage passed for a passphrase")
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > whole.len() * 2, "{refused} of {}", whole.len() * 3);
}

#[test]
fn every_shorter_file_is_called_so() {
    let home = filled();
    let whole = std::fs::read(&home.path).unwrap();
    let copy = home.path.with_extension("copy");
    for length in 0..whole.len() {
        std::fs::write(&copy, &whole[..length]).unwrap();
        let error = Vault::open(&copy).unwrap_err();
        assert!(matches!(error, VaultError::Truncated { .. }), "{length}: {error}");
    }
}

#[test]
fn other_files_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vault.json");
    let check = |bytes: &[u8], expected: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = Vault::open(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    };
    check(b"hello", "is not a Proofport vault");
    check(b"[1,2]", "is not a Proofport vault");
    check(b"{}", "is not a Proofport vault");
    check(b"\x00\xff\xfe", "is not a Proofport vault");
    check(br#"{"format":"something","version":1}"#, "is not a Proofport vault");
    check(br#"{"format":"proofport.vault","version":2}"#, "format version 2");
    check(br#"{"format":"proofport.vault","version":1}"#, "was damaged or altered (its fields)");
    check(&vec![b' '; 17 * 1024 * 1024], "is not a Proofport vault");
    std::fs::remove_file(&path).unwrap();
    let error = Vault::open(&path).unwrap_err().to_string();
    assert!(error.contains("there is no vault at") && error.contains("proofport init"), "{error}");
}

/// Somebody who can write the file, and so makes its digest right, but has no key.
fn altered(home: &Home, change: impl FnOnce(&mut VaultFile)) -> Result<[(u32, String); 2], VaultError> {
    let mut file = VaultFile::decode(&std::fs::read(&home.path).unwrap(), &home.path).unwrap();
    change(&mut file);
    let copy = home.path.with_extension("copy");
    std::fs::write(&copy, file.encode().unwrap()).unwrap();
    everything(&copy)
}

#[test]
fn every_deliberately_altered_field_is_found() {
    let home = filled();
    assert_eq!(altered(&home, |_| ()).unwrap(), expected());
    let file = VaultFile::decode(&std::fs::read(&home.path).unwrap(), &home.path).unwrap();
    let check = |what: &str, change: &dyn Fn(&mut VaultFile)| {
        let found = altered(&home, |file| change(file));
        assert!(found.is_err(), "{what}");
    };
    for at in 0..file.contents.len() {
        check("contents", &|file| file.contents[at] ^= 1);
    }
    for at in 0..file.data_key.len() {
        check("data key", &|file| file.data_key[at] ^= 1);
    }
    for at in 0..16 {
        check("salt", &|file| file.salt[at] ^= 1);
    }
    for at in 0..32 {
        check("check value", &|file| file.check[at] ^= 1);
    }
    check("empty contents", &|file| file.contents.clear());
    check("passes", &|file| file.kdf.passes += 1);
    check("memory", &|file| file.kdf.memory_kib += 8);
    check("a terabyte", &|file| file.kdf = KdfParams { memory_kib: u32::MAX, ..CHEAP });
    check("recipient", &|file| {
        file.recipient = age::x25519::Identity::generate().to_public().to_string();
    });
    let Latch::Clear(proof) = &file.latch else { panic!("it was never set") };
    for at in 0..proof.0.len() {
        check("cleared mark", &|file| {
            if let Latch::Clear(proof) = &mut file.latch {
                proof.0[at] ^= 1;
            }
        });
    }
}

#[test]
fn the_mark_cannot_be_cleared_with_an_older_proof() {
    let mut home = filled();
    let older = VaultFile::decode(&std::fs::read(&home.path).unwrap(), &home.path).unwrap().latch;
    home.vault.rotate(&name("first"), secret("newer-value"), NOW).unwrap();
    home.vault.set_latch(true).unwrap();
    let found = altered(&home, |file| file.latch = older);
    assert!(matches!(found, Err(VaultError::Corrupt { .. })));
}

#[test]
fn parts_of_another_vault_or_time_do_not_fit() {
    let mut home = filled();
    let decode = |home: &Home| VaultFile::decode(&std::fs::read(&home.path).unwrap(), &home.path).unwrap();
    let before = decode(&home);
    let other = decode(&filled());
    home.vault.rotate(&name("first"), secret("newer-value"), NOW).unwrap();
    assert!(altered(&home, |file| file.contents = other.contents.clone()).is_err());
    assert!(altered(&home, |file| file.data_key = other.data_key.clone()).is_err());
    assert!(altered(&home, |file| (file.salt, file.check) = (other.salt, other.check)).is_err());
    // Old contents under a new mark.
    assert!(altered(&home, |file| file.contents = before.contents.clone()).is_err());
}

#[test]
fn a_value_opens_under_its_own_name_and_version_only() {
    use crate::keys::DataKey;
    let key = DataKey::generate().unwrap();
    let mut contents = Contents::new(&key, &secret("identity-text")).unwrap();
    contents.set(&key, &name("first"), &secret(CANARY), bearer(), NOW).unwrap();
    contents.set(&key, &name("second"), &secret("another-value"), bearer(), NOW).unwrap();
    contents.rotate(&key, &name("first"), &secret("rotated-value"), NOW).unwrap();
    let opens = |json: &serde_json::Value, of: &str, version: u32| {
        let contents: Contents = serde_json::from_value(json.clone()).unwrap();
        let (_, value) = contents.find(&name(of), Some(version)).unwrap();
        value.open(&key).is_some()
    };
    let json = serde_json::to_value(&contents).unwrap();
    assert!(opens(&json, "first", 1) && opens(&json, "first", 2) && opens(&json, "second", 1));

    let mut swapped = json.clone();
    swapped["secrets"]["first"]["versions"]["1"] = json["secrets"]["second"]["versions"]["1"].clone();
    assert!(!opens(&swapped, "first", 1), "another name's");
    let mut back = json.clone();
    back["secrets"]["first"]["versions"]["2"] = json["secrets"]["first"]["versions"]["1"].clone();
    assert!(!opens(&back, "first", 2), "an older version's");
    let mut identity = json.clone();
    identity["secrets"]["first"]["versions"]["1"]["sealed"] = json["identity"].clone();
    assert!(!opens(&identity, "first", 1), "the identity");
}
