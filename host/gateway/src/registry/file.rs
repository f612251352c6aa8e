//! The list's file: JSON whose MAC covers the exact bytes of its second member, so that no second
//! serialisation has to give the same text.

use super::{Approved, RegistryError};
use crate::home::sync_folder_of;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use proofport_core::digest::Digest;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use zeroize::{Zeroize as _, Zeroizing};

const LIST: &str = "approved.json";
const LOCK: &str = "approved.lock";

/// The largest list that is read, in bytes.
const LARGEST_LIST: u64 = 16 * 1024 * 1024;

/// What stands before the MAC, between it and the list, and behind the list.
const HEAD: &[u8] = b"{\"format\":\"proofport.approved/1\",\"mac\":\"";
const MIDDLE: &[u8] = b"\",\"approved\":";
const TAIL: &[u8] = b"}\n";

/// Length of the MAC in hexadecimal digits.
const MAC_DIGITS: usize = 64;

/// Authenticates the list. Keyed bytes are zeroised with it.
pub(super) struct ListKey(Zeroizing<[u8; 32]>);

impl ListKey {
    pub(super) fn new(key: Zeroizing<[u8; 32]>) -> Self {
        Self(key)
    }

    fn mac(&self, list: &[u8]) -> Hmac<Sha256> {
        // A key shorter than a block stands in it, padded with zeros (RFC 2104).
        let mut block = hmac::digest::common::Key::<Hmac<Sha256>>::default();
        block[..self.0.len()].copy_from_slice(&*self.0);
        let mut mac = Hmac::<Sha256>::new(&block);
        block.as_mut_slice().zeroize();
        mac.update(b"proofport.approved/1\0");
        mac.update(list);
        mac
    }
}

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RegistryError {
    let path = path.to_owned();
    move |source| RegistryError::Io { doing, path, source }
}

/// Held while the list is read, changed and replaced.
pub(super) struct Exclusive {
    _file: File,
}

impl Exclusive {
    pub(super) fn take(folder: &Path) -> Result<Self, RegistryError> {
        let path = folder.join(LOCK);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open the lock file", &path))?;
        file.lock().map_err(failed("lock", &path))?;
        Ok(Self { _file: file })
    }
}

/// Reads the list and checks it; an absent one is empty.
pub(super) fn read(folder: &Path, key: &ListKey) -> Result<BTreeMap<Digest, Approved>, RegistryError> {
    let path = folder.join(LIST);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failed("open", &path)(error)),
    };
    let mut bytes = Vec::new();
    file.take(LARGEST_LIST + 1).read_to_end(&mut bytes).map_err(failed("read", &path))?;
    let list = authentic(&bytes, key).ok_or_else(|| RegistryError::Tampered { file: path.clone() })?;
    let list: Vec<Approved> =
        serde_json::from_slice(list).map_err(|_| RegistryError::UnknownForm { file: path })?;
    Ok(list.into_iter().map(|approved| (approved.digest, approved)).collect())
}

/// The list's text, if it was written under this key.
pub(super) fn authentic<'b>(bytes: &'b [u8], key: &ListKey) -> Option<&'b [u8]> {
    let (mac, rest) = bytes.strip_prefix(HEAD)?.split_at_checked(MAC_DIGITS)?;
    let list = rest.strip_prefix(MIDDLE)?.strip_suffix(TAIL)?;
    let mac = HEXLOWER.decode(mac).ok()?;
    key.mac(list).verify_slice(&mac).ok()?;
    Some(list)
}

/// Replaces the list.
pub(super) fn write(
    folder: &Path,
    key: &ListKey,
    approved: &BTreeMap<Digest, Approved>,
) -> Result<(), RegistryError> {
    let path = folder.join(LIST);
    let list: Vec<&Approved> = approved.values().collect();
    let list = serde_json::to_vec_pretty(&list)
        .map_err(|error| failed("write", &path)(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    let mac = HEXLOWER.encode(&key.mac(&list).finalize().into_bytes());
    replace(&path, &[HEAD, mac.as_bytes(), MIDDLE, &list, TAIL].concat())
}

/// Writes beside the target, syncs, renames over it and syncs the folder, so that a crash leaves the
/// old file or the new one, whole.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), RegistryError> {
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    let mut temporary = tempfile::Builder::new()
        .prefix(".connector-")
        .suffix(".tmp")
        .tempfile_in(folder)
        .map_err(failed("create a file beside", path))?;
    temporary.write_all(bytes).map_err(failed("write beside", path))?;
    temporary.as_file().sync_all().map_err(failed("sync the file beside", path))?;
    temporary.persist(path).map_err(|error| failed("replace", path)(error.error))?;
    sync_folder_of(path).map_err(failed("sync the folder of", path))
}
