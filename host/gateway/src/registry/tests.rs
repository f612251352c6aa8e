use super::*;
use crate::testing::manifest;
use std::os::unix::fs::MetadataExt as _;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

fn key(byte: u8) -> Zeroizing<[u8; 32]> {
    Zeroizing::new([byte; 32])
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("connectors");
    (outer, folder)
}

#[test]
fn approvals_survive_reopening() {
    let (_outer, folder) = folder();
    let mut registry = Registry::open(&folder, key(1)).unwrap();
    assert!(registry.list().is_empty(), "an absent list is empty");
    let digest = registry.approve(b"module", manifest(), NOW).unwrap().digest;
    assert_eq!(digest, Digest::of_bytes(b"module"));
    let later = registry.approve(b"module 2", manifest(), NOW.plus_seconds(1)).unwrap().digest;

    let registry = Registry::open(&folder, key(1)).unwrap();
    let list: Vec<Digest> = registry.list().iter().map(|approved| approved.digest).collect();
    assert_eq!(list, [later, digest]);
    let approved = registry.find(&digest).unwrap();
    assert_eq!((approved.size, approved.approved_at), (6, NOW));
    assert_eq!(approved.manifest, manifest());
    assert_eq!(registry.module(&digest).unwrap(), b"module");
    for file in ["approved.json", &format!("{}.wasm", digest.hex())] {
        assert_eq!(fs::metadata(folder.join(file)).unwrap().mode() & 0o077, 0, "{file}");
    }
    let text = fs::read(folder.join("approved.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(json["approved"][0]["manifest"]["name"], "shop");
}

#[test]
fn a_revoked_connector_is_gone() {
    let (_outer, folder) = folder();
    let mut registry = Registry::open(&folder, key(1)).unwrap();
    let digest = registry.approve(b"module", manifest(), NOW).unwrap().digest;
    assert_eq!(registry.revoke(&digest).unwrap().digest, digest);
    for mut registry in [registry, Registry::open(&folder, key(1)).unwrap()] {
        assert!(registry.find(&digest).is_none());
        assert!(matches!(registry.module(&digest), Err(RegistryError::NotApproved { .. })));
        assert!(matches!(registry.revoke(&digest), Err(RegistryError::NotApproved { .. })));
    }
    assert!(!folder.join(format!("{}.wasm", digest.hex())).exists());
}

#[test]
fn a_changed_or_missing_module_is_not_loaded() {
    let (_outer, folder) = folder();
    let mut registry = Registry::open(&folder, key(1)).unwrap();
    let digest = registry.approve(b"module", manifest(), NOW).unwrap().digest;
    let path = folder.join(format!("{}.wasm", digest.hex()));
    for changed in [&b"modulE"[..], b"", b"module2"] {
        fs::write(&path, changed).unwrap();
        assert!(matches!(registry.module(&digest), Err(RegistryError::DigestMismatch { .. })));
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(registry.module(&digest), Err(RegistryError::ModuleMissing { .. })));
    registry.approve(b"module", manifest(), NOW).unwrap();
    assert_eq!(registry.module(&digest).unwrap(), b"module", "approving again repairs");
}

#[test]
fn every_changed_byte_of_the_list_is_seen() {
    let (_outer, folder) = folder();
    let mut registry = Registry::open(&folder, key(1)).unwrap();
    registry.approve(b"module", manifest(), NOW).unwrap();
    let path = folder.join("approved.json");
    let whole = fs::read(&path).unwrap();
    let authentic = |bytes: &[u8]| file::authentic(bytes, &ListKey::new(key(1))).is_some();
    assert!(authentic(&whole));
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x20;
        assert!(!authentic(&changed), "byte {at}");
        assert!(!authentic(&whole[..at]), "cut at {at}");
    }
    for changed in [&whole[1..], b"", &[&whole[..], b"\n"].concat()] {
        fs::write(&path, changed).unwrap();
        assert!(matches!(Registry::open(&folder, key(1)), Err(RegistryError::Tampered { .. })));
    }
    fs::write(&path, &whole).unwrap();
    assert!(Registry::open(&folder, key(1)).is_ok());
    assert!(matches!(Registry::open(&folder, key(2)), Err(RegistryError::Tampered { .. })));
}

#[test]
fn two_writers_keep_each_others_approvals() {
    let (_outer, folder) = folder();
    let mut one = Registry::open(&folder, key(1)).unwrap();
    let mut two = Registry::open(&folder, key(1)).unwrap();
    let first = one.approve(b"one", manifest(), NOW).unwrap().digest;
    let second = two.approve(b"two", manifest(), NOW).unwrap().digest;
    assert!(two.find(&first).is_some());
    assert!(one.find(&second).is_none());
    one.refresh().unwrap();
    assert!(one.find(&second).is_some());
    two.revoke(&first).unwrap();
    assert!(matches!(one.revoke(&first), Err(RegistryError::NotApproved { .. })));
}

#[test]
fn a_tampered_list_is_never_built_upon() {
    let (_outer, folder) = folder();
    let mut registry = Registry::open(&folder, key(1)).unwrap();
    registry.approve(b"module", manifest(), NOW).unwrap();
    fs::write(folder.join("approved.json"), b"{}").unwrap();
    assert!(matches!(registry.approve(b"two", manifest(), NOW), Err(RegistryError::Tampered { .. })));
    assert!(matches!(registry.refresh(), Err(RegistryError::Tampered { .. })));
    assert_eq!(fs::read(folder.join("approved.json")).unwrap(), b"{}");
}
