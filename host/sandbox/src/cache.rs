//! Compiled code on disk, under a MAC.
//!
//! Loading compiled code is running it, so what is read from the disk is trusted exactly as far as
//! its MAC reaches: the key is the host's, and the MAC covers the engine's version and settings, the
//! module's digest and the code. An entry that does not check is as good as none: it is compiled anew
//! and overwritten.

use hmac::{Hmac, KeyInit as _, Mac as _};
use proofport_core::digest::Digest;
use sha2::Sha256;
use std::fs::DirBuilder;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const MAC_BYTES: usize = 32;

/// Compiled code is a few times larger than its module; a file beyond this is none of ours.
const LARGEST_ENTRY: u64 = 512 << 20;

/// The folder of compiled code.
pub(crate) struct Cache {
    folder: PathBuf,
    key: Zeroizing<[u8; 32]>,
    /// What the engine is compatible with.
    engine: [u8; 32],
}

/// Code whose MAC was checked. Only [`Cache::get`] makes one.
pub(crate) struct TrustedCode(Vec<u8>);

impl TrustedCode {
    /// The bytes that were checked.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Cache {
    /// Opens the folder, making it for the owner alone where it is missing.
    pub(crate) fn open(folder: &Path, key: Zeroizing<[u8; 32]>, engine: [u8; 32]) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), key, engine })
    }

    fn path(&self, module: &Digest) -> PathBuf {
        let engine = Digest::of_bytes(&self.engine).hex();
        let short = engine.get(..16).unwrap_or(&engine);
        self.folder.join(format!("{}-{short}", module.hex()))
    }

    fn mac(&self, module: &Digest, code: &[u8]) -> Option<Hmac<Sha256>> {
        let mac = Hmac::<Sha256>::new_from_slice(self.key.as_slice()).ok()?;
        Some(
            mac.chain_update(b"proofport.code/1")
                .chain_update(self.engine)
                .chain_update(module.as_bytes())
                .chain_update(code),
        )
    }

    /// The code of a module, if there is an entry and it checks.
    pub(crate) fn get(&self, module: &Digest) -> Option<TrustedCode> {
        let file = match std::fs::File::open(self.path(module)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%module, %error, "compiled code can't be read; compiling anew");
                return None;
            }
        };
        let mut code = Vec::new();
        let read = file.take(LARGEST_ENTRY).read_to_end(&mut code);
        let mac: Option<[u8; MAC_BYTES]> = code.get(..MAC_BYTES).and_then(|mac| mac.try_into().ok());
        if let (Ok(_), Some(mac)) = (read, mac) {
            code.drain(..MAC_BYTES);
            if self.mac(module, &code).is_some_and(|expected| expected.verify_slice(&mac).is_ok()) {
                return Some(TrustedCode(code));
            }
        }
        tracing::warn!(%module, "compiled code on disk does not check; compiling anew");
        None
    }

    /// Keeps the code of a module. A failure costs the next start a compilation and nothing else.
    pub(crate) fn put(&self, module: &Digest, code: &[u8]) {
        if let Err(error) = self.write(module, code) {
            tracing::warn!(%module, %error, "compiled code can't be kept");
        }
    }

    fn write(&self, module: &Digest, code: &[u8]) -> io::Result<()> {
        let mac = self.mac(module, code).ok_or(io::ErrorKind::InvalidInput)?.finalize().into_bytes();
        // Renamed into place, so that a reader sees a whole entry. Not synced: a torn one does not
        // check.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&mac)?;
        file.write_all(code)?;
        file.persist(self.path(module)).map_err(|error| error.error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn cache(folder: &Path, key: u8, engine: u8) -> Cache {
        Cache::open(folder, Zeroizing::new([key; 32]), [engine; 32]).unwrap()
    }

    #[test]
    fn only_what_checks_is_returned() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("code");
        let module = Digest::of_bytes(b"module");
        let ours = cache(&folder, 1, 1);
        assert!(ours.get(&module).is_none());
        ours.put(&module, b"code");
        assert_eq!(ours.get(&module).unwrap().as_bytes(), b"code");

        let path = ours.path(&module);
        let whole = std::fs::read(&path).unwrap();
        let mut changes: Vec<Vec<u8>> = (0..whole.len()).map(|n| whole[..n].to_vec()).collect();
        for n in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[n] ^= 1;
            changes.push(flipped);
        }
        changes.push([whole.as_slice(), b"x"].concat());
        for changed in changes {
            std::fs::write(&path, &changed).unwrap();
            assert!(ours.get(&module).is_none(), "{changed:?}");
        }
    }

    #[test]
    fn an_entry_is_bound_to_key_engine_and_module() {
        let home = tempfile::tempdir().unwrap();
        let module = Digest::of_bytes(b"module");
        let other = Digest::of_bytes(b"other");
        let ours = cache(home.path(), 1, 1);
        ours.put(&module, b"code");
        assert!(cache(home.path(), 2, 1).get(&module).is_none(), "another key");
        let newer = cache(home.path(), 1, 2);
        std::fs::copy(ours.path(&module), newer.path(&module)).unwrap();
        assert!(newer.get(&module).is_none(), "another engine");
        std::fs::copy(ours.path(&module), ours.path(&other)).unwrap();
        assert!(ours.get(&other).is_none(), "another module");
    }

    #[test]
    fn the_folder_is_the_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("a/code");
        cache(&folder, 1, 1);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
